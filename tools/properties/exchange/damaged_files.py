"""Damaged files of the formats that we read ourselves: read as their bytes say, or refused by an error of ours.

NumPy and safetensors read the same where we read the file at all, and what is saved again comes back with every bit.
"""

from __future__ import annotations

import io
import struct
import warnings
import zlib
from collections.abc import Iterator, Mapping
from functools import cache
from random import Random
from tokenize import TokenError
from typing import Any, Final

import numpy as np
import safetensors.numpy

import tensor_core.files
import tensor_runtime as tr
from properties import Property
from properties.exchange import place
from properties.exchange.mutations import damaged
from properties.exchange.watch import read_or_refused
from tensor_core import C64, DTYPES

_WORDS: Final = {
    "npy": (b"'descr'", b"'fortran_order'", b"'shape'", b"True", b"False", b"'<f8'", b"'>f4'", b"'|b1'", b"'|O'", b"(",
            b")", b",", b"()", b"{", b"}", b" ", b"'<c16'", b"'<U4'", b"L", b"_", b"[('a', '<f8')]"),
    "safetensors": (b'"dtype"', b'"shape"', b'"data_offsets"', b'"__metadata__"', b'"F64"', b'"BOOL"', b'"C64"',
                    b'"F16"', b'"BF16"', b'"F8_E4M3"', b"[", b"]", b"[]", b"{", b"}", b",", b":", b"null", b"true",
                    b"1e3", b"NaN", b'"\\ud800"', b" ", b'"x"', b"[0,0]"),
}  # fmt: skip
_HOSTILE: Final = (  # headers over which readers of other libraries went wrong, and how many bytes follow
    (b'{"x":{"dtype":"F64","shape":[4294967296,4294967296],"data_offsets":[0,0]}}', 0),  # a product that wraps to 0
    (b'{"x":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"x":{"dtype":"U8","shape":[2],"data_offsets":[2,4]}}', 4),
    (b'{"x":{"dtype":"U8","shape":[2],"data_offsets":[2,4]}}', 4),  # a gap
    (b'{"x":{"dtype":"Q4","shape":[9],"data_offsets":[0,4]}}', 4),  # an element type that nobody knows
)
_SLACK: Final = 1 << 20  # bytes that a reader takes for itself
_SMALL: Final = 1 << 26  # bytes that MAT may claim whatever the size of the file
_DEFLATED: Final = 1032  # bytes that one byte can stand for
_TRACED: Final = 1 / 64  # of the examples have their memory counted
_AGAIN: Final = 1 / 4  # of what is read is saved and read once more


@cache
def good_files(format: str, /) -> tuple[bytes, ...]:
    """Sixteen good files, and those that others went wrong over.

    >>> len(good_files("npy"))
    16
    """
    rng = Random(format)
    found = []
    for k in range(16):
        dtypes = tuple(dtype for dtype in DTYPES if format != "safetensors" or dtype is not C64)
        count = 1 if format == "npy" else 1 + k % 3
        tensors = {"xyz"[i]: tr.asarray(place.tensor(rng, dtypes, 3)) for i in range(count)}
        options: dict[str, Any] = {"compressed": True} if k % 2 and format in ("npz", "mat") else {}
        tr.save(path := place.file(f"good.{format}"), tensors if format != "npy" else tensors["x"], **options)
        with open(path, "rb") as file:
            found.append(file.read())
    if format == "safetensors":
        found += [struct.pack("<Q", len(text)) + text + bytes(count) for text, count in _HOSTILE]
        found.append(struct.pack("<Q", 2**64 - 5) + b"{}")  # a length that wraps when something is added
    return tuple(found)


