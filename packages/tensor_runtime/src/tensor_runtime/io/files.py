"""Tensors to files and back: which function does what, for every format.

Every function keeps the meaning of every index, whatever the order of the elements in the file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tensor_core.dtypes import DTypeLike, as_dtype
from tensor_core.errors import ArgumentError
from tensor_core.files import raw
from tensor_core.files.atomic_write import write_atomically
from tensor_core.files.blocks import block_of, tensors_of
from tensor_core.files.formats import chosen, format_of, named, saved_path
from tensor_core.files.raw import ByteOrder
from tensor_core.files.source import Path, Source
from tensor_core.shapes import Order, as_shape
from tensor_runtime.io.blocks import TensorOutgoing, tensor_of
from tensor_runtime.io.formats import FORMATS, load_zarr, read, write
from tensor_runtime.tensors.tensor import Tensor


def save(
    path: Path,
    x: Tensor | Mapping[str, Tensor],
    /,
    *,
    format: str | None = None,
    order: Order = "F",
    compressed: bool = False,
    reverse_dims: bool = False,
) -> None:
    """Write one tensor to ``.npy``, or tensors by name to ``.npz``, ``.safetensors``, ``.h5``, ``.mat`` or ``.zarr``.

    The file appears whole or not at all.

    An ``.npy`` file is the one that ``np.save`` makes of the same column-major array. The name is taken as it is given;
    nothing is appended, and a name without an ending is an ``.npy`` file. The new file takes the old one's name and
    permissions; other hard links to the old one keep the old content.

    Args:
        path: a new name, or a regular file that will be replaced at the end; a Zarr folder is never replaced.
        x: a tensor in host memory; a mapping of names to tensors for the formats that have names.
        format: "npy", "npz", "safetensors", "hdf5", "mat", "mat73" or "zarr"; None goes by the end of the name.
        order: of the elements in ``.npy`` and ``.npz``, which say it: "F" column-major, "C" row-major. Elements in
            safetensors are always row-major.
        compressed: deflate the elements, in the formats that can.
        reverse_dims: list the extents in reverse in HDF5, so that Julia, Fortran and MATLAB see the tensor as it is;
            otherwise Python and C do. ``load`` follows what the file says.

    Raises:
        SaveError: the file cannot be written (no such folder, no permission, disk full); ``errno`` and ``path`` are
            fields.
        PlacementError: a tensor is on a device; ``download`` it or move it with ``to(x, 'cpu')`` first.
        DTypeError: C64 (complex128) in safetensors, which does not have it.
        ArgumentError: an option or a name that the format does not have.
        MissingExtraError: the format needs a library that is not installed; the message names the extra.

    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(os.path.join(folder, "x.npy"), tensor([[1, 2], [3, 4]]))
    ...     load(os.path.join(folder, "x.npy"))
    Tensor(I64, (2, 2), column-major, cpu)
     1  2
     3  4
    """
    name = saved_path(path)
    kind = format_of("save", name, format, FORMATS)
    tensors = {key: TensorOutgoing("save", one) for key, one in named(name, kind, x, FORMATS).items()}
    write(name, kind, tensors, order=order, compressed=compressed, reverse_dims=reverse_dims)


def load(
    path: Path,
    name: str | None = None,
    /,
    *,
    mmap: bool = False,
    dtype: DTypeLike | None = None,
    format: str | None = None,
    reverse_dims: bool | None = None,
) -> Tensor:
    """Read one tensor from a file.

    Args:
        path: a regular file, with elements in either order.
        name: which tensor of a file that holds several by name.
        mmap: leave the elements in the file and let the system read what is used. The result is then read-only, and
            keeps the file's order: a row-major file gives a view with row-major strides. The file must not become
            shorter as long as the tensor lives. The bytes of a Bool file are not checked: all but 0 are true.
        dtype: convert to this, checked as by ``convert``. Elements that are none of the seven dtypes (float16,
            bfloat16, unsigned and short integers) are read only if it is given and holds them.
        format: as for :func:`save`.
        reverse_dims: of HDF5, whether the file lists extents in reverse, as Julia, Fortran and MATLAB write them; None
            follows the mark that ``save`` leaves, and takes the extents as they are listed without one.

    Returns:
        A tensor on ``cpu``; owned and compact unless ``mmap`` is set.

    Raises:
        LoadError: the file cannot be read or mapped, or has no tensor of this name; ``errno`` and ``path`` are fields.
        FormatError: it is not what its format says: cut short, too long, or malformed.
        DTypeError: its elements are none of the seven dtypes, and there is no ``dtype`` that holds them.
        OutOfMemoryError: not enough memory for the elements.
        MissingExtraError: the format needs a library that is not installed.

    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(os.path.join(folder, "x.npz"), {"a": tensor([1.5, 2.5]), "b": tensor([1])})
    ...     load(os.path.join(folder, "x.npz"), "a", mmap=True)
    Tensor(F64, (2,), column-major, cpu)
     1.5  2.5
    """
    wanted = None if dtype is None else as_dtype(dtype)
    if (folder := load_zarr(path, "load", name, format, wanted, mmap, reverse_dims)) is not None:
        return next(iter(folder.values()))
    with read(path, "load", format, reverse_dims) as (source, found):
        entry = found[chosen(source.shown, found, name)]
        return tensor_of(block_of(source, entry, dtype=wanted, mmap=mmap), wanted, shared=mmap)


def load_all(
    path: Path,
    /,
    *,
    mmap: bool = False,
    dtype: DTypeLike | None = None,
    format: str | None = None,
    reverse_dims: bool | None = None,
) -> dict[str, Tensor]:
    """Read all tensors of a file that holds them by name; arguments and errors are those of :func:`load`.

    What is no tensor (text, dates, objects, records, structures) is passed over.

    Raises:
        ArgumentError: the format has no names.

    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(os.path.join(folder, "x.safetensors"), {"a": zeros(2), "b": ones((2, 3))})
    ...     {name: x.shape for name, x in load_all(os.path.join(folder, "x.safetensors")).items()}
    {'a': (2,), 'b': (2, 3)}
    """
    wanted = None if dtype is None else as_dtype(dtype)
    if (folder := load_zarr(path, "load_all", None, format, wanted, mmap, reverse_dims)) is not None:
        return folder
    with read(path, "load_all", format, reverse_dims) as (source, found):
        if "" in found:
            raise ArgumentError(f"load_all: {source.shown} holds one tensor without a name; load() reads it")
        return {
            name: tensor_of(block_of(source, entry, dtype=wanted, mmap=mmap), wanted, shared=mmap)
            for name, entry in tensors_of(found).items()
        }


def save_raw(path: Path, x: Tensor, /, *, order: Order, byteorder: ByteOrder = "little") -> None:
    """Write the elements and nothing else, as Fortran, C and Julia read them; whole or not at all.

    Args:
        path: a new name, or a regular file that will be replaced at the end.
        x: a tensor in host memory.
        order: "F", as Fortran, Julia and MATLAB have it, or "C", as C and NumPy do.
        byteorder: "little" or "big".

    Raises:
        SaveError, PlacementError: as for :func:`save`.
        ArgumentError: another order.

    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_raw(os.path.join(folder, "x.bin"), tensor([[1, 2], [3, 4]]), order="F")
    ...     load_raw(os.path.join(folder, "x.bin"), 4, "I64", order="F").tolist()
    [1, 3, 2, 4]
    """
    name = saved_path(path)
    raw.check_asked("save_raw", order, byteorder)
    write_atomically(name, raw.encode(TensorOutgoing("save_raw", x), order, byteorder))


def load_raw(
    path: Path,
    shape: Sequence[int] | int,
    element: DTypeLike,
    /,
    *,
    order: Order,
    offset: int = 0,
    byteorder: ByteOrder = "little",
    mmap: bool = False,
    dtype: DTypeLike | None = None,
) -> Tensor:
    """Read elements from a file that does not say what it holds.

    Args:
        path: a regular file.
        shape: of the tensor.
        element: what the file holds: a dtype, or "float16", "bfloat16", "uint8" and their like.
        order: of the elements in the file: "F" column-major, "C" row-major.
        offset: of the first element, in bytes, behind a header or another tensor; more may follow the last.
        byteorder: "little" or "big".
        mmap: as for :func:`load`.
        dtype: as for :func:`load`.

    Raises:
        FormatError: the file is too short.
        LoadError, DTypeError, OutOfMemoryError: as for :func:`load`.
        ArgumentError: another order, or a negative offset.

    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     bytes_written = file.write(bytes([9, 1, 2])), file.flush()
    ...     load_raw(file.name, 2, "uint8", order="F", offset=1, dtype="I32").tolist()
    [1, 2]
    """
    found, extents = raw.element_of("load_raw", element), as_shape(shape)
    wanted = None if dtype is None else as_dtype(dtype)
    raw.check_asked("load_raw", order, byteorder, offset)
    with Source(path) as source:
        entry = raw.entry_of(source, extents, found, order, offset, byteorder)
        return tensor_of(block_of(source, entry, dtype=wanted, mmap=mmap), wanted, shared=mmap)
