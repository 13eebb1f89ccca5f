"""Kernels that put elements on diagonals, and keep triangles, on transposed arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

from tensor_core.shapes import normalize_axes
from tensor_cpu.kernel_table import Binder
from tensor_cpu.storage import NUMPY_DTYPES, Array
from tensor_runtime.form import Form
from tensor_runtime.ops.diagonals import Embedding, Triangle
from tensor_runtime.protocols import Kernel


def bind_embed_diagonal(operands: tuple[Form], result: Form, params: Embedding, /) -> Kernel:
    """Zeros with the last axis on a diagonal.

    >>> from tensor_core import I64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> bind_embed_diagonal((form_of(I64, (1,), CPU),), form_of(I64, (2, 2), CPU), (1, (0, 1)))(np.array([7])).tolist()
    [[0, 0], [7, 0]]
    """
    offset, axes = params
    first, second = normalize_axes(axes, result.rank, "embed_diagonal")
    shape, dtype = result.shape[::-1], NUMPY_DTYPES[result.dtype]
    steps = [step * dtype.itemsize for step in result.strides]
    down, right = steps[first], steps[second]
    start = max(-offset, 0) * down + max(offset, 0) * right
    others = [step for axis, step in enumerate(steps) if axis not in (first, second)]
    lines, strides = operands[0].shape[::-1], (down + right, *reversed(others))

    def embed(x: Array) -> Array:
        out = np.zeros(shape, dtype)
        if x.size:
            np.ndarray(lines, dtype, out, start, strides)[...] = x
        return out

    return embed


_TRIANGLE: Final = 128  # rows of a block; a kernel holds which elements of one square it keeps, at most 16 KiB


def bind_triangle(operands: tuple[Form], result: Form, params: Triangle, upper: bool, /) -> Kernel:
    """Elements on one side of a diagonal, zeros on the other, in blocks of rows.

    A block has columns that are kept whole, a square that the diagonal crosses, the same one in every block, and
    columns of zeros.

    >>> from tensor_core import I64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> form = form_of(I64, (2, 2), CPU)
    >>> bind_triangle((form,), form, (0, (0, 1)), False)(np.array([[1, 3], [2, 4]])).tolist()
    [[1, 3], [0, 4]]
    """
    k, axes = params
    rank = result.rank
    rows, columns = normalize_axes(axes, rank, "tril")
    if columns > rows:  # blocks of the slower axis are runs in memory; transposed, the other side is kept
        rows, columns, k, upper = columns, rows, -k, not upper
    height, width = result.shape[rows], result.shape[columns]
    k = min(max(k, -height), width)  # may be any int
    # Both axes in front; the transposed array has the axes reversed.
    order = [
        rank - 1 - axis for axis in (rows, columns, *(axis for axis in range(rank) if axis not in (rows, columns)))
    ]
    small = height * width <= _TRIANGLE**2
    side = max(height, width) if small else _TRIANGLE
    i = np.arange(height if small else side).reshape(-1, *[1] * (rank - 1))
    j = np.arange(width if small else side).reshape(-1, *[1] * (rank - 2))
    shift = k if small else 0
    kept = np.asarray(j - i >= shift if upper else j - i <= shift)
    shape, dtype = result.shape[::-1], NUMPY_DTYPES[result.dtype]

    def triangle(x: Array) -> Array:
        out = np.zeros(shape, dtype)
        np.copyto(out.transpose(order), x.transpose(order), where=kept)
        return out

    start, stop = max(-k, 0), max(min(height, width - k), 0)  # rows that the diagonal crosses
    whole = slice(0, start) if upper else slice(stop, None)  # rows that are kept as they are

    def blocks(x: Array) -> Array:
        out = np.zeros(shape, dtype)
        target, source = out.transpose(order), x.transpose(order)
        target[whole] = source[whole]
        for top in range(start, stop, side):
            bottom = min(top + side, stop)
            left, right = top + k, min(bottom + k, width)
            rest = (slice(top, bottom), slice(right, None) if upper else slice(0, left))
            target[rest] = source[rest]
            square = (slice(top, bottom), slice(left, right))
            np.copyto(target[square], source[square], where=kept[: bottom - top, : right - left])
        return out

    return triangle if small else blocks


BINDERS: Final[Mapping[str, Binder]] = {
    "embed_diagonal": bind_embed_diagonal,
    "tril": lambda operands, result, params: bind_triangle(operands, result, params, False),
    "triu": lambda operands, result, params: bind_triangle(operands, result, params, True),
}
