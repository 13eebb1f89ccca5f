"""Divisions with rounding equal NumPy's and Python's; integers refuse zero divisors."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from re import escape
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tensor_runtime as tr
from numpy_agreement import layouts, same, whole_numbers
from tensor_core import I32, I64, Bool, as_dtype
from tensor_core.dtypes import COMPLEX, FLOATING, INTEGER, REAL
from tensor_core.errors import (
    CastRangeError,
    DivisionByZeroError,
    DTypeError,
    ShapeError,
)


def truncated(a: Any, b: Any) -> Any:
    """Quotient toward zero, from NumPy's quotient and remainder."""
    quotient, rest = np.divmod(a, b)
    return np.where((quotient < 0) & (rest != 0), quotient + 1, quotient).astype(quotient.dtype)


DIVISIONS: dict[str, Callable[..., Any]] = {
    "floor_divide": np.floor_divide,
    "remainder": np.remainder,
    "trunc_divide": truncated,
    "fmod": np.fmod,
}
WHOLE: dict[str, Callable[[int, int], int]] = {
    "floor_divide": lambda a, b: a // b,
    "remainder": lambda a, b: a % b,
    "trunc_divide": lambda a, b: abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1),
    "fmod": lambda a, b: abs(a) % abs(b) * (1 if a >= 0 else -1),
}
SHAPES = [
    ((2, 3), (2, 3)),
    ((), ()),
    ((2, 3), ()),
    ((3,), (2, 3)),
    ((2, 1, 3), (4, 1)),
    ((0, 2), (2,)),
    ((1, 1), (3, 1)),
]


@pytest.mark.parametrize("name", DIVISIONS)
@pytest.mark.parametrize("shapes", SHAPES, ids=str)
@pytest.mark.parametrize("a_type", sorted(REAL, key=str), ids=str)
@pytest.mark.parametrize("b_type", sorted(REAL, key=str), ids=str)
def test_a_division_equals_numpys_in_any_dtypes_shapes_and_layouts(
    name: str, shapes: Any, a_type: Any, b_type: Any
) -> None:
    a, b = whole_numbers(shapes[0], a_type, 1), whole_numbers(shapes[1], b_type, 2, zeros=False)
    for x in layouts(a):
        for y in layouts(b):
            result = getattr(tr, name)(x, y)
            expected = DIVISIONS[name](a, b)
            if name == "trunc_divide" and result.dtype in FLOATING:  # zeros bear the sign of the quotient
                np.testing.assert_array_equal(result.to_numpy(), expected, strict=True)
                assert result.is_compact
            else:
                same(result, expected)


@pytest.mark.parametrize("name", DIVISIONS)
@pytest.mark.parametrize("dtype", sorted(REAL, key=str), ids=str)
@pytest.mark.parametrize("number", [3, -2, 2.5, True], ids=str)
def test_a_division_takes_a_python_number_on_either_side(name: str, dtype: Any, number: Any) -> None:
    for shape in ((2, 3), (), (0,)):
        a = whole_numbers(shape, dtype, 3, zeros=False)
        for x in layouts(a):
            for ours, theirs in (((x, number), (a, number)), ((number, x), (number, a))):
                result, expected = getattr(tr, name)(*ours), np.asarray(DIVISIONS[name](*theirs))
                assert result.dtype is as_dtype(expected.dtype)
                np.testing.assert_array_equal(result.to_numpy(), expected, strict=True)
                assert result.is_compact


@pytest.mark.parametrize("name", DIVISIONS)
@pytest.mark.parametrize("dtype", [Bool, *sorted(COMPLEX, key=str)], ids=str)
def test_bool_and_complex_are_refused(name: str, dtype: Any) -> None:
    x = tr.zeros((2,), dtype=dtype)
    with pytest.raises(
        DTypeError,
        match=f"{name}: operands are {escape(str(dtype))}, {escape(str(dtype))}; accepted: F32, F64, I32, I64",
    ):
        getattr(tr, name)(x, x)
    with pytest.raises(DTypeError, match=f"{name}: operands are {escape(str(dtype))}, complex"):
        getattr(tr, name)(x, 1j)


