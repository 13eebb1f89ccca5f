"""Native reductions against NumPy's and exact sums."""

from __future__ import annotations

import math
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import tensor_runtime as tr
from tensor_core.dtypes import C32, C64, F32, F64, I32, I64, Bool, DType
from tensor_cpu.backend import CpuBackend
from tensor_cpu.kernel_table import bind_numpy
from tensor_cpu.storage import NUMPY_DTYPES, restride
from tensor_cpu.system.extension import AVAILABLE, LIBRARY
from tensor_runtime.dispatch.dtype_rules import accumulator, reduced
from tensor_runtime.form import form_of
from tensor_runtime.placement import CPU

if not AVAILABLE:
    pytest.skip("the native kernels were not built", allow_module_level=True)

from tensor_cpu.kernels.reduction import native as native
from tensor_cpu.kernels.statistics import native as statistics

NAMES = ("sum", "prod", "max", "min")


def result_dtype(name: str, dtype: DType) -> DType:
    """What a reduction of this element type gives."""
    return accumulator(dtype) if name in ("sum", "prod") else dtype


def both(name: str, x: np.ndarray[Any, Any], dtype: DType, axis: Any, form: Any = None, keepdims: bool = False) -> Any:
    """Results of the native kernel and of NumPy's; axes are the tensor's."""
    form = form_of(dtype, x.shape[::-1], CPU) if form is None else form
    result = form_of(result_dtype(name, dtype), reduced(name, form.shape, (axis, keepdims)), CPU)
    kernel = native.bind_reduction(name, form, result, (axis, keepdims))
    assert kernel is not None
    return kernel(x), bind_numpy(name, (form,), result, (axis, keepdims))(x)


