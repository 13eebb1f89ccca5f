"""Which operands the windowed kernels read as they are, and the copy of those they do not. For convolution and pooling.

Both read each element once for every window that holds it, along the axes in the order of the result. An operand that
lies in another order, or backwards, is cheaper to copy once, tile by tile, than to read so many times.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

from tensor_cpu.kernels.copy.permute import bind_copy, fuse
from tensor_cpu.storage import NUMPY_DTYPES, Array
from tensor_runtime.form import Form


def runs_forward(form: Form, /) -> bool:
    """Whether no stride is negative and none is smaller than that of an axis before it; repeated axes do not count.

    >>> from tensor_core import F64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> runs_forward(form_of(F64, (2, 3), CPU, (1, 4))), runs_forward(form_of(F64, (2, 3), CPU, (3, 1)))
    (True, False)
    """
    steps = [stride for extent, stride in zip(form.shape, form.strides, strict=True) if extent > 1 and stride]
    return form.size == 0 or (all(step > 0 for step in steps) and all(fast <= slow for fast, slow in pairwise(steps)))


def bind_compact(form: Form, /) -> Callable[[Array], Array]:
    """The kernel that copies an array of this form to a compact one.

    >>> import numpy as np
    >>> from tensor_core import F64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> bind_compact(form_of(F64, (2, 3), CPU, (3, 1)))(np.arange(6.0).reshape(2, 3).T).ravel().tolist()
    [0.0, 3.0, 1.0, 4.0, 2.0, 5.0]
    """
    extents, strides = fuse(form.shape[::-1], form.strides[::-1])
    copy, shape = bind_copy(extents, strides, NUMPY_DTYPES[form.dtype]), form.shape[::-1]
    return lambda array: copy(array.reshape(extents)).reshape(shape)