@pytest.mark.parametrize("name", DIVISIONS)
@pytest.mark.parametrize("dtype", [I32, I64], ids=str)
@given(data=st.data())
def test_integers_divide_exactly_as_python_does_and_wrap(name: str, dtype: Any, data: st.DataObject) -> None:
    bits = 32 if dtype is I32 else 64
    low, high = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
    whole = st.one_of(st.sampled_from([low, low + 1, -1, 1, high]), st.integers(low, high))
    pairs = data.draw(st.lists(st.tuples(whole, whole.filter(bool)), min_size=1, max_size=6))
    a, b = (tr.tensor(list(column), dtype=dtype) for column in zip(*pairs, strict=True))

    expected = [(WHOLE[name](x, y) - low) % 2**bits + low for x, y in pairs]
    assert getattr(tr, name)(a, b).to_numpy().tolist() == expected


@pytest.mark.parametrize("name", DIVISIONS)
@pytest.mark.parametrize("dtype", [I32, I64], ids=str)
@pytest.mark.parametrize("extent", [1, 7, 1000])
def test_the_smallest_integer_divided_by_minus_one_wraps(name: str, dtype: Any, extent: int) -> None:
    smallest = np.iinfo(dtype.numpy_name).min
    expected = smallest if name in ("floor_divide", "trunc_divide") else 0
    for divisor in (-1, tr.full((extent,), -1, dtype=dtype), tr.tensor(-1, dtype=dtype)):
        assert set(getattr(tr, name)(tr.full((extent,), smallest, dtype=dtype), divisor).to_numpy().tolist()) == {
            expected
        }


@pytest.mark.parametrize("name", DIVISIONS)
@pytest.mark.parametrize("dtype", [I32, I64], ids=str)
@pytest.mark.parametrize("state", ["raise", "warn", "ignore"])
def test_a_zero_divisor_of_integers_is_named_by_its_first_index(name: str, dtype: Any, state: Any) -> None:
    divide = getattr(tr, name)
    b = np.array([[1, 2, 0], [3, 0, 5]], dtype.numpy_name)
    with np.errstate(all=state), warnings.catch_warnings():
        warnings.simplefilter("error")
        for y in layouts(b):
            with pytest.raises(DivisionByZeroError, match=f"{name}: the divisor at index \\(1, 1\\) is 0") as caught:
                divide(tr.ones((2, 3), dtype=dtype), y)
            assert caught.value.index == (1, 1)  # column-major: before (0, 2)
        with pytest.raises(DivisionByZeroError, match="index \\(2,\\) is 0"):
            divide(tr.ones((4, 3), dtype=dtype), tr.tensor([1, 2, 0], dtype=dtype))
        with pytest.raises(DivisionByZeroError, match="index \\(\\) is 0"):
            divide(tr.tensor(1, dtype=dtype), tr.tensor(0, dtype=dtype))
        with pytest.raises(ZeroDivisionError, match="the divisor is 0") as caught:
            divide(tr.ones((2,), dtype=dtype), 0)
        assert caught.value.index is None
        with pytest.raises(DivisionByZeroError, match="index \\(0,\\)"):
            divide(5, tr.zeros((2,), dtype=dtype))
        large = np.ones(70_001, dtype.numpy_name)
        large[70_000] = 0
        with pytest.raises(DivisionByZeroError, match="index \\(70000,\\)"):
            divide(tr.ones(70_001, dtype=dtype), tr.asarray(large))


@pytest.mark.parametrize("name", DIVISIONS)
def test_nothing_divided_by_zero_is_nothing(name: str) -> None:
    nothing = tr.zeros((0, 2), dtype=I64)
    for divisor in (0, tr.tensor(0), tr.zeros((1, 2), dtype=I64)):
        assert getattr(tr, name)(nothing, divisor).shape == (0, 2)


@pytest.mark.parametrize("name", DIVISIONS)
def test_unchecked_divisions_give_zero_where_the_divisor_is_zero(name: str) -> None:
    a, b = tr.tensor([7, -7, 5]), tr.tensor([2, 0, 0])
    divide = getattr(tr, name)

    assert divide(a, b, check=False).to_numpy().tolist() == [WHOLE[name](7, 2), 0, 0]
    assert divide(a, 0, check=False).to_numpy().tolist() == [0, 0, 0]
    np.testing.assert_array_equal(
        divide(tr.tensor([1.0]), tr.tensor([0.0]), check=False).to_numpy(),
        divide(tr.tensor([1.0]), tr.tensor([0.0])).to_numpy(),
    )


EDGES = [0.0, -0.0, 1.0, -1.0, 0.1, -2.5, 3.0, 1e300, -1e-300, 5e-324, math.inf, -math.inf, math.nan]


