"""Cases of strict rounding."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from typing import Final

from tensor_core.dtypes import (
    FLOATING,
    REAL_FLOATING,
)
from tensor_core.host.tensor import HostTensor
from tensor_runtime import primitives
from tensor_runtime.dispatch.dtype_rules import boolean
from tensor_runtime.testing.case import Case
from tensor_runtime.testing.cases import rounding
from tensor_runtime.testing.cases.arithmetic import Row
from tensor_runtime.testing.cases.primitives.strict import ONE, rows_cases

_ORACLES: Final = {row.name: row.oracle for row in rounding.ROUNDINGS}


def cases() -> Iterator[Case]:
    """Every case of the family."""
    roundings = (primitives.floor, primitives.ceil, primitives.round)
    yield from rows_cases((Row(call, _ORACLES[call.__name__], REAL_FLOATING, ulps=4) for call in roundings), ONE)
    yield from rows_cases((Row(primitives.is_finite, lambda x: True, FLOATING, boolean),), ONE)
    x = HostTensor.from_nested([1.0, math.inf, math.nan])
    expected = partial(HostTensor.from_nested, [True, False, False])
    yield Case("primitives.is_finite", "not finite", (x,), primitives.is_finite, expected)
