"""Descriptors of memory that others lend: DLPack's structures, NumPy's array interface, buffers.

A descriptor is a few numbers that somebody else wrote. It is accepted exactly when a tensor can stand for what it
describes, by the rules of its protocol and unbounded integers; what is refused is refused by an error of our tree.
Elements are read only where the descriptor stays within the memory that was lent.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from random import Random
from typing import Any, Final

import numpy as np

import tensor_runtime as tr
from properties import Property
from properties.exchange import place, separate
from properties.exchange.watch import read_or_refused
from tensor_core import DTYPES, DType, HostTensorView
from tensor_core.host.dlpack import structures as c

_BYTES: Final = 512  # of the memory that is lent
_AT_ONCE: Final = 100
_MOST_READ: Final = 1000  # elements; a stride of 0 describes as many as one likes
_EXTENTS: Final = (0, 1, 2, 3, 2**31, 2**40, 2**62, 2**63 - 1, -1, -(2**63))
_STRIDES: Final = (0, 1, -1, 2, -3, 7, 2**31, 2**60, -(2**60), 2**61, 2**62, 2**63 - 1, -(2**63))
_CODES: Final = {(code, bits): dtype for dtype, (code, bits, _) in c.ELEMENT_TYPES.items()}
_TYPES: Final = (*_CODES, (1, 8), (2, 16), (4, 16), (0, 8), (0, 0), (5, 256), (6, 1), (255, 255), (2, 128), (3, 64))
_TYPESTRS: Final[dict[str, DType | None]] = {
    **{np.dtype(dtype.numpy_name).str: dtype for dtype in DTYPES},
    **dict.fromkeys(("<f2", "|u1", "<u8", "|O", "<M8[s]", "|V8", "<U2", "f", "", "<i3", "|b2", "<f99", "\0")),
    **dict.fromkeys(np.dtype(name).newbyteorder().str for name in ("i4", "f8", "c16")),
}
_CTYPES: Final[dict[str, Any]] = {
    "f": ctypes.c_float, "d": ctypes.c_double, "i": ctypes.c_int, "l": ctypes.c_long, "q": ctypes.c_longlong,
    "?": ctypes.c_bool, "b": ctypes.c_byte, "B": ctypes.c_ubyte, "h": ctypes.c_short, "H": ctypes.c_ushort,
    "c": ctypes.c_char, "I": ctypes.c_uint, "Q": ctypes.c_ulonglong,
}  # fmt: skip
_FLAGS: Final = (0, 1, 2, 3, 4, 2**63)


class Lent:
    """An object of another library, as far as DLPack goes."""

    def __init__(self, capsule: object, device: tuple[int, int] = (1, 0)) -> None:
        self._capsule, self._device = capsule, device

    def __dlpack__(self, *, max_version: object = None, copy: object = None, **_: object) -> object:
        """The capsule."""
        return self._capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        """Where the memory is."""
        return self._device


class Arrayed:
    """An object of another library with NumPy's array interface."""

    def __init__(self, interface: dict[str, Any], owner: object) -> None:
        self.__array_interface__, self._owner = interface, owner


def memory() -> tuple[Any, int]:
    """Bytes that are lent, and the address in the midst of them from which elements count.

    >>> memory()[1] % 16
    0
    """
    block = np.arange(_BYTES + 64, dtype="u1")
    address = block.ctypes.data
    return block, address + (-address % 16) + _BYTES // 2 // 16 * 16


def expected(
    block: Any, address: int, dtype: DType, shape: Sequence[int], strides: Sequence[int]
) -> tuple[bool, tuple[str, tuple[int, ...], bytes] | None]:
    """Whether elements at these offsets can be counted, and what they are where they lie within the memory.

    Strides are in bytes.

    >>> block, address = memory()
    >>> expected(block, address, DTYPES[0], (1,), (4,))[0], expected(block, address, DTYPES[0], (2**62, 4), (4, 4))[0]
    (True, False)
    """
    size = 1
    for extent in shape:
        size *= max(extent, 1)
    if min(shape, default=0) < 0 or size * dtype.itemsize >= 2**63:
        return False, None
    if 0 in shape:
        return True, (dtype.numpy_name, tuple(shape), b"")
    reach = [(extent - 1) * stride for extent, stride in zip(shape, strides, strict=True)]
    low, high = sum(min(one, 0) for one in reach), sum(max(one, 0) for one in reach)
    if high - low + dtype.itemsize >= 2**63 or address + low <= 0 or address + high + dtype.itemsize > 2**64:
        return False, None
    start = block.ctypes.data
    if address + low < start or address + high + dtype.itemsize > start + block.nbytes or size > _MOST_READ:
        return True, None
    raw = block.tobytes()
    found = bytearray()
    for index in np.ndindex(*shape):
        at = address - start + sum(k * stride for k, stride in zip(index, strides, strict=True))
        found += raw[at : at + dtype.itemsize]
    if dtype.name == "Bool":
        found = bytearray(byte != 0 for byte in found)
    return True, (dtype.numpy_name, tuple(shape), bytes(found))


