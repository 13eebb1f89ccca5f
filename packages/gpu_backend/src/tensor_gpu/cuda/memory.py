"""Memory of devices of CUDA, of each kind: what CuPy's allocators give, kept until those who used it have run.

CuPy's modules come as arguments. Device memory is of a pool of CuPy's; pinned memory is the host's, which devices reach
at the same addresses; managed memory moves to whoever uses it. All numbers are bytes.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from tensor_core.errors import BackendError
from tensor_gpu.device.api import DeviceProperties
from tensor_gpu.device.pool import DeviceMemoryError
from tensor_runtime.placement import MemoryKind

NO_MEMORY: Final = 2
"""cudaErrorMemoryAllocation, which CuPy raises as an error of its own but for memory of its pools."""


class _Block(NamedTuple):
    pointer: Any  # which gives the memory back when nobody holds it
    nbytes: int
    kind: MemoryKind


class Memories:
    """What is allocated on all devices.

    >>> from unittest.mock import MagicMock
    >>> cuda, runtime = MagicMock(), MagicMock(CUDARuntimeError=OSError)
    >>> cuda.malloc_managed.return_value.ptr = 4096
    >>> device = DeviceProperties("one", 1 << 30, (9, 0), memory_kinds=(MemoryKind.Device, MemoryKind.Managed))
    >>> memories = Memories(cuda, runtime, "cuda", [device], None, None)
    >>> memories.allocate(MemoryKind.Managed, 0, 100)
    4096
    """

    def __init__(
        self,
        cuda: Any,
        runtime: Any,
        name: str,
        devices: Sequence[DeviceProperties],
        record: Callable[[Any], Any],
        passed: Callable[[Any], bool],
        /,
    ) -> None:
        """What is asked of others.

        Args:
            cuda: ``cupy.cuda``.
            runtime: ``cupy_backends.cuda.api.runtime``.
            name: the word by which the device kind is known.
            devices: what is known of them.
            record: an event after all that is submitted to a stream so far.
            passed: whether the stream has gone past an event.
        """
        self._cuda, self._runtime, self._name, self._devices = cuda, runtime, name, devices
        self._record, self._passed = record, passed
        self._pool = cuda.MemoryPool()
        self._live: list[dict[int, _Block]] = [{} for _ in devices]
        self._dropped: deque[tuple[int, int, Sequence[Any]]] = deque()
        self._leaving: list[tuple[int, int, list[Any]]] = []
        self._lock = threading.RLock()

    def allocate(self, kind: MemoryKind, ordinal: int, nbytes: int, /) -> int:
        """The address of memory; where there is none left, what is about to be released is waited for.

        Raises:
            DeviceMemoryError: there is none after that either.
            BackendError: a kind that the device lacks.
        """
        kinds = self._devices[ordinal].memory_kinds
        if kind not in kinds:
            there = ", ".join(one.name for one in kinds)
            raise BackendError(f"{self._name}:{ordinal} has no {kind.name} memory; it has {there}")
        with self._lock, self._cuda.Device(ordinal):
            self.collect(wait=False)
            try:
                pointer = self._taken(kind, nbytes)
            except MemoryError:
                self.collect(wait=True)
                self._pool.free_all_blocks()
                pointer = self._last_try(kind, ordinal, nbytes)
            address = int(pointer.ptr)
            self._live[ordinal][address] = _Block(pointer, nbytes, kind)
            return address

    def pin(self, nbytes: int, /) -> Any:
        """Pinned memory; raises MemoryError where there is none."""
        return self._taken(MemoryKind.PinnedHost, nbytes)

    def _taken(self, kind: MemoryKind, nbytes: int) -> Any:
        try:
            if kind is MemoryKind.Device:
                return self._pool.malloc(nbytes)
            if kind is MemoryKind.Managed:
                return self._cuda.malloc_managed(nbytes)
            return self._cuda.alloc_pinned_memory(nbytes)
        except self._runtime.CUDARuntimeError as error:
            if error.status != NO_MEMORY:
                raise
            raise MemoryError(str(error)) from error

    def _last_try(self, kind: MemoryKind, ordinal: int, nbytes: int) -> Any:
        try:
            return self._taken(kind, nbytes)
        except MemoryError as error:
            used, total = self.used(ordinal), self._devices[ordinal].memory_bytes
            of = "" if kind is MemoryKind.Device else f" of {kind.name} memory"
            raise DeviceMemoryError(
                f"{self._name}:{ordinal}: {nbytes} bytes{of} were asked for, {used} of {total} are in use: {error}",
                asked=nbytes,
                used=used,
                limit=total,
            ) from error

    def release(self, ordinal: int, address: int, users: Sequence[Any], /) -> None:
        """Take memory back when what its users were given has run. Collectors call this anywhere: it only notes."""
        self._dropped.append((ordinal, address, users))

    def used(self, ordinal: int, /) -> int:
        """What live arrays use of the memory of a device."""
        with self._lock:
            self.collect(wait=False)
            leaving = {address for device, address, _ in self._leaving if device == ordinal}
            return sum(
                block.nbytes
                for address, block in self._live[ordinal].items()
                if address not in leaving and block.kind is MemoryKind.Device
            )

    def collect(self, *, wait: bool) -> None:
        """Take back the memory that nobody will use any more."""
        while self._dropped:
            ordinal, address, users = self._dropped[0]
            self._leaving.append((ordinal, address, [self._record(user) for user in users]))
            self._dropped.popleft()
        for one in tuple(self._leaving):  # an interruption while it waits loses none of them
            ordinal, address, events = one
            if wait:
                for event in events:
                    event.synchronize()
            if all(map(self._passed, events)):
                self._leaving.remove(one)
                del self._live[ordinal][address]
