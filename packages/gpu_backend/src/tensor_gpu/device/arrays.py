"""Arrays on a device: an allocation, and the address of the first element. Forms say all else."""

from __future__ import annotations

from collections import deque

from tensor_gpu.device.api import Stream
from tensor_gpu.device.pool import Pool
from tensor_runtime.form import Form
from tensor_runtime.placement import MemoryKind


class Allocation:
    """Memory of a device, given back when the last array in it is gone.

    ``writer`` is the stream in which it was last written, ``users`` those in which it was used since, the writer
    among them: whoever reads it waits for the writer, whoever writes it for all of them.
    """

    __slots__ = ("_pool", "address", "nbytes", "ordinal", "users", "writer")

    def __init__(self, pool: Pool, ordinal: int, nbytes: int, stream: Stream, form: Form | None = None) -> None:
        self.address = pool.take(nbytes, stream, form)
        self._pool = pool
        self.ordinal = ordinal
        self.nbytes = nbytes
        self.writer = stream  # what else used the memory is done for this one only
        self.users = {stream}

    @property
    def kind(self) -> MemoryKind:
        """The kind of memory."""
        return self._pool.kind

    def __del__(self) -> None:
        pool = getattr(self, "_pool", None)
        if pool is not None:  # allocating may have failed
            pool.give(self.address, self.users)


class ForeignAllocation(Allocation):
    """Memory of another library, of which a lease is held.

    ``stream`` is the one that waits for what the library wrote, and so stands for whoever wrote it. Its users are told
    to whoever drops leases, as the library may use the memory again at once.
    """

    __slots__ = ("_lease", "_leases")

    def __init__(
        self,
        *,
        ordinal: int,
        address: int,
        nbytes: int,
        stream: Stream,
        lease: object,
        leases: deque[tuple[object, tuple[Stream, ...]]],
    ) -> None:
        self.address = address
        self.ordinal = ordinal
        self.nbytes = nbytes
        self.writer = stream
        self.users = {stream}
        self._lease = lease
        self._leases = leases

    @property
    def kind(self) -> MemoryKind:
        """Memory of the device; other kinds are not borrowed."""
        return MemoryKind.Device

    def __del__(self) -> None:
        self._leases.append((self._lease, tuple(self.users)))


class DeviceArray:
    """An array that only this backend opens; every implicit way to the host is refused by having none."""

    __slots__ = ("address", "allocation", "itemsize")

    def __init__(self, allocation: Allocation, address: int, itemsize: int) -> None:
        self.allocation = allocation
        self.address = address
        self.itemsize = itemsize

    def moved(self, elements: int, /) -> DeviceArray:
        """The array whose first element lies so many elements further on."""
        return DeviceArray(self.allocation, self.address + elements * self.itemsize, self.itemsize)

    def __repr__(self) -> str:
        return f"DeviceArray(device {self.allocation.ordinal}, address {self.address:#x})"
