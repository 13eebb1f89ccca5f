"""Comparisons, element by element: Bool results.

Operands broadcast and are promoted as in ``tensor_runtime.ops.arithmetic``. NaN equals nothing and orders with nothing.
"""

from __future__ import annotations

from typing import Final

from tensor_core.dtypes import REAL, Bool
from tensor_runtime.dispatch.call import execute_binary
from tensor_runtime.dispatch.dtype_rules import boolean
from tensor_runtime.dispatch.out import Out
from tensor_runtime.dispatch.spec import ElementwiseSpec
from tensor_runtime.static_types.results import comparison_dtype
from tensor_runtime.tensors.tensor import Number, Tensor

_ORDERED: Final = REAL | {Bool}

EQUAL: Final = ElementwiseSpec("equal", 2, result_dtype=boolean)
NOT_EQUAL: Final = ElementwiseSpec("not_equal", 2, result_dtype=boolean)
LESS: Final = ElementwiseSpec("less", 2, accepts=_ORDERED, result_dtype=boolean)
LESS_EQUAL: Final = ElementwiseSpec("less_equal", 2, accepts=_ORDERED, result_dtype=boolean)
GREATER: Final = ElementwiseSpec("greater", 2, accepts=_ORDERED, result_dtype=boolean)
GREATER_EQUAL: Final = ElementwiseSpec("greater_equal", 2, accepts=_ORDERED, result_dtype=boolean)


@comparison_dtype
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


@comparison_dtype
def not_equal(a: Tensor | Number, b: Tensor | Number, /, out: Out = None) -> Tensor:
    """Whether a ≠ b; the opposite of :func:`equal`, so true for NaN.

    >>> not_equal(tensor([1, 2]), 1)
    Tensor(Bool, (2,), column-major, cpu)
     False   True
    """
    return execute_binary(NOT_EQUAL, a, b, out)


@comparison_dtype
def less(a: Tensor | Number, b: Tensor | Number, /, out: Out = None) -> Tensor:
    """Whether a < b; complex numbers have no order. Errors as for :func:`equal`.

    >>> less(tensor([1, 2]), 2)
    Tensor(Bool, (2,), column-major, cpu)
      True  False
    """
    return execute_binary(LESS, a, b, out)


@comparison_dtype
def less_equal(a: Tensor | Number, b: Tensor | Number, /, out: Out = None) -> Tensor:
    """Whether a ≤ b; complex numbers have no order. Errors as for :func:`equal`.

    >>> less_equal(tensor([1, 2]), 1)
    Tensor(Bool, (2,), column-major, cpu)
      True  False
    """
    return execute_binary(LESS_EQUAL, a, b, out)


@comparison_dtype
def greater(a: Tensor | Number, b: Tensor | Number, /, out: Out = None) -> Tensor:
    """Whether a > b; complex numbers have no order. Errors as for :func:`equal`.

    >>> greater(tensor([1, 2]), 1)
    Tensor(Bool, (2,), column-major, cpu)
     False   True
    """
    return execute_binary(GREATER, a, b, out)


@comparison_dtype
def greater_equal(a: Tensor | Number, b: Tensor | Number, /, out: Out = None) -> Tensor:
    """Whether a ≥ b; complex numbers have no order. Errors as for :func:`equal`.

    >>> greater_equal(tensor([1, 2]), 2)
    Tensor(Bool, (2,), column-major, cpu)
     False   True
    """
    return execute_binary(GREATER_EQUAL, a, b, out)
