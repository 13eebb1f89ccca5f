"""Kernels that put values around and between elements, on transposed arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from tensor_cpu.kernel_table import Binder
from tensor_cpu.storage import NUMPY_DTYPES, Array, empty
from tensor_runtime.form import Form
from tensor_runtime.ops.padding import Padding
from tensor_runtime.protocols import Kernel


def bind_pad(operands: tuple[Form, ...], result: Form, params: Padding, /) -> Kernel:
    """A value around and between the elements; the value is an argument, a number or an array of rank 0.

    >>> from tensor_core import I64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> kernel = bind_pad((form_of(I64, (3,), CPU),), form_of(I64, (5,), CPU), ((1,), (-1,), (1,)))
    >>> kernel(np.array([1, 2, 3]), 0).tolist()
    [0, 1, 0, 2, 0]
    """
    target, source = [], []
    for n, extent, low, between in zip(operands[0].shape, result.shape, params[0], params[2], strict=True):
        step = between + 1
        first = max(0, -(low // step))  # the first element that is not cropped; it lands at low + first * step
        last = min(n, -((low - extent) // step))
        source.append(slice(first, max(first, last)))
        target.append(slice(low + first * step, low + last * step, step) if last > first else slice(0, 0))
    at, of = (..., *reversed(target)), (..., *reversed(source))
    shape, dtype = result.shape[::-1], NUMPY_DTYPES[result.dtype]

    def pad(x: Array, value: Any) -> Array:
        out = np.full(shape, value, dtype)
        out[at] = x[of]
        return out

    return pad


def bind_pad_edge(operands: tuple[Form], result: Form, params: Padding, /) -> Kernel:
    """The nearest element around, one axis after the other.

    >>> from tensor_core import I64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> kernel = bind_pad_edge((form_of(I64, (2,), CPU),), form_of(I64, (5,), CPU), ((1,), (2,), (0,)))
    >>> kernel(np.array([1, 2])).tolist()
    [1, 1, 2, 2, 2]
    """
    lows, extents = params[0][::-1], operands[0].shape[::-1]
    centre: Any = (..., *(slice(low, low + n) for low, n in zip(lows, extents, strict=True)))

    def pad(x: Array) -> Array:
        out = empty(result)
        if not out.size:
            return out
        out[centre] = x
        for axis, (low, n) in enumerate(zip(lows, extents, strict=True)):
            lines = out.swapaxes(0, axis)  # other axes are copied whole: what is not filled yet is overwritten later
            lines[:low] = lines[low : low + 1]
            lines[low + n :] = lines[low + n - 1 : low + n]
        return out

    return pad


BINDERS: Final[Mapping[str, Binder]] = {"pad": bind_pad, "pad_edge": bind_pad_edge}
