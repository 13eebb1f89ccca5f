"""Memory of devices is used again in the order of streams, within a limit, and mistakes are found all the same."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tensor_linalg
import tensor_runtime as tr
from tensor_core.errors import ArgumentError, DTypeError, OutOfMemoryError, PlacementError
from tensor_core.host.tensor import HostTensor
from tensor_gpu.backend import DeviceBackend
from tensor_gpu.device.executor import MANAGED_PART
from tensor_gpu.device.pool import LARGE, LARGE_UNIT, UNIT, DeviceMemoryError, Pool, room_for
from tensor_gpu.sim.api import SimulatedApi
from tensor_gpu.sim.bench import Bench
from tensor_gpu.sim.errors import SimulationError
from tensor_gpu.sim.faults import Faults, Limits
from tensor_gpu.sim.memory import FRESH
from tensor_runtime.backends.registry import registry
from tensor_runtime.placement import DeviceKind, MemoryKind

CAPACITY = 1 << 20


@pytest.fixture
def api() -> SimulatedApi:
    return SimulatedApi(devices=1, memory_bytes=CAPACITY)


@pytest.fixture
def pool(api: SimulatedApi) -> Pool:
    return Pool(api, 0, MemoryKind.Device)


@pytest.fixture
def pooled() -> Iterator[Any]:
    backend = DeviceBackend(SimulatedApi(devices=1, memory_bytes=CAPACITY), DeviceKind.other("pooled"))
    tr.register_backend("pooled", backend)
    try:
        yield backend
    finally:
        registry.unregister("pooled")


@pytest.mark.parametrize("nbytes", [0, 1, 256, 257, 4097, 99_999, LARGE - 1, LARGE, LARGE + 1, 10**12 + 7])
def test_a_block_is_large_enough_and_little_is_wasted(nbytes: int) -> None:
    room = room_for(nbytes)

    assert room >= max(nbytes, 1)
    assert room % (LARGE_UNIT if nbytes >= LARGE else UNIT) == 0
    assert room - nbytes <= max(UNIT, min(nbytes // 8 + 1, LARGE_UNIT if nbytes >= LARGE else nbytes))
    assert room_for(room) == room


def test_memory_goes_at_once_to_the_stream_that_used_it_and_to_others_when_that_is_done(
    api: SimulatedApi, pool: Pool
) -> None:
    first, second = api.new_stream(0), api.new_stream(0)
    address = pool.take(1000, first)
    api.fill(first, address, 0, 1000)
    pool.give(address, {first})

    assert pool.take(1000, second) != address
    assert pool.take(900, first) == address
    api.fill(first, address, 0, 900)
    pool.give(address, {first})
    assert pool.stats().kept == 1024
    api.synchronize(first)
    assert pool.take(1000, second) == address
    assert pool.stats()[:2] == (2000, 0)


@pytest.mark.parametrize("seed", range(10))
def test_before_memory_runs_out_a_stream_waits_on_the_device_for_what_others_use(seed: int) -> None:
    assert read_of_another_stream(seed, waits=True) == [b"\x01" * 1024, b"\x02" * 1024]


def test_a_pool_that_does_not_wait_is_found() -> None:
    found = []
    for seed in range(10):
        try:
            found.append(read_of_another_stream(seed, waits=False))
        except SimulationError:
            found.append([])
    assert any(one != [b"\x01" * 1024, b"\x02" * 1024] for one in found)


def read_of_another_stream(seed: int, *, waits: bool) -> list[bytes]:
    """What two streams read of the same memory, one after the other has given it back without being done."""
    api = SimulatedApi(devices=1, memory_bytes=1024, seed=seed)
    pool = Pool(api, 0, MemoryKind.Device)
    streams, read = [api.new_stream(0), api.new_stream(0)], [bytearray(1024), bytearray(1024)]
    if not waits:
        api.wait = lambda stream, event: None  # type: ignore[method-assign]
    for number, (stream, target) in enumerate(zip(streams, read, strict=True), 1):
        address = pool.take(1024, stream)
        api.fill(stream, address, number, 1024)
        api.download(stream, address, target)
        pool.give(address, {stream})
    for stream in streams:
        api.synchronize(stream)
    return [bytes(one) for one in read]


@pytest.mark.parametrize("seed", range(6))
def test_work_of_several_streams_in_little_memory_gives_what_it_must(seed: int) -> None:
    backend = DeviceBackend(SimulatedApi(devices=1, memory_bytes=40 * 1024, seed=seed), DeviceKind.other("tight"))
    tr.register_backend("tight", backend)
    try:
        streams = [tr.stream("tight:0") for _ in range(3)]
        x = tr.to(tr.arange(1000, dtype="F64"), "tight:0")
        y = x
        for turn in range(30):
            with streams[turn % 3]:
                z = x + y
                y = z - y + float(turn)
                del z
        assert tr.download(y)[999] == float(999 + 29)
        assert tr.memory("tight:0").peak == 5 * 8000  # all that there is, so streams wait for each other
    finally:
        registry.unregister("tight")


def test_memory_that_is_used_again_is_fresh_and_has_guards_where_it_ends() -> None:
    bench = Bench()
    array = bench.executor.scratch(1000, 8)
    bench.executor.fill(array, 1, 1000)
    address = array.address
    del array
    again = bench.executor.scratch(900, 8)

    assert again.address == address
    assert bytes(bench.executor.download(again, 900)) == bytes([FRESH]) * 900
    with pytest.raises(SimulationError, match="bytes 0 to 900 of an allocation of 900 bytes"):
        bench.executor.download(again, 901)


def test_memory_that_rests_cannot_be_used() -> None:
    bench = Bench()
    array, other = bench.executor.scratch(1000, 8), bench.executor.scratch(8, 8)
    address = array.address
    del array
    bench.backend.memory(bench.place)  # what was dropped is kept from now on

    bench.api.copy(bench.executor.stream(), other.address, address, 8)
    with pytest.raises(SimulationError, match=r"is no address of device 0|in no live allocation"):
        bench.executor.synchronize()


def test_writing_beside_memory_is_found_when_it_rests() -> None:
    bench = Bench()
    array = bench.executor.scratch(1000, 1)
    bench.executor.synchronize()
    whole = bench.api._memories[0].bytes_at(array.address, 1000)
    np.lib.stride_tricks.as_strided(whole, (1001,), (1,))[1000] = 0  # within the block, beside the array
    del array, whole
    bench.backend.memory(bench.place)

    with pytest.raises(SimulationError, match="beside an allocation of 1000 bytes"):
        bench.executor.synchronize()


def test_statistics_and_a_limit_of_the_user(pooled: Any) -> None:
    (place, *_) = pooled.placements()
    pool = pooled.pool(place)
    x, y = (tr.zeros(1000, placement="pooled:0") for _ in range(2))
    del y

    assert tr.memory("pooled:0") == tr.MemoryUse(used=8000, kept=8192, limit=CAPACITY, peak=16000, allocations=2)
    pool.set_limit(20_000)
    z = tr.zeros((3, 3), placement="pooled:0")
    with pytest.raises(OutOfMemoryError) as caught:
        tr.zeros(2000, placement="pooled:0")
    error: Any = caught.value
    assert str(error) == (
        "zeros: not enough memory for the result of 16000 bytes or a workspace: pooled:0: 16000 bytes were asked for, "
        "8072 of 20000 are in use, the most by 1 × 8000 bytes for Form(F64, (1000,), pooled:0); "
        "1 × 72 bytes for Form(F64, (3, 3), pooled:0)"
    ).replace("pooled:0: 16000", "sim:0: 16000")
    assert (error.asked, error.used, error.limit) == (16000, 8072, 20_000)
    assert error.largest == ((8000, x._form), (72, z._form))
    assert tr.memory("pooled:0")[:3] == (8072, 0, 20_000)  # what was kept was given back first
    pool.set_limit(None)
    assert tr.zeros(2000, placement="pooled:0").shape == (2000,)
    pool.clear()
    assert tr.memory("pooled:0").kept == 0
    for wrong in (-1, True, "much"):
        with pytest.raises((ArgumentError, DTypeError)):
            pool.set_limit(wrong)


def test_statistics_look_at_nothing_that_a_device_does(pooled: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    (place, *_) = pooled.placements()
    x = tr.zeros(1000, placement=place)
    monkeypatch.setattr(pooled.api, "memory", None)
    assert tr.memory(place).limit == pooled.api.capacity(0) == CAPACITY
    with pooled.api.under(Limits(memory_bytes=CAPACITY // 2)):
        assert tr.memory(x.placement).limit == CAPACITY // 2


def test_what_is_kept_is_given_back_when_another_size_is_needed(pooled: Any) -> None:
    for size in (100_000, 60_000, 110_000):
        assert tr.download(tr.full((size,), 1.0, placement="pooled:0"))[size - 1] == 1.0
    assert tr.memory("pooled:0")[:2] == (0, room_for(880_000))


def test_an_allocation_that_fails_once_is_tried_again(pooled: Any) -> None:
    with pooled.api.under(Faults(fail={"allocations": 1})):
        assert tr.zeros(5, placement="pooled:0").shape == (5,)
    with pooled.api.under(Faults(fail={"allocations": (1, 2)})), pytest.raises(OutOfMemoryError):
        tr.zeros(500, placement="pooled:0")


def test_an_error_of_a_pool_is_a_lack_of_memory(api: SimulatedApi, pool: Pool) -> None:
    with pytest.raises(DeviceMemoryError, match=r"^sim:0: 2097152 bytes were asked for, 0 of 1048576 are in use$"):
        pool.take(1 << 21, api.new_stream(0))
    assert pool.stats()[:2] == (0, 0)


KINDS = (MemoryKind.Device, MemoryKind.PinnedHost, MemoryKind.Managed)


@pytest.fixture
def places() -> Iterator[dict[MemoryKind, tr.Placement]]:
    """Of a device that has memory of three kinds."""
    kind, api = DeviceKind.other("kinds"), SimulatedApi(devices=1, memory_bytes=CAPACITY, memory_kinds=KINDS)
    tr.register_backend("kinds", DeviceBackend(api, kind))
    try:
        yield {one: tr.Placement(one, tr.DeviceId(kind, 0)) for one in KINDS}
    finally:
        registry.unregister("kinds")


@pytest.mark.parametrize("source", KINDS)
@pytest.mark.parametrize("target", KINDS)
def test_tensors_go_from_memory_to_memory_by_name_only(
    places: dict[MemoryKind, tr.Placement], source: MemoryKind, target: MemoryKind
) -> None:
    x = tr.upload(HostTensor.from_nested([[1.0, 2.0], [3.0, 4.0]]), places[source])
    with tr.trace_transfers() as log:
        there = tr.to(x.T, places[target])
    assert [one.operation for one in log] == ([] if source is target else ["to"])
    assert there.placement is places[target]
    again = there @ there + 1.0
    assert again.placement is places[target]
    assert tr.download(again).to_nested() == [[8.0, 16.0], [11.0, 23.0]]
    if source is not target:
        with pytest.raises(PlacementError, match="operands live in different places"):
            x + there


def test_memory_is_counted_by_kind(places: dict[MemoryKind, tr.Placement]) -> None:
    x = {kind: tr.zeros(1000, placement=place) for kind, place in places.items()}
    assert [tr.memory(place).used for place in places.values()] == [8000] * len(x)
    assert [tr.memory(place).limit for place in places.values()] == [CAPACITY, None, (CAPACITY - 8192) // MANAGED_PART]


def test_managed_memory_is_far_less_than_what_is_free(places: dict[MemoryKind, tr.Placement]) -> None:
    managed = places[MemoryKind.Managed]
    elements = CAPACITY // MANAGED_PART // 8
    with pytest.raises(OutOfMemoryError, match=r"sim:0 \(Managed\): \d+ bytes were asked for, 0 of 131072 are in use"):
        tr.zeros(elements + 1, placement=managed)
    assert tr.zeros(elements, placement=managed).nbytes == CAPACITY // MANAGED_PART
    backend: Any = tr.backend("kinds")
    backend.pool(managed).set_limit(CAPACITY // 2)
    assert tr.zeros(2 * elements, placement=managed).shape == (2 * elements,)


def test_memory_that_a_device_has_not_is_refused_with_what_it_has(pooled: Any) -> None:
    pinned = tr.Placement(MemoryKind.PinnedHost, tr.DeviceId(pooled.device_kind, 0))
    with pytest.raises(PlacementError, match=r"pooled:0 \(PinnedHost\): .* no such device or memory; it has pooled:0$"):
        tr.zeros(3, placement=pinned)
    with pytest.raises(PlacementError, match="sim:0 has no PinnedHost memory; it has Device"):
        pooled.pool(pinned)
    backend: Any = tr.backend("sim")
    assert tr.Placement(MemoryKind.Managed, tr.DeviceId(DeviceKind.other("sim"), 1)) in backend.placements()


@pytest.mark.parametrize("kind", [MemoryKind.PinnedHost, MemoryKind.Managed])
def test_results_are_in_the_memory_of_their_operands(places: dict[MemoryKind, tr.Placement], kind: MemoryKind) -> None:
    backend: Any = tr.backend("kinds")
    x = tr.upload(HostTensor.from_nested([[4.0, 0.0], [9.0, 4.0]]), places[kind])
    found = [
        *tr.nonzero(x), *tr.unique_all(x), *tensor_linalg.svd(x), tr.sort(x), tr.cumsum(x, axis=0),
        tr.concatenate([x, x]), tr.sum(x), tr.take(x, tr.argmax(x, axis=1), axis=0), x[::-1] * 2.0,
        tensor_linalg.solve(x, x), tr.nonzero(x[:0])[0],
    ]  # fmt: skip
    for one in found:
        assert backend.examine(one._array, one._form) is None, one._form
