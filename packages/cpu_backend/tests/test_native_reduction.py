"""Native reductions against NumPy's and exact sums."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tensor_core.dtypes import F32, F64, I32, I64, Bool, DType
from tensor_cpu.arrays import NUMPY_DTYPES, restride
from tensor_cpu.backend import CpuBackend
from tensor_cpu.extension import AVAILABLE, LIBRARY
from tensor_cpu.programs import numpy_kernel
from tensor_runtime.form import form_of
from tensor_runtime.placement import CPU
from tensor_runtime.rules import accumulator, reduced

if not AVAILABLE:
    pytest.skip("the native kernels were not built", allow_module_level=True)

from tensor_cpu.native import reduction as native

NAMES = ("sum", "prod", "max", "min")


@pytest.fixture(params=["plain", "avx2", "avx512"])
def instruction_set(request: pytest.FixtureRequest) -> Iterator[str]:
    """Kernels made meanwhile use this one."""
    former = LIBRARY.instruction_set()
    try:
        LIBRARY.set_instruction_set(request.param)
    except ValueError:
        pytest.skip("this processor lacks it")
    yield request.param
    LIBRARY.set_instruction_set(former)


def both(name: str, x: np.ndarray[Any, Any], dtype: DType, axis: Any, form: Any = None, keepdims: bool = False) -> Any:
    """Results of the native kernel and of NumPy's; axes are the tensor's."""
    form = form_of(dtype, x.shape[::-1], CPU) if form is None else form
    result_dtype = accumulator(dtype) if name in ("sum", "prod") else dtype
    result = form_of(result_dtype, reduced(name, form.shape, (axis, keepdims)), CPU)
    kernel = native.bind_reduction(name, form, result, (axis, keepdims))
    assert kernel is not None
    return kernel(x), numpy_kernel(name, (form,), result, (axis, keepdims))(x)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype", [F32, F64, I32, I64])
@pytest.mark.parametrize(
    "shape",
    [(16400,), (129, 128), (7, 2411), (2411, 7), (40, 41, 42), (3, 5471, 2), (5000, 1, 4), (2, 3, 70, 41), (130, 1000)],
)
def test_whole_numbers_are_folded_exactly(
    name: str, dtype: DType, shape: tuple[int, ...], instruction_set: str
) -> None:
    rng = np.random.default_rng(0)
    x = rng.integers(-9, 10, shape[::-1])
    if name == "prod":
        x = np.where(rng.random(x.shape) < 20 / x.size, 2, np.where(x > 0, 1, -1))
    x = x.astype(NUMPY_DTYPES[dtype])
    tried = 0
    for axis in (None, *range(len(shape))):
        groups = native.fused_groups(form_of(dtype, shape, CPU), tuple(range(len(shape))) if axis is None else (axis,))
        found = native.extents_and_strides(groups)
        if found is None or native.too_short(name, found):
            continue
        for keepdims in (False, True):
            ours, numpys = both(name, x, dtype, axis, keepdims=keepdims)
            assert ours.shape == numpys.shape and ours.dtype == numpys.dtype
            np.testing.assert_array_equal(ours, numpys)
            tried += 1
    assert tried >= 2


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
        ):
            x, found = rng.standard_normal(shape), []
            for threads in (1, 2, 3):
                LIBRARY.set_threads(threads)
                found.append(both("sum", x, F64, axis)[0] if native_takes(shape, axis) else None)
            np.testing.assert_array_equal(found[0], found[1])
            np.testing.assert_array_equal(found[0], found[2])
    finally:
        LIBRARY.set_threads(former)


def native_takes(shape: tuple[int, ...], axis: Any) -> bool:
    """Whether a tensor whose twin has this shape is reduced natively."""
    form = form_of(F64, shape[::-1], CPU)
    axes = tuple(range(form.rank)) if axis is None else (axis,)
    found = native.extents_and_strides(native.fused_groups(form, axes))
    return found is not None and not native.too_short("sum", found)


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
        for axis, twin_axis in ((2, 0), ((0, 1), (1, 2))):
            ours, numpys = both("sum", restride(start, form), F64, axis, form)
            np.testing.assert_array_equal(ours, numpys)
            np.testing.assert_array_equal(ours, rows.sum(axis=twin_axis))


def test_other_layouts_are_left_to_numpy() -> None:
    form = form_of(F64, (200, 300), CPU, (2, 400))
    backend, x = CpuBackend(), np.ones((300, 400))
    kernel = backend.bind("sum", (form,), form_of(F64, (), CPU), (None, False))
    assert "native" not in repr(kernel) and float(kernel(restride(x, form))) == 60000


def test_malformed_calls_are_refused() -> None:
    for arguments in (
        ("sum", "F64", (3,), "F64", (1, 5, 2, 0, 2)),
        ("sum", "C64", (3,), "C64", (1, 5, 3, 0, 3)),
        ("median", "F64", (3,), "F64", (1, 5, 3, 0, 3)),
        ("sum", "F64", (0,), "F64", (1, 5, 0, 0, 0)),
    ):
        with pytest.raises(ValueError, match="reduce"):
            LIBRARY.reduce(*arguments)


def test_means_are_sums_divided_by_the_number_of_elements() -> None:
    x = np.random.default_rng(8).integers(-9, 10, (300, 128)).astype(np.float32)
    form = form_of(F32, (128, 300), CPU)
    for axis, count, shape in ((1, 300, (128,)), (0, 128, (300,)), (None, 38400, ())):
        kernel = CpuBackend().bind("mean", (form,), form_of(F32, shape, CPU), (axis, False))
        expected = x.sum(axis=None if axis is None else 1 - axis, dtype=np.float64).astype(np.float32) / np.float32(
            count
        )
        np.testing.assert_array_equal(kernel(x), expected)
        assert native.bind_mean((form,), form_of(F32, shape, CPU), (axis, False)) is not None


def test_the_mean_of_one_element_type_is_never_native_in_another() -> None:
    form = form_of(I64, (20000,), CPU)
    assert native.bind_mean((form,), form_of(F64, (), CPU), (None, False)) is None
