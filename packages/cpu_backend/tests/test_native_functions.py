"""Functions of the elementwise machine: within rounding units of wider arithmetic, or NumPy's to the last bit."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import tensor_runtime as tr
from native_programs import SPECIAL, bound
from tensor_core.dtypes import C32, C64, F32, F64, DType
from tensor_cpu.storage import NUMPY_DTYPES
from tensor_cpu.system.extension import AVAILABLE
from tensor_runtime.form import form_of
from tensor_runtime.placement import CPU

if not AVAILABLE:
    pytest.skip("the native kernels were not built", allow_module_level=True)

from tensor_cpu.kernels.elementwise import native as native
from tensor_cpu.kernels.elementwise.registers import OPERATIONS

FUNCTIONS = ("exp", "expm1", "log", "log1p", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh")
COMPLEX_FUNCTIONS = ("exp", "sin", "cos", "tan", "sinh", "cosh", "tanh", "sqrt")


def arguments_of(dtype: DType) -> np.ndarray[Any, Any]:
    """Arguments of every size and sign, with the special ones."""
    rng = np.random.default_rng(5)
    top = 300 if dtype is F64 else 38
    sizes = 10.0 ** rng.uniform(-top, top, 4000) * rng.choice([-1, 1], 4000)
    tiny = [1e-320, -1e-315] if dtype is F64 else [1e-40, -1e-44]
    usual = [rng.uniform(-b, b, 4000) for b in (1, 2, 10, 90, 750)]
    with np.errstate(all="ignore"):
        return np.concatenate([sizes, *usual, SPECIAL, tiny, [710.4, -710.5, 88.8, -104.0]]).astype(NUMPY_DTYPES[dtype])


def assert_within(found: Any, expected: Any, reference: Any, units: float) -> None:
    """The same NaN, infinities and zeros as expected, and otherwise within so many rounding units of the reference."""
    np.testing.assert_array_equal(np.isnan(found), np.isnan(expected))
    number = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(found)[number], np.signbit(expected)[number])
    finite = np.isfinite(expected)
    np.testing.assert_array_equal(found[number & ~finite], expected[number & ~finite])
    error = np.abs(found[finite].astype(reference.dtype) - reference[finite]) / np.spacing(np.abs(expected[finite]))
    assert error.max() <= units


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("dtype", [F32, F64])
def test_functions_are_within_four_rounding_units(name: str, dtype: DType, instruction_set: str) -> None:
    x = arguments_of(dtype)
    ufunc = getattr(np, {"asin": "arcsin", "acos": "arccos", "atan": "arctan"}.get(name, name))
    form = form_of(dtype, x.shape, CPU)
    with np.errstate(all="ignore"):
        wide = np.longdouble if dtype is F64 else np.float64
        assert_within(bound(name, (form,), form)(x), ufunc(x), ufunc(x.astype(wide)), 4)


@pytest.mark.parametrize(
    ("name", "dtype"), [("pow", F32), ("atan2", F32), ("atan2", F64), ("hypot", F32), ("hypot", F64)]
)
def test_functions_of_two_operands_are_within_four_rounding_units(
    name: str, dtype: DType, instruction_set: str
) -> None:
    rng = np.random.default_rng(6)
    special = np.array([*SPECIAL, 2.0, 3.0, -2.0, -3.0, 0.25])
    with np.errstate(all="ignore"):
        x = np.concatenate([10.0 ** rng.uniform(-5, 5, 4000), rng.uniform(-3, 3, 4000), np.repeat(special, 21)])
        y = np.concatenate([rng.uniform(-7, 7, 4000), rng.uniform(-3, 3, 4000), np.tile(special, 21)])
        x, y = x.astype(NUMPY_DTYPES[dtype]), y.astype(NUMPY_DTYPES[dtype])
        form = form_of(dtype, x.shape, CPU)
        ufunc = {"pow": np.power, "atan2": np.arctan2, "hypot": np.hypot}[name]
        wide = np.longdouble if dtype is F64 else np.float64
        assert_within(bound(name, (form, form), form)(x, y), ufunc(x, y), ufunc(x.astype(wide), y.astype(wide)), 4)


def test_powers_of_f32_are_within_four_rounding_units_over_the_whole_range(instruction_set: str) -> None:
    rng = np.random.default_rng(7)
    bits = rng.integers(1, 0x7F800000, 20_000, dtype=np.uint32)
    near = 1 + rng.uniform(-1, 1, 20_000) * 10.0 ** rng.uniform(-7, 0, 20_000)
    x = np.concatenate([bits.view(np.float32), near.astype(np.float32)])
    exponents = rng.uniform(-152, 130, x.size)  # of two: from what is rounded to 0 up to infinity
    logarithms = np.log2(x.astype(np.float64))
    y = np.where(logarithms == 0, 1e30, exponents / np.where(logarithms == 0, 1, logarithms)).astype(np.float32)
    whole = np.round(y)
    form = form_of(F32, (3 * x.size,), CPU)
    x, y = np.concatenate([x, x, -x]), np.concatenate([y, whole, whole])
    with np.errstate(all="ignore"):
        wide = np.power(x.astype(np.longdouble), y.astype(np.longdouble))
        assert_within(bound("pow", (form, form), form)(x, y), wide.astype(np.float32), wide, 4)


def pairs_of(dtype: DType) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Every two special values, numbers of all sizes, and multiples of the second number with their neighbours."""
    rng = np.random.default_rng(8)
    special = np.array([*SPECIAL, 2.0, 3.0, -3.0, 0.1, 2.0**21, 2.0**50, 2.0**52 + 1, 2.0**53 + 2, -7.0])
    x, y = (rng.standard_normal(6000) * 10.0 ** rng.uniform(-8, 8, 6000) for _ in range(2))
    with np.errstate(all="ignore"):
        divisors = y.astype(NUMPY_DTYPES[dtype])
        multiples = (divisors * rng.integers(-(10**6), 10**6, y.size)).astype(divisors.dtype)
        near = [np.nextafter(multiples, side) for side in (-divisors, 0 * divisors)]
        first = [np.repeat(special, special.size), x, multiples, *near]
        second = [np.tile(special, special.size), y, divisors, divisors, divisors]
        return tuple(np.concatenate(parts).astype(divisors.dtype) for parts in (first, second))  # type: ignore[return-value]


