from __future__ import annotations

import decimal
import math
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import scipy.special

import tensor_runtime as tr
from tensor_core import C32, F32, F64, I32, Bool, as_dtype
from tensor_core.dtypes import COMPLEX, DTYPES, FLOATING, REAL_FLOATING
from tensor_core.errors import ArgumentError, AxisError, DTypeError, ShapeError

Array = np.ndarray[Any, Any]
UNIT = {"float32": 2.0**-23, "float64": 2.0**-52, "complex64": 2.0**-23, "complex128": 2.0**-52}

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
PREDICATES: dict[str, Callable[..., Any]] = {"isnan": np.isnan, "isinf": np.isinf, "isfinite": np.isfinite}
ROUNDINGS: dict[str, Callable[..., Any]] = {"floor": np.floor, "ceil": np.ceil, "trunc": np.trunc, "round": np.rint}
SHAPES = [(), (0,), (1,), (2, 3), (2, 0, 3), (3, 1, 2)]
EDGES = [0.0, -0.0, 1e-30, -1e-30, 0.3, -0.7, 1.0, -1.0, 2.5, -20.0, 80.0, 1e30, math.inf, -math.inf, math.nan]


def layouts(a: Array) -> Iterator[tr.Tensor]:
    """The same tensor compact, transposed, reversed."""
    yield tr.asarray(a, copy=True)
    yield tr.asarray(np.array(a.T, order="F")).T
    if a.ndim:
        yield tr.asarray(np.array(a[::-1], order="F"))[::-1]


def close(result: tr.Tensor, expected: Any, units: float = 4) -> None:
    """Within some rounding units of the largest finite element, NaN and infinities in the same places."""
    expected = np.asarray(expected)
    assert result.dtype is as_dtype(expected.dtype)
    assert result.is_compact
    found = result.to_numpy()
    assert found.shape == expected.shape
    for ours, theirs in ((found.real, expected.real), (found.imag, expected.imag)):
        finite = np.isfinite(theirs)
        np.testing.assert_array_equal(ours[~finite], theirs[~finite])
        if finite.any():
            largest = np.abs(expected[np.isfinite(expected)]).max(initial=0)
            assert np.abs(ours[finite] - theirs[finite]).max() <= units * UNIT[str(expected.dtype)] * max(
                float(largest), 1e-300
            )


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
            with pytest.raises(DTypeError, match=f"{name}: operand is {dtype}; accepted: Bool, F32, F64, I32, I64"):
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


def test_functions_of_more_elements_than_a_block() -> None:
    a = np.linspace(-5, 5, 3 * (1 << 14) + 17).astype(np.float32)
    for name in ("sigmoid", "softplus", "silu", "gelu"):
        close(getattr(tr, name)(tr.asarray(a)), REAL_ONLY[name](a), 8)
    close(tr.rsqrt(tr.asarray(a + 6)), 1 / np.sqrt(a + 6))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_relu(dtype: Any) -> None:
    a = np.array([[-2, 0, 3], [1, -1, 0]]).astype(dtype.numpy_name)
    for x in layouts(a):
        if dtype in COMPLEX or dtype is Bool:
            with pytest.raises(DTypeError, match=f"relu: operand is {dtype}; accepted: F32, F64, I32, I64"):
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


@pytest.mark.parametrize("name", ROUNDINGS)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_rounding_keeps_the_dtype(name: str, dtype: Any, shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(3)
    a = rng.integers(-9, 10, shape) / (2 if dtype in FLOATING else 1)
    a = np.asarray(a + 0.5j * rng.integers(-9, 10, shape) if dtype in COMPLEX else a).astype(dtype.numpy_name)
    for x in layouts(a):
        if dtype in COMPLEX and name != "round":
            with pytest.raises(DTypeError, match=f"{name}: operand is {dtype}"):
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


@pytest.mark.parametrize("a_type", DTYPES, ids=str)
@pytest.mark.parametrize("b_type", DTYPES, ids=str)
@pytest.mark.parametrize("shapes", [((2, 3), (2, 3)), ((), ()), ((3,), (2, 1)), ((0, 1), (3,))], ids=str)
def test_atan2_equals_numpys(a_type: Any, b_type: Any, shapes: Any) -> None:
    rng = np.random.default_rng(4)
    a, b = (
        np.asarray(rng.integers(-3, 4, shape)).astype(dtype.numpy_name)
        for shape, dtype in zip(shapes, (a_type, b_type), strict=True)
    )
    for y in layouts(a):
        for x in layouts(b):
            if a_type in COMPLEX or b_type in COMPLEX:
                with pytest.raises(DTypeError, match="atan2: operands are"):
                    tr.atan2(y, x)
                continue
            common = as_dtype(np.result_type(a, b))
            computed = (common if common in REAL_FLOATING else F64).numpy_name
            close(tr.atan2(y, x), np.arctan2(a.astype(computed), b.astype(computed)), 1)


@pytest.mark.parametrize("dtype", sorted(set(DTYPES) - COMPLEX, key=str), ids=str)
@pytest.mark.parametrize("number", [True, 2, -2.5], ids=str)
def test_atan2_takes_python_numbers(dtype: Any, number: Any) -> None:
    a = np.array([[0, 1, 3], [1, 2, 1]]).astype(dtype.numpy_name)
    computed = dtype.numpy_name if dtype is F32 else "float64"
    for x in layouts(a):
        close(tr.atan2(x, number), np.arctan2(a.astype(computed), np.dtype(computed).type(number)), 1)
        close(tr.atan2(number, x), np.arctan2(np.dtype(computed).type(number), a.astype(computed)), 1)


def test_edges_of_atan2_are_those_of_c() -> None:
    a = np.array([0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan])
    found = tr.atan2(tr.asarray(a[:, None]), tr.asarray(a)).to_numpy()
    expected = np.array([[math.atan2(y, x) for x in a] for y in a])
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(np.signbit(found), np.signbit(expected))
    with pytest.raises(ShapeError, match="atan2: shapes"):
        tr.atan2(tr.ones(2), tr.ones(3))


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
