"""Host tensors: where elements come from, where they lie, and how they are read, written, copied and pickled."""

from __future__ import annotations

import copy
import gc
import pickle
import re
import sys
import weakref
from array import array
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensor_core import (
    C32,
    C64,
    DTYPES,
    F32,
    F64,
    I32,
    I64,
    ArgumentError,
    AxisError,
    Bool,
    CastRangeError,
    DType,
    DTypeError,
    HostTensor,
    HostTensorView,
    IndexingError,
    LayoutError,
    OutOfBoundsLayoutError,
    OutOfMemoryError,
    OverlappingViewError,
    ReadOnlyError,
    ShapeError,
    SizeLimitError,
    SliceSpec,
    TensorLayout,
    ViewRequiresCopyError,
    element_offset,
)
from tensor_core.host.storage import Storage
from tensor_core.testing.strategies import host_tensors, host_views, shapes


def indices(shape: tuple[int, ...]) -> list[tuple[int, ...]]:
    return list(product(*map(range, shape)))


@given(host_tensors(integral=True))
def test_nested_lists_keep_their_indices(x: HostTensor[Any]) -> None:
    nested = x.to_nested()
    for index in indices(x.shape):
        item = nested
        for k in index:
            item = item[k]
        assert item == x[index]
        assert type(item) is type(x[index])
    if 0 not in x.shape:
        again = HostTensor.from_nested(nested, x.dtype)
        assert again.equals(x)
        assert again.raw == x.raw


@given(shapes(max_rank=3), st.sampled_from(("F", "C")))
def test_flat_data_come_in_the_order_that_is_said(shape: tuple[int, ...], order: Any) -> None:
    layout = TensorLayout(shape) if order == "F" else TensorLayout.row_major(shape)
    x = HostTensor.from_flat(range(layout.size), shape, order=order)
    assert all(x[index] == element_offset(layout, index) for index in indices(shape))
    assert x.layout == TensorLayout(shape)


def test_memory_is_column_major() -> None:
    x = HostTensor.from_nested([[1, 2, 3], [4, 5, 6]])
    assert x.layout == TensorLayout((2, 3), (1, 2))
    assert x.as_slice().tolist() == [1, 4, 2, 5, 3, 6]
    assert x.raw.nbytes == x.nbytes == 48
    assert x.tobytes() == b"".join(k.to_bytes(8, sys.byteorder) for k in (1, 4, 2, 5, 3, 6))


@pytest.mark.parametrize("dtype", DTYPES, ids=repr)
def test_rank_zero_and_extent_zero_are_ordinary(dtype: DType) -> None:
    scalar, empty = HostTensor.zeros((), dtype), HostTensor.zeros((0, 3), dtype)
    assert (scalar.shape, scalar.size, scalar[()], scalar.to_nested()) == ((), 1, 0, 0)
    assert (empty.size, empty.to_nested(), empty.tobytes(), len(empty)) == (0, [], b"", 0)
    assert HostTensor.zeros((2, 0), dtype).to_nested() == [[], []]
    assert empty.transpose_view().copy().shape == (3, 0)
    assert pickle.loads(pickle.dumps(empty)).shape == (0, 3)
    assert "(no elements)" in repr(empty)


def test_numbers_in_lists_meet_in_one_type() -> None:
    expected = {Bool: [True], I64: [True, 2], F64: [1, 2.5], C64: [1, 2.5, 1j]}
    for dtype, numbers in expected.items():
        assert HostTensor.from_nested(numbers).dtype is dtype
    assert HostTensor.from_nested([]).dtype is F64
    assert HostTensor.from_nested([1.5, 1], F32).dtype is F32
    assert HostTensor.from_nested(7).shape == ()


@pytest.mark.parametrize(
    ("nested", "message"),
    [
        ([[1, 2], [3]], "length 1 at [1] where the first has length 2"),
        ([[1], 2], "a int at [1] where the first has length 1"),
        ([1, [2]], "a list at [1] where the first is a number"),
        ([[[1], [2]], [[3], [4, 5]]], "length 2 at [1][1] where the first has length 1"),
        ([[], [1]], "length 1 at [1] where the first has length 0"),
    ],
    ids=repr,
)
def test_ragged_lists_are_refused_with_the_place(nested: object, message: str) -> None:
    with pytest.raises(ShapeError, match=re.escape(f"nested lists: {message}")):
        HostTensor.from_nested(nested)


