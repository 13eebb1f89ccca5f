"""Kernels that put arrays together, repeat and roll them, on transposed arrays.

Axis k of a tensor of rank r is axis r - 1 - k of its transposed array. Every kernel writes into a compact array once.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any, Final

import numpy as np

from tensor_core.shapes import normalize_axes
from tensor_cpu.kernel_table import Binder
from tensor_cpu.kernels.params import taking_fields
from tensor_cpu.storage import Array, empty
from tensor_runtime.form import Form
from tensor_runtime.ops.joining import Repeats, tile_shape
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
    places = None if axes is None else [rank - 1 - axis for axis in normalize_axes(axes, rank, "roll")]
    if rank == 1 and result.size:
        (extent,) = shape

        def roll_line(x: Array, shifts: tuple[int, ...]) -> Array:
            out, cut = empty(result), sum(shifts) % extent
            out[cut:] = x[: extent - cut]
            out[:cut] = x[extent - cut :]
            return out

        return roll_line

    def roll(x: Array, shifts: tuple[int, ...]) -> Array:
        out = empty(result)
        if not out.size:
            return out
        if places is None:
            _roll_lines(out, x, shifts[0], ())
            return out
        pairs: list[_Pairs] = [_WHOLE] * rank
        for place, shift in zip(places, shifts, strict=True):
            pairs[place] = _exchanged(shape[place], shift)
        for block in product(*pairs):
            out[tuple(to for to, _ in block)] = x[tuple(source for _, source in block)]
        return out

    return roll


_Pairs = tuple[tuple[slice, slice], ...]
_ALL: Final = slice(None)
_WHOLE: Final[_Pairs] = ((_ALL, _ALL),)


def _exchanged(extent: int, shift: int) -> _Pairs:
    """Where blocks of an axis go to, and come from; those that come in at the other end are the last."""
    cut = shift % extent
    return ((slice(cut, None), slice(None, extent - cut)), (slice(cut), slice(extent - cut, None))) if cut else _WHOLE


def _roll_lines(out: Array, x: Array, shift: int, behind: tuple[Any, ...]) -> None:
    """Roll the line of all elements, of which the first axis of the transposed array is the fastest.

    What is moved across the end of an axis goes one place further along the next one: two blocks for each axis.
    """
    place = len(behind)
    if place == x.ndim:
        out[tuple(to for to, _ in behind)] = x[tuple(source for _, source in behind)]
        return
    extent = x.shape[place]
    for carried, block in enumerate(_exchanged(extent, shift)):
        _roll_lines(out, x, shift // extent + carried, (*behind, block))


BINDERS: Final[Mapping[str, Binder]] = {
    "concatenate": taking_fields(bind_concatenate),
    "stack": taking_fields(bind_stack),
    "repeat": bind_repeat,
    "tile": taking_fields(bind_tile),
    "roll": taking_fields(bind_roll),
}
