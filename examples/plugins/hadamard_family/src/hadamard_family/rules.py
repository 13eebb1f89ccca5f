"""Both operations by others of the runtime, for backends without kernels of their own."""

from __future__ import annotations

import tensor_runtime as tr
from tensor_core.shapes import normalize_axis
from tensor_runtime import Tensor


def lower_khatri_rao(a: Tensor, b: Tensor, params: object) -> Tensor:
    """Products of all pairs of rows; the rows of b run fastest."""
    rows, columns = (a.shape[0], b.shape[0]), a.shape[1:]
    pairs = b.reshape((rows[1], 1, *columns)) * a.reshape((1, rows[0], *columns))
    return pairs.reshape((rows[0] * rows[1], *columns))


def lower_walsh_hadamard(x: Tensor, axis: int) -> Tensor:
    """Sums and differences of the elements whose indices differ in one bit, bit after bit."""
    axis = normalize_axis(axis, len(x.shape), "walsh_hadamard")
    before, extent, after = x.shape[:axis], x.shape[axis], x.shape[axis + 1 :]
    made = tr.copy(x)
    step = 1
    while step < extent:
        halves = made.reshape((*before, step, 2, extent // (2 * step), *after))
        index = (slice(None),) * (axis + 1)
        first, second = halves[(*index, 0)], halves[(*index, 1)]
        made = tr.stack([first + second, first - second], axis=axis + 1).reshape(x.shape)
        step *= 2
    return made
