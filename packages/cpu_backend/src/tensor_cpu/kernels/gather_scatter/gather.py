"""Kernels that choose elements by index values, on transposed arrays; ``scatter`` has ``gather`` and ``scatter``.

Most of them turn indices into offsets, in elements, from the lowest address that a form reaches, and then read or write
a flat array over that memory: this serves every layout, negative strides included, without copying the operand. The
order of a C-contiguous transposed array is column-major order, so "the last in column-major order" is the last one
written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np
from numpy.lib.stride_tricks import as_strided

from tensor_cpu.kernel_table import Binder
from tensor_cpu.kernels.params import taking_fields
from tensor_cpu.storage import NUMPY_DTYPES, Array, empty, first_true
from tensor_cpu.system.errstate import ignoring_fp_errors
from tensor_runtime.backends.shared.value_errors import index_out_of_range
from tensor_runtime.form import Form
from tensor_runtime.protocols import Counted, Kernel

Refusal = Callable[[Array], Exception]
"""From the transposed array of the indices to the error that names the first one out of range."""


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
    return bind_slices_along(form, result, axis, -extent, lambda index: _first_outside("take", index, extent, axis))


def bind_slices_along(form: Form, result: Form, axis: int, low: int, refusal: Refusal) -> Kernel:
    """Whole slices at indices from ``low`` along an axis, the indices' axes in its place.

    >>> from tensor_core import I64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> kernel = bind_slices_along(form_of(I64, (3,), CPU), form_of(I64, (2,), CPU), 0, -3, lambda index: IndexError())
    >>> kernel(np.array([5, 6, 7]), np.array([-1, 0])).tolist()
    [7, 5]
    """
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
        flat, start = memory_of(x, form)
        return taken_at(flat, start + _row_major_offsets(index, form), result)

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
        flat, start = memory_of(x, form)
        offsets = _line_offsets(index, start, form, along)
        return taken_at(flat, offsets if offsets.shape == shape else np.broadcast_to(offsets, shape), result)

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
        flat, start = memory_of(x, form)
        if axis is None:
            offsets = start + _row_major_offsets(index, form)
        else:
            offsets = _line_offsets(index, start, form, axis)
        # Both are fresh, so it does not matter what shares memory with x.
        places = np.broadcast_to(offsets, target).reshape(-1)
        flat[places] = np.broadcast_to(y[pad].astype(dtype), target).reshape(-1)

    return ignoring_fp_errors(put)


def bind_nonzero(operands: tuple[Form], result: tuple[Form, ...], params: None, /) -> Kernel:
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


def memory_of(x: Array, form: Form) -> tuple[Array, int]:
    """The memory that a form with elements reaches as a flat array, and where in it the first element lies.

    >>> from tensor_core import I64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> flat, first = memory_of(np.arange(9)[7:1:-2], form_of(I64, (3,), CPU, (-2,)))
    >>> flat.tolist(), first
    ([3, 4, 5, 6, 7], 4)
    """
    if form.is_compact:
        return x.reshape(-1), 0
    reach = [stride * (extent - 1) for extent, stride in zip(form.shape, form.strides, strict=True)]
    below = -sum(step for step in reach if step < 0)
    above = sum(step for step in reach if step > 0)
    lowest = x[(..., *(slice(-1, None) if step < 0 else slice(1) for step in reversed(reach)))]
    return as_strided(lowest, (below + above + 1,), (x.itemsize,)), below


def taken_at(flat: Array, offsets: Array, result: Form) -> Array:
    """Elements at offsets that are known to be inside; a check of NumPy's own would cost another copy.

    >>> from tensor_core import I64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> taken_at(np.array([5, 6, 7]), np.array([2, 0]), form_of(I64, (2,), CPU)).tolist()
    [7, 5]
    """
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


def _first_outside(operation: str, index: Array, extent: int, axis: int | None) -> Exception:
    outside = (index < -extent) | (index >= extent)
    position = first_true(outside)
    return index_out_of_range(operation, position, int(index.T[position]), extent, axis)


BINDERS: Final[Mapping[str, Binder]] = {
    "take": taking_fields(bind_take),
    "take_along_axis": taking_fields(bind_take_along_axis),
    "put_along_axis": taking_fields(bind_put_along_axis),
    "nonzero": bind_nonzero,
}
