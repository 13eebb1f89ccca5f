"""Element types under the standard's names, and what can be asked of them."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from tensor_core.dtypes import C32, C64, DTYPES, F32, F64, I32, I64, Bool, DType, as_dtype
from tensor_core.errors import ArgumentError, DTypeError, shortened
from tensor_core.foreign import number_of
from tensor_core.promotion import can_convert, promote, promote_scalar
from tensor_core.scalar_conversion import BOUNDS
from tensor_runtime.dispatch.conversion import cast
from tensor_runtime.ops.views import copy as copied
from tensor_runtime.placement import Placement
from tensor_runtime.tensors.tensor import Tensor, unwrap

KINDS: Final[dict[str, tuple[DType, ...]]] = {
    "bool": (Bool,),
    "signed integer": (I32, I64),
    "unsigned integer": (),
    "integral": (I32, I64),
    "real floating": (F32, F64),
    "complex floating": (C32, C64),
    "numeric": (I32, I64, F32, F64, C32, C64),
}
"""The standard's kinds of element types."""
_PART: Final[dict[DType, DType]] = {C32: F32, C64: F64}


class FloatingLimits(NamedTuple):
    """What ``finfo`` tells of a floating type, as Python numbers."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: DType


class IntegerLimits(NamedTuple):
    """What ``iinfo`` tells of an integer type."""

    bits: int
    max: int
    min: int
    dtype: DType


_LIMITS: Final[dict[DType, FloatingLimits]] = {
    F32: FloatingLimits(32, 2.0**-23, (2 - 2.0**-23) * 2.0**127, -(2 - 2.0**-23) * 2.0**127, 2.0**-126, F32),
    F64: FloatingLimits(64, 2.0**-52, (2 - 2.0**-52) * 2.0**1023, -(2 - 2.0**-52) * 2.0**1023, 2.0**-1022, F64),
}


def _dtype_of(found: object) -> DType:
    return found.dtype if isinstance(found, Tensor) else as_dtype(found)


def finfo(type: object, /) -> FloatingLimits:
    """Limits of a floating type; of a complex one, those of its parts.

    Args:
        type: an element type, or a tensor.

    Raises:
        DTypeError: the type is no floating one.

    Source: the array API standard 2024.12.

    >>> finfo(F32).eps, finfo(C64).dtype
    (1.1920928955078125e-07, F64)
    """
    dtype = _dtype_of(type)
    found = _LIMITS.get(_PART.get(dtype, dtype))
    if found is None:
        raise DTypeError(f"finfo: found {dtype}; accepted: F32, F64, C32, C64; iinfo() tells of integers")
    return found


def iinfo(type: object, /) -> IntegerLimits:
    """Limits of an integer type.

    Args:
        type: an element type, or a tensor.

    Raises:
        DTypeError: the type is no integer one.

    Source: the array API standard 2024.12.

    >>> iinfo(I32).max
    2147483647
    """
    dtype = _dtype_of(type)
    if dtype not in (I32, I64):
        raise DTypeError(f"iinfo: found {dtype}; accepted: I32, I64; finfo() tells of floating types")
    low, high = BOUNDS[dtype]
    return IntegerLimits(8 * dtype.itemsize, int(high), int(low), dtype)


def isdtype(dtype: DType, kind: object) -> bool:
    """Whether an element type is of a kind.

    Args:
        dtype: an element type.
        kind: the standard's name of a kind, an element type, or a tuple of both.

    Raises:
        ArgumentError: no such kind.
        DTypeError: no such element type.

    Source: the array API standard 2024.12.

    >>> isdtype(F64, "real floating"), isdtype(F64, ("integral", F64)), isdtype(Bool, "numeric")
    (True, True, False)
    """
    if isinstance(kind, tuple):
        return any(isdtype(dtype, one) for one in kind)
    if isinstance(kind, str) and kind not in KINDS:
        raise ArgumentError(f"isdtype: found {kind!r}; accepted: {', '.join(map(repr, KINDS))}, or an element type")
    found = as_dtype(dtype)
    return found in KINDS[kind] if isinstance(kind, str) else found is as_dtype(kind)


def can_cast(from_: object, to: DType, /) -> bool:
    """Whether every value of one type converts to another.

    Args:
        from_: an element type, or a tensor.
        to: an element type.

    Source: the array API standard 2024.12, on the lattice of ``tensor_core.promotion``.

    >>> can_cast(I32, F64), can_cast(F64, F32)
    (True, False)
    """
    return can_convert(_dtype_of(from_), as_dtype(to))


def result_type(*arrays_and_dtypes: object) -> DType:
    """The type in which tensors, element types and Python numbers meet.

    Args:
        arrays_and_dtypes: in any order; a Python number takes part by its kind alone.

    Raises:
        ArgumentError: nothing but numbers.
        DTypeError: what is none of these.

    Source: the array API standard 2024.12.

    >>> result_type(I32, F32), result_type(F32, 2.5), result_type(I32, 1j)
    (F64, F32, C64)
    """
    numbers, types = [], []
    for one in arrays_and_dtypes:
        number = None if isinstance(one, (Tensor, DType)) else number_of(one)
        if number is None:
            types.append(_dtype_of(one))
        else:
            numbers.append(number)
    if not types:
        raise ArgumentError(f"result_type: found {shortened(arrays_and_dtypes)}; accepted: one tensor or type at least")
    found = types[0]
    for dtype in types[1:]:
        found = promote(found, dtype)
    for number in numbers:
        found = promote_scalar(found, type(number))
    return found


def astype(x: Tensor, dtype: DType, /, *, copy: bool = True, device: Placement | str | None = None) -> Tensor:
    """A tensor of another element type; values that it does not hold are rounded, or wrap.

    Args:
        x: any layout.
        dtype: the type wanted.
        copy: False gives the tensor itself where it has the type.
        device: where it is wanted; None leaves it.

    Returns:
        The shape of ``x``.

    Raises:
        DTypeError: complex to real, which drops imaginary parts; take ``real`` first.

    Source: the array API standard 2024.12; ``cast`` says what it does to each value.

    >>> import tensor_runtime as tr
    >>> astype(tr.tensor([1.5, -2.5]), I64).tolist()
    [1, -2]
    """
    unwrap("astype", x)
    wanted = as_dtype(dtype)
    if wanted in KINDS["real floating"] + KINDS["integral"] and x.dtype in _PART:
        raise DTypeError(f"astype: {x.dtype} to {wanted} drops imaginary parts; real() takes them off explicitly")
    found = cast(x, wanted, "wrap") if x.dtype is not wanted else copied(x) if copy else x
    return found if device is None else found.to(device)


DTYPES_BY_NAME: Final[dict[str, DType]] = {dtype.numpy_name: dtype for dtype in DTYPES}
"""Every element type by the standard's name."""


def dtypes_of_kind(kind: Any, /) -> dict[str, DType]:
    """Element types by name, of a kind or of all.

    >>> list(dtypes_of_kind("integral"))
    ['int32', 'int64']
    """
    return {name: dtype for name, dtype in DTYPES_BY_NAME.items() if kind is None or isdtype(dtype, kind)}
