"""Strict exponentials, logarithms, roots and the error function; floats follow IEEE 754, and nothing warns."""

from __future__ import annotations

from typing import Final

from tensor_core.dtypes import FLOATING, REAL_FLOATING
from tensor_runtime.dispatch.call import execute_unary
from tensor_runtime.dispatch.dtype_rules import same_shape
from tensor_runtime.primitives.strict import StrictSpec
from tensor_runtime.tensors.tensor import Tensor

_EXP: Final = StrictSpec("exp", accepts=FLOATING, result_shape=same_shape)
_EXPM1: Final = StrictSpec("expm1", accepts=FLOATING, result_shape=same_shape)
_LOG: Final = StrictSpec("log", accepts=FLOATING, result_shape=same_shape)
_LOG1P: Final = StrictSpec("log1p", accepts=FLOATING, result_shape=same_shape)
_SQRT: Final = StrictSpec("sqrt", accepts=FLOATING, result_shape=same_shape)
_RSQRT: Final = StrictSpec("rsqrt", accepts=FLOATING, result_shape=same_shape)


_ERF: Final = StrictSpec("erf", accepts=REAL_FLOATING, result_shape=same_shape)


def exp(a: Tensor, /) -> Tensor:
    """Exponential.

    >>> exp(tensor([0.0])).to_numpy().tolist()
    [1.0]
    """
    return execute_unary(_EXP, a)


def expm1(a: Tensor, /) -> Tensor:
    """Exponential minus 1, accurate near 0.

    >>> expm1(tensor([0.0])).to_numpy().tolist()
    [0.0]
    """
    return execute_unary(_EXPM1, a)


def log(a: Tensor, /) -> Tensor:
    """Natural logarithm; NaN below zero, minus infinity of 0.

    >>> log(tensor([1.0, 0.0])).to_numpy().tolist()
    [0.0, -inf]
    """
    return execute_unary(_LOG, a)


def log1p(a: Tensor, /) -> Tensor:
    """Natural logarithm of 1 + a, accurate near 0.

    >>> log1p(tensor([0.0])).to_numpy().tolist()
    [0.0]
    """
    return execute_unary(_LOG1P, a)


def sqrt(a: Tensor, /) -> Tensor:
    """Square root; NaN below zero.

    >>> sqrt(tensor([9.0])).to_numpy().tolist()
    [3.0]
    """
    return execute_unary(_SQRT, a)


def rsqrt(a: Tensor, /) -> Tensor:
    """One over the square root; NaN below zero, infinity of 0.

    >>> rsqrt(tensor([4.0, 0.0])).to_numpy().tolist()
    [0.5, inf]
    """
    return execute_unary(_RSQRT, a)


def erf(a: Tensor, /) -> Tensor:
    """Error function; of real operands.

    >>> erf(tensor([0.0])).to_numpy().tolist()
    [0.0]
    """
    return execute_unary(_ERF, a)
