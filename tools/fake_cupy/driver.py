"""Devices, memory, streams and modules, as ``cupy.cuda`` and ``cupy_backends.cuda.api.runtime`` have them."""

from __future__ import annotations

import ctypes
import re
import struct
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any, Final
from weakref import WeakValueDictionary

import numpy as np

from tensor_gpu.device import program
from tensor_gpu.sim.memory import SimulatedMemory, device_of
from tensor_gpu.sim.streams import Scheduler, SimulatedEvent, SimulatedStream

PINNED: Final = 1 << 40  # host memory that devices reach lies from here on
CAPABILITY: Final = (9, 0)
NOT_READY: Final = 600
ERRORS: Final = {
    2: "cudaErrorMemoryAllocation",
    NOT_READY: "cudaErrorNotReady",
    700: "cudaErrorIllegalAddress",
    704: "cudaErrorPeerAccessAlreadyEnabled",
}
Call = tuple[str, tuple[Any, ...]]


class FakeError(RuntimeError):
    """Stands for the errors of CuPy's modules, and for what the fake finds wrong."""


class FakeRuntimeError(FakeError):
    """``CUDARuntimeError``: made of the number of an error."""

    def __init__(self, status: int) -> None:
        super().__init__(f"{ERRORS[status]}: as the fake was told")
        self.status = status


class Pinned(bytearray):
    """Host memory that has an address on devices."""

    ptr: int


class Machine:
    """So many devices; ``calls`` notes what was asked of them, with the arguments.

    >>> machine = Machine()
    >>> machine.runtime.getDeviceCount(), machine.calls
    (1, [])
    """

    def __init__(self, *, devices: int = 1, memory_bytes: int = 1 << 26, seed: int = 0) -> None:
        self.calls: list[Call] = []
        self.memories = [SimulatedMemory(ordinal, memory_bytes) for ordinal in range(devices)]
        self.scheduler = Scheduler(seed)
        self.current = [0]  # devices, innermost last
        self.current_streams: list[Stream] = []
        self.defaults = [self.scheduler.new_stream(ordinal) for ordinal in range(devices)]
        self.streams: dict[int, SimulatedStream] = {id(one): one for one in self.defaults}
        self.events: WeakValueDictionary[int, Event] = WeakValueDictionary()
        self.functions: WeakValueDictionary[int, Function] = WeakValueDictionary()
        self.pinned: WeakValueDictionary[int, Pinned] = WeakValueDictionary()  # it goes when nobody holds it
        self._next_pinned = PINNED
        self.pinned_most = 1 << 30  # bytes of it at a time
        self.used_by_others = 0  # bytes of each device
        self.moves = 1  # whether there is managed memory
        self.met: set[tuple[int, int]] = set()  # devices that another library let meet
        self.capability = CAPABILITY
        self.failed = 0  # the number of an error that each query answers
        machine = self

        class BoundStream(Stream):
            def __init__(self, null: bool = False, non_blocking: bool = False, ptds: bool = False) -> None:
                machine.note("Stream", non_blocking)
                native = machine.scheduler.new_stream(machine.current[-1])
                machine.streams[id(native)] = native
                super().__init__(machine, native)

            @classmethod
            def from_external(cls, obj: Any) -> BoundStream:
                version, ptr = obj.__cuda_stream__()
                assert version == 0
                found = cls.__new__(cls)
                Stream.__init__(
                    found, machine, machine.defaults[machine.current[-1]] if ptr <= 2 else machine.streams[ptr]
                )
                return found

        class BoundEvent(Event):
            def __init__(self, block: bool = False, disable_timing: bool = False, interprocess: bool = False) -> None:
                super().__init__(machine)

        self.cuda = SimpleNamespace(
            Device=lambda device: Device(machine, device),
            Stream=BoundStream,
            Event=BoundEvent,
            MemoryPool=lambda allocator=None: Pool(machine),
            Module=lambda: Module(machine),
            alloc_pinned_memory=self._pin,
            malloc_managed=self._managed,
        )
        self.runtime = Runtime(self)
        self.driver = Driver(self)

    def note(self, name: str, /, *arguments: Any) -> None:
        """Keep a call."""
        self.calls.append((name, arguments))

    def noted(self, *names: str) -> list[Call]:
        """The calls of some functions."""
        return [call for call in self.calls if call[0] in names]

    def submit(self, stream: int, work: Callable[[SimulatedMemory], None]) -> None:
        """Let a stream run something later; its device has to be the current one."""
        native = self.streams[stream]
        if native.ordinal != self.current[-1]:
            raise FakeError(f"a stream of device {native.ordinal} is used while {self.current[-1]} is current")
        reached: Any = Reached(self, self.memories[native.ordinal])
        self.scheduler.submit(native, lambda: work(reached))

    def pinned_at(self, address: int) -> Pinned:
        """The pinned memory in which an address lies."""
        (found,) = (one for one in self.pinned.values() if one.ptr <= address < one.ptr + len(one))
        return found

    def bytes_at(self, address: int, nbytes: int) -> Any:
        """Bytes of any device, or of host memory that devices reach."""
        if address >= 1 << 44:
            return self.memories[device_of(address)].bytes_at(address, nbytes)
        found = self.pinned_at(address)
        return np.frombuffer(found, np.uint8)[address - found.ptr :][:nbytes]

    def _managed(self, size: int) -> Block:
        self.note("malloc_managed", size, self.current[-1])
        memory = self.memories[self.current[-1]]
        if not self.moves:
            raise FakeRuntimeError(2)
        return Block(memory, size)

    def _pin(self, size: int) -> Pinned:
        self.note("alloc_pinned_memory", size)
        if sum(map(len, self.pinned.values())) + size > self.pinned_most:
            raise FakeRuntimeError(2)
        fresh = Pinned(b"\xcd" * size)
        fresh.ptr = self._next_pinned
        self._next_pinned += size + 256
        self.pinned[fresh.ptr] = fresh
        return fresh


