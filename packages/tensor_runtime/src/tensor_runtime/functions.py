"""Elementwise functions of one operand: exponentials, roots.

Integers and Bool are computed in F64. Floats follow IEEE 754 and never warn; results are owned,
compact and column-major.
"""

from __future__ import annotations

from typing import Final

from tensor_core.dtypes import ALL
from tensor_runtime.execute import execute_unary
from tensor_runtime.rules import inexact, same_shape
from tensor_runtime.spec import OpSpec
from tensor_runtime.tensors import Tensor

EXP: Final = OpSpec("exp", accepts=ALL, result_dtype=inexact, result_shape=same_shape)
SQRT: Final = OpSpec("sqrt", accepts=ALL, result_dtype=inexact, result_shape=same_shape)


def exp(a: Tensor, /) -> Tensor:
    """Exponential; integers and Bool give F64. Within 4 rounding units of the exact value.

    >>> exp(tensor([0.0, 1.0]))
    Tensor(F64, (2,), column-major, cpu)
           1.0  2.7182818
    """
    return execute_unary(EXP, a)


def sqrt(a: Tensor, /) -> Tensor:
    """Square root, correctly rounded for real operands; NaN below zero. Integers and Bool give F64.

    The complex root has its branch cut along the negative real axis.

    >>> sqrt(tensor([4.0, -1.0]))
    Tensor(F64, (2,), column-major, cpu)
     2.0  nan
    """
    return execute_unary(SQRT, a)