def damaged_files_are_told(rng: Random) -> None:
    """One file of one format, damaged anywhere."""
    format = rng.choice(("npy", "npy", "safetensors", "safetensors", "npz", "mat"))
    content = _damaged(rng, format)
    path = place.file(f"damaged.{format}", content)
    library: Any = tr if format == "mat" or rng.random() < 0.2 else tensor_core.files
    dtype = C64 if rng.random() < 0.2 else None
    mmap = rng.random() < 0.2
    most = None
    if rng.random() < _TRACED:
        factor = {"npy": 4, "safetensors": 64, "npz": 2 * _DEFLATED, "mat": 4 * _DEFLATED}[format]
        most = _SLACK + factor * len(content) + (2 * _SMALL if format == "mat" else 0)
    if format == "npy":
        one = read_or_refused(lambda: library.load(path, mmap=mmap, dtype=dtype), most)
        found = None if one is None else {"": one}
    else:
        found = read_or_refused(lambda: library.load_all(path, mmap=mmap, dtype=dtype), most)
    if found is None:
        return
    seen = {name: place.bits(x) for name, x in found.items()}
    if dtype is None:
        _assert_others_agree(format, path, content, seen)
    if rng.random() < _AGAIN and all(_is_name(name) for name in found):
        _assert_saved_again(format, library, found, seen)


def _damaged(rng: Random, format: str) -> bytes:
    files = good_files(format)
    content = rng.choice(files)
    words = _WORDS.get(format, ())
    how = rng.random()
    if format == "npz" and how < 0.4:  # damage within a member, whose checksum is right again
        return _archive({name: damaged(rng, rng.choice(good_files("npy")), files, _WORDS["npy"]) for name in "ab"}, rng)
    if format == "mat" and how < 0.4:  # damage within what is compressed
        inner = damaged(rng, rng.choice(files[::2])[128:], files)
        packed = zlib.compress(inner)
        return content[:128] + struct.pack("<2I", 15, len(packed)) + packed
    if format == "safetensors" and how < 0.6:  # damage within the header, whose length is right again
        length = int.from_bytes(content[:8], "little")
        header = damaged(rng, content[8 : 8 + length], files, words)
        return struct.pack("<Q", len(header)) + header + content[8 + length :]
    if format == "npy" and how < 0.6:
        header = damaged(rng, content[10:128], files, words)
        return content[:8] + struct.pack("<H", len(header) % 2**16) + header + content[128:]
    return damaged(rng, content, files, words)


def _archive(members: Mapping[str, bytes], rng: Random) -> bytes:
    from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile

    with ZipFile(file := io.BytesIO(), "w", rng.choice((ZIP_STORED, ZIP_DEFLATED))) as archive:
        for name, content in members.items():
            archive.writestr(name + ".npy", content)
    return file.getvalue()


def _is_name(name: str) -> bool:
    return name == "" or (name.isascii() and name.isalpha())


def _assert_others_agree(format: str, path: str, content: bytes, seen: Mapping[str, Any]) -> None:
    """NumPy and safetensors read the same elements from the same bytes."""
    if format == "mat":
        return
    if format == "safetensors":
        expected: dict[str, Any] = safetensors.numpy.load(content)
    else:
        with warnings.catch_warnings():  # files of Python 2 are slow to read
            warnings.simplefilter("ignore", UserWarning)
            found: Any = np.load(path, allow_pickle=False)
        expected = {"": found} if format == "npy" else dict(_arrays_of_numbers(found))
    assert seen.keys() == expected.keys(), (list(seen), list(expected))
    for name, array in expected.items():
        native = np.asarray(array, array.dtype.newbyteorder("="))
        assert seen[name] == place.bits(native), (format, name, seen[name][:2], native.dtype, native.shape)


def _arrays_of_numbers(archive: Any) -> Iterator[tuple[str, Any]]:
    """Text, dates, objects and members that are no arrays are no tensors; what NumPy refuses is to be none either."""
    for name in archive:
        try:
            array = archive[name]
        except (ValueError, SyntaxError, TokenError):  # of its parser, for which a header is a program
            continue
        if isinstance(array, np.ndarray) and array.dtype.kind in "biufc":
            yield name, array


def _assert_saved_again(format: str, library: Any, found: Mapping[str, Any], seen: Mapping[str, Any]) -> None:
    if format == "safetensors" and any(x.dtype is C64 for x in found.values()):
        format = "npz"
    path = place.file(f"again.{format}")
    if format == "npy":
        library.save(path, found[""])
        assert place.bits(library.load(path)) == seen[""]
    elif found:
        library.save(path, found)
        again = {name: place.bits(x) for name, x in library.load_all(path).items()}
        assert again == seen


PROPERTIES: Final = (
    Property(
        "damaged-files",
        "a damaged file is read as its bytes say, or refused by an error of ours",
        damaged_files_are_told,
        10_000,
        10_000_000,
        1_000,
    ),
)
