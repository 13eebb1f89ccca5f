"""The kernels "max_pool" and "mean_pool": one spatial axis after the other.

A maximum over a box is the maximum along each of its axes in turn, and a sum likewise: a window of 3 by 3 takes 3 + 3
whole-array calls instead of 9. Along one axis, call number j combines element j of all windows that hold one; padding
is what no call touches, so it is never made.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from typing import Any, Final

import numpy as np

from tensor_cpu.kernel_table import Binder
from tensor_cpu.kernels.windows import bind_compact, runs_forward
from tensor_cpu.storage import NUMPY_DTYPES, Array, empty
from tensor_cpu.system.errstate import ignoring_fp_errors
from tensor_runtime.form import Form
from tensor_runtime.ops.pooling import Params, pooling_windows
from tensor_runtime.ops.windows import Windows, members
from tensor_runtime.protocols import Kernel

Call = tuple[tuple[Any, ...], tuple[Any, ...]]  # indices of the windows and of the elements that they combine


def bind_max_pool(operands: tuple[Form], result: Form, params: Params, /) -> Kernel:
    """Kernel of the maximum over windows.

    >>> from tensor_core import F64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> x, result = form_of(F64, (1, 4, 1), CPU), form_of(F64, (1, 2, 1), CPU)
    >>> bind_max_pool((x,), result, (2, None, "VALID", 1))(np.array([[[1.0], [3.0], [2.0], [0.0]]])).ravel().tolist()
    [3.0, 2.0]
    """
    if result.size == 0:
        return lambda x: empty(result)
    windows = pooling_windows("max_pool", operands[0].shape, params)
    return ignoring_fp_errors(_bind_passes(np.maximum, windows, operands[0], result))


def bind_mean_pool(operands: tuple[Form], result: Form, params: Params, /) -> Kernel:
    """Kernel of the mean over windows: sums, divided by the number of elements in each.

    >>> from tensor_core import F64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> x, result = form_of(F64, (1, 4, 1), CPU), form_of(F64, (1, 2, 1), CPU)
    >>> bind_mean_pool((x,), result, (2, None, "VALID", 1))(np.array([[[1.0], [3.0], [2.0], [0.0]]])).ravel().tolist()
    [2.0, 1.0]
    """
    if result.size == 0:  # also for windows far larger than the operand
        return lambda x: empty(result)
    windows = pooling_windows("mean_pool", operands[0].shape, params)
    add = _bind_passes(np.add, windows, operands[0], result)
    numbers = _numbers(windows, operands[0], NUMPY_DTYPES[result.dtype.component])

    def mean(x: Array) -> Array:
        total = add(x)
        return np.divide(total, numbers, out=total)

    return ignoring_fp_errors(mean)


def _bind_passes(combine: np.ufunc, windows: Windows, x: Form, result: Form) -> Callable[[Array], Array]:
    """The kernel that combines along the outermost axis of the transposed array first, which has the longest runs."""
    dtype, shape = NUMPY_DTYPES[result.dtype], x.shape[::-1]
    passes = []
    for axis in reversed(range(len(windows.counts))):
        transposed_axis = x.rank - 2 - axis
        if windows.extents[axis] == windows.strides[axis] == 1 and windows.padding[axis] == (0, 0):
            continue
        calls = _calls(windows, axis, shape[transposed_axis], transposed_axis)
        shape = (*shape[:transposed_axis], windows.counts[axis], *shape[transposed_axis + 1 :])
        passes.append((shape, calls))

    prepare = None if runs_forward(x) or not passes else bind_compact(x)

    def run(x: Array) -> Array:
        if not passes:
            return x.astype(dtype, order="C", copy=True)
        if prepare is not None:
            x = prepare(x)
        for shape, calls in passes:
            out = np.empty(shape, dtype)
            _combine(combine, x, out, calls)
            x = out
        return x

    return run


def _combine(combine: np.ufunc, x: Array, out: Array, calls: list[Call]) -> None:
    first, source = calls[0]
    whole = out[first].shape == out.shape
    if not whole:
        out.fill(_identity(combine, out.dtype))
    elif len(calls) > 1 and x.dtype == out.dtype and out[calls[1][0]].shape == out.shape:
        combine(x[source], x[calls[1][1]], out=out)
        calls = calls[1:]
    else:
        np.copyto(out, x[source])
    for target, source in calls[1:] if whole else calls:
        part = out[target]
        combine(part, x[source], out=part)


def _calls(windows: Windows, axis: int, extent: int, transposed_axis: int) -> list[Call]:
    """What each element of a window combines with; those that occur in the most windows first."""
    lead, stride, calls = (slice(None),) * transposed_axis, windows.strides[axis], []
    for offset in range(windows.extents[axis]):
        first, end, start = members(windows, axis, offset, extent)
        if first < end:
            step = stride if end - first > 1 else 1  # a step that is never taken may be longer than memory
            stop = start + (end - first - 1) * step + 1
            calls.append((end - first, (*lead, slice(first, end)), (*lead, slice(start, stop, step))))
    calls.sort(key=lambda call: -call[0])
    return [(target, source) for _, target, source in calls]


def _identity(combine: np.ufunc, dtype: np.dtype[Any]) -> Any:
    """What changes nothing when combined; no window keeps it, because each holds an element."""
    if combine is np.add:
        return 0
    if dtype.kind == "f":
        return -np.inf
    return False if dtype.kind == "b" else np.iinfo(dtype).min


def _numbers(windows: Windows, x: Form, dtype: np.dtype[Any]) -> Array:
    """How many elements each window holds, shaped to broadcast against the result's transposed array."""
    rank, factors = len(windows.counts), []
    for axis, count in enumerate(windows.counts):
        along = np.zeros(count, dtype)
        for offset in range(windows.extents[axis]):
            first, end, _ = members(windows, axis, offset, x.shape[1 + axis])
            along[first : max(first, end)] += 1
        if (along == along[:1]).all():
            along = along[:1]
        factors.append(along.reshape((1,) * (rank - axis) + (-1,) + (1,) * (axis + 1)))
    return reduce(np.multiply, factors)


BINDERS: Final[Mapping[str, Binder]] = {
    "max_pool": bind_max_pool,
    "mean_pool": bind_mean_pool,
}
