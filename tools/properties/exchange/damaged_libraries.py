"""Damaged HDF5 files and Zarr folders: read, or refused by an error of ours; no crash, no hang, no memory beyond caps.

HDF5 is read by a library in C, so each file is read in another process.
"""

from __future__ import annotations

import gzip
import json
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, Final

import h5py
import numpy as np

import tensor_runtime as tr
from properties import Property
from properties.exchange import place, separate
from properties.exchange.mutations import damaged
from properties.exchange.watch import read_or_refused
from tensor_core import C64, DTYPES

_CLAIMS: Final = 1 << 26  # bytes that a file may claim whatever its size: elements that were never written
_SLACK: Final = 1 << 20
_TRACED: Final = 1 / 64
_WORDS: Final = tuple(
    b"""
    "shape" "chunk_shape" "codecs" "transpose" "bytes" "gzip" "zstd" "blosc" "sharding_indexed" "little" "big"
    "order" "endian" "float64" "int64" "bool" "complex64" "float16" "NaN" "Infinity" "0x7fc00000" null true [ ]
    { } , : [[[0,0],0],0] "fill_value" "regular" "default" "v2" "/" "." "group" "array" "node_type" 3 2 1.5
    [0,1]
    """.split()
)


@cache
def good_hdf5() -> tuple[bytes, ...]:
    r"""Good files: of ours, in both orders, compressed, and of MATLAB 7.3; groups as ITensors.jl writes them.

    >>> good_hdf5()[0][:4]
    b'\x89HDF'
    """
    rng = Random("hdf5")
    found = []
    for k in range(12):
        tensors = {name: tr.asarray(place.tensor(rng, DTYPES, 3)) for name in ("x", "a_y")[: 1 + k % 2]}
        path = place.file("good.h5")
        if k % 4 == 3:
            tr.save(path, tensors, format="mat73", compressed=k % 8 == 3)
        else:
            tr.save(path, tensors, reverse_dims=k % 3 == 1, compressed=k % 4 == 2)
        found.append(Path(path).read_bytes())
    with h5py.File(path := place.file("good.h5"), "w") as file:
        group = file.create_group("T")
        group.attrs["type"] = np.bytes_("ITensor")  # of fixed length, as HDF5.jl writes it
        indices = group.create_group("inds")
        indices["length"] = 2
        for k in (1, 2):
            indices.create_group(f"index_{k}")["dim"] = k + 1
        stored = group.create_group("storage")
        stored.attrs["type"] = np.bytes_("Dense{Float64}")
        stored["data"] = np.arange(6.0)
        file.create_dataset("chunked", (5, 4), "f8", chunks=(2, 2), fillvalue=3.0)[:3] = 1.0
        file["half"] = np.ones(3, "f2")
    found.append(Path(path).read_bytes())
    return tuple(found)


def damaged_hdf5_is_told(rng: Random) -> None:
    """One file, read in another process."""
    files = good_hdf5()
    suffix = rng.choice(("h5", "h5", "h5", "mat"))
    path = place.file(f"damaged.{suffix}", damaged(rng, rng.choice(files), files))
    reverse = rng.choice((None, True, False)) if suffix == "h5" else None
    separate.call(read_hdf5, path, reverse, rng.random() < 0.2, C64.name if rng.random() < 0.3 else None)


def read_hdf5(path: str, reverse_dims: bool | None, mmap: bool, dtype: str | None, /) -> str | None:
    """Read a file: the names of its tensors; None when it is refused by an error of ours."""
    found = read_or_refused(lambda: tr.load_all(path, mmap=mmap, dtype=dtype, reverse_dims=reverse_dims))
    for x in (found or {}).values():
        assert place.bits(x)[1] == x.shape
    return None if found is None else ", ".join(found)


