"""The order of what runs on one device: which stream, after what, and with which memory."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Final
from weakref import WeakSet

from tensor_core.errors import BackendError, PlacementError, TensorError
from tensor_gpu.device import parts
from tensor_gpu.device.api import DeviceApi, DeviceProperties, Gemm, Launch, Solver, Stream, threads_for
from tensor_gpu.device.arrays import Allocation, DeviceArray, ForeignAllocation
from tensor_gpu.device.notes import Notes
from tensor_gpu.device.pool import Pool
from tensor_gpu.device.program import Argument, Program
from tensor_gpu.device.provider import Contract, Provider
from tensor_gpu.device.providers import Providers
from tensor_gpu.tables.drivers import DriverTable, shipped
from tensor_runtime.form import Form
from tensor_runtime.placement import MemoryKind
from tensor_runtime.protocols import DEFERRED, RETOLD

_FILLED: Final = 0x7F
NO_NUMBER: Final = int.from_bytes(bytes([_FILLED] * 8), "little")
"""What a status word holds where nothing is refused: eight equal bytes, and no element's number."""
MANAGED_PART: Final = 8
"""Managed memory is at most this part of what is free on its device when it is first asked for, unless the user sets a
limit: whoever asks a driver for more than is free gets it, and pages that move to and fro, or a device that hangs."""
MOST_NOTES: Final = 512
"""Refusals that are noted in a stream before the host reads them by itself."""


def check_process(device: str, process: int, /) -> None:
    """Refuse a process that is a fork of the one that opened a device.

    Args:
        device: as errors name it.
        process: the number of the one that opened it.

    Raises:
        BackendError: it is one.

    >>> check_process("sim:0", os.getpid())
    """
    if os.getpid() != process:
        raise BackendError(
            f"{device}: a device cannot be used in a forked process; start it by spawn or forkserver, or use the "
            "device only after the fork"
        )


