"""Activations: SciPy's values, digits kept where they are small, and their edges."""

from __future__ import annotations

import decimal
import math
from collections.abc import Callable
from re import escape
from typing import Any

import numpy as np
import pytest
import scipy.special

import tensor_runtime as tr
from numpy_agreement import UNIT, close, layouts
from tensor_core import F64, I32, Bool
from tensor_core.dtypes import COMPLEX, DTYPES, FLOATING
from tensor_core.errors import ArgumentError, AxisError, DTypeError


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_activations_keep_their_digits_where_they_are_small(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decimal.getcontext(), "prec", 400)  # 1 + exp(-700) has 305 digits
    a = np.array([-87.0, -50.0, -20.5, -5.0, -1.0, 0.5, 20.0, 90.0]).astype(dtype)
    if dtype == "float64":
        a = np.append(a, [-700.0, -740.0, 800.0])

    def check(name: str, formula: Callable[[decimal.Decimal], decimal.Decimal], units: int) -> None:
        expected = np.array([float(formula(decimal.Decimal(float(x)))) for x in a])
        found = getattr(tr, name)(tr.asarray(a)).to_numpy().astype(float)
        tiny = 1000 * np.finfo(dtype).smallest_subnormal
        assert (np.abs(found - expected) <= units * UNIT[dtype] * np.abs(expected) + tiny).all(), name

    one = decimal.Decimal(1)
    check("sigmoid", lambda x: one / (one + (-x).exp()), 4)
    check("silu", lambda x: x / (one + (-x).exp()), 6)
    check("softplus", lambda x: (one + x.exp()).ln(), 4)


def test_gelu_keeps_its_digits_and_takes_an_approximation() -> None:
    a = np.linspace(-30, 8, 200)
    exact = np.array([x * 0.5 * math.erfc(-x / math.sqrt(2)) for x in a])
    np.testing.assert_allclose(tr.gelu(tr.asarray(a)).to_numpy(), exact, rtol=1e-12)
    tanh = 0.5 * a * (1 + np.tanh(math.sqrt(2 / math.pi) * (a + 0.044715 * a**3)))
    result = tr.gelu(tr.asarray(a), approximate="tanh").to_numpy()
    np.testing.assert_allclose(result, tanh, rtol=1e-12, atol=1e-15)
    assert np.abs(result - exact).max() < 5e-4
    edges = tr.tensor([-math.inf, math.inf, math.nan, 0.0, 1e200, -1e200])
    for approximate in ("none", "tanh"):
        np.testing.assert_array_equal(
            tr.gelu(edges, approximate=approximate).to_numpy(), [0, math.inf, math.nan, 0, 1e200, 0]
        )
    assert tr.gelu(tr.tensor([1, 2], dtype=I32)).dtype is F64
    with pytest.raises(ArgumentError, match="gelu: approximate is 'fast'; accepted: 'none', 'tanh'"):
        tr.gelu(tr.ones(2), approximate="fast")


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_relu(dtype: Any) -> None:
    a = np.array([[-2, 0, 3], [1, -1, 0]]).astype(dtype.numpy_name)
    for x in layouts(a):
        if dtype in COMPLEX or dtype is Bool:
            with pytest.raises(
                DTypeError, match=f"relu: operand is {escape(str(dtype))}; accepted: F32, F64, I32, I64"
            ):
                tr.relu(x)
            continue
        result = tr.relu(x)
        assert result.dtype is dtype
        np.testing.assert_array_equal(result.to_numpy(), np.maximum(a, 0), strict=True)
        assert result.is_compact
    assert np.isnan(tr.relu(tr.tensor(math.nan)).item())


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("axis", [-1, 0, 1, (0, 2), None, (), [1]], ids=str)
def test_softmax_equals_scipys_along_any_axes(dtype: Any, axis: Any) -> None:
    rng = np.random.default_rng(2)
    a = np.asarray(rng.integers(-4, 5, (2, 3, 4))).astype(dtype.numpy_name)
    along = tuple(axis) if isinstance(axis, list) else axis
    for x in layouts(a):
        for name in ("softmax", "log_softmax"):
            if dtype in COMPLEX:
                with pytest.raises(DTypeError, match=name):
                    getattr(tr, name)(x, axis)
                continue
            y = a if dtype in FLOATING else a.astype(float)
            if along == ():
                expected = np.full_like(y, 1 if name == "softmax" else 0)
            else:
                expected = getattr(scipy.special, name)(y, axis=along)
            close(getattr(tr, name)(x, axis), expected, 16)


def test_edges_of_softmax() -> None:
    inf, nan = math.inf, math.nan
    x = tr.tensor([[1e308, -1e308, 0.0], [-inf, 0.0, 0.0], [-inf, -inf, -inf], [inf, 0.0, 0.0], [nan, 0.0, 1.0]])
    np.testing.assert_array_equal(tr.softmax(x).to_numpy(), [[1, 0, 0], [0, 0.5, 0.5], [nan] * 3, [nan] * 3, [nan] * 3])
    logs = tr.log_softmax(x).to_numpy()
    np.testing.assert_allclose(logs[1], [-inf, -math.log(2), -math.log(2)])
    assert logs[0].tolist() == [0.0, -inf, -1e308]
    for shape in ((0,), (2, 0), (0, 3)):
        assert tr.softmax(tr.zeros(shape)).shape == shape
        assert tr.log_softmax(tr.zeros(shape), 0).shape == shape
    assert tr.softmax(tr.tensor(5.0), None).item() == 1
    assert tr.softmax(tr.tensor(5.0), ()).item() == 1


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_a_bad_axis_of_softmax_is_named(name: str) -> None:
    for axis in (2, -3, (0, 0)):
        with pytest.raises(AxisError, match=name):
            getattr(tr, name)(tr.ones((2, 2)), axis)
    with pytest.raises(AxisError, match=name):
        getattr(tr, name)(tr.tensor(1.0))
    for axis in (1.0, "a", (0, "a")):
        with pytest.raises(ArgumentError, match=f"{name}: ax"):
            getattr(tr, name)(tr.ones((2, 2)), axis)
