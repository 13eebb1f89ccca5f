"""The seven element types.

| ours | NumPy's | one element |
|---|---|---|
| F32 | float32 | binary32 |
| F64 | float64 | binary64 |
| I32 | int32 | two's complement, 32 bits |
| I64 | int64 | two's complement, 64 bits |
| Bool | bool | one byte, 0 or 1; in shared memory, all but 0 are true |
| C32 | complex64 | two F32 |
| C64 | complex128 | two F64 |

**The number in C32 and C64 counts one component**, NumPy's counts both. Each type is a class and exists once: compare
with ``is``, use it as a dictionary key, and as a static type in ``HostTensor[F64]``.
"""

from __future__ import annotations

import sys

from tensor_core.errors import DTypeError, shortened
from tensor_core.static_types import TYPE_CHECKING, Any, Final, Protocol, Self

Element = bool | int | float | complex  # what one element is in Python

if TYPE_CHECKING:

    class _NumpyDType(Protocol):
        @property
        def name(self) -> str: ...
        @property
        def isnative(self) -> bool: ...

    DTypeLike = type | str | _NumpyDType
else:
    DTypeLike = object  # for the type checker: what as_dtype takes


class DType(type):
    """An element type; its instances are the seven classes below.

    >>> C64, C64.numpy_name, C64.itemsize, C64.component
    (C64, 'complex128', 16, F64)
    >>> print(F64, C64)
    F64 C64 (complex128)
    """

    name: str
    numpy_name: str
    kind: str  # "bool", "int", "float" or "complex"
    itemsize: int  # bytes per element
    component: DType  # the type of one part of a complex element; a real type itself

    def __new__(mcls, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> DType:
        if "DTYPES" in globals():  # all seven exist
            raise DTypeError(
                f"{name}: the element types are F32, F64, I32, I64, Bool, C32 and C64, and no other can be made or "
                "derived from them; wrap a tensor of one of them instead"
            )
        return super().__new__(mcls, name, bases, namespace)

    def __repr__(cls) -> str:
        return cls.__name__

    def __str__(cls) -> str:
        # NumPy's complex64 is one C32, not half of a C64: whoever reads a message is told which is meant.
        return f"{cls.name} ({cls.numpy_name})" if cls in COMPLEX else cls.__name__

    def __reduce__(cls) -> str:
        return cls.__name__

    @property
    def dtype(cls) -> Any:
        """NumPy's dtype, which ``np.dtype(F32)`` and ``np.zeros(2, x.dtype)`` ask for; only NumPy does.

        Raises:
            AttributeError: NumPy was not imported.

        >>> import numpy as np
        >>> np.zeros(2, F32).dtype
        dtype('float32')
        """
        numpy = sys.modules.get("numpy")
        if numpy is None:
            raise AttributeError(f"{cls.__name__}.dtype is NumPy's dtype; import numpy first", name="dtype", obj=cls)
        return numpy.dtype(cls.numpy_name)


def _describe(cls: DType, numpy_name: str, kind: str, itemsize: int, component: DType | None = None) -> None:
    cls.name = cls.__name__
    cls.numpy_name = numpy_name
    cls.kind = kind
    cls.itemsize = itemsize
    cls.component = component or cls


class TensorScalar(metaclass=DType):
    """What the seven have in common; never instantiated, and no other class derives from it.

    >>> class F16(TensorScalar): ...  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    tensor_core.errors.DTypeError: F16: the element types are F32, F64, I32, I64, Bool, C32 and C64, and no other ...
    """

    def __new__(cls) -> Self:
        raise DTypeError(f"{cls.__name__}: an element type has no instances; elements are Python numbers")


class F32(TensorScalar):
    """Binary32 floating point; NumPy's float32."""


class F64(TensorScalar):
    """Binary64 floating point; NumPy's float64."""


class I32(TensorScalar):
    """Signed integer of 32 bits; NumPy's int32."""


class I64(TensorScalar):
    """Signed integer of 64 bits; NumPy's int64."""


class Bool(TensorScalar):
    """Truth value, one byte; NumPy's bool."""


class C32(TensorScalar):
    """Complex number of two F32, 8 bytes; NumPy's complex64."""


class C64(TensorScalar):
    """Complex number of two F64, 16 bytes; NumPy's complex128."""


_describe(F32, "float32", "float", 4)
_describe(F64, "float64", "float", 8)
_describe(I32, "int32", "int", 4)
_describe(I64, "int64", "int", 8)
_describe(Bool, "bool", "bool", 1)
_describe(C32, "complex64", "complex", 8, F32)
_describe(C64, "complex128", "complex", 16, F64)

DTYPES: Final[tuple[DType, ...]] = (F32, F64, I32, I64, Bool, C32, C64)
ALL: Final[frozenset[DType]] = frozenset(DTYPES)
NUMERIC: Final[frozenset[DType]] = ALL - {Bool}
INTEGER: Final[frozenset[DType]] = frozenset({I32, I64})
REAL_FLOATING: Final[frozenset[DType]] = frozenset({F32, F64})
COMPLEX: Final[frozenset[DType]] = frozenset({C32, C64})
FLOATING: Final[frozenset[DType]] = REAL_FLOATING | COMPLEX
REAL: Final[frozenset[DType]] = INTEGER | REAL_FLOATING

DTYPE_NAMES: Final = ", ".join(f"{dtype.name} ({dtype.numpy_name})" for dtype in DTYPES)
"""All of them by our names and NumPy's, for messages."""

_BY_NAME: Final[dict[object, DType]] = {
    **{dtype.name: dtype for dtype in DTYPES},
    **{dtype.numpy_name: dtype for dtype in DTYPES},
    "bool_": Bool,
    "longlong": I64,
    "f4": F32,
    "f8": F64,
    "i4": I32,
    "i8": I64,
    "c8": C32,
    "c16": C64,
    "?": Bool,
    "b1": Bool,  # NumPy's codes
    "float": F64,
    "int": I64,
    "complex": C64,
}
_NATIVE: Final = ("=", "<" if sys.byteorder == "little" else ">")
_BY_PYTHON_TYPE: Final[dict[object, DType]] = {bool: Bool, int: I64, float: F64, complex: C64}
_BY_CODE: Final[dict[object, DType]] = {  # NumPy's, but for "l", whose length is the machine's
    "d": F64, "f": F32, "D": C64, "F": C32, "i": I32, "q": I64, "double": F64, "single": F32, "cdouble": C64,
    "csingle": C32, "|b1": Bool,
    **{f"{mark}{code}": _BY_NAME[code] for mark in _NATIVE for code in ("f4", "f8", "i4", "i8", "c8", "c16")},
}  # fmt: skip
_PLAINLY_NAMED: Final[dict[object, DType]] = {
    **{dtype: dtype for dtype in DTYPES},
    **_BY_NAME,
    **_BY_CODE,
    **_BY_PYTHON_TYPE,
}


def as_dtype(name: object, /) -> DType:
    """The element type that a user names.

    Args:
        name: one of our classes, its name, NumPy's name, a NumPy dtype or scalar type of native byte order, or Python's
            bool, int, float or complex (Bool, I64, F64, C64).

    Raises:
        DTypeError: it names none of the seven.

    >>> as_dtype("F64"), as_dtype("complex64"), as_dtype(int)
    (F64, C32, I64)
    """
    try:
        found = _PLAINLY_NAMED.get(name)
    except TypeError:  # not hashable
        found = None
    if found is None:
        found = _named_by_numpy(name)
    if found is None:
        extents = "; the extents of a shape are one argument, as in zeros((2, 3))" if type(name) is int else ""
        raise DTypeError(f"dtype: {shortened(name)} is none of ours; accepted: {DTYPE_NAMES}{extents}", found=name)
    return found


def _named_by_numpy(name: Any) -> DType | None:
    if isinstance(name, type):
        return dtype_of_name(name.__name__) if name.__module__ == "numpy" else None
    if type(name).__module__.partition(".")[0] != "numpy" or not getattr(name, "isnative", False):
        return None
    scalar = getattr(name, "type", None)  # NumPy works a name out each time when it is asked for
    return dtype_of_name(getattr(scalar, "__name__", "")) or dtype_of_name(getattr(name, "name", ""))


def dtype_of_name(name: str, /) -> DType | None:
    """The element type of one of our names or NumPy's; None for any other text.

    >>> dtype_of_name("complex64"), dtype_of_name("float16") is None
    (C32, True)
    """
    return _BY_NAME.get(name)
