"""The simulated devices: everything that ``tensor_gpu.device.api`` asks, on the host."""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from tensor_core.errors import ArgumentError, PlacementError, UnsupportedOperationError
from tensor_gpu.device.api import DeviceProperties, Gemm, Launch, MemoryFacts, Scratch, Solver
from tensor_gpu.sim.blas import check_gemm, multiply
from tensor_gpu.sim.errors import SimulationError
from tensor_gpu.sim.faults import Faults, Limits, Watch
from tensor_gpu.sim.flops import Kind, of_launch, of_solver
from tensor_gpu.sim.lapack import run_solver
from tensor_gpu.sim.memory import SimulatedMemory, device_of
from tensor_gpu.sim.streams import Scheduler, SimulatedEvent, SimulatedStream
from tensor_gpu.sim.tensors import SimulatedProvider
from tensor_runtime.backends.bindings import binding_cache
from tensor_runtime.placement import MemoryKind

COUNTED: Final = (
    "launches", "gemms", "flops", "contractions", "solvers", "uploads", "bytes up", "downloads", "bytes down", "copies",
    "bytes copied", "fills",
)  # fmt: skip
"""What :attr:`SimulatedApi.counts` counts. ``flops`` are those of gemms, additions and multiplications of elements as
plans of ``tensor_einsum`` count them; ``copies`` are those within a device and from one to another."""


