"""Pickle and copy: tensors, views, and the objects that exist once."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import tensor_runtime as tr
from tensor_core import DTYPES, DType, HostTensor
from tensor_core.errors import CastRangeError, PlacementError
from tensor_runtime.backends.registry import registry
from tensor_runtime.form import form_of
from tensor_runtime.testing.simulated_device import SimulatedBackend

PROTOCOLS = range(2, pickle.HIGHEST_PROTOCOL + 1)


def through_pickle(x: Any, protocol: int = pickle.HIGHEST_PROTOCOL) -> Any:
    return pickle.loads(pickle.dumps(x, protocol))


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3), (0, 2), (2, 1, 3)], ids=str)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_a_tensor_comes_back_with_the_same_form_and_bytes(dtype: DType, shape: tuple[int, ...], protocol: int) -> None:
    x = tr.cast(tr.from_flat(range(int(np.prod(shape))), shape, dtype="I64"), dtype)
    y = through_pickle(x, protocol)
    assert y._form is x._form
    assert y.to_numpy().tobytes("F") == x.to_numpy().tobytes("F")
    assert not np.shares_memory(x.to_numpy(), y.to_numpy())
    tr.mutable_view(y)[...] = False  # the copy may be written


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_view_comes_back_compact_with_the_elements_it_shows(protocol: int) -> None:
    x = tr.from_flat(range(24), (2, 3, 4))
    for view in (x.T, x[::-1, 1::2], x[0], x[1, 2, 3], tr.broadcast_to(x[:1], (2, 3, 4)), x[:0]):
        y = through_pickle(view, protocol)
        assert y.is_compact
        assert y.to_numpy().tolist() == view.to_numpy().tolist()


def test_a_view_stores_only_what_it_shows() -> None:
    x = tr.zeros((1000, 1000))
    assert len(pickle.dumps(x[:2, :2])) < 2000


def test_protocol_5_hands_the_bytes_out_of_band() -> None:
    x = tr.from_flat(range(1000), (10, 100))
    buffers: list[pickle.PickleBuffer] = []
    data = pickle.dumps(x, protocol=5, buffer_callback=buffers.append)
    assert len(data) < 1000
    assert sum(buffer.raw().nbytes for buffer in buffers) == x.nbytes
    y = pickle.loads(data, buffers=buffers)
    assert y.to_numpy().tolist() == x.to_numpy().tolist()


def test_a_tensor_on_a_device_is_refused() -> None:
    device = SimulatedBackend(tr.backend("cpu"), "device-for-pickle")
    tr.register_backend(device.name, device)
    try:
        x = tr.upload(HostTensor.from_nested([1.0]), device.placement())
        with pytest.raises(PlacementError, match=r"pickle: the tensor is on device-for-pickle:0.*to\(x, 'cpu'\)"):
            pickle.dumps(x)
    finally:
        registry.unregister(device.name)


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize(
    "single",
    [
        *DTYPES,
        tr.CPU,
        tr.DeviceKind.Cpu,
        tr.MemoryKind.other("hbm"),
        tr.DeviceId(tr.DeviceKind.gpu(tr.GpuBackendKind.Cuda), 1),
        form_of(tr.F64, (2, 3), tr.CPU),
        form_of(tr.F64, (2, 3), tr.CPU, (3, -1)),
    ],
    ids=str,
)
def test_what_exists_once_still_does_after_pickle_and_copy(single: Any, protocol: int) -> None:
    assert through_pickle(single, protocol) is single
    assert copy.copy(single) is single
    assert copy.deepcopy(single) is single


def test_copies_are_owned_and_compact() -> None:
    x = tr.from_flat(range(6), (2, 3))
    for made in (copy.copy(x), copy.deepcopy(x), copy.copy(x.T), copy.deepcopy([x.T])[0]):
        assert made.is_compact
        assert not np.shares_memory(made.to_numpy(), x.to_numpy())
    assert copy.copy(x.T).to_numpy().tolist() == x.T.to_numpy().tolist()


def test_errors_keep_their_fields() -> None:
    with pytest.raises(CastRangeError) as caught:
        tr.cast(tr.tensor([1.0, 1e30]), tr.I32)
    again = through_pickle(caught.value)
    assert str(again) == str(caught.value)
    assert (again.index, again.value) == ((1,), 1e30)
