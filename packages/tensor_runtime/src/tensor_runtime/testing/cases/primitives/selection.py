"""Cases of strict choices."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Final

from tensor_core.dtypes import (
    DTYPES,
    F32,
    F64,
    REAL,
    Bool,
)
from tensor_core.errors import (
    DTypeError,
    ShapeError,
)
from tensor_runtime import primitives
from tensor_runtime.testing.case import Case, refused
from tensor_runtime.testing.cases.arithmetic import Row
from tensor_runtime.testing.cases.primitives.strict import TWO, rows_cases
from tensor_runtime.testing.cases.selection import between, greater, lesser
from tensor_runtime.testing.oracle import (
    elementwise,
    whole_numbers,
)

_ORDERED: Final = REAL | {Bool}
BINARY: Final = (
    Row(primitives.max, greater, _ORDERED),
    Row(primitives.min, lesser, _ORDERED),
)


def cases() -> Iterator[Case]:
    """Every case of the family."""
    yield from rows_cases(BINARY, TWO)
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
