"""Tensors in ``.npy`` files, without NumPy and without pickle.

``save`` writes the elements in column-major order (``fortran_order: True``), as a tensor holds them; ``load`` reads
both orders and keeps the meaning of every index. A header is checked against the size of the file before any memory is
taken. Elements are in this machine's byte order on both sides.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from typing import Any, BinaryIO, Final

from tensor_core.dtypes import Bool
from tensor_core.errors import (
    ArgumentError,
    FormatError,
    LoadError,
    OutOfMemoryError,
    PlacementError,
    SaveError,
    shortened,
)
from tensor_core.host.tensor import HostTensor, HostTensorView
from tensor_runtime.backends.registry import registry
from tensor_runtime.dispatch.arguments import file_name
from tensor_runtime.io.atomic_write import write_atomically
from tensor_runtime.io.npy_header import PREFIX_BYTES, Header, format_header, header_length, length_field, parse_header
from tensor_runtime.ops.creation import asarray
from tensor_runtime.ops.views import copy, reversed_axes, to_contiguous
from tensor_runtime.tensors.tensor import Tensor, unwrap
from tensor_runtime.tensors.transfer import lend

Path = str | os.PathLike[str]
_PIECE: Final = 1 << 24  # bytes taken from a stream at once
_LARGEST: Final = 2**63 - 1


def save(path: Path, x: Tensor, /) -> None:
    """Write a tensor to an ``.npy`` file, whole or not at all.

    The file is the one that ``np.save`` makes of the same column-major array. The name is taken as it is given; nothing
    is appended. The elements are copied only if the tensor is a view with gaps or in another order. The new file takes
    the old one's name and permissions; other hard links to the old one keep the old content.

    Args:
        path: a new name, or a regular file that will be replaced at the end.
        x: a tensor in host memory.

    Raises:
        SaveError: the file cannot be written (no such folder, no permission, disk full); ``errno`` and ``path`` are
        fields. PlacementError: the tensor is on a device; ``download`` it or move it with ``to(x, 'cpu')`` first.

    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(os.path.join(folder, "x.npy"), tensor([[1, 2], [3, 4]]))
    ...     load(os.path.join(folder, "x.npy"))
    Tensor(I64, (2, 2), column-major, cpu)
     1  2
     3  4
    """
    name = _name_of(path, SaveError, "save")
    if name.endswith((os.sep, os.altsep or os.sep)):
        raise SaveError(f"save: {name!r} ends as the name of a folder does; accepted: the name of a file", path=name)
    form, _ = unwrap("save", x)
    backend: Any = registry.backend_for(form.placement)
    if not hasattr(backend, "lend"):
        raise PlacementError(
            f"save: the tensor is on {form.placement}, and nothing is moved silently; use to(x, 'cpu') first",
            operation="save",
            placement=form.placement,
        )
    pieces: list[bytes | memoryview] = [format_header(form.dtype, form.shape)]
    if form.size:
        compact = to_contiguous(x)
        lent = HostTensorView.borrow(lend("save", backend, compact._array, compact._form))
        # A byte of a Bool that is neither 0 nor 1 is true, and lent memory may hold one; a file may not.
        pieces.append(lent.tobytes() if form.dtype is Bool else lent.as_slice().cast("B"))
    write_atomically(name, pieces)


def load(path: Path, /, *, mmap: bool = False) -> Tensor:
    """Read a tensor from an ``.npy`` file.

    Args:
        path: a regular file, of either order.
        mmap: leave the elements in the file and let the system read what is used. The result is then read-only, and
            keeps the file's order: a row-major file gives a view with row-major strides. The file must not become
            shorter as long as the tensor lives. The bytes of a Bool file are not checked: all but 0 are true.

    Returns:
        A tensor on ``cpu``; owned and compact unless ``mmap`` is set.

    Raises:
        LoadError: the file cannot be read; ``errno`` and ``path`` are fields.
        FormatError: it is no ``.npy`` file of one of the seven dtypes in this byte order, or its size is not what its
            header says.
        OutOfMemoryError: not enough memory for the elements.

    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(os.path.join(folder, "x.npy"), tensor([1.5, 2.5]))
    ...     load(os.path.join(folder, "x.npy"), mmap=True)
    Tensor(F64, (2,), column-major, cpu)
     1.5  2.5
    """
    name = _name_of(path, LoadError, "load")
    flags = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
    # Opening a pipe for reading would wait for a writer; O_NONBLOCK means nothing for a regular file.
    flags |= getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)
    try:
        handle = os.open(name, flags)
        try:
            return _load_open(handle, name, mmap)
        finally:
            os.close(handle)
    except LoadError:
        raise
    except OSError as error:
        refused = LoadError(f"load: {name!r} cannot be read: {error.strerror or error}", path=name, errno=error.errno)
        refused.errno, refused.filename, refused.strerror = error.errno, name, error.strerror
        raise refused from error


def load_stream(stream: BinaryIO, /, *, name: str = "stream", max_bytes: int | None = None) -> Tensor:
    """Read a tensor from an open binary stream that holds one ``.npy`` file, such as a member of an ``.npz``.

    The stream is read to its end, and is not closed. Memory grows with what arrives, not with what the header claims.

    Args:
        stream: anything with ``read(n)``.
        name: for messages.
        max_bytes: refuse more bytes of elements than this.

    Raises:
        FormatError: as for :func:`load`, or more than ``max_bytes``.
        LoadError: the stream failed; its own error is chained.
        ArgumentError: not a stream.

    >>> import io
    >>> load_stream(io.BytesIO(format_header(Bool, (2,)) + bytes([1, 0]))).to_numpy().tolist()
    [True, False]
    """
    read = _translated_read(stream, name)
    header, _ = _read_header(read, name)
    wanted = header.nbytes
    if max_bytes is not None and wanted > max_bytes:
        raise FormatError(
            f"load: {name} holds {header.dtype} {header.shape}, {wanted} bytes; accepted: up to {max_bytes}"
        )
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
    return _tensor_of(elements, header, name)


def _load_open(handle: int, name: str, mmap: bool) -> Tensor:
    shown = repr(name)
    status = os.fstat(handle)
    if not stat.S_ISREG(status.st_mode):
        kind = "a directory" if stat.S_ISDIR(status.st_mode) else "no regular file"
        raise LoadError(f"load: {shown} is {kind}; accepted: a regular file; load_stream() reads streams", path=name)
    with open(handle, "rb", closefd=False) as file:
        header, start = _read_header(file.read, shown)
        found, wanted = status.st_size - start, header.nbytes
        if found != wanted:
            raise FormatError(
                f"load: {shown} has {found} bytes of elements; its header, {header.dtype} {header.shape}, "
                f"says {wanted}: {'the file was cut short' if found < wanted else 'something follows them'}"
            )
        if mmap and wanted:
            return _mapped(handle, header, start, name)
        return _tensor_of(_filled(file, wanted, shown), header, shown)


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


def _name_of(path: Path, error: type[LoadError | SaveError], operation: str) -> str:
    try:
        return file_name(operation, "the path", path)
    except ArgumentError:
        raise error(
            f"{operation}: the path is {shortened(path)}; accepted: the name of a file, as a str or a path object"
        ) from None


def _read_header(read: Callable[[int], bytes], name: str) -> tuple[Header, int]:
    """The header, and the position of the first element."""
    width = length_field(_exactly(read, PREFIX_BYTES, name), name)
    length = header_length(_exactly(read, width, name), name)
    header = parse_header(_exactly(read, length, name), name)
    if max(header.nbytes, *header.shape, 0) > _LARGEST:
        raise FormatError(f"load: {name} announces shape {header.shape} of {header.dtype}: beyond 2**63 - 1 bytes")
    return header, PREFIX_BYTES + width + length


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


def _filled(file: Any, wanted: int, shown: str) -> bytearray:
    try:
        elements = bytearray(wanted)
    except MemoryError as error:
        raise OutOfMemoryError(f"load: not enough memory for the {wanted} bytes of {shown}") from error
    rest = memoryview(elements)
    while rest:
        count = file.readinto(rest[:_PIECE])
        if not count:
            raise FormatError(f"load: {shown} became shorter while it was read")
        rest = rest[count:]
    return elements


def _tensor_of(elements: bytearray, header: Header, name: str) -> Tensor:
    """An owned tensor that takes over the bytes, or one copy of them if they are row-major."""
    if header.dtype is Bool and elements.translate(None, b"\0\1"):
        raise FormatError(f"load: an element of {name} is neither 0 nor 1, and its dtype is Bool (bool)")
    x = _shared(elements, header)
    return x if x.is_compact else copy(x)


def _shared(elements: Any, header: Header) -> Tensor:
    """The elements where they are; row-major ones as the transpose of a column-major tensor."""
    if header.column_major:
        return asarray(HostTensor.wrap_bytes(elements, header.shape, header.dtype), copy=False)
    return reversed_axes(asarray(HostTensor.wrap_bytes(elements, header.shape[::-1], header.dtype), copy=False))


def _mapped(handle: int, header: Header, start: int, name: str) -> Tensor:
    from mmap import ACCESS_READ, mmap

    if start % header.dtype.component.itemsize:
        raise LoadError(
            f"load: the elements of {name!r} start at byte {start}, no multiple of their size, so they cannot be "
            "mapped; load it without mmap",
            path=name,
        )
    try:
        memory = memoryview(mmap(handle, start + header.nbytes, access=ACCESS_READ))
    except (ValueError, OverflowError) as error:  # the file became shorter meanwhile, or exceeds the address space
        raise LoadError(f"load: {name!r} cannot be mapped: {error}", path=name) from error
    return _shared(memory[start:], header)
