"""Divisions with rounding and their remainders; integers refuse zero divisors.

The check is free: an integer loop of NumPy raises the processor's or its own division flag when it meets a zero
divisor, so it runs in a context whose error state turns that one flag into an exception, and nobody reads the divisors
a second time unless something is wrong. Nothing is divided where the result is empty, and nothing is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import Context
from typing import Any, Final

import numpy as np

from tensor_core.dtypes import FLOATING
from tensor_core.errors import DivisionByZeroError
from tensor_cpu.kernel_table import Binder
from tensor_cpu.kernels.elementwise.numpy import BINARY, binary_function
from tensor_cpu.storage import first_true
from tensor_cpu.system.errstate import ignoring_fp_errors
from tensor_runtime.backends.shared.value_errors import zero_divisor
from tensor_runtime.backends.xp_tables.elementwise import Ufunc
from tensor_runtime.form import Form
from tensor_runtime.protocols import Kernel

_STRICT: Final = Context()
"""A context that ignores every floating-point error but a division by zero, which raises; enter copies of it only."""
_STRICT.run(np.seterr, all="ignore", divide="raise")


def truncated_quotient(x: Any, y: Any, **options: Any) -> Any:
    """Quotient rounded toward zero.

    ``x - fmod(x, y)`` is a multiple of ``y``: for integers its quotient is exact, and for floats it is within half a
    unit of the whole number sought.

    >>> x, y = np.array([-7, 7]), np.array([2, 2])
    >>> truncated_quotient(x, y).tolist(), np.floor_divide(x, y).tolist()
    ([-3, 3], [-4, 3])
    """
    whole = np.subtract(x, np.fmod(x, y), **options)
    if whole.dtype.kind != "f":
        return np.floor_divide(whole, y, out=whole)
    plain = np.true_divide(x, y)
    np.rint(np.divide(whole, y, out=whole), out=whole)
    np.copysign(whole, plain, out=whole)
    np.copyto(whole, plain, where=np.equal(y, 0))
    return whole


def bind_division(name: str, ufunc: Ufunc, operands: tuple[Any, ...], result: Form, /) -> Kernel:
    """The kernel of a division: integers refuse a zero divisor, floats follow IEEE 754.

    >>> from tensor_core import F64, I64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> whole, real = form_of(I64, (2,), CPU), form_of(F64, (2,), CPU)
    >>> kernels = [bind_division("floor_divide", np.floor_divide, (form, form), form) for form in (real, whole)]
    >>> kernels[0](np.array([7.0, 7.0]), np.array([2.0, 0.0])).tolist()
    [3.0, inf]
    >>> kernels[1](np.array([7, 7]), np.array([2, 0]))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    tensor_core.errors.DivisionByZeroError: floor_divide: the divisor at index (1,) is 0, and integers have ...
    """
    function = binary_function(name, ufunc, operands, result)
    if result.dtype in FLOATING:
        return ignoring_fp_errors(function)
    copy = _STRICT.copy

    def divide(x: Any, y: Any) -> Any:
        try:
            return copy().run(function, x, y)
        except FloatingPointError:
            raise _refused(name, y) from None

    return divide


def _refused(name: str, divisor: Any) -> DivisionByZeroError:
    return zero_divisor(name, first_true(np.equal(divisor, 0)) if isinstance(divisor, np.ndarray) else None)


def _division(name: str, row: str | None) -> Binder:
    ufunc = truncated_quotient if row is None else BINARY[row]
    return lambda operands, result, params: bind_division(name, ufunc, operands, result)


def _unchecked(name: str, row: str | None) -> Binder:
    ufunc = truncated_quotient if row is None else BINARY[row]
    return lambda operands, result, params: ignoring_fp_errors(binary_function(name, ufunc, operands, result))


def _bind_div(operands: tuple[Any, ...], result: Form, params: None, /) -> Kernel:
    ufunc = BINARY["divide"] if result.dtype in FLOATING else truncated_quotient
    return bind_division("div", ufunc, operands, result)


_DIVISIONS: Final = {"floor_divide": "floor_divide", "remainder": "remainder", "fmod": "fmod", "trunc_divide": None}

BINDERS: Final[Mapping[str, Binder]] = {
    **{name: _division(name, row) for name, row in _DIVISIONS.items()},
    **{f"{name}_unchecked": _unchecked(name, row) for name, row in _DIVISIONS.items()},
    "div": _bind_div,
    "rem": _division("rem", "fmod"),
}
