"""Kernels of ``gather`` and ``scatter``, slices whose places are index values, on transposed arrays.

As in ``gather``, indices become offsets into flat memory, except where whole slices lie along one axis.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tensor_core.shapes import Shape, compact_strides
from tensor_cpu.kernel_table import Binder
from tensor_cpu.kernels.gather_scatter.gather import Refusal, bind_slices_along, memory_of, taken_at
from tensor_cpu.storage import NUMPY_DTYPES, Array, empty, first_true
from tensor_cpu.system.errstate import ignoring_fp_errors
from tensor_runtime.backends.shared.value_errors import slice_out_of_range
from tensor_runtime.form import Form
from tensor_runtime.ops.slice_geometry import SliceGeometry, gather_geometry, scatter_geometry
from tensor_runtime.protocols import Kernel

if TYPE_CHECKING:
    from tensor_runtime.contracts.gather_scatter import ScatterParams, SliceOptions

_AT: Final[dict[str, np.ufunc]] = {"add": np.add, "multiply": np.multiply, "min": np.minimum, "max": np.maximum}


def bind_gather(operands: tuple[Form, Form], result: Form, options: SliceOptions, /) -> Kernel:
    """Slices of equal sizes whose starts are index values.

    >>> from tensor_core import I64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> from tensor_runtime.contracts.gather_scatter import SliceOptions
    >>> pairs = SliceOptions(collapsed_axes=(), slice_sizes=(2,))
    >>> x, indices, result = form_of(I64, (5,), CPU), form_of(I64, (3,), CPU), form_of(I64, (3, 2), CPU)
    >>> bind_gather((x, indices), result, pairs)(np.arange(5) * 10, np.array([3, 0, 1])).T.tolist()
    [[30, 40], [0, 10], [10, 20]]
    """
    form, indices = operands
    geometry, from_end = gather_geometry("gather", form.shape, indices.shape, options), options.from_end

    def refusal(index: Array) -> Exception:
        return _first_slice_outside("gather", index, form.shape, geometry, from_end)

    axis = _whole_slices_along(form.shape, indices.rank, geometry)
    if axis is not None:
        return bind_slices_along(form, result, axis, -form.shape[axis] if from_end else 0, refusal)
    starts_of = _bind_starts(form.shape, indices.rank, geometry, refusal, from_end)
    offsets_of = _bind_offsets(form.strides, geometry)

    def gathered(x: Array, index: Array) -> Array:
        starts = starts_of(index)
        if not result.size:
            return empty(result)
        flat, start = memory_of(x, form)
        return taken_at(flat, start + offsets_of(starts), result)

    return gathered


def bind_scatter(operands: tuple[Form, Form, Form], result: Form, params: ScatterParams, /) -> Kernel:
    """A copy of which slices are combined with updates.

    >>> from tensor_core import I64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> from tensor_runtime.contracts.gather_scatter import SliceOptions
    >>> x, indices = form_of(I64, (3,), CPU), form_of(I64, (2,), CPU)
    >>> kernels = [bind_scatter((x, indices, indices), x, (mode, SliceOptions())) for mode in ("add", "replace")]
    >>> [kernel(np.array([1, 1, 1]), np.array([2, 2]), np.array([10, 20])).tolist() for kernel in kernels]
    [[1, 1, 31], [1, 1, 20]]
    """
    form, indices, updates = operands
    mode, options = params
    geometry = scatter_geometry("scatter", form.shape, indices.shape, updates.shape, options)

    def refusal(index: Array) -> Exception:
        return _first_slice_outside("scatter", index, form.shape, geometry, options.from_end)

    starts_of = _bind_starts(form.shape, indices.rank, geometry, refusal, options.from_end)
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

    return ignoring_fp_errors(scattered)


def _whole_slices_along(shape: Shape, rank: int, geometry: SliceGeometry) -> int | None:
    """The axis along which whole slices are taken, the indices' axes in its place; None for anything else."""
    if len(geometry.start_axes) != 1 or geometry.vector_axis != rank:
        return None
    axis = geometry.start_axes[0]
    others = [k for k in range(len(shape)) if k != axis]
    whole = geometry.kept_axes == tuple(others) and all(geometry.sizes[k] == shape[k] for k in others)
    return axis if whole and geometry.batch_axes == tuple(range(axis, axis + rank)) else None


def _bind_starts(
    shape: Shape, rank: int, geometry: SliceGeometry, refusal: Refusal, from_end: bool
) -> Callable[[Array], Sequence[Array]]:
    """From the indices to the starts along each start axis, both transposed, checked, in I64."""
    last = [shape[axis] - geometry.sizes[axis] for axis in geometry.start_axes]
    vector = geometry.vector_axis
    picks: Any = [(..., k, *[slice(None)] * vector) for k in range(len(last))] if vector < rank else [...]

    def starts(index: Array) -> Sequence[Array]:
        parts = [index[pick] for pick in picks]
        for part, top in zip(parts, last, strict=True):
            if part.size and (part.min() < (-top - 1 if from_end else 0) or part.max() > top):
                raise refusal(index)
        wide = [part.astype(np.int64, copy=False) for part in parts]
        if from_end:
            return [np.where(part < 0, part + top + 1, part) for part, top in zip(wide, last, strict=True)]
        return wide

    return starts


def _bind_offsets(strides: Shape, geometry: SliceGeometry) -> Callable[[Sequence[Array]], Array]:
    """From starts to the offsets of all elements of all slices, as the transposed array of the tensor of all slices."""
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


def _first_slice_outside(
    operation: str, index: Array, shape: Shape, geometry: SliceGeometry, from_end: bool
) -> Exception:
    in_order, vector = index.T, geometry.vector_axis
    whole = vector == in_order.ndim
    last = np.array([shape[axis] - geometry.sizes[axis] for axis in geometry.start_axes])
    limits = last[0] if whole else last.reshape(-1, *[1] * (in_order.ndim - 1 - vector))
    position = first_true(((in_order < (-limits - 1 if from_end else 0)) | (in_order > limits)).T)
    axis = geometry.start_axes[0 if whole else position[vector]]
    value, size = int(in_order[position]), geometry.sizes[axis]
    return slice_out_of_range(operation, position, value, axis, shape[axis], size, from_end)


BINDERS: Final[Mapping[str, Binder]] = {"gather": bind_gather, "scatter": bind_scatter}
