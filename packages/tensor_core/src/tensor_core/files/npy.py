"""``.npy`` files: one tensor, in the order that its header says.

Written in column-major order (``fortran_order: True``), as a tensor holds its elements, or row-major on request; both
are read, and either byte order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, BinaryIO, Final

from tensor_core.dtypes import Bool, DType
from tensor_core.errors import ArgumentError, FormatError, LoadError, OutOfMemoryError
from tensor_core.files.blocks import Block, Bytes, Entry, Outgoing
from tensor_core.files.npy_header import (
    PREFIX_BYTES,
    Header,
    format_header,
    header_length,
    length_field,
    parse_header,
)
from tensor_core.files.source import LARGEST, Source
from tensor_core.shapes import Order

_PIECE: Final = 1 << 24  # bytes taken from a stream at once


def encode(x: Outgoing, /, order: Order = "F") -> Iterator[Bytes]:
    """The pieces of a file, as ``np.save`` writes it.

    >>> from tensor_core import HostTensor
    >>> from tensor_core.files.blocks import HostOutgoing
    >>> [len(piece) for piece in encode(HostOutgoing(HostTensor.from_nested([1.0, 2.0])))]
    [128, 16]
    """
    yield format_header(x.dtype, x.shape, order)
    yield x.in_order(order)


def entries(source: Source, /) -> dict[str, Entry]:
    """The one tensor of a file; its name is empty.

    Raises:
        FormatError: it is no ``.npy`` file, or its size is not what its header says.

    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     bytes_written = file.write(format_header(Bool, (2,)) + bytes([1, 0])), file.flush()
    ...     with Source(file.name) as source:
    ...         entries(source)[""].start
    128
    """
    source.file.seek(0)
    header, start = read_header(source.file.read, source.shown)
    found, wanted = source.size - start, header.nbytes
    if found != wanted:
        raise FormatError(
            f"load: {source.shown} has {found} bytes of elements; its header, {header.element.shown} {header.shape}, "
            f"says {wanted}: {'the file was cut short' if found < wanted else 'something follows them'}",
            path=source.path,
            offset=start,
        )
    return {"": entry_of(header, "", start, lambda: source.read(start, wanted, "the elements"))}


def entry_of(header: Header, name: str, start: int | None, read: Callable[[], bytearray], /) -> Entry:
    """What a header says, with the way to the elements."""
    return Entry(name, header.element, header.swapped, header.shape, header.order, start, read)


def read_stream(
    stream: BinaryIO, /, *, name: str = "stream", max_bytes: int | None = None, dtype: DType | None = None
) -> Block:
    r"""The tensor in an open binary stream, which is read to its end.

    Memory grows with what arrives, not with what the header claims.

    Args:
        stream: anything with ``read(n)``.
        name: for messages.
        max_bytes: refuse more bytes of elements than this.
        dtype: what an element type that is none of the seven is converted to.

    Raises:
        FormatError: no ``.npy`` content, or more than ``max_bytes``.
        LoadError: the stream failed; its own error is chained.
        ArgumentError: not a stream.
        DTypeError: an element type that is none of the seven, and no ``dtype`` that holds it.

    >>> import io
    >>> bytes(read_stream(io.BytesIO(format_header(Bool, (2,)) + bytes([1, 0]))).memory)
    b'\x01\x00'
    """
    read = _translated_read(stream, name)
    header, _ = read_header(read, name)
    target = header.element.target(f"load: {name}", dtype)
    wanted = header.nbytes
    if max_bytes is not None and wanted > max_bytes:
        raise FormatError(
            f"load: {name} holds {header.element.shown} {header.shape}, {wanted} bytes; accepted: up to {max_bytes}"
        )
    elements = stream_elements(read, wanted, name)
    if target is Bool and elements.translate(None, b"\0\1"):
        raise FormatError(f"load: an element of {name} is neither 0 nor 1, and its dtype is Bool (bool)")
    return Block(target, header.shape, header.order, header.element.decoded(elements, header.swapped, target))


def stream_elements(read: Callable[[int], bytes], wanted: int, name: str, /) -> bytearray:
    """Exactly so many bytes, after which nothing may follow.

    Raises:
        FormatError: fewer came, or more.
        OutOfMemoryError: not enough memory.

    >>> import io
    >>> len(stream_elements(io.BytesIO(bytes(5)).read, 5, "x"))
    5
    """
    elements = bytearray()
    try:
        while len(elements) < wanted:
            piece = read(min(_PIECE, wanted - len(elements)))
            if not piece:
                raise FormatError(f"load: {name} ends after {len(elements)} of {wanted} bytes of elements")
            elements += piece
    except MemoryError as error:
        raise OutOfMemoryError(f"load: not enough memory for the elements of {name}") from error
    if read(1):
        raise FormatError(f"load: {name} goes on after the {wanted} bytes of elements that its header announces")
    return elements


def read_header(read: Callable[[int], bytes], name: str, /) -> tuple[Header, int]:
    """The header, and the position of the first element.

    Raises:
        FormatError: it is none, or announces more than can be counted.

    >>> import io
    >>> read_header(io.BytesIO(format_header(Bool, (2,))).read, "x")[1]
    128
    """
    width = length_field(_exactly(read, PREFIX_BYTES, name), name)
    length = header_length(_exactly(read, width, name), name)
    header = parse_header(_exactly(read, length, name), name)
    if max(header.nbytes, *header.shape, 0) > LARGEST:
        raise FormatError(
            f"load: {name} announces shape {header.shape} of {header.element.shown}: beyond 2**63 - 1 bytes"
        )
    return header, PREFIX_BYTES + width + length


def _translated_read(stream: Any, name: str) -> Callable[[int], bytes]:
    """``stream.read``, whose failures are ours: decompressors raise errors of their own."""
    if not callable(getattr(stream, "read", None)):
        raise ArgumentError(f"load: {name} is a {type(stream).__name__}; accepted: an open binary stream")

    def read(count: int) -> bytes:
        try:
            piece = stream.read(count)
        except Exception as error:
            raise LoadError(f"load: {name} cannot be read: {type(error).__name__}: {error}") from error
        if not isinstance(piece, bytes):
            raise LoadError(
                f"load: {name} gave a {type(piece).__name__}; accepted: a stream opened as binary, that waits"
            )
        return piece

    return read


def _exactly(read: Callable[[int], bytes], count: int, name: str) -> bytes:
    found = b""
    while len(found) < count:
        piece = read(count - len(found))
        if not piece:
            raise FormatError(
                f"load: {name} ends within its header, after {len(found)} of {count} bytes: {found[:16]!r}"
            )
        found += piece
    return found
