"""Single elements: how a number is stored, and what conversion does to it.

These few functions define ``convert`` and ``cast`` for all 49 pairs of element types; every backend must give the same
bits. Elements are Python numbers: bool, int, float and complex. An F32 element is a float that binary32 holds exactly.
"""

from __future__ import annotations

from math import copysign, inf, isfinite, isnan, ldexp
from struct import pack, unpack

from tensor_core.dtypes import C32, C64, DTYPES, F64, I32, I64, Bool, DType, Element, as_dtype
from tensor_core.errors import ArgumentError, CastRangeError, DTypeError, LossyConversionError, shortened
from tensor_core.foreign import python_number
from tensor_core.promotion import can_convert
from tensor_core.static_types import Final, Literal

Overflow = Literal["error", "saturate", "wrap"]

OVERFLOW_POLICIES: Final = ("error", "saturate", "wrap")
BOUNDS: Final[dict[DType, tuple[int, int]]] = {I32: (-(2**31), 2**31 - 1), I64: (-(2**63), 2**63 - 1)}
# What each kind stores without being asked to: an int is welcome in a float tensor, a float in an integer one is not.
_ACCEPTED: Final[dict[str, tuple[type, ...]]] = {
    "bool": (bool,),
    "int": (bool, int),
    "float": (bool, int, float),
    "complex": (bool, int, float, complex),
}
_MADE: Final[dict[str, str]] = {"bool": "bool(x)", "int": "int(x.real)", "float": "x.real", "complex": "complex(x)"}


def round_to_f32(number: float, /) -> float:
    """The nearest binary32 number, ties to even; an int is rounded once, and what is too large becomes infinite.

    >>> round_to_f32(0.1), round_to_f32(1e39), round_to_f32(2**60 + 2**36 + 1) == 2**60 + 2**37
    (0.10000000149011612, inf, True)
    """
    if isinstance(number, int):
        shift = number.bit_length() - 50
        if shift > 0:
            # Through binary64 an int would be rounded twice; 50 bits with a sticky last one are exact there.
            head = number >> shift
            number = ldexp(head | (head << shift != number), min(shift, 900))
    try:
        return float(unpack("<f", pack("<f", number))[0])
    except OverflowError:  # struct refuses what rounds beyond the largest finite number
        return copysign(inf, number)


def to_element(value: object, dtype: DType, /) -> Element:
    """A Python number exactly as a tensor of ``dtype`` stores it.

    Widening is implicit (an int in a float tensor); a float in an integer tensor, or a number in a Bool one, is
    refused. A scalar of another library, or a tensor of rank 0, counts as the Python number that it equals.

    Raises:
        DTypeError: not a number, or a number of a kind that ``dtype`` does not hold.
        CastRangeError: an integer that ``dtype`` does not hold.

    >>> from tensor_core import F32
    >>> to_element(1, F32), to_element(0.1, F32), to_element(True, I64)
    (1.0, 0.10000000149011612, 1)
    """
    dtype = as_dtype(dtype)
    number = python_number(value)
    if not isinstance(number, _ACCEPTED[dtype.kind]):
        accepted = ", ".join(kind.__name__ for kind in _ACCEPTED[dtype.kind])
        made = _MADE[dtype.kind]
        raise DTypeError(
            f"element: {shortened(number)} in a tensor of {dtype}; accepted: {accepted}; {made} makes one, and cast() "
            "a whole tensor",
            value=value,
            dtype=dtype,
        )
    if dtype is Bool:
        return number
    if dtype in BOUNDS:
        integer = int(number.real)
        if not BOUNDS[dtype][0] <= integer <= BOUNDS[dtype][1]:
            raise _out_of_range("element", number, dtype)
        return integer
    try:
        element = _to_floating(number, dtype)
    except OverflowError:
        raise _out_of_range("element", number, dtype) from None
    if isinstance(number, int) and element.real in (inf, -inf):
        raise _out_of_range("element", number, dtype)
    return element


def cast_scalar(value: object, source: DType, target: DType, overflow: Overflow = "error") -> Element:
    """What ``cast`` makes of one element, for any pair of types.

    Float to integer truncates toward zero. Complex to anything but Bool and complex keeps the real part. To Bool asks
    whether the element differs from zero (NaN does). To F32 and C32 rounds to nearest, beyond the largest number to
    infinity.

    Args:
        value: an element of ``source``.
        overflow: what becomes of a value outside an integer target: "error", "saturate" (to the nearest bound, NaN to
            0) or "wrap" (modulo 2ⁿ; NaN and infinities to 0).

    Raises:
        CastRangeError: out of range, with ``overflow="error"``.
        ArgumentError: another ``overflow``.

    >>> cast_scalar(-2.9, F64, I32), cast_scalar(3e9, F64, I32, "saturate"), cast_scalar(3e9, F64, I32, "wrap")
    (-2, 2147483647, -1294967296)
    """
    given: object = overflow
    if not isinstance(given, str) or given not in OVERFLOW_POLICIES:
        raise ArgumentError(
            f"cast: overflow is {shortened(overflow)}; accepted: 'error', 'saturate', 'wrap'", overflow=overflow
        )
    target = as_dtype(target)
    element = to_element(value, source)
    if target is Bool:
        return element != 0
    if target in BOUNDS:
        return _to_integer(element.real, target, overflow)
    return _to_floating(element if target in (C32, C64) else element.real, target)


def convert_scalar(value: object, source: DType, target: DType, /) -> Element:
    """What ``convert`` makes of one element; allowed when promoting both types gives the target.

    Raises:
        LossyConversionError: the pair is not allowed.

    >>> convert_scalar(3, I64, F64)
    3.0
    """
    source, target = as_dtype(source), as_dtype(target)
    if not can_convert(source, target):
        raise lossy_conversion(source, target)
    return cast_scalar(value, source, target)


def lossy_conversion(source: DType, target: DType, /) -> LossyConversionError:
    """The error for a pair of types that ``convert`` refuses.

    >>> from tensor_core import F32
    >>> print(lossy_conversion(F32, I32))
    convert: F32 to I32 could lose values; accepted: F32, F64, C32, C64; cast() does it explicitly
    """
    accepted = ", ".join(dtype.name for dtype in DTYPES if can_convert(source, dtype))
    return LossyConversionError(
        f"convert: {source} to {target} could lose values; accepted: {accepted}; cast() does it explicitly",
        source=source,
        target=target,
    )


def _to_integer(number: float, target: DType, overflow: Overflow) -> int:
    low, high = BOUNDS[target]
    if not isfinite(number):
        if overflow == "error":
            raise _out_of_range("cast", number, target)
        return 0 if overflow == "wrap" or isnan(number) else (high if number > 0 else low)
    integer = int(number)
    if low <= integer <= high:
        return integer
    if overflow == "error":
        raise _out_of_range("cast", number, target)
    if overflow == "saturate":
        return high if integer > high else low
    return (integer - low) % (high - low + 1) + low


def _to_floating(number: Element, dtype: DType) -> Element:
    rounded = float if dtype in (F64, C64) else round_to_f32
    if dtype.kind == "float":
        return rounded(number.real)
    return complex(rounded(number.real), rounded(number.imag))


def _out_of_range(operation: str, value: object, dtype: DType) -> CastRangeError:
    low, high = BOUNDS.get(dtype, ("the smallest", "the largest number"))
    return CastRangeError(
        f"{operation}: {shortened(value)} is out of range for {dtype}; accepted: {low} to {high}"
        + ("" if operation == "element" else "; or overflow='saturate' or 'wrap'"),
        value=value,
        index=None,
        dtype=dtype,
    )
