"""Cases of the strict ``concatenate``."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, Final

from tensor_core.dtypes import (
    DTYPES,
    F32,
    F64,
)
from tensor_core.errors import (
    ArgumentError,
    AxisError,
    DTypeError,
    ShapeError,
)
from tensor_runtime import primitives
from tensor_runtime.testing.case import Case, refused
from tensor_runtime.testing.oracle import (
    Host,
    tabulated,
    whole_numbers,
)


def cases() -> Iterator[Case]:
    """Every case of the family."""
    for dtype in DTYPES:
        x, y = whole_numbers((2, 3), dtype), whole_numbers((2, 1), dtype, 9)
        yield Case(_NAME, str(dtype), (x, y), _joined, partial(_expected, x, y))
    x = whole_numbers((2, 3), F64)
    yield refused(_NAME, "unequal dtypes", (x, whole_numbers((2, 3), F32)), _joined, DTypeError)
    yield refused(_NAME, "unequal extents", (x, whole_numbers((3, 3), F64)), _joined, ShapeError)
    yield refused(_NAME, "nothing", (x,), lambda x: primitives.concatenate((), 0), ArgumentError)
    yield refused(_NAME, "no such axis", (x,), lambda x: primitives.concatenate((x,), 2), AxisError)


_NAME: Final = "primitives.concatenate"


def _joined(*parts: Any) -> Any:
    return primitives.concatenate(parts, 1)


def _expected(x: Host, y: Host) -> Host:
    return tabulated((2, 4), x.dtype, lambda at: x[at] if at[1] < 3 else y[at[0], 0])
