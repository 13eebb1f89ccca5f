"""Strict trigonometric functions."""

from __future__ import annotations

from typing import Final

from tensor_core.dtypes import FLOATING, REAL_FLOATING
from tensor_runtime.dispatch.call import execute_binary, execute_unary
from tensor_runtime.dispatch.dtype_rules import equal_shapes, same_shape
from tensor_runtime.primitives.strict import StrictSpec
from tensor_runtime.tensors.tensor import Tensor

_SIN: Final = StrictSpec("sin", accepts=FLOATING, result_shape=same_shape)
_COS: Final = StrictSpec("cos", accepts=FLOATING, result_shape=same_shape)
_TAN: Final = StrictSpec("tan", accepts=FLOATING, result_shape=same_shape)
_TANH: Final = StrictSpec("tanh", accepts=FLOATING, result_shape=same_shape)
_ATAN2: Final = StrictSpec("atan2", binary=True, accepts=REAL_FLOATING, result_shape=equal_shapes)


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


def atan2(y: Tensor, x: Tensor, /) -> Tensor:
    """Angle of the point (x, y), in radians from -π to π; of two real tensors of one shape and dtype.

    >>> atan2(tensor([0.0]), tensor([1.0])).to_numpy().tolist()
    [0.0]
    """
    return execute_binary(_ATAN2, y, x)
