"""Rounding to whole numbers, and telling finite numbers from the others.

Rounding keeps the dtype; integers and Bool are whole already and are copied, where NumPy gives ``round`` of Bool in a
half-precision type. A result of zero keeps the sign of the operand.
"""

from __future__ import annotations

from typing import Final

from tensor_core.dtypes import REAL, Bool
from tensor_runtime.dispatch.call import execute_unary
from tensor_runtime.dispatch.dtype_rules import boolean
from tensor_runtime.dispatch.out import Out
from tensor_runtime.dispatch.spec import ElementwiseSpec
from tensor_runtime.static_types.results import boolean_dtype, same_dtype_out
from tensor_runtime.tensors.tensor import Tensor

_ORDERED: Final = REAL | {Bool}

FLOOR: Final = ElementwiseSpec("floor", accepts=_ORDERED)
CEIL: Final = ElementwiseSpec("ceil", accepts=_ORDERED)
TRUNC: Final = ElementwiseSpec("trunc", accepts=_ORDERED)
ROUND: Final = ElementwiseSpec("round")
ISNAN: Final = ElementwiseSpec("isnan", result_dtype=boolean)
ISINF: Final = ElementwiseSpec("isinf", result_dtype=boolean)
ISFINITE: Final = ElementwiseSpec("isfinite", result_dtype=boolean)


@same_dtype_out
def floor(a: Tensor, /, out: Out = None) -> Tensor:
    """The greatest whole number not above the element. Not for complex operands.

    >>> floor(tensor([1.5, -1.5]))
    Tensor(F64, (2,), column-major, cpu)
      1.0  -2.0
    """
    return execute_unary(FLOOR, a, out)


@same_dtype_out
def ceil(a: Tensor, /, out: Out = None) -> Tensor:
    """The least whole number not below the element. Not for complex operands.

    >>> ceil(tensor([1.5, -1.5]))
    Tensor(F64, (2,), column-major, cpu)
      2.0  -1.0
    """
    return execute_unary(CEIL, a, out)


@same_dtype_out
def trunc(a: Tensor, /, out: Out = None) -> Tensor:
    """The element without its fraction: rounded toward zero. Not for complex operands.

    >>> trunc(tensor([1.5, -1.5]))
    Tensor(F64, (2,), column-major, cpu)
      1.0  -1.0
    """
    return execute_unary(TRUNC, a, out)


@same_dtype_out
def round(a: Tensor, /, out: Out = None) -> Tensor:
    """The nearest whole number, of two the even one; of complex operands, of each part. NumPy's, without ``decimals``.

    >>> round(tensor([0.5, 1.5, -2.6]))
    Tensor(F64, (3,), column-major, cpu)
      0.0   2.0  -3.0
    """
    return execute_unary(ROUND, a, out)


@boolean_dtype
def isnan(a: Tensor, /, out: Out = None) -> Tensor:
    """Whether an element is NaN; of complex operands, either part. Any dtype; integers and Bool never are.

    >>> isnan(tensor([1.0, float("nan")]))
    Tensor(Bool, (2,), column-major, cpu)
     False   True
    """
    return execute_unary(ISNAN, a, out)


@boolean_dtype
def isinf(a: Tensor, /, out: Out = None) -> Tensor:
    """Whether an element is an infinity of either sign; of complex operands, either part. Any dtype.

    >>> isinf(tensor([1.0, float("-inf")]))
    Tensor(Bool, (2,), column-major, cpu)
     False   True
    """
    return execute_unary(ISINF, a, out)


@boolean_dtype
def isfinite(a: Tensor, /, out: Out = None) -> Tensor:
    """Whether an element is neither NaN nor an infinity; of complex operands, both parts. Any dtype.

    >>> isfinite(tensor([1.0, float("inf"), float("nan")]))
    Tensor(Bool, (3,), column-major, cpu)
      True  False  False
    """
    return execute_unary(ISFINITE, a, out)