class Reached:
    """What work on a device reaches: its memory, and pinned memory of the host."""

    def __init__(self, machine: Machine, memory: SimulatedMemory) -> None:
        self._machine, self._memory = machine, memory

    def __getattr__(self, name: str) -> Any:
        return getattr(self._memory, name)

    def bytes_at(self, address: int, nbytes: int) -> Any:
        """Bytes of either."""
        return self._machine.bytes_at(address, nbytes)

    def view(self, address: int, dtype: Any, shape: Sequence[int], strides: Sequence[int], /) -> Any:
        """Elements of either."""
        if address >= 1 << 44:
            return self._memory.view(address, dtype, shape, strides)
        found = self._machine.pinned_at(address)
        steps = tuple(stride * dtype.itemsize for stride in strides)
        return np.ndarray(tuple(shape), dtype.numpy_name, found, address - found.ptr, steps)


class Runtime:
    """``cupy_backends.cuda.api.runtime``."""

    cudaDevAttrManagedMemory = 83

    CUDARuntimeError = FakeRuntimeError
    memcpyDefault = 4

    def __init__(self, machine: Machine) -> None:
        self._machine = machine

    def driverGetVersion(self) -> int:
        return 12090

    def runtimeGetVersion(self) -> int:
        return 12090

    def getDeviceCount(self) -> int:
        return len(self._machine.memories)

    def getDeviceProperties(self, device: int) -> dict[str, Any]:
        major, minor = self._machine.capability
        memory = self._machine.memories[device]
        return {"name": b"a fake", "totalGlobalMem": memory.capacity, "major": major, "minor": minor}

    def deviceGetAttribute(self, attrib: int, device: int) -> int:
        assert attrib == self.cudaDevAttrManagedMemory
        return self._machine.moves

    def memGetInfo(self) -> tuple[int, int]:
        memory = self._machine.memories[self._machine.current[-1]]
        return memory.capacity - memory.used - self._machine.used_by_others, memory.capacity

    def pointerGetAttributes(self, ptr: int) -> SimpleNamespace:
        return SimpleNamespace(device=device_of(ptr) if ptr >= 1 << 44 else 0)

    def deviceCanAccessPeer(self, device: int, peerDevice: int) -> int:
        return 1

    def deviceEnablePeerAccess(self, peerDevice: int) -> None:
        pair = self._machine.current[-1], peerDevice
        if pair in self._machine.met:
            raise FakeRuntimeError(704)
        self._machine.note("deviceEnablePeerAccess", *pair)

    def streamQuery(self, stream: int) -> int:
        machine = self._machine
        return machine.failed or (0 if machine.scheduler.done(machine.streams[stream]) else NOT_READY)

    def eventQuery(self, event: int) -> int:
        native = self._machine.events[event].native
        return self._machine.failed or (0 if native is not None and native.passed else NOT_READY)

    def deviceSynchronize(self) -> None:
        self._machine.note("deviceSynchronize", self._machine.current[-1])
        self._machine.scheduler.finish()

    def memcpyAsync(self, dst: int, src: int, size: int, kind: int, stream: int) -> None:
        machine = self._machine
        machine.note("memcpyAsync", dst, src, size, kind, stream)
        if kind != self.memcpyDefault:
            raise FakeError(f"a copy of kind {kind} from {src:#x} to {dst:#x}")

        def work(memory: SimulatedMemory) -> None:
            machine.bytes_at(dst, size)[...] = machine.bytes_at(src, size)

        machine.submit(stream, work)

    def memsetAsync(self, ptr: int, value: int, size: int, stream: int) -> None:
        self._machine.note("memsetAsync", ptr, value, size, stream)

        def work(memory: SimulatedMemory) -> None:
            memory.bytes_at(ptr, size)[...] = value

        self._machine.submit(stream, work)


class Device:
    """``cupy.cuda.Device``."""

    def __init__(self, machine: Machine, device: int) -> None:
        self._machine, self._ordinal = machine, device

    def __enter__(self) -> Device:
        self._machine.current.append(self._ordinal)
        return self

    def __exit__(self, *error: object) -> None:
        self._machine.current.pop()