@pytest.mark.parametrize("name", ["copysign", "nextafter"])
@pytest.mark.parametrize("dtype", [F32, F64])
def test_signs_that_are_copied_and_next_numbers_are_numpys_bit_for_bit(
    name: str, dtype: DType, instruction_set: str
) -> None:
    x, y = pairs_of(dtype)
    tiny = np.finfo(x.dtype).smallest_subnormal * np.array([0, 1, 2, -1, -2, -0.0])
    ends = np.array([np.finfo(x.dtype).max, np.finfo(x.dtype).smallest_normal, np.inf, 1.0])
    edges = np.concatenate([tiny, ends, -ends]).astype(x.dtype)
    x, y = np.concatenate([x, np.repeat(edges, edges.size)]), np.concatenate([y, np.tile(edges, edges.size)])
    form = form_of(dtype, x.shape, CPU)
    with np.errstate(all="ignore"):
        found, expected = bound(name, (form, form), form)(x, y), getattr(np, name)(x, y)
    assert (name, dtype.name) in {(one, of) for one in ("copysign", "nextafter") for of in OPERATIONS[one]}
    np.testing.assert_array_equal(found, expected)
    number = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(found)[number], np.signbit(expected)[number])


@pytest.mark.parametrize("name", ["floor_divide", "remainder", "fmod"])
@pytest.mark.parametrize("dtype", [F32, F64])
def test_whole_quotients_and_remainders_are_numpys_bit_for_bit(name: str, dtype: DType, instruction_set: str) -> None:
    x, y = pairs_of(dtype)
    form = form_of(dtype, x.shape, CPU)
    with np.errstate(all="ignore"):
        found, expected = bound(name, (form, form), form)(x, y), getattr(np, name)(x, y)
    np.testing.assert_array_equal(found, expected)
    number = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(found)[number], np.signbit(expected)[number])