def memory_is_taken_exactly_when_a_tensor_stands_for_it(rng: Random) -> None:
    """A hundred descriptors, in another process: whoever believes a wrong one may crash."""
    separate.call(take, rng.getrandbits(64))


def take(seed: int, /) -> None:
    """A hundred descriptors, each a capsule, an array interface or a buffer."""
    rng = Random(seed)
    for _ in range(_AT_ONCE):
        _one(rng)


def _one(rng: Random) -> None:
    kind = rng.random()
    if kind < 0.6:
        _capsule(rng)
    elif kind < 0.9:
        _interface(rng)
    else:
        _buffer(rng)


def _capsule(rng: Random) -> None:
    """A DLPack structure of either kind with numbers from anywhere."""
    block, address = memory()
    versioned = rng.random() < 0.6
    managed: Any = (c.Versioned if versioned else c.Unversioned)()
    rank = rng.choice((0, 1, 1, 2, 2, 2, 3)) if rng.random() < 0.95 else rng.choice((64, 65, -1, 2**31 - 1))
    count = min(max(rank, 0), 65)
    odd = rng.random()  # what is strange about it, if anything
    shape = [rng.randint(0, 4) for _ in range(count)] if rank < 60 else [1] * count
    strides = [rng.randint(-3, 5) for _ in shape]
    for k in range(count if odd < 0.3 else 0):
        if rng.random() < 0.5:
            shape[k] = rng.choice(_EXTENTS)
        if rng.random() < 0.5:
            strides[k] = rng.choice(_STRIDES)
    code, bits = rng.choice(tuple(_CODES)) if rng.random() < 0.8 else rng.choice(_TYPES)
    lanes = 1 if rng.random() < 0.95 else rng.choice((0, 2, 65535))
    device = (1, 0) if rng.random() < 0.95 else rng.choice(((2, 0), (1, 1), (0, 0), (-1, -1), (3, 0)))
    said = device if rng.random() < 0.9 else (1, 0)
    shift = rng.choice((0, 0, 8, 16, 64)) if rng.random() < 0.95 else rng.choice((2**62, 2**63, 2**64 - 16))
    has_data, has_shape, has_strides = (rng.random() < share for share in (0.97, 0.97, 0.8))
    major = 1 if not versioned or rng.random() < 0.95 else rng.choice((0, 2, 2**32 - 1))
    extents = ctypes.c_int64 * max(count, 1)
    kept = extents(*shape), extents(*strides)
    if versioned:
        managed.major, managed.minor, managed.flags = major, rng.choice((0, 1, 9)), rng.choice(_FLAGS)
    info = managed.tensor
    info.data, info.device, info.rank = address if has_data else None, c.Device(*device), rank
    info.dtype, info.byte_offset = c.ElementType(code, bits, lanes), shift
    pointers = [ctypes.cast(array, ctypes.POINTER(ctypes.c_int64)) for array in kept]
    if has_shape:
        info.shape = pointers[0]
    if has_strides:
        info.strides = pointers[1]
    capsule = c.new_capsule(ctypes.addressof(managed), c.VERSIONED if versioned else c.UNVERSIONED, None)

    dtype = _CODES.get((code, bits)) if lanes == 1 else None
    accepted, seen = False, None
    if dtype and device == said == (1, 0) and 0 <= rank <= 64 and (has_shape or not rank) and major == 1:
        if not has_strides:
            strides = _row_major(shape)
        accepted, seen = expected(
            block, (address if has_data else 0) + shift, dtype, shape, [stride * dtype.itemsize for stride in strides]
        )
        accepted = accepted and (has_data or 0 in shape) and all(-(2**63) <= stride < 2**63 for stride in strides)
    if rng.random() < 0.5:
        found: Any = read_or_refused(lambda: HostTensorView.from_dlpack(Lent(capsule, said)))
    elif seen is None:  # nothing may be read, so it has to be shared, which takes column-major memory
        accepted = accepted and _is_column_major(shape, strides)
        found = read_or_refused(lambda: tr.from_dlpack(Lent(capsule, said), copy=False))
    else:
        found = read_or_refused(lambda: tr.from_dlpack(Lent(capsule, said)))
    facts = (versioned, rank, shape[:4], strides[:4], (code, bits, lanes), device, said, shift, has_data, has_shape)
    assert (found is not None) == accepted, facts
    if found is not None and seen is not None:
        assert place.bits(found) == seen, facts
    del found, managed, kept


