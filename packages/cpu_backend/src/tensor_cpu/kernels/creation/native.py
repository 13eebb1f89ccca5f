"""Native kernels that repeat one number (csrc/copy)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

from tensor_cpu.kernel_table import NativeBinder
from tensor_cpu.system.errstate import ignoring_fp_errors
from tensor_cpu.system.extension import LIBRARY
from tensor_runtime.form import Form
from tensor_runtime.protocols import Kernel, Operand, Result

TAKES: Final = "tensors with elements"
_MANY: Final = 1 << 14  # elements of a result that are worth more than NumPy's one loop


def bind_full(operands: tuple[Operand, ...], result: Result, params: None, /) -> Kernel | None:
    """The kernel that repeats one number; None for few elements.

    >>> from tensor_core import F64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> bind_full((), form_of(F64, (100, 200), CPU), None)(-0.0)[3, :2].tolist()
    [-0.0, -0.0]
    """
    assert isinstance(result, Form)
    if result.size < _MANY:
        return None
    dtype = np.dtype(result.dtype.numpy_name)
    repeat = LIBRARY.bind_copy(result.shape[::-1], (0,) * result.rank, result.dtype.name)
    return ignoring_fp_errors(lambda value: repeat(np.full((), value, dtype)))


BINDERS: Final[Mapping[str, NativeBinder]] = {"full": bind_full}
