"""``delete``, ``isin`` and ``array_equal``: which way is taken depends on how many elements and places there are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensor_runtime as tr
from numpy_agreement import layouts, numbers, same
from tensor_core.dtypes import DTYPES, F32, F64, I32, I64, DType
from tensor_core.errors import IndexingError


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(200,), (90, 3), (3, 90), (2, 80, 3)])
def test_what_is_deleted_is_what_numpy_deletes(dtype: DType, shape: tuple[int, ...]) -> None:
    a = numbers(shape, dtype, 3)
    for x in layouts(a):
        for axis in (None, *range(a.ndim)):
            n = a.size if axis is None else a.shape[axis]
            rng = np.random.default_rng(n)
            mask = rng.random(n) < 0.4
            ways: list[Any] = [0, n - 1, -1, -n, n // 2, [], [0], [-1, 0, n - 1], [n // 2] * 3]
            ways += [rng.integers(-n, n, 64).tolist(), rng.integers(-n, n, 65).tolist(), list(range(n)), mask.tolist()]
            for where in ways:
                expected = np.delete(a, np.array(where, bool if where == mask.tolist() else int), axis)
                same(tr.delete(x, where, axis), expected)
            same(tr.delete(x, tr.asarray(mask), axis), np.delete(a, mask, axis))


@pytest.mark.parametrize("where", [4, -5, [0, 4], [-5], [0, 1, 2, 3, -5]])
def test_a_place_out_of_range_is_refused(where: Any) -> None:
    for x in (tr.ones(4), tr.ones((4, 4))):
        with pytest.raises(IndexingError):
            tr.delete(x, where, 0)


def test_what_is_left_is_memory_of_its_own() -> None:
    x = tr.asarray(np.arange(12.0).reshape(3, 4), copy=True)
    left = tr.delete(x, 1, 0)
    tr.mutable_view(x)[...] = 0.0
    assert left.is_compact
    assert left.to_numpy().tolist() == [[0.0, 1.0, 2.0, 3.0], [8.0, 9.0, 10.0, 11.0]]


@pytest.mark.parametrize("dtype", [I32, I64])
def test_integers_of_any_range_are_found_among_others(dtype: DType) -> None:
    rng = np.random.default_rng(2)
    limits = np.iinfo(dtype.numpy_name)
    for span in (50, 10_000, 2**31 - 1):
        a, elements = (rng.integers(-span, span, size).astype(dtype.numpy_name) for size in (20_000, 300))
        a[:2], elements[:5] = (limits.min, limits.max), a[5:10]
        x = tr.asarray(a)
        for some in (elements, elements[:1], np.append(elements, limits.max), np.append(elements, limits.min)):
            same(tr.isin(x, tr.asarray(some)), np.isin(a, some))
            same(tr.isin(x, tr.asarray(some), invert=True), ~np.isin(a, some))


@pytest.mark.parametrize("dtype", [F32, I64])
@pytest.mark.parametrize("shape", [(4095,), (4096,), (4097,), (4096 * 64 + 1,), (70, 80), (3, 50, 90)])
def test_tensors_differ_where_one_element_does(dtype: DType, shape: tuple[int, ...]) -> None:
    a = numbers(shape, dtype, 1)
    x = tr.copy(tr.asarray(a))
    for y in layouts(a):
        assert tr.array_equal(x, y) is True
    for place in {0, 1, a.size // 2, min(4095, a.size - 1), min(4096, a.size - 1), a.size - 1}:
        b = a.copy()
        b.reshape(-1)[place] = 99
        for y in layouts(b):
            assert tr.array_equal(x, y) is False
            assert tr.array_equal(y, x) is False
    assert tr.array_equal(x, tr.reshape_view(x, (1, *shape))) is False


def test_nothing_equals_nan_at_any_place() -> None:
    for place in (0, 4095, 4096, 9999):
        a = np.ones(10_000)
        a[place] = np.nan
        assert tr.array_equal(tr.asarray(a), tr.asarray(a)) is False
    assert tr.array_equal(tr.ones(10_000, dtype=F64), tr.ones(10_000, dtype=I32)) is True
