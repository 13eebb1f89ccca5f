"""Rounding and questions about infinities equal NumPy's."""

from __future__ import annotations

import math
from collections.abc import Callable
from re import escape
from typing import Any

import numpy as np
import pytest

import tensor_runtime as tr
from numpy_agreement import layouts
from tensor_core import Bool
from tensor_core.dtypes import COMPLEX, DTYPES, FLOATING
from tensor_core.errors import DTypeError

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
