"""Cases of strict operations on bits."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import Final

from tensor_core.dtypes import (
    INTEGER,
    Bool,
)
from tensor_runtime import primitives
from tensor_runtime.testing.case import Case
from tensor_runtime.testing.cases.arithmetic import Row
from tensor_runtime.testing.cases.logic import left, right
from tensor_runtime.testing.cases.primitives.strict import ONE, TWO, rows_cases

_BITS: Final = INTEGER | {Bool}
BINARY: Final = (
    Row(primitives.and_, operator.and_, _BITS),
    Row(primitives.or_, operator.or_, _BITS),
    Row(primitives.xor, operator.xor, _BITS),
    Row(primitives.shift_left, left, INTEGER),
    Row(primitives.shift_right_arithmetic, right, INTEGER),
)


def cases() -> Iterator[Case]:
    """Every case of the family."""
    yield from rows_cases(BINARY, TWO)
    yield from rows_cases((Row(primitives.not_, lambda x: not x if isinstance(x, bool) else ~x, _BITS),), ONE)
