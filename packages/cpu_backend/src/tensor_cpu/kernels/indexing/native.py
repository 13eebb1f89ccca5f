"""Native copies of one view into another (csrc/copy)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tensor_cpu.kernel_table import NativeBinder
from tensor_cpu.system.extension import LIBRARY
from tensor_runtime.form import Form
from tensor_runtime.protocols import Kernel, Operand, Result

TAKES: Final = "tensors with elements"


def bind_copy_into(operands: tuple[Operand, ...], result: Result, params: None, /) -> Kernel | None:
    """The kernel that copies one view into another; overlapping memory behaves as if the source were copied first.

    >>> import numpy as np
    >>> from tensor_core import I64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> form, x = form_of(I64, (3,), CPU), np.array([1, 2, 3, 4])
    >>> bind_copy_into((form, form), form, None)(x[1:], x[:-1])
    >>> x.tolist()
    [1, 1, 2, 3]
    """
    target, source = operands
    assert isinstance(target, Form)
    assert isinstance(source, Form)
    if target.dtype is not source.dtype or 0 in target.strides:
        return None
    return LIBRARY.bind_copy_into(target.shape[::-1], target.strides[::-1], source.strides[::-1], target.dtype.name)


BINDERS: Final[Mapping[str, NativeBinder]] = {"copy_into": bind_copy_into}
