"""Elements, checked conversion and cast: the definitions that every backend has to match."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from itertools import product
from math import copysign, inf, isnan, nan
from re import escape
from struct import pack, unpack

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensor_core import (
    C32,
    C64,
    DTYPES,
    F32,
    F64,
    I32,
    I64,
    ArgumentError,
    Bool,
    CastRangeError,
    DType,
    DTypeError,
    can_convert,
    cast_scalar,
    convert_scalar,
    to_element,
)
from tensor_core.scalar_conversion import BOUNDS, round_to_f32
from tensor_core.testing.strategies import dtypes, elements


def same(a: object, b: object) -> bool:
    """Equal with type, sign of zero, and NaN for NaN."""
    if isinstance(a, complex) and isinstance(b, complex):
        return same(a.real, b.real) and same(a.imag, b.imag)
    if isinstance(a, float) and isinstance(b, float):
        return (isnan(a) and isnan(b)) or (a == b and copysign(1, a) == copysign(1, b))
    return type(a) is type(b) and a == b


PYTHON_TYPE = {"bool": bool, "int": int, "float": float, "complex": complex}
TINY32 = 2.0**-149
SPECIALS: dict[DType, list[object]] = {
    Bool: [False, True],
    I32: [0, 1, -1, 2**31 - 1, -(2**31)],
    I64: [0, -1, 2**31, 2**53 + 1, 2**63 - 1, -(2**63)],
    F32: [0.0, -0.0, nan, inf, -inf, TINY32, 2.0**31, 2.0**63, -1.5, float(2**24 + 2)],
    F64: [0.0, -0.0, nan, inf, -inf, 5e-324, 2.0**31, 2.0**63, -(2.0**63), 1e39, 0.1, -2.9, 2147483647.9],
    C32: [0j, complex(-0.0, -0.0), complex(nan, 1), complex(inf, -inf), 1 + 1j, 0.5j, complex(2.0**31, 3)],
    C64: [0j, complex(0, nan), complex(nan, 0), 1e39 + 1e-50j, -0.5 + 2j, complex(2.0**63, 0)],
}


@pytest.mark.parametrize(
    ("value", "source", "target", "expected"),
    [
        (-2.9, F64, I32, -2),
        (2147483647.9, F64, I32, 2147483647),
        (-0.9, F32, I64, 0),
        (nan, F64, Bool, True),
        (-0.0, F64, Bool, False),
        (complex(0, 1), C64, Bool, True),
        (complex(0, nan), C32, Bool, True),
        (0j, C64, Bool, False),
        (3 - 4j, C64, F64, 3.0),
        (complex(nan, 1), C32, F32, nan),
        (2.5 + 9j, C64, I32, 2),
        (True, Bool, C32, 1 + 0j),
        (1e39, F64, F32, inf),
        (-1e39 + 1e-50j, C64, C32, complex(-inf, 0.0)),
        (0.1, F64, F32, 0.10000000149011612),
        (2**53 + 1, I64, F64, 2.0**53),
        (2**24 + 1, I32, F32, 2.0**24),
        (2**24 + 3, I32, F32, 2.0**24 + 4),
        (-(2**63), I64, F32, -(2.0**63)),
        (5, I32, C64, 5 + 0j),
        (5e-324, F64, F32, 0.0),
        (-5e-324, F64, F32, -0.0),
    ],
    ids=repr,
)
def test_cast_gives_the_written_value(value: object, source: DType, target: DType, expected: object) -> None:
    assert same(cast_scalar(value, source, target), expected)


@pytest.mark.parametrize("target", [I32, I64], ids=repr)
@pytest.mark.parametrize("source", [F32, F64, C32, C64], ids=repr)
@pytest.mark.parametrize("value", [nan, inf, -inf, 2.0**63, -(2.0**64)], ids=repr)
def test_out_of_range_follows_the_policy(value: float, source: DType, target: DType) -> None:
    low, high = BOUNDS[target]
    with pytest.raises(CastRangeError, match=f"cast: .* is out of range for {escape(str(target))}") as caught:
        cast_scalar(value, source, target)
    assert same(caught.value.value, value)
    saturated = 0 if isnan(value) else high if value > 0 else low
    assert cast_scalar(value, source, target, "saturate") == saturated
    wrapped = -(2**63) if target is I64 and value == 2.0**63 else 0
    assert cast_scalar(value, source, target, "wrap") == wrapped


def test_wrapping_is_modulo_two_to_the_width() -> None:
    assert cast_scalar(2**31, I64, I32, "wrap") == -(2**31)
    assert cast_scalar(-(2**31) - 1, I64, I32, "wrap") == 2**31 - 1
    assert cast_scalar(2**32 + 7, I64, I32, "wrap") == 7
    assert cast_scalar(3e9, F64, I32, "wrap") == 3_000_000_000 - 2**32
    assert cast_scalar(-3000000000.7, F64, I32, "wrap") == 2**32 - 3_000_000_000
    with pytest.raises(CastRangeError, match="2147483648 is out of range for I32; accepted: -2147483648 to 2147483647"):
        cast_scalar(2**31, I64, I32)


def test_an_unknown_policy_is_refused_for_every_pair() -> None:
    for source, target in product(DTYPES, repeat=2):
        with pytest.raises(ArgumentError, match="accepted: 'error', 'saturate', 'wrap'"):
            cast_scalar(SPECIALS[source][0], source, target, "clip")  # type: ignore[arg-type]


@pytest.mark.parametrize("source", DTYPES, ids=repr)
@pytest.mark.parametrize("target", DTYPES, ids=repr)
@pytest.mark.parametrize("overflow", ["saturate", "wrap"])
def test_cast_is_total_and_gives_elements_of_the_target(source: DType, target: DType, overflow: str) -> None:
    for value in SPECIALS[source]:
        element = cast_scalar(value, source, target, overflow)  # type: ignore[arg-type]
        assert type(element) is PYTHON_TYPE[target.kind]
        assert same(to_element(element, target), element)


@given(st.data(), dtypes(), dtypes())
def test_a_checked_conversion_never_fails_and_comes_back(data: st.DataObject, source: DType, target: DType) -> None:
    if not can_convert(source, target):
        return
    element = data.draw(elements(source))
    converted = convert_scalar(element, source, target)
    assert same(converted, cast_scalar(element, source, target))
    exact = source is not I64 or abs(int(element.real)) <= 2**53 or target is I64
    if exact:
        assert same(cast_scalar(converted, target, source, "saturate"), element)


@given(st.integers(-(2**80), 2**80))
def test_an_integer_is_rounded_to_binary32_once(number: int) -> None:
    rounded = round_to_f32(number)
    unit = Fraction(1)
    while abs(Fraction(rounded)) / unit >= 2**24:
        unit *= 2
    distance = abs(Fraction(rounded) - number)
    assert distance <= unit / 2
    if distance == unit / 2:  # a tie goes to the even neighbour
        assert (Fraction(rounded) / unit) % 2 == 0


@given(st.floats())
def test_a_float_is_rounded_to_binary32_as_the_hardware_does(number: float) -> None:
    try:
        expected = unpack("<f", pack("<f", number))[0]
    except OverflowError:
        expected = copysign(inf, number)
    assert same(round_to_f32(number), expected)


@given(st.integers(-(2**70), 2**70), st.sampled_from((I32, I64)))
def test_a_policy_decides_about_integers_beyond_the_range(number: int, target: DType) -> None:
    low, high = BOUNDS[target]
    width = 8 * target.itemsize
    value = float(number)
    exact = int(value)
    assert cast_scalar(value, F64, target, "saturate") == min(max(exact, low), high)
    wrapped = cast_scalar(value, F64, target, "wrap")
    assert low <= wrapped <= high  # type: ignore[operator]
    assert (wrapped - exact) % 2**width == 0


@pytest.mark.parametrize(
    ("value", "dtype"),
    [(1.0, I64), (1j, F64), (1, Bool), (0.0, Bool), ("1", F64), (None, F64), (b"1", I32), ([1], F64)],
)
def test_an_element_is_never_narrowed_implicitly(value: object, dtype: DType) -> None:
    with pytest.raises(DTypeError, match=r"element: .*accepted: "):
        to_element(value, dtype)


def test_an_element_widens_and_rounds_to_its_type() -> None:
    assert same(to_element(True, F32), 1.0)
    assert same(to_element(-0.0, C32), complex(-0.0, 0.0))
    assert same(to_element(0.1j, C32), complex(0, 0.10000000149011612))
    assert same(to_element(Fraction(1, 4), F64), 0.25)
    assert same(to_element(Decimal("0.5"), C64), 0.5 + 0j)


@pytest.mark.parametrize(
    ("value", "dtype"),
    [(2**31, I32), (-(2**31) - 1, I32), (2**63, I64), (10**400, F64), (10**400, C32), (10**39, F32), (10**4000, I64)],
    ids=lambda value: repr(value)[:12],
)
def test_an_integer_that_does_not_fit_is_an_error(value: int, dtype: DType) -> None:
    with pytest.raises(CastRangeError, match=f"out of range for {escape(str(dtype))}"):
        to_element(value, dtype)
