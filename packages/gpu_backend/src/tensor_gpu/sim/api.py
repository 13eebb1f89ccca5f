"""The simulated devices: everything that ``tensor_gpu.device.api`` asks, on the host."""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Callable, Sequence
from typing import Any, Final

from tensor_core.errors import UnsupportedOperationError
from tensor_gpu.device.api import DeviceProperties, Gemm, Launch, MemoryFacts, Solver
from tensor_gpu.sim.blas import check_gemm, multiply
from tensor_gpu.sim.errors import SimulationError
from tensor_gpu.sim.lapack import run_solver
from tensor_gpu.sim.memory import SimulatedMemory, device_of
from tensor_gpu.sim.streams import Scheduler, SimulatedEvent, SimulatedStream

COUNTED: Final = ("launches", "gemms", "solvers", "uploads", "downloads", "copies", "fills", "bytes up", "bytes down")
"""What :attr:`SimulatedApi.counts` counts."""


class SimulatedApi:
    """So many devices of so much memory each, whose streams take turns as ``seed`` says.

    ``counts`` says what was submitted so far; it may be cleared.

    >>> api = SimulatedApi(devices=1, memory_bytes=1 << 20)
    >>> stream, address = api.new_stream(0), api.allocate(0, 3)
    >>> api.upload(stream, address, b"abc")
    >>> taken = bytearray(3)
    >>> api.download(stream, address, taken)
    >>> api.synchronize(stream)
    >>> taken, api.counts["bytes up"]
    (bytearray(b'abc'), 3)
    """

    name: Final = "sim"

    def __init__(self, *, devices: int = 2, memory_bytes: int = 1 << 30, seed: int = 0) -> None:
        self.counts: Counter[str] = Counter()
        self._memories = [SimulatedMemory(ordinal, memory_bytes) for ordinal in range(devices)]
        self._scheduler = Scheduler(seed)
        self._lock = threading.RLock()
        self._dropped: deque[tuple[int, int, Sequence[Any]]] = deque()
        self._leaving: list[tuple[int, int, list[SimulatedEvent]]] = []

    def devices(self) -> Sequence[DeviceProperties]:
        """All of them are alike."""
        return [DeviceProperties("simulated device", memory.capacity, (9, 0)) for memory in self._memories]

    def allocate(self, ordinal: int, nbytes: int, /) -> int:
        """Memory of a device; waits for what is about to be released rather than fail."""
        with self._lock:
            self._collect(wait=False)
            try:
                return self._memories[ordinal].allocate(nbytes)
            except MemoryError:
                self._collect(wait=True)
                return self._memories[ordinal].allocate(nbytes)

    def release(self, ordinal: int, address: int, users: Sequence[Any], /) -> None:
        """Memory is taken back when what its users were given has run.

        Arrays die wherever the collector runs, in the middle of a turn of the streams, too: this only notes it.
        """
        self._dropped.append((ordinal, address, users))

    def memory(self, ordinal: int, /) -> MemoryFacts:
        """What live arrays use, of how much."""
        with self._lock:
            self._collect(wait=False)
            memory = self._memories[ordinal]
            leaving = sum(memory.size_at(address) for device, address, _ in self._leaving if device == ordinal)
            return MemoryFacts(memory.used - leaving, memory.capacity)

    def new_stream(self, ordinal: int, /) -> SimulatedStream:
        """Another queue."""
        with self._lock:
            return self._scheduler.new_stream(ordinal)

    def stream_of(self, ordinal: int, handle: int, /) -> SimulatedStream:
        """No other library has a stream here.

        Raises:
            UnsupportedOperationError: always.
        """
        raise UnsupportedOperationError(
            f"stream: {self.name} devices take no streams of other libraries, so none of handle {handle}",
            operation="stream",
        )

    def handle(self, stream: Any, /) -> int:
        """A number of this process."""
        return id(stream)

    def record(self, stream: Any, /) -> SimulatedEvent:
        """The point after all that is submitted so far."""
        with self._lock:
            return self._scheduler.record(stream)

    def wait(self, stream: Any, event: Any, /) -> None:
        """Let what is submitted from now on run after the event."""
        with self._lock:
            self._scheduler.wait(stream, event)

    def synchronize(self, stream: Any, /) -> None:
        """Run what is submitted."""
        with self._lock:
            self._scheduler.synchronize(stream)

    def done(self, stream: Any, /) -> bool:
        """Whether nothing is left to run."""
        with self._lock:
            return self._scheduler.done(stream)

    def passed(self, event: Any, /) -> bool:
        """Whether the point was passed."""
        return bool(event.passed)

    def upload(self, stream: Any, target: int, source: bytes | bytearray | memoryview, /) -> None:
        """Submit a copy of bytes that are taken now."""
        taken = bytes(source)
        self.counts["bytes up"] += len(taken)

        def work(memory: SimulatedMemory) -> None:
            memory.bytes_at(target, len(taken))[...] = memoryview(taken)

        self._submit("uploads", stream, work)

    def download(self, stream: Any, source: int, target: bytearray, /) -> None:
        """Submit a copy to the host."""
        self.counts["bytes down"] += len(target)

        def work(memory: SimulatedMemory) -> None:
            target[:] = memory.bytes_at(source, len(target)).data

        self._submit("downloads", stream, work)

    def copy(self, stream: Any, target: int, source: int, nbytes: int, /) -> None:
        """Submit a copy; addresses tell the devices."""

        def work(memory: SimulatedMemory) -> None:
            self._memory_of(target).bytes_at(target, nbytes)[...] = self._memory_of(source).bytes_at(source, nbytes)

        self._submit("copies", stream, work)

    def fill(self, stream: Any, target: int, byte: int, nbytes: int, /) -> None:
        """Submit the writing of one byte everywhere."""

        def work(memory: SimulatedMemory) -> None:
            memory.bytes_at(target, nbytes)[...] = byte

        self._submit("fills", stream, work)

    def launch(self, stream: Any, launch: Launch, /) -> None:
        """Submit what the program means."""
        self._submit("launches", stream, lambda memory: launch.program.meaning(memory, launch.arguments))

    def gemm(self, stream: Any, call: Gemm, /) -> None:
        """Submit matrix products; what the libraries of devices refuse is refused."""
        check_gemm(call)
        self._submit("gemms", stream, lambda memory: multiply(memory, call))

    def solver(self, stream: Any, call: Solver, /) -> None:
        """Submit a routine of linear algebra."""
        self._submit("solvers", stream, lambda memory: run_solver(memory, call))

    def _memory_of(self, address: int) -> SimulatedMemory:
        ordinal = device_of(address)
        if not 0 <= ordinal < len(self._memories):
            raise SimulationError(f"{address:#x} is no address of a device")
        return self._memories[ordinal]

    def _submit(self, counted: str, stream: SimulatedStream, work: Callable[[SimulatedMemory], None]) -> None:
        with self._lock:
            self.counts[counted] += 1
            memory = self._memories[stream.ordinal]
            self._scheduler.submit(stream, lambda: work(memory))

    def _collect(self, *, wait: bool) -> None:
        """Take back the memory that nobody will use any more."""
        while self._dropped:
            ordinal, address, users = self._dropped.popleft()
            self._leaving.append((ordinal, address, [self._scheduler.record(user) for user in users]))
        staying = []
        for ordinal, address, events in self._leaving:
            if wait:
                for event in events:
                    self._scheduler.run_until(event)
            if all(event.passed for event in events):
                self._memories[ordinal].release(address)
            else:
                staying.append((ordinal, address, events))
        self._leaving = staying
