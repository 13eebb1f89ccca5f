"""Strict rounding to integers, and whether a number is finite."""

from __future__ import annotations

from typing import Final

from tensor_core.dtypes import FLOATING, REAL_FLOATING
from tensor_runtime.dispatch.call import execute_unary
from tensor_runtime.dispatch.dtype_rules import boolean, same_shape
from tensor_runtime.primitives.strict import StrictSpec
from tensor_runtime.tensors.tensor import Tensor

_FLOOR: Final = StrictSpec("floor", accepts=REAL_FLOATING, result_shape=same_shape)
_CEIL: Final = StrictSpec("ceil", accepts=REAL_FLOATING, result_shape=same_shape)
_ROUND: Final = StrictSpec("round", accepts=REAL_FLOATING, result_shape=same_shape)
_IS_FINITE: Final = StrictSpec(
    "is_finite", accepts=FLOATING, result_dtype=boolean, result_shape=same_shape, kernel="isfinite"
)


def floor(a: Tensor, /) -> Tensor:
    """The integer at or below; of real operands.

    >>> floor(tensor([1.5, -1.5])).to_numpy().tolist()
    [1.0, -2.0]
    """
    return execute_unary(_FLOOR, a)


def ceil(a: Tensor, /) -> Tensor:
    """The integer at or above; of real operands.

    >>> ceil(tensor([1.5, -1.5])).to_numpy().tolist()
    [2.0, -1.0]
    """
    return execute_unary(_CEIL, a)


def round(a: Tensor, /) -> Tensor:
    """The nearest integer, of two the even one; of real operands.

    >>> round(tensor([0.5, 1.5])).to_numpy().tolist()
    [0.0, 2.0]
    """
    return execute_unary(_ROUND, a)


def is_finite(a: Tensor, /) -> Tensor:
    """Whether an element is neither infinite nor NaN; Bool result.

    >>> is_finite(tensor([1.0, float("inf")])).to_numpy().tolist()
    [True, False]
    """
    return execute_unary(_IS_FINITE, a)
