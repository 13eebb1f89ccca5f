"""Cases of ``tensor_runtime.ops.arithmetic``: a table of operations, and what each is tried with."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from functools import partial
from math import copysign, inf, nan, nextafter
from typing import Any, Final, NamedTuple

from tensor_core.dtypes import ALL, C64, DTYPES, F32, F64, FLOATING, I32, I64, NUMERIC, REAL, Bool, DType
from tensor_core.errors import ArgumentError, DTypeError, ShapeError
from tensor_core.host.tensor import HostTensor
from tensor_core.promotion import promote
from tensor_runtime.dispatch.dtype_rules import boolean, component, inexact
from tensor_runtime.dispatch.spec import same
from tensor_runtime.ops import arithmetic
from tensor_runtime.testing.case import Case, refused
from tensor_runtime.testing.oracle import elementwise, whole_numbers


class Row(NamedTuple):
    """One operation: its function, its oracle on elements of the common dtype, and what it accepts and gives."""

    call: Callable[..., Any]
    oracle: Callable[..., Any]
    accepts: frozenset[DType] = ALL
    result: Callable[[DType], DType] = same
    edges: bool = True  # whether NaN, infinities and signed zeros of a real dtype follow from the oracle
    ulps: int = 0  # of complex dtypes

    @property
    def name(self) -> str:
        """The public name."""
        return str(self.call.__name__)


def quotient(x: Any, y: Any, /) -> Any:
    """True division by IEEE 754.

    >>> quotient(1, 0), quotient(-1.0, 0.0), quotient(0, 0)
    (inf, -inf, nan)
    """
    if isinstance(x, complex) or isinstance(y, complex) or y:
        return x / y
    if x == 0 or x != x:
        return nan
    return copysign(inf, x) * copysign(1, y)


def sign(x: Any, /) -> Any:
    """-1, 0 or 1; of complex numbers a direction; NaN stays.

    >>> sign(-2.5), sign(3 + 4j)
    (-1, (0.6+0.8j))
    """
    if isinstance(x, complex):
        return x / abs(x) if x else 0
    return x if x != x else (x > 0) - (x < 0)


BINARY: Final = (
    Row(arithmetic.add, operator.add),
    Row(arithmetic.subtract, operator.sub, NUMERIC),
    Row(arithmetic.multiply, operator.mul),
    Row(arithmetic.divide, quotient, result=inexact, ulps=2),
)
SIGNS: Final = (
    Row(arithmetic.copysign, copysign, REAL | {Bool}, inexact),
    Row(arithmetic.nextafter, nextafter, REAL | {Bool}, inexact, edges=False),
)
UNARY: Final = (
    Row(arithmetic.square, lambda x: x * x, NUMERIC, ulps=2),
    Row(arithmetic.reciprocal, lambda x: quotient(1, x), result=inexact, ulps=2),
    Row(arithmetic.signbit, lambda x: copysign(1, x) < 0, REAL | {Bool}, boolean),
    Row(arithmetic.negative, operator.neg, NUMERIC),
    Row(arithmetic.positive, operator.pos, NUMERIC),
    Row(arithmetic.abs, abs, NUMERIC, component, ulps=1),
    Row(arithmetic.conj, lambda x: x.conjugate(), NUMERIC),
    Row(arithmetic.sign, sign, NUMERIC, ulps=2),
)
POWER: Final = Row(arithmetic.pow, lambda x, y: 1 if y == 0 else x**y, NUMERIC, edges=False, ulps=16)
SHAPES: Final = (((), ()), ((2, 3), ()), ((2, 1, 3), (4, 1)), ((0, 1), (3,)), ((3, 2), (3, 2)), ((1,), (0,)))
MIXED: Final = ((I32, I64), (I64, F32), (F32, F64), (Bool, I32), (I32, C64), (F64, Bool))
EDGES: Final = (0.0, -0.0, 1.5, -2.0, inf, -inf, nan)


def cases() -> Iterator[Case]:
    """Every case of the family."""
    for row in BINARY:
        yield from binary_cases(row)
    for row in UNARY:
        yield from unary_cases(row)
    for row in SIGNS:
        for case in binary_cases(row):
            if "F32" not in case.label or row.call is not arithmetic.nextafter:  # the oracle's next number is an F64
                yield case
    for dtype, largest in ((I32, 2**31 - 1), (I64, 2**63 - 1)):
        a = HostTensor.from_flat([largest, -largest - 1], (2,), dtype)
        for row in BINARY[:3]:
            yield binary_case(
                row, f"{dtype} wraps", a, a if row.name == "multiply" else HostTensor.from_nested([[1], [-1]], dtype)
            )
        for row in (UNARY[3], UNARY[5]):
            yield unary_case(row, f"{dtype} wraps", a)
    for case in binary_cases(POWER):
        yield case._replace(ulps=max(case.ulps, 4)) if case.operands[0].dtype in FLOATING else case
    yield from _powers()


def binary_cases(row: Row, /) -> Iterator[Case]:
    """Dtypes, shapes, Python numbers, edges and refusals of one operation on two operands."""
    for dtype in DTYPES:
        a, b = whole_numbers((2, 3), dtype), whole_numbers((3,), dtype, 1, 7)
        if dtype in row.accepts:
            yield binary_case(row, str(dtype), a, b)
        else:
            yield refused(row.name, f"{dtype} refused", (a, b), row.call, DTypeError)
    one = F64 if F64 in row.accepts else I64
    for shape_a, shape_b in SHAPES:
        a, b = whole_numbers(shape_a, one), whole_numbers(shape_b, one, 1, 7)
        yield binary_case(row, f"shapes {shape_a} {shape_b}", a, b)
    for first, second in MIXED:
        if promote(first, second) in row.accepts:
            yield binary_case(
                row, f"{first} with {second}", whole_numbers((2, 2), first), whole_numbers((2,), second, 1, 7)
            )
    for dtype in (F32, F64):
        if dtype in row.accepts and row.edges:
            a = HostTensor.from_flat(EDGES, (len(EDGES), 1), dtype)
            yield binary_case(row, f"{dtype} edges", a, HostTensor.from_flat(EDGES, (len(EDGES),), dtype))
    x, two = whole_numbers((2, 3), one), HostTensor.from_flat([2], (), one)
    for label, call, operands in (
        ("number on the right", lambda t: row.call(t, 2), (x, two)),
        ("number on the left", lambda t: row.call(2, t), (two, x)),
    ):
        yield binary_case(row, label, *operands)._replace(operands=(x,), call=call)
    yield refused(
        row.name, "shapes that do not fit", (whole_numbers((2,), one), whole_numbers((3,), one)), row.call, ShapeError
    )


def binary_case(row: Row, label: str, a: HostTensor[Any], b: HostTensor[Any], /) -> Case:
    """Two operands, by the row's oracle in their common dtype."""
    common = promote(a.dtype, b.dtype)
    result = row.result(common)
    computed = common if common in FLOATING or result is not F64 else F64
    ulps = row.ulps if common.kind == "complex" else 0
    return Case(
        row.name, label, (a, b), row.call, lambda: elementwise(row.oracle, result, a, b, computed=computed), ulps
    )


