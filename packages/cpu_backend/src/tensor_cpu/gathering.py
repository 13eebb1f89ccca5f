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

_AT: Final[dict[str, np.ufunc]] = {"add": np.add, "multiply": np.multiply, "min": np.minimum, "max": np.maximum}


def bind_dynamic_slice(operands: tuple[Form, ...], result: Form, sizes: Shape, /) -> Kernel:
    """The slice of given sizes; starts come as Python ints or as an array."""
    shape = operands[0].shape

    def sliced(x: Array, starts: Any) -> Array:
        part: Array = x[_slices("dynamic_slice", shape, sizes, starts)]
        return part.copy(order="C")

    return sliced


def bind_dynamic_update_slice(operands: tuple[Form, ...], result: Form, detail: None, /) -> Kernel:
    """A copy with a slice replaced; starts come as Python ints or as an array."""
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
    """Elements or slices at indices, of which negative ones count from the end."""
    form, _ = operands
    if axis is None:
        return _bind_take_flat("take", form, result)
    axis %= form.rank
    extent, place = form.shape[axis], form.rank - 1 - axis
    if form.is_compact and result.rank and result.size:

        def taken(x: Array, index: Array) -> Array:
            try:
                return x.take(index, axis=place)
            except IndexError:
                raise _first_outside("take", index, extent, axis) from None

        return taken
    before: Any = (slice(None),) * place
    shape = result.shape[::-1]

    def taken_anywhere(x: Array, index: Array) -> Array:
        _check_wrapping("take", index, extent, axis)
        lines: Array = x[(*before, index.reshape(-1))]
        return np.ascontiguousarray(lines).reshape(shape)

    return taken_anywhere


def _bind_take_flat(operation: str, form: Form, result: Form) -> Kernel:
    """Elements in row-major order."""

    def taken(x: Array, index: Array) -> Array:
        _check_wrapping(operation, index, form.size, None)
        if not result.size:
            return empty(result)
        flat, start = _memory(x, form)
        return np.asarray(flat[start + _row_major_offsets(index, form)])

    return taken


def bind_take_along_axis(operands: tuple[Form, Form], result: Form, axis: int | None, /) -> Kernel:
    """Elements at indices of each line's own."""
    form, _ = operands
    if axis is None:
        return _bind_take_flat("take_along_axis", form, result)
    axis %= form.rank
    extent, shape = form.shape[axis], result.shape[::-1]

    def taken(x: Array, index: Array) -> Array:
        _check_wrapping("take_along_axis", index, extent, axis)
        if not result.size:
            return empty(result)
        flat, start = _memory(x, form)
        out = empty(result)
        out[...] = flat.take(np.broadcast_to(start + _line_offsets(index, form, axis), shape))
        return out

    return taken


def bind_put_along_axis(operands: tuple[Form, Form, Form], result: Form, axis: int | None, /) -> Kernel:
    """Write values at indices of each line's own; the first array is written."""
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
        _check_wrapping("put_along_axis", index, extent, axis)
        if 0 in target:
            return
        flat, start = _memory(x, form)
        offsets = _row_major_offsets(index, form) if axis is None else _line_offsets(index, form, axis)
        # Both are fresh, so it does not matter what shares memory with x.
        places = np.broadcast_to(start + offsets, target).reshape(-1)
        flat[places] = np.broadcast_to(y[pad].astype(dtype), target).reshape(-1)

    return quiet(put)


def bind_gather(operands: tuple[Form, Form], result: Form, options: Any, /) -> Kernel:
    """Slices of equal sizes whose starts are index values."""
    form, indices = operands
    geometry = gather_geometry("gather", form.shape, indices.shape, options)
    strides = form.strides

    def gathered(x: Array, index: Array) -> Array:
        starts = _starts("gather", index, form.shape, geometry)
        if not result.size:
            return empty(result)
        flat, start = _memory(x, form)
        return np.asarray(flat[start + _window_offsets(starts, strides, geometry)], order="C")

    return gathered


def bind_scatter(operands: tuple[Form, Form, Form], result: Form, detail: Any, /) -> Kernel:
    """A copy of which slices are combined with updates."""
    form, indices, updates = operands
    mode, options = detail
    geometry = scatter_geometry("scatter", form.shape, indices.shape, updates.shape, options)
    strides = compact_strides(form.shape)
    dtype = NUMPY_DTYPES[form.dtype]

    def scattered(x: Array, index: Array, y: Array) -> Array:
        starts = _starts("scatter", index, form.shape, geometry)
        out = x.copy(order="C")
        if not updates.size:
            return out
        flat = out.reshape(-1)
        offsets = _window_offsets(starts, strides, geometry).reshape(-1)
        written = y.astype(dtype, order="C", copy=False).reshape(-1)
        if mode == "replace":
            flat[offsets] = written
        else:
            _AT[mode].at(flat, offsets, written)
        return out

    return quiet(scattered)