@pytest.mark.parametrize("name", DIVISIONS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_floats_follow_ieee_and_numpy(name: str, dtype: str) -> None:
    with np.errstate(all="ignore"):
        a = np.array(EDGES).astype(dtype)[:, None]
        b = np.array(EDGES).astype(dtype)
        result = getattr(tr, name)(tr.asarray(a), tr.asarray(b)).to_numpy()
        if name != "trunc_divide":
            expected = DIVISIONS[name](a, b)
        else:  # by its meaning: NumPy has none
            exact = np.vectorize(exactly_truncated, otypes=[np.float64])(a.astype(float), b.astype(float))
            expected = np.where(b == 0, a / b, np.copysign(exact.astype(dtype), a / b))
    np.testing.assert_array_equal(result, expected)
    known = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(result[known]), np.signbit(expected[known]))


def exactly_truncated(a: float, b: float) -> float:
    from fractions import Fraction

    if not math.isfinite(a) or math.isnan(b) or b == 0:
        return math.nan
    if math.isinf(b):
        return 0.0
    try:
        return float(math.trunc(Fraction(a) / Fraction(b)))
    except OverflowError:
        return math.inf


@given(st.lists(st.tuples(st.floats(-1e6, 1e6), st.floats(-1e3, 1e3).filter(lambda b: abs(b) > 1e-3)), min_size=1))
def test_a_quotient_goes_with_its_remainder(pairs: list[tuple[float, float]]) -> None:
    a, b = (np.array(column) for column in zip(*pairs, strict=True))
    x, y = tr.asarray(a), tr.asarray(b)
    floors, rest = divmod(x, y)

    np.testing.assert_array_equal(floors.to_numpy(), (x // y).to_numpy())
    np.testing.assert_array_equal(rest.to_numpy(), (x % y).to_numpy())
    # Relative to a, or to b where a tiny a of the other sign leaves b itself.
    scale = np.maximum(np.abs(a), np.abs(b))
    assert (np.abs(floors.to_numpy() * b + rest.to_numpy() - a) <= 4e-16 * scale).all()
    whole = tr.trunc_divide(x, y).to_numpy() * b + tr.fmod(x, y).to_numpy()
    assert (np.abs(whole - a) <= 4e-16 * scale).all()


# ---------------------------------------------------------------- powers


def test_errors_of_divisions_name_shapes_numbers_and_places() -> None:
    with pytest.raises(ShapeError, match="floor_divide: shapes \\(2,\\) and \\(3,\\) do not broadcast"):
        tr.floor_divide(tr.ones(2), tr.ones(3))
    with pytest.raises(CastRangeError, match="remainder: the number 2147483648 does not fit I32"):
        tr.remainder(tr.ones(2, dtype=I32), 2**31)
    with pytest.raises(DTypeError, match="fmod: found an operand of type ndarray"):
        tr.fmod(tr.ones(2), np.ones(2))  # type: ignore[arg-type]


def test_integer_operators_are_sugar() -> None:
    a, b = tr.tensor([[7, -7], [9, 2]]), tr.tensor([[2, 2], [-4, 3]])
    x, y = a.to_numpy(), b.to_numpy()
    for ours, theirs in [
        (a // b, x // y), (a % b, x % y), (a // 2, x // 2), (7 // b, 7 // y), (a % 3, x % 3), (7 % b, 7 % y),
        (a ** 3, x ** 3), (2 ** abs(a), 2 ** np.abs(x)), (a ** abs(b), x ** np.abs(y)),
        (a & b, x & y), (a | b, x | y), (a ^ b, x ^ y), (~a, ~x), (a << 2, x << 2), (a >> 1, x >> 1),
        (1 << abs(b), 1 << np.abs(y)), (99 >> abs(b), 99 >> np.abs(y)), (3 & a, 3 & x), (3 | a, 3 | x), (3 ^ a, 3 ^ x),
        (divmod(a, b)[0], x // y), (divmod(a, 4)[1], x % 4), (divmod(9, b)[1], 9 % y),
    ]:  # fmt: skip
        np.testing.assert_array_equal(ours.to_numpy(), theirs, strict=True)
    for expression in (lambda: a // "x", lambda: divmod(a, "x"), lambda: divmod("x", a), lambda: [] ** a):  # type: ignore[operator]
        with pytest.raises(TypeError):
            expression()
    with pytest.raises(DTypeError, match="asarray"):
        a % np.ones((2, 2))  # type: ignore[operator]


def test_sets_of_dtypes_are_what_these_tests_assume() -> None:
    assert {I32, I64} == INTEGER
