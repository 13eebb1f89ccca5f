"""Simulated devices find what a real one would answer with wrong numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensor_linalg
import tensor_runtime as tr
from tensor_core.dtypes import F64
from tensor_core.errors import ArgumentError, CastRangeError, OutOfMemoryError, PlacementError
from tensor_core.host.tensor import HostTensor
from tensor_gpu.backend import DeviceBackend
from tensor_gpu.device.arrays import DeviceArray
from tensor_gpu.device.program import Argument, HostMemory, Program
from tensor_gpu.sim.api import SimulatedApi
from tensor_gpu.sim.bench import Bench
from tensor_gpu.sim.errors import SimulationError
from tensor_gpu.sim.memory import FRESH, GUARD, RELEASED, RESTING, SimulatedMemory
from tensor_gpu.sim.streams import MOST_KEPT
from tensor_runtime.backends.bounded_cache import held_bytes
from tensor_runtime.errors import NotPositiveDefiniteError
from tensor_runtime.placement import DeviceKind

CAPACITY = 1 << 22


def test_fresh_memory_holds_numbers_that_are_wrong_at_sight() -> None:
    memory = SimulatedMemory(0, CAPACITY)

    (found,) = memory.view(memory.allocate(8), F64, (1,), (1,)).tolist()

    assert found == np.frombuffer(bytes([FRESH] * 8))[0]


@pytest.mark.parametrize(
    ("shape", "strides", "first"),
    [((4,), (1,), 0), ((2,), (3,), 0), ((2,), (-1,), 0), ((3,), (1,), 1)],
)
def test_elements_beside_an_allocation_are_refused(
    shape: tuple[int, ...], strides: tuple[int, ...], first: int
) -> None:
    memory = SimulatedMemory(1, CAPACITY)
    address = memory.allocate(24)

    with pytest.raises(SimulationError, match=r"allocation of 24 bytes on device 1|no address of device 1"):
        memory.view(address + 8 * first, F64, shape, strides)


def test_elements_at_odd_addresses_are_refused() -> None:
    memory = SimulatedMemory(0, CAPACITY)

    with pytest.raises(SimulationError, match="no place for elements of F64"):
        memory.view(memory.allocate(24) + 4, F64, (1,), (1,))


def test_released_memory_is_gone_and_rests() -> None:
    memory = SimulatedMemory(0, CAPACITY)
    address = memory.allocate(8)
    kept = memory.bytes_at(address, 8)
    memory.release(address)

    assert kept.tolist() == [RELEASED] * 8
    with pytest.raises(SimulationError):
        memory.bytes_at(address, 8)
    with pytest.raises(SimulationError, match="where no allocation of device 0 begins"):
        memory.release(address)
    assert memory.allocate(8) != address


def test_writing_beside_an_allocation_is_found() -> None:
    memory = SimulatedMemory(0, CAPACITY)
    address = memory.allocate(8)
    whole = memory.bytes_at(address, 8)
    beside = np.lib.stride_tricks.as_strided(whole, (GUARD,), (1,))
    beside[8] = 0

    with pytest.raises(SimulationError, match="beside an allocation of 8 bytes"):
        memory.release(address)


def test_all_memory_can_be_had_again() -> None:
    memory = SimulatedMemory(0, CAPACITY)
    half = CAPACITY // 2 - 2 * GUARD
    for _ in range(10):
        addresses = [memory.allocate(half), memory.allocate(half)]
        with pytest.raises(MemoryError, match=f"device 0 of {CAPACITY} bytes has no 1 bytes left"):
            memory.allocate(1)
        for address in addresses:
            memory.release(address)
    assert memory.used == 0
    assert RESTING < CAPACITY


def test_a_device_that_is_full_is_our_error_and_keeps_what_it_holds() -> None:
    backend = DeviceBackend(SimulatedApi(devices=1, memory_bytes=1 << 20), DeviceKind.other("full"))
    tr.register_backend("full", backend)
    try:
        x = tr.full((1 << 16,), 3.0, placement="full:0")
        with pytest.raises(OutOfMemoryError):
            tr.full((1 << 17,), 1.0, placement="full:0")
        assert tr.download(x)[5] == 3.0
        del x
        assert tr.download(tr.full((1 << 16,), 2.0, placement="full:0"))[5] == 2.0
    finally:
        from tensor_runtime.backends.registry import registry

        registry.unregister("full")


def added_one(memory: HostMemory, arguments: tuple[Argument, ...]) -> None:
    array = memory.view(int(arguments[0]), F64, (1,), (1,))
    array += 1


ADD_ONE = Program("add_one", "", added_one)


def late_sum(seed: int, *, waits: bool) -> float:
    """What one stream reads of a number that another one raises by one, after four other pieces of work."""
    from tensor_gpu.device.api import Launch

    api = SimulatedApi(devices=1, memory_bytes=CAPACITY, seed=seed)
    first, second = api.new_stream(0), api.new_stream(0)
    number, other = api.allocate(0, 8), api.allocate(0, 8)
    api.upload(first, number, np.zeros(1).tobytes())
    api.upload(second, other, np.zeros(1).tobytes())
    api.synchronize(first)
    for address in (other, number):
        api.launch(first, Launch(ADD_ONE, 1, 1, (address,)))
    if waits:
        api.wait(second, api.record(first))
    taken = bytearray(8)
    api.download(second, number, taken)
    api.synchronize(second)
    return float(np.frombuffer(taken)[0])


def test_with_a_wait_every_order_gives_the_same() -> None:
    assert {late_sum(seed, waits=True) for seed in range(200)} == {1.0}


def test_a_missing_wait_is_found_by_ten_orders_and_is_replayed() -> None:
    found = [late_sum(seed, waits=False) for seed in range(200)]
    wrong = sum(value != 1.0 for value in found)

    assert found == [late_sum(seed, waits=False) for seed in range(200)]
    assert (1 - wrong / 200) ** 10 < 0.002  # that all of ten orders give the right number


@pytest.mark.parametrize("seed", range(20))
def test_work_of_several_streams_on_one_array_keeps_its_order(seed: int) -> None:
    api = SimulatedApi(devices=1, memory_bytes=CAPACITY, seed=seed)
    backend = DeviceBackend(api, DeviceKind.other("several"))
    (place,) = backend.placements()
    executor = backend.executor(place)
    streams = [api.new_stream(0) for _ in range(3)]
    tr.register_backend("several", backend)
    try:
        x = tr.upload(HostTensor.from_nested([1.0, 2.0]), place)
        view = tr.mutable_view(x)
        for turn in range(12):
            with executor.using(streams[turn % 3]):
                y = x + 1.0
            with executor.using(streams[(turn + 1) % 3]):
                tr.copy_into(view, y)
            del y
        assert tr.download(x).to_nested() == [13.0, 14.0]
    finally:
        from tensor_runtime.backends.registry import registry

        registry.unregister("several")


@pytest.mark.parametrize("read", [np.asarray, np.from_dlpack, memoryview])
def test_no_tensor_moves_but_by_name(read: Any) -> None:
    x = tr.to(tr.tensor([1.0]), "sim:0")

    with tr.trace_transfers() as log, pytest.raises((tr.TensorError, TypeError, BufferError)):
        read(x)
    assert not log


@pytest.mark.parametrize("read", [np.from_dlpack, memoryview, float, int, complex, bool, list, bytes, len])
def test_an_array_has_no_way_to_the_host(read: Any) -> None:
    bench = Bench()
    array = bench.put([1.0]).array

    with pytest.raises((TypeError, AttributeError)):
        memoryview(read(array))
    assert np.asarray(array).dtype == object  # NumPy sees an object without any protocol
    assert bench.api.counts["downloads"] == 0


def test_devices_do_not_mix() -> None:
    x, y = (tr.to(tr.tensor([1.0]), place) for place in ("sim:0", "sim:1"))

    with pytest.raises(PlacementError, match=r"on sim:0\n.*on sim:1\n"):
        x + y
    with pytest.raises(PlacementError, match=r"sim:7: the sim backend has no such device"):
        tr.to(x, "sim:7")
    assert tr.to(tr.to(x, "sim:1") + y, "cpu").to_numpy().tolist() == [2.0]


def test_an_operation_is_one_launch_and_moves_nothing() -> None:
    bench = Bench()
    x, y = bench.put([[1.0, 2.0], [3.0, 4.0]]), bench.put([10.0, 20.0])
    bench.executor.synchronize()
    bench.api.counts.clear()

    bench.backend.bind("add", (x.form, y.form), x.form, None)(x.array, y.array)

    assert dict(bench.api.counts) == {"launches": 1}


def test_bytes_that_are_copied_are_counted_apart_from_those_of_the_host() -> None:
    x = tr.upload(HostTensor.from_nested([1.0, 2.0, 3.0]), "sim:0")
    counts = tr.backend("sim").api.counts  # type: ignore[attr-defined]
    before = counts.copy()

    tr.to(x, "sim:1")

    assert counts - before == {"copies": 1, "bytes copied": 24}


def test_a_fork_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench()
    x = bench.put([1.0])
    stream, coming = bench.backend.stream(bench.place, None), bench.backend.begin_download(*x)
    monkeypatch.setattr("os.getpid", lambda: -1)

    for call in (
        lambda: bench.executor.stream(),
        lambda: bench.get(x),
        lambda: bench.backend.memory(bench.place),
        lambda: bench.backend.pool(bench.place).clear(),
        lambda: bench.backend.describe(),
        lambda: bench.backend.synchronize(),
        lambda: stream.done(),
        lambda: stream.synchronize(),
        lambda: coming.done(),
        lambda: coming.result(),
    ):
        with pytest.raises(tr.TensorError, match=r"^sim(:0)?: a device cannot be used in a forked process"):
            call()


def test_refusals_that_are_deferred_come_with_the_wait_and_the_value_of_then() -> None:
    x = tr.upload(HostTensor.from_nested([1.0, 3e9, 5.0]), "sim:0")
    with tr.checks("deferred"):
        tr.cast(x, "I32")
        tr.copy_into(tr.mutable_view(x), tr.zeros(3, placement="sim:0"))
        tr.floor_divide(tr.cast(x, "I32"), tr.cast(x, "I32"))

    with pytest.raises(CastRangeError, match=r"element \(1,\) is 3000000000\.0") as caught:
        tr.synchronize("sim:0")
    assert caught.value.index == (1,)
    tr.synchronize("sim:0")  # what was refused after it is forgotten


@pytest.mark.parametrize("power", [lambda n: tr.pow(n, n), lambda n: tr.pow(3, n), lambda n: tr.pow(n[1], n)])
def test_a_refused_exponent_that_is_deferred_disturbs_no_other_call(power: Any) -> None:
    exponents = tr.upload(HostTensor.from_nested([1, -1, 2], dtype="I32"), "sim:0")
    other = tr.upload(HostTensor.from_nested([1.0]), "sim:1")
    with tr.checks("deferred"):
        powers = power(exponents)
    for _ in range(MOST_KEPT):
        other + 1.0  # what was submitted before runs meanwhile

    tr.synchronize("sim:1")
    with pytest.raises(ArgumentError, match=r"pow: the exponent at index \(1,\) is -1"):
        tr.synchronize("sim:0")
    assert tr.download(powers)[1] == 0


def test_a_download_tells_what_was_refused_in_the_stream_that_wrote() -> None:
    x = tr.upload(HostTensor.from_nested([[1.0, 0.0], [0.0, -1.0]]), "sim:0")
    with tr.stream("sim:0"), tr.checks("deferred"):
        factor = tensor_linalg.cholesky(x)

    with pytest.raises(NotPositiveDefiniteError, match="leading 2x2 block"):
        tr.download(factor)
    tr.synchronize("sim:0")


def test_a_kernel_is_charged_for_itself_and_not_for_the_device() -> None:
    bench = Bench()
    x = bench.put([1.0, 2.0])
    kernel = bench.backend.bind("add", (x.form, x.form), x.form, None)

    assert held_bytes(kernel) < 20_000


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (lambda own, other: other, "an array on sim:1"),
        (lambda own, other: own.moved(1), "memory of 32 bytes, of which bytes 8 to 39 would be used"),
        (lambda own, other: own.moved(-1), "memory of 32 bytes, of which bytes -8 to 23 would be used"),
        (lambda own, other: DeviceArray(own.allocation, own.address, 4), "elements of 4 bytes"),
        (lambda own, other: [1.0], "a list"),
    ],
)
def test_an_array_that_is_no_such_tensor_is_told(given: Any, said: str) -> None:
    x, y = (tr.upload(HostTensor.from_nested([[1.0, 2.0], [3.0, 4.0]]), place) for place in ("sim:0", "sim:1"))
    backend: Any = tr.backend("sim")

    assert backend.examine(x._array, x._form) is None
    assert backend.examine(tr.reverse_view(x, 0)._array, tr.reverse_view(x, 0)._form) is None
    assert backend.examine(given(x._array, y._array), x._form) == said


def test_a_large_output_of_another_layout_takes_two_launches() -> None:
    wide = tr.zeros((512, 1024), placement="sim:0")
    target = tr.mutable_view(wide)[:, ::2]
    counts = tr.backend("sim").api.counts  # type: ignore[attr-defined]
    before = counts.copy()

    tr.add(tr.ones((512, 512), placement="sim:0"), 1.0, out=target)

    assert counts - before == {"launches": 3}  # ones, the sum, and the copy of it
    assert tr.download(wide)[7, 8] == 2.0


@pytest.mark.parametrize(
    ("read", "message"),
    [
        (lambda x: tr.tensor([x[0], x[1]]), r"element: .* on sim:0, .*; stack\(\) joins tensors there"),
        (lambda x: tr.asarray([[1.0, x[0]]]), r"element: .* on sim:0, .*; stack\(\) joins"),
        (lambda x: HostTensor.from_nested([x[0]]), r"element: .* on sim:0"),
        (lambda x: [1, 2, 3][x[0]], r"index: .* on sim:0, .*; write int\(x\)"),
        (lambda x: range(x[0]), r"index: .* on sim:0"),
        (lambda x: tr.arange(5)[: x[0]], r"index: .* on sim:0"),
        (lambda x: tr.sum(x, axis=x[0]), r"index: .* on sim:0"),
    ],
)
def test_no_element_is_read_where_a_number_is_expected(read: Any, message: str) -> None:
    x = tr.to(tr.tensor([0, 1]), "sim:0")

    with tr.trace_transfers() as log, pytest.raises(PlacementError, match=message):
        read(x)
    assert not log
    assert (float(x[1]), int(x[1]), bool(x[1]), tr.stack([x[0], x[1]]).placement) == (1.0, 1, True, x.placement)
