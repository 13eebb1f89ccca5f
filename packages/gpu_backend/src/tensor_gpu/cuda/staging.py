"""Host memory through which transfers go: devices read and write it by themselves, so it stays until they have.

Large transfers go in pieces, and no stream has much of this memory at a time: it is taken from every process,
and cannot be paged out. So the host waits for the first pieces of a large one. Nothing here reaches a device: whoever
makes a :class:`Staging` says how memory is pinned and points are noted.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Final, Generic, NamedTuple, Protocol, TypeVar

import numpy as np

from tensor_gpu.device.api import Stream
from tensor_gpu.device.pool import DeviceMemoryError

E = TypeVar("E")

PIECE: Final = 1 << 24
"""Bytes of a copy: at the 64 GB/s of the fastest slots it runs for 260 µs, many times what submitting it takes."""
MOST: Final = 4 * PIECE
"""Bytes of copies of a stream that have not run: the device has the next pieces while the host fills one."""

Submit = Callable[[int, int, int], None]
"""Submits the copy of a piece: the address of its host memory, where it begins in the whole, and its bytes."""


class Pinned(Protocol):
    """Host memory that has an address on devices."""

    ptr: int

    def __buffer__(self, flags: int, /) -> memoryview: ...


class _Piece(NamedTuple, Generic[E]):
    after: E  # the point in the stream behind the copy
    memory: Pinned
    nbytes: int
    target: memoryview | None  # of downloads


class _Queue(Generic[E]):
    """The pieces of one stream that have not landed, and their bytes."""

    def __init__(self) -> None:
        self.pieces: deque[_Piece[E]] = deque()
        self.nbytes = 0


class Staging(Generic[E]):
    """Pinned memory of transfers that have not run. ``E`` is a point in a stream.

    >>> class Memory(bytearray):
    ...     ptr = 0
    >>> ran, taken = [], bytearray(3)
    >>> staging = Staging(Memory, lambda stream: stream, lambda point: point in ran, ran.append)
    >>> staging.download("a stream", taken, lambda address, start, nbytes: None)
    >>> staging.land("a stream"), staging.streams()
    (None, ('a stream',))
    >>> ran.append("a stream")
    >>> staging.land("a stream"), staging.streams()
    (None, ())
    """

    def __init__(
        self,
        pin: Callable[[int], Pinned],
        record: Callable[[Stream], E],
        passed: Callable[[E], bool],
        wait: Callable[[E], object],
        /,
        *,
        piece: int = PIECE,
        most: int = MOST,
    ) -> None:
        """What is asked of the device.

        Args:
            pin: so many bytes of host memory; raises MemoryError where there are not so many.
            record: the point in a stream after all that is submitted so far.
            passed: whether a stream has gone past a point.
            wait: until it has.
            piece: bytes of a copy.
            most: bytes of copies of a stream that have not run.
        """
        self._pin, self._record, self._passed, self._wait = pin, record, passed, wait
        self._piece, self._most = piece, most
        self._waiting: dict[Stream, _Queue[E]] = {}
        self._lock = threading.RLock()

    def upload(self, stream: Stream, source: bytes | bytearray | memoryview, submit: Submit, /) -> None:
        """Submit a copy to the device of bytes that are taken now.

        Raises:
            DeviceMemoryError: there is no pinned memory, though no transfer has any.
        """
        given = np.frombuffer(source, np.uint8)
        for start in range(0, given.nbytes, self._piece):
            part = given[start : start + self._piece]
            memory = self._room(stream, part.nbytes)
            np.frombuffer(memoryview(memory), np.uint8, part.nbytes)[:] = part
            submit(memory.ptr, start, part.nbytes)
            self._keep(stream, memory, part.nbytes, None)

    def download(self, stream: Stream, target: bytearray | memoryview, submit: Submit, /) -> None:
        """Submit a copy from the device; ``land`` gives it to its target when it has run. Errors as for uploads."""
        whole = memoryview(target)
        for start in range(0, whole.nbytes, self._piece):
            part = whole[start : start + self._piece]
            memory = self._room(stream, part.nbytes)
            submit(memory.ptr, start, part.nbytes)
            self._keep(stream, memory, part.nbytes, part)

    def streams(self) -> tuple[Stream, ...]:
        """Those whose transfers have not landed."""
        return tuple(self._waiting)

    def land(self, stream: Stream, /) -> None:
        """Give downloads that have run to their targets, and the memory of transfers that have run back."""
        with self._lock:
            queue = self._waiting.get(stream)
            if queue is None:
                return
            while queue.pieces and self._passed(queue.pieces[0].after):
                _, memory, nbytes, target = queue.pieces.popleft()
                queue.nbytes -= nbytes
                if target is not None:
                    target[:] = np.frombuffer(memoryview(memory), np.uint8, nbytes).data
            if not queue.pieces:
                del self._waiting[stream]

    def _room(self, stream: Stream, nbytes: int) -> Pinned:
        """Memory for a piece; waits for those before it where they have too much, or there is none left."""
        while (queue := self._waiting.get(stream)) is not None and queue.nbytes + nbytes > self._most:
            self._let_land(stream)
        while True:
            try:
                return self._pin(nbytes)
            except MemoryError as error:
                busy = self.streams()
                if not busy:
                    raise DeviceMemoryError(
                        f"{nbytes} bytes of pinned memory of the host were asked for, and transfers hold none",
                        asked=nbytes,
                        used=0,
                        limit=None,
                    ) from error
                self._let_land(busy[0])

    def _let_land(self, stream: Stream) -> None:
        """Wait for the first piece of a stream, with no lock."""
        with self._lock:
            queue = self._waiting.get(stream)
            first = None if queue is None else queue.pieces[0].after
        if first is not None:
            self._wait(first)
            self.land(stream)

    def _keep(self, stream: Stream, memory: Pinned, nbytes: int, target: memoryview | None) -> None:
        with self._lock:
            piece = _Piece(self._record(stream), memory, nbytes, target)  # may fail, and leaves no empty queue then
            queue = self._waiting.setdefault(stream, _Queue())
            queue.pieces.append(piece)
            queue.nbytes += nbytes
            self.land(stream)
