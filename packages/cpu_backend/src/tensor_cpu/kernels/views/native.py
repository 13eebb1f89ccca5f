"""Native copies of any view (csrc/copy).

They cost a fraction of NumPy's copy at every size: tiny results for want of its iterator, large permuted ones because
the copy goes tile by tile, in several threads, into cached buffers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tensor_cpu.kernel_table import NativeBinder
from tensor_cpu.system.extension import LIBRARY
from tensor_runtime.form import Form
from tensor_runtime.protocols import Kernel, Operand, Result

TAKES: Final = "tensors with elements"


def bind_copy(operands: tuple[Operand, ...], result: Result, params: None, /) -> Kernel | None:
    """The kernel that copies any view to a new compact array.

    >>> import numpy as np
    >>> from tensor_core import F64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> view, result = form_of(F64, (2, 3), CPU, (3, 1)), form_of(F64, (2, 3), CPU)
    >>> bind_copy((view,), result, None)(np.arange(6.0).reshape(2, 3).T).tolist()
    [[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]]
    """
    (form,) = operands
    assert isinstance(form, Form)
    return LIBRARY.bind_copy(form.shape[::-1], form.strides[::-1], form.dtype.name)


BINDERS: Final[Mapping[str, NativeBinder]] = {"copy": bind_copy}