def whole_numbers(name: str, dtype: DType, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """A transposed array of whole numbers whose products, too, are exact."""
    rng = np.random.default_rng(0)
    x = rng.integers(-9, 10, shape[::-1])
    if name == "prod":
        units = np.where(x % 2, 1j, 1) if dtype in (C32, C64) else 1
        x = units * np.where(rng.random(x.shape) < 20 / max(1, x.size), 2, np.where(x > 0, 1, -1))
    return x.astype(NUMPY_DTYPES[dtype])


@pytest.mark.parametrize(("name", "dtype"), [*product(NAMES, (F32, F64, I32, I64)), ("prod", C32), ("prod", C64)])
@pytest.mark.parametrize(
    "shape",
    [(16400,), (129, 128), (7, 2411), (2411, 7), (40, 41, 42), (3, 5471, 2), (5000, 1, 4), (2, 3, 70, 41), (130, 1000)],
)
def test_whole_numbers_are_folded_exactly(
    name: str, dtype: DType, shape: tuple[int, ...], instruction_set: str
) -> None:
    x = whole_numbers(name, dtype, shape)
    axes = [axis for axis in range(len(shape)) if shape[axis] > 1]
    for count in range(1, len(axes) + 1):
        for axis in combinations(axes, count):
            for keepdims in (False, True):
                ours, numpys = both(name, x, dtype, axis, keepdims=keepdims)
                assert ours.shape == numpys.shape and ours.dtype == numpys.dtype
                np.testing.assert_array_equal(ours, numpys)


@st.composite
def operands(draw: Any) -> tuple[tuple[int, ...], tuple[int, ...], int]:
    """Shape, strides and first element of a view: axes in any order in memory, with gaps, backwards, or repeated."""
    shape = draw(
        st.one_of(
            st.lists(st.integers(1, 9), min_size=1, max_size=5),
            st.lists(st.sampled_from((2, 2, 3)), min_size=1, max_size=9),
            st.tuples(st.integers(1, 200), st.integers(1, 200)),
            st.tuples(st.integers(1, 5), st.integers(1, 5000)),
        )
    )
    strides, step, first = [0] * len(shape), 1, 0
    for axis in draw(st.permutations(range(len(shape)))):
        if draw(st.integers(0, 9)) == 0:
            continue  # the same elements all along the axis
        step *= draw(st.sampled_from((1, 1, 1, 2, 3)))
        strides[axis] = step * draw(st.sampled_from((1, 1, 1, -1)))
        first += (shape[axis] - 1) * step if strides[axis] < 0 else 0
        step *= shape[axis]
    return tuple(shape), tuple(strides), first


@given(st.data(), operands(), st.sampled_from((*NAMES, "any", "all")), st.sampled_from((F32, F64, C32, C64, I32, Bool)))
def test_any_axes_of_any_view_are_folded_exactly(
    data: Any, layout: tuple[tuple[int, ...], tuple[int, ...], int], name: str, dtype: DType
) -> None:
    if name in ("any", "all"):
        dtype = Bool
    elif dtype in (C32, C64):
        name = {"max": "sum", "min": "prod"}.get(name, name)
    shape, strides, first = layout
    axes = tuple(data.draw(st.sets(st.integers(0, len(shape) - 1), min_size=1)))
    form = form_of(dtype, shape, CPU, strides)
    result = form_of(result_dtype(name, dtype), reduced(name, shape, (axes, False)), CPU)
    size = first + sum((n - 1) * max(0, stride) for n, stride in zip(shape, strides, strict=True)) + 1
    summed = name == "sum" and dtype in (C32, C64)
    memory = whole_numbers(name, F64 if summed else dtype, (2 * size,))[:size]
    if summed:
        memory = (memory + 1j * memory[::-1]).astype(NUMPY_DTYPES[dtype])
    x = restride(memory[first:], form)
    kernel = native.bind_reduction(name, form, result, (axes, False))
    if kernel is None:
        assert result.size == form.size or (name in ("any", "all") and result.size == 1)
        return
    expected = bind_numpy(name, (form,), result, (axes, False))(x)
    assume(dtype not in (C32, C64) or np.isfinite(expected).all())  # beyond the range the order of products decides
    np.testing.assert_array_equal(kernel(x), expected)


@pytest.mark.parametrize(
    ("shape", "axes"),
    [
        ((300, 7, 200), (0, 2)),  # lines, in bands
        ((12, 300, 5, 40), (1, 3)),  # rows, in bands
        ((5, 4, 3, 3000), (1, 3)),
        ((3, 100_000), (0,)),  # short lines: copied first
        ((2,) * 18, tuple(range(0, 18, 2))),
        ((2,) * 18, tuple(range(1, 18, 2))),
        ((40, 2, 3, 1, 900), (0, 1, 3, 4)),
        ((100_000, 2, 2), (0, 2)),
        ((1 << 19, 3), (0,)),  # long lines in chunks
        ((20, 3, 70_000), (1, 2)),  # bands and rows in chunks
        ((60, 50, 40), (0, 2)),  # short lines, one row of them after another
        ((9, 8, 7, 6, 5), (0, 2, 4)),
    ],
)
@pytest.mark.parametrize("turned", [False, True])
def test_large_operands_are_folded_exactly_along_any_axes(
    shape: tuple[int, ...], axes: tuple[int, ...], turned: bool, instruction_set: str
) -> None:
    for name, dtype in (("sum", F64), ("max", F32), ("sum", C64), ("any", Bool), ("sum", I32)):
        x = whole_numbers(name, F64 if dtype is C64 else dtype, shape)
        if dtype is C64:
            x = x - 2j * x
        form = form_of(dtype, shape, CPU)
        if turned:
            x = np.ascontiguousarray(x.T).T
            form = form_of(dtype, shape, CPU, form_of(dtype, shape[::-1], CPU).strides[::-1])
        ours, numpys = both(name, x, dtype, axes, form)
        np.testing.assert_array_equal(ours, numpys)


@pytest.mark.parametrize("size", [16384, 100003, 1 << 20, (1 << 22) + 17])
def test_sums_are_as_accurate_as_pairwise_ones(size: int, instruction_set: str) -> None:
    x = np.random.default_rng(1).random(size) - 0.25
    ours, numpys = both("sum", x, F64, None)
    exact = math.fsum(x)
    assert abs(float(ours) - exact) <= max(2 * abs(float(numpys) - exact), 8 * np.spacing(abs(exact)))


def test_sums_along_the_slow_axis_do_not_drift() -> None:
    x = np.full((1 << 15, 40), 0.1, np.float32)
    ours, _ = both("sum", x, F32, 1)
    assert np.max(np.abs(ours - np.float64(np.float32(0.1)) * (1 << 15))) <= 40 * np.spacing(np.float32(3276.8))


def test_the_number_of_threads_changes_nothing() -> None:
    rng = np.random.default_rng(2)
    former = LIBRARY.threads()
    try:
        for shape, axis in (
            ((3_000_001,), None),
            ((999, 1001), 0),
            ((999, 1001), 1),
            ((3, 200_000), 0),
            ((200_000, 3), 1),
            ((30, 400, 50), (0, 2)),
        ):
            x, found = rng.standard_normal(shape), []
            for threads in (1, 2, 3):
                LIBRARY.set_threads(threads)
                found.append(both("sum", x, F64, axis)[0])
            np.testing.assert_array_equal(found[0], found[1])
            np.testing.assert_array_equal(found[0], found[2])
    finally:
        LIBRARY.set_threads(former)


@pytest.mark.parametrize("place", [0, 1, 63, 64, 4095, 16383, 16999])
@pytest.mark.parametrize("dtype", [F32, F64])
@pytest.mark.parametrize("name", ["max", "min", "sum"])
def test_nan_anywhere_wins(name: str, dtype: DType, place: int, instruction_set: str) -> None:
    x = np.arange(17000).astype(NUMPY_DTYPES[dtype])
    x[place] = np.nan
    ours, numpys = both(name, x, dtype, None)
    assert np.isnan(ours) and np.isnan(numpys)
    columns, _ = both(name, x.reshape(170, 100), dtype, 1)
    assert np.flatnonzero(np.isnan(columns)).tolist() == [place % 100]


@pytest.mark.parametrize("dtype", [F32, F64])
@pytest.mark.parametrize("name", ["max", "min"])
def test_nan_is_found_at_every_place_of_a_line_and_of_rows(name: str, dtype: DType, instruction_set: str) -> None:
    extreme = getattr(np, name)
    for length, lines in ((31, 40), (32, 3), (47, 3), (64, 3), (100, 3), (131, 2), (2500, 2)):
        for place in range(0, length, 1 if length < 200 else 97):
            x = np.where(np.arange(lines * length) % 3 == 0, np.inf, -np.inf).astype(NUMPY_DTYPES[dtype])
            x[np.arange(lines * length) % 5 == 0] = 0.25
            x = x.reshape(lines, length)
            x[1, place] = np.nan
            np.testing.assert_array_equal(both(name, x, dtype, 0)[0], extreme(x, axis=1))
    for rows, columns, stride in ((5, 70, 70), (6, 70, 4200), (9, 32, 32), (7, 33, 5000), (64, 8, 2500)):
        for row, column in ((0, 0), (rows - 1, columns - 1), (2, columns // 2), (4, columns - 1)):
            x = np.arange(rows * stride).astype(NUMPY_DTYPES[dtype]).reshape(rows, stride)[:, :columns]
            x[row, column] = np.nan
            found, _ = both(name, x, dtype, 1, form_of(dtype, (columns, rows), CPU, (1, stride)))
            np.testing.assert_array_equal(found, extreme(x, axis=0))


def test_infinities_and_zeros_keep_their_meaning() -> None:
    x = np.full(20000, -0.0)
    assert np.signbit(both("sum", x, F64, None)[0])
    x[5] = np.inf
    assert both("max", x, F64, None)[0] == np.inf and both("sum", x, F64, None)[0] == np.inf
    x[7] = -np.inf
    assert np.isnan(both("sum", x, F64, None)[0])


def test_sums_of_integers_wrap_and_truth_values_are_counted(instruction_set: str) -> None:
    x = np.full(20001, np.iinfo(np.int64).max)
    np.testing.assert_array_equal(*both("sum", x, I64, None))
    flags = np.random.default_rng(3).integers(0, 2, (200, 150)).astype(bool)
    np.testing.assert_array_equal(*both("sum", flags, Bool, 0))
    np.testing.assert_array_equal(*both("sum", flags, Bool, 1))


def test_strided_outer_axes_are_read_in_place() -> None:
    x = np.random.default_rng(4).integers(-50, 50, (90, 80, 70)).astype(float)
    for step in (2, -2):
        rows = x[::step]
        form = form_of(F64, (70, 80, 45), CPU, (1, 70, 5600 * step))
        start = x[-1:] if step < 0 else x
        for axis, transposed_axis in ((2, 0), ((0, 1), (1, 2))):
            ours, numpys = both("sum", restride(start, form), F64, axis, form)
            np.testing.assert_array_equal(ours, numpys)
            np.testing.assert_array_equal(ours, rows.sum(axis=transposed_axis))


def test_what_numpy_does_better_is_left_to_it() -> None:
    def bound(name: str, dtype: DType, shape: tuple[int, ...], axes: tuple[int, ...] | None) -> bool:
        result = form_of(result_dtype(name, dtype), reduced(name, shape, (axes, False)), CPU)
        return native.bind_reduction(name, form_of(dtype, shape, CPU), result, (axes, False)) is not None

    assert bound("sum", F64, (200, 300), None)
    assert not bound("sum", F64, (20, 0), (0,))
    assert bound("prod", C64, (200, 300), None) and not bound("max", C64, (200, 300), None)
    assert bound("any", Bool, (200, 300), (0,))
    assert bound("any", Bool, (200, 300), None)
    assert not bound("sum", F64, (200, 300), ())
    assert bound("prod", I64, (3, 1 << 20), (0,)) and not bound("prod", I64, (3, 1 << 24), (0,))  # too large to copy


def test_complex_tensors_of_every_rank_are_summed() -> None:
    x = np.arange(30.0).reshape(5, *(1,) * 62, 3 * 2).astype(complex) * (1 - 2j)
    for axis in (0, 63, None):
        np.testing.assert_array_equal(*both("sum", x, C64, axis))


def test_sums_on_the_way_are_bounded() -> None:
    form = form_of(Bool, (8, 2, 2, 10**8), CPU, (1, 8, 16, 0))  # 32 elements, each many times over
    result = form_of(I64, (8, 2), CPU)
    start, axes = native.axes_of(form.shape, form.strides, (1, 3))
    assert start == 0 and [axis.extent for axis in axes] == [10**8, 2, 2, 8]
    assert native.bind_reduction("sum", form, result, ((1, 3), False)) is not None
    small = form_of(Bool, (8, 2, 2, 1000), CPU, (1, 8, 16, 0))
    x = np.random.default_rng(5).integers(0, 2, 32).astype(bool)
    np.testing.assert_array_equal(*both("sum", restride(x, small), Bool, (1, 3), small))


def test_any_byte_but_zero_is_true() -> None:
    x = np.array([[2, 1, 0], [1, 4, 8]], np.uint8).view(bool)
    ours, numpys = both("all", x, Bool, 1)
    np.testing.assert_array_equal(ours.view(np.uint8), numpys)
    ours, numpys = both("any", x, Bool, 0)
    np.testing.assert_array_equal(ours.view(np.uint8), numpys)


@pytest.mark.parametrize("name", ["reduce_sum", "reduce_prod"])
def test_sums_that_stay_in_their_element_type_wrap_there(name: str) -> None:
    x = np.random.default_rng(9).integers(-(2**31), 2**31, (300, 100), np.int32)
    fold = {"reduce_sum": np.add, "reduce_prod": np.multiply}[name].reduce
    found = getattr(tr.primitives, name)(tr.asarray(x.T), (0,))
    assert found.dtype is I32
    np.testing.assert_array_equal(found.to_numpy(), fold(x, axis=1, dtype=np.int32))


def test_malformed_calls_are_refused() -> None:
    for arguments in (
        ("sum", "F64", (3,), "F64", native.Loops(0, 2, 1, 5, 2, (), ())),
        ("sum", "C64", (3,), "C64", native.Loops(0, 3, 1, 5, 3, (), ())),
        ("median", "F64", (3,), "F64", native.Loops(0, 3, 1, 5, 3, (), ())),
        ("sum", "F64", (0,), "F64", native.Loops(0, 0, 1, 5, 0, (), ())),
        ("sum", "I32", (3,), "I32", native.Loops(0, 3, 1, 5, 3, (), ())),
        ("max", "I32", (3,), "I64", native.Loops(0, 3, 1, 5, 3, (), ())),
        ("sum", "F32", (3,), "C64", native.Loops(0, 6, 1, 5, 6, (), ())),
        ("sum", "F64", (3,), "F64", native.Loops(0, 3, 1, 5, 3, (), (native.Axis(0, 2, 0),))),
    ):
        with pytest.raises(ValueError, match="reduce"):
            LIBRARY.bind_reduce(*arguments)


def test_means_are_sums_divided_by_the_number_of_elements() -> None:
    x = np.random.default_rng(8).integers(-9, 10, (300, 128)).astype(np.float32)
    form = form_of(F32, (128, 300), CPU)
    for axis, count, shape in ((1, 300, (128,)), (0, 128, (300,)), (None, 38400, ())):
        kernel = CpuBackend().bind("mean", (form,), form_of(F32, shape, CPU), (axis, False))
        expected = x.sum(axis=None if axis is None else 1 - axis, dtype=np.float64).astype(np.float32) / np.float32(
            count
        )
        np.testing.assert_array_equal(kernel(x), expected)
        assert statistics.bind_mean((form,), form_of(F32, shape, CPU), (axis, False)) is not None
