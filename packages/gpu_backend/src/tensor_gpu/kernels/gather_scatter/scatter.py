"""Kernels of ``gather`` and ``scatter``: slices whose places are index values, checked first.

Where several updates go to one place, "replace" keeps the last one, whatever runs first; the other modes combine them
in any order, which integers, minima and maxima do not show.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tensor_core.errors import IndexingError
from tensor_core.shapes import Shape, compact_strides
from tensor_gpu.device.arrays import DeviceArray
from tensor_gpu.device.executor import Executor
from tensor_gpu.kernels.elementwise import bind_step
from tensor_gpu.kernels.gather_scatter.places import Component, Walked, bind_places, range_checker
from tensor_gpu.kernels.planning import Binder
from tensor_gpu.kernels.value_checks import Refuse
from tensor_runtime.backends.shared.value_errors import Index, slice_out_of_range
from tensor_runtime.contracts.gather_scatter import ScatterParams, SliceOptions
from tensor_runtime.form import Form
from tensor_runtime.ops.slice_geometry import SliceGeometry, gather_geometry, scatter_geometry
from tensor_runtime.protocols import Kernel


def bind_gather(executor: Executor, operands: tuple[Form, Form], result: Form, options: SliceOptions, /) -> Kernel:
    """Slices of equal sizes whose starts are index values.

    >>> from tensor_core import I64
    >>> from tensor_gpu.sim.bench import Bench
    >>> bench = Bench()
    >>> x, at = bench.put([0.0, 10.0, 20.0, 30.0, 40.0]), bench.put([3, 0, 1], I64)
    >>> pairs = SliceOptions(collapsed_axes=(), slice_sizes=(2,))
    >>> bench.run("gather", x, at, result=bench.form((3, 2)), params=pairs)
    [[30.0, 40.0], [0.0, 10.0], [10.0, 20.0]]
    """
    form, index = operands
    geometry = gather_geometry("gather", form.shape, index.shape, options)
    check = _start_checker(executor, "gather", form.shape, index, geometry, options.from_end)
    walked, components = _walked(form, form.strides, index, result.strides, geometry, options.from_end)
    places = bind_places(executor, "read", (form.dtype, form.dtype, index.dtype), walked, components)

    def gathered(x: DeviceArray, at: DeviceArray) -> DeviceArray:
        word = check(at)
        target = executor.empty(result)
        places(x, target, at, word)
        return target

    return gathered


def bind_scatter(
    executor: Executor, operands: tuple[Form, Form, Form], result: Form, params: ScatterParams, /
) -> Kernel:
    """A copy of which slices are combined with updates.

    >>> from tensor_core import I64
    >>> from tensor_gpu.sim.bench import Bench
    >>> bench = Bench()
    >>> x, at, updates = bench.put([1.0] * 3), bench.put([2, 2], I64), bench.put([10.0, 20.0])
    >>> modes = [ScatterParams(mode, SliceOptions()) for mode in ("add", "replace")]
    >>> [bench.run("scatter", x, at, updates, params=params) for params in modes]
    [[1.0, 1.0, 31.0], [1.0, 1.0, 20.0]]
    """
    form, index, updates = operands
    mode, options = params
    geometry = scatter_geometry("scatter", form.shape, index.shape, updates.shape, options)
    check = _start_checker(executor, "scatter", form.shape, index, geometry, options.from_end)
    walked, components = _walked(form, result.strides, index, updates.strides, geometry, options.from_end)
    places = bind_places(executor, mode, (form.dtype, updates.dtype, index.dtype), walked, components, form.size)
    copy = bind_step(executor, "copy", (form,), result, None)

    def scattered(x: DeviceArray, at: DeviceArray, y: DeviceArray) -> DeviceArray:
        word = check(at)
        target: DeviceArray = copy(x)
        places(target, y, at, word)
        return target

    return scattered


def _start_checker(
    executor: Executor, name: str, shape: Shape, index: Form, geometry: SliceGeometry, from_end: bool
) -> Refuse:
    axes, sizes, vector = geometry.start_axes, geometry.sizes, geometry.vector_axis
    last = [shape[axis] - sizes[axis] for axis in axes]

    def error(position: Index, value: int) -> IndexingError:
        axis = axes[position[vector] if vector < index.rank else 0]
        return slice_out_of_range(name, position, value, axis, shape[axis], sizes[axis], from_end)

    return range_checker(executor, index, vector, [(-top - 1 if from_end else 0, top) for top in last], error)


def _walked(
    form: Form, strides: Shape, index: Form, other: Shape, geometry: SliceGeometry, from_end: bool
) -> tuple[Walked, list[Component]]:
    """The elements of all slices: along the batch axes the indices move, along the offset axes the operand."""
    vector, rank = geometry.vector_axis, len(geometry.shape)
    numbered = compact_strides(form.shape)
    of_x, of_index, of_number = [0] * rank, [0] * rank, [0] * rank
    named = (axis for axis in range(index.rank) if axis != vector)
    for axis, place in zip(named, geometry.batch_axes, strict=True):
        of_index[place] = index.strides[axis]
    for axis, place in zip(geometry.kept_axes, geometry.offset_axes, strict=True):
        of_x[place], of_number[place] = strides[axis], numbered[axis]
    step = index.strides[vector] if vector < index.rank else 0
    components = [
        Component(number * step, form.shape[axis] if from_end else 0, strides[axis], numbered[axis])
        for number, axis in enumerate(geometry.start_axes)
    ]
    return Walked(geometry.shape, tuple(of_x), other, tuple(of_index), tuple(of_number)), components


BINDERS: Final[Mapping[str, Binder]] = {"gather": bind_gather, "scatter": bind_scatter}