class SimulatedApi:
    """So many devices of so much memory each, whose streams take turns as ``seed`` says.

    ``counts`` says what was submitted so far, ``flops`` how many operations on elements that was, by what computes them
    (:mod:`tensor_gpu.sim.flops`); both may be cleared.

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

    def __init__(
        self,
        *,
        devices: int = 2,
        memory_bytes: int = 1 << 30,
        seed: int = 0,
        memory_kinds: tuple[MemoryKind, ...] = (MemoryKind.Device,),
    ) -> None:
        self.counts: Counter[str] = Counter()
        self.flops: Counter[Kind] = Counter()
        self.limits = Limits(devices=devices, memory_bytes=memory_bytes, memory_kinds=memory_kinds)
        self._memories: list[SimulatedMemory] = []
        self._capacity = memory_bytes
        self._used: Counter[tuple[int, MemoryKind]] = Counter()
        self._kinds: dict[int, MemoryKind] = {}  # of memory, by address
        self._renewed: Counter[int] = Counter()  # how often memory was used again, by address
        self._scheduler = Scheduler(seed)
        self._watch = Watch(Faults())
        self._lock = threading.RLock()
        self._dropped: deque[tuple[int, int, Sequence[Any]]] = deque()
        self._leaving: list[tuple[int, int, list[SimulatedEvent]]] = []
        self._grow()

    @contextmanager
    def under(self, *conditions: Limits | Faults) -> Iterator[None]:
        """Let the devices have these limits and faults inside the ``with`` block, in all threads.

        Work that was submitted is run first, and again at the end. After the block everything is as before it, also
        tensors on a device that was lost inside. Where there are other limits, kernels are bound anew.

        Raises:
            ArgumentError: no limits or faults, or more memory than the devices were made with.

        >>> import tensor_runtime as tr
        >>> with tr.backend("sim").api.under(Limits(memory_bytes=4096)):  # doctest: +ELLIPSIS
        ...     tr.zeros(1000, placement="sim:0")
        Traceback (most recent call last):
        tensor_core.errors.OutOfMemoryError: zeros: not enough memory for the result of 8000 bytes or a workspace: ...
        """
        former, limits, faults = (self.limits, self._watch), self.limits, Faults()
        for one in conditions:
            if isinstance(one, Limits):
                limits = one
            elif isinstance(one, Faults):
                faults = one
            else:
                raise ArgumentError(f"under: found a {type(one).__name__}; accepted: Limits, Faults")
        if limits.memory_bytes > self._capacity:
            raise ArgumentError(f"under: {limits}; accepted: memory_bytes of {self._capacity} at most")
        self._put(limits, Watch(faults))
        try:
            yield
        finally:
            self._put(*former)

    def _put(self, limits: Limits, watch: Watch) -> None:
        with self._lock:
            self._scheduler.finish()
            other = limits != self.limits
            self.limits, self._watch = limits, watch
            self._grow()
        if other:
            binding_cache.clear()

    def _grow(self) -> None:
        while len(self._memories) < self.limits.devices:
            # guards take room, too, and pinned and managed memory are the host's
            self._memories.append(SimulatedMemory(len(self._memories), 2 * self._capacity))

    def devices(self) -> Sequence[DeviceProperties]:
        """All of them are alike."""
        limits = self.limits
        missing = dict.fromkeys(limits.missing, "this simulated device lacks the library for it")
        properties = DeviceProperties(
            "simulated device",
            limits.memory_bytes,
            limits.compute_capability,
            limits.largest_extent,
            limits.largest_batch,
            missing,
            None if limits.peer_access else (),
            limits.memory_kinds,
        )
        return [properties] * limits.devices

    def providers(self) -> Sequence[SimulatedProvider]:
        """Those that the limits name."""
        return [SimulatedProvider(self, name) for name in self.limits.providers]

    def allocate(self, ordinal: int, nbytes: int, /) -> int:
        """Memory of a device; waits for what is about to be released rather than fail."""
        return self.allocate_in(MemoryKind.Device, ordinal, nbytes)

    def allocate_in(self, kind: MemoryKind, ordinal: int, nbytes: int, /) -> int:
        """The same of a kind of memory; that of the host lies among the device's addresses, and has no limit."""
        self._call("allocations", ordinal)
        with self._lock:
            self._collect(wait=False)
            try:
                return self._allocated(kind, ordinal, nbytes)
            except MemoryError:
                self._collect(wait=True)
                return self._allocated(kind, ordinal, nbytes)

    def _allocated(self, kind: MemoryKind, ordinal: int, nbytes: int) -> int:
        used = self._used[ordinal, kind]
        if kind is MemoryKind.Device and used + nbytes > self.limits.memory_bytes:
            raise MemoryError(
                f"device {ordinal} of {self.limits.memory_bytes} bytes has no {nbytes} bytes left; {used} are in use"
            )
        address = self._memories[ordinal].allocate(nbytes)
        self._kinds[address] = kind
        self._used[ordinal, kind] += nbytes
        return address

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
            leaving = sum(
                memory.size_at(address)
                for device, address, _ in self._leaving
                if device == ordinal and self._kinds[address] is MemoryKind.Device
            )
            return MemoryFacts(self._used[ordinal, MemoryKind.Device] - leaving, self.capacity(ordinal))

    def free(self, ordinal: int, /) -> int:
        """What live arrays leave."""
        used, total = self.memory(ordinal)
        return total - used

    def capacity(self, ordinal: int, /) -> int:
        """What the limits say; it is the same for all."""
        return self.limits.memory_bytes

    def new_stream(self, ordinal: int, /) -> SimulatedStream:
        """Another queue."""
        with self._lock:
            self._watch.alive(ordinal)
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
            self._watch.alive(stream.ordinal)
            return self._scheduler.record(stream)

    def wait(self, stream: Any, event: Any, /) -> None:
        """Let what is submitted from now on run after the event."""
        with self._lock:
            self._watch.alive(stream.ordinal)
            self._scheduler.wait(stream, event)

    def synchronize(self, stream: Any, /) -> None:
        """Run what is submitted."""
        self._call("waits", stream.ordinal)
        with self._lock:
            self._scheduler.synchronize(stream)

    def done(self, stream: Any, /) -> bool:
        """Whether nothing is left to run."""
        with self._lock:
            self._watch.alive(stream.ordinal)
            return self._scheduler.done(stream)

    def passed(self, event: Any, /) -> bool:
        """Whether the point was passed."""
        return bool(event.passed)

    def upload(self, stream: Any, target: int, source: bytes | bytearray | memoryview, /) -> None:
        """Submit a copy of bytes that are taken now."""
        taken = bytes(source)

        def work(memory: SimulatedMemory) -> None:
            memory.bytes_at(target, len(taken))[...] = memoryview(taken)

        self.submit("uploads", stream, work)
        self.counts["bytes up"] += len(taken)

    def download(self, stream: Any, source: int, target: bytearray | memoryview, /) -> None:
        """Submit a copy to the host."""

        def work(memory: SimulatedMemory) -> None:
            target[:] = memory.bytes_at(source, len(target)).data

        self.submit("downloads", stream, work)
        self.counts["bytes down"] += len(target)

    def copy(self, stream: Any, target: int, source: int, nbytes: int, /) -> None:
        """Submit a copy; addresses tell the devices."""
        if not self.limits.peer_access and device_of(target) != device_of(source):
            raise SimulationError("memory is copied between devices that have no access to each other's")

        def work(memory: SimulatedMemory) -> None:
            self._memory_of(target).bytes_at(target, nbytes)[...] = self._memory_of(source).bytes_at(source, nbytes)

        self.submit("copies", stream, work)
        self.counts["bytes copied"] += nbytes

    def fill(self, stream: Any, target: int, byte: int, nbytes: int, /) -> None:
        """Submit the writing of one byte everywhere."""

        def work(memory: SimulatedMemory) -> None:
            memory.bytes_at(target, nbytes)[...] = byte

        self.submit("fills", stream, work)

    def launch(self, stream: Any, launch: Launch, /) -> None:
        """Submit what the program means."""
        self.submit("launches", stream, lambda memory: launch.program.meaning(memory, launch.arguments))
        kind, flops = of_launch(launch)
        if flops:
            self.flops[kind] += flops

    def gemm(self, stream: Any, call: Gemm, /) -> None:
        """Submit matrix products; what the libraries of devices refuse is refused."""
        self._takes("gemm", max(call.m, call.n, call.k, call.a_leading, call.b_leading, call.c_leading), call.matrices)
        check_gemm(call)
        self.submit("gemms", stream, lambda memory: multiply(memory, call))
        flops = 2 * call.m * call.n * call.k * call.matrices
        self.counts["flops"] += flops
        self.flops["products"] += flops

    def solver(self, stream: Any, call: Solver, scratch: Scratch, /) -> None:
        """Submit a routine of linear algebra; NumPy finds its workspaces itself."""
        self._takes("solver", 0, call.matrices)
        infos = self._watch.faults.info.get(call.routine, {})
        self.submit("solvers", stream, lambda memory: run_solver(memory, call, infos))
        self.flops["solvers"] += of_solver(call)

    def rest(self, ordinal: int, address: int, users: Sequence[Any], /) -> None:
        """Make memory unusable as soon as its users are done with it, if it is not used again by then."""
        with self._lock:
            memory, turn, scheduler = self._memories[ordinal], self._renewed[address], self._scheduler
            if not users:
                memory.rest(address, turn)
                return
            last = users[0]
            if len(users) > 1:
                last = scheduler.new_stream(ordinal)
                for user in users:
                    scheduler.wait(last, scheduler.record(user))
            scheduler.submit(last, lambda: memory.rest(address, turn))

    def renew(self, stream: Any, address: int, nbytes: int, /) -> None:
        """Make memory fresh, in the order of the stream."""
        with self._lock:
            self._renewed[address] += 1
            memory = self._memories[device_of(address)]
            self._scheduler.submit(stream, lambda: memory.renew(address, nbytes))

    def _memory_of(self, address: int) -> SimulatedMemory:
        ordinal = device_of(address)
        if not 0 <= ordinal < len(self._memories):
            raise SimulationError(f"{address:#x} is no address of a device")
        return self._memories[ordinal]

    def _takes(self, library: str, extent: int, matrices: int) -> None:
        """Refuse a call of a library that is missing, or does not take so much."""
        limits = self.limits
        if library in limits.missing:
            raise UnsupportedOperationError(f"{library}: this simulated device lacks the library", operation=library)
        if extent > limits.largest_extent or matrices > limits.largest_batch:
            raise SimulationError(
                f"{library}: {matrices} matrices of {extent}; the library takes {limits.largest_batch} of "
                f"{limits.largest_extent}"
            )

    def _call(self, kind: str, ordinal: int) -> None:
        """Count a call, which may be one that fails."""
        with self._lock:
            if ordinal >= self.limits.devices:
                raise PlacementError(f"sim:{ordinal}: there are {self.limits.devices} such devices now")
            self._watch.call(kind, ordinal)

    def submit(self, counted: str, stream: SimulatedStream, work: Callable[[SimulatedMemory], None]) -> None:
        """Submit work of a kind of calls, which are counted, and may be made to fail."""
        with self._lock:
            self._call(counted, stream.ordinal)
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
                self._used[ordinal, self._kinds.pop(address)] -= self._memories[ordinal].size_at(address)
                self._renewed.pop(address, None)
                self._memories[ordinal].release(address)
            else:
                staying.append((ordinal, address, events))
        self._leaving = staying
