"""The error tree: every error this library raises on purpose, with one root.

```
TensorError
├── ShapeError (ValueError)
│   └── AxisError (IndexError)
├── DTypeError (TypeError)
│   └── LossyConversionError (ValueError)
├── CastRangeError (OverflowError)
├── LayoutError (ValueError)
│   ├── OutOfBoundsLayoutError (IndexError)
│   ├── ViewRequiresCopyError
│   ├── OverlappingViewError
│   └── SizeLimitError (OverflowError)
├── SliceError (IndexError, ValueError)
├── IndexingError (IndexError)
├── ReadOnlyError (ValueError)
├── ArgumentError (ValueError)
├── PlacementError (ValueError)
├── ExchangeError (BufferError)
├── BackendError (RuntimeError)
│   ├── BackendUnavailableError
│   ├── DeviceLostError
│   ├── UnsupportedOperationError (NotImplementedError)
│   ├── PluginConflictError
│   ├── PluginLoadError
│   └── BackendContractError
├── OutOfMemoryError (MemoryError)
├── DivisionByZeroError (ZeroDivisionError)
├── FormatError (ValueError)
├── SaveError (OSError)
└── LoadError (OSError)
```

Each class also derives from the built-in that a Python user would catch. A message says the operation, what was found,
and what is accepted or what to do; the same facts are attributes of the error. Other packages add subclasses, never new
roots.
"""

from __future__ import annotations


def shortened(value: object, /) -> str:
    """The text of a value for a message: one line of bounded length, and safe for ints of any size.

    Of a tensor or an array it is dtype and shape, never an element.

    >>> shortened("axis"), shortened(10**9999)
    ("'axis'", 'an int of 33216 bits')
    """
    shape = getattr(value, "shape", None)
    if isinstance(shape, tuple) and hasattr(value, "dtype"):  # reading elements may wait for a device
        return f"a {type(value).__name__} of {value.dtype} and shape {shape}"
    if isinstance(value, (list, tuple)) and _holds_arrays(value):
        return f"a {type(value).__name__} of {len(value)} with tensors or arrays among them"
    try:
        text = repr(value)
    except ValueError:  # Python refuses to print ints of more than 4300 digits
        return (
            f"an int of {value.bit_length()} bits"
            if isinstance(value, int)
            else f"a {type(value).__name__} of huge ints"
        )
    text = text.replace("\n", " ")
    return text if len(text) <= 120 else text[:100] + " ..." + text[-10:]


def _holds_arrays(values: object, levels: int = 8) -> bool:
    """Whether a nested list holds a tensor or an array, whose text would show elements; a list may hold itself."""
    if isinstance(values, (list, tuple)):
        return levels > 0 and any(_holds_arrays(one, levels - 1) for one in values)
    return isinstance(getattr(values, "shape", None), tuple) and hasattr(values, "dtype")


class TensorError(Exception):
    """Root of the tree.

    Args:
        message: operation, what was found, what is accepted or what to do.
        fields: the same facts for programs; they become attributes and survive pickling.

    >>> TensorError("add: no", operation="add").operation
    'add'
    """

    def __init__(self, message: str = "", /, **fields: object) -> None:
        super().__init__(message)
        for name, value in fields.items():
            self.__dict__[name] = value
            setattr(self, name, value)  # OSError keeps errno and its like outside the dictionary

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (str(self.args[0]) if self.args else "",), dict(self.__dict__)

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""

    def __getattr__(self, name: str) -> object:
        raise AttributeError(f"{type(self).__name__} has no field {name!r}")


class ShapeError(TensorError, ValueError):
    """Shapes do not fit."""


class AxisError(ShapeError, IndexError):
    """An axis is out of range, or named twice."""


class DTypeError(TensorError, TypeError):
    """An element type that the operation does not accept."""


class LossyConversionError(DTypeError, ValueError):
    """A checked conversion that could lose values; ``cast`` does it explicitly."""


class CastRangeError(TensorError, OverflowError):
    """A value lies outside the range of the target type. Fields: ``index``, ``value``."""


class LayoutError(TensorError, ValueError):
    """Strides or an offset that cannot be used."""


class OutOfBoundsLayoutError(LayoutError, IndexError):
    """A layout reaches outside its allocation."""


class ViewRequiresCopyError(LayoutError):
    """No strides describe the view that was asked for; a copy would be needed."""


class OverlappingViewError(LayoutError):
    """Two indices of a view that is to be written name one element."""


class SizeLimitError(LayoutError, OverflowError):
    """A length, stride, offset or byte count does not fit into 64 signed bits."""


class SliceError(TensorError, IndexError, ValueError):
    """A slice or a range with step zero, or a slice with a bound outside the axis."""


class IndexingError(TensorError, IndexError):
    """An index is out of range, or of a kind that indexing does not take."""


class MissingAttributeError(TensorError, AttributeError):
    """An attribute that an object has not; the message says what to write instead."""


class ReadOnlyError(TensorError, ValueError):
    """A write to memory or to a tensor that is read-only."""


class ArgumentError(TensorError, ValueError):
    """Any other argument that is not accepted."""


class PlacementError(TensorError, ValueError):
    """Operands live in different places, or in the wrong one."""


class ExchangeError(TensorError, BufferError):
    """Memory that another library lends or asks for, and that cannot be shared as asked."""


class BackendError(TensorError, RuntimeError):
    """A backend failed, or could not be used."""


class BackendUnavailableError(BackendError):
    """No usable backend serves the device."""


class DeviceLostError(BackendError):
    """A device that was in use is gone, and all that was on it; ``device`` names it."""


class UnsupportedOperationError(BackendError, NotImplementedError):
    """The backend lacks the operation; the message says why."""


class PluginConflictError(BackendError):
    """Two plug-ins claim one name or one device kind."""


class PluginLoadError(BackendError):
    """A plug-in is installed but did not load; its own error is chained."""


class BackendContractError(BackendError):
    """A plug-in does not keep the backend protocol."""


class OutOfMemoryError(TensorError, MemoryError):
    """Not enough memory for a result or a workspace."""


class DivisionByZeroError(TensorError, ZeroDivisionError):
    """An integer was divided by zero."""


class FormatError(TensorError, ValueError):
    """A file's content is not what its format says."""


class SaveError(TensorError, OSError):
    """A file could not be written; the old one, if any, is untouched. ``errno`` says why."""


class LoadError(TensorError, OSError):
    """A file could not be read. ``errno`` says why."""
