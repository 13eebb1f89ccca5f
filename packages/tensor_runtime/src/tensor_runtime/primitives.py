"""Strict primitives: equal shapes, equal dtypes, nothing implicit.

The layer that backends implement and that graphs will record; its vocabulary is that of StableHLO. Two operands have
one shape and one dtype; no Python numbers, no broadcasting, no promotion. Integers wrap on overflow. The public
functions of the same meaning (``tensor_runtime.add`` for ``add``) broadcast and promote first.

Where the two layers differ: ``reduce_sum`` and ``reduce_max`` read an empty ``axes`` as all axes, whereas ``sum`` and
``max`` read ``axis=()`` as none.
"""

from __future__ import annotations

from typing import Any, Final

from tensor_core.dtypes import ALL, FLOATING, NUMERIC, REAL, Bool, DType
from tensor_core.errors import DTypeError
from tensor_runtime.execute import execute_binary, execute_detail, execute_unary
from tensor_runtime.form import Form
from tensor_runtime.protocols import Operand
from tensor_runtime.reduction import reduced_nonempty
from tensor_runtime.rules import boolean, component, equal_shapes, reduced, same_shape
from tensor_runtime.spec import OpSpec
from tensor_runtime.tensors import Tensor


class StrictSpec(OpSpec):
    """A spec that promotes nothing and takes tensors only.

    >>> spec = StrictSpec("add", result_shape=equal_shapes)
    >>> spec.infer((ones(2)._form, ones(2)._form))
    Form(F64, (2,), cpu)
    """

    __slots__ = ()

    def common_dtype(self, operands: Any, /) -> DType:
        """The one dtype of all operands."""
        names = [_name(operand) for operand in operands]
        if len(set(names)) > 1 or not all(isinstance(operand, Form) for operand in operands):
            raise DTypeError(
                f"primitives.{self.name}: operands are {', '.join(names)}; "
                "accepted: tensors of one dtype (convert() first)",
                operation=self.name,
            )
        return super().common_dtype(operands)


def _name(operand: Operand) -> str:
    return operand.dtype.name if isinstance(operand, Form) else f"Python {operand.__name__}"


_ORDERED: Final = REAL | {Bool}

_ADD: Final = StrictSpec("add", binary=True, accepts=NUMERIC, result_shape=equal_shapes)
_SUB: Final = StrictSpec("sub", binary=True, accepts=NUMERIC, result_shape=equal_shapes, kernel="subtract")
_MUL: Final = StrictSpec("mul", binary=True, accepts=NUMERIC, result_shape=equal_shapes, kernel="multiply")
_DIV: Final = StrictSpec("div", binary=True, accepts=FLOATING, result_shape=equal_shapes, kernel="divide")
_NEG: Final = StrictSpec("neg", accepts=NUMERIC, result_shape=same_shape, kernel="negative")
_ABS: Final = StrictSpec("abs", accepts=NUMERIC, result_dtype=component, result_shape=same_shape)
_CONJ: Final = StrictSpec("conj", accepts=NUMERIC, result_shape=same_shape)
_EXP: Final = StrictSpec("exp", accepts=FLOATING, result_shape=same_shape)
_SQRT: Final = StrictSpec("sqrt", accepts=FLOATING, result_shape=same_shape)
_REDUCE_SUM: Final = StrictSpec("reduce_sum", accepts=NUMERIC, result_shape=reduced, detailed=True, kernel="sum")
_REDUCE_MAX: Final = StrictSpec(
    "reduce_max", accepts=_ORDERED, result_shape=reduced_nonempty, detailed=True, kernel="max"
)
_COMPARISONS: Final = {
    direction: StrictSpec(direction, binary=True, accepts=accepts, result_dtype=boolean, result_shape=equal_shapes)
    for accepts, directions in (
        (ALL, ("equal", "not_equal")),
        (_ORDERED, ("less", "less_equal", "greater", "greater_equal")),
    )
    for direction in directions
}


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


def div(a: Tensor, b: Tensor, /) -> Tensor:
    """Quotient of floating operands, by IEEE 754; errors as for :func:`add`.

    >>> div(tensor([1.0, 1.0]), tensor([2.0, 0.0])).to_numpy().tolist()
    [0.5, inf]
    """
    return execute_binary(_DIV, a, b)


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


def conj(a: Tensor, /) -> Tensor:
    """Complex conjugate; a real operand is copied.

    >>> conj(tensor([3 + 4j])).to_numpy().tolist()
    [(3-4j)]
    """
    return execute_unary(_CONJ, a)


def exp(a: Tensor, /) -> Tensor:
    """Exponential of a floating operand.

    >>> exp(tensor([0.0])).to_numpy().tolist()
    [1.0]
    """
    return execute_unary(_EXP, a)


def sqrt(a: Tensor, /) -> Tensor:
    """Square root of a floating operand; NaN below zero.

    >>> sqrt(tensor([9.0])).to_numpy().tolist()
    [3.0]
    """
    return execute_unary(_SQRT, a)


def compare(a: Tensor, b: Tensor, /, direction: str) -> Tensor:
    """Comparison of two tensors of one shape and dtype; Bool result.

    Args:
        a: left operand.
        b: right operand.
        direction: equal, not_equal, less, less_equal, greater or greater_equal.

    >>> compare(tensor([1, 2]), tensor([2, 2]), "less").to_numpy().tolist()
    [True, False]
    """
    if direction not in _COMPARISONS:
        raise DTypeError(f"primitives.compare: direction is {direction!r}; accepted: {', '.join(_COMPARISONS)}")
    return execute_binary(_COMPARISONS[direction], a, b)


def reduce_sum(a: Tensor, /, axes: tuple[int, ...] = (), *, keepdims: bool = False) -> Tensor:
    """Sum over the axes named, in the operand's dtype; empty ``axes`` means all axes.

    >>> reduce_sum(tensor([[1, 2], [3, 4]]), (0,)).to_numpy().tolist(), reduce_sum(tensor([[1, 2], [3, 4]])).item()
    ([4, 6], 10)
    """
    return execute_detail(_REDUCE_SUM, a, (tuple(axes) or None, keepdims))


def reduce_max(a: Tensor, /, axes: tuple[int, ...] = (), *, keepdims: bool = False) -> Tensor:
    """Largest element over the axes named; empty ``axes`` means all axes.

    >>> reduce_max(tensor([[1, 2], [3, 4]])).item()
    4
    """
    return execute_detail(_REDUCE_MAX, a, (tuple(axes) or None, keepdims))
