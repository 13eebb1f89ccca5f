"""Everything in one namespace, loaded on first use.

Tensors and their operations are those of ``tensor_runtime``, ``plan`` and its relatives those of ``tensor_einsum``;
``linalg`` is ``tensor_linalg``, ``core`` is ``tensor_core``, ``pictures`` draws, ``interop`` registers us with other
libraries, and ``array_api`` has the names of the array API standard. ``from ironstride.linalg import svd`` works, too.
Errors are here as well: ``except it.ShapeError``.

>>> import ironstride as it
>>> a = it.tensor([[2.0, 1.0], [1.0, 1.0]])
>>> it.einsum("ij,ij->", a, a).item()
7.0
>>> it.linalg.det(a).item()
1.0
"""

from importlib import import_module

from ironstride.version import __version__ as __version__

TYPE_CHECKING = False  # importing typing takes longer than this package

_MODULES = ("array_api", "core", "interop", "linalg", "pictures")
_SOURCES = ("tensor_runtime", "tensor_einsum")
"""Where the other names come from; the first that has one gives it, but for the names below."""
_ERRORS = ("tensor_core.errors", "tensor_runtime.errors", "tensor_einsum.errors")
"""And where the classes of errors come from."""
_OF_EINSUM = ("einsum",)  # tensor_runtime's loads tensor_einsum and calls this one

if TYPE_CHECKING:
    import tensor_einsum
    import tensor_runtime
    from ironstride import array_api as array_api
    from ironstride import core as core
    from ironstride import interop as interop
    from ironstride import linalg as linalg
    from ironstride import pictures as pictures
    from tensor_core.errors import ArgumentError as ArgumentError
    from tensor_core.errors import AxisError as AxisError
    from tensor_core.errors import BackendContractError as BackendContractError
    from tensor_core.errors import BackendError as BackendError
    from tensor_core.errors import BackendUnavailableError as BackendUnavailableError
    from tensor_core.errors import CastRangeError as CastRangeError
    from tensor_core.errors import DeviceLostError as DeviceLostError
    from tensor_core.errors import DivisionByZeroError as DivisionByZeroError
    from tensor_core.errors import DTypeError as DTypeError
    from tensor_core.errors import ExchangeError as ExchangeError
    from tensor_core.errors import FormatError as FormatError
    from tensor_core.errors import IndexingError as IndexingError
    from tensor_core.errors import LayoutError as LayoutError
    from tensor_core.errors import LoadError as LoadError
    from tensor_core.errors import LossyConversionError as LossyConversionError
    from tensor_core.errors import MissingAttributeError as MissingAttributeError
    from tensor_core.errors import OutOfBoundsLayoutError as OutOfBoundsLayoutError
    from tensor_core.errors import OutOfMemoryError as OutOfMemoryError
    from tensor_core.errors import OverlappingViewError as OverlappingViewError
    from tensor_core.errors import PlacementError as PlacementError
    from tensor_core.errors import PluginConflictError as PluginConflictError
    from tensor_core.errors import PluginLoadError as PluginLoadError
    from tensor_core.errors import ReadOnlyError as ReadOnlyError
    from tensor_core.errors import SaveError as SaveError
    from tensor_core.errors import ShapeError as ShapeError
    from tensor_core.errors import SizeLimitError as SizeLimitError
    from tensor_core.errors import SliceError as SliceError
    from tensor_core.errors import TensorError as TensorError
    from tensor_core.errors import UnsupportedOperationError as UnsupportedOperationError
    from tensor_core.errors import ViewRequiresCopyError as ViewRequiresCopyError
    from tensor_einsum import *  # noqa: F403
    from tensor_runtime import *  # type: ignore[no-redef]  # noqa: F403
    from tensor_runtime.errors import ForeignOperandError as ForeignOperandError
    from tensor_runtime.errors import LinalgError as LinalgError
    from tensor_runtime.errors import MissingExtraError as MissingExtraError
    from tensor_runtime.errors import NonFiniteError as NonFiniteError
    from tensor_runtime.errors import NotConvergedError as NotConvergedError
    from tensor_runtime.errors import NotPositiveDefiniteError as NotPositiveDefiniteError
    from tensor_runtime.errors import SingularMatrixError as SingularMatrixError

    __all__ = ["array_api", "core", "interop", "linalg", "pictures"]
    __all__ += [
        "ArgumentError",
        "AxisError",
        "BackendContractError",
        "BackendError",
        "BackendUnavailableError",
        "CastRangeError",
        "DTypeError",
        "DeviceLostError",
        "DivisionByZeroError",
        "ExchangeError",
        "ForeignOperandError",
        "FormatError",
        "IndexingError",
        "LayoutError",
        "LinalgError",
        "LoadError",
        "LossyConversionError",
        "MissingAttributeError",
        "MissingExtraError",
        "NonFiniteError",
        "NotConvergedError",
        "NotPositiveDefiniteError",
        "OutOfBoundsLayoutError",
        "OutOfMemoryError",
        "OverlappingViewError",
        "PlacementError",
        "PluginConflictError",
        "PluginLoadError",
        "ReadOnlyError",
        "SaveError",
        "ShapeError",
        "SingularMatrixError",
        "SizeLimitError",
        "SliceError",
        "UnsupportedOperationError",
        "ViewRequiresCopyError",
    ]
    __all__ += tensor_runtime.__all__
    __all__ += tensor_einsum.__all__
else:  # hidden from the type checker, which would believe that every name exists

    def __getattr__(name):
        if name == "__all__":
            return _public()
        found = None if name.startswith("__") else _found(name)
        if found is None:
            raise import_module("tensor_core.errors").MissingAttributeError(_missing(name), name=name)
        globals()[name] = found
        return found


def __dir__() -> list[str]:
    return [*_public(), "__version__"]


def _public() -> list[str]:
    public = {name for source in _SOURCES for name in import_module(source).__all__}
    return sorted(public | {*_MODULES} | {name for source in _ERRORS for name in _errors(source)})


def _errors(source: str) -> list[str]:
    """The names of the classes of errors that a module defines."""
    found = vars(import_module(source)).items()
    return [name for name, one in found if name.endswith("Error") and getattr(one, "__module__", "") == source]


def _found(name: str) -> object:
    if name in _MODULES:
        return import_module(f"ironstride.{name}")
    if name.endswith("Error"):
        return next((getattr(import_module(one), name) for one in _ERRORS if name in _errors(one)), None)
    sources = _SOURCES[::-1] if name in _OF_EINSUM else _SOURCES
    return next((getattr(import_module(one), name) for one in sources if name in import_module(one).__all__), None)


def _missing(name: str) -> str:
    message = f"module 'ironstride' has no attribute {name!r}"
    if not name.startswith("__") and name in import_module("tensor_linalg").__all__:
        return f"{message}; did you mean: 'linalg.{name}'?"
    if not name.startswith("_"):
        try:
            getattr(import_module("tensor_runtime"), name)
        except AttributeError as error:  # which knows the names of other libraries
            told = str(error).replace("'tensor_runtime'", "'ironstride'", 1)
            return told.replace("tensor_einsum.", "").replace("tensor_linalg.", "linalg.")
    return message