@pytest.mark.parametrize("dtype", [C32, C64])
def test_magnitudes_are_within_four_rounding_units_and_no_square_leaves_the_range(
    dtype: DType, instruction_set: str
) -> None:
    x, y = pairs_of(dtype.component)
    z = np.empty(x.shape, NUMPY_DTYPES[dtype])
    z.real, z.imag = x, y
    form, result = form_of(dtype, z.shape, CPU), form_of(dtype.component, z.shape, CPU)
    wide = np.longdouble if dtype is C64 else np.float64
    with np.errstate(all="ignore"):
        exact = np.hypot(x.astype(wide), y.astype(wide))
        assert_within(bound("abs", (form,), result)(z), exact.astype(x.dtype), exact, 4)


@pytest.mark.parametrize("dtype", [F32, F64])
def test_logarithms_of_sums_of_exponentials_are_within_rounding_units_of_the_larger_operand(
    dtype: DType, instruction_set: str
) -> None:
    x, y = pairs_of(dtype)
    form = form_of(dtype, x.shape, CPU)
    wide = np.longdouble if dtype is F64 else np.float64
    with np.errstate(all="ignore"):
        found, exact = bound("logaddexp", (form, form), form)(x, y), np.logaddexp(x.astype(wide), y.astype(wide))
        np.testing.assert_array_equal(np.isnan(found), np.isnan(exact))
        np.testing.assert_array_equal(found[np.isinf(exact)], exact[np.isinf(exact)])
        largest = np.maximum(np.maximum(np.abs(x), np.abs(y)), 1)
        finite = np.isfinite(found) & np.isfinite(largest)
        assert (np.abs(found.astype(wide) - exact) <= 4 * np.spacing(largest))[finite].all()


@pytest.mark.parametrize("size", [1, 30, 5000])
@pytest.mark.parametrize("dtype", [F32, F64])
def test_some_exponents_are_a_root_or_a_quotient_with_the_limits_of_a_power(dtype: DType, size: int) -> None:
    values = np.resize([4.0, -np.inf, -0.0, np.inf, 2.0, np.nan, -1.0, 9.0, 1e-30], size).astype(NUMPY_DTYPES[dtype])
    x = tr.asarray(values, copy=True)
    fused = tr.fuse(lambda t: (t**0.5) * 1.0)
    with np.errstate(all="ignore"):
        for found in (x**0.5, tr.pow(x, 0.5), fused(x)):
            np.testing.assert_array_equal(found.to_numpy(), np.where(np.isneginf(values), np.inf, np.sqrt(values + 0)))
            assert not np.signbit(found.to_numpy()[found.to_numpy() == 0]).any()
        np.testing.assert_array_equal((x**-1).to_numpy(), 1 / values)
        np.testing.assert_array_equal((x**3).to_numpy(), values * values * values)
        np.testing.assert_array_equal((x**-1.0).to_numpy(), 1 / values)
        np.testing.assert_allclose((x**1.5).to_numpy(), np.power(values, values.dtype.type(1.5)), rtol=1e-6)


@pytest.mark.parametrize("name", ["erf", "erfc"])
@pytest.mark.parametrize("dtype", [F32, F64])
def test_error_functions_are_within_eight_rounding_units(name: str, dtype: DType, instruction_set: str) -> None:
    import scipy.special

    rng = np.random.default_rng(7)
    x = np.concatenate([rng.uniform(-6, 6, 4000), rng.uniform(-1, 1, 4000), SPECIAL])
    with np.errstate(all="ignore"):
        x = x.astype(NUMPY_DTYPES[dtype])
        form = form_of(dtype, x.shape, CPU)
        exact = np.array([getattr(math, name)(float(value)) for value in x])
        expected = getattr(scipy.special, name)(x)
        assert_within(bound(name, (form,), form)(x), expected, exact, 8)


