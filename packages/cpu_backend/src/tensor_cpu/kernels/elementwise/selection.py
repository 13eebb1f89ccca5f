"""Choices between elements; maximum and minimum are rows of the array namespace.

Native kernels: tiny results, and the elementwise machine (csrc/elementwise).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from tensor_core.dtypes import Bool
from tensor_cpu.kernel_table import Binder
from tensor_cpu.kernels.elementwise.numpy import readers
from tensor_cpu.storage import NUMPY_DTYPES, Array, empty
from tensor_cpu.system.errstate import ignoring_fp_errors
from tensor_runtime.form import Form
from tensor_runtime.protocols import Kernel, Operand


def bind_where(operands: tuple[Operand, ...], result: Form, params: None, /) -> Kernel:
    """Elements of the second operand where the first holds, of the third elsewhere.

    >>> from tensor_core import F64, Bool
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> column, row = form_of(Bool, (2, 1), CPU), form_of(F64, (3,), CPU)
    >>> kernel = bind_where((column, row, float), form_of(F64, (2, 3), CPU), None)
    >>> kernel(np.array([[True, False]]), np.array([1.0, 2.0, 3.0]), 0.5).T.tolist()
    [[1.0, 2.0, 3.0], [0.5, 0.5, 0.5]]
    """
    forms = [operand for operand in operands if isinstance(operand, Form)]
    if result.rank and len(forms) == 3 and all(form.is_compact and form.shape == result.shape for form in forms):
        return np.where
    condition = readers("where", operands[:1], result.rank, Bool)[0]
    first, second = readers("where", operands[1:], result.rank, result.dtype)
    dtype = NUMPY_DTYPES[result.dtype]

    def where(c: Any, x: Any, y: Any) -> Array:
        chosen: Array = np.where(condition(c), first(x), second(y))
        return chosen.astype(dtype, order="C", copy=False)

    return ignoring_fp_errors(where)


def bind_clip(operands: tuple[Operand, ...], result: Form, params: None, /) -> Kernel:
    """The nearest value between two bounds: min(max(x, low), high).

    >>> from tensor_core import F64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> form = form_of(F64, (4,), CPU)
    >>> bind_clip((form, int, int), form, None)(np.array([-3.0, 0.5, 7.0, np.nan]), 0, 1).tolist()
    [0.0, 0.5, 1.0, nan]
    """
    read_x, read_low, read_high = readers("clip", operands, result.rank, result.dtype)
    dtype = NUMPY_DTYPES[result.dtype]

    def clip(x: Any, low: Any, high: Any) -> Array:
        clipped: Array = read_x(x).clip(read_low(low), read_high(high), out=empty(result), dtype=dtype)
        return clipped

    return ignoring_fp_errors(clip)


BINDERS: Final[Mapping[str, Binder]] = {
    "where": bind_where,
    "clip": bind_clip,
}
