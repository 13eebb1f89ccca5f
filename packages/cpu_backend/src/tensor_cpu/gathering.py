"""Kernels that choose elements by index values, on twins.

Most of them turn indices into offsets, in elements, from the lowest address that a form reaches, and then read or write
a flat array over that memory: this serves every layout, negative strides included, without copying the operand. The
order of a C-contiguous twin is column-major order, so "the last in column-major order" is the last one written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.lib.stride_tricks import as_strided

from tensor_core.shapes import compact_strides
from tensor_cpu.arrays import NUMPY_DTYPES, Array, empty
from tensor_cpu.quiet import quiet
from tensor_runtime.form import Form, Shape
from tensor_runtime.indexed import out_of_range
from tensor_runtime.protocols import Counted, Kernel
from tensor_runtime.slice_geometry import SliceGeometry, gather_geometry, scatter_geometry

Binder = Callable[[tuple[Any, ...], Any, Any], Kernel]
Refusal = Callable[[Array], Exception]
"""From the twin of the indices to the error that names the first one out of range."""

_AT: Final[dict[str, np.ufunc]] = {"add": np.add, "multiply": np.multiply, "min": np.minimum, "max": np.maximum}


def bind_dynamic_slice(operands: tuple[Form, ...], result: Form, sizes: Shape, /) -> Kernel:
    """The slice of given sizes; starts come as Python ints or as an array.

    >>> from tensor_core import I64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> kernel = bind_dynamic_slice((form_of(I64, (5,), CPU),), form_of(I64, (2,), CPU), (2,))
    >>> kernel(np.arange(5), (3,)).tolist()
    [3, 4]
    >>> kernel(np.arange(5), (4,))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    tensor_core.errors.IndexingError: dynamic_slice: starts[0] is 4, ...
    """
    shape = operands[0].shape

    def sliced(x: Array, starts: Any) -> Array:
        part: Array = x[_slices("dynamic_slice", shape, sizes, starts)]
        return part.copy(order="C")

    return sliced


def bind_dynamic_update_slice(operands: tuple[Form, ...], result: Form, detail: None, /) -> Kernel:
    """A copy with a slice replaced; starts come as Python ints or as an array.

    >>> from tensor_core import I64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> x, update = form_of(I64, (4,), CPU), form_of(I64, (2,), CPU)
    >>> bind_dynamic_update_slice((x, update), x, None)(np.zeros(4, int), np.array([7, 8]), (1,)).tolist()
    [0, 7, 8, 0]
    """
    shape, sizes = operands[0].shape, operands[1].shape

    def updated(x: Array, update: Array, starts: Any) -> Array:
        index = _slices("dynamic_update_slice", shape, sizes, starts)
        out = x.copy(order="C")
        out[index] = update
        return out

    return quiet(updated)


def _slices(operation: str, shape: Shape, sizes: Shape, starts: Any) -> tuple[Any, ...]:
    index = []
    for axis, (extent, size, given) in enumerate(zip(shape, sizes, starts, strict=True)):
        start = int(given)
        if not 0 <= start <= extent - size:
            found = f"axis {axis} of extent {extent} and size {size}"
            raise out_of_range(
                operation, f"starts[{axis}]", start, found, 0, extent - size, axis=axis, position=(axis,)
            )
        index.append(slice(start, start + size))
    return (..., *reversed(index))


def bind_take(operands: tuple[Form, Form], result: Form, axis: int | None, /) -> Kernel:
    """Elements or slices at indices, of which negative ones count from the end.

    >>> from tensor_core import I64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> x, indices, result = form_of(I64, (2, 3), CPU), form_of(I64, (2,), CPU), form_of(I64, (2, 2), CPU)
    >>> bind_take((x, indices), result, 1)(np.array([[1, 4], [2, 5], [3, 6]]), np.array([-1, 0])).tolist()
    [[3, 6], [1, 4]]
    """
    form, _ = operands
    if axis is None:
        return _bind_take_flat("take", form, result)
    axis %= form.rank
    extent = form.shape[axis]
    return _bind_slices_along(form, result, axis, -extent, lambda index: _first_outside("take", index, extent, axis))


def _bind_slices_along(form: Form, result: Form, axis: int, low: int, refusal: Refusal) -> Kernel:
    """Whole slices at indices from ``low`` along an axis, the indices' axes in its place."""
    extent, place = form.shape[axis], form.rank - 1 - axis
    if form.is_compact and result.rank and result.size:

        def taken(x: Array, index: Array) -> Array:
            if low == 0 and index.min() < 0:
                raise refusal(index)
            try:
                return x.take(index, axis=place)
            except IndexError:
                raise refusal(index) from None

        return taken
    before: Any = (slice(None),) * place
    shape = result.shape[::-1]

    def taken_anywhere(x: Array, index: Array) -> Array:
        if index.size and (index.min() < low or index.max() >= extent):
            raise refusal(index)
        lines: Array = x[(*before, index.reshape(-1))]
        return np.ascontiguousarray(lines).reshape(shape)

    return taken_anywhere


