"""Sorted lines and places in them, what is true, distinct numbers, counts of Bool, rolled and stacked arrays."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import tensor_runtime as tr
from tensor_core.dtypes import F32, F64, I32, I64, Bool, DType
from tensor_cpu.kernel_table import bind, bind_numpy
from tensor_cpu.storage import NUMPY_DTYPES
from tensor_cpu.system.extension import AVAILABLE, LIBRARY
from tensor_runtime.form import form_of
from tensor_runtime.placement import CPU

pytestmark = pytest.mark.skipif(not AVAILABLE, reason="the extension is not built")
SIZES = (1, 2, 3, 15, 16, 17, 31, 64, 65, 100, 1000, 5000)


def drawn(dtype: DType, size: int, seed: int = 0) -> np.ndarray[Any, Any]:
    """With ties, and where there are such: zeros of both signs, infinities and NaN."""
    rng = np.random.default_rng([size, seed])
    x: np.ndarray[Any, Any] = rng.integers(-9, 10, size).astype(NUMPY_DTYPES[dtype])
    if dtype.kind == "float" and size > 2:
        x[rng.integers(0, size, size // 5)] = -0.0
        x[rng.integers(0, size, size // 9)] = np.nan
        x[rng.integers(0, size, size // 9)] = np.inf
        x[rng.integers(0, size, size // 9)] = -np.inf
    return x


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("dtype", [F32, F64, I32, I64])
def test_values_belong_where_numpy_says(side: Any, dtype: DType) -> None:
    for length, count in itertools.product(SIZES, SIZES):
        line, values = np.sort(drawn(dtype, length)), drawn(dtype, count, 1)
        forms = form_of(dtype, (length,), CPU), form_of(dtype, (count,), CPU)
        kernel = bind(f"searchsorted_{side}", forms, form_of(I64, (count,), CPU), None)
        assert "searchsorted" in repr(kernel)
        np.testing.assert_array_equal(kernel(line, values), np.searchsorted(line, values, side), strict=True)


@pytest.mark.parametrize("dtype", [F32, F64, I32, I64])
def test_lines_along_any_axis_are_in_order_and_zeros_in_the_order_that_they_had(dtype: DType) -> None:
    for shape in ((1,), (40,), (5000,), (3, 1), (1, 3), (70, 50), (2, 600, 3), (300, 1, 90)):
        x = drawn(dtype, int(np.prod(shape)), 5).reshape(shape)
        form = form_of(dtype, shape[::-1], CPU)
        for axis in range(len(shape)):
            kernel = bind("sort", (form,), form, (len(shape) - 1 - axis, False))
            assert "kernel sort" in repr(kernel)
            before = x.tobytes()
            found = kernel(x)
            assert found.tobytes() == np.sort(x, axis, kind="stable").tobytes()
            assert x.tobytes() == before and not np.shares_memory(x, found)


def test_places_of_many_values_are_those_of_any_layout() -> None:
    rng = np.random.default_rng(2)
    x, y = np.sort(rng.random(70_000)), rng.random((300, 200))
    line, values = tr.asarray(x, copy=True), tr.asarray(y, copy=True)
    expected = np.searchsorted(x, y)
    np.testing.assert_array_equal(tr.searchsorted(line, values).to_numpy(), expected)
    np.testing.assert_array_equal(tr.searchsorted(line, values[::-2].T).to_numpy(), expected[::-2].T)
    np.testing.assert_array_equal(tr.searchsorted(line[::3], values).to_numpy(), np.searchsorted(x[::3], y))
    assert tr.searchsorted(line[:0], values).to_numpy().max() == 0
    assert tr.searchsorted(line, values[:0]).shape == (0, 200)
    assert tr.searchsorted(line, tr.tensor(2.0)).item() == 70_000


def test_what_is_true_is_found_whatever_its_bytes_are() -> None:
    rng = np.random.default_rng(3)
    for length, chance in itertools.product((0, 1, 7, 8, 9, 4095, 5000), (0.0, 0.001, 0.5, 1.0)):
        truth = (rng.random(length) < chance).astype(np.uint8) * rng.integers(1, 256, length).astype(np.uint8)
        form = form_of(Bool, (length,), CPU)
        found = bind("nonzero", (form,), (form_of(I64, (length,), CPU),), None)(truth.view(bool))
        assert found.count == np.count_nonzero(truth)
        np.testing.assert_array_equal(found.arrays[0], truth.nonzero()[0], strict=True)


@pytest.mark.parametrize("dtype", [F32, F64])
def test_sorted_zeros_keep_the_order_that_they_had(dtype: DType) -> None:
    for size in SIZES:
        x = drawn(dtype, size)
        found, expected = tr.sort(tr.asarray(x, copy=True)).to_numpy(), np.sort(x, stable=True)
        np.testing.assert_array_equal(found, expected, strict=True)
        np.testing.assert_array_equal(np.signbit(found[found == 0]), np.signbit(expected[expected == 0]))


@pytest.mark.parametrize("equal_nan", [True, False])
@pytest.mark.parametrize("dtype", [F32, F64, I32, I64])
def test_distinct_numbers_are_those_of_numpy_and_the_first_of_both_zeros(dtype: DType, equal_nan: bool) -> None:
    for size in (0, *SIZES):
        x = drawn(dtype, size) if size else np.zeros(0, NUMPY_DTYPES[dtype])
        found, expected = tr.unique(tr.asarray(x, copy=True), equal_nan=equal_nan), np.unique(x, equal_nan=equal_nan)
        np.testing.assert_array_equal(found.to_numpy(), expected, strict=True)
        zeros = found.to_numpy()[found.to_numpy() == 0]
        np.testing.assert_array_equal(np.signbit(zeros), np.signbit(x[x == 0][:1]))
    rows = np.arange(60).reshape(4, 15)[:, ::-1] % 7 * -1
    np.testing.assert_array_equal(tr.unique(tr.asarray(rows.astype(NUMPY_DTYPES[dtype]))).to_numpy(), np.unique(rows))


@pytest.mark.parametrize("name", ["sum", "prod", "max", "min", "any", "all"])
def test_folds_of_bool_count_every_byte_that_is_not_zero(name: str, instruction_set: str) -> None:
    rng = np.random.default_rng(4)
    for shape in ((1,), (63,), (64,), (65,), (2047,), (2049,), (70_001,), (100, 30), (30, 100), (2100, 3)):
        for chance in (0.0, 0.5, 1.0):
            size = int(np.prod(shape))
            x = (rng.random(size) < chance).astype(np.uint8) * rng.integers(1, 256, size).astype(np.uint8)
            form = form_of(Bool, shape, CPU)
            array = x.reshape(shape[::-1]).view(bool)
            for axis in (None, *range(len(shape))):
                kept = () if axis is None else tuple(extent for k, extent in enumerate(shape) if k != axis)
                result = form_of(I64 if name in ("sum", "prod") else Bool, kept, CPU)
                found = bind(name, (form,), result, (axis, False))(array)
                expected = bind_numpy(name, (form,), result, (axis, False))((x != 0).reshape(shape[::-1]))
                np.testing.assert_array_equal(found.astype(expected.dtype), expected)


@pytest.mark.parametrize("shape", [(), (1,), (7,), (3, 4), (2, 3, 4), (1, 5, 1), (0, 3), (3, 0, 2)])
def test_a_line_of_all_elements_is_rolled_across_the_ends_of_axes(shape: tuple[int, ...]) -> None:
    x = np.arange(int(np.prod(shape, dtype=int))).reshape(shape)
    for tensor, array in ((tr.asarray(x, copy=True), x), (tr.asarray(x, copy=True).T, x.T)):
        for shift in (*range(-30, 31), 10**20, -(10**20) - 1):
            expected = np.roll(array, shift % max(x.size, 1))
            np.testing.assert_array_equal(tr.roll(tensor, shift).to_numpy(), expected)


@pytest.mark.parametrize("dtype", ["F32", "F64", "C64", "Bool"])
@pytest.mark.parametrize("count", [2, 3, 7, 8, 17, 40, 64, 65])
def test_elements_of_several_arrays_are_put_side_by_side(dtype: str, count: int) -> None:
    for shape in ((1,), (5,), (255,), (256,), (1000,), (20, 30)):
        parts = [tr.cast(tr.uniform(shape, seed=seed) * 9 - 4, dtype) for seed in range(count)]
        found = tr.stack(parts, 0).to_numpy()
        np.testing.assert_array_equal(found, np.stack([part.to_numpy() for part in parts], 0), strict=True)
        rows = [part[None] for part in parts]
        np.testing.assert_array_equal(tr.concatenate(rows, 0).to_numpy(), found, strict=True)


def test_binders_refuse_what_has_no_meaning() -> None:
    with pytest.raises(ValueError, match="bind_search"):
        LIBRARY.bind_search("middle", "F64", 3, (2,))
    with pytest.raises(ValueError, match="bind_search"):
        LIBRARY.bind_search("left", "Bool", 3, (2,))
    with pytest.raises(ValueError, match="bind_search"):
        LIBRARY.bind_search("left", "F64", 0, (2,))
    with pytest.raises((ValueError, OverflowError)):
        LIBRARY.bind_true(-1)
    for dtype, axis, extent in (("Bool", 0, 3), ("C64", 0, 3), ("F64", 1, 3), ("F64", -1, 3), ("F64", 0, 0)):
        with pytest.raises(ValueError, match="bind_sort"):
            LIBRARY.bind_sort(dtype, axis, (extent,))
    line = np.zeros(3)
    for sorted_line, source in ((line, line[:2]), (line, line.astype(np.float32)), (line.astype(int), line)):
        with pytest.raises(ValueError, match="settle_zeros"):
            LIBRARY.settle_zeros(sorted_line, source)
    gaps = np.zeros(6)[::2]
    for sorted_line, source in (([0.0], line), (gaps, line), (line, gaps)):
        with pytest.raises(TypeError, match="settle_zeros"):
            LIBRARY.settle_zeros(sorted_line, source)
    with pytest.raises(TypeError, match="has_negative_zero"):
        LIBRARY.has_negative_zero(gaps)
    for wrong in (line.astype(complex), line > 0):
        with pytest.raises(ValueError, match="keep_distinct"):
            LIBRARY.keep_distinct(wrong, True, None)
    line.flags.writeable = False
    for wrong in (line, gaps, [0.0]):
        with pytest.raises(TypeError, match="keep_distinct"):
            LIBRARY.keep_distinct(wrong, True, None)
    x = np.arange(3.0)
    for counts in (np.zeros(3), np.zeros(2, np.int64), np.zeros(6, np.int64)[::2], [0, 0, 0]):
        with pytest.raises(TypeError, match="keep_distinct: counts of I64 without gaps, one for each element"):
            LIBRARY.keep_distinct(x, True, counts)


@pytest.mark.parametrize("one_nan", [True, False])
@pytest.mark.parametrize("dtype", [F32, F64, I32, I64])
def test_distinct_numbers_occur_as_often_as_numpy_says(dtype: DType, one_nan: bool) -> None:
    for size in (0, *SIZES):
        x = drawn(dtype, size, 7)
        values, counts = tr.unique(tr.asarray(x), return_counts=True, equal_nan=one_nan)
        expected, often = np.unique(x, return_counts=True, equal_nan=one_nan)
        np.testing.assert_array_equal(values.to_numpy(), expected, strict=True)
        np.testing.assert_array_equal(counts.to_numpy(), often.astype(np.int64), strict=True)
        if size:
            zeros = x[x == 0][:1]
            assert values.to_numpy()[values.to_numpy() == 0].tobytes() == zeros.tobytes()


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("dtype", [I32, I64])
def test_integers_of_a_small_range_belong_where_numpy_says_beyond_its_ends_too(side: Any, dtype: DType) -> None:
    limits = np.iinfo(NUMPY_DTYPES[dtype])
    rng = np.random.default_rng(3)
    for low, length, count in ((0, 9, 3000), (limits.min, 700, 500), (limits.max - 40, 40, 20_000), (-20, 5000, 60)):
        line = np.sort(rng.integers(low, low + 41, length, endpoint=low < limits.max - 41).astype(NUMPY_DTYPES[dtype]))
        values = np.concatenate(
            (rng.integers(limits.min, limits.max, count // 3, endpoint=True), rng.choice(line, count))
        )
        values = np.append(values, [limits.min, limits.max, line[0], line[-1]]).astype(NUMPY_DTYPES[dtype])
        for near in (-1, 1):
            values = np.append(values, np.clip(line[[0, -1]].astype(object) + near, limits.min, limits.max))
        values = values.astype(NUMPY_DTYPES[dtype])
        forms = form_of(dtype, (length,), CPU), form_of(dtype, (values.size,), CPU)
        kernel = bind(f"searchsorted_{side}", forms, form_of(I64, (values.size,), CPU), None)
        np.testing.assert_array_equal(kernel(line, values), np.searchsorted(line, values, side), strict=True)
