"""Every format by its name: who writes it, and who reads it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from tensor_core.dtypes import DType
from tensor_core.errors import ArgumentError, LoadError
from tensor_core.files.atomic_write import new_file
from tensor_core.files.blocks import Found, Outgoing
from tensor_core.files.formats import SUFFIXES, check_options, chosen, entries_of, format_of, write_file
from tensor_core.files.source import Path, Source, check_flag, name_of
from tensor_core.shapes import Order
from tensor_runtime.io import hdf5, mat, mat5, zarr
from tensor_runtime.tensors.tensor import Tensor

FORMATS: Final[Mapping[str, str]] = {
    **SUFFIXES,
    ".h5": "hdf5",
    ".hdf5": "hdf5",
    ".mat": "mat",
    ".zarr": "zarr",
    "": "mat73",  # by format= alone: .mat stands for version 5
}


def write(
    path: str, format: str, tensors: Mapping[str, Outgoing], /, *, order: Order, compressed: bool, reverse_dims: bool
) -> None:
    """Write tensors by name in a format, whole or not at all.

    Raises:
        SaveError: the file cannot be written.
        ArgumentError: an option or a name that the format does not have.
        DTypeError: an element type that it does not have.
        MissingExtraError: it needs a library that is not installed.

    >>> import tempfile
    >>> from tensor_runtime.io.blocks import TensorOutgoing
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     x = TensorOutgoing("save", tensor([1.0, 2.0]))
    ...     write(folder + "/x.npz", "npz", {"x": x}, order="F", compressed=False, reverse_dims=False)
    ...     with read(folder + "/x.npz", "load", None, None) as (_, found):
    ...         list(found)
    ['x']
    """
    check_flag("save", "reverse_dims", reverse_dims)
    if reverse_dims and format != "hdf5":
        raise ArgumentError(
            f"save: {path!r} is {format}, whose extents have one order; accepted: reverse_dims= for HDF5"
        )
    if format in SUFFIXES.values():
        write_file(path, format, tensors, order=order, compressed=compressed)
        return
    check_options(path, format, order=order, compressed=compressed, ordered=("npy", "npz"), packed=(format,))
    if format == "zarr":
        zarr.save_folder(path, tensors, compressed=compressed)
        return
    with new_file(path) as file:
        if format == "hdf5":
            hdf5.write(file, tensors, reverse_dims=reverse_dims, compressed=compressed)
        elif format == "mat":
            mat.write(file, tensors, compressed=compressed)
        else:
            mat.write73(file, tensors, compressed=compressed)


def load_zarr(
    path: Path,
    operation: str,
    name: str | None,
    format: str | None,
    dtype: DType | None,
    mmap: bool,
    reverse_dims: bool | None,
    /,
) -> dict[str, Tensor] | None:
    """The tensors of a Zarr folder, which is no file; None for any other format.

    >>> load_zarr("x.npz", "load", None, None, None, False, None) is None
    True
    """
    check_flag(operation, "mmap", mmap)
    folder = name_of(path, LoadError, "load")
    if format_of(operation, folder.rstrip("/"), format, FORMATS) != "zarr":
        return None
    if reverse_dims is not None:
        raise ArgumentError(f"{operation}: {folder!r} is zarr, whose extents have one order; accepted: HDF5")
    if operation == "load":
        name = chosen(repr(folder), zarr.listed(folder), name)
    return zarr.load_folder(folder, name, dtype, mmap)


@contextmanager
def read(
    path: Path, operation: str, format: str | None, reverse_dims: bool | None, /
) -> Iterator[tuple[Source, dict[str, Found]]]:
    """A file and what it holds, which can be read while the block runs.

    Raises:
        LoadError: the file cannot be read.
        FormatError: it is not what its format says.
        MissingExtraError: the format needs a library that is not installed.

    >>> import tempfile
    >>> from tensor_runtime.io.files import save
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(folder + "/x.npy", zeros((2, 3)))
    ...     with read(folder + "/x.npy", "load", None, None) as (_, found):
    ...         found[""].shape
    (2, 3)
    """
    if reverse_dims is not None:
        check_flag(operation, "reverse_dims", reverse_dims)
    with Source(path) as source:
        kind = format_of(operation, source.path, format, FORMATS)
        if reverse_dims is not None and kind != "hdf5":
            raise ArgumentError(f"{operation}: {source.shown} is {kind}, whose extents have one order; accepted: HDF5")
        if kind == "hdf5":
            with hdf5.opened(source) as root:
                yield source, hdf5.entries(source, root, reverse_dims)
        elif kind == "mat73" or (kind == "mat" and mat.is_73(source)):
            with hdf5.opened(source) as root:
                yield source, mat.entries73(source, root)
        elif kind == "mat":
            yield source, mat5.entries(source)
        else:
            yield source, entries_of(source, kind)