class Stream:
    """``cupy.cuda.Stream``."""

    def __init__(self, machine: Machine, native: SimulatedStream) -> None:
        self._machine, self.native, self.ptr = machine, native, id(native)

    def __enter__(self) -> Stream:
        if self._machine.current[-1] != self.native.ordinal:
            raise FakeError("a stream of another device becomes current")
        self._machine.current_streams.append(self)
        return self

    def __exit__(self, *error: object) -> None:
        self._machine.current_streams.pop()

    @property
    def done(self) -> bool:
        """Whether nothing is left, and nothing has failed."""
        return self._machine.runtime.streamQuery(self.ptr) == 0

    def synchronize(self) -> None:
        """Run what is left."""
        self._machine.note("synchronize", self.ptr)
        self._machine.scheduler.synchronize(self.native)

    def wait_event(self, event: Event) -> None:
        """Go on after an event."""
        assert event.native is not None
        self._machine.scheduler.wait(self.native, event.native)


class Event:
    """``cupy.cuda.Event``."""

    def __init__(self, machine: Machine) -> None:
        self._machine, self.ptr = machine, id(self)
        self.native: SimulatedEvent | None = None
        machine.events[self.ptr] = self

    def record(self, stream: Stream) -> None:
        """Be the point after what is submitted."""
        self.native = self._machine.scheduler.record(stream.native)

    @property
    def done(self) -> bool:
        """Whether it has passed, and nothing has failed."""
        return self._machine.runtime.eventQuery(self.ptr) == 0

    def synchronize(self) -> None:
        """Run until it has passed."""
        assert self.native is not None
        self._machine.note("wait for event")
        self._machine.scheduler.run_until(self.native)


class Block:
    """``MemoryPointer``: memory goes when the last of them does, at once."""

    def __init__(self, memory: SimulatedMemory, nbytes: int) -> None:
        self._memory = memory
        self.ptr = memory.allocate(nbytes)

    def __del__(self) -> None:
        if hasattr(self, "ptr"):
            self._memory.release(self.ptr)


class Pool:
    """``cupy.cuda.MemoryPool``."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine

    def malloc(self, size: int) -> Block:
        """Memory of the current device."""
        return Block(self._machine.memories[self._machine.current[-1]], size)

    def free_all_blocks(self, stream: object = None) -> None:
        """Nothing is kept."""
        self._machine.note("free_all_blocks", self._machine.current[-1])


class Module:
    """``cupy.cuda.Module``; its code is the source. It is unloaded when it and its functions are gone."""

    def __init__(self, machine: Machine) -> None:
        self._machine, self._ordinal = machine, machine.current[-1]
        self._source = ""

    def __del__(self) -> None:
        if self._source:
            self._machine.note("unload", self._ordinal, self._machine.current[-1])

    def load(self, cubin: bytes) -> None:
        """Take the code."""
        self._machine.note("load", self._machine.current[-1])
        self._source = cubin.decode()

    def get_function(self, name: str) -> Function:
        """An entry, whose launch does what the program means that has this source."""
        found = next(one for one in known_programs() if (one.source, one.entry) == (self._source, name))
        return Function(self._machine, self, found)


class Function:
    """``cupy.cuda.Function``."""

    def __init__(self, machine: Machine, module: Module, found: program.Program) -> None:
        self.ptr, self.module, self.program = id(self), module, found
        parameters = found.source.rpartition(f"void {found.entry}(")[2].partition(")")[0].split(",")
        self.kinds = ["d" if re.fullmatch(r"\s*double \w+", one) else "q" for one in parameters]
        machine.functions[self.ptr] = self


class Driver:
    """``cupy_backends.cuda.api.driver``."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine

    def launchKernel(
        self, f: int, grid_dim_x: int, grid_dim_y: int, grid_dim_z: int,
        block_dim_x: int, block_dim_y: int, block_dim_z: int,
        shared_mem_bytes: int, stream: int, kernel_params: int, extra: int,
    ) -> None:  # fmt: skip
        """Take the arguments now, as the driver does: eight bytes from each address."""
        function = self._machine.functions[f]
        given: list[int | float] = []
        for number, kind in enumerate(function.kinds):
            place = struct.unpack("P", ctypes.string_at(kernel_params + struct.calcsize("P") * number, 8))[0]
            given += struct.unpack(kind, ctypes.string_at(place, 8))
        grid, block = (grid_dim_x, grid_dim_y, grid_dim_z), (block_dim_x, block_dim_y, block_dim_z)
        self._machine.note("launch", function.program.entry, grid, block, tuple(given))
        if (grid[1:], block[1:], shared_mem_bytes, extra) != ((1, 1), (1, 1), 0, 0):
            raise FakeError(f"{function.program.entry} is launched as {grid}, {block}, {shared_mem_bytes}, {extra}")
        self._machine.submit(stream, lambda memory: function.program.meaning(memory, tuple(given)))


def known_programs() -> list[program.Program]:
    """Every program that was made, and the one that probes devices."""
    from tensor_gpu.cuda.probe import PROBE

    return [PROBE, *program._MADE.values()]
