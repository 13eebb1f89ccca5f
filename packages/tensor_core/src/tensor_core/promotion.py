"""Promotion: the smallest element type that two others convert to.

The lattice is that of NumPy's ``result_type`` on all 49 pairs: Bool yields to everything, I32 to I64, an integer that
meets a floating type goes to the widest of its kind, and complex wins over real.
"""

from __future__ import annotations

from tensor_core.dtypes import C32, C64, DTYPES, F32, F64, I32, I64, Bool, DType, as_dtype
from tensor_core.errors import DTypeError, shortened
from tensor_core.static_types import Final

# From each type to the next wider ones; joins are computed from it below.
_NEXT: Final[dict[DType, tuple[DType, ...]]] = {
    Bool: (I32, F32),
    I32: (I64,),
    I64: (F64,),
    F32: (F64, C32),
    F64: (C64,),
    C32: (C64,),
    C64: (),
}


def _above(dtype: DType) -> set[DType]:
    found = {dtype}
    for wider in _NEXT[dtype]:
        found |= _above(wider)
    return found


_ABOVE: Final = {dtype: _above(dtype) for dtype in DTYPES}


def _join(a: DType, b: DType) -> DType:
    common = _ABOVE[a] & _ABOVE[b]
    return next(dtype for dtype in common if common <= _ABOVE[dtype])


_PROMOTED: Final = {(a, b): _join(a, b) for a in DTYPES for b in DTYPES}

# What a Python number becomes beside a tensor whose kind cannot hold it; (kind of the tensor, type of the number).
_WEAK: Final[dict[tuple[str, type], DType]] = {
    ("bool", int): I64,
    ("bool", float): F64,
    ("int", float): F64,
    ("bool", complex): C64,
    ("int", complex): C64,
}
_NUMBERS: Final = (bool, int, float, complex)


def _beside(dtype: DType, number: type) -> DType:
    if number is complex and dtype.kind == "float":
        return C32 if dtype is F32 else C64
    return _WEAK.get((dtype.kind, number), dtype)


_BESIDE_NUMBER: Final[dict[tuple[DType, type], DType]] = {
    (dtype, number): _beside(dtype, number) for dtype in DTYPES for number in _NUMBERS
}


def promote(*dtypes: DType) -> DType:
    """The smallest type that all the others convert to.

    Raises:
        DTypeError: nothing was given.

    >>> promote(I32, F32), promote(F64, C32), promote(Bool, Bool)
    (F64, C64, Bool)
    """
    if not dtypes:
        raise DTypeError("promote: no dtype was given; give one or more")
    common, *others = map(as_dtype, dtypes)
    for dtype in others:
        common = _PROMOTED[common, dtype]
    return common


def promote_scalar(dtype: DType, number: type, /) -> DType:
    """The type in which a tensor meets a Python number: the tensor's, when its kind can hold the number's.

    Args:
        dtype: the tensor's type.
        number: bool, int, float or complex.

    >>> promote_scalar(F32, float), promote_scalar(I32, float), promote_scalar(F32, complex)
    (F32, F64, C32)
    """
    try:
        return _BESIDE_NUMBER[dtype, number]
    except (KeyError, TypeError):  # another name of the dtype, or a mistake
        if not any(number is one for one in _NUMBERS):
            raise DTypeError(
                f"promote_scalar: found {shortened(number)}; accepted: bool, int, float, complex"
            ) from None
    return _BESIDE_NUMBER[as_dtype(dtype), number]


def can_convert(source: DType, target: DType, /) -> bool:
    """Whether a checked conversion is allowed: promoting both gives the target.

    I64 to F64 is allowed, although integers beyond 2**53 are rounded to nearest.

    >>> can_convert(F32, C64), can_convert(I64, F64), can_convert(F64, I64)
    (True, True, False)
    """
    return _PROMOTED[as_dtype(source), as_dtype(target)] is as_dtype(target)
