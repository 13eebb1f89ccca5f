"""Values of other libraries: what can be told about them without importing anybody.

Scalars come as NumPy's, as arrays and tensors of rank 0 (ours among them), and as any class with Python's numeric
protocols. Arrays are told by their attributes.
"""

from __future__ import annotations

from operator import index as as_index

from tensor_core.dtypes import Bool, DType, dtype_of_name
from tensor_core.errors import BackendError, DTypeError, shortened

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Final

    Element = bool | int | float | complex

_PLAIN: Final = frozenset({bool, int, float, complex})
# In this order: what is an integer says so by __index__, while __int__ would truncate a float; __float__ may drop an
# imaginary part.
_PROTOCOLS: Final[tuple[tuple[str, Callable[[Any], Element]], ...]] = (
    ("__index__", as_index),
    ("__float__", float),
    ("__complex__", complex),
)
# No word on what the value is: a device that failed, a recorded function that may not read values, no memory.
_OUR_FAILURES: Final = (BackendError, MemoryError)


def is_masked(value: object, /) -> bool:
    """Whether a value is a masked array of NumPy, of any rank, with a mask or without.

    >>> is_masked([1.0])
    False
    """
    return any(
        kind.__name__ == "MaskedArray" and kind.__module__.startswith("numpy.ma") for kind in type(value).__mro__[:-1]
    )


def refuse_masked(operation: str, value: object, /) -> None:
    """Raise an error for a masked array: a tensor has no mask, and its elements under the mask are no values.

    Decided from the class alone, so that a program does not fail on the day when an element is masked for the first
    time.

    Raises:
        DTypeError: it is one.

    >>> refuse_masked("asarray", [1.0])
    """
    if is_masked(value):
        raise DTypeError(
            f"{operation}: found a masked array, and a tensor has no mask; accepted: x.filled(value), which gives the "
            "masked elements a value, or x.data, which ignores the mask",
            operation=operation,
        )


def shape_of(value: object, /) -> tuple[int, ...] | None:
    """The shape that an array or tensor tells; None for anything else.

    >>> shape_of(1.5) is None, shape_of(memoryview(bytes(3)))
    (True, (3,))
    """
    shape = getattr(value, "shape", None)
    return tuple(shape) if isinstance(shape, (tuple, list)) else None


def own_dtype(value: object, /) -> DType | None:
    """The element type that an array or tensor of any library has, if it is one of ours.

    NumPy's scalars have none here: they stand for the Python numbers that they equal.

    >>> own_dtype(1.5) is None
    True
    """
    found = getattr(value, "dtype", None)
    if found is None or _is_numpy_scalar(value):
        return None
    if isinstance(found, DType):
        return found
    # NumPy's and JAX's have a name; PyTorch's are printed as torch.float32.
    name = getattr(found, "name", None)
    return dtype_of_name(name if isinstance(name, str) else str(found).rpartition(".")[2])


def python_number(value: object, /) -> Element:
    """The plain bool, int, float or complex that a number of any library stands for; nothing is ever truncated.

    NumPy's scalars count as numbers, arrays and tensors of rank 0 too, and so does what has ``__index__``,
    ``__float__`` or ``__complex__``.

    Raises:
        DTypeError: it is no number, or a masked one; strings are none, and arrays of rank 1 and more neither.

    >>> from fractions import Fraction
    >>> python_number(True), python_number(Fraction(5, 2))
    (True, 2.5)
    """
    if type(value) in _PLAIN:
        return value  # type: ignore[return-value]
    refuse_masked("element", value)
    shape = shape_of(value)
    if shape:
        raise DTypeError(
            f"element: found {type(value).__name__} of shape {shape}; accepted: bool, int, float, complex, and "
            "tensors or arrays of rank 0; stack() joins tensors of equal shapes along a new axis",
            shape=shape,
        )
    failure: Exception | None = None
    if shape is not None and callable(getattr(value, "item", None)):
        try:
            value = value.item()  # type: ignore[attr-defined]
        except _OUR_FAILURES:
            raise
        except Exception as error:
            failure = error
        if type(value) in _PLAIN:
            return value  # type: ignore[return-value]
    kind = type(value)
    if own_dtype(value) is Bool:
        return bool(value)
    for method, plain in _PROTOCOLS:
        if hasattr(kind, method):
            try:
                number = plain(value)
                return number if method != "__float__" else _with_imaginary_part(value, number)
            except _OUR_FAILURES:
                raise
            except Exception as error:  # each library has classes of its own
                failure = error
    found = shortened(value) if shape is None else f"{type(value).__name__} of rank 0"
    raise DTypeError(f"element: found {found}; accepted: bool, int, float, complex", value=value) from failure


def _with_imaginary_part(value: Any, number: Element) -> Element:
    """The complex number instead of its real part, where ``__float__`` has dropped the other."""
    if not hasattr(type(value), "__complex__"):
        return number
    try:
        whole = complex(value)
    except Exception:  # of a class whose every value is real
        return number
    return whole if whole.imag else number


def _is_numpy_scalar(value: object) -> bool:
    return any(kind.__name__ == "generic" and kind.__module__ == "numpy" for kind in type(value).__mro__)
