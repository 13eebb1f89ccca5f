"""Native kernels along lines equal NumPy's: bits of running sums and places, and rounding units of the others."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

import tensor_runtime as tr
from tensor_core.dtypes import C32, C64, F32, F64, I32, I64, Bool, DType
from tensor_core.errors import TensorError
from tensor_cpu.kernel_table import bind, bind_numpy
from tensor_cpu.kernels.scan import native as lines
from tensor_cpu.kernels.statistics.native import bind_norm as native_norm
from tensor_cpu.storage import NUMPY_DTYPES
from tensor_cpu.system.extension import AVAILABLE, LIBRARY
from tensor_runtime.contracts.reduction import (
    ArgumentParams,
    NormalizeParams,
    NormParams,
    ReduceParams,
    ScanParams,
    SpreadParams,
)
from tensor_runtime.contracts.reduction import SoftmaxParams as Softmax
from tensor_runtime.form import Form, form_of
from tensor_runtime.placement import CPU

pytestmark = pytest.mark.skipif(not AVAILABLE, reason="the extension is not built")
SHAPES = ((1,), (33,), (5000,), (3, 70), (70, 3), (33, 5, 2), (2, 600, 3), (600, 9), (9, 700))


def drawn(dtype: DType, size: int, *, special: bool) -> np.ndarray[Any, Any]:
    """Whole numbers with many ties; with NaN and infinities where wanted."""
    rng = np.random.default_rng(size)
    x: np.ndarray[Any, Any] = rng.integers(-20, 21, size).astype(NUMPY_DTYPES[dtype])
    if dtype.kind in ("float", "complex"):
        x *= 0.25
        if special:
            x[rng.integers(0, size, 1 + size // 40)] = np.nan
            x[rng.integers(0, size, 1 + size // 40)] = np.inf
            x[rng.integers(0, size, 1 + size // 40)] = -np.inf
    return x


def operands(dtype: DType, special: bool) -> Any:
    """Compact ones, and one with gaps, in another order, and backwards."""
    for shape in SHAPES:
        size = int(np.prod(shape))
        yield form_of(dtype, shape, CPU), drawn(dtype, size, special=special).reshape(shape[::-1])
    form = form_of(dtype, (40, 37), CPU, (-37 * 2, 2))
    x = drawn(dtype, 40 * 37 * 2, special=special)
    yield form, x.reshape(40, 74)[::-1, ::2].T


def shape_without(form: Form, axis: int | None) -> tuple[int, ...]:
    """Extents of the other axes."""
    return () if axis is None else form.shape[:axis] + form.shape[axis + 1 :]


@pytest.mark.parametrize("name", ["cumsum", "cumprod", "argmax", "argmin"])
@pytest.mark.parametrize("dtype", [F32, F64, I32, I64, C32, C64])
def test_running_sums_and_places_have_the_bits_of_numpys(
    name: str, dtype: DType, instruction_set: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines, "_NUMPYS_LINES", {})  # those left to NumPy where it is faster are right, too
    finds = name.startswith("arg")
    if (finds and dtype in (C32, C64)) or (dtype is I32 and not finds):
        pytest.skip("refused, or tried elsewhere")
    for special in (False, True):
        for form, x in operands(dtype, special):
            axes: list[int | None] = [*range(form.rank), *([None] if finds else [])]
            for axis in axes:
                params: Any = ArgumentParams(axis, False) if finds else ScanParams(axis)
                result = form_of(I64, shape_without(form, axis), CPU) if finds else form_of(dtype, form.shape, CPU)
                kernel = lines.bind_lines(name, (form,), result, params)
                assert kernel is not None
                np.testing.assert_array_equal(kernel(x), bind_numpy(name, (form,), result, params)(x))


def test_many_lines_that_are_neither_short_nor_long_are_left_to_numpy_but_with_avx512(instruction_set: str) -> None:
    for dtype, length, count, numpys in (
        (F64, 100, 300, True),
        (F64, 100, 3, False),  # where the call is the cost
        (F64, 20, 300, False),
        (F32, 1000, 300, False),
        (I64, 1000, 300, True),
        (I32, 100_000, 3, False),
    ):
        form, result = form_of(dtype, (length, count), CPU), form_of(I64, (count,), CPU)
        found = lines.bind_lines("argmin", (form,), result, ArgumentParams(0, False))
        assert (found is None) == (numpys and instruction_set != "avx512")


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
@pytest.mark.parametrize("dtype", [F32, F64])
def test_softmax_is_within_a_few_rounding_units_of_exact_sums(name: str, dtype: DType, instruction_set: str) -> None:
    for form, x in itertools.chain(operands(dtype, False), operands(dtype, True)):
        for axis in range(form.rank):
            result = form_of(dtype, form.shape, CPU)
            kernel = lines.bind_lines(name, (form,), result, Softmax(axis))
            assert kernel is not None
            with np.errstate(all="ignore"):
                wide, place = x.astype(np.longdouble), form.rank - 1 - axis
                wide = wide - wide.max(axis=place, keepdims=True)
                total = np.exp(wide).sum(axis=place, keepdims=True)
                exact = np.exp(wide) / total if name == "softmax" else wide - np.log(total)
            unit = np.finfo(x.dtype).eps
            atol = 0 if name == "softmax" else 2 * unit  # a logarithm near 0 is a difference
            np.testing.assert_allclose(kernel(x), exact.astype(x.dtype), rtol=8 * unit, atol=atol)


@pytest.mark.parametrize("name", ["sum", "prod", "max", "min", "mean", "var", "std", "norm"])
@pytest.mark.parametrize("dtype", [F32, F64])
def test_folds_of_short_lines_equal_numpys(name: str, dtype: DType, instruction_set: str) -> None:
    params: Any = {
        "var": SpreadParams(0, False, 1.0),
        "std": SpreadParams(0, False, 0.0),
        "norm": NormParams(0, False, 2),
    }
    for length, special in itertools.product((2, 7, 31), (False, True)):
        form, result = form_of(dtype, (length, 613), CPU), form_of(dtype, (613,), CPU)
        x = drawn(dtype, form.size, special=special).reshape(613, length)
        chosen = params.get(name, ReduceParams(0, False))
        found = bind(name, (form,), result, chosen)(x)
        expected = bind_numpy(name, (form,), result, chosen)(x)
        np.testing.assert_allclose(
            found, expected, rtol=4 * np.finfo(x.dtype).eps, atol=1e-6 if dtype is F32 else 1e-14
        )


@pytest.mark.parametrize("length", [2, 3, 9, 31, 32, 33, 100, 2048, 2049])
@pytest.mark.parametrize("dtype", [I32, I64])
@pytest.mark.parametrize("name", ["sum", "max", "min"])
def test_folds_of_whole_numbers_are_exact_and_wrap(name: str, dtype: DType, length: int, instruction_set: str) -> None:
    made = I64 if name == "sum" else dtype
    form, result = form_of(dtype, (length, 45), CPU), form_of(made, (45,), CPU)
    ends = np.iinfo(NUMPY_DTYPES[dtype])
    x = np.random.default_rng(length).integers(ends.min, ends.max, (45, length), NUMPY_DTYPES[dtype], endpoint=True)
    found = bind(name, (form,), result, ReduceParams(0, False))(x)
    fold = {"sum": np.sum, "max": np.max, "min": np.min}[name]
    np.testing.assert_array_equal(found, fold(x, axis=1))
    assert found.dtype == NUMPY_DTYPES[made]


@pytest.mark.parametrize("length", [2, 3, 4, 9, 32, 33, 100])
@pytest.mark.parametrize("dtype", [C32, C64])
def test_products_of_complex_lines_equal_numpys(length: int, dtype: DType, instruction_set: str) -> None:
    units = np.array([1, 1j, -1, -1j], NUMPY_DTYPES[dtype])
    for count in (1, 4, 6, 613):
        form, result = form_of(dtype, (length, count), CPU), form_of(dtype, (count,), CPU)
        x = np.random.default_rng(count).choice(units, (count, length))
        x[:, 0] *= 3
        found = bind("prod", (form,), result, ReduceParams(0, False))(x)
        np.testing.assert_array_equal(found, x.prod(axis=1))


@pytest.mark.parametrize("length", [2, 9, 31, 32, 33, 100, 999, 1024, 1025])
@pytest.mark.parametrize("dtype", [C32, C64])
def test_sums_of_complex_lines_are_those_of_their_parts(length: int, dtype: DType, instruction_set: str) -> None:
    form, result = form_of(dtype, (length, 37), CPU), form_of(dtype, (37,), CPU)
    rng = np.random.default_rng(length)
    exact = (rng.integers(-999, 999, (37, length)) + 1j * rng.integers(-999, 999, (37, length))).astype(
        form.dtype.numpy_name
    )
    found = bind("sum", (form,), result, ReduceParams(0, False))(exact)
    np.testing.assert_array_equal(found, exact.sum(axis=1))
    rough = (rng.random((37, length)) + 1j * rng.random((37, length))).astype(form.dtype.numpy_name)
    whole = rough.astype(np.clongdouble).sum(axis=1)
    found = bind("sum", (form,), result, ReduceParams(0, False))(rough)
    assert np.abs(found - whole).max() <= 8 * np.finfo(rough.dtype).eps * np.abs(whole).max()


def test_norms_of_short_lines_neither_overflow_nor_vanish() -> None:
    form, result = form_of(F64, (3, 500), CPU), form_of(F64, (500,), CPU)
    for scale in (2.0**600, 2.0**-600):
        x = np.tile([2.0 * scale, 3.0 * scale, 6.0 * scale], (500, 1))
        assert (bind("norm", (form,), result, NormParams(0, False, 2))(x) == 7.0 * scale).all()


@pytest.mark.parametrize("order", [1, math.inf, -math.inf])
@pytest.mark.parametrize("dtype", [F32, F64, C64])
@pytest.mark.parametrize("shape", [(3, 3, 40_000), (20, 200, 20)])
def test_norms_of_many_short_lines_are_those_of_their_sizes(shape: tuple[int, ...], dtype: DType, order: float) -> None:
    x = np.random.default_rng(1).integers(-99, 100, shape[::-1]).astype(NUMPY_DTYPES[dtype])
    x = x * (3 + 4j) if dtype is C64 else x  # sizes are whole numbers
    made = form_of(dtype.component, shape[1:], CPU)
    found = native_norm((form_of(dtype, shape, CPU),), made, NormParams(0, False, order))
    assert found is not None
    np.testing.assert_array_equal(found(x), np.linalg.norm(x, order, axis=-1))


def test_the_place_of_a_tie_is_the_first_in_row_major_order() -> None:
    form, result = form_of(F64, (60, 70), CPU), form_of(I64, (), CPU)
    x = np.zeros((70, 60))
    x[50, 3] = x[7, 20] = 1.0
    kernel = lines.bind_lines("argmax", (form,), result, ArgumentParams(None, False))
    assert kernel is not None
    assert kernel(x) == 3 * 70 + 50


@pytest.mark.parametrize("dtype", [F32, C64, I64, Bool])
def test_elements_are_taken_along_lines_as_numpys_kernel_takes_them(dtype: DType) -> None:
    rng = np.random.default_rng(3)
    small = itertools.product(((7,), (5, 6), (3, 40, 200)), (0, -1), (4,))
    for shape, axis, count in (*small, ((130, 300), 1, 200), ((3500, 3200 // dtype.itemsize), 1, 2)):
        form = form_of(dtype, shape, CPU)
        along = axis % len(shape)
        taken = form_of(I64, (*shape[:along], count, *shape[along + 1 :]), CPU)
        result = form_of(dtype, taken.shape, CPU)
        x = drawn(dtype, form.size, special=False).reshape(shape[::-1])
        index = rng.integers(-shape[along], shape[along], taken.shape[::-1])
        kernel = bind("take_along_axis", (form, taken), result, (axis,))
        np.testing.assert_array_equal(
            kernel(x, index), bind_numpy("take_along_axis", (form, taken), result, (axis,))(x, index)
        )
        index.reshape(-1)[3] = shape[along]
        with pytest.raises(TensorError, match=str(shape[along])):
            kernel(x, index)


@pytest.mark.parametrize("dtype", [F32, F64])
@pytest.mark.parametrize("name", ["layer_norm", "rms_norm"])
@pytest.mark.parametrize("special", [False, True])
def test_normalised_lines_are_those_of_numpys_kernel(name: str, dtype: DType, special: bool) -> None:
    for form, x in operands(dtype, special):
        for axis in (*range(form.rank), None):
            result, chosen = form_of(dtype, form.shape, CPU), NormalizeParams(axis, 0.25)
            found = bind(name, (form,), result, chosen)(x)
            expected = bind_numpy(name, (form,), result, chosen)(x)
            np.testing.assert_allclose(found, expected, rtol=0, atol=100 * np.finfo(x.dtype).eps)


@pytest.mark.parametrize("name", ["layer_norm", "rms_norm"])
def test_normalised_lines_neither_overflow_nor_vanish(name: str) -> None:
    for dtype, scales in ((F64, (2.0**600, 2.0**-600, 2.0**-1000)), (F32, (2.0**120, 2.0**-120, 2.0**-140))):
        for shape, axis in (((2, 500), 0), ((64, 3), 0), ((3, 64), 1)):
            form = form_of(dtype, shape, CPU)
            signs = np.ones(shape, NUMPY_DTYPES[dtype])
            signs[(slice(None),) * axis + (slice(None, None, 2),)] = -1
            for scale in scales if name == "rms_norm" else scales[:1]:
                found = bind(name, (form,), form, NormalizeParams(axis, 0.0))(np.ascontiguousarray((signs * scale).T))
                np.testing.assert_allclose(found, signs.T, rtol=1e-6)


@pytest.mark.parametrize("binder", ["bind_normalization", "bind_lines", "bind_short_lines", "bind_place"])
def test_lines_that_do_not_fit_the_result_are_refused(binder: str) -> None:
    wrong: Any = {
        "bind_normalization": ("rms_norm", "F64", (2, 3, 4), (23,), 0.0, len),
        "bind_lines": ("cumsum", "F64", (2, 3, 4), (23,), "F64"),
        "bind_short_lines": ("sum", "F64", (5, 3, 1), (4,), "F64", 1.0, False),
        "bind_place": ("argmax", "F64", (2, 3), (2,)),
    }
    with pytest.raises(ValueError, match=r"fit|one place"):
        getattr(LIBRARY, binder)(*wrong[binder])


@pytest.mark.parametrize("name", ["argmax", "argmin"])
@pytest.mark.parametrize("dtype", [F32, F64, I32, I64])
def test_places_in_lines_of_every_length(name: str, dtype: DType, instruction_set: str) -> None:
    rng = np.random.default_rng(5)
    for length in (*range(33, 140), 255, 256, 257, 1000, 4095, 4096, 4097):
        x = rng.integers(-3, 4, (9, length)).astype(NUMPY_DTYPES[dtype])
        lowest, highest = (-np.inf, np.inf) if dtype in (F32, F64) else (np.iinfo(x.dtype).min, np.iinfo(x.dtype).max)
        x[1], x[2] = lowest, highest
        x[3, -1], x[4, -1] = 9, -9
        x[5], x[5, -1] = lowest, lowest + 1  # of floats the same
        if dtype in (F32, F64):
            x[6, rng.integers(length)] = x[7, -1] = np.nan
            x[8], x[8, ::2] = 0.0, -0.0
        form, result = form_of(dtype, x.shape[::-1], CPU), form_of(I64, (9,), CPU)
        kernel = lines.bind_lines(name, (form,), result, ArgumentParams(0, False))
        found = bind_numpy(name, (form,), result, ArgumentParams(0, False))(x) if kernel is None else kernel(x)
        np.testing.assert_array_equal(found, getattr(np, name)(x, axis=1))


@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_places_along_axes_in_another_order_need_no_copy(name: str) -> None:
    x = np.random.default_rng(6).integers(0, 9, (30, 40, 5))
    for order in itertools.permutations(range(3)):
        for axis in range(3):
            moved = tr.permute_axes(tr.asarray(np.asfortranarray(x)), order)
            found = getattr(tr, name)(moved, axis=axis).to_numpy()
            np.testing.assert_array_equal(found, getattr(np, name)(x.transpose(order), axis=axis))
    form = form_of(F64, (300, 200), CPU, (200, 1))
    assert lines._in_order_of_memory(form, 0) == (form_of(F64, (200, 300), CPU), 1)
    gaps = form_of(F64, (300, 200), CPU, (400, 1))
    assert lines._in_order_of_memory(gaps, 0) == (gaps, 0)


@pytest.mark.parametrize("length", [1, 2, 5, 40])
@pytest.mark.parametrize("dtype", [C32, C64])
def test_running_products_of_complex_lines_are_exact(dtype: DType, length: int, instruction_set: str) -> None:
    rng = np.random.default_rng(length)
    x = rng.choice([1, -1, 1j, -1j, 1 + 1j], (6, length)).astype(NUMPY_DTYPES[dtype])
    expected = [[math.prod(map(complex, line[: k + 1])) for k in range(length)] for line in x.tolist()]
    for axis, operand in ((0, x), (1, x.T.copy())):
        found = tr.cumprod(tr.asarray(operand, copy=True).T, axis=axis).to_numpy()
        np.testing.assert_array_equal(found if axis else found.T, np.array(expected))


@pytest.mark.parametrize("columns", range(1, 9))
@pytest.mark.parametrize("dtype", [F32, F64, I32, I64, C32, C64])
def test_running_sums_of_a_few_columns(dtype: DType, columns: int, instruction_set: str) -> None:
    x = np.random.default_rng(7).integers(-9, 10, (3, 301, columns)).astype(NUMPY_DTYPES[dtype])
    expected = x.cumsum(axis=1)
    form = form_of(dtype, x.shape[::-1], CPU)
    result = form_of(I64 if dtype is I32 else dtype, form.shape, CPU)
    kernel = lines.bind_lines("cumsum", (form,), result, ScanParams(1))
    assert kernel is not None
    np.testing.assert_array_equal(kernel(x), expected)


@pytest.mark.parametrize("dtype", ["F32", "F64", "C32", "C64", "I32", "I64", "Bool"])
def test_one_true_element_decides_wherever_it_is(dtype: str, instruction_set: str) -> None:
    tr.binding_cache.clear()
    for length in (255, 256, 300):
        for place in (0, 31, 32, 63, 64, 200, 254, length - 1):
            x = np.zeros(length, tr.zeros(1, dtype=dtype).to_numpy().dtype)
            x[place] = 1
            assert tr.any(tr.asarray(x)).item() and not tr.any(tr.asarray(x[:place])).item()
            assert not tr.all(tr.asarray(1 - x if dtype != "Bool" else ~x)).item()


@pytest.mark.parametrize("dtype", [F32, F64, C32, C64, I32, I64, Bool])
@pytest.mark.parametrize("shape", [(), (1,), (1, 1)])
def test_the_truth_of_one_element_takes_no_step_of_numpy(dtype: DType, shape: tuple[int, ...]) -> None:
    numbers = [0.0, -0.0, 3.0, *([math.nan, -math.inf] if dtype.kind in ("float", "complex") else [])]
    for name, number, axis, keepdims in itertools.product(("any", "all"), numbers, (None, ()), (False, True)):
        x = np.full(shape, number).astype(NUMPY_DTYPES[dtype])
        params: ReduceParams = (axis, keepdims)
        result = form_of(Bool, shape if keepdims or axis == () else (), CPU)
        kernel = bind(name, (form_of(dtype, shape, CPU),), result, params)
        assert type(kernel).__module__ == "tensor_cpu._native"
        found = kernel(x)
        assert found.shape == result.shape and found.item() is bool(number), (name, number)
