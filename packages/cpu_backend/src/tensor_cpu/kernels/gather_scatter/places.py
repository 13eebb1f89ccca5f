"""Native reads and writes of elements and slices at places that index values name (csrc/lines/places.c).

An entry of the indices names one place; all slices have the same axes. The entries have to lie evenly on both sides, in
column-major order, as they do in every compact tensor and in every broadcast of one element.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tensor_core.dtypes import Bool
from tensor_core.shapes import compact_strides
from tensor_cpu.kernel_table import NativeBinder, bind_numpy
from tensor_cpu.system.extension import LIBRARY
from tensor_runtime.form import Form
from tensor_runtime.ops.slice_geometry import SliceGeometry, gather_geometry, scatter_geometry
from tensor_runtime.protocols import Kernel, Operand

if TYPE_CHECKING:
    from tensor_runtime.contracts.gather_scatter import ScatterParams, SliceOptions

TAKES: Final = "entries evenly spaced; what is written of the dtype of what it goes to"
_MOST_AXES: Final = 16  # of a slice, once fused; and of components half as many


class Axis(NamedTuple):
    """Of a slice, or of the entries: strides count elements."""

    extent: int
    stride: int  # in the tensor that is indexed; of entries, in the indices
    other: int  # in the result of a reading, or in what is written


class Component(NamedTuple):
    """One of the numbers of an entry."""

    offset: int  # from where the indices begin
    wraps: int  # what is added to a negative number; 0 where none is accepted
    last: int  # the largest number accepted
    stride: int  # in the tensor that is indexed


def bind_take(operands: tuple[Operand, ...], result: Any, params: Any, /) -> Kernel | None:
    """Slices at indices along an axis.

    >>> import numpy as np
    >>> from tensor_core import I64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> x, indices, result = form_of(I64, (2, 3), CPU), form_of(I64, (2,), CPU), form_of(I64, (2, 2), CPU)
    >>> bind_take((x, indices), result, (1,))(np.array([[1, 4], [2, 5], [3, 6]]), np.array([-1, 0])).tolist()
    [[3, 6], [1, 4]]
    """
    form, index = operands
    assert isinstance(form, Form)
    assert isinstance(index, Form)
    (axis,) = params
    if axis is None and form.rank != 1:
        return None
    along = 0 if axis is None else axis % form.rank
    extent, strides = form.shape[along], compact_strides(result.shape)
    entries = [Axis(*three) for three in zip(index.shape, index.strides, strides[along:], strict=False)]
    beside = strides[:along] + strides[along + index.rank :]
    slices = _beside(form, along, beside)
    components = (Component(0, extent, extent - 1, form.strides[along]),)
    return _bind("read", "take", operands, result, params, entries, slices, components)


def bind_put_along_axis(operands: tuple[Operand, ...], result: Any, params: Any, /) -> Kernel | None:
    """Values written at indices of all lines, or of each line's own; None of the latter where anything has gaps.

    >>> import numpy as np
    >>> from tensor_core import I64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> x, indices, target = form_of(I64, (4,), CPU), form_of(I64, (3,), CPU), np.zeros(4, int)
    >>> bind_put_along_axis((x, indices, indices), x, (0,))(target, np.array([-1, 0, 0]), np.array([5, 6, 7]))
    >>> target.tolist()
    [7, 0, 0, 5]
    """
    form, index, values = operands
    assert isinstance(form, Form)
    assert isinstance(index, Form)
    assert isinstance(values, Form)
    (axis,) = params
    if axis is None and form.rank != 1:
        return None
    along = 0 if axis is None else axis % form.rank
    count, extent = index.shape[along], form.shape[along]
    if values.dtype is not form.dtype:
        return None
    if index.size != count:
        return _bind_put_in_lines(form, index, values, along, params)
    missing = form.rank - values.rank
    written = [
        0 if axis < missing or values.shape[axis - missing] == 1 else values.strides[axis - missing]
        for axis in range(form.rank)
    ]
    entries = [Axis(count, index.strides[along], written[along])]
    slices = _beside(form, along, (*written[:along], *written[along + 1 :]))
    components = (Component(0, extent, extent - 1, form.strides[along]),)
    return _bind("put", "put_along_axis", operands, result, params, entries, slices, components)


def _bind_put_in_lines(form: Form, index: Form, values: Form, along: int, params: Any) -> Kernel | None:
    beside = form.shape[:along] + form.shape[along + 1 :]
    if beside != index.shape[:along] + index.shape[along + 1 :] or not (form.is_compact and index.is_compact):
        return None
    if values.size != 1 and not (values.shape == index.shape and values.is_compact):
        return None
    extent, lines = form.shape[along], prod(form.shape[:along])
    components = (Component(0, extent, extent - 1, lines),)
    entries = [Axis(index.size, 1, int(values.size != 1))]
    of_lines = lines, lines * index.shape[along], lines * extent
    return _bind("put", "put_along_axis", (form, index, values), None, params, entries, [], components, of_lines)


def bind_gather(operands: tuple[Operand, ...], result: Any, params: SliceOptions, /) -> Kernel | None:
    """Slices of equal sizes whose starts are index values; errors as of the kernel in NumPy.

    >>> import numpy as np
    >>> from tensor_core import I64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> from tensor_runtime.contracts.gather_scatter import SliceOptions
    >>> pairs = SliceOptions(collapsed_axes=(), slice_sizes=(2,))
    >>> x, indices, result = form_of(I64, (5,), CPU), form_of(I64, (3,), CPU), form_of(I64, (3, 2), CPU)
    >>> bind_gather((x, indices), result, pairs)(np.arange(5) * 10, np.array([3, 0, 1])).T.tolist()
    [[30, 40], [0, 10], [10, 20]]
    """
    form, index = operands
    assert isinstance(form, Form)
    assert isinstance(index, Form)
    geometry = gather_geometry("gather", form.shape, index.shape, params)
    parts = _parts(form, form.strides, index, compact_strides(result.shape), geometry, params.from_end)
    return _bind("read", "gather", operands, result, params, *parts)


def bind_scatter(operands: tuple[Operand, ...], result: Any, params: ScatterParams, /) -> Kernel | None:
    """A copy of which slices are replaced, or added to; None of windows, which may overlap beside their runs.

    >>> import numpy as np
    >>> from tensor_core import I64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> from tensor_runtime.contracts.gather_scatter import ScatterParams, SliceOptions
    >>> x, indices = form_of(I64, (3,), CPU), form_of(I64, (2,), CPU)
    >>> modes = [ScatterParams(mode, SliceOptions()) for mode in ("add", "replace")]
    >>> kernels = [bind_scatter((x, indices, indices), x, params) for params in modes]
    >>> [kernel(np.array([1, 1, 1]), np.array([2, 2]), np.array([10, 20])).tolist() for kernel in kernels]
    [[1, 1, 31], [1, 1, 20]]
    """
    form, index, updates = operands
    assert isinstance(form, Form)
    assert isinstance(index, Form)
    assert isinstance(updates, Form)
    mode, options = params
    if mode not in ("replace", "add") or not form.is_compact or updates.dtype is not form.dtype:
        return None
    if mode == "add" and form.dtype is Bool:
        return None
    geometry = scatter_geometry("scatter", form.shape, index.shape, updates.shape, options)
    if any(1 < geometry.sizes[axis] < form.shape[axis] for axis in geometry.start_axes):
        return None  # runs go to several threads, and one after the other
    parts = _parts(form, form.strides, index, updates.strides, geometry, options.from_end)
    return _bind(mode, "scatter", operands, result, params, *parts)


def _beside(form: Form, axis: int, other: tuple[int, ...]) -> list[Axis]:
    extents = form.shape[:axis] + form.shape[axis + 1 :]
    return [Axis(*three) for three in zip(extents, form.strides[:axis] + form.strides[axis + 1 :], other, strict=True)]


def _parts(
    form: Form, strides: tuple[int, ...], index: Form, other: tuple[int, ...], geometry: SliceGeometry, from_end: bool
) -> tuple[list[Axis], list[Axis], tuple[Component, ...]]:
    vector = geometry.vector_axis
    named = [axis for axis in range(index.rank) if axis != vector]
    entries = [
        Axis(index.shape[axis], index.strides[axis], other[place])
        for axis, place in zip(named, geometry.batch_axes, strict=True)
    ]
    slices = [
        Axis(geometry.sizes[axis], strides[axis], other[place])
        for axis, place in zip(geometry.kept_axes, geometry.offset_axes, strict=True)
    ]
    step = index.strides[vector] if vector < index.rank else 0
    components = tuple(
        Component(
            number * step,
            form.shape[axis] if from_end else 0,
            form.shape[axis] - geometry.sizes[axis],
            strides[axis],
        )
        for number, axis in enumerate(geometry.start_axes)
    )
    return entries, slices, components


def _fused(axes: list[Axis]) -> list[Axis]:
    """The fewest axes that go the same ways on both sides."""
    fused: list[Axis] = []
    for axis in axes:
        if axis.extent == 1:
            continue
        if fused:
            last = fused[-1]
            if (axis.stride, axis.other) == (last.extent * last.stride, last.extent * last.other):
                fused[-1] = last._replace(extent=last.extent * axis.extent)
                continue
        fused.append(axis)
    return fused


def _bind(
    mode: str,
    name: str,
    operands: tuple[Operand, ...],
    result: Any,
    params: Any,
    entries: list[Axis],
    slices: list[Axis],
    components: tuple[Component, ...],
    of_lines: tuple[int, ...] = (),
) -> Kernel | None:
    form, index = operands[:2]
    assert isinstance(form, Form)
    assert isinstance(index, Form)
    line, rest = _fused(entries) or [Axis(1, 0, 0)], _fused(slices)
    if len(line) > 1 or len(rest) > _MOST_AXES or not 0 < len(components) <= _MOST_AXES // 2:
        return None
    if any(not axis.extent for axis in (*entries, *slices)) or any(component.last < 0 for component in components):
        return None
    run = next((axis for axis in rest if axis.stride == 1), Axis(1, 0, 0))
    others = sorted((axis for axis in rest if axis is not run), key=lambda axis: -abs(axis.stride))
    axes = tuple(number for axis in (run, *others) for number in axis)
    numbers = tuple(number for component in components for number in component)
    shape = () if result is None else result.shape[::-1]
    fallback = bind_numpy(name, operands, result, params)
    return LIBRARY.bind_places(
        mode,
        form.dtype.name,
        index.dtype.name,
        (line[0].extent, line[0].stride, line[0].other, *of_lines),
        axes,
        numbers,
        shape,
        fallback,
    )


BINDERS: Final[Mapping[str, NativeBinder]] = {
    "take": bind_take,
    "put_along_axis": bind_put_along_axis,
    "gather": bind_gather,
    "scatter": bind_scatter,
}
