"""Functions computed in place on blocks of the result, which stay in the cache: each needs several passes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from tensor_cpu.kernel_table import Binder
from tensor_cpu.storage import NUMPY_DTYPES, Array
from tensor_cpu.system.errstate import ignoring_fp_errors
from tensor_runtime.form import Form
from tensor_runtime.protocols import Kernel

BLOCK: Final = 1 << 14
"""Elements per block."""


def blockwise(change: Callable[[Array], None]) -> Binder:
    """The binder of a function that ``change`` computes in place on a vector.

    >>> from tensor_core import F64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> form = form_of(F64, (2,), CPU)
    >>> blockwise(lambda x: np.add(x, 1, out=x))((form,), form, None)(np.array([2.0, 3.0])).tolist()
    [3.0, 4.0]
    """

    def bind(operands: tuple[Form], result: Form, params: None, /) -> Kernel:
        dtype = NUMPY_DTYPES[result.dtype]

        def computed(x: Array) -> Array:
            out = np.array(x, dtype, order="C", copy=True)
            flat = out.reshape(-1)
            for start in range(0, flat.size, BLOCK):
                change(flat[start : start + BLOCK])
            return out

        return ignoring_fp_errors(computed)

    return bind
