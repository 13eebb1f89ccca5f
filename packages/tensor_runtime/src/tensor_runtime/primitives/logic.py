"""Strict operations on bits; of Bool, these are the logical ones.

``and``, ``or`` and ``not`` are words of Python, so those three names end in an underscore.
"""

from __future__ import annotations

from typing import Final

from tensor_core.dtypes import INTEGER, Bool
from tensor_runtime.dispatch.call import execute_binary, execute_unary
from tensor_runtime.dispatch.dtype_rules import equal_shapes, same_shape
from tensor_runtime.primitives.strict import StrictSpec
from tensor_runtime.tensors.tensor import Tensor

_BITS: Final = INTEGER | {Bool}


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
