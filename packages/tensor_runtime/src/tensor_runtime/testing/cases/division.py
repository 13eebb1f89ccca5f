"""Cases of ``tensor_runtime.ops.division`` and of powers: whole quotients, remainders, and what integers refuse."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from math import copysign, floor, fmod, isfinite, isinf, isnan, nan, trunc
from typing import Any, Final

from tensor_core.dtypes import I32, I64, REAL
from tensor_core.errors import DivisionByZeroError
from tensor_core.host.tensor import HostTensor
from tensor_runtime.ops import division
from tensor_runtime.testing.case import Case, refused
from tensor_runtime.testing.cases.arithmetic import Row, binary_case, binary_cases, quotient
from tensor_runtime.testing.oracle import tabulated


def floored(x: Any, y: Any, /) -> Any:
    """Quotient rounded down; of floats, exact before the one rounding.

    >>> floored(-7, 2), floored(1.0, 0.1), floored(-1.0, float("inf")), floored(1.0, 0.0)
    (-4, 9.0, -1.0, inf)
    """
    return x // y if isinstance(x, int) else _whole(x, y, floor)


def truncated(x: Any, y: Any, /) -> Any:
    """Quotient rounded toward zero; of floats, exact before the one rounding.

    >>> truncated(-7, 2), truncated(-1.0, 3.0)
    (-3, -0.0)
    """
    return trunc(Fraction(x, y)) if isinstance(x, int) else _whole(x, y, trunc)


def _whole(x: float, y: float, rounded: Callable[[Any], int]) -> float:
    if y == 0:
        return float(quotient(x, y))
    if isnan(x) or isnan(y) or isinf(x):
        return nan
    if isinf(y):
        return -1.0 if rounded is floor and x * copysign(1, y) < 0 else copysign(0.0, x * copysign(1, y))
    return (
        copysign(float(abs(whole)), x * copysign(1, y))
        if (whole := rounded(Fraction(x) / Fraction(y)))
        else (copysign(0.0, x * copysign(1, y)))
    )


def modulo(x: Any, y: Any, /) -> Any:
    """What a quotient rounded down leaves, with the sign of the divisor.

    >>> modulo(-7, 2), modulo(-1.0, 3.0), modulo(-1.0, float("inf"))
    (1, 2.0, inf)
    """
    if isinstance(x, int):
        return x % y
    if y == 0 or not isfinite(x) or isnan(y):
        return nan
    if isinf(y):
        return copysign(x, y) if x == 0 else x if (x < 0) == (y < 0) else y
    return copysign(0.0, y) if (rest := x % y) == 0 else rest


def rest(x: Any, y: Any, /) -> Any:
    """What a quotient rounded toward zero leaves, with the sign of the dividend.

    >>> rest(-7, 2), rest(-1.0, 3.0)
    (-1, -1.0)
    """
    if isinstance(x, int):
        return x - y * truncated(x, y)
    return nan if y == 0 or isinf(x) else fmod(x, y)


DIVISIONS: Final = (
    Row(division.floor_divide, floored, REAL),
    Row(division.remainder, modulo, REAL),
    Row(division.trunc_divide, truncated, REAL),
    Row(division.fmod, rest, REAL),
)


def cases() -> Iterator[Case]:
    """Every case of the family."""
    for row in DIVISIONS:
        yield from binary_cases(row)
        for dtype in (I32, I64):
            yield from _integers(row, dtype)


def _integers(row: Row, dtype: Any) -> Iterator[Case]:
    low = -(2**31) if dtype is I32 else -(2**63)
    signs = HostTensor.from_flat([-7, 7, low, low, -low - 1], (5,), dtype)
    yield binary_case(row, f"{dtype} signs", signs, HostTensor.from_flat([2], (1,), dtype))
    yield binary_case(row, f"{dtype} minus one", signs, HostTensor.from_flat([-1], (1,), dtype))
    yield binary_case(row, f"{dtype} minus three", signs, HostTensor.from_flat([-3], (1,), dtype))
    zeros = HostTensor.from_flat([1, 0, 3, 0, 5], (5,), dtype)
    yield refused(row.name, f"{dtype} zero divisor", (signs, zeros), row.call, DivisionByZeroError)
    yield refused(row.name, f"{dtype} number zero", (signs,), lambda x: row.call(x, 0), DivisionByZeroError)
    zero = HostTensor.from_flat([0], (), dtype)
    yield refused(row.name, f"{dtype} zero of rank 0", (signs, zero), row.call, DivisionByZeroError)
    nothing = HostTensor.zeros((0,), dtype)
    yield Case(row.name, f"{dtype} nothing by zero", (nothing,), lambda x: row.call(x, 0), lambda: nothing)
    yield Case(
        row.name,
        f"{dtype} unchecked",
        (zeros, HostTensor.from_flat([1, 0, 1, 1, 1], (5,), dtype)),
        partial(row.call, check=False),
        lambda: tabulated((5,), dtype, lambda index: 0 if index == (1,) else row.oracle((1, 0, 3, 0, 5)[index[0]], 1)),
    )