def bind_nonzero(operands: tuple[Form], result: tuple[Form, ...], detail: None, /) -> Kernel:
    """Indices of elements that are not zero, in row-major order."""

    def found(x: Array) -> Counted:
        axes = tuple(positions.astype(np.int64, order="C") for positions in x.T.nonzero())
        return Counted(axes, axes[0].size)

    return found


def _memory(x: Array, form: Form) -> tuple[Array, int]:
    """The memory that a form with elements reaches as a flat array, and where in it the first element lies."""
    reach = [stride * (extent - 1) for extent, stride in zip(form.shape, form.strides, strict=True)]
    below = -sum(step for step in reach if step < 0)
    above = sum(step for step in reach if step > 0)
    lowest = x[(..., *(slice(-1, None) if step < 0 else slice(1) for step in reversed(reach)))]
    return as_strided(lowest, (below + above + 1,), (x.itemsize,)), below


def _line_offsets(index: Array, form: Form, axis: int) -> Array:
    """Offsets of elements of which ``index`` names the position along an axis, still to be broadcast."""
    extent, rank = form.shape[axis], form.rank
    offsets = _wrapped(index, extent) * form.strides[axis]
    for k in range(rank):
        if k != axis:
            along = np.arange(form.shape[k], dtype=np.int64) * form.strides[k]
            offsets = offsets + along.reshape(-1, *[1] * k)
    return offsets


def _row_major_offsets(index: Array, form: Form) -> Array:
    """Offsets of elements that ``index`` counts in row-major order."""
    rest = _wrapped(index, form.size)
    offsets = np.zeros(index.shape, np.int64)
    for extent, stride in zip(reversed(form.shape), reversed(form.strides), strict=True):
        rest, along = np.divmod(rest, max(extent, 1))
        offsets += along * stride
    return offsets


def _wrapped(index: Array, extent: int) -> Array:
    wide = index.astype(np.int64, copy=False)
    return np.where(wide < 0, wide + extent, wide)


def _starts(operation: str, index: Array, shape: Shape, geometry: SliceGeometry) -> list[Array]:
    """For each component of an index, the twin of the starts, checked."""
    in_order = index.T
    if geometry.vector_axis < in_order.ndim:
        components: Sequence[Array] = [
            in_order.take(k, axis=geometry.vector_axis).T for k in range(len(geometry.start_axes))
        ]
    else:
        components = [index]
    last = [shape[axis] - geometry.sizes[axis] for axis in geometry.start_axes]
    if any(part.size and (part.min() < 0 or part.max() > top) for part, top in zip(components, last, strict=True)):
        raise _first_window_outside(operation, index, shape, geometry)
    return [np.asarray(part, np.int64) for part in components]


def _window_offsets(starts: list[Array], strides: Shape, geometry: SliceGeometry) -> Array:
    """Offsets of all elements of all options, as the twin of the windowed tensor."""
    rank = len(geometry.shape)
    spread = tuple(slice(None) if axis in geometry.batch_axes else None for axis in reversed(range(rank)))
    total: Any = np.zeros([geometry.shape[axis] for axis in reversed(geometry.batch_axes)], np.int64)
    for start, axis in zip(starts, geometry.start_axes, strict=True):
        total = total + start * strides[axis]
    offsets: Array = np.asarray(total)[spread]
    for axis, position in zip(geometry.kept_axes, geometry.offset_axes, strict=True):
        along = np.arange(geometry.sizes[axis], dtype=np.int64) * strides[axis]
        offsets = offsets + along.reshape(-1, *[1] * position)
    return offsets


def _check_wrapping(operation: str, index: Array, extent: int, axis: int | None) -> None:
    if index.size and (index.min() < -extent or index.max() >= extent):
        raise _first_outside(operation, index, extent, axis)


def _first_outside(operation: str, index: Array, extent: int, axis: int | None) -> Exception:
    outside = (index < -extent) | (index >= extent)
    position = _first(outside)
    what = f"axis {axis} of extent {extent}" if axis is not None else f"{extent} elements"
    low, high = (-extent, extent - 1) if extent else (0, -1)
    return out_of_range(
        operation, _named(position), int(index.T[position]), what, low, high, axis=axis, position=position
    )


def _first_window_outside(operation: str, index: Array, shape: Shape, geometry: SliceGeometry) -> Exception:
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
