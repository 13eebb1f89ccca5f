"""Strict functions of one floating operand; floats follow IEEE 754, and nothing warns."""

from __future__ import annotations

from typing import Final

from tensor_core.dtypes import FLOATING, REAL_FLOATING
from tensor_runtime.dispatch.call import execute_binary, execute_unary
from tensor_runtime.dispatch.dtype_rules import boolean, equal_shapes, same_shape
from tensor_runtime.primitives.strict import StrictSpec
from tensor_runtime.tensors.tensor import Tensor

_EXP: Final = StrictSpec("exp", accepts=FLOATING, result_shape=same_shape)
_EXPM1: Final = StrictSpec("expm1", accepts=FLOATING, result_shape=same_shape)
_LOG: Final = StrictSpec("log", accepts=FLOATING, result_shape=same_shape)
_LOG1P: Final = StrictSpec("log1p", accepts=FLOATING, result_shape=same_shape)
_SQRT: Final = StrictSpec("sqrt", accepts=FLOATING, result_shape=same_shape)
_RSQRT: Final = StrictSpec("rsqrt", accepts=FLOATING, result_shape=same_shape)
_SIN: Final = StrictSpec("sin", accepts=FLOATING, result_shape=same_shape)
_COS: Final = StrictSpec("cos", accepts=FLOATING, result_shape=same_shape)
_TAN: Final = StrictSpec("tan", accepts=FLOATING, result_shape=same_shape)
_TANH: Final = StrictSpec("tanh", accepts=FLOATING, result_shape=same_shape)
_ERF: Final = StrictSpec("erf", accepts=REAL_FLOATING, result_shape=same_shape)
_FLOOR: Final = StrictSpec("floor", accepts=REAL_FLOATING, result_shape=same_shape)
_CEIL: Final = StrictSpec("ceil", accepts=REAL_FLOATING, result_shape=same_shape)
_ROUND: Final = StrictSpec("round", accepts=REAL_FLOATING, result_shape=same_shape)
_IS_FINITE: Final = StrictSpec(
    "is_finite", accepts=FLOATING, result_dtype=boolean, result_shape=same_shape, kernel="isfinite"
)
_ATAN2: Final = StrictSpec("atan2", binary=True, accepts=REAL_FLOATING, result_shape=equal_shapes)


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


def sin(a: Tensor, /) -> Tensor:
    """Sine of radians.

    >>> sin(tensor([0.0])).to_numpy().tolist()
    [0.0]
    """
    return execute_unary(_SIN, a)


def cos(a: Tensor, /) -> Tensor:
    """Cosine of radians.

    >>> cos(tensor([0.0])).to_numpy().tolist()
    [1.0]
    """
    return execute_unary(_COS, a)


def tan(a: Tensor, /) -> Tensor:
    """Tangent of radians.

    >>> tan(tensor([0.0])).to_numpy().tolist()
    [0.0]
    """
    return execute_unary(_TAN, a)


def tanh(a: Tensor, /) -> Tensor:
    """Hyperbolic tangent.

    >>> tanh(tensor([0.0])).to_numpy().tolist()
    [0.0]
    """
    return execute_unary(_TANH, a)


def erf(a: Tensor, /) -> Tensor:
    """Error function; of real operands.

    >>> erf(tensor([0.0])).to_numpy().tolist()
    [0.0]
    """
    return execute_unary(_ERF, a)


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


def atan2(y: Tensor, x: Tensor, /) -> Tensor:
    """Angle of the point (x, y), in radians from -π to π; of two real tensors of one shape and dtype.

    >>> atan2(tensor([0.0]), tensor([1.0])).to_numpy().tolist()
    [0.0]
    """
    return execute_binary(_ATAN2, y, x)
