"""Strict comparison, choice, and operations on bits; of Bool, these are the logical ones.

``and``, ``or`` and ``not`` are words of Python, so those three names end in an underscore.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tensor_core.dtypes import ALL, INTEGER, REAL, Bool, DType
from tensor_core.errors import ArgumentError, DTypeError
from tensor_runtime.dispatch.call import execute_binary, execute_ternary, execute_unary
from tensor_runtime.dispatch.dtype_rules import boolean, equal_shapes, same_shape, three_equal_shapes
from tensor_runtime.form import Form
from tensor_runtime.primitives.strict import StrictSpec
from tensor_runtime.protocols import Operand
from tensor_runtime.tensors.tensor import Tensor


class _SelectSpec(StrictSpec):
    """The first operand is a Bool tensor, and the other two have one dtype."""

    __slots__ = ()

    def common_dtype(self, operands: Sequence[Operand], /) -> DType:
        predicate, *chosen = operands
        if not isinstance(predicate, Form) or predicate.dtype is not Bool:
            found = predicate.dtype if isinstance(predicate, Form) else f"Python {predicate.__name__}"
            raise DTypeError(
                f"primitives.select: the predicate is {found}; accepted: a Bool tensor", operation=self.name
            )
        return super().common_dtype(chosen)


_BITS: Final = INTEGER | {Bool}
_ORDERED: Final = REAL | {Bool}

_SELECT: Final = _SelectSpec("select", accepts=ALL, result_shape=three_equal_shapes, kernel="where")
_AND: Final = StrictSpec("and", binary=True, accepts=_BITS, result_shape=equal_shapes, kernel="bitwise_and")
_OR: Final = StrictSpec("or", binary=True, accepts=_BITS, result_shape=equal_shapes, kernel="bitwise_or")
_XOR: Final = StrictSpec("xor", binary=True, accepts=_BITS, result_shape=equal_shapes, kernel="bitwise_xor")
_NOT: Final = StrictSpec("not", accepts=_BITS, result_shape=same_shape, kernel="bitwise_invert")
_SHIFT_LEFT: Final = StrictSpec(
    "shift_left", binary=True, accepts=INTEGER, result_shape=equal_shapes, kernel="bitwise_left_shift"
)
_SHIFT_RIGHT: Final = StrictSpec(
    "shift_right_arithmetic", binary=True, accepts=INTEGER, result_shape=equal_shapes, kernel="bitwise_right_shift"
)
_COMPARISONS: Final = {
    direction: StrictSpec(direction, binary=True, accepts=accepts, result_dtype=boolean, result_shape=equal_shapes)
    for accepts, directions in (
        (ALL, ("equal", "not_equal")),
        (_ORDERED, ("less", "less_equal", "greater", "greater_equal")),
    )
    for direction in directions
}


def compare(a: Tensor, b: Tensor, /, direction: str) -> Tensor:
    """Comparison of two tensors of one shape and dtype; Bool result.

    Args:
        a: left operand.
        b: right operand.
        direction: equal, not_equal, less, less_equal, greater or greater_equal.

    Raises:
        ArgumentError: another direction.

    >>> compare(tensor([1, 2]), tensor([2, 2]), "less").to_numpy().tolist()
    [True, False]
    """
    known: object = direction  # whatever the annotation says
    spec = _COMPARISONS.get(known) if isinstance(known, str) else None
    if spec is None:
        raise ArgumentError(f"primitives.compare: direction is {direction!r}; accepted: {', '.join(_COMPARISONS)}")
    return execute_binary(spec, a, b)


def select(predicate: Tensor, on_true: Tensor, on_false: Tensor, /) -> Tensor:
    """Elements of one tensor where a Bool tensor holds, of another elsewhere; all three have one shape.

    >>> select(tensor([True, False]), tensor([1, 2]), tensor([3, 4])).to_numpy().tolist()
    [1, 4]
    """
    return execute_ternary(_SELECT, predicate, on_true, on_false)


def and_(a: Tensor, b: Tensor, /) -> Tensor:
    """Bits set in both operands.

    >>> and_(tensor([6]), tensor([3])).to_numpy().tolist()
    [2]
    """
    return execute_binary(_AND, a, b)


def or_(a: Tensor, b: Tensor, /) -> Tensor:
    """Bits set in either operand.

    >>> or_(tensor([6]), tensor([3])).to_numpy().tolist()
    [7]
    """
    return execute_binary(_OR, a, b)


def xor(a: Tensor, b: Tensor, /) -> Tensor:
    """Bits set in one operand alone.

    >>> xor(tensor([6]), tensor([3])).to_numpy().tolist()
    [5]
    """
    return execute_binary(_XOR, a, b)


def not_(a: Tensor, /) -> Tensor:
    """Every bit turned round: -1 - a for integers.

    >>> not_(tensor([6])).to_numpy().tolist(), not_(tensor([True])).to_numpy().tolist()
    ([-7], [False])
    """
    return execute_unary(_NOT, a)


def shift_left(a: Tensor, count: Tensor, /) -> Tensor:
    """Bits moved up, zeros moved in; a count below 0 or beyond the width leaves 0.

    >>> shift_left(tensor([3]), tensor([2])).to_numpy().tolist()
    [12]
    """
    return execute_binary(_SHIFT_LEFT, a, count)


def shift_right_arithmetic(a: Tensor, count: Tensor, /) -> Tensor:
    """Bits moved down, the sign moved in; a count below 0 or beyond the width leaves the sign: 0 or -1.

    >>> shift_right_arithmetic(tensor([-7]), tensor([1])).to_numpy().tolist()
    [-4]
    """
    return execute_binary(_SHIFT_RIGHT, a, count)
