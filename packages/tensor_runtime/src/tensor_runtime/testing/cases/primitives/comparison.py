"""Cases of strict comparison."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from functools import partial
from typing import Final

from tensor_core.dtypes import (
    ALL,
    F64,
    REAL,
    Bool,
)
from tensor_core.errors import (
    ArgumentError,
)
from tensor_runtime import primitives
from tensor_runtime.dispatch.dtype_rules import boolean
from tensor_runtime.testing.case import Case, refused
from tensor_runtime.testing.cases.arithmetic import Row
from tensor_runtime.testing.cases.primitives.strict import strict_cases
from tensor_runtime.testing.oracle import (
    whole_numbers,
)

_ORDERED: Final = REAL | {Bool}
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
    for direction, oracle, accepts in _DIRECTIONS:
        row = Row(partial(primitives.compare, direction=direction), oracle, accepts, boolean)
        yield from strict_cases(row, "primitives.compare", (-3, 8), (-2, 7), label=f"{direction} ")
    x = whole_numbers((2,), F64)
    wrong = partial(primitives.compare, direction="=")
    yield refused("primitives.compare", "another direction", (x, x), wrong, ArgumentError)