@pytest.mark.parametrize("dtype", [F32, F64])
def test_hyperbolic_tangents_and_gates_are_exact_to_four_rounding_units(instruction_set: str, dtype: DType) -> None:
    sizes = np.concatenate([np.logspace(-300 if dtype is F64 else -37, 1.4, 400), [0.62, 0.63, 18.0, 25.0, 85.0]])
    x = np.concatenate([sizes, -sizes, [0.0, -0.0, np.inf, -np.inf, np.nan]]).astype(dtype.numpy_name)
    wide = x.astype(np.longdouble)
    u = 2 * np.longdouble(0.7978845608028654) * wide * (1 + np.longdouble(0.044715) * wide * wide)
    with np.errstate(all="ignore"):
        expected = {
            "tanh": np.tanh(wide),
            "sigmoid": 1 / (1 + np.exp(-wide)),
            "silu": np.where(wide == -np.inf, -0.0, wide / (1 + np.exp(-wide))),
            "gelu_tanh": np.where(wide == -np.inf, -0.0, wide / (1 + np.exp(-u))),
        }
    form = form_of(dtype, x.shape, CPU)
    for name, exact in expected.items():
        found = native.bind_program((form,), form, (native.ProgramStep(name, (0,), form),))
        assert found is not None
        with np.errstate(all="ignore"):
            rounded = exact.astype(x.dtype)
            error = np.abs(found(x).astype(np.longdouble) - exact)
            units = 4 + 4 * np.abs(u) if name == "gelu_tanh" else 4  # rounding u costs |u| units
            allowed = units * np.spacing(np.abs(rounded)).astype(np.longdouble)
        good = (error <= allowed) | (rounded == found(x)) | (np.isnan(exact) & np.isnan(found(x)))
        assert good.all(), (name, x[~good][:3])


@pytest.mark.parametrize("name", COMPLEX_FUNCTIONS)
@pytest.mark.parametrize("dtype", [C32, C64])
def test_functions_of_complex_elements_are_exact_to_four_rounding_units(
    instruction_set: str, name: str, dtype: DType
) -> None:
    rng = np.random.default_rng(5)
    parts = [rng.standard_normal((2, 150)) * scale for scale in (1e-9, 0.3, 4.0, 40.0)]
    re, im = np.concatenate(parts, axis=1)
    z = (re + 1j * im).astype(dtype.numpy_name)
    form = form_of(dtype, z.shape, CPU)
    kernel = native.bind_program((form,), form, (native.ProgramStep(name, (0,), form),))
    assert kernel is not None
    with np.errstate(all="ignore"):
        exact = getattr(np, name)(z.astype(np.clongdouble))
        error = np.abs(kernel(z).astype(np.clongdouble) - exact)
        allowed = 4 * np.finfo(z.real.dtype).eps * np.abs(exact) + np.finfo(z.real.dtype).smallest_subnormal
    large = np.abs(exact) > np.finfo(z.real.dtype).max / 4  # a part may be infinite there
    assert (large | (error <= allowed)).all()


@pytest.mark.parametrize("name", COMPLEX_FUNCTIONS)
def test_functions_of_infinities_nan_and_zeros_of_either_sign_are_those_of_c(instruction_set: str, name: str) -> None:
    z = np.array([complex(x, y) for x in SPECIAL for y in SPECIAL])
    form = form_of(C64, z.shape, CPU)
    kernel = native.bind_program((form,), form, (native.ProgramStep(name, (0,), form),))
    assert kernel is not None
    found = kernel(z)
    with np.errstate(all="ignore"):
        expected = getattr(np, name)(z)
        for part, other in ((found.real, expected.real), (found.imag, expected.imag)):
            np.testing.assert_array_equal(np.isnan(part), np.isnan(other))
            ordinary = ~np.isnan(other)
            np.testing.assert_array_equal(np.signbit(part[ordinary]), np.signbit(other[ordinary]))
            np.testing.assert_allclose(part, other, rtol=1e-15, atol=5e-324)


@pytest.mark.parametrize("name", ["hypot", "floor_divide", "remainder", "fmod"])
def test_what_an_element_gives_does_not_depend_on_its_neighbours(name: str) -> None:
    function = getattr(tr, name)
    x, y = (np.random.default_rng(seed).uniform(1, 9, 200) for seed in (1, 2))
    far_x, far_y = np.append(x, np.inf), np.append(y, 1e-300)
    alone = tr.to_numpy(function(tr.asarray(x), tr.asarray(y)))
    beside = tr.to_numpy(function(tr.asarray(far_x), tr.asarray(far_y)))
    assert beside[:-1].tobytes() == alone.tobytes()
