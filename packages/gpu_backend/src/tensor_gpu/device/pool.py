"""Memory of one kind on one device, kept when arrays are gone, for the next of about the same size.

What is kept remembers the streams that used it. The stream that asks gets memory that it used itself, whose work is in
order anyway, or that whose streams are done; before memory runs out it also gets what others still use, and waits for
them on the device. The host waits for nothing. Nothing here touches memory. All numbers are bytes.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Set
from typing import Final

from tensor_core.errors import ArgumentError, shortened
from tensor_gpu.device.api import DeviceApi, Stream
from tensor_runtime.dispatch.arguments import whole
from tensor_runtime.form import Form
from tensor_runtime.locks import fork_safe_lock
from tensor_runtime.placement import MemoryKind, MemoryUse

UNIT: Final = 256
LARGE: Final = 1 << 26
LARGE_UNIT: Final = 1 << 21
"""Large blocks are whole numbers of these, the pages of devices; an eighth of them would be too much to waste."""
HOLDERS: Final = 3  # that an error names


class DeviceMemoryError(MemoryError):
    """There is not so much memory on a device; ``fields`` says it for programs."""

    def __init__(self, message: str, **fields: object) -> None:
        super().__init__(message)
        self.fields = fields


def room_for(nbytes: int, /) -> int:
    """The size of the block for so many bytes: at most an eighth more, or 256 bytes.

    >>> room_for(0), room_for(257), room_for(5000), room_for(1 << 20), room_for((1 << 30) + 1) - (1 << 30)
    (256, 512, 5120, 1048576, 2097152)
    """
    unit = LARGE_UNIT if nbytes >= LARGE else max(UNIT, 1 << max(nbytes.bit_length() - 4, 0))
    return max(-(-nbytes // unit), 1) * unit


class Pool:
    """The memory of one kind on one device.

    >>> from tensor_gpu.sim.api import SimulatedApi
    >>> api = SimulatedApi(devices=1, memory_bytes=1 << 20)
    >>> pool, stream = Pool(api, 0, MemoryKind.Device), api.new_stream(0)
    >>> address = pool.take(1000, stream)
    >>> pool.give(address, {stream})
    >>> pool.stats().kept, pool.take(900, stream) == address
    (1024, True)
    """

    def __init__(self, api: DeviceApi, ordinal: int, kind: MemoryKind, limit: int | None = None) -> None:
        self.name = f"{api.name}:{ordinal}" + ("" if kind is MemoryKind.Device else f" ({kind.name})")
        self.kind = kind
        self._api, self._ordinal = api, ordinal
        self._limit = self._usual_limit = limit
        self._live: dict[int, tuple[int, int, Form | None]] = {}  # size, bytes asked for and for what, by address
        self._idle: dict[int, list[tuple[int, Set[Stream]]]] = {}  # addresses and users by size, the latest at the end
        self._used = self._peak = self._allocations = 0
        self._taken = self._kept = 0  # sizes of blocks, which are larger than what was asked for
        self._dropped: deque[tuple[int, Set[Stream]]] = deque()
        self._lock = fork_safe_lock()

    def take(self, nbytes: int, stream: Stream, form: Form | None = None, /) -> int:
        """The address of memory for what is submitted to a stream from now on; whatever it held.

        Args:
            nbytes: that are needed.
            stream: which uses it first; every other one has to wait for that.
            form: of what is to lie there, for who asks where memory went; None for a workspace.

        Raises:
            DeviceMemoryError: there is no more, though all that was kept has been given back.
        """
        room = room_for(nbytes)
        with self._lock:
            self._settle()
            address = self._again(room, stream, waits=False)
            fresh = address is None
            if address is None:
                address = self._fresh(room)
            if address is None:
                address, fresh = self._again(room, stream, waits=True), False
            if address is None:
                self._give_back()
                address, fresh = self._fresh(room), True
            if address is None:
                raise self._lacking(nbytes)
            if nbytes != room or not fresh:
                self._api.renew(stream, address, nbytes)
            self._live[address] = room, nbytes, form
            self._used += nbytes
            self._taken += room
            if self._used > self._peak:
                self._peak = self._used
            self._allocations += 1
            return address

    def give(self, address: int, users: Set[Stream], /) -> None:
        """Take memory back, which these streams used; called wherever the collector runs, so it is noted only."""
        self._dropped.append((address, users))

    def stats(self) -> MemoryUse:
        """What arrays use, what is kept, the most that both may be, the most that was used, and how many asked."""
        with self._lock:
            self._settle()
            return MemoryUse(self._used, self._kept, self.limit, self._peak, self._allocations)

    def reset_peak(self) -> None:
        """Count the most that is used from now on.

        >>> from tensor_gpu.sim.api import SimulatedApi
        >>> api = SimulatedApi()
        >>> pool = Pool(api, 0, MemoryKind.Device)
        >>> pool.give(pool.take(1000, api.new_stream(0)), set())
        >>> pool.reset_peak()
        >>> pool.stats().peak
        0
        """
        with self._lock:
            self._settle()
            self._peak = self._used

    @property
    def limit(self) -> int | None:
        """The most that is taken: what the user set, else all that the device has; of the host's memory, None.

        No work of the device is looked at.
        """
        if self._limit is None and self.kind is MemoryKind.Device:
            return self._api.capacity(self._ordinal)
        return self._limit

    def set_limit(self, limit: int | None, /) -> None:
        """Take at most so much from the device; what is kept beyond it is given back at once.

        Args:
            limit: None is what it was at first. Less than is in use refuses the next array.

        Raises:
            ArgumentError: no int of 0 or more.
        """
        if limit is not None and whole("pool.set_limit", "limit", limit) < 0:
            raise ArgumentError(
                f"pool.set_limit: limit is {shortened(limit)}; accepted: None, and an int of 0 or more",
                operation="pool.set_limit",
            )
        with self._lock:
            self._settle()
            self._limit = self._usual_limit if limit is None else limit
            if limit is not None and self._taken + self._kept > limit:
                self._give_back()

    def clear(self) -> None:
        """Give everything that is kept back to the device."""
        with self._lock:
            self._settle()
            self._give_back()

    def _settle(self) -> None:
        """Keep what arrays gave back since."""
        while self._dropped:
            address, users = self._dropped.popleft()
            room, nbytes, _ = self._live.pop(address)
            self._used -= nbytes
            self._taken -= room
            self._kept += room
            self._api.rest(self._ordinal, address, tuple(users))
            self._idle.setdefault(room, []).append((address, users))

    def _again(self, room: int, stream: Stream, *, waits: bool) -> int | None:
        """The address of a block that is kept; None where there is none, or none without waiting."""
        blocks = self._idle.get(room, ())
        for place in range(len(blocks) - 1, -1, -1):
            address, users = blocks[place]
            others = () if len(users) == 1 and stream in users else users - {stream}
            if waits or all(map(self._api.done, others)):
                for other in others:
                    self._api.wait(stream, self._api.record(other))
                self._kept -= room
                del self._idle[room][place]
                return address
        return None

    def _fresh(self, room: int) -> int | None:
        if self._limit is not None and self._taken + self._kept + room > self._limit:
            return None
        try:
            if self.kind is MemoryKind.Device:
                return self._api.allocate(self._ordinal, room)
            return self._api.allocate_in(self.kind, self._ordinal, room)
        except MemoryError:
            return None

    def _give_back(self) -> None:
        for room, blocks in self._idle.items():
            while blocks:
                address, users = blocks.pop()
                self._kept -= room
                self._api.release(self._ordinal, address, tuple(users))
        self._idle.clear()

    def _lacking(self, nbytes: int) -> DeviceMemoryError:
        held = Counter((asked, form) for _, asked, form in self._live.values())
        largest = sorted(held.items(), key=lambda one: one[0][0] * one[1], reverse=True)[:HOLDERS]
        told = "; ".join(
            f"{count} × {asked} bytes for {'a workspace' if form is None else form}" for (asked, form), count in largest
        )
        limit = self.limit
        most = "" if limit is None else f" of {limit}"
        return DeviceMemoryError(
            f"{self.name}: {nbytes} bytes were asked for, {self._used}{most} are in use"
            + (f", the most by {told}" if told else ""),
            asked=nbytes,
            used=self._used,
            limit=limit,
            largest=tuple((asked * count, form) for (asked, form), count in largest),
        )
