"""Native copies that permute labels and read diagonals (csrc/copy)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tensor_cpu.kernel_table import NativeBinder
from tensor_cpu.system.extension import LIBRARY
from tensor_runtime.backends.shared.axes import Labels, native
from tensor_runtime.form import Form
from tensor_runtime.protocols import Kernel, Operand, Result

TAKES: Final = "sums and diagonals of one operand with long neighbours"


def bind_unary_einsum(operands: tuple[Operand, ...], result: Result, params: tuple[Labels, Labels], /) -> Kernel | None:
    """The kernel that permutes labels, and reads diagonals; None where labels are summed or the result has diagonals.

    >>> import numpy as np
    >>> from tensor_core import F64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> matrix, vector = form_of(F64, (2, 2), CPU), form_of(F64, (2,), CPU)
    >>> bind_unary_einsum((matrix,), vector, ((0, 0), (0,)))(np.array([[1.0, 2.0], [3.0, 4.0]])).tolist()
    [1.0, 4.0]
    >>> bind_unary_einsum((matrix,), vector, ((0, 1), (0,))) is None
    True
    """
    (form,) = operands
    assert isinstance(form, Form)
    assert isinstance(result, Form)
    labels_in, labels_out = params[:2]  # what follows is an algebra, whose sums and zero are not asked for here
    if {*labels_in} != {*labels_out} or len({*labels_out}) < len(labels_out) or form.dtype is not result.dtype:
        return None
    operand = native(form, labels_in)
    steps = dict.fromkeys(operand.labels, 0)
    for label, stride in zip(operand.labels, operand.strides, strict=True):
        steps[label] += stride
    strides = tuple(steps[label] for label in reversed(labels_out))
    return LIBRARY.bind_copy(result.shape[::-1], strides, result.dtype.name)


BINDERS: Final[Mapping[str, NativeBinder]] = {
    "unary_einsum": bind_unary_einsum,
    "semiring_unary_einsum": bind_unary_einsum,
}
