"""Where examples write their files, what they draw, and how two tensors are compared."""

from __future__ import annotations

import os
import shutil
import tempfile
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, Final

import numpy as np

import tensor_runtime as tr
from properties import draw
from tensor_core import DTYPES, Bool, DType, HostTensorView
from tensor_core.host.storage import Storage

_IN_MEMORY: Final = "/dev/shm"
_LETTERS: Final = "abxyzÄßλ漢字🧊 .-_'\"{}[]"


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(dir=_IN_MEMORY if os.access(_IN_MEMORY, os.W_OK) else None)


def file(name: str, content: bytes | None = None, /) -> str:
    """The path of a file that this process may write, gone with the process; with this content if any is given.

    >>> file("x").endswith("x")
    True
    """
    path = Path(_folder().name) / name
    if content is not None:
        path.write_bytes(content)
    return str(path)


def free_folder(name: str, /) -> str:
    """The path of a folder that is not there.

    >>> os.path.exists(free_folder("x"))
    False
    """
    path = file(name)
    shutil.rmtree(path, ignore_errors=True)
    return path


def tensor(rng: Random, dtypes: tuple[DType, ...] = DTYPES, most_axes: int = 4) -> HostTensorView[Any]:
    """A host tensor or a view of one, with any bits that its dtype can have.

    >>> from properties.exchange.place import tensor
    >>> tensor(Random(1)).dtype in DTYPES
    True
    """
    dtype = rng.choice(dtypes)
    rank = rng.randint(0, most_axes)
    longer = set(rng.sample(range(rank), min(rank, rng.randint(0, 4))))
    extents = tuple((rng.randint(0, 4) if axis in longer else 1) for axis in range(rank))
    layout, length = draw.layout(rng, extents)
    raw = bytes(rng.choices((0, 1), k=length)) if dtype is Bool else rng.randbytes(length * dtype.itemsize)
    return HostTensorView(Storage(dtype, memoryview(bytearray(raw))), layout)


def name(rng: Random, taken: set[str], accepted: str = _LETTERS) -> str:
    """A name that was not taken yet, of letters from anywhere.

    >>> set(name(Random(0), set(), "ab")) <= {"a", "b"}
    True
    """
    while True:
        found = "".join(rng.choices(accepted, k=rng.randint(1, 6)))
        if found not in taken and found.strip(". "):
            taken.add(found)
            return found


def bits(x: Any, /) -> tuple[str, tuple[int, ...], bytes]:
    r"""Dtype, shape and bytes in row-major order of a tensor or an array; all bytes of a Bool but 0 are true.

    >>> bits(np.ones(1, "f4"))
    ('float32', (1,), b'\x00\x00\x80?')
    """
    if isinstance(x, HostTensorView):
        return x.dtype.numpy_name, x.shape, x.tobytes(order="C")
    array = x.to_numpy() if isinstance(x, tr.Tensor) else np.asarray(x)
    return array.dtype.name, array.shape, (array.view("u1") != 0 if array.dtype == bool else array).tobytes("C")
