"""MAT files: MATLAB's variables, in version 5 and, by h5py (extra ``mat``), in version 7.3.

Both hold elements in column-major order, as tensors do. MATLAB knows no rank below 2: a rank-0 tensor becomes 1 x 1,
and a rank-1 tensor a column, N x 1, and so they are read back. Other extents are written as they are; MATLAB, though
not the file, drops those of 1 behind the second. Version 7.3 has no empty complex variables: an attribute of our own
says which of the empty ones is complex, and MATLAB, which passes over it, reads a real one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, BinaryIO, Final

from tensor_core.dtypes import Bool, DType
from tensor_core.errors import ArgumentError, TensorError, shortened
from tensor_core.files.blocks import Entry, Found, Outgoing, Refused
from tensor_core.files.element_types import ELEMENT_TYPES
from tensor_core.files.formats import check_size
from tensor_core.files.source import Source
from tensor_core.shapes import element_count
from tensor_runtime.io import hdf5, mat5
from tensor_runtime.io.extras import extra

_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,62}")
_KEYWORDS: Final = {
    "break", "case", "catch", "classdef", "continue", "else", "elseif", "end", "for", "function", "global", "if",
    "otherwise", "parfor", "persistent", "return", "spmd", "switch", "try", "while",
}  # fmt: skip
_BANNER: Final = b"MATLAB 7.3 MAT-file, Platform: any, Created by: ironstride HDF5 schema 1.00 ."
_USER_BLOCK: Final = 512
_VERSION: Final = b"\x00\x02IM"  # at byte 124, little-endian
_EMPTY_COMPLEX: Final = "ironstride_complex"
_CLASSES: Final = {
    "bool": "logical", "int32": "int32", "int64": "int64", "float32": "single", "float64": "double",
    "complex64": "single", "complex128": "double",
}  # fmt: skip

_NUMBERS: Final = frozenset(
    {*_CLASSES.values(), "int8", "uint8", "int16", "uint16", "uint32", "uint64"}
)  # the other classes are structures, cells, text, functions and sparse matrices


def write(file: BinaryIO, tensors: Mapping[str, Outgoing], /, *, compressed: bool) -> None:
    """Write version 5.

    Raises:
        ArgumentError: a name that MATLAB does not have.
        SaveError: a variable of 2 GiB or more, which version 5 cannot hold.

    >>> import tempfile
    >>> from tensor_runtime.io.blocks import TensorOutgoing
    >>> with tempfile.NamedTemporaryFile(buffering=0) as file:
    ...     write(file, {"x": TensorOutgoing("save", zeros(3))}, compressed=False)
    ...     with Source(file.name) as source:
    ...         mat5.entries(source)["x"].shape
    (3, 1)
    """
    shapes = {_checked(name): _matlab_shape(x.shape) for name, x in tensors.items()}
    mat5.write(file, tensors, shapes, compressed=compressed)


def write73(file: BinaryIO, tensors: Mapping[str, Outgoing], /, *, compressed: bool) -> None:
    """Write version 7.3, which is HDF5 with extents listed in reverse.

    Raises:
        ArgumentError: a name that MATLAB does not have.
        MissingExtraError: there is no h5py.

    >>> import tempfile
    >>> from tensor_runtime.io.blocks import TensorOutgoing
    >>> with tempfile.NamedTemporaryFile(buffering=0) as file:
    ...     write73(file, {"x": TensorOutgoing("save", zeros(3))}, compressed=False)
    ...     with Source(file.name) as source, hdf5.opened(source) as root:
    ...         is_73(source), entries73(source, root)["x"].shape
    (True, (3, 1))
    """
    h5py = extra("h5py", "mat", "save: MAT 7.3")
    with hdf5.created(file, userblock_size=_USER_BLOCK) as root:
        for name, x in tensors.items():
            shape = _matlab_shape(x.shape)
            kind = _CLASSES[x.dtype.numpy_name]
            if 0 in shape:  # the extents stand for the elements
                made = root.create_dataset(_checked(name), data=list(shape), dtype="<u8")
                made.attrs.create("MATLAB_empty", 1, dtype="u1")
                if x.dtype.kind == "complex":
                    made.attrs.create(_EMPTY_COMPLEX, 1, dtype="u1")
            else:
                made = root.create_dataset(
                    _checked(name),
                    shape=shape[::-1],
                    dtype=_stored_as(x.dtype),
                    compression="gzip" if compressed else None,
                )
                values = made[...]  # of MATLAB's type for complex and logical numbers, with extents in reverse
                hdf5.bytes_of(values)[:] = x.in_order("F")
                made[...] = values
            made.attrs.create("MATLAB_class", kind.encode(), dtype=h5py.string_dtype("ascii", len(kind)))
            if x.dtype is Bool:
                made.attrs.create("MATLAB_int_decode", 1, dtype="<i4")
    file.seek(0)
    file.write(_BANNER.ljust(116) + bytes(8) + _VERSION)


def is_73(source: Source, /) -> bool:
    """Whether a file is of version 7.3."""
    return source.size >= _USER_BLOCK and source.read(0, 10, "the banner") == _BANNER[:10]


def entries73(source: Source, root: Any, /) -> dict[str, Found]:
    """The variables of an open file of version 7.3; structures, cells, text and sparse matrices are no tensors.

    Raises:
        FormatError: a name is no text.

    >>> import tempfile
    >>> from tensor_runtime.io.blocks import TensorOutgoing
    >>> with tempfile.NamedTemporaryFile(buffering=0) as file:
    ...     write73(file, {"x": TensorOutgoing("save", ones(1, "Bool"))}, compressed=False)
    ...     with Source(file.name) as source, hdf5.opened(source) as root:
    ...         entries73(source, root)["x"].element.name
    'bool'
    """
    found: dict[str, Found] = {}
    for name in root:
        if isinstance(name, bytes):
            raise source.malformed(f"the name {name!r} is no text")
        node = root[name] if root.get(name, getlink=True).__class__.__name__ == "HardLink" else None
        kind = None if node is None else node.attrs.get("MATLAB_class")
        text = kind.decode("ascii", "replace") if isinstance(kind, bytes) else kind
        if node is None or not isinstance(text, str):
            continue
        if text not in _NUMBERS or "MATLAB_sparse" in node.attrs:
            found[name] = mat5.no_tensor(source, name, text if text not in _NUMBERS else "sparse")
            continue
        empty = bool(node.attrs.get("MATLAB_empty", 0))
        if empty and node.attrs.get(_EMPTY_COMPLEX, 0):
            text = {"single": "complex64", "double": "complex128"}.get(str(text), text)
        try:
            found[name] = _entry73(source, name, node, str(text), empty)
        except TensorError as error:
            found[name] = Refused(name, error)
    return found


def _entry73(source: Source, name: str, node: Any, kind: str, empty: bool) -> Entry:
    own = {"logical": "bool", "single": "float32", "double": "float64"}.get(kind, kind)
    if empty:
        check_size(source, 8 * node.size, name)
        return Entry(name, ELEMENT_TYPES[own], False, tuple(map(int, node[...].tolist())), "F", None, bytearray)
    parts = node.dtype.names
    whole: Any = node.dtype[0] if parts == ("real", "imag") else node.dtype
    if whole.name not in ELEMENT_TYPES or (parts and node.dtype.itemsize != 2 * whole.itemsize):
        raise source.malformed(f"variable {name!r} of class {kind} is stored as {shortened(str(node.dtype))}")
    stored = {"float32": "complex64", "float64": "complex128"}.get(whole.name, "") if parts else whole.name
    if stored not in ELEMENT_TYPES:
        raise source.malformed(f"variable {name!r} is complex, of {whole.name}")
    if own == "bool" and whole.itemsize == 1:
        stored = "bool"
    if node.is_virtual or node.external:
        raise source.malformed(f"variable {name!r} lies in other files")
    check_size(source, element_count(node.shape) * node.dtype.itemsize, name)
    start = node.id.get_offset() if node.chunks is None else None
    return Entry(
        name,
        ELEMENT_TYPES[stored],
        not whole.isnative,
        tuple(node.shape)[::-1],
        "F",
        start,
        lambda: hdf5.bytes_of(node[...]),
    )


def _stored_as(dtype: DType) -> Any:
    if dtype.kind == "complex":
        return [("real", dtype.component.numpy_name), ("imag", dtype.component.numpy_name)]
    return "u1" if dtype is Bool else dtype.numpy_name


def _matlab_shape(shape: tuple[int, ...]) -> tuple[int, ...]:
    return shape + (1,) * (2 - len(shape))


def _checked(name: str) -> str:
    if not _NAME.fullmatch(name) or name in _KEYWORDS:
        raise ArgumentError(
            f"save: {shortened(name)} is no name of a variable in MATLAB; accepted: a letter, then at most 62 letters, "
            "digits and _, and no keyword"
        )
    return name
