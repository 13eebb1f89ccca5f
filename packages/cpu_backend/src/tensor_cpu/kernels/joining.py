"""Kernels that put arrays together, pad, roll, and keep triangles, on transposed arrays.

Axis k of a tensor of rank r is axis r - 1 - k of its transposed array. Every kernel writes into a compact array once.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any, Final

import numpy as np
from numpy.lib.stride_tricks import as_strided

from tensor_core.shapes import normalize_axes
from tensor_cpu.kernel_table import Binder
from tensor_cpu.storage import NUMPY_DTYPES, Array, empty
from tensor_runtime.form import Form
from tensor_runtime.ops.diagonals import Embedding, Triangle
from tensor_runtime.ops.joining import Repeats, tile_shape
from tensor_runtime.ops.padding import Padding
from tensor_runtime.protocols import Kernel


def bind_concatenate(operands: tuple[Form, ...], result: Form, axis: int, /) -> Kernel:
    """One after the other along an axis.

    >>> from tensor_core import I64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> a, b, c = (form_of(I64, (extent,), CPU) for extent in (1, 2, 3))
    >>> bind_concatenate((a, b), c, 0)(np.array([1]), np.array([2, 3])).tolist()
    [1, 2, 3]
    """
    place = result.rank - 1 - axis % result.rank
    return lambda *arrays: np.concatenate(arrays, axis=place, out=empty(result))


def bind_stack(operands: tuple[Form, ...], result: Form, axis: int, /) -> Kernel:
    """Side by side along a new axis.

    >>> from tensor_core import I64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> a, b = form_of(I64, (2,), CPU), form_of(I64, (2, 2), CPU)
    >>> bind_stack((a, a), b, 1)(np.array([1, 2]), np.array([3, 4])).tolist()
    [[1, 2], [3, 4]]
    """
    place = result.rank - 1 - axis % result.rank
    return lambda *arrays: np.stack(arrays, axis=place, out=empty(result))


def bind_repeat(operands: tuple[Form], result: Form, params: Repeats, /) -> Kernel:
    """Each element several times; how often is an argument of the kernel.

    >>> from tensor_core import I64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> kernel = bind_repeat((form_of(I64, (2,), CPU),), form_of(I64, (3,), CPU), (0, 3))
    >>> kernel(np.array([5, 6]), (1, 2)).tolist()
    [5, 6, 6]
    """
    place = result.rank - 1 - params[0]

    def repeat(x: Array, numbers: tuple[int, ...]) -> Array:
        if 0 in x.shape:
            return empty(result)
        each: Any = numbers[0] if len(numbers) == 1 else np.array(numbers, np.int64)
        return np.ascontiguousarray(x.repeat(each, axis=place))

    return repeat


def bind_tile(operands: tuple[Form], result: Form, repetitions: tuple[int, ...], /) -> Kernel:
    """The whole array side by side.

    >>> from tensor_core import I64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> bind_tile((form_of(I64, (2,), CPU),), form_of(I64, (4,), CPU), (2,))(np.array([1, 2])).tolist()
    [1, 2, 1, 2]
    """
    extents, times = tile_shape(operands[0].shape, repetitions)
    alone = [part for extent in reversed(extents) for part in (1, extent)]
    split = [part for pair in zip(reversed(times), reversed(extents), strict=True) for part in pair]

    def tile(x: Array) -> Array:
        out = empty(result)
        if out.size:
            out.reshape(split)[...] = x.reshape(alone)
        return out

    return tile


def bind_roll(operands: tuple[Form], result: Form, axes: tuple[int, ...] | None, /) -> Kernel:
    """Blocks exchanged along axes; the shifts are an argument of the kernel.

    >>> from tensor_core import I64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> form = form_of(I64, (3,), CPU)
    >>> bind_roll((form,), form, (0,))(np.array([1, 2, 3]), (1,)).tolist()
    [3, 1, 2]
    """
    rank, shape = result.rank, result.shape[::-1]
    if axes is None:
        size = result.size

        def roll_all(x: Array, shifts: tuple[int, ...]) -> Array:
            out = empty(result)
            if size:  # a transposed array's Fortran order is the tensor's row-major order
                out[...] = np.roll(x.ravel(order="F"), shifts[0] % size).reshape(shape, order="F")
            return out

        return roll_all
    places = [rank - 1 - axis for axis in normalize_axes(axes, rank, "roll")]

    def roll(x: Array, shifts: tuple[int, ...]) -> Array:
        out = empty(result)
        pairs: list[list[tuple[slice, slice]]] = [[(slice(None), slice(None))]] * rank
        for place, shift in zip(places, shifts, strict=True):
            cut = shift % shape[place] if shape[place] else 0
            if cut:
                pairs[place] = [(slice(cut, None), slice(None, -cut)), (slice(None, cut), slice(-cut, None))]
        for block in product(*pairs):
            out[tuple(to for to, _ in block)] = x[tuple(source for _, source in block)]
        return out

    return roll


def bind_pad(operands: tuple[Form, ...], result: Form, params: Padding, /) -> Kernel:
    """A value around and between the elements; the value is an argument, a number or an array of rank 0.

    >>> from tensor_core import I64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> kernel = bind_pad((form_of(I64, (3,), CPU),), form_of(I64, (5,), CPU), ((1,), (-1,), (1,)))
    >>> kernel(np.array([1, 2, 3]), 0).tolist()
    [0, 1, 0, 2, 0]
    """
    target, source = [], []
    for n, extent, low, between in zip(operands[0].shape, result.shape, params[0], params[2], strict=True):
        step = between + 1
        first = max(0, -(low // step))  # the first element that is not cropped; it lands at low + first * step
        last = min(n, -((low - extent) // step))
        source.append(slice(first, max(first, last)))
        target.append(slice(low + first * step, low + last * step, step) if last > first else slice(0, 0))
    at, of = (..., *reversed(target)), (..., *reversed(source))
    shape, dtype = result.shape[::-1], NUMPY_DTYPES[result.dtype]

    def pad(x: Array, value: Any) -> Array:
        out = np.full(shape, value, dtype)
        out[at] = x[of]
        return out

    return pad


def bind_pad_edge(operands: tuple[Form], result: Form, params: Padding, /) -> Kernel:
    """The nearest element around, one axis after the other.

    >>> from tensor_core import I64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> kernel = bind_pad_edge((form_of(I64, (2,), CPU),), form_of(I64, (5,), CPU), ((1,), (2,), (0,)))
    >>> kernel(np.array([1, 2])).tolist()
    [1, 1, 2, 2, 2]
    """
    lows, extents = params[0][::-1], operands[0].shape[::-1]
    centre: Any = (..., *(slice(low, low + n) for low, n in zip(lows, extents, strict=True)))

    def pad(x: Array) -> Array:
        out = empty(result)
        if not out.size:
            return out
        out[centre] = x
        for axis, (low, n) in enumerate(zip(lows, extents, strict=True)):
            lines = out.swapaxes(0, axis)  # other axes are copied whole: what is not filled yet is overwritten later
            lines[:low] = lines[low : low + 1]
            lines[low + n :] = lines[low + n - 1 : low + n]
        return out

    return pad


def bind_embed_diagonal(operands: tuple[Form], result: Form, params: Embedding, /) -> Kernel:
    """Zeros with the last axis on a diagonal.

    >>> from tensor_core import I64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> bind_embed_diagonal((form_of(I64, (1,), CPU),), form_of(I64, (2, 2), CPU), (1, (0, 1)))(np.array([7])).tolist()
    [[0, 0], [7, 0]]
    """
    offset, axes = params
    rank, extent = result.rank, operands[0].shape[-1]
    first, second = normalize_axes(axes, rank, "embed_diagonal")
    shape, dtype = result.shape[::-1], NUMPY_DTYPES[result.dtype]
    start = [slice(None)] * rank
    start[first], start[second] = slice(max(-offset, 0), None), slice(max(offset, 0), None)

    def embed(x: Array) -> Array:
        out = np.zeros(shape, dtype)
        if not x.size:
            return out
        lines = np.moveaxis(out.T[tuple(start)], (first, second), (-2, -1))
        strides = (*lines.strides[:-2], lines.strides[-2] + lines.strides[-1])
        as_strided(lines, (*lines.shape[:-2], extent), strides)[...] = x.T
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
    "concatenate": bind_concatenate,
    "stack": bind_stack,
    "repeat": bind_repeat,
    "tile": bind_tile,
    "roll": bind_roll,
    "pad": bind_pad,
    "pad_edge": bind_pad_edge,
    "embed_diagonal": bind_embed_diagonal,
    "tril": lambda operands, result, params: bind_triangle(operands, result, params, False),
    "triu": lambda operands, result, params: bind_triangle(operands, result, params, True),
}