def test_a_list_that_contains_itself_is_refused() -> None:
    loop: list[Any] = []
    loop.append(loop)
    with pytest.raises(ShapeError, match="contains itself"):
        HostTensor.from_nested(loop)
    deep: Any = 1.0
    for _ in range(3000):
        deep = [deep]
    assert HostTensor.from_nested(deep).rank == 3000


@pytest.mark.parametrize("wrong", ["12", None, {1: 2}, object(), b"12"], ids=lambda value: type(value).__name__)
def test_what_is_no_number_is_refused(wrong: object) -> None:
    with pytest.raises(DTypeError, match=r"element: found .*; accepted: bool, int, float, complex"):
        HostTensor.from_nested([wrong])


def test_elements_that_the_type_does_not_hold_are_refused() -> None:
    with pytest.raises(DTypeError, match=r"element: 1.5 in a tensor of I64; accepted: bool, int"):
        HostTensor.from_nested([1, 1.5], I64)
    with pytest.raises(CastRangeError, match="9223372036854775808 is out of range for I64"):
        HostTensor.from_nested([0, 2**63])
    with pytest.raises(CastRangeError, match="2147483648 is out of range for I32"):
        HostTensor.from_flat([2**31], 1, I32)
    with pytest.raises(ShapeError, match=re.escape("from_flat: 3 numbers for shape (2, 2); accepted: exactly 4")):
        HostTensor.from_flat([1, 2, 3], (2, 2))
    with pytest.raises(ArgumentError, match="order: found 'A'; accepted: 'F'"):
        HostTensor.from_flat([1], 1, order="A")  # type: ignore[call-overload]


def test_sizes_that_cannot_be_are_refused_before_memory_is_asked_for() -> None:
    with pytest.raises(SizeLimitError, match="more than 2"):
        HostTensor.zeros((2**62, 4))
    with pytest.raises(SizeLimitError, match="16-byte elements needs numbers beyond"):
        HostTensor.zeros(2**60, C64)
    with pytest.raises(OutOfMemoryError, match="no memory for 1152921504606846975 elements"):
        HostTensor.zeros(2**60 - 1, F64)


@given(host_views(), st.data())
def test_indexing_reads_the_elements_named(x: HostTensorView[Any], data: st.DataObject) -> None:
    nested = x.to_nested()
    for index in indices(x.shape):
        negative = tuple(k - n if data.draw(st.booleans()) else k for k, n in zip(index, x.shape, strict=True))
        item = nested
        for k in index:
            item = item[k]
        assert x[negative] == item
    if x.rank:
        assert [y if x.rank == 1 else y.to_nested() for y in x] == nested
        assert len(x) == len(nested)
        assert x[::-1].to_nested() == nested[::-1]
        assert x[1:, ...].to_nested() == nested[1:]


@given(host_views())
def test_copying_gives_owned_compact_writable_elements(x: HostTensorView[Any]) -> None:
    for owned in (x.copy(), x.to_contiguous(), copy.copy(x), copy.deepcopy(x)):
        assert type(owned) is HostTensor
        assert owned.layout == TensorLayout(x.shape)
        assert owned.to_nested() == x.to_nested()
        assert not owned.readonly
        assert owned.tobytes() == x.tobytes()


@given(host_views())
def test_a_slice_of_memory_exists_exactly_when_the_view_is_contiguous(x: HostTensorView[Any]) -> None:
    consecutive = [element_offset(x.layout, index[::-1]) for index in indices(x.shape[::-1])]
    if consecutive == list(range(x.layout.offset, x.layout.offset + x.size)) or x.size == 0:
        assert bytes(x.as_slice()) == x.tobytes()
    else:
        with pytest.raises(ViewRequiresCopyError, match=r"as_slice: TensorLayout.*is not contiguous"):
            x.as_slice()


def test_views_share_memory_and_writing_through_them_is_seen() -> None:
    x = HostTensor.zeros((2, 3), I64)
    x[0, 1] = 7
    x.transpose_view()[2, 1] = 8
    x.reshape_view(6)[0] = 9
    x.slice_view([SliceSpec(1, None), SliceSpec(1, None, -1)])[0, 1] = 5
    assert x.to_nested() == [[9, 7, 0], [5, 0, 8]]
    x[:, 0] = [1, 2]
    x[1] = 4
    assert x.to_nested() == [[1, 7, 0], [4, 4, 4]]
    x[...] = HostTensor.from_nested([[1], [2]])
    assert x.to_nested() == [[1, 1, 1], [2, 2, 2]]


