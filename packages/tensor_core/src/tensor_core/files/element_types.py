"""Element types of files: ours, and those that are read into one of ours when a caller names it.

Names are NumPy's, and ``bfloat16``. Nothing is converted that was not asked for, and nothing that a type of ours does
not hold.
"""

from __future__ import annotations

import struct
import sys
from array import array
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from tensor_core.dtypes import DTYPES, DType
from tensor_core.errors import DTypeError, LossyConversionError
from tensor_core.foreign import dtypes_that_hold
from tensor_core.host.storage import CODES

_LITTLE: Final = sys.byteorder == "little"
_PIECE: Final = 1 << 16  # numbers unpacked at once
_CODES: Final = {"int8": "b", "uint8": "B", "int16": "h", "uint16": "H", "uint32": "I", "uint64": "Q"}


class ElementType(NamedTuple):
    """An element type that a file may have."""

    name: str
    itemsize: int
    component: int  # bytes that are swapped as one
    own: DType | None  # the one of the seven that it is

    @property
    def shown(self) -> str:
        """Our name if it has one."""
        return self.name if self.own is None else self.own.name

    def target(self, what: str, wanted: DType | None, /) -> DType:
        """The type of ours that elements are read as: this one, or the one named.

        Raises:
            DTypeError: it is none of ours, and ``wanted`` is None.
            LossyConversionError: ``wanted`` does not hold it.

        >>> ELEMENT_TYPES["float16"].target("load", ELEMENT_TYPES["float32"].own)
        F32
        """
        if self.own is not None:
            return self.own
        holders = dtypes_that_hold(self.name)
        listed = ", ".join(f"{one.name} ({one.numpy_name})" for one in holders)
        if wanted is None or not holders:
            remedy = f"dtype={holders[0].name!r} converts them (accepted: {listed})" if holders else "none holds them"
            raise DTypeError(
                f"{what}: the elements are {self.name}, which is none of our dtypes; {remedy}", found=self.name
            )
        if wanted not in holders:
            raise LossyConversionError(
                f"{what}: the elements are {self.name}, and {wanted.name} ({wanted.numpy_name}) does not hold them; "
                f"accepted: {listed}",
                source=self.name,
                target=wanted,
            )
        return wanted

    def decoded(self, memory: bytearray | memoryview, swapped: bool, target: DType, /) -> bytearray | memoryview:
        """The elements as ``target`` in native byte order; in place where nothing is converted.

        >>> ELEMENT_TYPES["int8"].decoded(bytearray([255, 1]), False, DTYPES[3]).cast("q").tolist()
        [-1, 1]
        """
        if self.own is not None and not swapped:
            return memory
        memory = memory if isinstance(memory, bytearray) else bytearray(memory)
        if swapped:
            swap_bytes(memory, self.component)
        if self.own is not None:
            return memory
        numbers = _NUMBERS.get(self.name, _plain)(self.name, memory)
        code = CODES[target]
        parts = numbers if numbers.typecode == code else array(code, numbers)
        if target.kind == "complex":
            whole = array(code, bytes(2 * len(parts) * parts.itemsize))
            whole[::2] = parts
            parts = whole
        return memoryview(parts).cast("B") if parts else bytearray()


def swap_bytes(memory: bytearray, length: int, /) -> None:
    """Reverse each group of ``length`` bytes.

    >>> numbers = bytearray([1, 2, 3, 4])
    >>> swap_bytes(numbers, 2)
    >>> numbers.hex()
    '02010403'
    """
    for low in range(length // 2):
        high = length - 1 - low
        memory[low::length], memory[high::length] = memory[high::length], memory[low::length]


def _plain(name: str, memory: bytearray) -> array[Any]:
    numbers: array[Any] = array(_CODES[name])
    numbers.frombytes(memory)
    return numbers


def _half(_: str, memory: bytearray) -> array[Any]:
    numbers: array[Any] = array("f")
    for start in range(0, len(memory), 2 * _PIECE):
        piece = memory[start : start + 2 * _PIECE]
        numbers.extend(struct.unpack(f"={len(piece) // 2}e", piece))
    return numbers


def _brain(_: str, memory: bytearray) -> array[Any]:
    """A bfloat16 is the upper half of an F32."""
    wide = bytearray(2 * len(memory))
    first = 2 if _LITTLE else 0
    wide[first::4], wide[first + 1 :: 4] = memory[::2], memory[1::2]
    numbers: array[Any] = array("f")
    numbers.frombytes(wide)
    return numbers


_NUMBERS: Final[dict[str, Callable[[str, bytearray], array[Any]]]] = {"float16": _half, "bfloat16": _brain}
_FOREIGN: Final = {**{name: array(code).itemsize for name, code in _CODES.items()}, "float16": 2, "bfloat16": 2}
ELEMENT_TYPES: Final[dict[str, ElementType]] = {
    **{
        dtype.numpy_name: ElementType(dtype.numpy_name, dtype.itemsize, dtype.component.itemsize, dtype)
        for dtype in DTYPES
    },
    **{name: ElementType(name, length, length, None) for name, length in _FOREIGN.items()},
}
"""By name."""
