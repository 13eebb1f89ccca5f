"""Files that are good: what is saved comes back with every bit, and what is written by others is read or refused."""

from __future__ import annotations

from random import Random
from typing import Any, Final

import numpy as np

import tensor_core.files
import tensor_runtime as tr
from properties import Property
from properties.exchange import place
from tensor_core import C64, DTYPES, HostTensorView, TensorError
from tensor_core.dtypes import as_dtype

_NAMED: Final = ("npz", "safetensors", "mat", "zarr")
_MOST_AXES: Final = 32
_FOREIGN: Final = {  # type strings of NumPy, and what reads them: True as they are, False nothing, a dtype on request
    "|b1": True, "<i4": True, ">i4": True, "<i8": True, ">i8": True, "<f4": True, ">f4": True, "<f8": True,
    ">f8": True, "<c8": True, ">c8": True, "<c16": True, ">c16": True,
    "<f2": "F32", ">f2": "F64", "|i1": "I32", "|u1": "I64", "<i2": "F32", ">u2": "C64", "<u4": "I64", ">u8": "F64",
    "<U3": False, ">U3": False, "|S2": False, "<M8[s]": False, "<m8[D]": False, "<f16": False, "<c32": False,
}  # fmt: skip
_LETTERS: Final = {"mat": "abcxyzABC", "zarr": "abxyzÄßλ漢字🧊 -'{}", "npz": "abxyzÄßλ漢字🧊 -_'{}/"}


def saved_comes_back(rng: Random) -> None:
    """Tensors and views of ranks 0 to 32, in every format that needs no other library, by runtime and core."""
    if rng.random() < 0.2:
        others_are_read_or_refused(rng)
        return
    format = rng.choice(("npy", *_NAMED))
    dtypes = tuple(dtype for dtype in DTYPES if format != "safetensors" or dtype is not C64)
    most = _MOST_AXES if rng.random() < 0.3 else 4
    if format == "npy":
        names = [""]
    else:
        taken: set[str] = set()
        names = [_name(rng, format, taken) for _ in range(rng.randint(1, 3))]
    tensors = {name: place.tensor(rng, dtypes, most) for name in names}
    options: dict[str, Any] = {"order": rng.choice("FC")} if format in ("npy", "npz") else {}
    compressed = format in ("npz", "mat", "zarr") and rng.random() < 0.3
    if compressed:
        options["compressed"] = True
    path = place.free_folder("saved.zarr") if format == "zarr" else place.file(f"saved.{format}")
    ours = {name: tr.asarray(x) for name, x in tensors.items()}
    tr.save(path, ours if names != [""] else ours[""], **options)
    if format in ("npy", "npz", "safetensors"):
        _assert_read(tensor_core.files, path, tensors, rng.random() < 0.5 and not compressed)
        if rng.random() < 0.3:
            tensor_core.files.save(path, tensors if names != [""] else tensors[""], **options)
    mapped = not compressed and format != "mat" and rng.random() < 0.3
    _assert_read(tr, path, {name: _as_matlab(x) for name, x in tensors.items()} if format == "mat" else tensors, mapped)


def others_are_read_or_refused(rng: Random) -> None:
    """``.npy`` files of NumPy: every element type, byte order and order of axes is read as NumPy has it, or refused."""
    text = rng.choice(list(_FOREIGN))
    reads = _FOREIGN[text]
    shape = tuple(rng.randint(0, 3) for _ in range(rng.randint(0, 4)))
    dtype = np.dtype(text)
    count = int(np.prod(shape))
    raw = bytes(rng.choices((0, 1), k=count)) if text == "|b1" else rng.randbytes(count * dtype.itemsize)
    if dtype.kind == "U":
        raw = bytes(len(raw))
    array = np.frombuffer(raw, dtype).reshape(shape, order=rng.choice("FC"))  # type: ignore[call-overload]
    path = place.file("theirs.npy")
    np.save(path, array)
    if reads is True:
        expected = np.asarray(array, array.dtype.newbyteorder("="))
        assert place.bits(tr.load(path)) == place.bits(expected), (text, shape)
        return
    try:
        tr.load(path)
    except TensorError as error:
        assert text in str(error) or array.dtype.name in str(error), error
    else:
        raise AssertionError(f"{text} was read unasked")
    if reads is not False:
        with np.errstate(all="ignore"):
            expected = array.astype(as_dtype(str(reads)).numpy_name)
        found = tr.load(path, dtype=str(reads)).to_numpy()
        assert found.shape == shape and np.array_equal(found, expected, equal_nan=True), (text, shape)


def _name(rng: Random, format: str, taken: set[str]) -> str:
    while True:
        name = place.name(rng, taken, *((_LETTERS[format],) if format in _LETTERS else ()))
        if not (name.startswith(("/", "__")) or name.endswith((".npy", "/")) or "//" in name):
            return name


def _as_matlab(x: HostTensorView[Any]) -> HostTensorView[Any]:
    """Files of MATLAB have no rank below 2."""
    for _ in range(2 - len(x.shape)):
        x = x[..., None]
    return x


def _assert_read(library: Any, path: str, tensors: dict[str, HostTensorView[Any]], mapped: bool) -> None:
    read = {"": library.load(path, mmap=mapped)} if list(tensors) == [""] else library.load_all(path, mmap=mapped)
    assert read.keys() == tensors.keys(), (path, list(read), list(tensors))
    for name, x in tensors.items():
        assert place.bits(read[name]) == place.bits(x), (path, name, x.layout, mapped)


PROPERTIES: Final = (
    Property("round-trips-of-files", "what is saved comes back with every bit", saved_comes_back, 1_000, 10_000_000),
)
