"""Memory lent to other libraries through DLPack capsules, for the standard library alone.

A capsule lends memory until its consumer calls the deleter in it. That may happen on any thread, without the
interpreter lock, or while an exception is under way, and no function of Python may run then: one that does loses the
exception. So the deleter is ``time`` of the C library, which writes the time of day over the first field of the
structure that it is given. What came back, or was never taken, is let go at the next export or the next run of Python's
garbage collector.
"""

from __future__ import annotations

import gc
import sys
from operator import index

from tensor_core.dtypes import DType
from tensor_core.errors import ArgumentError, ExchangeError, shortened
from tensor_core.host.storage import Storage
from tensor_core.layout import TensorLayout, is_injective
from tensor_core.static_types import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from tensor_core.host.dlpack import structures

HOST: Final = (1, 0)
"""DLPack's name of the host's memory: a kind of device, and a number."""


def must_copy(
    strides: tuple[int, ...],
    *,
    readonly: bool,
    stream: object,
    max_version: object,
    dl_device: object,
    copy: object,
) -> bool:
    """Whether what a consumer asks for is a copy.

    Memory is shared where it can be. It cannot be where a stride is negative, which stops other libraries (PyTorch ends
    the process), nor where elements must not be written and the consumer is too old to be told so (before DLPack 1.0).

    Args:
        strides: of the tensor, in elements.
        readonly: whether the tensor's elements must not be written.
        stream, max_version, dl_device, copy: as given to ``__dlpack__``.

    Raises:
        ExchangeError: ``copy=False`` and it takes one, or another device is asked for.
        ArgumentError: an argument that the protocol does not know.

    Source: the array API standard 2024.12, ``array.__dlpack__``.

    >>> must_copy((1, -2), readonly=False, stream=None, max_version=(1, 0), dl_device=None, copy=None)
    True
    """
    if stream is not None:
        raise ArgumentError(f"dlpack: found the stream {shortened(stream)}; accepted: None, the host has no streams")
    if dl_device is not None and _pair("dl_device", dl_device) != HOST:
        raise ExchangeError(
            f"dlpack: the memory is the host's, {HOST}, and device {shortened(dl_device)} is asked for; nothing is "
            "moved silently: exchange first, then move"
        )
    if not any(copy is one for one in (None, True, False)):
        raise ArgumentError(f"dlpack: found copy={shortened(copy)}; accepted: None, True, False")
    unversioned = is_unversioned(max_version)
    reason = (
        f"strides {strides} run backwards, which other libraries do not take"
        if any(stride < 0 for stride in strides)
        else "the elements are read-only, which a consumer before DLPack 1.0 (no max_version) cannot be told"
        if readonly and unversioned
        else ""
    )
    if reason and copy is False:
        raise ExchangeError(f"dlpack: {reason}, so it takes a copy, and copy=False; pass copy=None", strides=strides)
    return bool(reason) or copy is True


def _pair(name: str, value: Any) -> tuple[int, int]:
    try:
        first, second = map(index, value)
        return first, second
    except (TypeError, ValueError):
        raise ArgumentError(f"dlpack: found {name}={shortened(value)}; accepted: a pair of integers") from None


def is_unversioned(max_version: object, /) -> bool:
    """Whether a consumer that names this newest version gets the structure from before DLPack 1.0.

    >>> is_unversioned(None), is_unversioned((0, 8)), is_unversioned((1, 0))
    (True, True, False)
    """
    return max_version is None or _pair("max_version", max_version) < (1, 0)


def export_capsule(storage: Storage, layout: TensorLayout, /, *, unversioned: bool, copied: bool = False) -> object:
    """A DLPack capsule of a layout over a storage; the memory is shared and kept alive.

    Args:
        unversioned: a structure from before DLPack 1.0, which has no flags.
        copied: whether the memory was copied for this exchange, for the flags.

    Source: DLPack 1.1, its Python specification.

    >>> from tensor_core.dtypes import F64
    >>> export_capsule(Storage.zeros(F64, 3), TensorLayout((3,)), unversioned=False)  # doctest: +ELLIPSIS
    <capsule object "dltensor_versioned" at ...>
    """
    from tensor_core.host.dlpack import structures

    c: Any = structures
    buffer = c.Buffer()
    c.get_buffer(storage.raw, c.ctypes.byref(buffer), 0)
    first = buffer.address + (layout.offset * storage.dtype.itemsize if layout.size else 0)
    readonly = storage.readonly or not is_injective(layout)
    flags = (c.READ_ONLY if readonly else 0) | (c.IS_COPIED if copied else 0)
    return _lent(_Loan(storage.dtype, layout, first, HOST, 0 if unversioned else flags, unversioned, buffer, None, c))


