"""Complex numbers from their parts, and the parts of complex numbers.

Native kernels: the elementwise machine (csrc/elementwise).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from tensor_core.dtypes import COMPLEX
from tensor_cpu.kernel_table import Binder
from tensor_cpu.kernels.elementwise.numpy import readers
from tensor_cpu.storage import NUMPY_DTYPES, Array, empty
from tensor_cpu.system.errstate import ignoring_fp_errors
from tensor_runtime.form import Form
from tensor_runtime.protocols import Kernel, Operand


def bind_complex(operands: tuple[Operand, ...], result: Form, params: None, /) -> Kernel:
    """Complex numbers from two parts, which keep their infinities, NaN and signs of zero.

    >>> from tensor_core import C64, F64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> part = form_of(F64, (1,), CPU)
    >>> kernel = bind_complex((part, part), form_of(C64, (1,), CPU), None)
    >>> kernel(np.array([-0.0]), np.array([np.inf])).tolist()
    [(-0+infj)]
    """
    real, imag = readers("complex", operands, result.rank, result.dtype.component)

    def joined(x: Any, y: Any) -> Array:
        out = empty(result)
        out.real = real(x)
        out.imag = imag(y)
        return out

    return ignoring_fp_errors(joined)


def bind_real(operands: tuple[Form], result: Form, params: None, /) -> Kernel:
    """Compact copy of the real parts."""
    return lambda x: x.real.copy(order="C")


def bind_imag(operands: tuple[Form], result: Form, params: None, /) -> Kernel:
    """Compact copy of the imaginary parts; zeros for what has none.

    >>> from tensor_core import C64, F64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> real, complex_ = form_of(F64, (2,), CPU), form_of(C64, (2,), CPU)
    >>> bind_imag((complex_,), real, None)(np.array([1 + 2j, 3 - 4j])).tolist()
    [2.0, -4.0]
    >>> bind_imag((real,), real, None)(np.array([1.0, 3.0])).tolist()
    [0.0, 0.0]
    """
    if operands[0].dtype not in COMPLEX:
        shape, dtype = result.shape[::-1], NUMPY_DTYPES[result.dtype]
        return lambda x: np.zeros(shape, dtype)
    return lambda x: x.imag.copy(order="C")


BINDERS: Final[Mapping[str, Binder]] = {"complex": bind_complex, "real": bind_real, "imag": bind_imag}