def test_writing_a_tensor_to_itself_reads_first() -> None:
    x = HostTensor.from_flat(range(6), 6)
    x[1:] = x[:-1]
    assert x.to_nested() == [0, 0, 1, 2, 3, 4]
    x[...] = x[::-1]
    assert x.to_nested() == [4, 3, 2, 1, 0, 0]


def test_writing_widens_and_never_narrows() -> None:
    x = HostTensor.zeros(2, F32)
    x[...] = HostTensor.from_nested([True, False])
    x[0] = 3
    assert x.to_nested() == [3.0, 0.0]
    with pytest.raises(DTypeError, match="write: F64 into F32; cast it first"):
        x[...] = HostTensor.zeros(2, F64)
    with pytest.raises(DTypeError, match="element: 1j in a tensor of F32"):
        x[0] = 1j
    with pytest.raises(ShapeError, match="does not broadcast"):
        x[...] = [1.0, 2.0, 3.0]


def test_writing_where_indices_share_an_element_is_refused() -> None:
    x = HostTensor.zeros(3)
    with pytest.raises(OverlappingViewError, match=r"two indices of .* may name one element"):
        x.broadcast_view((2, 3))[...] = 1.0
    with pytest.raises(OverlappingViewError):
        x.window_view(2, 0)[...] = 1.0
    x.broadcast_view((2, 3))[0] = 1.0
    assert x.to_nested() == [1.0, 1.0, 1.0]


def test_readonly_memory_is_never_written() -> None:
    frozen = HostTensor.wrap_bytes(bytes(16), 2, F64)
    assert frozen.readonly
    for view in (frozen, frozen[::-1], HostTensor.zeros(2).as_readonly()):
        with pytest.raises(ReadOnlyError, match=r"copy\(\) it first"):
            view[0] = 1.0
        with pytest.raises(ReadOnlyError):
            view[...] = [1.0, 2.0]
    changed = frozen.copy()
    changed[0] = 1.0
    assert changed[0] == 1.0


def test_wrapping_bytes_shares_them() -> None:
    memory = bytearray(24)
    x = HostTensor.wrap_bytes(memory, (3,), I64)
    x[1] = -1
    assert memory[8:16] == b"\xff" * 8
    x.raw[0] = 5
    assert x[0] == 5
    with pytest.raises(BufferError):
        memory.append(0)
    with pytest.raises(
        LayoutError, match=re.escape("wrap_bytes: 24 bytes for shape (2,) of I64; accepted: exactly 16")
    ):
        HostTensor.wrap_bytes(memory, (2,), I64)
    with pytest.raises(LayoutError, match="24 bytes for elements of C64"):
        HostTensor.wrap_bytes(memory, (2,), C64)
    with pytest.raises(LayoutError, match="found list; accepted: a contiguous buffer"):
        HostTensor.wrap_bytes([0], (1,), Bool)  # type: ignore[call-overload]
    with pytest.raises(LayoutError, match="accepted: a contiguous buffer"):
        HostTensor.wrap_bytes(memoryview(memory)[::2], (12,), Bool)


def test_a_buffer_is_borrowed_or_copied() -> None:
    numbers = array("d", [1.0, 2.0, 3.0, 4.0])
    borrowed, copied = HostTensorView.borrow(numbers), HostTensor.from_buffer(numbers, F64, (2, 2), order="C")
    numbers[0] = 9.0
    assert borrowed[0] == 9.0
    assert copied.to_nested() == [[1.0, 2.0], [3.0, 4.0]]
    matrix = memoryview(bytes(range(6))).cast("?", (2, 3))
    assert HostTensorView.borrow(matrix).layout == TensorLayout.row_major((2, 3))
    assert HostTensorView.borrow(matrix).readonly
    assert HostTensor.from_buffer(matrix).to_nested() == [[False, True, True], [True] * 3]
    assert HostTensor.from_buffer(memoryview(numbers)[::-2]).to_nested() == [4.0, 2.0]
    assert HostTensor.from_buffer(bytes(8), I32).to_nested() == [0, 0]
    with pytest.raises(ViewRequiresCopyError, match="from_buffer copies it"):
        HostTensorView.borrow(memoryview(numbers)[::2])
    with pytest.raises(DTypeError, match="found format 'h'; accepted: F32"):
        HostTensorView.borrow(array("h", [1]))
    with pytest.raises(DTypeError, match="found format 'B'"):
        HostTensor.from_buffer(b"12")
    with pytest.raises(DTypeError, match="the source holds F64; accepted: I64, as asked for"):
        HostTensor.from_buffer(numbers, I64)
    with pytest.raises(
        DTypeError, match="found list; accepted: objects with __array_interface__ or the buffer protocol"
    ):
        HostTensor.from_buffer([1.0])
    with pytest.raises(ShapeError, match=re.escape("4 elements for shape (3,)")):
        HostTensor.from_buffer(numbers, shape=3)


