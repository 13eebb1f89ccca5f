"""Elementary functions equal NumPy's or SciPy's, with their edges, and nothing warns."""

from __future__ import annotations

import math
import subprocess
import sys
import warnings
from collections.abc import Callable
from re import escape
from typing import Any

import numpy as np
import pytest
import scipy.special

import tensor_runtime as tr
from numpy_agreement import UNIT, close, layouts
from tensor_core import C32, F64
from tensor_core.dtypes import COMPLEX, DTYPES, FLOATING
from tensor_core.errors import DTypeError

ANALYTIC: dict[str, Callable[..., Any]] = {
    "exp": np.exp,
    "expm1": np.expm1,
    "log": np.log,
    "log1p": np.log1p,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "tanh": np.tanh,
}
REAL_ONLY: dict[str, Callable[..., Any]] = {
    "erf": scipy.special.erf,
    "erfc": scipy.special.erfc,
    "sigmoid": scipy.special.expit,
    "silu": lambda x: x * scipy.special.expit(x),
    "softplus": lambda x: np.logaddexp(x, 0),
    "gelu": lambda x: x * scipy.special.ndtr(x),
}

ROUNDINGS: dict[str, Callable[..., Any]] = {"floor": np.floor, "ceil": np.ceil, "trunc": np.trunc, "round": np.rint}
SHAPES = [(), (0,), (1,), (2, 3), (2, 0, 3), (3, 1, 2)]
EDGES = [0.0, -0.0, 1e-30, -1e-30, 0.3, -0.7, 1.0, -1.0, 2.5, -20.0, 80.0, 1e30, math.inf, -math.inf, math.nan]


@pytest.mark.parametrize("name", [*ANALYTIC, *REAL_ONLY])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_a_function_equals_numpys_or_scipys(name: str, dtype: Any, shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(1)
    a = rng.integers(-3, 4, shape) if dtype not in FLOATING else rng.uniform(-0.9, 3, shape)
    a = np.asarray(a + 1j * rng.uniform(-0.9, 3, shape) if dtype in COMPLEX else a).astype(dtype.numpy_name)
    function = getattr(tr, name)
    for x in layouts(a):
        if dtype in COMPLEX and name in REAL_ONLY:
            with pytest.raises(
                DTypeError, match=f"{name}: operand is {escape(str(dtype))}; accepted: Bool, F32, F64, I32, I64"
            ):
                function(x)
            continue
        with np.errstate(all="ignore"):
            expected = (ANALYTIC | REAL_ONLY)[name](a if dtype in FLOATING else a.astype(float))
        result = function(x)
        assert result.dtype is (dtype if dtype in FLOATING else F64)
        close(result, expected, 8)
        assert not np.shares_memory(result.to_numpy(), x.to_numpy())


@pytest.mark.parametrize("name", [*ANALYTIC, *REAL_ONLY, "relu", "softmax", "log_softmax", *ROUNDINGS])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_edges_follow_ieee_and_nothing_warns(name: str, dtype: str, capfd: pytest.CaptureFixture[str]) -> None:
    a = np.array(EDGES).astype(dtype)
    expected = {
        "relu": lambda x: np.maximum(x, 0),
        "softmax": lambda x: np.full_like(x, math.nan),
        "log_softmax": lambda x: np.full_like(x, math.nan),
        "silu": lambda x: np.where(x == -math.inf, 0, REAL_ONLY["silu"](x)),
        # SciPy's ndtr rounds the square in its exponential, so that at -20 it has two digits less than asked for
        "gelu": lambda x: np.where(x == -math.inf, 0, np.where(x == -20, -5.507248237212469e-88, REAL_ONLY["gelu"](x))),
    }
    with np.errstate(all="ignore"):
        wanted = ({**ANALYTIC, **REAL_ONLY, **ROUNDINGS} | expected)[name](a)
    for state in ("raise", "warn", "print"):
        with np.errstate(all=state), warnings.catch_warnings():  # type: ignore[call-overload]
            warnings.simplefilter("error")
            results = [getattr(tr, name)(x) for x in (tr.asarray(a), tr.asarray(a[::-1].copy())[::-1])]
        for result in results:
            found = result.to_numpy()
            if "softmax" in name:
                np.testing.assert_array_equal(found, wanted)
                continue
            finite = np.isfinite(wanted)
            np.testing.assert_array_equal(found[~finite], wanted[~finite])
            np.testing.assert_allclose(found[finite], wanted[finite], rtol=8 * UNIT[dtype])
    assert capfd.readouterr() == ("", "")


def test_functions_of_more_elements_than_a_block() -> None:
    a = np.linspace(-5, 5, 3 * (1 << 14) + 17).astype(np.float32)
    for name in ("sigmoid", "softplus", "silu", "gelu"):
        close(getattr(tr, name)(tr.asarray(a)), REAL_ONLY[name](a), 8)
    close(tr.rsqrt(tr.asarray(a + 6)), 1 / np.sqrt(a + 6))


def test_complex_square_roots_and_logarithms_have_their_cut_along_the_negative_axis() -> None:
    x = tr.tensor([complex(-4.0, 0.0), complex(-4.0, -0.0)])
    assert tr.sqrt(x).to_numpy().tolist() == [2j, -2j]
    np.testing.assert_allclose(tr.log(x).to_numpy().imag, [math.pi, -math.pi])
    assert tr.rsqrt(tr.tensor([4 + 0j], dtype=C32)).item() == 0.5
    assert np.isnan(tr.rsqrt(tr.tensor([0j])).to_numpy()).all()


def test_scipys_functions_are_loaded_when_they_are_first_needed() -> None:
    program = """
import sys
import tensor_runtime as tr
x = tr.tensor([0.0])
tr.exp(x); tr.sigmoid(x); tr.softmax(x); x // 2.0
assert "scipy.special" not in sys.modules, "loaded too early"
assert tr.gelu(x).item() == 0
assert "scipy.special" in sys.modules
"""
    subprocess.run([sys.executable, "-c", program], check=True)
