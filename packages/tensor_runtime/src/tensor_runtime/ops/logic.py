"""Logical operations on truth values, and operations on the bits of integers.

Operands broadcast and are promoted as in ``tensor_runtime.ops.arithmetic``. A *logical* operation asks of every element
whether it differs from 0 (NaN does) and gives Bool. A *bitwise* one takes I32, I64 and Bool, whose one bit makes it the
logical operation; integers are two's complement.
"""

from __future__ import annotations

from typing import Final

from tensor_core.dtypes import INTEGER, Bool
from tensor_runtime.dispatch.call import execute_binary, execute_unary
from tensor_runtime.dispatch.dtype_rules import boolean
from tensor_runtime.dispatch.out import Out
from tensor_runtime.dispatch.spec import ElementwiseSpec
from tensor_runtime.static_types.results import boolean_dtype, common_dtype, comparison_dtype, same_dtype_out
from tensor_runtime.tensors.tensor import Number, Tensor


def _logical(name: str) -> ElementwiseSpec:
    return ElementwiseSpec(name, 2, result_dtype=boolean)


def _bitwise(name: str) -> ElementwiseSpec:
    return ElementwiseSpec(name, 2, accepts=INTEGER | {Bool})


def _shift(name: str) -> ElementwiseSpec:
    return ElementwiseSpec(name, 2, accepts=INTEGER)


LOGICAL_AND: Final = _logical("logical_and")
LOGICAL_OR: Final = _logical("logical_or")
LOGICAL_XOR: Final = _logical("logical_xor")
LOGICAL_NOT: Final = ElementwiseSpec("logical_not", result_dtype=boolean)
BITWISE_AND: Final = _bitwise("bitwise_and")
BITWISE_OR: Final = _bitwise("bitwise_or")
BITWISE_XOR: Final = _bitwise("bitwise_xor")
BITWISE_INVERT: Final = ElementwiseSpec("bitwise_invert", accepts=INTEGER | {Bool})
BITWISE_LEFT_SHIFT: Final = _shift("bitwise_left_shift")
BITWISE_RIGHT_SHIFT: Final = _shift("bitwise_right_shift")


@comparison_dtype
def logical_and(a: Tensor | Number, b: Tensor | Number, /, out: Out = None) -> Tensor:
    """Whether both elements are true. Any dtype, NumPy's meaning; the result is Bool.

    Raises:
        ShapeError: the shapes do not broadcast.
        PlacementError: the operands live in different places.
        DTypeError: an operand is no tensor and no Python number.

    >>> logical_and(tensor([True, False]), tensor([2.5, 1.0]))
    Tensor(Bool, (2,), column-major, cpu)
      True  False
    """
    return execute_binary(LOGICAL_AND, a, b, out)


@comparison_dtype
def logical_or(a: Tensor | Number, b: Tensor | Number, /, out: Out = None) -> Tensor:
    """Whether either element is true. Dtypes and errors as for :func:`logical_and`.

    >>> logical_or(tensor([0, 1]), False)
    Tensor(Bool, (2,), column-major, cpu)
     False   True
    """
    return execute_binary(LOGICAL_OR, a, b, out)


@comparison_dtype
def logical_xor(a: Tensor | Number, b: Tensor | Number, /, out: Out = None) -> Tensor:
    """Whether exactly one element is true. Dtypes and errors as for :func:`logical_and`.

    >>> logical_xor(tensor([0, 1]), True)
    Tensor(Bool, (2,), column-major, cpu)
      True  False
    """
    return execute_binary(LOGICAL_XOR, a, b, out)


@boolean_dtype
def logical_not(a: Tensor, /, out: Out = None) -> Tensor:
    """Whether an element is 0 or False. Any dtype; the result is Bool.

    >>> logical_not(tensor([0.0, 0.5]))
    Tensor(Bool, (2,), column-major, cpu)
      True  False
    """
    return execute_unary(LOGICAL_NOT, a, out)


@common_dtype
def bitwise_and(a: Tensor | Number, b: Tensor | Number, /, out: Out = None) -> Tensor:
    """Bits set in both operands; also ``a & b``.

    Args:
        a: I32, I64 or Bool of any shape, or a Python number.
        b: broadcasts with ``a``.

    Returns:
        Their common dtype and broadcast shape.

    Raises:
        DTypeError: a floating operand.
        CastRangeError: a Python int does not fit the common dtype.
        ShapeError: the shapes do not broadcast.
        PlacementError: the operands live in different places.

    >>> bitwise_and(tensor([6, -1]), 3)
    Tensor(I64, (2,), column-major, cpu)
     2  3
    """
    return execute_binary(BITWISE_AND, a, b, out)


@common_dtype
def bitwise_or(a: Tensor | Number, b: Tensor | Number, /, out: Out = None) -> Tensor:
    """Bits set in either operand; also ``a | b``. Dtypes and errors as for :func:`bitwise_and`.

    >>> bitwise_or(tensor([6, 0]), 3)
    Tensor(I64, (2,), column-major, cpu)
     7  3
    """
    return execute_binary(BITWISE_OR, a, b, out)


@common_dtype
def bitwise_xor(a: Tensor | Number, b: Tensor | Number, /, out: Out = None) -> Tensor:
    """Bits set in one operand alone; also ``a ^ b``. Dtypes and errors as for :func:`bitwise_and`.

    >>> bitwise_xor(tensor([6, 3]), 3)
    Tensor(I64, (2,), column-major, cpu)
     5  0
    """
    return execute_binary(BITWISE_XOR, a, b, out)


@same_dtype_out
def bitwise_invert(a: Tensor, /, out: Out = None) -> Tensor:
    """Every bit turned round, -1 - a; of Bool, the logical not. Also ``~a``. Not for floating operands.

    >>> bitwise_invert(tensor([0, 5]))
    Tensor(I64, (2,), column-major, cpu)
     -1  -6
    """
    return execute_unary(BITWISE_INVERT, a, out)


@common_dtype
def bitwise_left_shift(a: Tensor | Number, count: Tensor | Number, /, out: Out = None) -> Tensor:
    """Bits moved up by ``count`` places, zeros moved in; bits moved out are lost. Also ``a << count``.

    A count below 0, or of the dtype's width and more, leaves 0; it is no error. I32 and I64 only, so that Bool is
    refused; errors as for :func:`bitwise_and`.

    >>> bitwise_left_shift(tensor([1, -3]), 2)
    Tensor(I64, (2,), column-major, cpu)
       4  -12
    """
    return execute_binary(BITWISE_LEFT_SHIFT, a, count, out)


@common_dtype
def bitwise_right_shift(a: Tensor | Number, count: Tensor | Number, /, out: Out = None) -> Tensor:
    """Bits moved down by ``count`` places, the sign moved in: a / 2**count rounded down. Also ``a >> count``.

    A count below 0, or of the dtype's width and more, leaves nothing but the sign, 0 or -1; it is no error. Dtypes and
    errors as for :func:`bitwise_left_shift`.

    >>> bitwise_right_shift(tensor([9, -9]), 2)
    Tensor(I64, (2,), column-major, cpu)
      2  -3
    """
    return execute_binary(BITWISE_RIGHT_SHIFT, a, count, out)
