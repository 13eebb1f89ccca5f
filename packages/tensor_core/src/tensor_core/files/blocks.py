"""What lies between a file and a tensor: elements in one order, and how to get them.

A reader gives entries; an entry becomes a block, and a block is a tensor without a copy. A writer asks a tensor for its
bytes in the order that its format has. Which order that is stands in every block, so none is ever guessed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol, TypeVar

from tensor_core.dtypes import Bool, DType
from tensor_core.errors import FormatError, TensorError
from tensor_core.files.element_types import ElementType
from tensor_core.files.source import Source, check_flag
from tensor_core.host.tensor import HostTensor, HostTensorView
from tensor_core.shapes import Order, as_shape, element_count

T = TypeVar("T")

Bytes = bytes | bytearray | memoryview


class Outgoing(Protocol):
    """A tensor that is to be written."""

    @property
    def dtype(self) -> DType:
        """Its element type."""
        ...

    @property
    def shape(self) -> tuple[int, ...]:
        """Its extents."""
        ...

    def in_order(self, order: Order, /) -> Bytes:
        """All elements in native byte order, "F" column-major or "C" row-major; copied only if they lie otherwise."""
        ...


class HostOutgoing:
    """A host tensor that is to be written.

    >>> HostOutgoing(HostTensor.from_nested([[1, 2], [3, 4]], "I32")).in_order("C")[::4].hex()
    '01020304'
    """

    def __init__(self, tensor: HostTensorView[Any], /) -> None:
        self._tensor = tensor

    @property
    def dtype(self) -> DType:
        """Its element type."""
        return self._tensor.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """Its extents."""
        return self._tensor.shape

    def in_order(self, order: Order, /) -> Bytes:
        """All elements, as :class:`Outgoing` says."""
        if order == "F" and self._tensor.layout.is_compact and self.dtype is not Bool:
            return self._tensor.as_slice().cast("B") if self._tensor.size else b""
        return self._tensor.tobytes(order=order)


class Block(NamedTuple):
    """Elements of one tensor, in native byte order."""

    dtype: DType
    shape: tuple[int, ...]
    order: Order
    memory: Bytes

    def forward(self) -> HostTensor[Any]:
        """The elements as a column-major tensor that shares them: of order "C", the tensor with its axes reversed.

        >>> Block(Bool, (2, 3), "C", bytes(6)).forward().shape
        (3, 2)
        """
        shape = self.shape if self.order == "F" else self.shape[::-1]
        return HostTensor.wrap_bytes(self.memory, shape, self.dtype)

    def view(self) -> HostTensorView[Any]:
        """The tensor itself, sharing the memory: of order "C" with row-major strides.

        >>> Block(Bool, (2, 3), "C", bytes(6)).view().layout.strides
        (3, 1)
        """
        return self.forward() if self.order == "F" else self.forward().transpose_view()


class Entry(NamedTuple):
    """One tensor of a file, before its elements are read; everything that can be checked was."""

    name: str
    element: ElementType
    swapped: bool  # the bytes of an element are in the other order than this machine's
    shape: tuple[int, ...]
    order: Order
    start: int | None  # of the elements in the file; None where they are compressed
    read: Callable[[], bytearray | memoryview]

    @property
    def nbytes(self) -> int:
        """Bytes of the elements, as they are in the file once decompressed."""
        return element_count(self.shape) * self.element.itemsize


class Refused(NamedTuple):
    """Something of a file that is not read, so that whatever lies beside it can be."""

    name: str
    error: TensorError  # raised when it is asked for
    is_tensor: bool = True  # what is none (text, objects, dates) is passed over where all tensors are read


Found = Entry | Refused


def tensors_of(found: Mapping[str, T], /) -> dict[str, T]:
    """What of a file counts as a tensor, whether it can be read or not.

    >>> tensors_of({"text": Refused("text", FormatError("load: no number"), is_tensor=False)})
    {}
    """
    return {name: one for name, one in found.items() if not isinstance(one, Refused) or one.is_tensor}


def block_of(source: Source, entry: Found, /, *, dtype: DType | None = None, mmap: bool = False) -> Block:
    r"""The elements of an entry.

    Args:
        source: the file.
        entry: of this file; of one that is refused, the error is raised.
        dtype: what an element type that is none of the seven is converted to; of no effect on the others.
        mmap: leave the elements in the file.

    Raises:
        LoadError: the elements cannot be mapped, as they are compressed, converted, or start at an odd byte.
        FormatError: an element of a Bool is neither 0 nor 1.
        DTypeError: the element type is none of the seven, and ``dtype`` is None or cannot hold it.

    >>> import tempfile
    >>> from tensor_core import I32
    >>> from tensor_core.files.element_types import ELEMENT_TYPES
    >>> element = ELEMENT_TYPES["uint8"]
    >>> with tempfile.NamedTemporaryFile() as file, Source(file.name) as source:
    ...     bytes(block_of(source, Entry("", element, False, (2,), "F", 0, lambda: bytearray(b"ab")), dtype=I32).memory)
    b'a\x00\x00\x00b\x00\x00\x00'
    """
    if isinstance(entry, Refused):
        raise entry.error
    try:
        as_shape(entry.shape)
    except TensorError as error:
        raise source.malformed(f"tensor {entry.name!r}: {error}") from None
    what = f"{source.shown}{f', tensor {entry.name!r}' if entry.name else ''}"
    check_flag("load", "mmap", mmap)
    target = entry.element.target(f"load: {what}", dtype)
    if mmap and entry.nbytes:
        if entry.start is None:
            raise source.unmappable(f"{what}: the elements are not in one piece of the file as they are in memory")
        if entry.element.own is None or entry.swapped:
            found = f"{entry.element.shown} of the other byte order" if entry.swapped else entry.element.name
            raise source.unmappable(f"{what}: the elements are {found}, which are converted when they are read")
        if entry.start % target.component.itemsize:
            raise source.unmappable(f"{what}: the elements start at byte {entry.start}, no multiple of their size")
        return Block(target, entry.shape, entry.order, source.mapped(entry.start, entry.nbytes))
    memory = entry.read()
    if entry.element.own is Bool and bytes(memory).translate(None, b"\0\1"):
        raise FormatError(
            f"load: an element of {what} is neither 0 nor 1, and its dtype is Bool (bool)", path=source.path
        )
    return Block(target, entry.shape, entry.order, entry.element.decoded(memory, entry.swapped, target))
