"""Cases of ``tensor_runtime.primitives``: equal shapes, equal dtypes, nothing implicit."""

from __future__ import annotations

import cmath
import math
import operator
from collections.abc import Iterator
from functools import partial, reduce
from typing import Any, Final

from tensor_core.dtypes import ALL, DTYPES, F32, F64, FLOATING, I32, I64, INTEGER, NUMERIC, REAL, Bool, DType
from tensor_core.errors import DivisionByZeroError, DTypeError, ShapeError
from tensor_core.host.tensor import HostTensor
from tensor_runtime import primitives
from tensor_runtime.dispatch.dtype_rules import boolean, component, reduced_axes
from tensor_runtime.dispatch.spec import same
from tensor_runtime.testing.case import Case, refused
from tensor_runtime.testing.cases.arithmetic import Row
from tensor_runtime.testing.cases.reduction import largest, smallest
from tensor_runtime.testing.oracle import elementwise, reduced, whole_numbers


def _exponential(x: Any) -> Any:
    return cmath.exp(x) if isinstance(x, complex) else math.exp(x)


def _root(x: Any) -> Any:
    return cmath.sqrt(x) if isinstance(x, complex) else math.sqrt(x)


def quotient(x: Any, y: Any, /) -> Any:
    """Division, of integers toward zero.

    >>> quotient(-7, 2), quotient(-7.0, 2.0)
    (-3, -3.5)
    """
    if isinstance(x, int):
        return abs(x) // abs(y) * (1 if (x < 0) is (y < 0) else -1)
    return x / y


BINARY: Final = (
    Row(primitives.add, operator.add, NUMERIC),
    Row(primitives.sub, operator.sub, NUMERIC),
    Row(primitives.mul, operator.mul, NUMERIC),
    Row(primitives.div, quotient, NUMERIC, ulps=2),
)
UNARY: Final = (
    Row(primitives.neg, operator.neg, NUMERIC),
    Row(primitives.abs, abs, NUMERIC, component, ulps=1),
    Row(primitives.conj, lambda x: x.conjugate(), NUMERIC),
    Row(primitives.exp, _exponential, FLOATING, ulps=4),
    Row(primitives.sqrt, _root, FLOATING, ulps=4),
)
_ORDERED: Final = REAL | {Bool}
_BITS: Final = INTEGER | {Bool}
_DIRECTIONS: Final = (
    ("equal", operator.eq, ALL),
    ("not_equal", operator.ne, ALL),
    ("less", operator.lt, _ORDERED),
    ("less_equal", operator.le, _ORDERED),
    ("greater", operator.gt, _ORDERED),
    ("greater_equal", operator.ge, _ORDERED),
)


def cases() -> Iterator[Case]:
    """Every case of the family."""
    for row in BINARY:
        yield from strict_cases(row, f"primitives.{row.name}", (1, 7), (1, 6))
    for row in UNARY:
        yield from strict_cases(row, f"primitives.{row.name}", (1, 7))
    for direction, oracle, accepts in _DIRECTIONS:
        row = Row(partial(primitives.compare, direction=direction), oracle, accepts, boolean)
        yield from strict_cases(row, "primitives.compare", (-3, 8), (-2, 7), label=f"{direction} ")
    for dtype in DTYPES:
        yield from _reductions(dtype)
    for dtype in (I32, I64):
        operands = (HostTensor.from_nested([-7, 7, -8], dtype), HostTensor.from_nested([2, -2, 3], dtype))
        yield Case(
            "primitives.div",
            f"{dtype} toward zero",
            operands,
            primitives.div,
            partial(elementwise, quotient, dtype, *operands),
        )
        zero = (operands[0], HostTensor.from_nested([1, 0, 1], dtype))
        yield refused("primitives.div", f"{dtype} by zero", zero, primitives.div, DivisionByZeroError)


def strict_cases(row: Row, name: str, /, *numbers: tuple[int, int], label: str = "") -> Iterator[Case]:
    """Dtypes accepted and refused of one primitive, and what does not fit together."""
    for dtype in DTYPES:
        operands = tuple(whole_numbers((2, 3), dtype, *one) for one in numbers)
        if dtype not in row.accepts:
            yield refused(name, f"{label}{dtype} refused", operands, row.call, DTypeError)
            continue
        yield Case(
            name,
            f"{label}{dtype}",
            operands,
            row.call,
            partial(elementwise, row.oracle, row.result(dtype), *operands),
            row.ulps if dtype.kind == "complex" or row.ulps > 2 else 0,
        )
    if len(numbers) == 2:
        one, other = (F64, F32) if F64 in row.accepts else (I64, I32)
        x = whole_numbers((3,), one)
        yield refused(name, f"{label}unequal shapes", (x, whole_numbers((1,), one)), row.call, ShapeError)
        yield refused(name, f"{label}unequal dtypes", (x, whole_numbers((3,), other)), row.call, DTypeError)


def _reductions(dtype: DType) -> Iterator[Case]:
    x = whole_numbers((2, 3, 2), dtype)
    for function, oracle, accepts in (
        (primitives.reduce_sum, sum, NUMERIC),
        (primitives.reduce_prod, math.prod, NUMERIC),
        (primitives.reduce_max, largest, _ORDERED),
        (primitives.reduce_min, smallest, _ORDERED),
        (primitives.reduce_and, partial(reduce, operator.and_), _BITS),
        (primitives.reduce_or, partial(reduce, operator.or_), _BITS),
    ):
        name = f"primitives.{function.__name__}"
        for axes in ((), (1,), (0, -1)):
            if dtype not in accepts:
                yield refused(name, f"{dtype} {axes} refused", (x,), partial(function, axes=axes), DTypeError)
                continue
            yield Case(
                name,
                f"{dtype} {axes}",
                (x,),
                partial(function, axes=axes),
                partial(_reduced, oracle, same(dtype), x, axes),
                ulps=1,  # the sign of a zero is free
            )


def _reduced(oracle: Any, dtype: DType, x: Any, axes: tuple[int, ...]) -> Any:
    return reduced(oracle, dtype, x, reduced_axes("reduce", x.rank, axes or None))
