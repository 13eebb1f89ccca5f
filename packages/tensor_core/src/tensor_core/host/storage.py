"""Storage: elements of one type in one block of bytes.

A storage holds its bytes through a memoryview, which keeps their owner alive. A complex element is two components, real
part first. Positions count elements; layouts count them too, and a caller validates one before it comes here.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Sequence

from tensor_core.dtypes import C32, C64, F32, F64, I32, I64, Bool, DType, Element
from tensor_core.errors import (
    ArgumentError,
    DTypeError,
    FormatError,
    LayoutError,
    OutOfMemoryError,
    ReadOnlyError,
    shortened,
)
from tensor_core.foreign import refuse_masked
from tensor_core.layout import TensorLayout, check_layout, validate_layout
from tensor_core.scalar_conversion import to_element
from tensor_core.static_types import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from typing_extensions import Buffer


# Of one component; Bool as bytes, because foreign memory may hold values other than 0 and 1.
CODES: Final[dict[DType, str]] = {F32: "f", F64: "d", I32: "i", I64: "q", Bool: "B", C32: "f", C64: "d"}
TRUTH: Final = bytes([0] + [1] * 255)  # what a byte of Bool counts for
# Python types whose numbers need no conversion for the type.
_EXACT: Final[dict[DType, type]] = {F64: float, I32: int, I64: int, Bool: bool}

PICKLE_VERSION: Final = 1  # of what a pickle holds
_BYTES: Final = frozenset({bytearray, bytes, memoryview})


class Storage:
    """A block of elements of one type.

    Args:
        dtype: their type.
        memory: a contiguous buffer; its length a multiple of the element's.

    Raises:
        LayoutError: the length fits no whole number of elements, or the buffer is not contiguous.

    >>> block = Storage(C64, bytearray(32))
    >>> block.write(1, 1 + 2j)
    >>> len(block), block.read(1), block.components.tolist()
    (2, (1+2j), [0.0, 0.0, 1.0, 2.0])
    """

    __slots__ = ("components", "dtype", "raw")

    dtype: DType
    raw: memoryview  # bytes
    components: memoryview[Any]  # numbers

    def __init__(self, dtype: DType, memory: Buffer) -> None:
        if type(memory) not in _BYTES:
            refuse_masked("storage", memory)
        try:
            flat = memoryview(memory)
            self.raw = flat if flat.format == "B" and flat.ndim == 1 and flat.contiguous else _as_bytes(flat)
        except TypeError:
            raise LayoutError(
                f"storage: found {type(memory).__name__}; accepted: a contiguous buffer, such as a bytearray"
            ) from None
        if self.raw.nbytes % dtype.itemsize:
            raise LayoutError(
                f"storage: {self.raw.nbytes} bytes for elements of {dtype}; accepted: a multiple of {dtype.itemsize}"
            )
        self.dtype = dtype
        self.components = self.raw.cast(CODES[dtype])  # type: ignore[call-overload]

    @classmethod
    def zeros(cls, dtype: DType, length: int) -> Storage:
        """Fresh memory for ``length`` elements, all zero.

        Raises:
            SizeLimitError: its bytes are not countable in int64.
            OutOfMemoryError: there is not enough memory.

        >>> Storage.zeros(I32, 2).elements()
        [0, 0]
        """
        validate_layout(TensorLayout((length,)), length, dtype.itemsize)
        try:
            return cls(dtype, bytearray(length * dtype.itemsize))
        except MemoryError:
            raise OutOfMemoryError(
                f"storage: no memory for {length} elements of {dtype} ({length * dtype.itemsize} bytes)",
                bytes=length * dtype.itemsize,
            ) from None

    @classmethod
    def of(cls, dtype: DType, values: Sequence[object]) -> Storage:
        """Fresh memory with the numbers given.

        Raises:
            DTypeError, CastRangeError: ``dtype`` does not hold one of them.

        >>> Storage.of(F32, [1, 0.5]).elements()
        [1.0, 0.5]
        """
        block = cls.zeros(dtype, len(values))
        numbers: Sequence[Any] = values
        if set(map(type, values)) - {_EXACT.get(dtype)}:
            numbers = [to_element(value, dtype) for value in values]
        if dtype.kind == "complex":
            numbers = [part for number in numbers for part in (number.real, number.imag)]
        try:
            block.components[:] = memoryview(array(CODES[dtype], numbers))
        except OverflowError:
            for value in values:
                to_element(value, dtype)  # raises the error that names the value
            raise
        return block

    def normalise(self) -> None:
        """Make every byte of a Bool 0 or 1; other elements stay as they are.

        Memory of other libraries may hold any byte, and all but 0 are true. What is shared keeps its bytes, and is read
        so; what is copied is normalised.

        >>> block = Storage(Bool, bytearray([0, 255, 1]))
        >>> block.normalise()
        >>> block.raw.tolist()
        [0, 1, 1]
        """
        if self.dtype is Bool:
            self.raw[:] = self.raw.tobytes().translate(TRUTH)

    @property
    def is_normal(self) -> bool:
        """Whether no byte of a Bool is other than 0 and 1.

        >>> Storage(Bool, bytes([0, 1])).is_normal, Storage(Bool, bytes([0, 2])).is_normal
        (True, False)
        """
        return self.dtype is not Bool or not self.raw.tobytes().translate(None, b"\0\1")

    def __reduce_ex__(self, protocol: Any) -> Any:
        facts = PICKLE_VERSION, sys.byteorder, self.dtype
        if protocol < 5:
            return _restored, (*facts, bytearray(self.raw))
        from pickle import PickleBuffer  # whoever pickles has imported it

        return _restored, (*facts, PickleBuffer(self.raw))

    @property
    def readonly(self) -> bool:
        """Whether writing is refused."""
        return self.raw.readonly

    def __len__(self) -> int:
        return self.raw.nbytes // self.dtype.itemsize

    def read(self, position: int) -> Element:
        """The element at a position.

        >>> Storage.of(I64, [7, 8]).read(1)
        8
        """
        if self.dtype.kind == "complex":
            return complex(self.components[2 * position], self.components[2 * position + 1])
        number: Element = self.components[position]
        return bool(number) if self.dtype is Bool else number

    def write(self, position: int, element: Element) -> None:
        """Store an element, which ``to_element`` has made.

        Raises:
            ReadOnlyError: the memory is read-only.

        >>> block = Storage.zeros(Bool, 2)
        >>> block.write(1, True)
        >>> block.elements()
        [False, True]
        """
        if self.readonly:
            raise ReadOnlyError("write: the memory is read-only; copy it first")
        if self.dtype.kind == "complex":
            self.components[2 * position], self.components[2 * position + 1] = element.real, element.imag
        else:
            self.components[position] = element

    def elements(self) -> list[Element]:
        """Every element, in order.

        >>> Storage.of(C32, [1j]).elements()
        [1j]
        """
        numbers: list[Any] = self.components.tolist()
        if self.dtype is Bool:
            return [number != 0 for number in numbers]
        if self.dtype.kind == "complex":
            return list(map(complex, numbers[::2], numbers[1::2]))
        return numbers


def check_parts(name: str, storage: object, layout: object, /) -> None:
    """Raise an error unless a tensor can be made of these two.

    Raises:
        ArgumentError: no storage, or no layout.

    >>> check_parts("HostTensor", Storage.zeros(F64, 2), TensorLayout((2,)))
    """
    check_layout(name, layout)
    if not isinstance(storage, Storage):
        raise ArgumentError(
            f"{name}: found a {type(storage).__name__} to hold the elements; accepted: a Storage "
            "(from_nested, from_flat, zeros and borrow make tensors of other data)"
        )


def _restored(version: int, byteorder: str, dtype: DType, memory: Buffer) -> Storage:
    if (version, byteorder) != (PICKLE_VERSION, sys.byteorder):
        raise FormatError(
            f"pickle: found version {shortened(version)} in {byteorder}-endian byte order; accepted: version "
            f"{PICKLE_VERSION}, {sys.byteorder}-endian; .npy files travel between machines and versions"
        )
    return Storage(dtype, memory)


def copy_elements(target: Storage, into: TensorLayout, source: Storage, layout: TensorLayout) -> None:
    """Copy between two layouts of one shape, line by line along the longest axis.

    The memory of both must not overlap. A line is one slice assignment, so the cost per element is that of C code.

    Raises:
        ReadOnlyError: the target is read-only.
        DTypeError: the element types differ.

    >>> block = Storage.zeros(I64, 4)
    >>> copy_elements(block, TensorLayout((2, 2)), Storage.of(I64, [1, 2, 3, 4]), TensorLayout.row_major((2, 2)))
    >>> block.elements()
    [1, 3, 2, 4]
    """
    if target.readonly:
        raise ReadOnlyError("copy: the target is read-only; copy it first")
    if target.dtype is not source.dtype:
        raise DTypeError(f"copy: {source.dtype} to {target.dtype}; accepted: equal element types")
    if 0 in layout.shape:
        return
    longest = max(range(layout.rank), key=layout.shape.__getitem__, default=None)
    count = 1 if longest is None else layout.shape[longest]
    parts = 2 if target.dtype.kind == "complex" else 1
    starts = [(into.offset, layout.offset)]
    for axis, extent in enumerate(layout.shape):
        if axis != longest and extent != 1:
            starts = [
                (to + k * into.strides[axis], from_ + k * layout.strides[axis])
                for to, from_ in starts
                for k in range(extent)
            ]
    steps = (1, 1) if longest is None else (into.strides[longest], layout.strides[longest])
    if parts == 2 and steps == (1, 1):
        starts, count, parts = [(2 * to, 2 * from_) for to, from_ in starts], 2 * count, 1
    for to, from_ in starts:
        for part in range(parts):
            written = _line(target.components, to * parts + part, steps[0] * parts, count)
            read = _line(source.components, from_ * parts + part, steps[1] * parts, count)
            # Bytes are repeated, and not numbers: a signalling NaN of F32 would come back as a quiet one.
            written[:] = read if steps[1] else memoryview(read.tobytes() * count).cast(read.format)  # type: ignore[call-overload]


def _line(numbers: memoryview[Any], first: int, step: int, count: int) -> memoryview[Any]:
    if step == 0:
        return numbers[first : first + 1]
    end = first + step * (count - 1) + (1 if step > 0 else -1)
    return numbers[first : end if end >= 0 else None : step]


def _as_bytes(flat: memoryview) -> memoryview:
    if flat.nbytes == 0:
        return memoryview(bytearray() if not flat.readonly else b"")
    return flat.cast("B")
