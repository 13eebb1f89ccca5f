"""The kernel "conv": windows as strided views, which one native contraction gathers while it multiplies them.

On transposed arrays the operand is [C, ..., spatial 2, spatial 1, N] and the filters are [F, C, ..., K2, K1], so the
result [F, windows, N] is filters [F, C K] times columns [C K, windows N], in the order in which all three are stored.
Where no contraction takes the windows without a copy of them, blocks of columns are gathered, each of which stays in
the cache between its copy and its product; where the windows are a matrix already (extent 1, or all of the operand),
nothing is copied. The workspace is ``_BLOCK`` bytes, or ``_FEWEST`` columns where that is more; padding makes one
padded copy of the operand, and so does a view that lies in another order.

Integers, for which there is no BLAS, go block by block to the kernel "contract", on the same views.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any, Final

import numpy as np
from numpy.lib.stride_tricks import as_strided

from tensor_core.dtypes import FLOATING
from tensor_core.errors import UnsupportedOperationError
from tensor_core.shapes import Shape
from tensor_cpu.kernel_table import Binder
from tensor_cpu.kernels.contraction.choice import bind_contract
from tensor_cpu.kernels.contraction.gemm import bind_stack
from tensor_cpu.kernels.copy.permute import bind_fill, fuse
from tensor_cpu.kernels.windows import bind_compact, runs_forward
from tensor_cpu.storage import MOST_AXES, NUMPY_DTYPES, Array, empty
from tensor_cpu.system.errstate import ignoring_fp_errors
from tensor_cpu.system.extension import AVAILABLE, LIBRARY
from tensor_runtime.form import Form, form_of
from tensor_runtime.ops.convolution import Params, convolution_windows
from tensor_runtime.ops.windows import Windows
from tensor_runtime.protocols import Kernel

_BLOCK: Final = 1 << 20  # bytes of columns: half of a second-level cache of 2 MiB
_FEWEST: Final = 32  # columns of a block, however long: fewer would read the filters too often


@dataclass(frozen=True, slots=True)
class Gather:
    """The windows of all groups as a view of the (padded) operand, in reversed order of axes; strides count elements.

    The axes are group, channel, window elements, windows, N.
    """

    shape: Shape
    strides: Shape
    inner: int  # number of axes that are summed over: channel and window elements

    @property
    def batch(self) -> Shape:
        """Extents of the windows and of N."""
        return self.shape[1 + self.inner :]


def bind_convolution(operands: tuple[Form, Form], result: Form, params: Params, /) -> Kernel:
    """Kernel of the cross-correlation of two operands; the runtime has checked shapes and dtypes.

    >>> from tensor_core import F64
    >>> from tensor_runtime.placement import CPU
    >>> forms = [form_of(F64, shape, CPU) for shape in ((1, 4, 1), (2, 1, 1), (1, 3, 1))]
    >>> kernel = bind_convolution((forms[0], forms[1]), forms[2], (1, "VALID", 1, 1))
    >>> kernel(np.array([[[1.0], [2.0], [4.0], [8.0]]]), np.array([[[-1.0, 1.0]]])).ravel().tolist()
    [1.0, 2.0, 4.0]
    """
    x, filters = operands
    windows = convolution_windows("conv", x.shape, filters.shape, params)
    if 2 * x.rank > MOST_AXES:
        raise UnsupportedOperationError(
            f"conv: the operand has {x.rank} axes; the cpu backend takes at most {MOST_AXES // 2}", operation="conv"
        )
    if 0 in (result.size, x.size, filters.size):  # an empty result, or empty sums
        shape, dtype = result.shape[::-1], NUMPY_DTYPES[result.dtype]
        return lambda x, filters: np.zeros(shape, dtype)
    padded, prepare = _padded(x, windows)
    gather = _windows_of(padded, windows, params[3])
    if not (runs_forward(padded) or _is_matrix(gather)):
        crop, copy = prepare, bind_compact(padded)
        prepare = copy if crop is None else lambda array: copy(crop(array))
        padded = form_of(x.dtype, padded.shape, x.placement)
        gather = _windows_of(padded, windows, params[3])
    bind = _bind_product if result.dtype in FLOATING else _bind_sums
    run = bind(gather, padded, filters, result)
    if prepare is None:
        return ignoring_fp_errors(run)
    pad = prepare
    return ignoring_fp_errors(lambda x, filters: run(pad(x), filters))


def _padded(x: Form, windows: Windows) -> tuple[Form, Callable[[Array], Array] | None]:
    """The form of the operand with zeros around it, or cropped, and the kernel that makes it, if anything changes."""
    if all(pair == (0, 0) for pair in windows.padding):
        return x, None
    spatial = tuple(extent + sum(pair) for extent, pair in zip(x.shape[1:-1], windows.padding, strict=True))
    source, target = [slice(None)], [slice(None)]
    for before, after in reversed(windows.padding):
        source.append(slice(max(0, -before), -max(0, -after) or None))
        target.append(slice(max(0, before), -max(0, after) or None))
    cropped, inside = tuple(source), tuple(target)
    shape = (x.shape[0], *spatial, x.shape[-1])
    if all(before <= 0 and after <= 0 for before, after in windows.padding):
        return form_of(x.dtype, shape, x.placement, x.strides), lambda array: array[cropped]
    padded = form_of(x.dtype, shape, x.placement)
    kept = [n + min(0, pair[0]) + min(0, pair[1]) for n, pair in zip(x.shape[1:-1], windows.padding, strict=True)]
    fill = bind_fill((x.shape[-1], *reversed(kept), x.shape[0]), x.strides[::-1])

    def pad(array: Array) -> Array:
        made = np.zeros(padded.shape[::-1], array.dtype)
        fill(made[inside], array[cropped])
        return made

    return padded, pad


def _windows_of(x: Form, windows: Windows, groups: int) -> Gather:
    channels, batch = x.shape[-1] // groups, x.shape[0]
    spatial = x.strides[1:-1]
    # A step that is never taken may be longer than memory; it counts as 0.
    of_elements = [
        stride * step if extent > 1 else 0
        for stride, step, extent in zip(spatial, windows.dilation, windows.extents, strict=True)
    ]
    of_windows = [
        stride * step if count > 1 else 0
        for stride, step, count in zip(spatial, windows.strides, windows.counts, strict=True)
    ]
    shape = (groups, channels, *reversed(windows.extents), *reversed(windows.counts), batch)
    strides = (channels * x.strides[-1], x.strides[-1], *reversed(of_elements), *reversed(of_windows), x.strides[0])
    return Gather(shape, strides, 1 + len(spatial))


def _bind_product(gather: Gather, x: Form, filters: Form, result: Form) -> Kernel:
    """Floating types: a matrix product for each block of columns."""
    dtype, itemsize = NUMPY_DTYPES[result.dtype], x.dtype.itemsize
    groups, inner, batch = gather.shape[0], gather.shape[1 : 1 + gather.inner], gather.batch
    rows, columns = filters.shape[-1] // groups, prod(batch)
    depth = prod(inner)
    strides = tuple(stride * itemsize for stride in gather.strides)

    def weights(array: Array) -> Array:
        return np.ascontiguousarray(array, dtype).reshape(groups, rows, depth)

    if x.dtype is result.dtype and _is_matrix(gather):
        whole = _matrix_steps(gather)
        multiply_all = bind_stack(
            result.dtype.numpy_name, (groups, rows, depth, columns), whole, (rows * columns, columns)
        )

        def direct(x: Array, filters: Array) -> Array:
            out = empty(result)
            view = as_strided(x, gather.shape, strides).reshape(groups, depth, columns)
            multiply_all(weights(filters), view, out.reshape(groups, rows, columns))
            return out

        return direct
    gathering = _bind_contraction(gather, x, filters, result)
    if gathering is not None:
        return gathering
    room = max(_FEWEST, _BLOCK // (groups * depth * result.dtype.itemsize))
    blocks = _blocks(batch, room)
    lead = (slice(None),) * (1 + gather.inner)
    known: dict[int, Kernel] = {}

    def multiply_of(width: int) -> Kernel:
        """At most three widths occur: that of all blocks, and those of the last parts."""
        if width not in known:
            extents, line = (groups, rows, depth, width), (depth * width, width, 1)
            known[width] = bind_stack(result.dtype.numpy_name, extents, line, (rows * columns, columns))
        return known[width]

    def gathered(x: Array, filters: Array) -> Array:
        out = empty(result)
        view = as_strided(x, gather.shape, strides)
        factors, products = weights(filters), out.reshape(groups, rows, columns)
        space = np.empty(groups * depth * min(room, columns), dtype)
        for place, shape, start, end in blocks():
            block = space[: groups * depth * (end - start)].reshape(groups, *inner, *shape)
            np.copyto(block, view[lead + place])
            multiply_of(end - start)(factors, block.reshape(groups, depth, end - start), products[:, :, start:end])
        return out

    return gathered


def _bind_contraction(gather: Gather, x: Form, filters: Form, result: Form) -> Kernel | None:
    """All windows by one native contraction that gathers them itself; None where it would copy them first."""
    if not AVAILABLE or not x.dtype is filters.dtype is result.dtype:
        return None
    groups, inner, fixed = gather.shape[0], gather.shape[1 : 1 + gather.inner], 1 + gather.inner
    rows, itemsize = filters.shape[-1] // groups, x.dtype.itemsize
    labels, row = tuple(range(len(gather.shape))), len(gather.shape)
    view = form_of(x.dtype, gather.shape[::-1], x.placement, gather.strides[::-1])
    weights = form_of(filters.dtype, (*reversed(inner), rows, groups), filters.placement)
    made = form_of(result.dtype, (*reversed(gather.batch), rows, groups), result.placement)
    params = (labels[::-1], (*labels[1:fixed][::-1], row, 0), (*labels[fixed:][::-1], row, 0))
    contract: Any = bind_contract((view, weights), made, params)
    if getattr(contract, "workspace_bytes", _BLOCK) >= _BLOCK:
        return None
    shape, target, strides = gather.shape, result.shape[::-1], tuple(stride * itemsize for stride in gather.strides)
    compact = bind_compact(filters)
    restride = LIBRARY.restride

    def contracted(x: Array, filters: Array) -> Array:
        product: Array = contract(restride(x, shape, strides), compact(filters).reshape(groups, rows, *inner))
        return product.reshape(target)

    return contracted


def _is_matrix(gather: Gather) -> bool:
    """Whether rows and columns of each group's windows are evenly spaced, one of them by 1: what BLAS takes."""
    end = 1 + gather.inner
    rows = fuse(gather.shape[1:end], gather.strides[1:end])[1]
    columns = fuse(gather.shape[end:], gather.strides[end:])[1]
    if len(rows) > 1 or len(columns) > 1:
        return False
    extents = prod(gather.shape[1:end]), prod(gather.shape[end:])
    down, along = rows[0] if rows else 1, columns[0] if columns else 1
    return (along == 1 and (not rows or down >= extents[1])) or (down == 1 and (not columns or along >= extents[0]))


