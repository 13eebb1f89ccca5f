"""Views of transposed arrays: same memory, other shape and strides.

The runtime has computed the view's form; a kernel here makes the array of that form. Where NumPy has a C method for
it, that is the kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from tensor_core.shapes import Shape, as_permutation
from tensor_cpu.kernel_table import Binder
from tensor_cpu.storage import Array, restride, transposed_strides
from tensor_cpu.system.extension import AVAILABLE, LIBRARY
from tensor_runtime.form import Form
from tensor_runtime.protocols import Kernel


def bind_transpose(form: Form, view: Form, axes: tuple[int, ...] | None, /) -> Kernel:
    """Axes in another order.

    >>> import numpy as np
    >>> from tensor_core import F64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> form, view = form_of(F64, (2, 3, 4), CPU), form_of(F64, (3, 2, 4), CPU, (2, 1, 6))
    >>> x = np.zeros((4, 3, 2))
    >>> y = bind_transpose(form, view, (1, 0, 2))(x)
    >>> y.shape, np.shares_memory(x, y)
    ((4, 2, 3), True)
    """
    rank = form.rank
    order = as_permutation(axes, rank) if axes is not None else tuple(reversed(range(rank)))
    if order == tuple(reversed(range(rank))):
        return _reverse_axes
    transposed_order = tuple(rank - 1 - axis for axis in reversed(order))
    return keeping_address(lambda x: x.transpose(transposed_order))


def keeping_address(kernel: Kernel, /) -> Kernel:
    """The kernel of a view that begins where its operand does, which now says so.

    Where only addresses are read of the view, those are the operand's (csrc/sequence/sequence.h).

    >>> keeping_address(lambda x: x.T).keeps_address
    True
    """
    told: Any = kernel
    told.keeps_address = True
    return kernel


def _reverse_axes(x: Array) -> Array:
    return x.T


keeping_address(_reverse_axes)


def bind_reshape(form: Form, view: Form, shape: Shape, /) -> Kernel:
    """Another shape; the runtime has proved that no copy is needed.

    >>> import numpy as np
    >>> from tensor_core import F64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> form, view = form_of(F64, (4,), CPU, (2,)), form_of(F64, (2, 2), CPU, (2, 4))
    >>> bind_reshape(form, view, (2, 2))(np.arange(8.0)[::2]).tolist()
    [[0.0, 2.0], [4.0, 6.0]]
    """
    transposed_shape = view.shape[::-1]
    if form.is_compact:
        return keeping_address(lambda x: x.reshape(transposed_shape))
    return bind_restride(form, view, shape)


def bind_restride(form: Form, view: Form, params: Any, /) -> Kernel:
    """Any view that starts at the same element: broadcasts, diagonals.

    >>> import numpy as np
    >>> from tensor_core import I64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> form, view = form_of(I64, (2, 2), CPU), form_of(I64, (2,), CPU, (3,))
    >>> bind_restride(form, view, None)(np.array([[1, 2], [3, 4]])).tolist()
    [1, 4]
    """
    if not AVAILABLE:
        return keeping_address(lambda x: restride(x, view))
    return LIBRARY.bind_view(view.shape[::-1], transposed_strides(view))


def bind_reverse(form: Form, view: Form, axes: tuple[int, ...], /) -> Kernel:
    """Runs backwards along some axes.

    >>> import numpy as np
    >>> from tensor_core import I64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> form, view = form_of(I64, (3, 2), CPU), form_of(I64, (3, 2), CPU, (-1, 3))
    >>> bind_reverse(form, view, (0,))(np.array([[1, 2, 3], [4, 5, 6]])).tolist()
    [[3, 2, 1], [6, 5, 4]]
    """
    backwards = {axis % form.rank for axis in axes}
    turned = (slice(None, None, -1 if axis in backwards else 1) for axis in reversed(range(form.rank)))
    index = (..., *turned)  # the ellipsis makes NumPy answer rank 0 with a view, not a scalar
    return lambda x: x[index]


def bind_copy(form: Form, result: Form, params: Any, /) -> Kernel:
    """Compact copy."""
    return lambda x: x.copy(order="C")


def _one(bind: Callable[[Form, Form, Any], Kernel]) -> Binder:
    return lambda operands, result, params: bind(operands[0], result, params)


def _one_and_field(bind: Callable[[Form, Form, Any], Kernel]) -> Binder:
    return lambda operands, result, params: bind(operands[0], result, *params)


BINDERS: Final[Mapping[str, Binder]] = {
    "transpose_view": _one_and_field(bind_transpose),
    "reshape_view": _one_and_field(bind_reshape),
    "broadcast_view": _one(bind_restride),
    "diagonal_view": _one(bind_restride),
    "reverse_view": _one_and_field(bind_reverse),
    "copy": _one(bind_copy),
}