@given(host_tensors())
def test_pickling_keeps_every_bit(x: HostTensor[Any]) -> None:
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        again = pickle.loads(pickle.dumps(x, protocol))
        assert (type(again), again.dtype, again.shape, again.raw) == (HostTensor, x.dtype, x.shape, x.raw)
        assert not again.readonly


def test_pickling_out_of_band_copies_nothing() -> None:
    x = HostTensor.from_nested([1.0, 2.0])
    buffers: list[pickle.PickleBuffer] = []
    data = pickle.dumps(x, 5, buffer_callback=buffers.append)
    again = pickle.loads(data, buffers=buffers)
    x[0] = 5.0
    assert again[0] == 5.0


@given(host_views())
def test_a_view_pickles_as_a_view_of_its_own_elements(x: HostTensorView[Any]) -> None:
    again = pickle.loads(pickle.dumps(x))
    assert type(again) is HostTensorView
    assert again.to_nested() == x.to_nested()
    assert again.dtype is x.dtype


def test_a_view_keeps_its_memory_alive() -> None:
    x = HostTensor.from_nested([1.0, 2.0])
    gone, view = weakref.ref(x), x[::-1]
    del x
    gc.collect()
    assert gone() is None
    assert view.to_nested() == [2.0, 1.0]


def test_one_element_has_a_truth_value_and_a_number() -> None:
    assert HostTensor.from_nested([[3]]).item() == 3
    assert HostTensor.from_nested([2])
    assert not HostTensor.from_nested(0)
    for operation in (bool, lambda x: x.item()):
        with pytest.raises(ShapeError, match=re.escape("shape (2,) has 2 elements; accepted: exactly one")):
            operation(HostTensor.zeros(2))
    for operation in (len, iter):
        with pytest.raises(AxisError, match="rank 0 has no axes"):
            operation(HostTensor.zeros(()))
    assert 2 in HostTensor.from_nested([[1, 2]])
    assert 3 not in HostTensor.from_nested([[1, 2]])


def test_type_shape_and_elements_decide_equality_and_there_is_no_hash() -> None:
    x = HostTensor.from_nested([1, 2])
    assert x.equals(x.copy())
    assert not x.equals(HostTensor.from_nested([1.0, 2.0]))
    assert not x.equals(HostTensor.from_nested([[1, 2]]))
    assert not HostTensor.from_nested(float("nan")).equals(HostTensor.from_nested(float("nan")))
    assert x == x.copy() == x[::-1].copy()[::-1]
    assert x.view() == x
    assert x != HostTensor.from_nested([1, 3])
    assert x != HostTensor.from_nested([1.0, 2.0])
    assert x != [1, 2]
    assert x in [HostTensor.zeros(3), x.copy()]
    for unhashable in (x, x.view()):
        with pytest.raises(TypeError, match="unhashable"):
            hash(unhashable)


def test_a_layout_outside_the_storage_is_refused() -> None:
    storage = Storage.of(I64, [1, 2, 3])
    with pytest.raises(OutOfBoundsLayoutError, match="reaches elements 0 to 4 of an allocation of 3"):
        HostTensorView(storage, TensorLayout((3,), (2,)))
    with pytest.raises(LayoutError, match=r"HostTensor: .*accepted: compact, from the first to the last"):
        HostTensor(storage, TensorLayout((2,)))


@pytest.mark.parametrize("index", [3, (0, 0), "0", 1.0, (None, 5), [0]], ids=repr)
def test_a_wrong_index_is_refused_for_reading_and_writing(index: object) -> None:
    x = HostTensor.zeros(3)
    with pytest.raises(IndexingError, match="indexing: "):
        x[index]
    with pytest.raises(IndexingError, match="indexing: "):
        x[index] = 1.0


@pytest.mark.parametrize("dtype", DTYPES, ids=repr)
def test_foreign_bytes_in_a_bool_tensor_read_as_true(dtype: DType) -> None:
    x = HostTensor.wrap_bytes(b"\x00\x02\xff", 3, Bool)
    assert x.to_nested() == [False, True, True]
    assert x[1] is True
    assert HostTensor.zeros(1, dtype)[0] == 0
    assert C32 in DTYPES