def _bind_take_flat(operation: str, form: Form, result: Form) -> Kernel:
    """Elements in row-major order."""

    def taken(x: Array, index: Array) -> Array:
        index = _non_negative(operation, index, form.size, None)
        if not result.size:
            return empty(result)
        flat, start = _memory(x, form)
        return _at(flat, start + _row_major_offsets(index, form), result)

    return taken


def bind_take_along_axis(operands: tuple[Form, Form], result: Form, axis: int | None, /) -> Kernel:
    """Elements at indices of each line's own.

    >>> from tensor_core import I64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> form = form_of(I64, (2, 2), CPU)
    >>> kernel = bind_take_along_axis((form, form), form, 1)  # of [[10, 20], [30, 40]] at [[1, 0], [-1, -1]]
    >>> kernel(np.array([[10, 30], [20, 40]]), np.array([[1, -1], [0, -1]])).T.tolist()
    [[20, 10], [40, 40]]
    """
    form, _ = operands
    if axis is None:
        return _bind_take_flat("take_along_axis", form, result)
    along = axis % form.rank
    extent, shape = form.shape[along], result.shape[::-1]

    def taken(x: Array, index: Array) -> Array:
        index = _non_negative("take_along_axis", index, extent, along)
        if not result.size:
            return empty(result)
        flat, start = _memory(x, form)
        offsets = _line_offsets(index, start, form, along)
        return _at(flat, offsets if offsets.shape == shape else np.broadcast_to(offsets, shape), result)

    return taken


def bind_put_along_axis(operands: tuple[Form, Form, Form], result: Form, axis: int | None, /) -> Kernel:
    """Write values at indices of each line's own; the first array is written.

    >>> from tensor_core import I64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> x, indices, target = form_of(I64, (4,), CPU), form_of(I64, (3,), CPU), np.zeros(4, int)
    >>> bind_put_along_axis((x, indices, indices), x, 0)(target, np.array([-1, 0, 0]), np.array([5, 6, 7]))
    >>> target.tolist()
    [7, 0, 0, 5]
    """
    form, indices, values = operands
    axis = None if axis is None else axis % form.rank
    extent = form.size if axis is None else form.shape[axis]
    if axis is None:
        target = indices.shape[::-1]
    else:
        target = tuple(indices.shape[k] if k == axis else form.shape[k] for k in reversed(range(form.rank)))
    pad = (..., *[None] * (len(target) - values.rank))
    dtype = NUMPY_DTYPES[form.dtype]

    def put(x: Array, index: Array, y: Array) -> None:
        index = _non_negative("put_along_axis", index, extent, axis)
        if 0 in target:
            return
        flat, start = _memory(x, form)
        if axis is None:
            offsets = start + _row_major_offsets(index, form)
        else:
            offsets = _line_offsets(index, start, form, axis)
        # Both are fresh, so it does not matter what shares memory with x.
        places = np.broadcast_to(offsets, target).reshape(-1)
        flat[places] = np.broadcast_to(y[pad].astype(dtype), target).reshape(-1)

    return quiet(put)


def bind_gather(operands: tuple[Form, Form], result: Form, options: Any, /) -> Kernel:
    """Slices of equal sizes whose starts are index values.

    >>> from tensor_core import I64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> from tensor_runtime.slice_geometry import SliceOptions
    >>> pairs = SliceOptions(collapsed_axes=(), slice_sizes=(2,))
    >>> x, indices, result = form_of(I64, (5,), CPU), form_of(I64, (3,), CPU), form_of(I64, (3, 2), CPU)
    >>> bind_gather((x, indices), result, pairs)(np.arange(5) * 10, np.array([3, 0, 1])).T.tolist()
    [[30, 40], [0, 10], [10, 20]]
    """
    form, indices = operands
    geometry = gather_geometry("gather", form.shape, indices.shape, options)

    def refusal(index: Array) -> Exception:
        return _first_slice_outside("gather", index, form.shape, geometry)

    axis = _whole_slices_along(form.shape, indices.rank, geometry)
    if axis is not None:
        return _bind_slices_along(form, result, axis, 0, refusal)
    starts_of = _bind_starts(form.shape, indices.rank, geometry, refusal)
    offsets_of = _bind_offsets(form.strides, geometry)

    def gathered(x: Array, index: Array) -> Array:
        starts = starts_of(index)
        if not result.size:
            return empty(result)
        flat, start = _memory(x, form)
        return _at(flat, start + offsets_of(starts), result)

    return gathered


