"""One library lends arrays to another, of every dtype and layout; a process of its own for each pair.

Usage: ``python -m clients.scripts.lending torch out``: tensors of ours to PyTorch; ``in``: the other way.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from typing import Any, Final

import numpy as np

import tensor_runtime as tr
from tensor_core import DTYPES

LAYOUTS: Final[dict[str, Callable[[Any], Any]]] = {
    "rank 0": lambda x: x[1, 2],
    "empty": lambda x: x[:0],
    "owned": lambda x: x,
    "transposed": lambda x: x.T,
    "reversed": lambda x: x[::-1, ::-2],
    "offset": lambda x: x[1:, 1],
}
BACKWARD: Final = {"torch": lambda x: x.flip(0, 1)[:, ::2]}
"""How a library without negative strides reverses an array."""


def library(name: str) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    """How a library borrows by DLPack, and how it makes an array of NumPy's."""
    module = importlib.import_module(name)
    if name == "jax":
        module.config.update("jax_enable_x64", True)
        return module.dlpack.from_dlpack, module.numpy.asarray
    return module.from_dlpack, (module.as_tensor if name == "torch" else module.asarray)


def lend(name: str) -> int:
    """Tensors of ours to the library; how many."""
    borrow, _ = library(name)
    count = 0
    for dtype in DTYPES:
        for layout, view in LAYOUTS.items():
            x = view(tr.asarray(np.arange(6).reshape(2, 3).astype(dtype.numpy_name)))
            seen = np.asarray(borrow(x))
            assert seen.dtype.name == dtype.numpy_name, (dtype, layout)
            np.testing.assert_array_equal(seen, x.to_numpy(), err_msg=f"{dtype} {layout}")
            count += 1
    return count


def take(name: str) -> int:
    """Arrays of the library to us, both by DLPack and by ``asarray``; how many."""
    _, make = library(name)
    count = 0
    for dtype in DTYPES:
        for layout, view in LAYOUTS.items():
            array = np.arange(6).reshape(2, 3).astype(dtype.numpy_name)
            theirs = make(array)
            theirs = (BACKWARD.get(name, view) if layout == "reversed" else view)(theirs)
            theirs = np.asarray(theirs) if name == "numpy" else theirs  # its scalars lend nothing
            for ours in (tr.from_dlpack(theirs), tr.asarray(theirs)):
                assert ours.dtype is dtype, (dtype, layout)
                np.testing.assert_array_equal(ours.to_numpy(), view(array), err_msg=f"{dtype} {layout}")
            count += 1
    return count


if __name__ == "__main__":
    print((lend if sys.argv[2] == "out" else take)(sys.argv[1]))
