"""Strict division toward zero, and what it leaves."""

from __future__ import annotations

from typing import Final

from tensor_core.dtypes import NUMERIC, REAL
from tensor_runtime.backends.kernel_facts import KernelFacts
from tensor_runtime.dispatch.call import execute_binary
from tensor_runtime.dispatch.dtype_rules import equal_shapes
from tensor_runtime.ops.division import zero_divisor
from tensor_runtime.primitives.strict import StrictSpec
from tensor_runtime.tensors.tensor import Tensor

_DIVISION: Final = KernelFacts(elementwise=True, refuses=zero_divisor)

_DIV: Final = StrictSpec("div", binary=True, accepts=NUMERIC, result_shape=equal_shapes, facts=_DIVISION)
_REM: Final = StrictSpec("rem", binary=True, accepts=REAL, result_shape=equal_shapes, facts=_DIVISION)


def div(a: Tensor, b: Tensor, /) -> Tensor:
    """Quotient: of integers truncated toward zero, of floating operands by IEEE 754.

    The smallest integer divided by -1 wraps to itself. Errors as for ``primitives.add``.

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
