"""Strict arithmetic."""

from __future__ import annotations

from typing import Final

from tensor_core.dtypes import NUMERIC
from tensor_runtime.dispatch.call import execute_binary, execute_unary
from tensor_runtime.dispatch.dtype_rules import component, equal_shapes, same_shape
from tensor_runtime.primitives.strict import StrictSpec
from tensor_runtime.tensors.tensor import Tensor

_ADD: Final = StrictSpec("add", binary=True, accepts=NUMERIC, result_shape=equal_shapes)
_SUB: Final = StrictSpec("sub", binary=True, accepts=NUMERIC, result_shape=equal_shapes, kernel="subtract")
_MUL: Final = StrictSpec("mul", binary=True, accepts=NUMERIC, result_shape=equal_shapes, kernel="multiply")


_POW: Final = StrictSpec("pow", binary=True, accepts=NUMERIC, result_shape=equal_shapes)


_NEG: Final = StrictSpec("neg", accepts=NUMERIC, result_shape=same_shape, kernel="negative")
_ABS: Final = StrictSpec("abs", accepts=NUMERIC, result_dtype=component, result_shape=same_shape)
_SIGN: Final = StrictSpec("sign", accepts=NUMERIC, result_shape=same_shape)
_CONJ: Final = StrictSpec("conj", accepts=NUMERIC, result_shape=same_shape)


def add(a: Tensor, b: Tensor, /) -> Tensor:
    """Sum of two tensors of one shape and dtype. Not for Bool.

    Raises:
        ShapeError: the shapes differ.
        DTypeError: the dtypes differ, or are not accepted.
        PlacementError: they live in different places.

    >>> add(tensor([1, 2]), tensor([3, 4])).to_numpy().tolist()
    [4, 6]
    """
    return execute_binary(_ADD, a, b)


def sub(a: Tensor, b: Tensor, /) -> Tensor:
    """Difference; errors as for :func:`add`.

    >>> sub(tensor([1, 2]), tensor([3, 4])).to_numpy().tolist()
    [-2, -2]
    """
    return execute_binary(_SUB, a, b)


def mul(a: Tensor, b: Tensor, /) -> Tensor:
    """Product; errors as for :func:`add`.

    >>> mul(tensor([1, 2]), tensor([3, 4])).to_numpy().tolist()
    [3, 8]
    """
    return execute_binary(_MUL, a, b)


def pow(a: Tensor, b: Tensor, /) -> Tensor:
    """Power; integers wrap. Errors as for :func:`add`.

    Raises:
        ArgumentError: an integer exponent is negative; ``index`` is that of the first one. The host waits for that.

    >>> pow(tensor([2, 3]), tensor([3, 2])).to_numpy().tolist()
    [8, 9]
    """
    return execute_binary(_POW, a, b)


def neg(a: Tensor, /) -> Tensor:
    """Minus the operand.

    >>> neg(tensor([1, -2])).to_numpy().tolist()
    [-1, 2]
    """
    return execute_unary(_NEG, a)


def abs(a: Tensor, /) -> Tensor:
    """Magnitude; of a complex operand, the real type of its components.

    >>> abs(tensor([3 + 4j])).to_numpy().tolist()
    [5.0]
    """
    return execute_unary(_ABS, a)


def sign(a: Tensor, /) -> Tensor:
    """-1, 0 or 1; of a complex operand z / |z|, and 0 of 0. NaN stays.

    >>> sign(tensor([-3, 0, 2])).to_numpy().tolist()
    [-1, 0, 1]
    """
    return execute_unary(_SIGN, a)


def conj(a: Tensor, /) -> Tensor:
    """Complex conjugate; a real operand is copied.

    >>> conj(tensor([3 + 4j])).to_numpy().tolist()
    [(3-4j)]
    """
    return execute_unary(_CONJ, a)
