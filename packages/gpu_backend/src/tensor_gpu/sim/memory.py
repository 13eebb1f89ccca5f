"""The memory of a simulated device: addresses of its own, and what finds those who use them wrongly.

Fresh memory holds 0xCD, released memory 0xDD, and 0xA5 stands before and behind each allocation; released memory rests
for a while before it is used again. So whoever reads what nobody wrote, or what is gone, gets numbers that are wrong at
sight, and whoever writes beside an allocation is found when it is released.
"""

from __future__ import annotations

import mmap
from bisect import bisect_right, insort
from collections import deque
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from tensor_core.dtypes import DType
from tensor_gpu.sim.errors import SimulationError

BASE: Final = 1 << 45  # where addresses of device 0 begin; a process under a sanitizer can have memory there
ALIGNMENT: Final = 256
GUARD: Final = 256  # bytes before and behind an allocation
FRESH, RELEASED, GUARDS = 0xCD, 0xDD, 0xA5
RESTING: Final = 1 << 20  # bytes that are released and not used again yet, at least

Bytes = np.ndarray[Any, np.dtype[np.uint8]]


class SimulatedMemory:
    """So many bytes of one device, at addresses that nothing on the host has.

    >>> memory = SimulatedMemory(0, 1 << 20)
    >>> address = memory.allocate(16)
    >>> hex(address >> 45), memory.bytes_at(address, 16)[0].item() == FRESH
    ('0x1', True)
    >>> memory.bytes_at(address, 17)
    Traceback (most recent call last):
    tensor_gpu.sim.errors.SimulationError: bytes 0 to 16 of an allocation of 16 bytes on device 0 are used
    """

    def __init__(self, ordinal: int, capacity: int) -> None:
        self.ordinal = ordinal
        self.capacity = capacity
        self.used = 0
        self._base = (ordinal + 1) * BASE
        self._arena: Bytes = np.frombuffer(mmap.mmap(-1, capacity), np.uint8)  # pages appear as they are touched
        self._holes = [(0, capacity)]  # offset and size, in order
        self._starts: list[int] = []  # of live allocations, in order
        self._live: dict[int, int] = {}  # bytes that may be used, by offset
        self._rooms: dict[int, int] = {}  # bytes of blocks, live ones and idle ones, by offset
        self._turns: dict[int, int] = {}  # how often a block was used again
        self._resting: deque[tuple[int, int]] = deque()
        self._resting_bytes = 0

    def allocate(self, nbytes: int, /) -> int:
        """The address of so many bytes, of 0xCD.

        Raises:
            MemoryError: no hole is so large.
        """
        size = _with_guards(nbytes)
        start = self._hole(size)
        while start is None and self._resting:
            self._wake()
            start = self._hole(size)
        if start is None:
            raise MemoryError(
                f"device {self.ordinal} of {self.capacity} bytes has no {nbytes} bytes left; {self.used} are in use"
            )
        offset = start + GUARD
        self._arena[start:offset] = GUARDS
        self._rooms[offset] = nbytes
        self._turns[offset] = 0
        self._begin(offset, nbytes)
        self.used += nbytes
        return self._base + offset

    def rest(self, address: int, turn: int, /) -> None:
        """Make a block unusable that waits for its next use, after so many; nothing, if that has begun or it is gone.

        Raises:
            SimulationError: somebody wrote beside it.
        """
        offset = address - self._base
        if self._turns.get(offset) == turn and offset in self._live:
            self._end(offset)

    def renew(self, address: int, nbytes: int, /) -> None:
        """Begin the next use of a block, by so many bytes: they are fresh, and those after them are guards.

        Raises:
            SimulationError: it has not so many, or somebody wrote beside it.

        >>> memory = SimulatedMemory(0, 1 << 20)
        >>> address = memory.allocate(512)
        >>> memory.rest(address, 0)
        >>> memory.allocation_of(address) is None
        True
        >>> memory.renew(address, 300)
        >>> memory.allocation_of(address) == (address, 300)
        True
        """
        offset = address - self._base
        if nbytes > self._rooms[offset]:
            raise SimulationError(f"a block of {self._rooms[offset]} bytes is used again for {nbytes}")
        if offset in self._live:
            self._end(offset)
        self._turns[offset] += 1
        self._begin(offset, nbytes)

    def _begin(self, offset: int, nbytes: int) -> None:
        end = offset - GUARD + _with_guards(self._rooms[offset])
        self._arena[offset : offset + nbytes] = FRESH
        self._arena[offset + nbytes : end] = GUARDS
        insort(self._starts, offset)
        self._live[offset] = nbytes

    def _end(self, offset: int) -> None:
        nbytes = self._live.pop(offset)
        self._starts.remove(offset)
        start, end = offset - GUARD, offset - GUARD + _with_guards(self._rooms[offset])
        intact = (self._arena[start:offset] == GUARDS).all() and (self._arena[offset + nbytes : end] == GUARDS).all()
        self._arena[offset:end] = RELEASED
        if not intact:
            raise SimulationError(f"bytes beside an allocation of {nbytes} bytes on device {self.ordinal} were written")

    def release(self, address: int, /) -> None:
        """Take an allocation back.

        Raises:
            SimulationError: there is none at the address, or somebody wrote beside it.
        """
        offset = address - self._base
        room = self._rooms.get(offset)
        if room is None:
            raise SimulationError(f"{address:#x} is released, where no allocation of device {self.ordinal} begins")
        try:
            if offset in self._live:
                self._end(offset)
        finally:
            del self._rooms[offset], self._turns[offset]
            self.used -= room
            start, size = offset - GUARD, _with_guards(room)
            self._arena[start : start + size] = RELEASED
            self._resting.append((start, size))
            self._resting_bytes += size
            while self._resting_bytes > RESTING:
                self._wake()

    def size_at(self, address: int, /) -> int:
        """Bytes of the block that begins at an address."""
        return self._rooms[address - self._base]

    def allocation_of(self, address: int, /) -> tuple[int, int] | None:
        """Where the live allocation begins in which an address lies, and how many bytes it has; None where none is.

        >>> memory = SimulatedMemory(0, 1 << 20)
        >>> start = memory.allocate(8)
        >>> memory.allocation_of(start + 7) == (start, 8), memory.allocation_of(start + 8)
        (True, None)
        """
        offset = address - self._base
        place = bisect_right(self._starts, offset) - 1
        if place < 0:
            return None
        start = self._starts[place]
        nbytes = self._live[start]
        return (self._base + start, nbytes) if offset < start + nbytes else None

    def bytes_at(self, address: int, nbytes: int, /) -> Bytes:
        """Bytes of one live allocation.

        Raises:
            SimulationError: they are not within one.
        """
        first = self._within(address, 0, nbytes)
        return self._arena[first : first + nbytes]

    def view(self, address: int, dtype: DType, shape: Sequence[int], strides: Sequence[int], /) -> np.ndarray[Any, Any]:
        """Elements of one live allocation, from the first one's address; strides count elements.

        Raises:
            SimulationError: an element is not within one, or not where elements of this size may lie.
        """
        itemsize = dtype.itemsize
        steps = [stride * itemsize for stride in strides]
        low = high = 0
        for extent, step in zip(shape, steps, strict=True):
            reach = (extent - 1) * step
            low, high = low + min(reach, 0), high + max(reach, 0)
        empty = 0 in shape
        if address % min(itemsize, 16) and not empty:
            raise SimulationError(f"{address:#x} is no place for elements of {dtype.name}")
        offset = 0 if empty else self._within(address, low, high + itemsize)
        return np.ndarray(tuple(shape), dtype.numpy_name, self._arena.data, offset, tuple(steps))

    def _within(self, address: int, low: int, end: int) -> int:
        """The offset of an address, if bytes ``low`` to ``end`` from there are those of one live allocation."""
        offset = address - self._base
        place = bisect_right(self._starts, offset + low) - 1
        if place < 0:
            raise SimulationError(f"{address:#x} is no address of device {self.ordinal}")
        start = self._starts[place]
        nbytes = self._live[start]
        if offset + end > start + nbytes:
            if offset + low >= start + nbytes:
                raise SimulationError(f"{address:#x} on device {self.ordinal} is in no live allocation")
            raise SimulationError(
                f"bytes {offset + low - start} to {offset + end - start - 1} of an allocation of {nbytes} bytes on "
                f"device {self.ordinal} are used"
            )
        return offset

    def _hole(self, size: int) -> int | None:
        for place, (start, room) in enumerate(self._holes):
            if room >= size:
                if room == size:
                    del self._holes[place]
                else:
                    self._holes[place] = (start + size, room - size)
                return start
        return None

    def _wake(self) -> None:
        """Make what has rested longest a hole again, one with its neighbours."""
        start, size = self._resting.popleft()
        self._resting_bytes -= size
        place = bisect_right(self._holes, (start, size))
        self._holes.insert(place, (start, size))
        for left in (place, place - 1):
            if 0 <= left < len(self._holes) - 1:
                (first, room), (second, more) = self._holes[left : left + 2]
                if first + room == second:
                    self._holes[left : left + 2] = [(first, room + more)]


def _with_guards(nbytes: int) -> int:
    return 2 * GUARD + -(-nbytes // ALIGNMENT) * ALIGNMENT


def device_of(address: int, /) -> int:
    """The number of the device that an address is of.

    >>> device_of(SimulatedMemory(3, 1 << 20).allocate(8))
    3
    """
    return address // BASE - 1
