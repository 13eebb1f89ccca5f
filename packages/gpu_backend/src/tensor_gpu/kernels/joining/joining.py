"""Kernels that put arrays together, repeat and roll them: copies of blocks, one launch each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate, product
from math import prod
from typing import Final

import numpy as np

from tensor_core.dtypes import I64
from tensor_core.shapes import Shape, compact_strides, normalize_axes
from tensor_gpu.device.arrays import DeviceArray
from tensor_gpu.device.executor import Executor
from tensor_gpu.kernels.expressions import copier
from tensor_gpu.kernels.gather_scatter.places import Component, Walked, bind_places, line_of
from tensor_gpu.kernels.planning import Binder
from tensor_runtime.contracts.joining import JoinParams, RepeatParams, RollParams, TileParams
from tensor_runtime.form import Form
from tensor_runtime.ops.joining import tile_shape
from tensor_runtime.protocols import Kernel


def bind_concatenate(executor: Executor, operands: tuple[Form, ...], result: Form, params: JoinParams, /) -> Kernel:
    """One after the other along an axis.

    >>> from tensor_gpu.sim.bench import Bench
    >>> bench = Bench()
    >>> x, y = bench.put([1.0]), bench.put([2.0, 3.0])
    >>> bench.run("concatenate", x, y, result=bench.form((3,)), params=JoinParams(0))
    [1.0, 2.0, 3.0]
    """
    axis = params.axis % result.rank
    starts = accumulate((form.shape[axis] for form in operands[:-1]), initial=0)
    places = [start * result.strides[axis] for start in starts]
    return _joined(executor, operands, result, result.strides, places)


def bind_stack(executor: Executor, operands: tuple[Form, ...], result: Form, params: JoinParams, /) -> Kernel:
    """Side by side along a new axis.

    >>> from tensor_gpu.sim.bench import Bench
    >>> bench = Bench()
    >>> x = bench.put([1.0, 2.0])
    >>> bench.run("stack", x, x, result=bench.form((2, 2)), params=JoinParams(1))
    [[1.0, 1.0], [2.0, 2.0]]
    """
    axis = params.axis % result.rank
    beside = (*result.strides[:axis], *result.strides[axis + 1 :])
    return _joined(executor, operands, result, beside, [k * result.strides[axis] for k in range(len(operands))])


def _joined(executor: Executor, operands: Sequence[Form], result: Form, strides: Shape, places: list[int]) -> Kernel:
    """Each operand is copied to its place in the result, in which it has these strides."""
    copies = [copier(executor, form.dtype, result.dtype, form.shape, strides, form.strides) for form in operands]

    def joined(*arrays: DeviceArray) -> DeviceArray:
        target = executor.empty(result)
        for copy, place, array in zip(copies, places, arrays, strict=True):
            copy(target.moved(place), array)
        return target

    return joined


def bind_repeat(executor: Executor, operands: tuple[Form], result: Form, params: RepeatParams, /) -> Kernel:
    """Each element several times: one launch; where the numbers differ, which element goes where is uploaded first.

    >>> from tensor_gpu.sim.bench import Bench
    >>> bench = Bench()
    >>> x, form = bench.put([5.0, 6.0]), bench.form((3,))
    >>> bench.get((bind_repeat(bench.executor, (x.form,), form, RepeatParams(0, 3))(x.array, (1, 2)), form))
    [5.0, 6.0, 6.0]
    """
    (form,), axis = operands, params.axis
    extent = form.shape[axis]
    before, after = form.strides[:axis], form.strides[axis + 1 :]
    walked = Walked(result.shape, (*before, 0, *after), result.strides, _along(axis, result.rank))
    places = bind_places(executor, "read", (form.dtype, form.dtype, I64), walked, [Component(0, 0, form.strides[axis])])
    each = params.extent // extent if extent else 0
    step = result.strides[axis]
    spread = copier(
        executor,
        form.dtype,
        form.dtype,
        (*form.shape[:axis], each, *form.shape[axis:]),
        (*result.strides[:axis], step, each * step, *result.strides[axis + 1 :]),
        (*before, 0, form.strides[axis], *after),
    )

    def repeat(array: DeviceArray, numbers: tuple[int, ...]) -> DeviceArray:
        target = executor.empty(result)
        if not result.size:
            return target
        if len(set(numbers)) == 1:
            spread(target, array)
            return target
        taken = np.repeat(np.arange(extent), numbers)
        index = executor.scratch(taken.nbytes, taken.itemsize)
        executor.upload(index, taken.tobytes())
        places(array, target, index)
        return target

    return repeat


def _along(axis: int, rank: int) -> Shape:
    """Strides of a line along an axis."""
    return tuple(int(place == axis) for place in range(rank))


def bind_tile(executor: Executor, operands: tuple[Form], result: Form, params: TileParams, /) -> Kernel:
    """The whole array side by side.

    >>> from tensor_gpu.sim.bench import Bench
    >>> bench = Bench()
    >>> bench.run("tile", bench.put([1.0, 2.0]), result=bench.form((4,)), params=TileParams((2,)))
    [1.0, 2.0, 1.0, 2.0]
    """
    (form,) = operands
    extents, times = tile_shape(form.shape, params.repetitions)
    missing = len(extents) - form.rank
    shape: list[int] = []
    written: list[int] = []
    read: list[int] = []
    for axis, (extent, number) in enumerate(zip(extents, times, strict=True)):
        shape += (extent, number)
        written += (result.strides[axis], extent * result.strides[axis])
        read += (form.strides[axis - missing] if axis >= missing else 0, 0)
    copy = copier(executor, form.dtype, form.dtype, tuple(shape), tuple(written), tuple(read))

    def tile(array: DeviceArray) -> DeviceArray:
        target = executor.empty(result)
        copy(target, array)
        return target

    return tile


def bind_roll(executor: Executor, operands: tuple[Form], result: Form, params: RollParams, /) -> Kernel:
    """Blocks exchanged along axes, two for each of them; the line of all elements by way of a copy in that order.

    >>> from tensor_gpu.sim.bench import Bench
    >>> bench = Bench()
    >>> x = bench.put([1.0, 2.0, 3.0])
    >>> bench.get((bind_roll(bench.executor, (x.form,), x.form, RollParams((0,)))(x.array, (1,)), x.form))
    [3.0, 1.0, 2.0]
    """
    (form,) = operands
    if params.axes is None:
        return _bind_roll_line(executor, form, result)
    axes = normalize_axes(params.axes, form.rank, "roll")

    def roll(array: DeviceArray, shifts: tuple[int, ...]) -> DeviceArray:
        target = executor.empty(result)
        if result.size:
            moved = [0] * form.rank
            for axis, shift in zip(axes, shifts, strict=True):
                moved[axis] = shift
            _exchange(executor, form, target, result.strides, array, form.strides, form.shape, moved)
        return target

    return roll


def _bind_roll_line(executor: Executor, form: Form, result: Form) -> Kernel:
    line, row_major = line_of(executor, form), compact_strides(result.shape[::-1])[::-1]
    back = copier(executor, form.dtype, form.dtype, form.shape, result.strides, row_major)
    flat = form.rank <= 1

    def roll(array: DeviceArray, shifts: tuple[int, ...]) -> DeviceArray:
        target = executor.empty(result)
        if not result.size:
            return target
        source = array if line.copy is None else line.copy(array)
        rolled = target if flat else executor.empty(result)
        _exchange(executor, form, rolled, (1,), source, (line.stride,), (form.size,), shifts)
        if not flat:
            back(target, rolled)
        return target

    return roll


def _exchange(
    executor: Executor,
    form: Form,
    target: DeviceArray,
    written: Shape,
    source: DeviceArray,
    read: Shape,
    shape: Shape,
    shifts: Sequence[int],
) -> None:
    """Copy what stays before the end of an axis, and what comes in at its other end, of all axes."""
    cuts = [shift % extent for extent, shift in zip(shape, shifts, strict=True)]
    blocks = [
        [(cut, 0, extent - cut), *([(0, extent - cut, cut)] if cut else [])]
        for extent, cut in zip(shape, cuts, strict=True)
    ]
    for block in product(*blocks):
        extents = tuple(count for _, _, count in block)
        copy = copier(executor, form.dtype, form.dtype, extents, written, read)
        to = sum(start * stride for (start, _, _), stride in zip(block, written, strict=True))
        of = sum(start * stride for (_, start, _), stride in zip(block, read, strict=True))
        if prod(extents):
            copy(target.moved(to), source.moved(of))


BINDERS: Final[Mapping[str, Binder]] = {
    "concatenate": bind_concatenate,
    "stack": bind_stack,
    "repeat": bind_repeat,
    "tile": bind_tile,
    "roll": bind_roll,
}
