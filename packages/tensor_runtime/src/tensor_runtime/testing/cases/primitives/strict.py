"""What every strict elementwise primitive does: dtypes accepted and refused, and what does not fit together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial

from tensor_core.dtypes import DTYPES, F32, F64, I32, I64
from tensor_core.errors import DTypeError, ShapeError
from tensor_runtime.testing.case import Case, refused
from tensor_runtime.testing.cases.arithmetic import Row
from tensor_runtime.testing.oracle import elementwise, whole_numbers

ONE = ((1, 7),)
TWO = ((1, 7), (1, 6))
"""First number and modulus of each operand."""


def rows_cases(rows: Iterable[Row], numbers: tuple[tuple[int, int], ...], /) -> Iterator[Case]:
    """Cases of each primitive, on the same numbers.

    >>> list(rows_cases((), ONE))
    []
    """
    for row in rows:
        yield from strict_cases(row, f"primitives.{row.name}", *numbers)


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
