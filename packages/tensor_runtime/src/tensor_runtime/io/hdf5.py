"""HDF5 files: named tensors, by h5py (extra ``hdf5``).

HDF5 lists the extents of a dataset from the slowest axis to the fastest. Without further request a dataset has the
tensor's extents and row-major elements, so Python and C see the tensor, and Julia, Fortran and MATLAB see its axes in
reverse. With ``reverse_dims`` the elements stay column-major and the extents are listed in reverse; then Julia,
Fortran and MATLAB see the tensor, and the dataset's attribute ``dims`` says "reversed", which ``load`` follows.

Complex numbers are h5py's compound of ``r`` and ``i``, as HDF5.jl and TeNPy have it. Each dataset bears TeNPy's
``type`` "array". A group that ITensors.jl wrote is one tensor, its axes in the order of its indices.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any, BinaryIO, Final, TypeVar

from tensor_core.errors import (
    ArgumentError,
    DTypeError,
    FormatError,
    OutOfMemoryError,
    SaveError,
    TensorError,
    shortened,
)
from tensor_core.files.blocks import Block, Entry, Found, Outgoing, Refused
from tensor_core.files.element_types import ELEMENT_TYPES
from tensor_core.files.formats import check_size
from tensor_core.files.source import Source
from tensor_core.shapes import Order, element_count
from tensor_runtime.io.extras import extra

T = TypeVar("T")

_ALIGNMENT: Final = 64
_REVERSED: Final = "reversed"
_MOST_REPEATED: Final = 100_000  # groups under a second name; a damaged file may give them names without end
_STORAGE: Final = ("storage", "store")  # of ITensors.jl since 0.2, and before


def write(file: BinaryIO, tensors: Mapping[str, Outgoing], /, *, reverse_dims: bool, compressed: bool) -> None:
    """Write a file; ``name/of/tensor`` makes groups.

    Raises:
        ArgumentError: a name that HDF5 does not have, or that stands for a group as well.
        MissingExtraError: there is no h5py.

    >>> import tempfile
    >>> from tensor_runtime.io.blocks import TensorOutgoing
    >>> with tempfile.NamedTemporaryFile(buffering=0) as file:
    ...     write(file, {"x": TensorOutgoing("save", zeros((2, 3)))}, reverse_dims=False, compressed=False)
    ...     with Source(file.name) as source, opened(source) as root:
    ...         entries(source, root, None)["x"].shape, entries(source, root, True)["x"].shape
    ((2, 3), (3, 2))
    """
    with created(file) as root:
        root.attrs["type"] = "simple_dict"  # of TeNPy: a dictionary with names for keys
        for name, x in tensors.items():
            if name.startswith("/") or any(part in ("", ".", "..") for part in name.split("/")) or "\0" in name:
                raise ArgumentError(
                    f"save: {shortened(name)} is no name of a dataset; accepted: parts joined by one slash"
                )
            order: Order = "F" if reverse_dims else "C"
            block = Block(x.dtype, x.shape, order, x.in_order(order))
            data = block.forward().transpose_view()
            try:
                made = root.create_dataset(
                    name, data=data, compression="gzip" if compressed and x.shape and data.size else None
                )
            except (ValueError, TypeError) as error:
                raise ArgumentError(
                    f"save: a dataset {shortened(name)} cannot be made: {shortened(str(error))}"
                ) from None
            made.attrs["type"] = "array"
            if reverse_dims:  # of fixed length, so that nothing is looked up elsewhere in a file that may be damaged
                made.attrs.create("dims", _REVERSED.encode(), dtype=f"S{len(_REVERSED)}")


class _Destination(io.BufferedRandom):
    """A file that HDF5 writes through h5py, and that keeps the system's first refusal instead of raising it.

    HDF5 goes on calling after a call failed, up to the end of the file, and Python allows no call while an exception is
    set: from 3.13 on, what came out was a SystemError. After a refusal nothing is written any more. Unlike the raw
    file it writes all that it is given.
    """

    refusal: OSError | None = None

    def _unless_refused(self, instead: T, call: Callable[[], T]) -> T:
        if self.refusal is None:
            try:
                return call()
            except OSError as error:
                self.refusal = error
        return instead

    def write(self, data: Any, /) -> int:
        return self._unless_refused(memoryview(data).nbytes, lambda: super(_Destination, self).write(data))

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        return self._unless_refused(offset, lambda: super(_Destination, self).seek(offset, whence))

    def readinto(self, target: Any, /) -> int:
        return self._unless_refused(memoryview(target).nbytes, lambda: super(_Destination, self).readinto(target))

    def truncate(self, size: int | None = None, /) -> int:
        return self._unless_refused(size or 0, lambda: super(_Destination, self).truncate(size))

    def flush(self) -> None:
        self._unless_refused(None, super().flush)


@contextmanager
def created(file: BinaryIO, /, **options: Any) -> Iterator[Any]:
    """A new HDF5 file in an open one.

    Raises:
        SaveError: the system or h5py refused.

    >>> import tempfile
    >>> with tempfile.TemporaryFile(buffering=0) as file:
    ...     with created(file) as root:
    ...         root.name
    '/'
    """
    h5py = extra("h5py", "hdf5", "save: HDF5")
    target = _Destination(file)  # type: ignore[arg-type]
    try:
        with h5py.File(target, "w", alignment_threshold=_ALIGNMENT, alignment_interval=_ALIGNMENT, **options) as root:
            yield root
    except TensorError:
        raise
    except Exception as error:
        if target.refusal is None:  # else whatever came of it
            if not isinstance(error, OSError) or error.errno is not None:
                raise
            raise SaveError(f"save: h5py failed: {shortened(str(error))}") from error
    finally:
        target.detach()
    if target.refusal is not None:
        raise target.refusal


@contextmanager
def opened(source: Source, /) -> Iterator[Any]:
    """The root group of a file that is read; whatever h5py raises is told as ours.

    Raises:
        FormatError: it is no HDF5 file, or a broken one.
        MissingExtraError: there is no h5py.
        OutOfMemoryError: not enough memory for what is read.

    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile(buffering=0) as file:
    ...     with created(file) as root:
    ...         root["x"] = 1.0
    ...     with Source(file.name) as source, opened(source) as root:
    ...         list(root)
    ['x']
    """
    h5py = extra("h5py", "hdf5", f"load: {source.shown}")
    try:
        with h5py.File(source.path, "r") as root:
            yield root
    except TensorError:
        raise
    except MemoryError as error:
        raise OutOfMemoryError(f"load: not enough memory for a tensor of {source.shown}") from error
    except Exception as error:  # of h5py, and of what it lets through
        raise source.malformed(
            f"no HDF5 file that h5py reads: {type(error).__name__}: {shortened(str(error))}"
        ) from error


def entries(source: Source, root: Any, reverse_dims: bool | None, /) -> dict[str, Found]:
    """What an open file holds, under each of the names that hard and soft links give it.

    A group that holds itself is not entered again. Links to other files are not followed.

    Args:
        source: the file.
        root: its root group.
        reverse_dims: extents are listed in reverse; None asks each dataset's attribute ``dims``.

    Raises:
        FormatError: a name is no text, or links give groups names without number.

    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile(buffering=0) as file:
    ...     with created(file) as root:
    ...         root["a/x"], root["text"] = 1.0, "no tensor"
    ...         root["b"] = root["a"]
    ...     with Source(file.name) as source, opened(source) as root:
    ...         {name: isinstance(one, Entry) for name, one in entries(source, root, None).items()}
    {'a/x': True, 'b/x': True, 'text': False}
    """
    found: dict[str, Found] = {}
    seen: set[int] = set()  # of groups: the same one has the same hash under each of its names
    repeated = 0

    def visit(group: Any, prefix: str, above: frozenset[int]) -> None:
        nonlocal repeated
        repeated += hash(group) in seen
        if repeated > _MOST_REPEATED:
            raise source.malformed(f"links give groups more than {_MOST_REPEATED} further names")
        seen.add(hash(group))
        above |= {hash(group)}
        for key in group:
            if isinstance(key, bytes):
                raise source.malformed(f"the name {key!r} is no text")
            one = _found(source, group, key, prefix + key, reverse_dims)
            if isinstance(one, Found):
                found[prefix + key] = one
            elif hash(one) not in above:
                visit(one, f"{prefix}{key}/", above)

    visit(root, "", frozenset())
    return found


def _found(source: Source, group: Any, key: str, name: str, reverse_dims: bool | None) -> Any:
    """What a name stands for: a tensor, why it is none, or a group to look into."""
    link = type(group.get(key, getlink=True)).__name__
    if link == "ExternalLink":
        return Refused(name, source.malformed(f"{name!r} is a link to another file"), is_tensor=False)
    try:
        node = group[key]
        if hasattr(node, "keys"):
            return (_text(node.attrs.get("type")) == "ITensor" and _itensor(source, name, node)) or node
        return _dataset(source, name, node, reverse_dims)
    except TensorError as error:
        return Refused(name, error)
    except MemoryError:
        raise
    except Exception as error:  # of h5py, and of what it lets through; a soft link may lead nowhere
        why = f"{name!r} cannot be read: {type(error).__name__}: {shortened(str(error))}"
        return Refused(name, source.malformed(why), is_tensor=link != "SoftLink")


def _dataset(source: Source, name: str, node: Any, reverse_dims: bool | None) -> Found:
    shape = getattr(node, "shape", None)  # named types have none, nor have datasets that are declared empty
    if shape is None:
        return Refused(name, source.malformed(f"{name!r} has no extents, so it is no tensor"), is_tensor=False)
    if node.dtype.name not in ELEMENT_TYPES:
        why = f"the elements of {name!r} are {shortened(str(node.dtype))}; accepted: {', '.join(ELEMENT_TYPES)}"
        error = DTypeError(f"load: {source.shown}: {why}", found=node.dtype.str)
        return Refused(name, error, is_tensor=node.dtype.kind in "fc")
    turned = _text(node.attrs.get("dims")) == _REVERSED if reverse_dims is None else reverse_dims
    return entry_of(source, name, node, tuple(shape)[:: -1 if turned else 1], "F" if turned else "C")


def entry_of(source: Source, name: str, node: Any, shape: tuple[int, ...], order: Order, /) -> Entry:
    """A dataset as a tensor of this shape and order.

    Raises:
        FormatError: it claims more than the file can hold, or lies in other files.

    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile(buffering=0) as file:
    ...     with created(file) as root:
    ...         root["x"] = [1.0, 2.0]
    ...     with Source(file.name) as source, opened(source) as root:
    ...         entry_of(source, "x", root["x"], (2,), "C").nbytes
    16
    """
    if node.is_virtual or node.external:
        raise source.malformed(f"dataset {name!r} lies in other files; accepted: datasets in the file itself")
    element = ELEMENT_TYPES[node.dtype.name]
    nbytes = element_count(node.shape) * node.dtype.itemsize
    check_size(source, nbytes, name)
    start = node.id.get_offset() if node.chunks is None else None
    if start is not None and start + nbytes > source.size:
        raise source.malformed(f"dataset {name!r} reaches beyond the end", start)
    return Entry(name, element, not node.dtype.isnative, shape, order, start, partial(_elements, node))


def bytes_of(array: Any, /) -> bytearray | memoryview:
    """The bytes of a C-contiguous array of NumPy, shared."""
    return array.reshape(-1).view("u1").data if array.size else bytearray()


def _elements(node: Any) -> bytearray | memoryview:
    return bytes_of(node[...])


def _itensor(source: Source, name: str, group: Any) -> Found | None:
    """A group of ITensors.jl: indices with their dimensions, and dense elements, the first index fastest."""
    storage = next((group[key] for key in _STORAGE if key in group), None)
    if storage is None or "inds" not in group:
        return None
    indices = group["inds"]
    shape = tuple(int(indices[f"index_{k + 1}"]["dim"][()]) for k in range(int(indices["length"][()])))
    kind = _text(storage.attrs.get("type")) or "storage of no name"
    if not kind.startswith("Dense{") or "data" not in storage:
        return Refused(name, _blocks_refused(source, name, kind))
    data = storage["data"]
    entry = entry_of(source, name, data, shape, "F")
    if "__complex__" in data.attrs:  # of the C++ library: the parts are a last axis of extent 2
        wide = {"float64": "complex128", "float32": "complex64"}[data.dtype.name]
        entry = entry._replace(element=ELEMENT_TYPES[wide])
    if entry.nbytes != data.size * data.dtype.itemsize:
        raise source.malformed(f"ITensor {name!r} has indices of {shape}, and {data.size} elements")
    return entry


def _blocks_refused(source: Source, name: str, kind: str) -> FormatError:
    return source.malformed(
        f"ITensor {name!r} is stored as {kind}; accepted: Dense; in Julia, write dense(T) instead of T, which has all "
        "blocks and zeros as elements"
    )


def _text(value: Any) -> str | None:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value if isinstance(value, str) else None
