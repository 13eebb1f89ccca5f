"""Views of twins: same memory, other shape and strides.

The runtime has computed the view's form; a kernel here makes the array of that form. Where NumPy has a C method for
it, that is the kernel.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tensor_core.errors import ReadOnlyError
from tensor_core.shapes import as_permutation
from tensor_cpu.arrays import Array, restride
from tensor_runtime.form import Form
from tensor_runtime.indexing import Pattern
from tensor_runtime.protocols import Kernel


def bind_transpose(form: Form, view: Form, axes: Any, /) -> Kernel:
    """Axes in another order."""
    rank = form.rank
    order = as_permutation(axes, rank) if axes is not None else tuple(reversed(range(rank)))
    if order == tuple(reversed(range(rank))):
        return _reverse_axes
    twin_order = tuple(rank - 1 - axis for axis in reversed(order))
    return lambda x: x.transpose(twin_order)


def _reverse_axes(x: Array) -> Array:
    return x.T


def bind_reshape(form: Form, view: Form, shape: Any, /) -> Kernel:
    """Another shape; the runtime has proved that no copy is needed."""
    twin_shape = view.shape[::-1]
    if form.is_compact:
        return lambda x: x.reshape(twin_shape)
    return lambda x: restride(x, view)


def bind_restride(form: Form, view: Form, detail: Any, /) -> Kernel:
    """Any view that starts at the same element: broadcasts, diagonals."""
    return lambda x: restride(x, view)


def bind_reverse(form: Form, view: Form, axes: Any, /) -> Kernel:
    """Runs backwards along some axes."""
    backwards = {axis % form.rank for axis in axes}
    turned = (slice(None, None, -1 if axis in backwards else 1) for axis in reversed(range(form.rank)))
    index = (..., *turned)  # the ellipsis makes NumPy answer rank 0 with a view, not a scalar
    return lambda x: x[index]


def bind_slice(form: Form, view: Form, pattern: Pattern, /) -> Kernel:
    """Basic indexing; where each axis starts is an argument of the kernel."""
    entries = tuple(reversed(pattern))

    def sliced(x: Array, starts: tuple[int, ...]) -> Array:
        axis = len(starts)
        index: list[Any] = []
        for entry in entries:
            if entry is None:
                index.append(None)
                continue
            axis -= 1
            index.append(_python_slice(starts[axis], *entry) if entry else starts[axis])
        return x[(..., *index)]  # the ellipsis makes NumPy answer rank 0 with a view, not a scalar

    return sliced


def _python_slice(first: int, extent: int, step: int) -> slice:
    if extent == 0:
        return slice(0, 0)
    end = first + extent * step
    return slice(first, end if end >= 0 else None, step)


def bind_mutable(form: Form, view: Form, detail: Any, /) -> Kernel:
    """The same array, if it may be written."""

    def writable(x: Array) -> Array:
        if not x.flags.writeable:
            raise ReadOnlyError("mutable_view: the memory is read-only for us; copy() the tensor first")
        return x

    return writable


def bind_copy(form: Form, result: Form, detail: Any, /) -> Kernel:
    """Compact copy."""
    return lambda x: x.copy(order="C")


def bind_copy_into(target: Form, source: Form, /) -> Kernel:
    """Write the source's elements into the target; overlapping memory behaves as if the source were copied first."""

    def write(x: Array, y: Array) -> None:
        np.copyto(x, y, casting="unsafe")

    return write
