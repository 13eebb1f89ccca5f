"""Host tensors as buffers: shape, strides, formats, lifetime and refusals."""

from __future__ import annotations

import gc
import hashlib
import io
import sys

import numpy as np
import pytest

from tensor_core import C64, DTYPES, F64, DType, HostTensor, HostTensorView, TensorLayout
from tensor_core.host.storage import Storage

BY_PROTOCOL = sys.version_info >= (3, 12)
"""Whether the interpreter asks ``__buffer__`` of classes written in Python."""


def seen(x: HostTensor | HostTensorView) -> memoryview:
    return memoryview(x) if BY_PROTOCOL else x.__buffer__(0)


def arrays(dtype: DType) -> dict[str, np.ndarray]:
    whole = np.arange(24).reshape(2, 3, 4, order="F").astype(dtype.numpy_name)
    return {
        "rank 0": whole[1, 2, 3],
        "empty": whole[:0],
        "owned": whole,
        "reversed": whole[::-1, :, ::-2],
        "offset": whole[1:, 1],
        "transposed": whole.T,
    }


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout", arrays(F64))
def test_a_buffer_has_the_elements_shape_and_strides(dtype: DType, layout: str) -> None:
    array = np.asarray(arrays(dtype)[layout])
    view = HostTensorView.borrow(array)
    lent = seen(view)
    assert (lent.shape, lent.nbytes, lent.itemsize) == (array.shape, array.nbytes, dtype.itemsize)
    back = np.asarray(lent)
    assert back.dtype == array.dtype
    np.testing.assert_array_equal(back, array)
    assert lent.strides == tuple(stride * dtype.itemsize for stride in view.layout.strides)
    if array.size:
        assert np.shares_memory(back, array)


def test_what_is_written_into_a_buffer_is_seen() -> None:
    x = HostTensor.from_nested([[1.0, 2.0], [3.0, 4.0]])
    seen(x)[1, 0] = 30.0
    assert x.to_nested() == [[1.0, 2.0], [30.0, 4.0]]


def test_read_only_and_repeated_elements_are_lent_read_only() -> None:
    array = np.arange(3.0)
    array.flags.writeable = False
    assert seen(HostTensorView.borrow(array)).readonly
    repeated = HostTensorView(Storage.of(F64, [1.0, 2.0]), TensorLayout((2, 3), (1, 0)))
    assert seen(repeated).readonly
    assert seen(repeated).tolist() == [[1.0] * 3, [2.0] * 3]
    assert not seen(HostTensor.from_nested([1.0])).readonly


def test_complex_elements_have_the_format_that_numpy_reads() -> None:
    assert seen(HostTensor.from_nested([1j], C64)).format == "Zd"


@pytest.mark.skipif(not BY_PROTOCOL, reason="Python 3.11 asks no class written in Python for a buffer")
def test_the_interpreter_takes_the_memory_and_keeps_it() -> None:
    def made() -> memoryview:
        return memoryview(HostTensor.from_nested([1, 2, 3]))

    lent = made()
    gc.collect()
    others = [HostTensor.from_nested([7, 7, 7]) for _ in range(100)]
    assert (lent.tolist(), len(others)) == ([1, 2, 3], 100)
    x = HostTensor.from_nested([[1, 2, 3], [4, 5, 6]])
    array = np.array([[1, 2, 3], [4, 5, 6]])
    assert bytes(x) == array.tobytes()
    with pytest.raises(BufferError, match="not C-contiguous"):
        io.BytesIO().write(x)
    file = io.BytesIO()
    file.write(x.transpose_view())
    assert file.getvalue() == array.T.tobytes()
    assert hashlib.sha256(x.transpose_view()).digest() == hashlib.sha256(array.T.tobytes()).digest()


@pytest.mark.skipif(BY_PROTOCOL, reason="since Python 3.12 there is a buffer")
def test_older_interpreters_refuse() -> None:
    with pytest.raises(TypeError, match="bytes-like object is required"):
        memoryview(HostTensor.from_nested([1.0]))