def _matrix_steps(gather: Gather) -> tuple[int, int, int]:
    """Strides from group to group, row to row and column to column, where the windows are a matrix."""
    end = 1 + gather.inner
    rows = fuse(gather.shape[1:end], gather.strides[1:end])[1]
    columns = fuse(gather.shape[end:], gather.strides[end:])[1]
    return gather.strides[0], (rows or (1,))[0], (columns or (1,))[0]


def _blocks(batch: Shape, room: int) -> Callable[[], Iterator[tuple[tuple[Any, ...], Shape, int, int]]]:
    """Blocks of at most ``room`` columns, each contiguous in the result: (index, extents, first column, end)."""
    axis, size = len(batch), 1
    while axis > 0 and size * batch[axis - 1] <= room:
        axis -= 1
        size *= batch[axis]
    if axis == 0:
        return lambda: iter([((), batch, 0, size)])
    axis -= 1  # of this one a part, of those inside it all, of those outside it one value each
    part, outer = max(1, room // size), batch[:axis]

    def blocks() -> Iterator[tuple[tuple[Any, ...], Shape, int, int]]:
        start = 0
        for values in product(*map(range, outer)):
            for first in range(0, batch[axis], part):
                end = min(first + part, batch[axis])
                columns = (end - first) * size
                yield (*values, slice(first, end)), (end - first, *batch[axis + 1 :]), start, start + columns
                start += columns

    return blocks


def _bind_sums(gather: Gather, x: Form, filters: Form, result: Form) -> Kernel:
    """Integers: sums of products by the kernel "contract", on a part of the windows at a time."""
    dtype = NUMPY_DTYPES[result.dtype]
    groups, inner, batch = gather.shape[0], gather.shape[1 : 1 + gather.inner], gather.batch
    rows, columns, depth = filters.shape[-1] // groups, prod(batch), prod(inner)
    strides = tuple(stride * x.dtype.itemsize for stride in gather.strides)
    blocks = _blocks(batch, max(_FEWEST, _BLOCK // (groups * depth * result.dtype.itemsize)))
    weights = form_of(filters.dtype, (*reversed(inner), rows, groups), filters.placement)
    lead = (slice(None),) * (1 + gather.inner)
    known: dict[Shape, Kernel] = {}

    def kernel_of(shape: Shape) -> Kernel:
        """At most two shapes occur: that of all blocks, and that of the last part of an axis."""
        if shape not in known:
            fixed = 1 + gather.inner
            axes, labels = gather.shape[:fixed] + shape, tuple(range(fixed + len(shape)))
            of_view = gather.strides[:fixed] + gather.strides[len(gather.strides) - len(shape) :]
            view = form_of(x.dtype, axes[::-1], x.placement, of_view[::-1])
            made = form_of(result.dtype, (*reversed(shape), rows, groups), result.placement)
            summed, kept, row = labels[1:fixed], labels[fixed:], len(labels)
            params = (labels[::-1], (*summed[::-1], row, 0), (*kept[::-1], row, 0))
            known[shape] = bind_contract((view, weights), made, params)
        return known[shape]

    def summed(x: Array, filters: Array) -> Array:
        out = np.empty((groups, rows, columns), dtype)
        view = as_strided(x, gather.shape, strides)
        factors = np.ascontiguousarray(filters).reshape(groups, rows, *inner)
        for place, shape, start, end in blocks():
            out[:, :, start:end] = kernel_of(shape)(view[lead + place], factors).reshape(groups, rows, end - start)
        return out.reshape(result.shape[::-1])

    return summed


BINDERS: Final[Mapping[str, Binder]] = {"conv": bind_convolution}
