"""Elements that index tensors name, one for each axis of a line or a matrix: read in one native call, beside NumPy."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tensor_runtime as tr
from tensor_core.errors import IndexingError
from tensor_cpu.system.extension import AVAILABLE
from tensor_runtime.ops import indexing

if not AVAILABLE:
    pytest.skip("the extension module is not in use", allow_module_level=True)

DTYPES = ("F32", "F64", "I32", "I64", "Bool", "C32", "C64")
INDICES = ((1,), (7,), (8,), (9,), (100,), (40_000,), (5, 3), (2, 4, 9))


@pytest.fixture(autouse=True)
def _kernels_of_each_instruction_set(instruction_set: str) -> Iterator[None]:
    tr.binding_cache.clear()  # kernels keep the set that they were made for
    yield
    tr.binding_cache.clear()


def operand(dtype: str, shape: tuple[int, ...]) -> Any:
    return tr.cast(tr.asarray(np.arange(1, np.prod(shape) + 1).reshape(shape) % 97), dtype)


def views(x: Any) -> Iterator[Any]:
    yield x
    yield x.T
    yield x[::-2]
    yield x.mutable_view()
    yield tr.broadcast_to(x[:1], x.shape)


@pytest.mark.parametrize("dtype", DTYPES)
def test_index_tensors_choose_what_they_choose_in_numpy(dtype: str) -> None:
    rng = np.random.default_rng(3)
    for shape in ((11,), (11, 13)):
        for x in views(operand(dtype, shape)):
            array = x.to_numpy()
            for named in INDICES:
                places = [rng.integers(-extent, extent, named) for extent in array.shape]
                tensors = tuple(tr.asarray(place) for place in places)
                for _ in range(2):  # the second time the form is known
                    found = x[tensors]
                    assert type(found) is tr.Tensor and found.dtype.name == dtype and found.is_compact
                    np.testing.assert_array_equal(found.to_numpy(), array[tuple(places)])
                if len(shape) == 1:
                    np.testing.assert_array_equal(x[tensors[0]].to_numpy(), array[places[0]])


def test_an_index_out_of_range_is_named_as_ever() -> None:
    x, rows = tr.asarray(np.arange(12.0).reshape(3, 4)), np.arange(20) % 3
    for place, axis, value in ((0, 0, 3), (19, 0, -4), (17, 1, 4), (3, 1, -5)):
        numbers = [rows.copy(), rows.copy()]
        good = tuple(tr.asarray(one, copy=True) for one in numbers)
        x[good]  # its form is known from here on
        numbers[axis][place] = value
        index = tuple(tr.asarray(one) for one in numbers)
        with pytest.raises(
            IndexingError, match=rf"indices\[{place}\] is {value}, out of range for axis {axis}"
        ) as error:
            x[index]
        with pytest.raises(IndexingError) as expected:
            indexing.getitem(x, index)
        assert str(error.value) == str(expected.value)
        line = x[:, 0]
        if axis == 0:
            line[good[0]]
            with pytest.raises(IndexingError, match=rf"indices\[{place}\] is {value}, out of range for axis 0"):
                line[index[0]]


def test_other_indices_are_chosen_likewise() -> None:
    numbers = np.arange(12.0).reshape(3, 4)
    x, rows, columns = tr.asarray(numbers), np.array([2, 0, 1, 2]), np.array([0, 3, 1, 1])
    i, j = tr.asarray(rows), tr.asarray(columns)
    np.testing.assert_array_equal(x[tr.cast(i, "I32"), j].to_numpy(), numbers[rows, columns])
    np.testing.assert_array_equal(x[i[::-1], j].to_numpy(), numbers[rows[::-1], columns])
    np.testing.assert_array_equal(x[i[:, None], j].to_numpy(), numbers[rows[:, None], columns])
    np.testing.assert_array_equal(x[i].to_numpy(), numbers[rows])
    np.testing.assert_array_equal(x[i, 1].to_numpy(), numbers[rows, 1])
    np.testing.assert_array_equal(x[:, j].to_numpy(), numbers[:, columns])
    assert x[i[:0], j[:0]].shape == (0,)
    assert x[0][tr.tensor(2)].item() == numbers[0, 2]
    nothing = tr.zeros(0)
    assert nothing[i[:0]].shape == (0,)
    with pytest.raises(IndexingError):
        nothing[i]


def test_the_elements_taken_are_memory_of_their_own() -> None:
    x, i = tr.asarray(np.arange(10.0), copy=True), tr.tensor([4, 4, -1])
    x[i]
    found = x[i]
    tr.mutable_view(x)[...] = 0.0
    assert found.to_numpy().tolist() == [4.0, 4.0, 9.0]


PARTS: Any = ((slice(None),), (slice(None, None, -2),), (slice(1, None), slice(None, None, 3)))


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_number_is_written_where_an_index_tensor_names_places_along_an_axis(dtype: str, order: Any) -> None:
    rng = np.random.default_rng(4)
    number: Any = True if dtype == "Bool" else 60
    for named, part, axis in itertools.product(((), (0,), (1,), (300,), (2, 3)), PARTS, (0, 1)):
        own = tr.copy(operand(dtype, (12, 10) if order == "F" else (10, 12)))
        turned = own if order == "F" else own.T
        expected = turned.to_numpy().copy()
        view: Any = tr.mutable_view(turned)[part]
        places: Any = rng.integers(-view.shape[axis], view.shape[axis], named)
        every: Any = (slice(None),) * axis
        view[(*every, tr.asarray(places)) if axis else tr.asarray(places)] = number
        expected[part][(*every, places)] = number
        np.testing.assert_array_equal(turned.to_numpy(), expected)


def test_places_that_cannot_be_written_natively_are_as_ever() -> None:
    x: Any = tr.mutable_view(tr.copy(operand("F64", (5, 4))))
    before = x.to_numpy().copy()
    for outside in (5, -6):
        with pytest.raises(IndexingError):
            x[tr.asarray(np.array([1, outside]))] = 0.0
    np.testing.assert_array_equal(x.to_numpy(), before)  # nothing of it is written
    line: Any = tr.mutable_view(tr.asarray(np.array([2, 1, 0, 3]), copy=True))
    line[line[:2]] = 7  # the places are read before they are written over
    np.testing.assert_array_equal(line.to_numpy(), [2, 7, 7, 3])
    x[tr.asarray(np.array([1, 3])), 1:3] = 9.0
    before[[1, 3], 1:3] = 9.0
    np.testing.assert_array_equal(x.to_numpy(), before)
    with pytest.raises(IndexError):
        x[tr.asarray(np.array([0])), :, :] = 0.0
