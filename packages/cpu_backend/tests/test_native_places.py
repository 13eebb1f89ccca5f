"""Native reads and writes at index values: what NumPy's kernels give, for all layouts, in blocks and in threads."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest

import tensor_runtime as tr
from tensor_core.dtypes import DTYPES, I32, I64, Bool, DType
from tensor_core.errors import IndexingError
from tensor_cpu import kernel_table
from tensor_cpu.kernels.gather_scatter import places
from tensor_cpu.system.extension import AVAILABLE, LIBRARY

NATIVE = pytest.mark.skipif(not AVAILABLE, reason="the extension was not built")
RANDOM = np.random.default_rng(3)
LAYOUTS = {
    "compact": lambda x: tr.asarray(x, copy=True),
    "row-major": lambda x: tr.asarray(np.ascontiguousarray(x)),
    "backwards": lambda x: tr.reverse_view(tr.asarray(np.flip(x), copy=True), tuple(range(x.ndim))),
    "apart": lambda x: tr.asarray(np.repeat(x, 2, axis=0), copy=True)[::2],
}


def numbers(shape: tuple[int, ...], dtype: str) -> Any:
    return RANDOM.integers(-50, 50, shape).astype(dtype)


@NATIVE
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16", "i4", "i8", "?"])
def test_what_is_taken_along_an_axis_is_what_numpy_takes(layout: str, dtype: str) -> None:
    x = numbers((7, 5, 6), dtype)
    ours = LAYOUTS[layout](x)
    for axis in range(3):
        for kind, shape in (("i4", (9,)), ("i8", (3, 4)), ("i8", ())):
            index = np.asarray(RANDOM.integers(-x.shape[axis], x.shape[axis], shape), kind)
            taken = tr.take(ours, tr.asarray(index, copy=True), axis)
            assert taken.to_numpy().tolist() == np.take(x, index, axis).tolist()


@NATIVE
@pytest.mark.parametrize("mode", ["add", "replace"])
def test_windows_that_overlap_are_written_in_order_in_threads_too(mode: str) -> None:
    starts, updates = RANDOM.integers(0, 27, (20_000, 2)), numbers((20_000, 3, 3), "i8")
    expected = np.zeros((30, 30), "i8")
    for column in range(3):  # column-major order of the updates: entries first, then rows, then columns
        for row in range(3):
            places = starts[:, 0] + row, starts[:, 1] + column
            if mode == "add":
                np.add.at(expected, places, updates[:, row, column])
            else:
                expected[places] = updates[:, row, column]
    with tr.set_threads(2):
        found = tr.scatter(
            tr.zeros((30, 30), dtype="I64"),
            tr.asarray(starts),
            tr.asarray(updates),
            mode=mode,
            offset_axes=(1, 2),
            collapsed_axes=(),
            start_axes=(0, 1),
            vector_axis=1,
        )
    assert (found.to_numpy() == expected).all()


@NATIVE
def test_entries_in_blocks_and_in_threads_are_all_moved() -> None:
    before = LIBRARY.threads()
    tr.set_threads(2)
    try:
        x, y = numbers((60_000,), "f8"), numbers((300, 200), "f4")
        index = RANDOM.integers(-60_000, 60_000, 50_000)
        assert (tr.asarray(x)[tr.asarray(index)].to_numpy() == x[index]).all()
        rows, columns = RANDOM.integers(-300, 300, 70_000), RANDOM.integers(-200, 200, 70_000)
        found = tr.asarray(y, copy=True)[tr.asarray(rows), tr.asarray(columns)]
        assert (found.to_numpy() == y[rows, columns]).all()
        for axis, named in ((0, rows), (1, columns)):
            taken = tr.take(tr.asarray(y, copy=True), tr.asarray(named[:400]), axis)
            assert (taken.to_numpy() == np.take(y, named[:400], axis)).all()
        target = np.zeros((300, 400))
        written = numbers((300, 500), "f8")
        view = tr.asarray(target, copy=True).mutable_view()
        view[:, tr.asarray(columns[:500])] = tr.asarray(written)
        target[:, columns[:500]] = written
        assert (view.to_numpy()[:, :200] == target[:, :200]).all()
        added = tr.scatter(
            tr.zeros(1000), tr.asarray(np.abs(rows)), tr.asarray(written.reshape(-1)[:70_000]), mode="add"
        )
        expected = np.zeros(1000)
        np.add.at(expected, np.abs(rows), written.reshape(-1)[:70_000])
        assert (added.to_numpy() == expected).all()
    finally:
        tr.set_threads(before)


@NATIVE
def test_of_several_that_name_one_place_the_last_is_written() -> None:
    x, index = tr.zeros((4, 3)), tr.tensor([1, -3, 1, 0])
    values = np.arange(12.0).reshape(4, 3)
    x.mutable_view()[index] = tr.asarray(values, copy=True)
    assert x.to_numpy()[:2].tolist() == [values[3].tolist(), values[2].tolist()]
    x.mutable_view()[index, tr.tensor([0, 0, 0, 2])] = tr.tensor([5.0, 6.0, 7.0, 8.0])
    assert x.to_numpy()[1, 0] == 7.0
    assert x.to_numpy()[0, 2] == 8.0


@NATIVE
def test_what_overlaps_is_copied_first_and_nothing_is_written_beyond_an_error() -> None:
    x = tr.tensor([1.0, 2.0, 3.0, 4.0])
    x.mutable_view()[tr.tensor([1, 2, 3])] = x[:3]
    assert x.to_numpy().tolist() == [1.0, 1.0, 2.0, 3.0]
    for index in (tr.tensor([0, 4]), tr.tensor([0, -5])):
        with pytest.raises(IndexingError, match=r"indices\[1\]"):
            x.mutable_view()[index] = 9.0
    assert x.to_numpy().tolist() == [1.0, 1.0, 2.0, 3.0]


@NATIVE
def test_a_binder_refuses_places_outside_what_it_makes() -> None:
    def bind(mode: str, entries: Any, axes: Any, components: Any, shape: Any) -> Any:
        return LIBRARY.bind_places(mode, "F64", "I64", entries, axes, components, shape, print)

    good = ("read", (3, 1, 1), (1, 0, 0), (0, 5, 4, 1), (3,))
    assert bind(*good)(np.arange(5.0), np.array([0, -1, 2])).tolist() == [0.0, 4.0, 2.0]
    for wrong in (
        ("read", (3, 1, 2), *good[2:]),
        ("read", (4, 1, 1), *good[2:]),
        ("read", *good[1:3], (0, 5, 3, 1), (3,)),
        ("read", *good[1:3], (), (3,)),
        ("read", (0, 1, 1), *good[2:]),
        ("replace", (3, 1, 1), (1, 0, 0), (0, 5, 4, 1), (4,)),
        ("replace", (3, 1, 1), (1, 0, 0), (0, 5, 4, -1), (5,)),
    ):
        with pytest.raises(ValueError, match="bind_places"):
            bind(*wrong)


@NATIVE
def test_the_native_kernels_are_the_ones_that_are_bound() -> None:
    x, index = tr.zeros((4, 3))._form, tr.tensor([0, 1])._form
    result = tr.zeros((2, 3))._form
    assert "take" in repr(kernel_table.bind("take", (x, index), result, (0,)))
    assert places.bind_take((x, index), result, (0,)) is not None


@pytest.mark.parametrize("dtype", ["F32", "F64", "C64", "I64", "Bool"])
def test_one_number_written_to_rows_and_columns(dtype: str) -> None:
    chosen = np.array([3, 0, -1, 3])
    for index in ((chosen,), (slice(None), chosen)):
        expected = np.ones((40, 50), tr.zeros(1, dtype=dtype).to_numpy().dtype)
        x = tr.asarray(np.asfortranarray(expected), copy=True)
        x.mutable_view()[tuple(tr.asarray(i) if i is chosen else i for i in index)] = False if dtype == "Bool" else 0
        expected[index] = 0
        np.testing.assert_array_equal(x.to_numpy(), expected)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("index_dtype", [I32, I64])
def test_values_go_to_places_of_each_line_and_the_last_of_several_stays(dtype: DType, index_dtype: DType) -> None:
    rng = np.random.default_rng(4)
    for shape, axis, count in (((300, 7), 1, 1), ((7, 300), 1, 5), ((7, 300), 0, 9), ((3, 4, 5), 1, 6), ((2, 9), 0, 1)):
        a = rng.integers(0, 2, shape).astype(dtype.numpy_name)
        wanted = (*shape[:axis], count, *shape[axis + 1 :])
        index = rng.integers(-shape[axis], shape[axis], wanted).astype(index_dtype.numpy_name)
        values = rng.integers(0, 2 if dtype is Bool else 100, wanted).astype(dtype.numpy_name)
        for given in (values, values.reshape(-1)[:1].reshape(()), values.reshape(-1)[:1], values[:1]):
            spread = np.broadcast_to(given, wanted)
            expected = a.copy()
            for at in sorted(np.ndindex(*wanted), key=lambda place: place[::-1]):
                expected[(*at[:axis], index[at], *at[axis + 1 :])] = spread[at]
            x = tr.copy(tr.asarray(a))
            view, lying = tr.mutable_view(x), (tr.copy(tr.asarray(index)), tr.copy(tr.asarray(given)))
            tr.put_along_axis(view, *lying, axis=axis)
            np.testing.assert_array_equal(x.to_numpy(), expected, strict=True)


def test_a_place_of_a_line_out_of_range_leaves_all_as_it_was() -> None:
    x, index = tr.copy(tr.asarray(np.arange(12.0).reshape(4, 3))), tr.tensor([[0], [2], [3], [1]])
    with pytest.raises(IndexError, match="put_along_axis"):
        tr.put_along_axis(tr.mutable_view(x), index, 9.0, axis=1)
    assert x.to_numpy().reshape(-1).tolist() == list(range(12))


def test_values_of_a_line_are_read_before_they_are_written_over() -> None:
    x = tr.copy(tr.asarray(np.arange(12.0).reshape(4, 3)))
    expected = x.to_numpy()[:, [1, 2, 0]].copy()
    index = tr.asarray(np.array([[2, 0, 1]] * 4))
    tr.put_along_axis(tr.mutable_view(x), tr.copy(index), x, axis=1)
    np.testing.assert_array_equal(x.to_numpy(), expected)
    y = tr.copy(index)
    tr.put_along_axis(tr.mutable_view(y), y, tr.copy(index), axis=1)  # the numbers that are overwritten are the places
    assert y.to_numpy().tolist() == [[0, 1, 2]] * 4


@NATIVE
def test_lines_that_do_not_hold_the_entries_are_refused() -> None:
    run, component = (1, 0, 0), (0, 4, 3, 3)
    for mode, lines in (("put", (5, 3, 12)), ("put", (3, 5, 12)), ("put", (3, 3, 0)), ("read", (3, 3, 12))):
        with pytest.raises(ValueError, match="bind_places: lines that do not hold the entries, or are not written to"):
            LIBRARY.bind_places(mode, "F64", "I64", (6, 1, 1, *lines), run, component, (6,), print)
    kernel = LIBRARY.bind_places("put", "F64", "I64", (6, 1, 1, 3, 3, 12), run, component, (), print)
    LIBRARY.set_call_checks(True)
    try:
        with pytest.raises(ValueError, match="argument 0 has fewer elements than it was bound to"):
            kernel(np.zeros(23), np.zeros(6, np.int64), np.ones(6))
        written = np.zeros(24)
        kernel(written, np.array([0, 1, 2, 3, -1, -4]), np.arange(1.0, 7.0))
    finally:
        LIBRARY.set_call_checks(os.environ.get("TENSOR_CPU_CHECK_CALLS") == "1")
    places_written = {0: 1.0, 4: 2.0, 8: 3.0, 21: 4.0, 22: 5.0, 14: 6.0}
    assert {int(k): written[k] for k in written.nonzero()[0]} == places_written
