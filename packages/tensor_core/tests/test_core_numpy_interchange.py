"""Memory shared with NumPy in both directions: strides, offsets, write access and lifetimes."""

from __future__ import annotations

import gc
import re
import weakref
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensor_core import (
    DTYPES,
    F64,
    DType,
    DTypeError,
    HostTensor,
    HostTensorView,
    OutOfBoundsLayoutError,
    ShapeError,
    ViewRequiresCopyError,
    is_injective,
)
from tensor_core.testing.strategies import host_tensors, host_views, python_indices, shapes

np = pytest.importorskip("numpy", "2.1")


@given(host_tensors())
def test_numpy_sees_a_tensor_without_a_copy(x: HostTensor[Any]) -> None:
    seen = np.asarray(x)
    assert seen.dtype.name == x.dtype.numpy_name
    assert seen.shape == x.shape
    assert seen.tobytes("F") == x.tobytes()
    assert seen.flags.writeable
    if x.size:
        assert np.shares_memory(seen, np.frombuffer(x.raw, np.uint8))


@given(host_views())
def test_numpy_sees_a_view_with_its_strides(x: HostTensorView[Any]) -> None:
    seen = np.asarray(x)
    assert seen.shape == x.shape
    assert seen.tolist() == x.to_nested()
    assert seen.flags.writeable == is_injective(x.layout)
    if x.size and seen.flags.writeable:
        seen[...] = 1
        assert HostTensor.from_buffer(x).to_nested() == np.ones(x.shape, seen.dtype).tolist()


@given(st.data(), shapes(max_rank=3), st.sampled_from(DTYPES), st.sampled_from(("C", "F")))
def test_a_numpy_view_is_borrowed_with_its_strides(
    data: st.DataObject, shape: tuple[int, ...], dtype: DType, order: Any
) -> None:
    base = np.arange(int(np.prod(shape))).reshape(shape).astype(dtype.numpy_name, order=order)
    index = data.draw(python_indices(shape))
    part = base[index if Ellipsis in index else (*index, ...)]  # the ellipsis keeps rank 0 an array
    borrowed = HostTensorView.borrow(part)
    assert borrowed.dtype is dtype
    assert borrowed.to_nested() == part.tolist()
    assert HostTensor.from_buffer(part).tobytes() == part.tobytes("F")
    if part.size:
        assert np.shares_memory(np.asarray(borrowed), base)
        part[...] = 1
        assert borrowed.to_nested() == np.ones_like(part).tolist()


def test_readonly_stays_readonly_in_both_directions() -> None:
    frozen = np.arange(3.0)
    frozen.flags.writeable = False
    assert HostTensorView.borrow(frozen).readonly
    assert not np.asarray(HostTensor.wrap_bytes(bytes(8), 1, F64)).flags.writeable
    assert not np.asarray(HostTensor.zeros(3).as_readonly()).flags.writeable
    assert not np.asarray(HostTensor.zeros(3).broadcast_view((2, 3))).flags.writeable


def test_borrowed_memory_lives_as_long_as_what_borrows_it() -> None:
    array = np.arange(6.0)[::-2]
    gone = weakref.ref(array)
    borrowed = HostTensorView.borrow(array)
    again = np.asarray(borrowed[1:])
    del array, borrowed
    gc.collect()
    assert gone() is not None
    assert again.tolist() == [3.0, 1.0]
    del again
    gc.collect()
    assert gone() is None


def test_exported_memory_lives_as_long_as_numpys_array() -> None:
    x = HostTensor.from_nested([1.0, 2.0, 3.0])
    seen = np.asarray(x[::-1])
    del x
    gc.collect()
    assert seen.tolist() == [3.0, 2.0, 1.0]
    seen[0] = 7.0
    assert seen.tolist() == [7.0, 2.0, 1.0]


def test_a_round_trip_shares_one_memory() -> None:
    x = HostTensor.zeros((2, 3))
    again = HostTensorView.borrow(np.asarray(x.transpose_view())[::-1])
    again[0, 1] = 5.0
    assert x[1, 2] == 5.0


@pytest.mark.parametrize("wrong", ["float16", ">f8", "uint8", "U2", "object", "datetime64[s]"])
def test_other_element_types_are_refused_with_both_names(wrong: str) -> None:
    with pytest.raises(DTypeError, match=r"array interface: found type string .*C32 \(complex64\).*native byte order"):
        HostTensorView.borrow(np.zeros(2, wrong))


def test_arrays_that_no_layout_describes_are_refused() -> None:
    field = np.zeros(3, np.dtype([("a", "f8"), ("b", "f4")]))["a"]
    with pytest.raises(ViewRequiresCopyError, match=re.escape("strides of (12,) bytes for elements of 8")):
        HostTensorView.borrow(field)
    assert HostTensor.from_buffer(field.copy()).shape == (3,)
    with pytest.raises(DTypeError, match="found a mask"):
        HostTensorView.borrow(Interface(np.zeros(2), mask=np.zeros(2, bool)))
    with pytest.raises(ShapeError, match=re.escape("4 elements for shape (3,)")):
        HostTensor.from_buffer(np.zeros((2, 2)), shape=3)


class Interface:
    """An object with an array interface of its own."""

    def __init__(self, array: Any, **changes: Any) -> None:
        self.array = array
        self.__array_interface__ = {**array.__array_interface__, **changes}


def test_an_interface_over_a_buffer_is_proved_before_use() -> None:
    memory = bytearray(np.arange(4.0).tobytes())
    base = np.zeros(4)
    shared = HostTensorView.borrow(Interface(base, data=memory, offset=8, shape=(3,), strides=None))
    assert shared.to_nested() == [1.0, 2.0, 3.0]
    with pytest.raises(OutOfBoundsLayoutError):
        HostTensorView.borrow(Interface(base, data=memory, offset=8, shape=(4,)))
    with pytest.raises(OutOfBoundsLayoutError):
        HostTensorView.borrow(Interface(base, data=memory, shape=(2**40,), strides=(8,)))


def test_misaligned_memory_is_read_as_it_is() -> None:
    memory = bytearray(17)
    array = np.frombuffer(memory, np.float64, 2, 1)
    array[1] = 2.5
    assert HostTensorView.borrow(array).to_nested() == [0.0, 2.5]
