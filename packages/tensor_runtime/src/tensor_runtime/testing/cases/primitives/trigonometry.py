"""Cases of strict trigonometric functions."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final

from tensor_core.dtypes import (
    FLOATING,
    REAL_FLOATING,
)
from tensor_runtime import primitives
from tensor_runtime.testing.case import Case
from tensor_runtime.testing.cases import trigonometry
from tensor_runtime.testing.cases.arithmetic import Row
from tensor_runtime.testing.cases.primitives.strict import ONE, TWO, rows_cases

_ORACLES: Final = {row.name: row.oracle for row in trigonometry.ROWS}
_FUNCTIONS: Final = (primitives.sin, primitives.cos, primitives.tan, primitives.tanh)


def cases() -> Iterator[Case]:
    """Every case of the family."""
    yield from rows_cases((Row(call, _ORACLES[call.__name__], FLOATING, ulps=8) for call in _FUNCTIONS), ONE)
    yield from rows_cases((Row(primitives.atan2, math.atan2, REAL_FLOATING, ulps=4),), TWO)
