"""Cases of ``tensor_runtime.ops.trigonometry``: circular and hyperbolic functions and their inverses."""

from __future__ import annotations

import cmath
import math
from collections.abc import Iterator
from typing import Any, Final

from tensor_core.dtypes import REAL, Bool
from tensor_runtime.dispatch.dtype_rules import inexact
from tensor_runtime.ops import trigonometry
from tensor_runtime.testing.case import Case
from tensor_runtime.testing.cases import arithmetic
from tensor_runtime.testing.cases.exponential import Row, cases_of

_REAL: Final = REAL | {Bool}


def _sinh(x: float) -> float:
    return math.copysign(math.inf, x) if abs(x) > 720 else math.sinh(x)


ROWS: Final = (
    Row(trigonometry.sin, math.sin, cmath.sin),
    Row(trigonometry.cos, math.cos, cmath.cos),
    Row(trigonometry.tan, math.tan, cmath.tan),
    Row(trigonometry.asin, math.asin, cmath.asin),
    Row(trigonometry.acos, math.acos, cmath.acos),
    Row(trigonometry.atan, math.atan, cmath.atan, start=2),
    Row(trigonometry.asinh, math.asinh, cmath.asinh),
    Row(trigonometry.acosh, math.acosh, cmath.acosh, start=1),
    Row(trigonometry.atanh, lambda x: x * math.inf if abs(x) == 1 else math.atanh(x), cmath.atanh, start=2),
    Row(trigonometry.sinh, _sinh, cmath.sinh),
    Row(trigonometry.cosh, math.cosh, cmath.cosh),
    Row(trigonometry.tanh, math.tanh, cmath.tanh),
)


def cases() -> Iterator[Case]:
    """Every case of the family."""
    for row in ROWS:
        yield from cases_of(row)
    length: Any = arithmetic.Row(trigonometry.hypot, math.hypot, _REAL, inexact)
    for case in arithmetic.binary_cases(length):
        yield case if case.error else case._replace(ulps=2)
    angle: Any = arithmetic.Row(trigonometry.atan2, math.atan2, _REAL, inexact)
    for case in arithmetic.binary_cases(angle):
        yield case if case.error else case._replace(ulps=4)
