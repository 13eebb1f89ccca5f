"""Kernels of running sums and products, on transposed arrays: NumPy's, from the first element to the last."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

from tensor_cpu.kernel_table import Binder
from tensor_cpu.storage import NUMPY_DTYPES, empty
from tensor_cpu.system.errstate import ignoring_fp_errors
from tensor_runtime.form import Form
from tensor_runtime.ops.scan import one_axis
from tensor_runtime.protocols import Kernel


def bind_scan(ufunc: np.ufunc, operands: tuple[Form], result: Form, axis: int | None, /) -> Kernel:
    """A ufunc accumulated along an axis, in the result's dtype.

    >>> from tensor_core import I64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> form = form_of(I64, (2, 2), CPU)
    >>> bind_scan(np.add, (form,), form, 0)(np.array([[1, 2], [3, 4]])).tolist()
    [[1, 3], [3, 7]]
    """
    rank = operands[0].rank
    place, dtype = rank - 1 - one_axis("scan", rank, axis), NUMPY_DTYPES[result.dtype]
    return ignoring_fp_errors(lambda x: ufunc.accumulate(x, axis=place, dtype=dtype, out=empty(result)))


BINDERS: Final[Mapping[str, Binder]] = {
    "cumsum": lambda operands, result, params: bind_scan(np.add, operands, result, *params),
    "cumprod": lambda operands, result, params: bind_scan(np.multiply, operands, result, *params),
}
