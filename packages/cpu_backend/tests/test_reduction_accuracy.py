"""The error of every reduction against exact sums, by native kernels and NumPy's, for every axis and layout.

The elements are whole numbers of as many bits as the element type holds, times a power of two, so that sums of them
and of their squares are exact in integers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from decimal import Decimal, localcontext
from fractions import Fraction
from math import inf, isqrt, log2, prod
from typing import Any, Final

import numpy as np
import pytest

from tensor_core.dtypes import C32, C64, F32, F64, DType
from tensor_cpu.backend import CpuBackend
from tensor_cpu.kernel_table import bind_numpy
from tensor_cpu.storage import NUMPY_DTYPES
from tensor_cpu.system.extension import AVAILABLE
from tensor_runtime.dispatch.dtype_rules import reduced
from tensor_runtime.form import Form, form_of
from tensor_runtime.placement import CPU

Array = np.ndarray[Any, np.dtype[Any]]
BITS: Final = {F32: 24, F64: 52}
EPS: Final = {F32: 2.0**-23, F64: 2.0**-52}
LAYOUTS: Final = ("F", "C", "reversed", "every second")


def whole_numbers(dtype: DType, shape: tuple[int, ...], offset: float) -> Array:
    """Integers below 2**bits in size; around 0, or all of one sign."""
    top = 2 ** BITS[dtype]
    return np.random.default_rng(len(shape)).integers(-top // 2, top // 2, shape) + int(offset * top)


def laid_out(values: Array, layout: str) -> Array:
    """The same tensor with other strides."""
    if layout == "F":
        return np.asfortranarray(values)
    if layout == "C":
        return np.ascontiguousarray(values)
    if layout == "reversed":
        return np.asfortranarray(values[..., ::-1])[..., ::-1]
    wide = np.zeros((2 * values.shape[0], *values.shape[1:]), values.dtype, order="F")
    wide[::2] = values
    return wide[::2]


def kernels(name: str, form: Form, result: Form, params: Any) -> Iterator[Callable[[Array], Array]]:
    yield bind_numpy(name, (form,), result, params)
    if AVAILABLE:
        yield CpuBackend().bind(name, (form,), result, params)


def found(name: str, x: Array, dtype: DType, axis: Any, *more: Any) -> Iterator[Array]:
    """The results by NumPy's and by the backend's own kernel, as tensors."""
    form = form_of(dtype, x.shape, CPU, tuple(stride // x.itemsize for stride in x.strides))
    real = name in ("var", "std", "norm")
    result = form_of(dtype.component if real else dtype, reduced(name, x.shape, (axis, False)), CPU)
    for kernel in kernels(name, form, result, (axis, False, *more)):
        yield kernel(x.T).T


def exact_sum(numbers: Array) -> int:
    """Of integers below 2**53 in size."""
    flat = numbers.reshape(-1)
    return sum(flat[first : first + 512].sum().item() for first in range(0, flat.size, 512))


def exact_squares(numbers: Array) -> int:
    """The sum of squares, from two halves of each number."""
    low = numbers & (2**26 - 1)
    high = (numbers - low) >> 26
    return exact_sum(high * high) * 2**52 + exact_sum(high * low) * 2**27 + exact_sum(low * low)


def lines(numbers: Array, axis: Any) -> Iterator[tuple[tuple[int, ...], Array]]:
    """What is reduced, for each index of the result; of many the first and the last few."""
    axes = tuple(range(numbers.ndim)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    kept = [k for k in range(numbers.ndim) if k not in axes]
    indices = list(np.ndindex(*[numbers.shape[k] for k in kept]))
    for index in indices if len(indices) <= 12 else indices[:6] + indices[-6:]:
        where: list[Any] = [slice(None)] * numbers.ndim
        for k, position in zip(kept, index, strict=True):
            where[k] = position
        yield index, numbers[tuple(where)]


CASES: Final = [
    *(((3, 300_000), axis, layout) for axis in (0, 1, None) for layout in ("F", "C")),
    *(((50_000, 3), axis, layout) for axis in (0, 1) for layout in LAYOUTS),
    *(((40, 700, 30), axis, layout) for axis in (0, 1, 2, (0, 2), (1, 2), None) for layout in LAYOUTS),
    *(((300, 300), axis, "every second") for axis in (0, 1, None)),
    ((9,), None, "F"),
    ((2, 3, 5), 1, "C"),
    ((6, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2), (0, 2, 4, 6, 8, 10, 12), "F"),
]


@pytest.mark.parametrize("offset", [0.0, 0.5])
@pytest.mark.parametrize("dtype", [F32, F64])
@pytest.mark.parametrize(("shape", "axis", "layout"), CASES)
def test_sums_means_variances_and_norms_are_within_their_bounds(
    shape: tuple[int, ...], axis: Any, layout: str, dtype: DType, offset: float
) -> None:
    check(shape, axis, layout, dtype, offset)


@pytest.mark.parametrize("dtype", [F32, F64])
@pytest.mark.parametrize("layout", ["F", "C"])
def test_three_long_rows_lose_no_more_than_short_ones(layout: str, dtype: DType) -> None:
    check((3, 3_000_000), 1, layout, dtype, 0.5)


def check(shape: tuple[int, ...], axis: Any, layout: str, dtype: DType, offset: float) -> None:
    """Compare with integers, in units of 2**-bits."""
    numbers, unit, eps = whole_numbers(dtype, shape, offset), 2.0 ** -BITS[dtype], EPS[dtype]
    x = laid_out((numbers * unit).astype(NUMPY_DTYPES[dtype]), layout)
    exact = [(index, part.size, exact_sum(part), exact_sum(abs(part)), exact_squares(part))
             for index, part in lines(numbers, axis)]  # fmt: skip
    for sums, means in zip(found("sum", x, dtype, axis), found("mean", x, dtype, axis), strict=True):
        for index, count, total, size, _ in exact:
            assert abs(Fraction(float(sums[index])) / Fraction(unit) - total) <= (32 + log2(count)) * eps * size
            error = abs(Fraction(float(means[index])) / Fraction(unit) - Fraction(total, count))
            assert error <= (33 + log2(count)) * eps * size / count
    spreads = (found("var", x, dtype, axis, 0.0), found("std", x, dtype, axis, 0.0))
    for var, std in zip(*spreads, strict=True):
        for index, count, total, size, squares in exact:
            expected = Fraction(squares, count) - Fraction(total, count) ** 2
            depth = 34 + log2(count)
            bound = depth * eps * expected + (depth * eps * Fraction(size, count)) ** 2
            assert abs(Fraction(float(var[index])) / Fraction(unit) ** 2 - expected) <= bound
            root = Fraction(isqrt(int(expected * 2**64)), 2**32)
            if root:
                assert abs(Fraction(float(std[index])) / Fraction(unit) - root) <= bound / root + eps * root
    norms = (found("norm", x, dtype, axis, order) for order in (2.0, 1.0, inf))
    for two, one, largest in zip(*norms, strict=True):
        for (index, count, _, size, squares), (_, part) in zip(exact, lines(numbers, axis), strict=True):
            root = Fraction(isqrt(squares * 2**64), 2**32)
            assert abs(Fraction(float(two[index])) / Fraction(unit) - root) <= (34 + log2(count)) * eps * root
            assert abs(Fraction(float(one[index])) / Fraction(unit) - size) <= (34 + log2(count)) * eps * size
            assert float(largest[index]) / unit == abs(part).max()


@pytest.mark.parametrize("dtype", [C32, C64])
@pytest.mark.parametrize(("shape", "axis", "layout"), [*CASES[:10], CASES[17], CASES[30], CASES[-1]])
def test_complex_sums_variances_and_norms_are_within_their_bounds(
    shape: tuple[int, ...], axis: Any, layout: str, dtype: DType
) -> None:
    part = dtype.component
    unit, eps = 2.0 ** -BITS[part], EPS[part]
    real, imaginary = whole_numbers(part, shape, 0.5), whole_numbers(part, shape, 0.0)[::-1]
    x = laid_out(((real + 1j * imaginary) * unit).astype(NUMPY_DTYPES[dtype]), layout)
    both = list(zip(lines(real, axis), lines(imaginary, axis), strict=True))
    results = [found("sum", x, dtype, axis), found("mean", x, dtype, axis), found("var", x, dtype, axis, 0.0)]
    for sums, means, var, norm in zip(*results, found("norm", x, dtype, axis, 2.0), strict=True):
        for (index, re), (_, im) in both:
            count, squares = re.size, exact_squares(re) + exact_squares(im)
            depth = 34 + log2(count)
            variance, centre = Fraction(squares, count), Fraction(0)
            for numbers, look in ((re, np.real), (im, np.imag)):
                total, size = exact_sum(numbers), exact_sum(abs(numbers))
                variance -= Fraction(total, count) ** 2
                centre += (depth * eps * Fraction(size, count)) ** 2
                assert abs(Fraction(float(look(sums[index]))) / Fraction(unit) - total) <= depth * eps * size
                error = abs(Fraction(float(look(means[index]))) / Fraction(unit) - Fraction(total, count))
                assert error <= depth * eps * size / count
            error = abs(Fraction(float(var[index])) / Fraction(unit) ** 2 - variance)
            assert error <= depth * eps * variance + centre
            root = Fraction(isqrt(squares * 2**64), 2**32)
            assert abs(Fraction(float(norm[index])) / Fraction(unit) - root) <= (depth + 1) * eps * root


@pytest.mark.parametrize("dtype", [F32, F64])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_product_of_n_factors_is_within_n_rounding_units(layout: str, dtype: DType) -> None:
    top = 2 ** BITS[dtype]
    numbers = np.random.default_rng(3).integers(int(0.98 * top), int(1.02 * top) - 1, (20, 300, 3)) // 2
    x = laid_out((numbers * (2.0 / top)).astype(NUMPY_DTYPES[dtype]), layout)
    for axis in (0, 1, 2, (0, 2), (0, 1)):
        exact = {index: prod(part.reshape(-1).tolist()) for index, part in lines(numbers, axis)}
        count = x.size // prod(reduced("prod", x.shape, (axis, False)))
        for products in found("prod", x, dtype, axis):
            for index, expected in exact.items():
                error = Fraction(float(products[index])) * (top // 2) ** count - expected
                assert abs(error) <= count * Fraction(EPS[dtype]) * expected


@pytest.mark.parametrize("dtype", [F32, F64])
@pytest.mark.parametrize("order", [3.0, 1.5, 0.5, -1.0, -2.0])
def test_other_norms_are_within_their_bounds(order: float, dtype: DType) -> None:
    numbers = whole_numbers(dtype, (5, 400), 0.5) + 1
    x = np.asfortranarray((numbers * 2.0 ** -BITS[dtype]).astype(NUMPY_DTYPES[dtype]))
    for norms in found("norm", x, dtype, 1, order):
        for row in range(5):
            with localcontext() as context:
                context.prec = 50
                scaled = [Decimal(abs(n)) / 2 ** BITS[dtype] for n in numbers[row].tolist()]
                exact = sum(value ** Decimal(order) for value in scaled) ** (1 / Decimal(order))
                error = abs(Decimal(float(norms[row])) - exact) / exact
            assert float(error) <= ((38 + log2(400)) / abs(order) + 6) * EPS[dtype]


@pytest.mark.parametrize("dtype", [F32, F64])
def test_norms_and_variances_need_no_array_as_large_as_the_operand(dtype: DType) -> None:
    import tracemalloc

    x = np.ones((4, 500_000), NUMPY_DTYPES[dtype], order="F")
    for name, more in (("var", (0.0,)), ("std", (1.0,)), ("norm", (2.0,)), ("norm", (1.0,)), ("norm", (3.0,))):
        for axis in (0, 1, None):
            form = form_of(dtype, x.shape, CPU)
            result = form_of(dtype, reduced(name, x.shape, (axis, False)), CPU)
            kernel = bind_numpy(name, (form,), result, (axis, False, *more))
            tracemalloc.start()
            kernel(x.T)
            _, peak = tracemalloc.get_traced_memory()
            tracemalloc.stop()
            # blocks of 2**16 elements in F64, and a few arrays of the result's size in F64
            assert peak < 4 * 2**19 + 3 * 8 * result.size + 2**16 < (1.5 if axis == 0 else 0.6) * x.size * 8


@pytest.mark.parametrize("name", ["sum", "mean", "var", "std", "norm"])
@pytest.mark.parametrize("dtype", [F32, F64, C64])
def test_results_are_compact_whatever_the_order_of_the_operand(name: str, dtype: DType) -> None:
    more = {"var": (0.0,), "std": (0.0,), "norm": (2.0,)}.get(name, ())
    for shape in ((3, 4, 5), (40, 50, 60)):
        x = np.ones(shape, NUMPY_DTYPES[dtype])
        for order in ((0, 1, 2), (2, 1, 0), (1, 2, 0), (1, 0, 2)):
            for axis in ((), (0,), (1,), (2,), (0, 2), None):
                for result in found(name, x.transpose(order), dtype, axis, *more):
                    assert result.T.flags.c_contiguous
