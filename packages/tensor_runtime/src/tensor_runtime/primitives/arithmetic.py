"""Strict arithmetic."""

from __future__ import annotations

from typing import Final

from tensor_core.dtypes import COMPLEX, NUMERIC, REAL, REAL_FLOATING, Bool
from tensor_runtime.backends.facts import KernelFacts
from tensor_runtime.dispatch.call import execute_binary, execute_ternary, execute_unary
from tensor_runtime.dispatch.dtype_rules import component, equal_shapes, same_shape, three_equal_shapes
from tensor_runtime.ops.complex_parts import paired
from tensor_runtime.ops.division import zero_divisor
from tensor_runtime.primitives.strict import StrictSpec
from tensor_runtime.tensors.tensor import Tensor

_ORDERED: Final = REAL | {Bool}

_DIVISION: Final = KernelFacts(elementwise=True, refuses=zero_divisor)

_ADD: Final = StrictSpec("add", binary=True, accepts=NUMERIC, result_shape=equal_shapes)
_SUB: Final = StrictSpec("sub", binary=True, accepts=NUMERIC, result_shape=equal_shapes, kernel="subtract")
_MUL: Final = StrictSpec("mul", binary=True, accepts=NUMERIC, result_shape=equal_shapes, kernel="multiply")
_DIV: Final = StrictSpec("div", binary=True, accepts=NUMERIC, result_shape=equal_shapes, facts=_DIVISION)
_REM: Final = StrictSpec("rem", binary=True, accepts=REAL, result_shape=equal_shapes, facts=_DIVISION)
_POW: Final = StrictSpec("pow", binary=True, accepts=NUMERIC, result_shape=equal_shapes)
_MAX: Final = StrictSpec("max", binary=True, accepts=_ORDERED, result_shape=equal_shapes, kernel="maximum")
_MIN: Final = StrictSpec("min", binary=True, accepts=_ORDERED, result_shape=equal_shapes, kernel="minimum")
_CLAMP: Final = StrictSpec("clamp", accepts=_ORDERED, result_shape=three_equal_shapes, kernel="clip")
_NEG: Final = StrictSpec("neg", accepts=NUMERIC, result_shape=same_shape, kernel="negative")
_ABS: Final = StrictSpec("abs", accepts=NUMERIC, result_dtype=component, result_shape=same_shape)
_SIGN: Final = StrictSpec("sign", accepts=NUMERIC, result_shape=same_shape)
_CONJ: Final = StrictSpec("conj", accepts=NUMERIC, result_shape=same_shape)
_REAL: Final = StrictSpec("real", accepts=COMPLEX, result_dtype=component, result_shape=same_shape)
_IMAG: Final = StrictSpec("imag", accepts=COMPLEX, result_dtype=component, result_shape=same_shape)
_COMPLEX: Final = StrictSpec(
    "complex", binary=True, accepts=REAL_FLOATING, result_dtype=paired, result_shape=equal_shapes
)


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
    """Quotient: of integers truncated toward zero, of floating operands by IEEE 754.

    The smallest integer divided by -1 wraps to itself. Errors as for :func:`add`.

    Raises:
        DivisionByZeroError: an integer divisor is 0; its ``index`` is that of the first one in column-major order. The
            host waits for that status.

    >>> div(tensor([-7, 7]), tensor([2, 2])).to_numpy().tolist()
    [-3, 3]
    >>> div(tensor([1.0, 1.0]), tensor([2.0, 0.0])).to_numpy().tolist()
    [0.5, inf]
    """
    return execute_binary(_DIV, a, b)


def rem(a: Tensor, b: Tensor, /) -> Tensor:
    """What :func:`div` leaves: a - b * (a / b truncated), with the sign of ``a``. Errors as for :func:`div`.

    The smallest integer leaves 0 beside -1. Floating operands follow C's ``fmod``, which is exact; a zero divisor gives
    NaN.

    >>> rem(tensor([-7, 7]), tensor([2, -2])).to_numpy().tolist()
    [-1, 1]
    """
    return execute_binary(_REM, a, b)


def pow(a: Tensor, b: Tensor, /) -> Tensor:
    """Power; integers wrap. Errors as for :func:`add`.

    Raises:
        ArgumentError: an integer exponent is negative; ``index`` is that of the first one. The host waits for that.

    >>> pow(tensor([2, 3]), tensor([3, 2])).to_numpy().tolist()
    [8, 9]
    """
    return execute_binary(_POW, a, b)


def max(a: Tensor, b: Tensor, /) -> Tensor:
    """The greater of two; NaN if either is. Complex numbers have no order. Errors as for :func:`add`.

    >>> max(tensor([1, 5]), tensor([3, 4])).to_numpy().tolist()
    [3, 5]
    """
    return execute_binary(_MAX, a, b)


def min(a: Tensor, b: Tensor, /) -> Tensor:
    """The lesser of two; NaN if either is. Complex numbers have no order. Errors as for :func:`add`.

    >>> min(tensor([1, 5]), tensor([3, 4])).to_numpy().tolist()
    [1, 4]
    """
    return execute_binary(_MIN, a, b)


def clamp(low: Tensor, x: Tensor, high: Tensor, /) -> Tensor:
    """The nearest value between two bounds, min(max(x, low), high): ``high`` where the bounds cross, NaN for any NaN.

    All three have one shape and dtype. Errors as for :func:`add`.

    >>> clamp(tensor([0, 0]), tensor([-5, 2]), tensor([3, 3])).to_numpy().tolist()
    [0, 2]
    """
    return execute_ternary(_CLAMP, x, low, high)


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


def real(a: Tensor, /) -> Tensor:
    """Real parts of a complex operand.

    >>> real(tensor([3 + 4j])).to_numpy().tolist()
    [3.0]
    """
    return execute_unary(_REAL, a)


def imag(a: Tensor, /) -> Tensor:
    """Imaginary parts of a complex operand.

    >>> imag(tensor([3 + 4j])).to_numpy().tolist()
    [4.0]
    """
    return execute_unary(_IMAG, a)


def complex(re: Tensor, im: Tensor, /) -> Tensor:
    """Complex numbers from their parts, both F32 or both F64. Errors as for :func:`add`.

    >>> complex(tensor([3.0]), tensor([4.0])).to_numpy().tolist()
    [(3+4j)]
    """
    return execute_binary(_COMPLEX, re, im)
