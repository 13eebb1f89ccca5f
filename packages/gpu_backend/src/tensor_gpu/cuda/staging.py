"""Host memory through which transfers go: devices read and write it by themselves, so it stays until they have.

Nothing here reaches a device: whoever makes a :class:`Staging` says how memory is pinned and points are noted.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Generic, NamedTuple, Protocol, TypeVar

import numpy as np

from tensor_gpu.device.api import Stream

E = TypeVar("E")

Submit = Callable[[int, int, int], None]
"""Submits the copy of a piece: the address of its host memory, where it begins in the whole, and its bytes."""


class Pinned(Protocol):
    """Host memory that has an address on devices."""

    ptr: int

    def __buffer__(self, flags: int, /) -> memoryview: ...


class _Piece(NamedTuple, Generic[E]):
    after: E  # the point in the stream behind the copy
    memory: Pinned
    target: memoryview | None  # of downloads


class Staging(Generic[E]):
    """Pinned memory of transfers that have not run. ``E`` is a point in a stream.

    >>> class Memory(bytearray):
    ...     ptr = 0
    >>> ran, taken = [], bytearray(3)
    >>> staging = Staging(Memory, lambda stream: stream, lambda point: point in ran)
    >>> staging.download("a stream", taken, lambda address, start, nbytes: None)
    >>> staging.land("a stream"), staging.streams()
    (None, ('a stream',))
    >>> ran.append("a stream")
    >>> staging.land("a stream"), staging.streams()
    (None, ())
    """

    def __init__(
        self, pin: Callable[[int], Pinned], record: Callable[[Stream], E], passed: Callable[[E], bool]
    ) -> None:
        """What is asked of the device.

        Args:
            pin: so many bytes of host memory.
            record: the point in a stream after all that is submitted so far.
            passed: whether a stream has gone past a point.
        """
        self._pin, self._record, self._passed = pin, record, passed
        self._waiting: dict[Stream, deque[_Piece[E]]] = {}
        self._lock = threading.RLock()

    def upload(self, stream: Stream, source: bytes | bytearray | memoryview, submit: Submit, /) -> None:
        """Submit a copy to the device of bytes that are taken now."""
        given = np.frombuffer(source, np.uint8)
        memory = self._pin(given.nbytes)
        np.frombuffer(memoryview(memory), np.uint8, given.nbytes)[:] = given
        submit(memory.ptr, 0, given.nbytes)
        self._keep(stream, memory, None)

    def download(self, stream: Stream, target: bytearray, submit: Submit, /) -> None:
        """Submit a copy from the device; ``land`` gives it to its target when it has run."""
        memory = self._pin(len(target))
        submit(memory.ptr, 0, len(target))
        self._keep(stream, memory, memoryview(target))

    def streams(self) -> tuple[Stream, ...]:
        """Those whose transfers have not landed."""
        return tuple(self._waiting)

    def land(self, stream: Stream, /) -> None:
        """Give downloads that have run to their targets, and the memory of transfers that have run back."""
        with self._lock:
            waiting = self._waiting.get(stream, deque())
            while waiting and self._passed(waiting[0].after):
                _, memory, target = waiting.popleft()
                if target is not None:
                    target[:] = np.frombuffer(memoryview(memory), np.uint8, target.nbytes).data
            if not waiting:
                self._waiting.pop(stream, None)

    def _keep(self, stream: Stream, memory: Pinned, target: memoryview | None) -> None:
        with self._lock:
            self._waiting.setdefault(stream, deque()).append(_Piece(self._record(stream), memory, target))
            self.land(stream)