def _interface(rng: Random) -> None:
    """A dictionary as NumPy's protocol has it, with numbers from anywhere."""
    block, address = memory()
    typestr = rng.choice(tuple(_TYPESTRS))
    dtype = _TYPESTRS[typestr]
    length = dtype.itemsize if dtype else 2
    odd = rng.random()
    shape: list[Any] = [rng.randint(0, 4) for _ in range(rng.randint(0, 3))]
    strides: list[Any] = [rng.randint(-3, 5) * length for _ in shape]
    for k in range(len(shape) if odd < 0.3 else 0):
        if rng.random() < 0.5:
            shape[k] = rng.choice((*_EXTENTS, 2**63, 2**64 + 1))
        if rng.random() < 0.5:
            strides[k] = rng.choice((*_STRIDES, 2**63, 2**70))
    has_strides = rng.random() < 0.8
    wrong_rank = has_strides and odd > 0.97
    if wrong_rank:
        strides.append(1)
    where = address if rng.random() < 0.95 else 0
    interface: dict[str, Any] = {
        "version": 3,
        "shape": tuple(shape),
        "typestr": typestr,
        "data": (where, rng.random() < 0.3),
    }
    if has_strides:
        interface["strides"] = tuple(strides)
    missing = rng.choice(("shape", "typestr")) if 0.9 < odd < 0.93 else None
    interface.pop(missing or "", None)
    if not has_strides:
        strides = [stride * length for stride in _row_major(shape)]
    accepted, seen = False, None
    if dtype and not wrong_rank and not missing and max(shape, default=0) < 2**63:
        accepted, seen = expected(block, where, dtype, shape, strides)
        accepted = accepted and (
            0 in shape or all(abs(one) < 2**63 for n, one in zip(shape, strides, strict=True) if n > 1)
        )
    divided = not any(stride % length for n, stride in zip(shape, strides, strict=False) if n > 1) or 0 in shape
    lent = Arrayed(interface, block)
    counted = all(-(2**63) <= stride < 2**63 for stride in strides)  # NumPy reads them as int64
    if rng.random() < 0.5:
        accepted = accepted and divided
        found: Any = read_or_refused(lambda: HostTensorView.borrow(lent))
    elif seen is None:
        accepted = accepted and divided and counted and _is_column_major(shape, strides)
        found = read_or_refused(lambda: tr.asarray(lent, copy=False))
    else:
        accepted = accepted and counted
        found = read_or_refused(lambda: tr.asarray(lent))
    facts = interface, address, divided, seen
    assert (found is not None) == accepted, facts
    if found is not None and seen is not None:
        assert place.bits(found) == seen, facts


def _buffer(rng: Random) -> None:
    """A memoryview of any format, which cannot lie, but may be cut and reversed."""
    format = rng.choice("fdilq?bBhHcIQ")
    length = ctypes.sizeof(_CTYPES[format])
    shape = [rng.randint(1, 3) for _ in range(rng.randint(1, 3))]
    raw = (
        bytes(rng.choices((0, 1), k=length * int(np.prod(shape))))
        if format == "?"
        else rng.randbytes(length * int(np.prod(shape)))
    )
    view = memoryview(raw).cast(format, shape)  # type: ignore[call-overload]
    if len(shape) == 1:
        view = view[:: rng.choice((1, 1, -1, 2))]
    array = np.asarray(view)
    held = array.dtype.name in [dtype.numpy_name for dtype in DTYPES]
    if rng.random() < 0.5:
        found: Any = read_or_refused(lambda: HostTensorView.borrow(view))
        accepted = held and view.c_contiguous
    else:
        found = read_or_refused(lambda: tr.asarray(view))
        accepted = held
    assert (found is not None) == accepted, (format, view.shape, view.strides)
    if found is not None:
        assert place.bits(found) == place.bits(array), (format, view.shape, view.strides)


def _row_major(shape: Sequence[int]) -> list[int]:
    strides, step = [], 1
    for extent in reversed(shape):
        strides.append(step)
        step *= max(extent, 1)
    return strides[::-1]


def _is_column_major(shape: Sequence[int], strides: Sequence[int]) -> bool:
    found = [abs(stride) for extent, stride in zip(shape, strides, strict=True) if extent > 1]
    return 0 in shape or found == sorted(found)


PROPERTIES: Final = (
    Property(
        "lent-memory",
        "a hundred descriptors of memory are each accepted exactly when a tensor can stand for it",
        memory_is_taken_exactly_when_a_tensor_stands_for_it,
        5_000 // _AT_ONCE,
        10_000_000 // _AT_ONCE,
        10,
    ),
)
