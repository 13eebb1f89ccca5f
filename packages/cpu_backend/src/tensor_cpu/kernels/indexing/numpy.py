"""Slices of transposed arrays, views to be written, and writing them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from tensor_core.dtypes import Bool
from tensor_core.errors import ReadOnlyError
from tensor_cpu.kernel_table import Binder
from tensor_cpu.storage import Array
from tensor_cpu.system.errstate import ignoring_fp_errors
from tensor_runtime.form import Form
from tensor_runtime.ops.indexing import Pattern
from tensor_runtime.protocols import Kernel


def bind_slice(form: Form, view: Form, pattern: Pattern, /) -> Kernel:
    """Basic indexing; where each axis starts is an argument of the kernel.

    >>> from tensor_core import I64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> kernel = bind_slice(form_of(I64, (4, 5), CPU), form_of(I64, (3,), CPU, (8,)), ((), (3, 2)))  # x[i, ::2]
    >>> x = np.arange(20).reshape(5, 4)
    >>> kernel(x, (3, 0)).tolist(), kernel(x, (0, 0)).tolist()
    ([3, 11, 19], [0, 8, 16])
    """
    # The ellipsis makes NumPy answer rank 0 with a view, not a scalar.
    index: list[Any] = [Ellipsis, *(slice(None) if entry else entry for entry in reversed(pattern))]
    axis = form.rank
    moving: list[tuple[int, int, int, int]] = []  # place in the index, axis, extent, step: what depends on the starts
    for place, entry in enumerate(reversed(pattern), 1):
        if entry is not None:
            axis -= 1
            if entry != (form.shape[axis], 1):
                extent, step = entry or (1, 0)
                moving.append((place, axis, extent, step))

    def sliced(x: Array, starts: tuple[int, ...]) -> Array:
        found = index.copy()
        for place, axis, extent, step in moving:
            found[place] = _python_slice(starts[axis], extent, step) if step else starts[axis]
        view: Array = x[tuple(found)]
        return view

    return sliced


def _python_slice(first: int, extent: int, step: int) -> slice:
    if extent == 0:
        return slice(0, 0)
    end = first + extent * step
    return slice(first, end if end >= 0 else None, step)


def bind_mutable(form: Form, view: Form, params: Any, /) -> Kernel:
    """The same array, if it may be written.

    >>> from tensor_core import F64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> form = form_of(F64, (2,), CPU)
    >>> bind_mutable(form, form, None)(np.frombuffer(bytes(16)))
    Traceback (most recent call last):
    tensor_core.errors.ReadOnlyError: mutable_view: the memory is read-only for us; copy() the tensor first
    """

    def writable(x: Array) -> Array:
        if not x.flags.writeable:
            raise ReadOnlyError("mutable_view: the memory is read-only for us; copy() the tensor first")
        return x

    return writable


def bind_copy_into(target: Form, source: Form, /) -> Kernel:
    """Write the source's elements into the target; overlapping memory behaves as if the source were copied first.

    >>> from tensor_core import I64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> form, x = form_of(I64, (3,), CPU), np.array([1, 2, 3, 4])
    >>> bind_copy_into(form, form)(x[1:], x[:-1])
    >>> x.tolist()
    [1, 1, 2, 3]
    """

    def write(x: Array, y: Array) -> None:
        np.copyto(x, y, casting="unsafe")

    return write


def bind_add_into(target: Form, source: Form, /) -> Kernel:
    """Add the source's elements to the target's; integers wrap, and sums of Bool are ors.

    >>> from tensor_core import F64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> form, x = form_of(F64, (2,), CPU), np.array([1.0, 2.0])
    >>> bind_add_into(form, form)(x, np.array([10.0, 20.0]))
    >>> x.tolist()
    [11.0, 22.0]
    """
    add = np.logical_or if target.dtype is Bool else np.add

    def accumulate(x: Array, y: Array) -> None:
        add(x, y, out=x)

    return ignoring_fp_errors(accumulate)


BINDERS: Final[Mapping[str, Binder]] = {
    "slice_view": lambda operands, result, params: bind_slice(operands[0], result, *params),
    "mutable_view": lambda operands, result, params: bind_mutable(operands[0], result, params),
    "copy_into": lambda operands, result, params: bind_copy_into(*operands),
    "add_into": lambda operands, result, params: bind_add_into(*operands),
}
