"""Cases of strict exponentials, logarithms, roots and the error function."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tensor_core.dtypes import (
    FLOATING,
    REAL_FLOATING,
)
from tensor_runtime import primitives
from tensor_runtime.testing.case import Case
from tensor_runtime.testing.cases import exponential
from tensor_runtime.testing.cases.arithmetic import Row
from tensor_runtime.testing.cases.primitives.strict import ONE, rows_cases

_ORACLES: Final = {row.name: row.oracle for row in exponential.ROWS}
_FUNCTIONS: Final = (
    primitives.exp,
    primitives.expm1,
    primitives.log,
    primitives.log1p,
    primitives.sqrt,
    primitives.rsqrt,
)


def cases() -> Iterator[Case]:
    """Every case of the family."""
    yield from rows_cases((Row(call, _ORACLES[call.__name__], FLOATING, ulps=8) for call in _FUNCTIONS), ONE)
    yield from rows_cases((Row(primitives.erf, _ORACLES["erf"], REAL_FLOATING, ulps=4),), ONE)
