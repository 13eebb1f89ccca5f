"""Cases of the strict primitives beside those of ``primitives``: powers, remainders, functions, choices and bits."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator
from functools import partial
from typing import Any, Final

from tensor_core.dtypes import (
    COMPLEX,
    DTYPES,
    F32,
    F64,
    FLOATING,
    I32,
    I64,
    INTEGER,
    NUMERIC,
    REAL,
    REAL_FLOATING,
    Bool,
)
from tensor_core.errors import ArgumentError, DivisionByZeroError, DTypeError, ShapeError
from tensor_core.host.tensor import HostTensor
from tensor_runtime import primitives
from tensor_runtime.dispatch.dtype_rules import boolean, component
from tensor_runtime.ops.complex_parts import paired
from tensor_runtime.testing.case import Case, refused
from tensor_runtime.testing.cases import exponential, rounding, trigonometry
from tensor_runtime.testing.cases.arithmetic import Row
from tensor_runtime.testing.cases.division import rest
from tensor_runtime.testing.cases.logic import left, right
from tensor_runtime.testing.cases.primitives import strict_cases
from tensor_runtime.testing.cases.selection import between, greater, lesser, sign
from tensor_runtime.testing.oracle import elementwise, whole_numbers

_BITS: Final = INTEGER | {Bool}
_ORDERED: Final = REAL | {Bool}
_ORACLES: Final = {row.name: row.oracle for row in (*exponential.ROWS, *trigonometry.ROWS, *rounding.ROUNDINGS)}

BINARY: Final = (
    Row(primitives.rem, rest, REAL),
    Row(primitives.pow, operator.pow, NUMERIC, ulps=16),
    Row(primitives.max, greater, _ORDERED),
    Row(primitives.min, lesser, _ORDERED),
    Row(primitives.complex, complex, REAL_FLOATING, paired),
    Row(primitives.atan2, math.atan2, REAL_FLOATING, ulps=4),
    Row(primitives.and_, operator.and_, _BITS),
    Row(primitives.or_, operator.or_, _BITS),
    Row(primitives.xor, operator.xor, _BITS),
    Row(primitives.shift_left, left, INTEGER),
    Row(primitives.shift_right_arithmetic, right, INTEGER),
)
UNARY: Final = (
    Row(primitives.sign, sign, NUMERIC, ulps=3),
    Row(primitives.real, lambda x: x.real, COMPLEX, component),
    Row(primitives.imag, lambda x: x.imag, COMPLEX, component),
    Row(primitives.not_, lambda x: not x if isinstance(x, bool) else ~x, _BITS),
    Row(primitives.is_finite, lambda x: True, FLOATING, boolean),
    *(
        Row(call, _ORACLES[call.__name__], FLOATING, ulps=8)
        for call in (
            primitives.expm1,
            primitives.log,
            primitives.log1p,
            primitives.rsqrt,
            primitives.sin,
            primitives.cos,
            primitives.tan,
            primitives.tanh,
        )
    ),
    *(
        Row(call, _ORACLES[call.__name__], REAL_FLOATING, ulps=4)
        for call in (primitives.erf, primitives.floor, primitives.ceil, primitives.round)
    ),
)


def cases() -> Iterator[Case]:
    """Every case of the family."""
    for row in BINARY:
        yield from strict_cases(row, f"primitives.{row.name}", (1, 7), (1, 6))
    for row in UNARY:
        yield from strict_cases(row, f"primitives.{row.name}", (1, 7))
    yield from _three()
    for dtype in (I32, I64):
        yield from _integers(dtype)


def _three() -> Iterator[Case]:
    predicate = whole_numbers((2, 3), Bool)
    for dtype in DTYPES:
        a, b, c = (whole_numbers((2, 3), dtype, start) for start in (-3, -1, 1))
        chosen = partial(elementwise, lambda p, x, y: x if p else y, dtype, predicate, a, b)
        yield Case("primitives.select", str(dtype), (predicate, a, b), primitives.select, chosen)
        if dtype is not Bool:
            yield refused("primitives.select", f"predicate {dtype}", (a, a, b), primitives.select, DTypeError)
        if dtype in _ORDERED:
            clamped = partial(elementwise, between, dtype, a, b, c)
            yield Case("primitives.clamp", str(dtype), (b, a, c), primitives.clamp, clamped)
        else:
            yield refused("primitives.clamp", f"{dtype} refused", (b, a, c), primitives.clamp, DTypeError)
    x = whole_numbers((2, 3), F64)
    for call, first in ((primitives.select, predicate), (primitives.clamp, x)):
        name = f"primitives.{call.__name__}"
        yield refused(name, "unequal shapes", (first, x, whole_numbers((3,), F64)), call, ShapeError)
        yield refused(name, "unequal dtypes", (first, x, whole_numbers((2, 3), F32)), call, DTypeError)


def _integers(dtype: Any) -> Iterator[Case]:
    low = -(2**31) if dtype is I32 else -(2**63)
    x = HostTensor.from_flat([-7, low, 7], (3,), dtype)
    minus_one = HostTensor.from_flat([-1, -1, -1], (3,), dtype)
    zero = HostTensor.from_flat([1, 0, -1], (3,), dtype)
    yield Case(
        "primitives.div",
        f"{dtype} by minus one",
        (x, minus_one),
        primitives.div,
        lambda: HostTensor.from_flat([7, low, -7], (3,), dtype),
    )
    yield Case(
        "primitives.rem", f"{dtype} by minus one", (x, minus_one), primitives.rem, lambda: HostTensor.zeros((3,), dtype)
    )
    for call in (primitives.div, primitives.rem):
        yield refused(f"primitives.{call.__name__}", f"{dtype} zero divisor", (x, zero), call, DivisionByZeroError)
    yield refused("primitives.pow", f"{dtype} negative exponent", (x, zero), primitives.pow, ArgumentError)
