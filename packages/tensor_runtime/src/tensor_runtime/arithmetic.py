"""Elementwise arithmetic, under NumPy's names and with NumPy's meaning.

Operands broadcast right-aligned and are promoted to their common dtype; one of two may be a Python number, which
adopts the tensor's dtype when its kind can hold it. Results are owned, compact and column-major. Floats follow IEEE
754 and never warn; integers wrap on overflow.
"""

from __future__ import annotations

from typing import Final

from tensor_core.dtypes import ALL, NUMERIC
from tensor_runtime.execute import execute_binary, execute_unary
from tensor_runtime.rules import broadcast, component, inexact, same_shape
from tensor_runtime.spec import OpSpec
from tensor_runtime.tensors import Number, Tensor

ADD: Final = OpSpec("add", binary=True, accepts=ALL, result_shape=broadcast)
SUBTRACT: Final = OpSpec("subtract", binary=True, accepts=NUMERIC, result_shape=broadcast)
MULTIPLY: Final = OpSpec("multiply", binary=True, accepts=ALL, result_shape=broadcast)
DIVIDE: Final = OpSpec("divide", binary=True, accepts=ALL, result_dtype=inexact, result_shape=broadcast)
NEGATIVE: Final = OpSpec("negative", accepts=NUMERIC, result_shape=same_shape)
POSITIVE: Final = OpSpec("positive", accepts=NUMERIC, result_shape=same_shape)
ABS: Final = OpSpec("abs", accepts=NUMERIC, result_dtype=component, result_shape=same_shape)
CONJ: Final = OpSpec("conj", accepts=NUMERIC, result_shape=same_shape)


def add(a: Tensor | Number, b: Tensor | Number, /) -> Tensor:
    """Sum of two operands, element by element; of Bool, the logical or.

    Args:
        a: any dtype and shape, or a Python number.
        b: broadcasts with ``a``.

    Returns:
        Their common dtype and broadcast shape. Integers wrap.

    Raises:
        ShapeError: the shapes do not broadcast.
        PlacementError: the operands live in different places.
        DTypeError: an operand is no tensor and no Python number.

    >>> add(tensor([[1, 2], [3, 4]]), tensor([10, 20]))
    Tensor(I64, (2, 2), column-major, cpu)
     11  22
     13  24
    """
    return execute_binary(ADD, a, b)


def subtract(a: Tensor | Number, b: Tensor | Number, /) -> Tensor:
    """Difference of two operands, element by element; Bool has none. Errors as for :func:`add`.

    >>> subtract(tensor([3.0, 4.0]), 1)
    Tensor(F64, (2,), column-major, cpu)
     2.0  3.0
    """
    return execute_binary(SUBTRACT, a, b)


def multiply(a: Tensor | Number, b: Tensor | Number, /) -> Tensor:
    """Product of two operands, element by element; of Bool, the logical and. Errors as for :func:`add`.

    >>> multiply(tensor([3.0, 4.0]), tensor([2.0, 0.5]))
    Tensor(F64, (2,), column-major, cpu)
     6.0  2.0
    """
    return execute_binary(MULTIPLY, a, b)


def divide(a: Tensor | Number, b: Tensor | Number, /) -> Tensor:
    """True quotient, element by element; integers and Bool give F64. Errors as for :func:`add`.

    A zero divisor follows IEEE 754 (an infinity or NaN), for integers too: they are converted first.

    >>> divide(tensor([1, 2, 0]), tensor([2, 0, 0]))
    Tensor(F64, (3,), column-major, cpu)
     0.5  inf  nan
    """
    return execute_binary(DIVIDE, a, b)


def negative(a: Tensor, /) -> Tensor:
    """Minus the operand; the smallest integer stays as it is. Not for Bool.

    >>> negative(tensor([1.0, -2.0]))
    Tensor(F64, (2,), column-major, cpu)
     -1.0   2.0
    """
    return execute_unary(NEGATIVE, a)


def positive(a: Tensor, /) -> Tensor:
    """A compact copy of the operand. Not for Bool.

    >>> positive(tensor([1.0, -2.0]))
    Tensor(F64, (2,), column-major, cpu)
      1.0  -2.0
    """
    return execute_unary(POSITIVE, a)


def abs(a: Tensor, /) -> Tensor:
    """Magnitude; of a complex operand, the real type of its components. Not for Bool.

    >>> abs(tensor([3 + 4j, -1]))
    Tensor(F64, (2,), column-major, cpu)
     5.0  1.0
    """
    return execute_unary(ABS, a)


def conj(a: Tensor, /) -> Tensor:
    """Complex conjugate; a real operand is copied. Not for Bool.

    >>> conj(tensor([1 + 2j]))
    Tensor(C64, (1,), column-major, cpu)
     1.0-2.0j
    """
    return execute_unary(CONJ, a)