def bind_scatter(operands: tuple[Form, Form, Form], result: Form, detail: Any, /) -> Kernel:
    """A copy of which slices are combined with updates.

    >>> from tensor_core import I64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> from tensor_runtime.slice_geometry import SliceOptions
    >>> x, indices = form_of(I64, (3,), CPU), form_of(I64, (2,), CPU)
    >>> kernels = [bind_scatter((x, indices, indices), x, (mode, SliceOptions())) for mode in ("add", "replace")]
    >>> [kernel(np.array([1, 1, 1]), np.array([2, 2]), np.array([10, 20])).tolist() for kernel in kernels]
    [[1, 1, 31], [1, 1, 20]]
    """
    form, indices, updates = operands
    mode, options = detail
    geometry = scatter_geometry("scatter", form.shape, indices.shape, updates.shape, options)

    def refusal(index: Array) -> Exception:
        return _first_slice_outside("scatter", index, form.shape, geometry)

    starts_of = _bind_starts(form.shape, indices.rank, geometry, refusal)
    offsets_of = _bind_offsets(compact_strides(form.shape), geometry)
    dtype = NUMPY_DTYPES[form.dtype]
    axis = _whole_slices_along(form.shape, indices.rank, geometry) if mode == "replace" else None
    place = 0 if axis is None else form.rank - 1 - axis
    before: Any = (slice(None),) * place

    def scattered(x: Array, index: Array, y: Array) -> Array:
        starts = starts_of(index)
        out = x.copy(order="C")
        if not updates.size:
            return out
        written = y.astype(dtype, order="C", copy=False)
        if axis is not None:  # NumPy goes through the indices in order, so the last one wins
            lines = written.reshape(*out.shape[:place], -1, *out.shape[place + 1 :])
            out[(*before, starts[0].reshape(-1))] = lines
            return out
        flat, offsets = out.reshape(-1), offsets_of(starts).reshape(-1)
        if mode == "replace":
            flat[offsets] = written.reshape(-1)
        else:
            _AT[mode].at(flat, offsets, written.reshape(-1))
        return out

    return quiet(scattered)


def bind_nonzero(operands: tuple[Form], result: tuple[Form, ...], detail: None, /) -> Kernel:
    """Indices of elements that are not zero, in row-major order.

    >>> from tensor_core import I64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> kernel = bind_nonzero((form_of(I64, (2, 2), CPU),), (), None)
    >>> found = kernel(np.array([[0, 8], [7, 9]]))  # of [[0, 7], [8, 9]]
    >>> found.count, [axis.tolist() for axis in found.arrays]
    (3, [[0, 1, 1], [1, 0, 1]])
    """

    def found(x: Array) -> Counted:
        axes = tuple(positions.astype(np.int64, order="C") for positions in x.T.nonzero())
        return Counted(axes, axes[0].size)

    return found


def _memory(x: Array, form: Form) -> tuple[Array, int]:
    """The memory that a form with elements reaches as a flat array, and where in it the first element lies."""
    if form.is_compact:
        return x.reshape(-1), 0
    reach = [stride * (extent - 1) for extent, stride in zip(form.shape, form.strides, strict=True)]
    below = -sum(step for step in reach if step < 0)
    above = sum(step for step in reach if step > 0)
    lowest = x[(..., *(slice(-1, None) if step < 0 else slice(1) for step in reversed(reach)))]
    return as_strided(lowest, (below + above + 1,), (x.itemsize,)), below


def _at(flat: Array, offsets: Array, result: Form) -> Array:
    """Elements at offsets that are known to be inside; a check of NumPy's own would cost another copy."""
    return flat.take(offsets, out=empty(result), mode="wrap")


def _line_offsets(index: Array, start: int, form: Form, axis: int) -> Array:
    """Offsets of elements of which ``index`` names the position along an axis, still to be broadcast."""
    beside: Any = start
    for k in range(form.rank):
        if k != axis and form.shape[k] != 1:
            along = np.arange(form.shape[k], dtype=np.int64) * form.strides[k]
            beside = beside + along.reshape(-1, *[1] * k)
    stride = form.strides[axis]
    offsets: Array = (index if stride == 1 else index * stride) + beside
    return offsets


def _row_major_offsets(index: Array, form: Form) -> Array:
    """Offsets of elements that ``index`` counts in row-major order."""
    if form.rank == 1:
        return index * form.strides[0]
    rest, offsets = index, np.zeros(index.shape, np.int64)
    for extent, stride in zip(reversed(form.shape), reversed(form.strides), strict=True):
        rest, along = np.divmod(rest, max(extent, 1))
        offsets += along * stride
    return offsets