class Executor:
    """Submits work to the current stream of one device, after whatever it depends on.

    Work on one allocation is ordered whatever streams it came from: a stream that meets what another one wrote waits
    for it there, on the device; the host waits for nothing.

    >>> from tensor_gpu.sim.bench import Bench
    >>> executor = Bench().executor
    >>> executor.first_refused(executor.status()) is None
    True
    """

    def __init__(
        self,
        api: DeviceApi,
        ordinal: int,
        process: int | None = None,
        notes: Notes | None = None,
        providers: Providers | None = None,
        drivers: Callable[[int], DriverTable | None] = lambda ordinal: None,
    ) -> None:
        self.api = api
        self.ordinal = ordinal
        self.providers = providers or Providers(api.providers)
        self._drivers = drivers  # that the user gave, of a device
        self._usual = api.new_stream(ordinal)
        self._pools: dict[MemoryKind, Pool] = {}
        self._streams: WeakSet[Stream] = WeakSet((self._usual,))
        self._current: ContextVar[Stream | None] = ContextVar(f"tensor_gpu_stream_{ordinal}", default=None)
        self._notes = Notes() if notes is None else notes  # of all devices whose streams wait for each other
        self._leases: deque[tuple[object, tuple[Stream, ...]]] = deque()
        self._process = os.getpid() if process is None else process  # that opened the devices

    def __sizeof__(self) -> int:
        """By itself: the device and its memory are no part of a kernel that holds it."""
        return object.__sizeof__(self)

    def properties(self) -> DeviceProperties:
        """What the device is and can do.

        Raises:
            PlacementError: it is there no more.
        """
        devices = self.api.devices()
        if self.ordinal >= len(devices):
            raise PlacementError(f"{self.api.name}:{self.ordinal}: there are {len(devices)} such devices now")
        return devices[self.ordinal]

    @property
    def drivers(self) -> DriverTable:
        """Which routine decomposes which matrices: as the user said, else as shipped for devices like this one."""
        return self._drivers(self.ordinal) or shipped(self.properties().compute_capability)

    def check_process(self) -> None:
        """Refuse a process that is a fork of the one that opened the device: nothing of it can be used there.

        Raises:
            BackendError: it is one.
        """
        check_process(f"{self.api.name}:{self.ordinal}", self._process)

    def stream(self) -> Stream:
        """The stream to which work is submitted now; errors as for :meth:`check_process`."""
        self.check_process()
        current = self._current.get()
        return self._usual if current is None else current

    def pool(self, kind: MemoryKind, /) -> Pool:
        """The memory of a kind.

        Raises:
            PlacementError: the device has none.
        """
        found = self._pools.get(kind)
        if found is not None and kind is MemoryKind.Device:  # which every device has as long as it is there
            return found
        if kind not in (kinds := self.properties().memory_kinds):
            there = ", ".join(one.name for one in kinds)
            raise PlacementError(f"{self.api.name}:{self.ordinal} has no {kind.name} memory; it has {there}")
        if found is None:
            found = self._pools.setdefault(kind, Pool(self.api, self.ordinal, kind, self._first_limit(kind)))
        return found

    def _first_limit(self, kind: MemoryKind) -> int | None:
        if kind is not MemoryKind.Managed:
            return None
        return self.api.free(self.ordinal) // MANAGED_PART

    @contextmanager
    def using(self, stream: Stream, /) -> Iterator[None]:
        """Submit to another stream inside the ``with`` block, in this thread or task."""
        self.check_process()
        token = self._current.set(stream)
        try:
            yield
        finally:
            self._current.reset(token)

    def foreign(self, address: int, nbytes: int, first: int, itemsize: int, lease: object, /) -> DeviceArray:
        """Memory of another library from an address on, as an array whose first element lies at ``first``.

        The current stream waits for the library already; others wait for the current one. The lease is dropped when
        nobody holds the array, and what was submitted with it has run.
        """
        self.drop_leases()
        allocation = ForeignAllocation(
            ordinal=self.ordinal,
            address=address,
            nbytes=nbytes,
            stream=self.stream(),
            lease=lease,
            leases=self._leases,
        )
        return DeviceArray(allocation, first, itemsize)

    def drop_leases(self) -> None:
        """Give back memory of other libraries that nobody uses any more."""
        for _ in range(len(self._leases)):
            lease, users = self._leases.popleft()
            if not all(map(self.api.done, users)):
                self._leases.append((lease, users))

    def empty(self, form: Form, /) -> DeviceArray:
        """Memory for a compact tensor; whatever it held."""
        stream, pool = self.stream(), self.pool(form.placement.memory_kind)
        allocation = Allocation(pool, self.ordinal, form.nbytes, stream, form)
        return DeviceArray(allocation, allocation.address, form.dtype.itemsize)

    def scratch(self, nbytes: int, itemsize: int, /) -> DeviceArray:
        """Memory for what only launches see; whatever it held."""
        allocation = Allocation(self.pool(MemoryKind.Device), self.ordinal, nbytes, self.stream())
        return DeviceArray(allocation, allocation.address, itemsize)

    def launch(
        self,
        program: Program,
        size: int,
        arguments: Sequence[Argument],
        *,
        reads: Iterable[DeviceArray],
        writes: Iterable[DeviceArray],
    ) -> None:
        """Submit one run of a program with so many elements to work on; it reads and writes these arrays."""
        stream = self._ordered(reads, writes)
        self.api.launch(stream, Launch(program, *threads_for(size), tuple(arguments)))

    def gemm(self, call: Gemm, /, *, reads: Iterable[DeviceArray], writes: Iterable[DeviceArray]) -> None:
        """Submit matrix products that read and write these arrays."""
        stream, most = self._ordered(reads, writes), self.properties().largest_batch
        for part in (call,) if call.matrices <= most else parts.gemms(call, most):
            self.api.gemm(stream, part)

    def solver(self, call: Solver, /, *, writes: Iterable[DeviceArray]) -> None:
        """Submit a routine of linear algebra that reads and writes these arrays; its workspaces are from the pool."""
        stream, most = self._ordered((), writes), self.properties().largest_batch
        for part in (call,) if call.matrices <= most else parts.solvers(call, most):
            workspaces: list[DeviceArray] = []
            self.api.solver(stream, part, partial(self._workspace, workspaces))

    def contract(
        self,
        provider: Provider,
        call: Contract,
        a: DeviceArray,
        b: DeviceArray,
        c: DeviceArray,
        /,
    ) -> None:
        """Submit a contraction of a and b into c; its workspace is from the pool.

        Raises:
            BackendError: the provider cannot, whatever it raises; errors of our own are left as they are.
        """
        stream, workspaces = self._ordered((a, b), (c,)), list[DeviceArray]()
        addresses = a.address, b.address, c.address
        try:
            provider.contract(stream, call, addresses, partial(self._workspace, workspaces))
        except TensorError:
            raise
        except Exception as error:
            raise BackendError(
                f"{provider.name}: a contraction of {call.dtype.name} failed: {type(error).__name__}: {error}; "
                "providers.use('gemm') contracts without it"
            ) from error

    def _workspace(self, held: list[DeviceArray], nbytes: int) -> int:
        held.append(self.scratch(nbytes, 1))
        return held[-1].address

    def upload(self, target: DeviceArray, source: bytes | bytearray | memoryview, /) -> None:
        """Submit a copy from the host to memory without gaps."""
        self.api.upload(self._ordered((), (target,)), target.address, source)

    def download(self, source: DeviceArray, nbytes: int, /) -> bytearray:
        """Bytes of memory without gaps; waits for them, and raises what was refused before them."""
        found = self.read(source, nbytes)
        self._notes.tell(self.stream())
        return found

    def read(self, source: DeviceArray, nbytes: int, /) -> bytearray:
        """The same, whatever was refused: for what says whether something was, and why."""
        target = bytearray(nbytes)
        self.api.synchronize(self.begin_download(source, target))
        return target

    def begin_download(self, source: DeviceArray, target: bytearray | memoryview, /) -> Stream:
        """Submit a copy of memory without gaps into all of a buffer; the stream to which it was submitted."""
        stream = self._ordered((source,), ())
        self.api.download(stream, source.address, target)
        return stream

    def copy(self, target: DeviceArray, source: DeviceArray, nbytes: int, /) -> None:
        """Submit a copy between memories without gaps, of this device or another one."""
        self.api.copy(self._ordered((source,), (target,)), target.address, source.address, nbytes)

    def fill(self, target: DeviceArray, byte: int, nbytes: int, /) -> None:
        """Submit the writing of one byte everywhere in memory without gaps."""
        self.api.fill(self._ordered((), (target,)), target.address, byte, nbytes)

    def status(self) -> DeviceArray:
        """A status word, in which programs write the smallest index of an element that they refuse."""
        word = self.scratch(8, 8)
        self.fill(word, _FILLED, 8)
        return word

    def first_refused(self, status: DeviceArray, /) -> int | None:
        """What a status word says; None where nothing was refused. Waits for it; raises what was refused before."""
        found = self._number_in(status)
        if found is not None:
            self._notes.tell(self.stream())
        return found

    def _number_in(self, status: DeviceArray) -> int | None:
        found = int.from_bytes(self.read(status, 8), "little")
        return None if found == NO_NUMBER else found

    def new_stream(self, handle: int | None = None, /) -> Stream:
        """Another stream of the device: a new one, or another library's of this handle."""
        self.stream()
        stream = self.api.new_stream(self.ordinal) if handle is None else self.api.stream_of(self.ordinal, handle)
        self._streams.add(stream)
        return stream

    def synchronize(self) -> None:
        """Wait for every stream of the device; raises the first refusal that was noted."""
        self.stream()
        for stream in tuple(self._streams):
            self.api.synchronize(stream)
        self.drop_leases()
        for stream in self._notes.streams(self._streams):
            self._notes.tell(stream)

    def defers(self) -> bool:
        """Whether refusals of values are to be noted, not raised."""
        return DEFERRED.get()

    def refuse(self, status: DeviceArray, error: Callable[[int], TensorError], /) -> None:
        """Raise the error of the number in a status word, if there is one: now, or where refusals are deferred, late.

        Args:
            status: the word.
            error: from the number of the element that is refused to what is raised.
        """
        if self.defers():
            self.note(status, error)
            return
        position = self.first_refused(status)
        if position is not None:
            raise error(position)

    def note(self, status: DeviceArray, error: Callable[[int], TensorError], /) -> None:
        """Note a status word of the current stream, to be read when somebody waits for it; as :meth:`refuse`."""
        stream, retold = self.stream(), RETOLD.get()

        def found() -> TensorError | None:
            with self.using(stream):  # where the word was written, so that no other stream has to wait
                position = self._number_in(status)
                return None if position is None else retold(error(position))

        self._notes.add(stream, found)
        if self._notes.count(stream) > MOST_NOTES:
            self._notes.tell(stream)

    def wait(self, stream: Stream, /) -> None:
        """Wait for one stream; raises the first refusal that was noted in it, or in what it waited for."""
        self.check_process()
        self.api.synchronize(stream)
        self._notes.tell(stream)

    def _ordered(self, reads: Iterable[DeviceArray], writes: Iterable[DeviceArray]) -> Stream:
        stream = self.stream()
        read = [array.allocation for array in reads]
        written = [array.allocation for array in writes]
        others = {one.writer for one in read}
        others.update(*(one.users for one in written))
        others.discard(stream)
        for other in others:
            self.api.wait(stream, self.api.record(other))
            self._notes.follow(stream, other)
        for allocation in read:
            allocation.users.add(stream)
        for allocation in written:
            allocation.writer = stream
            allocation.users = {stream}
        return stream
