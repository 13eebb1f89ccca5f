"""Zarr folders, version 3: named tensors, each a folder of chunks. Nothing but the standard library is needed.

Written with one chunk for each tensor, in column-major order. Read with any regular chunks, uncompressed, by gzip, or
by zstd where Python has it (3.14). A folder is never replaced: it appears whole under a new name.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import zlib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, Final

from tensor_core.dtypes import DType
from tensor_core.errors import ArgumentError, FormatError, LoadError, SaveError, shortened
from tensor_core.files.atomic_write import write_atomically
from tensor_core.files.blocks import Block, Bytes, Entry, Outgoing, Refused, block_of
from tensor_core.files.source import LARGEST, Source
from tensor_core.shapes import element_count
from tensor_runtime.dispatch.conversion import convert
from tensor_runtime.io.blocks import tensor_of
from tensor_runtime.io.zarr_metadata import ArrayFacts, format_array, is_number, parse_array
from tensor_runtime.ops.creation import full
from tensor_runtime.ops.indexing import mutable_view
from tensor_runtime.ops.views import copy, permute_axes
from tensor_runtime.tensors.tensor import Tensor

_METADATA: Final = "zarr.json"
_VERSION_2: Final = (".zgroup", ".zarray", ".zmetadata")
_GROUP: Final = b'{"zarr_format": 3, "node_type": "group", "attributes": {}}'
_METADATA_LIMIT: Final = 1 << 24  # bytes
_SMALL: Final = 1 << 26  # bytes that an array may claim whatever its chunks: elements that were never written
_DEEPEST: Final = 64  # groups within groups
_NUMBER: Final = re.compile("0|[1-9][0-9]{0,18}")
_RATIO: Final = 1 << 15  # bytes that one compressed byte may stand for; of zeros, zstd makes that much


def save_folder(path: str, tensors: Mapping[str, Outgoing], /, *, compressed: bool) -> None:
    """Write a new folder.

    Raises:
        SaveError: there is something of that name, or the system refused.
        ArgumentError: a name that no array can have.

    >>> import tempfile
    >>> from tensor_runtime.io.blocks import TensorOutgoing
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_folder(folder + "/x.zarr", {"x": TensorOutgoing("save", tensor([1, 2]))}, compressed=True)
    ...     load_folder(folder + "/x.zarr", "x", None, False)["x"].tolist()
    [1, 2]
    """
    for name in tensors:
        if not _is_name(name):
            raise ArgumentError(
                f"save: {shortened(name)} is no name of a Zarr array; accepted: text without / \\ and :, not of dots "
                f"alone, not {_METADATA}, and with no __ at its start"
            )
    target = os.path.realpath(path)
    if os.path.lexists(target):
        raise SaveError(
            f"save: {path!r} is there already, and a Zarr folder is not replaced; remove it first", path=path
        )
    temporary = os.path.join(os.path.dirname(target), f".{os.path.basename(target)}.{os.urandom(8).hex()}.tmp")
    try:
        os.mkdir(temporary)
        write_atomically(os.path.join(temporary, _METADATA), [_GROUP])
        for name, x in tensors.items():
            folder = os.path.join(temporary, name)
            parts = ["c", *("0" for _ in x.shape)]
            os.makedirs(os.path.join(folder, *parts[:-1]))
            write_atomically(os.path.join(folder, _METADATA), [format_array(x.dtype, x.shape, compressed)])
            if 0 not in x.shape:
                write_atomically(os.path.join(folder, *parts), _encoded(x, compressed))
        os.rename(temporary, target)
    except BaseException as error:
        with suppress(OSError):
            shutil.rmtree(temporary)
        if isinstance(error, OSError) and not isinstance(error, SaveError):
            raise SaveError(
                f"save: {path!r} cannot be written: {error.strerror or error}; nothing was changed",
                path=path,
                errno=error.errno,
            ) from error
        raise


def _is_name(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:  # half of a surrogate pair
        return False
    return bool(name.strip(".")) and not (name.startswith("__") or set(name) & set("/\\:\0") or name == _METADATA)


def load_folder(path: str, name: str | None, dtype: DType | None, mmap: bool, /) -> dict[str, Tensor]:
    """The arrays of numbers of a folder, or the one called ``name``; "" is the array that the folder itself is.

    Raises:
        LoadError: the folder cannot be read, or an array cannot be mapped.
        FormatError: it is no Zarr folder of version 3, or one that is beyond what this reads.

    >>> import tempfile
    >>> from tensor_runtime.io.blocks import TensorOutgoing
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_folder(folder + "/x.zarr", {"x": TensorOutgoing("save", zeros((2, 3)))}, compressed=False)
    ...     load_folder(folder + "/x.zarr", None, None, True)["x"].strides
    (1, 2)
    """
    found: dict[str, Tensor] = {}
    for one, folder, facts in _arrays(path, ""):
        if one == name or (name is None and is_number(facts.get("data_type"))):
            found[one] = _converted(_array(folder, one, facts, dtype, mmap), dtype)
    return found


def listed(path: str, /) -> dict[str, ArrayFacts | Refused]:
    """What the arrays of a folder say of themselves, by name, or why they are not read; no chunk is.

    Raises:
        LoadError: the folder cannot be read.
        FormatError: it is no Zarr folder of version 3.

    >>> import tempfile
    >>> from tensor_runtime.io.blocks import TensorOutgoing
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_folder(folder + "/x.zarr", {"x": TensorOutgoing("save", zeros((2, 3)))}, compressed=False)
    ...     listed(folder + "/x.zarr")["x"].shape
    (2, 3)
    """
    found: dict[str, ArrayFacts | Refused] = {}
    for name, folder, metadata in _arrays(path, ""):
        try:
            found[name] = _facts(folder, metadata)
        except FormatError as error:
            found[name] = Refused(name, error, is_tensor=is_number(metadata.get("data_type")))
    return found


def _converted(x: Tensor, dtype: DType | None) -> Tensor:
    return x if dtype is None or x.dtype is dtype else convert(x, dtype)


def _encoded(x: Outgoing, compressed: bool) -> Iterator[Bytes]:
    from tensor_core.files.raw import encode

    if not compressed:
        yield from encode(x, "F", "little")
        return
    packer = zlib.compressobj(wbits=31)
    for piece in encode(x, "F", "little"):
        yield packer.compress(piece)
    yield packer.flush()


def _arrays(folder: str, name: str, depth: int = 0) -> Iterator[tuple[str, str, dict[str, Any]]]:
    if not os.path.exists(os.path.join(folder, _METADATA)) and any(
        os.path.exists(os.path.join(folder, one)) for one in _VERSION_2
    ):
        raise FormatError(
            f"load: {folder!r} is a Zarr folder of version 2; accepted: version 3; read it by the zarr package, "
            "asarray(zarr.open(path)[name][...])",
            path=folder,
        )
    with Source(os.path.join(folder, _METADATA)) as source:
        if source.size > _METADATA_LIMIT:
            raise source.malformed(f"{source.size} bytes of metadata; accepted: up to {_METADATA_LIMIT}")
        try:
            facts = json.loads(bytes(source.read(0, source.size, "the metadata")))
        except (ValueError, RecursionError) as error:
            raise source.malformed(f"no JSON: {shortened(str(error))}") from None
        if not isinstance(facts, dict) or facts.get("zarr_format") != 3:
            raise source.malformed("accepted: Zarr version 3")
        if depth > _DEEPEST:
            raise source.malformed(f"groups within groups; accepted: up to {_DEEPEST}")
    if facts.get("node_type") == "array":
        yield name, folder, facts
        return
    for one, is_folder in _listed(folder):
        if is_folder and os.path.isfile(os.path.join(folder, one, _METADATA)):
            yield from _arrays(os.path.join(folder, one), f"{name}/{one}" if name else one, depth + 1)


def _listed(folder: str) -> list[tuple[str, bool]]:
    """Names in a folder, in order, and whether each is a folder."""
    try:
        with os.scandir(folder) as found:
            return sorted((one.name, one.is_dir(follow_symlinks=False)) for one in found)
    except OSError as error:
        raise LoadError(
            f"load: {folder!r} cannot be read: {error.strerror or error}", path=folder, errno=error.errno
        ) from error


def _facts(folder: str, found: dict[str, Any]) -> ArrayFacts:
    try:
        return parse_array(found)
    except ValueError as error:
        raise FormatError(f"load: {os.path.join(folder, _METADATA)!r}: {error}", path=folder) from None


def _array(folder: str, name: str, found: dict[str, Any], dtype: DType | None, mmap: bool) -> Tensor:
    shown, facts = repr(os.path.join(folder, _METADATA)), _facts(folder, found)
    target = facts.element.target(f"load: {shown}", dtype)
    chunks = sorted(_chunks(folder, facts))
    wanted = element_count(facts.shape) * target.itemsize
    most = _SMALL + _RATIO * sum(_size(file) for _, file in chunks)
    if wanted > min(most, LARGEST) or element_count(facts.chunk) * facts.element.itemsize > min(most, LARGEST):
        raise FormatError(
            f"load: {shown} claims {facts.shape} in chunks of {facts.chunk}; its chunks have at most {most} bytes",
            path=folder,
        )
    whole = facts.chunk == facts.shape and len(chunks) == 1
    if mmap and wanted and (not whole or facts.compression):
        raise LoadError(f"load: {shown} is compressed or in several chunks and cannot be mapped; load it without mmap")
    if whole:
        x = _chunk(chunks[0][1], name, facts, target, mmap)
        return x if mmap or x.is_compact else copy(x)
    try:
        x = full(facts.shape, _number(facts.fill, target), target)
    except (ValueError, OverflowError, TypeError):
        raise FormatError(f"load: {shown}: fill_value {found['fill_value']!r} is no {target}", path=folder) from None
    into = mutable_view(x)
    for index, file in chunks:
        starts = [k * extent for k, extent in zip(index, facts.chunk, strict=True)]
        sizes = [min(extent, end - at) for at, extent, end in zip(starts, facts.chunk, facts.shape, strict=True)]
        piece = _chunk(file, name, facts, target, False)
        into[tuple(slice(at, at + size) for at, size in zip(starts, sizes, strict=True))] = piece[
            tuple(slice(0, size) for size in sizes)
        ]
    return x


def _size(file: str) -> int:
    try:
        return os.path.getsize(file)
    except OSError as error:
        raise LoadError(f"load: {file!r} cannot be read: {error.strerror or error}", path=file) from error


def _number(fill: Any, target: DType) -> Any:
    """A fill value as a number of a dtype, or ``ValueError`` or ``OverflowError``."""
    if target.kind == "complex":
        return complex(fill)
    if target.kind == "float":
        return float(fill)
    if int(fill) != fill or (target.kind == "bool" and fill not in (0, 1)):
        raise ValueError
    return bool(fill) if target.kind == "bool" else int(fill)


def _chunks(folder: str, facts: ArrayFacts) -> Iterator[tuple[tuple[int, ...], str]]:
    """Index and file of the chunks that are there; a folder is listed, as an array may claim chunks without number."""
    counts = [-(-extent // size) for extent, size in zip(facts.shape, facts.chunk, strict=True)]
    parts = max(facts.prefix + len(counts), 1)
    for key in _keys(folder, parts if facts.separator == "/" else 1):
        found = facts.separator.join(key).split(facts.separator)
        if facts.prefix and found[0] != "c":
            continue
        numbers = found[1:] if facts.prefix else found
        if not counts and numbers == ([] if facts.prefix else ["0"]):
            yield (), os.path.join(folder, *key)
        elif len(numbers) == len(counts) and all(map(_NUMBER.fullmatch, numbers)):
            index = tuple(map(int, numbers))
            if all(k < count for k, count in zip(index, counts, strict=True)):
                yield index, os.path.join(folder, *key)


def _keys(folder: str, levels: int) -> Iterator[tuple[str, ...]]:
    """Names of the files so many levels below a folder."""
    for name, is_folder in _listed(folder):
        if levels == 1 and not is_folder:
            yield (name,)
        elif levels > 1 and is_folder:
            for rest in _keys(os.path.join(folder, name), levels - 1):
                yield (name, *rest)


def _chunk(file: str, name: str, facts: ArrayFacts, target: DType, mmap: bool) -> Tensor:
    permuted = tuple(facts.chunk[axis] for axis in facts.permutation)
    wanted = element_count(permuted) * facts.element.itemsize
    with Source(file) as source:
        entry = Entry(name, facts.element, facts.swapped, permuted, "C", 0, lambda: _decoded(source, facts, wanted))
        if not facts.compression and source.size != wanted:
            raise source.malformed(f"a chunk of {source.size} bytes; its array says {wanted}")
        block: Block = block_of(source, entry, dtype=target, mmap=mmap)
    back = [facts.permutation.index(axis) for axis in range(len(permuted))]
    return permute_axes(tensor_of(block, shared=True), back) if back else tensor_of(block, shared=True)


def _decoded(source: Source, facts: ArrayFacts, wanted: int) -> bytearray:
    content = source.read(0, source.size, "a chunk")
    if facts.compression is None:
        return content
    try:
        if facts.compression == "gzip":
            found = zlib.decompressobj(31).decompress(content, wanted + 1)
        else:
            from compression import zstd  # type: ignore[import-not-found]  # Python 3.14

            found = zstd.ZstdDecompressor().decompress(bytes(content), wanted + 1)
    except ImportError:
        raise LoadError(f"load: {source.shown} is compressed by zstd, which Python has from 3.14 on") from None
    except Exception as error:
        raise source.malformed(f"a chunk cannot be decompressed: {shortened(str(error))}") from None
    if len(found) != wanted:
        raise source.malformed(f"a chunk has {len(found)} bytes or more; its array says {wanted}")
    return bytearray(found)