def _non_negative(operation: str, index: Array, extent: int, axis: int | None) -> Array:
    """The same places as I64 counted from the front, checked."""
    if not index.size:
        return index.astype(np.int64)
    low = index.min()
    if low < -extent or index.max() >= extent:
        raise _first_outside(operation, index, extent, axis)
    wide = index.astype(np.int64, copy=False)
    return wide if low >= 0 else np.where(wide < 0, wide + extent, wide)


def _whole_slices_along(shape: Shape, rank: int, geometry: SliceGeometry) -> int | None:
    """The axis along which whole slices are taken, the indices' axes in its place; None for anything else."""
    if len(geometry.start_axes) != 1 or geometry.vector_axis != rank:
        return None
    axis = geometry.start_axes[0]
    others = [k for k in range(len(shape)) if k != axis]
    whole = geometry.kept_axes == tuple(others) and all(geometry.sizes[k] == shape[k] for k in others)
    return axis if whole and geometry.batch_axes == tuple(range(axis, axis + rank)) else None


def _bind_starts(
    shape: Shape, rank: int, geometry: SliceGeometry, refusal: Refusal
) -> Callable[[Array], Sequence[Array]]:
    """From the twin of the indices to the twin of the starts along each start axis, checked, in I64."""
    last = [shape[axis] - geometry.sizes[axis] for axis in geometry.start_axes]
    vector = geometry.vector_axis
    picks: Any = [(..., k, *[slice(None)] * vector) for k in range(len(last))] if vector < rank else [...]

    def starts(index: Array) -> Sequence[Array]:
        parts = [index[pick] for pick in picks]
        for part, top in zip(parts, last, strict=True):
            if part.size and (part.min() < 0 or part.max() > top):
                raise refusal(index)
        return [part.astype(np.int64, copy=False) for part in parts]

    return starts


def _bind_offsets(strides: Shape, geometry: SliceGeometry) -> Callable[[Sequence[Array]], Array]:
    """From starts to the offsets of all elements of all slices, as the twin of the tensor of all slices."""
    rank = len(geometry.shape)
    batch = [geometry.shape[axis] for axis in reversed(geometry.batch_axes)]
    spread = tuple(slice(None) if axis in geometry.batch_axes else None for axis in reversed(range(rank)))
    steps = [strides[axis] for axis in geometry.start_axes]
    inside = [
        (np.arange(geometry.sizes[axis], dtype=np.int64) * strides[axis]).reshape(-1, *[1] * position)
        for axis, position in zip(geometry.kept_axes, geometry.offset_axes, strict=True)
    ]

    def offsets(starts: Sequence[Array]) -> Array:
        total = np.zeros(batch, np.int64)
        for start, step in zip(starts, steps, strict=True):
            total += start * step
        spread_out = total[spread]
        for along in inside:
            spread_out = spread_out + along
        return spread_out

    return offsets


def _first_outside(operation: str, index: Array, extent: int, axis: int | None) -> Exception:
    outside = (index < -extent) | (index >= extent)
    position = _first(outside)
    what = f"axis {axis} of extent {extent}" if axis is not None else f"{extent} elements"
    low, high = (-extent, extent - 1) if extent else (0, -1)
    return out_of_range(
        operation, _named(position), int(index.T[position]), what, low, high, axis=axis, position=position
    )


def _first_slice_outside(operation: str, index: Array, shape: Shape, geometry: SliceGeometry) -> Exception:
    in_order, vector = index.T, geometry.vector_axis
    whole = vector == in_order.ndim
    last = np.array([shape[axis] - geometry.sizes[axis] for axis in geometry.start_axes])
    limits = last[0] if whole else last.reshape(-1, *[1] * (in_order.ndim - 1 - vector))
    position = _first(((in_order < 0) | (in_order > limits)).T)
    axis = geometry.start_axes[0 if whole else position[vector]]
    size, extent = geometry.sizes[axis], shape[axis]
    what = f"axis {axis} of extent {extent}" + (f" and slice size {size}" if size != 1 else "")
    return out_of_range(
        operation, _named(position), int(in_order[position]), what, 0, extent - size, axis=axis, position=position
    )


def _first(outside: Array) -> tuple[int, ...]:
    """Index, in the tensor's order of axes, of the first True in column-major order."""
    return tuple(int(along) for along in reversed(np.unravel_index(int(outside.reshape(-1).argmax()), outside.shape)))


def _named(position: tuple[int, ...]) -> str:
    return f"indices[{', '.join(map(str, position))}]" if position else "the index"


BINDERS: Final[Mapping[str, Binder]] = {
    "dynamic_slice": bind_dynamic_slice,
    "dynamic_update_slice": bind_dynamic_update_slice,
    "take": bind_take,
    "take_along_axis": bind_take_along_axis,
    "put_along_axis": bind_put_along_axis,
    "gather": bind_gather,
    "scatter": bind_scatter,
    "nonzero": bind_nonzero,
}
