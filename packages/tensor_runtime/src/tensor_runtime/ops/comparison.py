"""Comparisons, element by element: Bool results.

Operands broadcast and are promoted as in ``tensor_runtime.ops.arithmetic``. NaN equals nothing and orders with nothing.
"""

from __future__ import annotations

from typing import Final

from tensor_core.dtypes import ALL, REAL, Bool
from tensor_runtime.dispatch.call import execute_binary
from tensor_runtime.dispatch.dtype_rules import boolean, broadcast
from tensor_runtime.dispatch.out import Out
from tensor_runtime.dispatch.spec import OpSpec
from tensor_runtime.tensors.tensor import Number, Tensor

_ORDERED: Final = REAL | {Bool}

EQUAL: Final = OpSpec("equal", binary=True, accepts=ALL, result_dtype=boolean, result_shape=broadcast)
NOT_EQUAL: Final = OpSpec("not_equal", binary=True, accepts=ALL, result_dtype=boolean, result_shape=broadcast)
LESS: Final = OpSpec("less", binary=True, accepts=_ORDERED, result_dtype=boolean, result_shape=broadcast)
LESS_EQUAL: Final = OpSpec("less_equal", binary=True, accepts=_ORDERED, result_dtype=boolean, result_shape=broadcast)
GREATER: Final = OpSpec("greater", binary=True, accepts=_ORDERED, result_dtype=boolean, result_shape=broadcast)
GREATER_EQUAL: Final = OpSpec(
    "greater_equal", binary=True, accepts=_ORDERED, result_dtype=boolean, result_shape=broadcast
)


def equal(a: Tensor | Number, b: Tensor | Number, /, out: Out = None) -> Tensor:
    """Whether a = b, element by element; of complex operands, both parts.

    Raises:
        ShapeError: the shapes do not broadcast.
        PlacementError: the operands live in different places.
        DTypeError: an operand is no tensor and no Python number.

    >>> equal(tensor([1, 2]), tensor([1.0, 3.0]))
    Tensor(Bool, (2,), column-major, cpu)
      True  False
    """
    return execute_binary(EQUAL, a, b, out)


def not_equal(a: Tensor | Number, b: Tensor | Number, /, out: Out = None) -> Tensor:
    """Whether a ≠ b; the opposite of :func:`equal`, so true for NaN.

    >>> not_equal(tensor([1, 2]), 1)
    Tensor(Bool, (2,), column-major, cpu)
     False   True
    """
    return execute_binary(NOT_EQUAL, a, b, out)


def less(a: Tensor | Number, b: Tensor | Number, /, out: Out = None) -> Tensor:
    """Whether a < b; complex numbers have no order. Errors as for :func:`equal`.

    >>> less(tensor([1, 2]), 2)
    Tensor(Bool, (2,), column-major, cpu)
      True  False
    """
    return execute_binary(LESS, a, b, out)


def less_equal(a: Tensor | Number, b: Tensor | Number, /, out: Out = None) -> Tensor:
    """Whether a ≤ b; complex numbers have no order. Errors as for :func:`equal`.

    >>> less_equal(tensor([1, 2]), 1)
    Tensor(Bool, (2,), column-major, cpu)
      True  False
    """
    return execute_binary(LESS_EQUAL, a, b, out)


def greater(a: Tensor | Number, b: Tensor | Number, /, out: Out = None) -> Tensor:
    """Whether a > b; complex numbers have no order. Errors as for :func:`equal`.

    >>> greater(tensor([1, 2]), 1)
    Tensor(Bool, (2,), column-major, cpu)
     False   True
    """
    return execute_binary(GREATER, a, b, out)


def greater_equal(a: Tensor | Number, b: Tensor | Number, /, out: Out = None) -> Tensor:
    """Whether a ≥ b; complex numbers have no order. Errors as for :func:`equal`.

    >>> greater_equal(tensor([1, 2]), 2)
    Tensor(Bool, (2,), column-major, cpu)
     False   True
    """
    return execute_binary(GREATER_EQUAL, a, b, out)
