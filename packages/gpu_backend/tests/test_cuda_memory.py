"""Memory of devices of CUDA, of each kind, on what stands for CuPy: who gives it, who uses it, and its limits."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import tensor_linalg as tl
import tensor_runtime as tr
from fake_cupy.driver import Machine
from fake_cupy.libraries import modules
from tensor_core.errors import BackendError, OutOfMemoryError
from tensor_gpu.cuda.cupy_api import CupyApi
from tensor_gpu.cuda.exchange import CudaBackend
from tensor_gpu.cuda.probe import PROBE
from tensor_gpu.device.api import Launch
from tensor_gpu.device.executor import MANAGED_PART
from tensor_gpu.device.pool import DeviceMemoryError
from tensor_runtime.backends.registry import registry
from tensor_runtime.placement import DeviceKind, MemoryKind, Placement, as_placement


@pytest.fixture(scope="module")
def place() -> Iterator[str]:
    backend = CudaBackend(CupyApi(modules(Machine(devices=2))), DeviceKind.other("kinds"), device_type=95)
    tr.register_backend("kinds", backend)
    yield "kinds:1"
    registry.unregister("kinds")


KINDS = (MemoryKind.PinnedHost, MemoryKind.Managed)


def test_memory_of_a_kind_that_a_device_lacks_is_refused(machine: Machine) -> None:
    machine.moves = 0
    api = CupyApi(modules(machine))
    assert api.devices()[1].memory_kinds == (MemoryKind.Device, MemoryKind.PinnedHost)
    with pytest.raises(BackendError, match=r"^cuda:1 has no Managed memory; it has Device, PinnedHost$"):
        api.allocate_in(MemoryKind.Managed, 1, 8)
    assert (api.memory(1).used, api.allocate_in(MemoryKind.Device, 1, 8) >> 45) == (0, 2)


@pytest.mark.parametrize("kind", KINDS)
def test_other_kinds_of_memory_are_asked_of_their_allocators_and_are_not_the_devices(
    kind: MemoryKind, machine: Machine, api: CupyApi
) -> None:
    stream, address, taken = api.new_stream(1), api.allocate_in(kind, 1, 8), bytearray(8)
    api.upload(stream, address, (1 << 40).to_bytes(8, "little"))
    api.launch(stream, Launch(PROBE, 1, 1, (address,)))
    api.download(stream, address, taken)
    api.synchronize(stream)

    assert int.from_bytes(taken, "little") == 20260
    assert api.memory(1).used == 0
    (first, *_) = machine.noted("malloc_managed", "alloc_pinned_memory")
    assert first == (("malloc_managed", (8, 1)) if kind is MemoryKind.Managed else ("alloc_pinned_memory", (8,)))
    api.release(1, address, [stream])
    assert api._memories._live[1]
    api.memory(1)
    api.synchronize(stream)  # until what used it has run
    api.memory(1)
    assert not api._memories._live[1]
    assert api.free(1) == 1 << 20


def test_memory_of_another_kind_that_is_not_there_is_told(machine: Machine, api: CupyApi) -> None:
    machine.pinned_most = 100
    with pytest.raises(
        DeviceMemoryError, match=r"^cuda:0: 101 bytes of PinnedHost memory were asked for, 0 of 1048576"
    ):
        api.allocate_in(MemoryKind.PinnedHost, 0, 101)
    machine.moves = 0  # from now on
    with pytest.raises(DeviceMemoryError, match=r"^cuda:0: 101 bytes of Managed memory were asked for"):
        api.allocate_in(MemoryKind.Managed, 0, 101)


@pytest.mark.parametrize("kind", KINDS)
def test_tensors_of_other_kinds_of_memory_are_computed_with(kind: MemoryKind, place: str) -> None:
    device = as_placement(place).device
    x = tr.asarray(np.asfortranarray(np.random.default_rng(5).standard_normal((4, 4, 2))))
    here = tr.to(x, Placement(kind, device))
    found = tr.einsum("ijb,jkb->ikb", here, here) + here
    u, s, vh = tl.svd(found)

    assert found.placement is here.placement
    expected = tr.einsum("ijb,jkb->ikb", x, x) + x
    assert np.allclose(tr.to(found, "cpu").to_numpy(), expected.to_numpy(), atol=1e-12)
    again = tr.einsum("ikb,kb,kjb->ijb", u, s, vh)
    assert np.allclose(tr.to(again, "cpu").to_numpy(), expected.to_numpy(), atol=1e-12)
    assert np.array_equal(tr.to(tr.to(here, place), "cpu").to_numpy(), x.to_numpy())


def test_managed_memory_is_capped_far_below_what_is_free_whoever_has_the_rest(machine: Machine) -> None:
    backend = CudaBackend(CupyApi(modules(machine)), DeviceKind.other("managed"), device_type=96)
    tr.register_backend("managed", backend)
    try:
        managed, _ = (one for one in backend.placements() if one.memory_kind is MemoryKind.Managed)
        machine.used_by_others = 1 << 19
        limit = backend.pool(managed).limit
        assert limit == (1 << 19) // MANAGED_PART
        with pytest.raises(OutOfMemoryError, match=rf"\(Managed\): .* 0 of {limit} are in use"):
            tr.zeros(limit // 8 + 1, placement=managed)
        assert tr.zeros(limit // 8, placement=managed).nbytes == limit
    finally:
        registry.unregister("managed")


def test_other_kinds_of_memory_are_lent_under_their_names(place: str) -> None:
    device = as_placement(place).device
    x = tr.to(tr.tensor([1.0, 2.0, 3.0]), Placement(MemoryKind.PinnedHost, device)) * 2.0
    assert x.__dlpack_device__()[0] == 3
    managed = tr.to(tr.tensor([1.0]), Placement(MemoryKind.Managed, device))
    assert managed.__dlpack_device__() == (13, 1)
    assert tr.zeros(1, placement=place).__dlpack_device__() == (95, 1)
