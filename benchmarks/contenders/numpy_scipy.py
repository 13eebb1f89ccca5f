"""NumPy, which is also the reference, NumPy writing into warm arrays, and SciPy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from benchmarks.contenders.base import Operations, Prepared
from benchmarks.drawing import Array


def read(result: Any) -> list[Any]:
    """The result as it is."""
    return [result]


def permute(arguments: Mapping[str, Any], arrays: list[Array]) -> Prepared:
    """A fresh row-major copy of the permuted view."""
    view = arrays[0].transpose(arguments["axes"])
    return Prepared(lambda: np.array(view, order="C", copy=True), read)


def permute_into(arguments: Mapping[str, Any], arrays: list[Array]) -> Prepared:
    """The copy into an array that exists."""
    view = arrays[0].transpose(arguments["axes"])
    out = np.zeros(view.shape)

    def run() -> Array:
        np.copyto(out, view)
        return out

    return Prepared(run, read)


NUMPY: Operations = {"permute": permute}
NUMPY_INTO: Operations = {"permute": permute_into}
SCIPY: Operations = {}
