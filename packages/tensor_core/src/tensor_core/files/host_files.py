"""Host tensors to files and back. Every function keeps the meaning of every index, whatever the order in the file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tensor_core.dtypes import DType, DTypeLike, as_dtype
from tensor_core.errors import ArgumentError, DTypeError, shortened
from tensor_core.files import raw
from tensor_core.files.atomic_write import write_atomically
from tensor_core.files.blocks import Block, HostOutgoing, block_of, tensors_of
from tensor_core.files.formats import SUFFIXES, chosen, entries_of, format_of, named, saved_path, write_file
from tensor_core.files.raw import ByteOrder
from tensor_core.files.source import Path, Source
from tensor_core.host.conversion import convert
from tensor_core.host.tensor import HostTensorView
from tensor_core.shapes import Order, as_shape


def save(
    path: Path,
    x: HostTensorView[Any] | Mapping[str, HostTensorView[Any]],
    /,
    *,
    format: str | None = None,
    order: Order = "F",
    compressed: bool = False,
) -> None:
    """Write one tensor to ``.npy``, or named tensors to ``.npz`` or ``.safetensors``, whole or not at all.

    Args:
        path: a new name, or a regular file that will be replaced at the end.
        x: a host tensor or a view; a mapping of names to them for the formats that have names.
        format: "npy", "npz" or "safetensors"; None goes by the end of the name.
        order: of the elements in ``.npy`` and ``.npz``, which say it: "F" column-major, "C" row-major.
        compressed: deflate the members of an ``.npz``.

    Raises:
        SaveError: the file cannot be written.
        ArgumentError: an option or a name that the format does not have.
        DTypeError: no host tensor; C64 (complex128) in safetensors.

    >>> import os, tempfile
    >>> from tensor_core import HostTensor
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(os.path.join(folder, "x.safetensors"), {"x": HostTensor.from_nested([[1, 2], [3, 4]])})
    ...     load(os.path.join(folder, "x.safetensors")).to_nested()
    [[1, 2], [3, 4]]
    """
    name = saved_path(path)
    kind = format_of("save", name, format, SUFFIXES)
    tensors = {key: _outgoing("save", one) for key, one in named(name, kind, x).items()}
    write_file(name, kind, tensors, order=order, compressed=compressed)


def load(
    path: Path,
    name: str | None = None,
    /,
    *,
    mmap: bool = False,
    dtype: DTypeLike | None = None,
    format: str | None = None,
) -> HostTensorView[Any]:
    """Read one tensor.

    Args:
        path: a regular file.
        name: which tensor of a file with several.
        mmap: leave the elements in the file; the result is a read-only view in the file's order.
        dtype: convert to this type, checked: ours as by ``convert``; float16, bfloat16, unsigned and short integers
            only if it is given.
        format: as for :func:`save`.

    Returns:
        An owned tensor unless ``mmap`` is set.

    Raises:
        LoadError: the file cannot be read or mapped, or has no such tensor.
        FormatError: it is not what its format says.
        DTypeError: an element type that is none of ours, and no ``dtype`` that holds it.

    >>> import os, tempfile
    >>> from tensor_core import HostTensor
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(os.path.join(folder, "x.npy"), HostTensor.from_nested([1, 2]))
    ...     load(os.path.join(folder, "x.npy"), dtype="F64").to_nested()
    [1.0, 2.0]
    """
    wanted = None if dtype is None else as_dtype(dtype)
    with Source(path) as source:
        found = entries_of(source, format_of("load", source.path, format, SUFFIXES))
        entry = found[chosen(source.shown, found, name)]
        return _tensor_of(block_of(source, entry, dtype=wanted, mmap=mmap), wanted, mmap)


def load_all(
    path: Path, /, *, mmap: bool = False, dtype: DTypeLike | None = None, format: str | None = None
) -> dict[str, HostTensorView[Any]]:
    """Read all tensors of a file with names, and pass over what is none; arguments and errors as for :func:`load`.

    Raises:
        ArgumentError: the format has no names.

    >>> import os, tempfile
    >>> from tensor_core import HostTensor
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(os.path.join(folder, "x.npz"), {"x": HostTensor.from_nested([1, 2])})
    ...     load_all(os.path.join(folder, "x.npz"))["x"].to_nested()
    [1, 2]
    """
    wanted = None if dtype is None else as_dtype(dtype)
    with Source(path) as source:
        kind = format_of("load", source.path, format, SUFFIXES)
        if kind == "npy":
            raise ArgumentError(f"load_all: {source.shown} holds one tensor without a name; load() reads it")
        return {
            name: _tensor_of(block_of(source, entry, dtype=wanted, mmap=mmap), wanted, mmap)
            for name, entry in tensors_of(entries_of(source, kind)).items()
        }


def save_raw(path: Path, x: HostTensorView[Any], /, *, order: Order, byteorder: ByteOrder = "little") -> None:
    """Write the elements and nothing else.

    Args:
        path: as for :func:`save`.
        x: a host tensor or a view.
        order: "F", as Fortran, Julia and MATLAB read it, or "C", as C and NumPy do.
        byteorder: "little" or "big".

    Raises:
        SaveError: the file cannot be written.
        ArgumentError: another order.

    >>> import os, tempfile
    >>> from tensor_core import HostTensor
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_raw(os.path.join(folder, "x.bin"), HostTensor.from_nested([[1, 2], [3, 4]]), order="F")
    ...     load_raw(os.path.join(folder, "x.bin"), (4,), "I64", order="F").to_nested()
    [1, 3, 2, 4]
    """
    name = saved_path(path)
    raw.check_asked("save_raw", order, byteorder)
    write_atomically(name, raw.encode(_outgoing("save_raw", x), order, byteorder))


def load_raw(
    path: Path,
    shape: Iterable[int] | int,
    element: DTypeLike | str,
    /,
    *,
    order: Order,
    offset: int = 0,
    byteorder: ByteOrder = "little",
    mmap: bool = False,
    dtype: DTypeLike | None = None,
) -> HostTensorView[Any]:
    """Read elements that a file holds without saying so.

    Args:
        path: a regular file.
        shape: of the tensor.
        element: what the file holds: a dtype, or "float16", "bfloat16", "uint8" and their like.
        order: of the elements in the file, "F" column-major or "C" row-major.
        offset: of the first, in bytes; more bytes may follow the last.
        byteorder: "little" or "big".
        mmap: as for :func:`load`.
        dtype: as for :func:`load`.

    Raises:
        FormatError: the file is too short.
        LoadError, ArgumentError, DTypeError: as for :func:`load`.

    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     bytes_written = file.write(bytes([9, 1, 2])), file.flush()
    ...     load_raw(file.name, 2, "uint8", order="F", offset=1, dtype="I32").to_nested()
    [1, 2]
    """
    entry_type, extents = raw.element_of("load_raw", element), as_shape(shape)
    wanted = None if dtype is None else as_dtype(dtype)
    raw.check_asked("load_raw", order, byteorder, offset)
    with Source(path) as source:
        entry = raw.entry_of(source, extents, entry_type, order, offset, byteorder)
        return _tensor_of(block_of(source, entry, dtype=wanted, mmap=mmap), wanted, mmap)


def _outgoing(operation: str, x: object) -> HostOutgoing:
    if not isinstance(x, HostTensorView):
        raise DTypeError(f"{operation}: found {shortened(x)}; accepted: a HostTensor or a HostTensorView")
    return HostOutgoing(x)


def _tensor_of(block: Block, wanted: DType | None, mmap: bool) -> HostTensorView[Any]:
    view = block.view() if mmap else block.view().to_contiguous()
    return view if wanted is None or wanted is block.dtype else convert(view, wanted)