def _folder_of_chunks(rng: Random) -> tuple[str, dict[str, Any], dict[tuple[str, ...], bytes], Any]:
    """An array cut into chunks, as any writer may cut it: folder, metadata, files, and what it holds."""
    dtype = rng.choice([dtype.numpy_name for dtype in DTYPES] + ["float16", "uint8", "int16", "uint64"])
    shape = tuple(rng.randint(0, 4) for _ in range(rng.randint(0, 3)))
    chunk = tuple(max(1, extent) if rng.random() < 0.3 else rng.randint(1, 3) for extent in shape)
    order = rng.sample(range(len(shape)), len(shape))
    endian, packed = rng.choice(("little", "big")), rng.random() < 0.3
    array = np.asarray(rng.choices(range(2), k=int(np.prod(shape))), dtype).reshape(shape)
    separator, prefix = rng.choice("/."), rng.random() < 0.7
    chunks = {}
    for index in np.ndindex(*(-(-extent // size) for extent, size in zip(shape, chunk, strict=True))):
        part = np.zeros(chunk, array.dtype.newbyteorder("<" if endian == "little" else ">"))
        piece = array[tuple(slice(k * size, k * size + size) for k, size in zip(index, chunk, strict=True))]
        part[tuple(map(slice, piece.shape))] = piece
        content = part.transpose(order).tobytes()
        parts = ["c"] * prefix + [str(k) for k in index]
        key = separator.join(parts) or "0"
        chunks[tuple(key.split("/"))] = gzip.compress(content, 1, mtime=0) if packed else content
    facts = {
        "zarr_format": 3, "node_type": "array", "shape": list(shape), "data_type": dtype,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": list(chunk)}},
        "chunk_key_encoding": {"name": "default" if prefix else "v2", "configuration": {"separator": separator}},
        "fill_value": [0, 0] if array.dtype.kind == "c" else False if dtype == "bool" else 0,
        "codecs": [{"name": "transpose", "configuration": {"order": order}},
                   {"name": "bytes", "configuration": {"endian": endian}},
                   *([{"name": "gzip", "configuration": {"level": 1}}] if packed else [])],
        "attributes": {},
    }  # fmt: skip
    return place.free_folder("damaged.zarr"), facts, chunks, array


def damaged_zarr_is_told(rng: Random) -> None:
    """One folder of one array: whole, or with its metadata or a chunk damaged."""
    folder, facts, chunks, array = _folder_of_chunks(rng)
    whole = rng.random() < 0.1
    content = json.dumps(facts).encode()
    if not whole and rng.random() < 0.8:
        content = damaged(rng, content, [content], _WORDS)
    Path(folder).mkdir()
    Path(folder, "zarr.json").write_bytes(content)
    for key, chunk in chunks.items():
        if whole or rng.random() < 0.9:
            Path(folder, *key[:-1]).mkdir(parents=True, exist_ok=True)
            harmed = not whole and rng.random() < 0.1
            Path(folder, *key).write_bytes(damaged(rng, chunk, [chunk]) if harmed else chunk)
    most = 3 * _CLAIMS + _SLACK if rng.random() < _TRACED else None
    dtype = C64 if rng.random() < 0.5 else None
    found = read_or_refused(lambda: tr.load(folder, dtype=dtype), most)
    if whole and (dtype is not None or array.dtype.name in [one.numpy_name for one in DTYPES]):
        assert found is not None and np.array_equal(found.to_numpy(), array), facts
    elif found is not None:
        assert place.bits(found)[1] == found.shape


PROPERTIES: Final = (
    Property(
        "damaged-hdf5",
        "a damaged HDF5 file is read or refused by an error of ours, and crashes nobody",
        damaged_hdf5_is_told,
        1_000,
        1_000_000,
        500,
    ),
    Property(
        "damaged-zarr",
        "a Zarr folder is read as it was written, and a damaged one too or refused by an error of ours",
        damaged_zarr_is_told,
        5_000,
        1_000_000,
        500,
    ),
)
