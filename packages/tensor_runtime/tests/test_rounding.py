"""Rounding and questions about infinities equal NumPy's."""

from __future__ import annotations

import math
from collections.abc import Callable
from re import escape
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tensor_runtime as tr
from numpy_agreement import layouts
from tensor_core import Bool
from tensor_core.dtypes import COMPLEX, DTYPES, FLOATING
from tensor_core.errors import ArgumentError, CastRangeError, DTypeError

PREDICATES: dict[str, Callable[..., Any]] = {"isnan": np.isnan, "isinf": np.isinf, "isfinite": np.isfinite}
ROUNDINGS: dict[str, Callable[..., Any]] = {"floor": np.floor, "ceil": np.ceil, "trunc": np.trunc, "round": np.rint}
SHAPES = [(), (0,), (1,), (2, 3), (2, 0, 3), (3, 1, 2)]


@pytest.mark.parametrize("name", ROUNDINGS)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_rounding_keeps_the_dtype(name: str, dtype: Any, shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(3)
    a = rng.integers(-9, 10, shape) / (2 if dtype in FLOATING else 1)
    a = np.asarray(a + 0.5j * rng.integers(-9, 10, shape) if dtype in COMPLEX else a).astype(dtype.numpy_name)
    for x in layouts(a):
        if dtype in COMPLEX and name != "round":
            with pytest.raises(DTypeError, match=f"{name}: operand is {escape(str(dtype))}"):
                getattr(tr, name)(x)
            continue
        result = getattr(tr, name)(x)
        expected = ROUNDINGS[name](a) if dtype in FLOATING else a
        assert result.dtype is dtype
        assert result.is_compact
        assert not np.shares_memory(result.to_numpy(), x.to_numpy())
        np.testing.assert_array_equal(result.to_numpy(), expected, strict=True)


def test_rounding_keeps_the_sign_of_zero_and_goes_to_even() -> None:
    x = tr.tensor([-0.4, -0.0, 0.5, 1.5, 2.5, -0.5, 1e300, math.inf])
    for name in ROUNDINGS:
        expected = ROUNDINGS[name](x.to_numpy())
        found = getattr(tr, name)(x).to_numpy()
        np.testing.assert_array_equal(found, expected)
        np.testing.assert_array_equal(np.signbit(found), np.signbit(expected))
    assert tr.round(tr.tensor([0.5, 1.5, 2.5, -2.5])).to_numpy().tolist() == [0, 2, 2, -2]


@pytest.mark.parametrize("name", PREDICATES)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_predicates_equal_numpys(name: str, dtype: Any, shape: tuple[int, ...]) -> None:
    a = np.resize(np.array([1.0, math.nan, math.inf, -math.inf, 0.0]), shape)
    if dtype in COMPLEX:
        with np.errstate(invalid="ignore"):
            a = a + 1j * np.asarray(np.resize(np.array([1.0, 2.0, 1.0, math.nan, math.inf, 0.0]), shape))
    with np.errstate(all="ignore"):
        a = np.asarray(a if dtype in FLOATING else np.nan_to_num(a, posinf=1, neginf=0)).astype(dtype.numpy_name)
    for x in layouts(a):
        result = getattr(tr, name)(x)
        assert result.dtype is Bool
        assert result.is_compact
        np.testing.assert_array_equal(result.to_numpy(), PREDICATES[name](a), strict=True)


@given(
    st.lists(st.floats(allow_nan=True, width=32), max_size=8),
    st.integers(-60, 60),
    st.sampled_from(["float32", "float64", "complex64", "complex128"]),
)
def test_rounding_to_decimals_has_the_bits_of_numpy(values: list[float], decimals: int, dtype: str) -> None:
    with np.errstate(all="ignore"):
        a = np.array(values, "float32").astype(dtype)
        if a.dtype.kind == "c":
            a.imag = a.real[::-1]
        expected = np.round(a, decimals)
    found = tr.round(tr.asarray(a), decimals).to_numpy()
    assert found.dtype == a.dtype
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_integers_are_rounded_to_powers_of_ten(dtype: str) -> None:
    a = np.array([-125, -15, -5, 0, 5, 15, 25, 149, 150, 12345], dtype)
    for decimals in (-3, -2, -1, 0, 2):
        found = tr.round(tr.asarray(a), decimals)
        assert found.to_numpy().dtype == a.dtype
        np.testing.assert_array_equal(found.to_numpy(), np.round(a, decimals))


@pytest.mark.parametrize(("dtype", "becomes"), [("I32", "2147483650.0"), ("I64", r"9.223372036854776e\+18")])
def test_an_integer_whose_multiple_of_ten_is_beyond_its_dtype_is_an_error_of_round(dtype: str, becomes: str) -> None:
    x = tr.tensor([0, 2 ** (31 if dtype == "I32" else 63) - 1], dtype=dtype)
    with pytest.raises(CastRangeError, match=rf"^round: element \(1,\) becomes {becomes}, out of range") as caught:
        tr.round(x, -1)
    assert "overflow=" not in str(caught.value)
    assert tr.round(tr.convert(x, "F64"), -1)[0].item() == 0.0


def test_truth_values_have_no_multiples_of_ten() -> None:
    x = tr.tensor([True, False])
    with pytest.raises(DTypeError, match="round: the operand is Bool and decimals -1; accepted below 0: C32, "):
        tr.round(x, -1)
    assert tr.round(x, 1).tolist() == tr.round(x).tolist() == [True, False]


def test_rounded_numbers_go_where_they_are_told_and_wrong_decimals_are_named() -> None:
    x, out = tr.tensor([1.26, -2.34]), tr.zeros(2)
    assert tr.round(x, 1, out) is out and out.tolist() == [1.3, -2.3]
    assert tr.round(x, decimals=1, out=x) is x and x.tolist() == [1.3, -2.3]
    for wrong in (1.5, "1", None, out):
        with pytest.raises(ArgumentError, match="round: decimals is"):
            tr.round(x, wrong)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="round: decimals are 999 away from 0; accepted: -308 to 308"):
        tr.round(x, 999)
    with pytest.raises(ArgumentError, match=r"tensor_runtime.round\(x, decimals\) rounds all"):
        round(x, 1)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("decimals", [1, 2, 5, -1, -3, 308])
def test_many_elements_are_rounded_to_decimals_with_the_bits_of_numpy(dtype: Any, decimals: int) -> None:
    random = np.random.default_rng(3)
    x = ((random.random(10_000) - 0.5) * 10.0 ** random.integers(-3, 6, 10_000)).astype(dtype)
    x[:6] = [np.nan, np.inf, -np.inf, -0.0, 0.125, 1e30]
    with np.errstate(all="ignore"):
        wanted = np.round(x, decimals)

    mine, out = tr.asarray(x.copy()), tr.zeros(x.shape, dtype=tr.asarray(x[:1].copy()).dtype)

    np.testing.assert_array_equal(tr.to_numpy(tr.round(mine, decimals)), wanted)
    np.testing.assert_array_equal(tr.to_numpy(tr.round(mine[::-1], decimals, out)), wanted[::-1])
    with pytest.raises(tr.TensorError, match=r"^round: "):
        tr.round(mine, decimals, tr.zeros((3,)))