def unary_cases(row: Row, /) -> Iterator[Case]:
    """Dtypes, shapes, edges and refusals of one operation on one operand."""
    for dtype in DTYPES:
        a = whole_numbers((2, 3), dtype)
        if dtype in row.accepts:
            yield unary_case(row, str(dtype), a)
        else:
            yield refused(row.name, f"{dtype} refused", (a,), row.call, DTypeError)
    one = F64 if F64 in row.accepts else I64
    for shape in ((), (0, 2), (1, 3, 1), (2, 2, 2)):
        yield unary_case(row, f"shape {shape}", whole_numbers(shape, one))
    for dtype in (F32, F64):
        if dtype in row.accepts and row.edges:
            yield unary_case(row, f"{dtype} edges", HostTensor.from_flat(EDGES, (len(EDGES),), dtype))


def unary_case(row: Row, label: str, a: HostTensor[Any], /) -> Case:
    """One operand, by the row's oracle."""
    ulps = row.ulps if a.dtype.kind == "complex" else 0
    return Case(row.name, label, (a,), row.call, lambda: elementwise(row.oracle, row.result(a.dtype), a), ulps)


def _powers() -> Iterator[Case]:
    for dtype in (I32, I64):
        bases = HostTensor.from_flat([2, -3, 0, 1], (4,), dtype)
        yield binary_case(POWER, f"{dtype} wraps", bases, HostTensor.from_flat([63, 41, 0, 70], (4,), dtype))
        negative = HostTensor.from_flat([1, 2, -1, 0], (4,), dtype)
        yield refused("pow", f"{dtype} negative exponent", (bases, negative), arithmetic.pow, ArgumentError)
        yield refused("pow", f"{dtype} negative number", (bases,), lambda x: arithmetic.pow(x, -1), ArgumentError)
    for floating in (F32, F64):
        bases = HostTensor.from_flat([0.0, nan, -8.0, inf, 4.0, 2.0, -2.0], (7,), floating)
        exponents = HostTensor.from_flat([0.0, 0.0, 0.5, -1.0, 0.5, -inf, 3.0], (7,), floating)
        wanted = HostTensor.from_flat([1.0, 1.0, nan, 0.0, 2.0, 0.0, -8.0], (7,), floating)
        yield Case("pow", f"{floating} edges", (bases, exponents), arithmetic.pow, partial(_given, wanted))
        yield Case(
            "pow",
            f"{floating} zero to a negative power",
            (HostTensor.from_flat([0.0, -0.0], (2,), floating),),
            lambda x: arithmetic.pow(x, -1),
            partial(_given, HostTensor.from_flat([inf, -inf], (2,), floating)),
        )


def _given(wanted: Any) -> Any:
    return wanted