def export_device_capsule(
    dtype: DType,
    layout: TensorLayout,
    first: int,
    device: tuple[int, int],
    owner: object,
    /,
    *,
    unversioned: bool,
    copied: bool = False,
) -> object:
    """A DLPack capsule of memory of a device, whose owner is kept alive.

    Args:
        dtype: of the elements.
        layout: shape and strides.
        first: address of the first element.
        device: DLPack's name of the device.
        owner: what the memory belongs to.
        unversioned: as for :func:`export_capsule`.
        copied: as for :func:`export_capsule`.

    >>> from tensor_core.dtypes import F64
    >>> export_device_capsule(F64, TensorLayout((3,)), 1 << 40, (2, 0), None, unversioned=True)  # doctest: +ELLIPSIS
    <capsule object "dltensor" at ...>
    """
    from tensor_core.host.dlpack import structures as c

    readonly = not is_injective(layout)
    flags = (c.READ_ONLY if readonly else 0) | (c.IS_COPIED if copied else 0)
    return _lent(_Loan(dtype, layout, first, device, 0 if unversioned else flags, unversioned, None, owner, c))


def _lent(loan: _Loan) -> object:
    _collect()
    capsule = loan.capsule  # held here as well, or a collection in another thread takes it for abandoned
    _LOANS.append(loan)
    if _on_collection not in gc.callbacks:
        gc.callbacks.append(_on_collection)
    return capsule


class _Loan:
    """Structures that a consumer reads, and what holds the memory that they point to: a buffer, or its owner."""

    __slots__ = ("arrays", "buffer", "c", "capsule", "first", "managed", "owner", "written")

    def __init__(
        self,
        dtype: DType,
        layout: TensorLayout,
        address: int,
        device: tuple[int, int],
        flags: int,
        unversioned: bool,
        buffer: Any,
        owner: object,
        c: Any,
    ) -> None:
        ctypes, rank = c.ctypes, layout.rank
        self.c, self.buffer, self.owner = c, buffer, owner
        extents = ctypes.c_int64 * max(rank, 1)  # ctypes gives empty arrays no memory
        self.arrays = extents(*layout.shape), extents(*layout.strides)
        self.managed = (c.Unversioned if unversioned else c.Versioned)()
        self.managed.deleter = ctypes.cast(c.time, ctypes.c_void_p)
        if not unversioned:
            self.managed.major, self.managed.minor = c.VERSION
            self.managed.flags = flags
        info: structures.TensorInfo = self.managed.tensor
        info.data, info.device, info.rank = address, c.Device(*device), rank
        info.dtype = c.ElementType(*c.ELEMENT_TYPES[dtype])
        info.shape, info.strides = (ctypes.cast(array, ctypes.POINTER(ctypes.c_int64)) for array in self.arrays)
        place = ctypes.addressof(self.managed)
        self.first = ctypes.c_uint64.from_address(place)  # of the structure: a version, or an address
        self.written = self.first.value
        self.capsule: Any = c.new_capsule(place, c.UNVERSIONED if unversioned else c.VERSIONED, None)

    def is_over(self) -> bool:
        """Whether the consumer called the deleter, or nobody holds a capsule that nobody took."""
        if self.first.value != self.written:
            return True
        return sys.getrefcount(self.capsule) == 2 and self.c.name_of(self.capsule) in (
            self.c.VERSIONED,
            self.c.UNVERSIONED,
        )

    def end(self) -> None:
        """Let go of the memory."""
        if self.buffer is not None:
            self.c.release_buffer(self.c.ctypes.byref(self.buffer))
        self.owner = None


_LOANS: Final[list[_Loan]] = []


def _collect() -> None:
    for loan in tuple(_LOANS):
        if loan.is_over():
            try:
                _LOANS.remove(loan)
            except ValueError:  # another thread, or a collection in the midst of this one, was faster
                continue
            loan.end()


def _on_collection(phase: str, info: dict[str, int]) -> None:
    if phase == "stop" and _LOANS:
        _collect()
