"""Kernels of order: stable sorts of lines, by runs that are merged, and searches in a line that is in order."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from typing import Any, Final, NamedTuple

from tensor_core.dtypes import I64, DType
from tensor_core.promotion import promote
from tensor_core.shapes import Shape, compact_strides
from tensor_gpu.device.arrays import DeviceArray
from tensor_gpu.device.executor import Executor
from tensor_gpu.device.program import Argument
from tensor_gpu.kernels.expressions import copier
from tensor_gpu.kernels.planning import Binder
from tensor_gpu.kernels.walks import walk
from tensor_gpu.programs.sort import RUN, Side, merge_program, run_program, search_program
from tensor_runtime.contracts.gather_scatter import SortParams
from tensor_runtime.form import Form
from tensor_runtime.protocols import Kernel


class Sorted(NamedTuple):
    """Lines in order, and where their elements were."""

    values: DeviceArray
    places: DeviceArray | None


def bind_sort(executor: Executor, operands: tuple[Form], result: Form, params: SortParams, /) -> Kernel:
    """Elements in order along an axis.

    >>> from tensor_gpu.sim.bench import Bench
    >>> bench = Bench()
    >>> bench.run("sort", bench.put([1.0, float("nan"), 2.0]), params=SortParams(0, True))
    [2.0, 1.0, nan]
    """
    return _bind(executor, operands[0], result, params, False)


def bind_argsort(executor: Executor, operands: tuple[Form], result: Form, params: SortParams, /) -> Kernel:
    """Indices that sort along an axis.

    >>> from tensor_gpu.sim.bench import Bench
    >>> bench = Bench()
    >>> x = bench.put([1, 2, 1, 2], I64)
    >>> bench.run("argsort", x, params=SortParams(0, True))
    [1, 3, 0, 2]
    """
    return _bind(executor, operands[0], result, params, True)


def _bind(executor: Executor, form: Form, result: Form, params: SortParams, places: bool) -> Kernel:
    if not form.size:
        return lambda array: executor.empty(result)
    axis, descending = params
    shape: Shape = (form.size,)
    back: Shape = (1,)
    length, written = form.size, compact_strides(form.shape[::-1])[::-1]
    if axis is not None:
        axis %= form.rank
        shape, length = form.shape, form.shape[axis]
        beside = [place for place in range(form.rank) if place != axis]
        strides = dict(zip(beside, compact_strides((length, *(shape[place] for place in beside)))[1:], strict=True))
        written = back = tuple(strides.get(place, 1) for place in range(form.rank))
    in_order = written == form.strides
    copy = copier(executor, form.dtype, form.dtype, form.shape, written, form.strides)
    made = I64 if places else form.dtype
    unmoved = back == result.strides
    move = copier(executor, made, made, shape, result.strides, back)
    order = line_sorter(executor, form.dtype, length, form.size, places, descending)

    def sort(array: DeviceArray) -> DeviceArray:
        lines = array
        if not in_order:
            lines = executor.scratch(form.nbytes, form.dtype.itemsize)
            copy(lines, array)
        found = order(lines)
        values = found.values if found.places is None else found.places
        if unmoved:
            return values
        target = executor.empty(result)
        move(target, values)
        return target

    return sort


def line_sorter(
    executor: Executor, dtype: DType, line: int, size: int, places: bool, descending: bool, /
) -> Callable[[DeviceArray], Sorted]:
    """What sorts lines that lie one after the other, each in itself.

    Args:
        executor: of the device.
        dtype: of the elements.
        line: elements of a line.
        size: elements of all lines, 1 or more.
        places: whether it tells where in its line each element was.
        descending: whether the greatest comes first.

    >>> from tensor_core import F64
    >>> from tensor_gpu.sim.bench import Bench
    >>> bench = Bench()
    >>> x = bench.put([3.0, 1.0, 9.0, 4.0])
    >>> bench.get((line_sorter(bench.executor, F64, 2, 4, False, False)(x.array).values, x.form))
    [1.0, 3.0, 4.0, 9.0]
    """
    runs, merge = run_program(dtype, places, descending), merge_program(dtype, places, descending)
    threads = size // line * -(-line // RUN) * (RUN // 2)

    def launch(source: Sorted, run: int) -> Sorted:
        target = Sorted(
            executor.scratch(size * dtype.itemsize, dtype.itemsize), executor.scratch(8 * size, 8) if places else None
        )
        first = run == RUN
        arguments: tuple[Argument, ...] = (*_addresses(target), *_addresses(source), line, size, run)
        program, count = (runs, threads) if first else (merge, size)
        executor.launch(program, count, arguments, reads=_arrays(source), writes=_arrays(target))
        return target

    def sorted_lines(lines: DeviceArray) -> Sorted:
        found, run = launch(Sorted(lines, None), RUN), RUN
        while run < line:
            run *= 2
            found = launch(found, run)
        return found

    return sorted_lines


def _arrays(found: Sorted) -> list[DeviceArray]:
    return [array for array in found if array is not None]


def _addresses(found: Sorted) -> tuple[int, int]:
    return found.values.address, 0 if found.places is None else found.places.address


def bind_search(executor: Executor, side: Side, operands: tuple[Form, Form], result: Form, params: Any, /) -> Kernel:
    """Where values belong in a line that is in order.

    >>> from tensor_gpu.sim.bench import Bench
    >>> bench = Bench()
    >>> line, values = bench.put([1, 2, 3], I64), bench.put([2.0, 2.5])
    >>> [bench.run(f"searchsorted_{side}", line, values, result=bench.form((2,), I64)) for side in ("left", "right")]
    [[1, 2], [2, 2]]
    """
    line, values = operands
    axes = walk(result.shape, [result.strides, values.strides])
    common = promote(line.dtype, values.dtype)
    program = search_program(line.dtype, values.dtype, common, side, len(axes.extents))
    size = prod(result.shape)
    fixed = (line.size, line.strides[0], size, *axes.extents, *axes.strides[0], *axes.strides[1])

    def search(sorted_line: DeviceArray, array: DeviceArray) -> DeviceArray:
        target = executor.empty(result)
        if size:
            arguments = (target.address, sorted_line.address, array.address, *fixed)
            executor.launch(program, size, arguments, reads=(sorted_line, array), writes=(target,))
        return target

    return search


def _search(side: Side) -> Binder:
    return lambda executor, operands, result, params: bind_search(executor, side, operands, result, params)


BINDERS: Final[Mapping[str, Binder]] = {
    "sort": bind_sort,
    "argsort": bind_argsort,
    "searchsorted_left": _search("left"),
    "searchsorted_right": _search("right"),
}
