"""Reductions on transposed arrays.

Axis k of a tensor of rank r is axis r - 1 - k of its transposed array. Results are written into a compact array,
because NumPy would keep the operand's order of strides.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

from tensor_core.dtypes import FLOATING
from tensor_cpu.kernel_table import Binder
from tensor_cpu.kernels.reduction.folding import is_pairwise, total
from tensor_cpu.storage import NUMPY_DTYPES, empty
from tensor_cpu.system.errstate import ignoring_fp_errors
from tensor_runtime.backends.xp_tables import elementwise as rows
from tensor_runtime.dispatch.dtype_rules import Reduction, reduced_axes
from tensor_runtime.form import Form
from tensor_runtime.protocols import Kernel

REDUCTIONS: Final = rows.reductions(np)
_WIDENING: Final = frozenset({"sum", "prod"})
"""Those that compute in the result's dtype."""


def bind_reduction(name: str, form: Form, result: Form, params: Reduction, /) -> Kernel:
    """The kernel of a reduction over the axes in ``params``.

    >>> from tensor_core import I64, Bool
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> kernel = bind_reduction("sum", form_of(Bool, (2, 3), CPU), form_of(I64, (3,), CPU), (0, False))
    >>> kernel(np.array([[True, True], [False, True], [False, False]])).tolist()
    [2, 1, 0]
    """
    fold = REDUCTIONS[name]
    axis, keepdims = params
    axes = tuple(form.rank - 1 - position for position in reduced_axes(name, form.rank, axis))
    dtype = NUMPY_DTYPES[result.dtype]
    if name == "sum" and form.dtype in FLOATING and not is_pairwise(form, axes):
        sums, shape = total(form, axes, dtype), result.shape[::-1]
        return ignoring_fp_errors(lambda x: sums(x).reshape(shape))
    if name not in _WIDENING:  # the loop is that of the operand's dtype
        return ignoring_fp_errors(lambda x: fold(x, axis=axes, keepdims=keepdims, out=empty(result)))
    return ignoring_fp_errors(lambda x: fold(x, axis=axes, dtype=dtype, keepdims=keepdims, out=empty(result)))


def _reduction(name: str) -> Binder:
    return lambda operands, result, params: bind_reduction(name, operands[0], result, params)


BINDERS: Final[Mapping[str, Binder]] = {name: _reduction(name) for name in REDUCTIONS}
