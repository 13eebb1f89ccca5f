"""Cases of strict order along an axis."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from tensor_core.dtypes import (
    DTYPES,
    F64,
    I64,
)
from tensor_core.errors import (
    AxisError,
)
from tensor_runtime import primitives
from tensor_runtime.testing.case import Case, refused
from tensor_runtime.testing.cases.sort import ordered
from tensor_runtime.testing.oracle import (
    Host,
    tabulated,
    whole_numbers,
)


def cases() -> Iterator[Case]:
    """Every case of the family."""
    for dtype in DTYPES:
        x = whole_numbers((2, 5), dtype)
        for descending in (False, True):
            label = f"{dtype} descending" if descending else str(dtype)
            options: Any = {"axis": 1, "descending": descending}
            yield Case(
                "primitives.sort", label, (x,), partial(primitives.sort, **options), partial(_sorted, x, descending)
            )
            order = partial(_order, x, descending)
            yield Case("primitives.argsort", label, (x,), partial(primitives.argsort, **options), order)
    for call in (primitives.sort, primitives.argsort):
        wrong = partial(call, axis=0, descending=False)
        yield refused(f"primitives.{call.__name__}", "rank 0", (whole_numbers((), F64),), wrong, AxisError)


def _order(x: Host, descending: bool) -> Host:
    lines = [ordered([x[row, k] for k in range(5)], descending) for row in range(2)]
    return tabulated((2, 5), I64, lambda at: lines[at[0]][at[1]])


def _sorted(x: Host, descending: bool) -> Host:
    order = _order(x, descending)
    return tabulated((2, 5), x.dtype, lambda at: x[at[0], order[at]])
