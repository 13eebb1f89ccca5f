"""Native small batches of small matrix products, where the call is most of the time (csrc/elementwise).

A product of 4x4 matrices takes a third of the time of ``ndarray.dot``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from tensor_core.dtypes import Bool
from tensor_cpu.kernel_table import MOST_TINY_TERMS, NativeBinder
from tensor_cpu.system.extension import LIBRARY
from tensor_runtime.form import Form
from tensor_runtime.protocols import Kernel, Operand, Result

if TYPE_CHECKING:
    from tensor_runtime.contracts.contraction import ContractParams


TAKES: Final = "up to 4096 products of compact operands of one dtype, not Bool, whose axes need no permutation"


def bind_contract(operands: tuple[Operand, ...], result: Result, params: ContractParams, /) -> Kernel | None:
    """The kernel of a contraction that is a small batch of small matrix products.

    >>> import numpy as np
    >>> from tensor_core import F64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> a, b, c = form_of(F64, (2, 3), CPU), form_of(F64, (3, 1), CPU), form_of(F64, (2, 1), CPU)
    >>> kernel = bind_contract((a, b), c, ((0, 1), (1, 2), (0, 2)))
    >>> kernel(np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), np.array([[1.0, 10.0, 100.0]])).tolist()
    [[531.0, 642.0]]
    """
    a, b = operands
    if not isinstance(a, Form) or not isinstance(b, Form) or not isinstance(result, Form):
        return None
    dtype = result.dtype
    if not (a.dtype is b.dtype is dtype) or dtype is Bool:
        return None
    labels_a, labels_b, labels_out = params
    return LIBRARY.bind_tiny_contraction(
        dtype.name, MOST_TINY_TERMS, labels_a, a.shape, a.strides, labels_b, b.shape, b.strides, labels_out
    )


BINDERS: Final[Mapping[str, NativeBinder]] = {"contract": bind_contract}
