"""Casts of operands that do not lie as their results: turned, backwards, with gaps, repeated."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tensor_runtime as tr
from tensor_core.dtypes import C32, C64, F32, F64, I32, I64, Bool, DType
from tensor_core.errors import CastRangeError
from tensor_cpu.storage import NUMPY_DTYPES
from tensor_cpu.system.extension import AVAILABLE, LIBRARY

if not AVAILABLE:
    pytest.skip("the native kernels were not built", allow_module_level=True)

ALL = (F32, F64, C32, C64, I32, I64, Bool)
PAIRS = tuple(itertools.permutations(ALL, 2))
VIEWS: tuple[tuple[tuple[int, ...], Any], ...] = (
    ((37, 53), lambda x: x.T),
    ((130, 300), lambda x: x.T),
    ((3, 700), lambda x: x.T),
    ((700, 3), lambda x: x.T),
    ((64, 65), lambda x: x.T[::-1, ::2]),
    ((200, 41), lambda x: x[::3, ::-1]),
    ((900,), lambda x: x[::2]),
    ((900,), lambda x: x[::-1]),
    ((23, 30, 17), lambda x: x.transpose(2, 0, 1)),
    ((23, 30, 17), lambda x: x.transpose(1, 2, 0)[:, ::-1]),
    ((4, 6, 300), lambda x: x[:, ::2].transpose(2, 1, 0)),
)
"""Extents, and what is cast, in NumPy's words for a row-major array; each stands for its own order in memory."""


@pytest.fixture(autouse=True)
def _kernels_of_each_instruction_set(instruction_set: str) -> Iterator[None]:
    tr.binding_cache.clear()  # kernels keep the set that they were made for
    yield
    tr.binding_cache.clear()


def drawn(shape: tuple[int, ...], dtype: DType) -> Any:
    values = np.random.default_rng(len(shape)).integers(-40, 40, shape)
    if dtype.kind == "complex":
        return (values + 1j * (values // 3)).astype(NUMPY_DTYPES[dtype])
    return values.astype(NUMPY_DTYPES[dtype])


def expected(array: Any, target: DType) -> Any:
    if target is Bool:
        return array != 0
    return (array.real if target.kind != "complex" else array).astype(NUMPY_DTYPES[target])


def require_casts(array: Any, target: DType) -> None:
    tensor = tr.asarray(array)  # shares memory, as any layout may
    np.testing.assert_array_equal(tr.cast(tensor, target).to_numpy(), expected(array, target), strict=True)


@pytest.mark.parametrize(("source", "target"), PAIRS, ids=lambda dtype: dtype.name)
def test_casts_of_any_layout_equal_numpys(source: DType, target: DType) -> None:
    for shape, view in VIEWS:
        require_casts(view(drawn(shape, source)), target)
    require_casts(np.broadcast_to(drawn((40,), source)[:, None], (40, 70)), target)
    require_casts(np.broadcast_to(drawn((40, 1), source), (3, 40, 33)), target)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(
    ("source", "target"), [(F64, F32), (F32, F64), (F64, I64), (C64, C32), (F64, C64), (I32, Bool)]
)
def test_large_ones_in_parts_and_past_the_cache(source: DType, target: DType, threads: int) -> None:
    usual = LIBRARY.streamed_bytes()
    array = drawn((513, 640), source)
    for from_bytes in (usual, 1):
        tr.binding_cache.clear()
        LIBRARY.set_streamed_bytes(from_bytes)
        try:
            with tr.set_threads(threads):
                require_casts(array.T, target)
                require_casts(array.reshape(27, 19, 640).transpose(2, 0, 1), target)
                require_casts(array[:, :637].T, target)
        finally:
            LIBRARY.set_streamed_bytes(usual)


@pytest.mark.parametrize(("source", "target"), [(F64, I32), (F64, I64), (F32, I32), (C64, I32), (I64, I32)])
def test_a_value_without_counterpart_is_named_where_it_is(source: DType, target: DType) -> None:
    array = drawn((300, 200), source)
    array[171, 13] = 2**63 if source is not I64 else 2**40
    tensor = tr.asarray(array.T)
    with pytest.raises(CastRangeError, match=r"13, 171"):
        tr.cast(tensor, target)
    saturated = tr.cast(tensor, target, overflow="saturate").to_numpy()
    assert saturated[13, 171] == np.iinfo(NUMPY_DTYPES[target]).max
    saturated[13, 171] = array[171, 13] = 0
    np.testing.assert_array_equal(saturated, expected(array.T, target))
