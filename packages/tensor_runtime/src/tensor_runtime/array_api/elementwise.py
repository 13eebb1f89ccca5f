"""Elementwise functions whose special values the standard gives other than NumPy does."""

from __future__ import annotations

from tensor_runtime.array_api.data_types import KINDS
from tensor_runtime.dispatch import conversion
from tensor_runtime.ops import (
    arithmetic,
    comparison,
    complex_parts,
    creation,
    division,
    logic,
    rounding,
    selection,
    trigonometry,
)
from tensor_runtime.tensors.tensor import Number, Tensor


def floor_divide(x1: Tensor | Number, x2: Tensor | Number, /) -> Tensor:
    """Quotients rounded down.

    An infinity by a finite number is an infinity, and a finite number by an infinity a zero, as the standard has it;
    ``tensor_runtime.floor_divide`` and the operator ``//`` give NumPy's NaN and -1.

    Args:
        x1: dividends, real.
        x2: divisors, real; the shapes broadcast.

    Returns:
        The type in which both meet.

    Raises:
        DivisionByZeroError: an integer by 0.

    Source: the array API standard 2024.12, ``floor_divide``.

    >>> floor_divide(tensor([float("inf"), 3.0, 7.0]), tensor([-2.0, float("-inf"), 2.0])).tolist()
    [-inf, -0.0, 3.0]
    """
    found = division.floor_divide(x1, x2)
    if found.dtype not in KINDS["real floating"]:
        return found
    quotients = arithmetic.divide(x1, x2)
    endless = logic.logical_or(rounding.isinf(_tensor(x1, found)), rounding.isinf(_tensor(x2, found)))
    exact = logic.logical_and(endless, comparison.not_equal(_tensor(x2, found), 0.0))
    return selection.where(exact, quotients, found)


def tan(x: Tensor, /) -> Tensor:
    """Tangents; of a + bj with an infinite b, ±1j and a zero that has the sign of a.

    ``tensor_runtime.tan`` gives that zero the sign of sin(2a), as C does.

    Args:
        x: floating.

    Source: the array API standard 2024.12, ``tan``.

    >>> tan(tensor([complex(3.0, float("inf"))])).item()
    1j
    """
    found = trigonometry.tan(x)
    if found.dtype not in KINDS["complex floating"]:
        return found
    re, im = complex_parts.real(x), complex_parts.imag(x)
    return _with_limits(found, im, re, complex_parts.complex(_zero_like(re), arithmetic.sign(im)))


def tanh(x: Tensor, /) -> Tensor:
    """Hyperbolic tangents; of a + bj with an infinite a, ±1 and a zero that has the sign of b.

    ``tensor_runtime.tanh`` gives that zero the sign of sin(2b), as C does.

    Args:
        x: floating.

    Source: the array API standard 2024.12, ``tanh``.

    >>> tanh(tensor([complex(float("inf"), 3.0)])).item()
    (1+0j)
    """
    found = trigonometry.tanh(x)
    if found.dtype not in KINDS["complex floating"]:
        return found
    re, im = complex_parts.real(x), complex_parts.imag(x)
    return _with_limits(found, re, im, complex_parts.complex(arithmetic.sign(re), _zero_like(im)))


def _zero_like(part: Tensor) -> Tensor:
    return arithmetic.copysign(0.0, part)


def _with_limits(found: Tensor, endless: Tensor, finite: Tensor, limits: Tensor) -> Tensor:
    there = logic.logical_and(rounding.isinf(endless), rounding.isfinite(finite))
    return selection.where(there, limits, found)


def _tensor(x: Tensor | Number, like: Tensor) -> Tensor:
    if isinstance(x, Tensor):
        return conversion.convert(x, like.dtype) if x.dtype is not like.dtype else x
    return creation.full((), x, dtype=like.dtype, placement=like.placement)
