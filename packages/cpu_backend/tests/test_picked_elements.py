"""x[[0, 2]], x[:, y], x[mask] of several axes and writing there, beside NumPy: where it is little, in native calls."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensor_runtime as tr
from tensor_core import errors

RANDOM = np.random.default_rng(11)
DTYPES = (np.float64, np.float32, np.complex128, np.int32, np.int64, np.bool_)


def _array(shape: tuple[int, ...], dtype: Any) -> np.ndarray[Any, Any]:
    return np.asfortranarray(np.arange(1, 1 + np.prod(shape)).reshape(shape).astype(dtype))


def _ours(item: Any) -> Any:
    """The same item of an index, with tensors in place of arrays."""
    if isinstance(item, tuple):
        return tuple(map(_ours, item))
    return tr.asarray(item.copy()) if isinstance(item, np.ndarray) else item


def _drawn_index(shape: tuple[int, ...]) -> Any:
    """Slices around lists, lines of integers or truths for neighbouring axes."""
    rank = len(shape)
    first = int(RANDOM.integers(0, rank))
    picks = int(RANDOM.integers(1, rank - first + 1))
    count = int(RANDOM.integers(1, 6))
    items: list[Any] = []
    for axis in range(rank):
        if first <= axis < first + picks:
            line = RANDOM.integers(-shape[axis], shape[axis], count)
            kind = int(RANDOM.integers(0, 4))
            if kind == 3 and picks == 1:
                truths = RANDOM.random(shape[axis]) < 0.6
                items.append(truths if RANDOM.integers(0, 2) else truths.tolist())
            else:
                items.append(line.tolist() if kind == 0 else line)
        else:
            bounds = (slice(None), slice(None, None, 2), slice(1, None), slice(None, None, -1), slice(0, 0))
            items.append(bounds[int(RANDOM.integers(0, len(bounds)))])
    kept = items[: max(first + picks, int(RANDOM.integers(1, rank + 1)))]
    return kept[0] if len(kept) == 1 else tuple(kept)


SHAPES = ((7,), (5, 4), (3, 4, 5), (2, 3, 1, 4))


@pytest.mark.parametrize("dtype", DTYPES)
def test_what_lists_and_lines_name_is_what_numpy_reads_and_writes(dtype: Any) -> None:
    for _ in range(60):
        for shape in SHAPES:
            x, index = _array(shape, dtype), _drawn_index(shape)
            mine = tr.mutable_view(tr.asarray(x.copy(order="F")))
            for _again in range(2):  # the first one teaches the table
                read = mine[_ours(index)]
                assert read.is_compact
                np.testing.assert_array_equal(tr.to_numpy(read), x[index])
            for value in (dtype(0).item(), _array(x[index].shape, dtype)):
                x[index] = value
                mine[_ours(index)] = tr.asarray(value) if isinstance(value, np.ndarray) else value
                np.testing.assert_array_equal(tr.to_numpy(mine), x)


@pytest.mark.parametrize("dtype", DTYPES)
def test_strided_tensors_and_masks_of_all_axes_are_read_in_row_major_order(dtype: Any) -> None:
    for step in (1, -2):
        for shape in ((6, 5), (4, 2, 3), (4, 0)):
            x = _array(shape, dtype)
            mask = RANDOM.random(shape) < 0.5
            mine = tr.mutable_view(tr.asarray(x.copy(order="F")))
            for _again in range(2):
                found: Any = mine[::step][tr.asarray(mask)[::step]]
                np.testing.assert_array_equal(tr.to_numpy(found), x[::step][mask[::step]])
                found = mine.T[tr.asarray(mask).T]
                np.testing.assert_array_equal(tr.to_numpy(found), x.T[mask.T])
            tr.mutable_view(mine.T)[tr.asarray(mask).T] = tr.asarray(x.T[mask.T][::-1].copy())
            x.T[mask.T] = x.T[mask.T][::-1].copy()
            np.testing.assert_array_equal(tr.to_numpy(mine), x)


def test_the_last_of_several_values_for_one_element_stays() -> None:
    x = tr.mutable_view(tr.zeros((3, 4)))

    x[:, [1, 1, 1]] = tr.asarray(np.arange(9.0).reshape(3, 3))

    assert tr.to_numpy(x[:, 1]).tolist() == [2.0, 5.0, 8.0]


def test_a_value_that_shares_memory_is_read_before_it_is_written() -> None:
    x: Any = tr.mutable_view(tr.arange(6.0))

    x[[1, 2, 3, 4, 5]] = x[:5]

    assert tr.to_numpy(x).tolist() == [0.0, 0.0, 1.0, 2.0, 3.0, 4.0]


def test_an_index_out_of_range_is_named_and_nothing_is_written() -> None:
    x = tr.mutable_view(tr.zeros((3, 4)))
    for index in ([0, 3], tr.tensor([0, -4])):
        with pytest.raises(errors.IndexingError, match=r"indices\[1\] is -?\d, out of range for axis 0 of extent 3"):
            x[index]
        with pytest.raises(errors.IndexingError, match="out of range for axis 0 of extent 3"):
            x[index] = 1.0

    assert not tr.any(x).item()


def test_arrays_of_other_libraries_name_elements_too() -> None:
    x = _array((4, 3), np.float64)
    mine = tr.asarray(x.copy(order="F"))
    for index in (np.array([2, 0]), (slice(None), np.array([True, False, True])), np.array([1, 3], np.int32)):
        for _again in range(2):
            np.testing.assert_array_equal(tr.to_numpy(mine[index]), x[index])


@pytest.mark.parametrize(
    "index", [(slice(0, 1, 2**62), [0, 1]), (slice(4, None, -(2**62)), [3, 1]), ([0, 1], slice(1, 2, 2**61))]
)
def test_steps_beside_one_element_may_be_of_any_size(index: Any) -> None:
    x = _array((5, 4), np.float64)
    mine = tr.mutable_view(tr.asarray(x.copy(order="F")))
    assert mine[index].to_numpy().tolist() == x[index].tolist()
    mine[index] = x[index] = 0
    assert mine.to_numpy().tolist() == x.tolist()
