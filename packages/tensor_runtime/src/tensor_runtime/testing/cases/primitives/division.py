"""Cases of strict division."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, Final

from tensor_core.dtypes import (
    I32,
    I64,
    NUMERIC,
    REAL,
    DType,
)
from tensor_core.errors import (
    DivisionByZeroError,
)
from tensor_core.host.tensor import HostTensor
from tensor_runtime import primitives
from tensor_runtime.testing.case import Case, refused
from tensor_runtime.testing.cases.arithmetic import Row
from tensor_runtime.testing.cases.division import rest
from tensor_runtime.testing.cases.primitives.strict import TWO, rows_cases
from tensor_runtime.testing.oracle import (
    elementwise,
)


def quotient(x: Any, y: Any, /) -> Any:
    """Division, of integers toward zero.

    >>> quotient(-7, 2), quotient(-7.0, 2.0)
    (-3, -3.5)
    """
    if isinstance(x, int):
        return abs(x) // abs(y) * (1 if (x < 0) is (y < 0) else -1)
    return x / y


ROWS: Final = (
    Row(primitives.div, quotient, NUMERIC, ulps=2),
    Row(primitives.rem, rest, REAL),
)


def cases() -> Iterator[Case]:
    """Every case of the family."""
    yield from rows_cases(ROWS, TWO)
    for dtype in (I32, I64):
        yield from _integers(dtype)


def _integers(dtype: DType) -> Iterator[Case]:
    low = -(2**31) if dtype is I32 else -(2**63)
    x, y = HostTensor.from_nested([-7, 7, -8], dtype), HostTensor.from_nested([2, -2, 3], dtype)
    toward_zero = partial(elementwise, quotient, dtype, x, y)
    yield Case("primitives.div", f"{dtype} toward zero", (x, y), primitives.div, toward_zero)
    x, minus_one = HostTensor.from_nested([-7, low, 7], dtype), HostTensor.from_nested([-1, -1, -1], dtype)
    zero = HostTensor.from_nested([1, 0, -1], dtype)
    for call, expected in ((primitives.div, [7, low, -7]), (primitives.rem, [0, 0, 0])):
        name = f"primitives.{call.__name__}"
        wrapped = partial(HostTensor.from_nested, expected, dtype)
        yield Case(name, f"{dtype} by minus one", (x, minus_one), call, wrapped)
        yield refused(name, f"{dtype} zero divisor", (x, zero), call, DivisionByZeroError)
