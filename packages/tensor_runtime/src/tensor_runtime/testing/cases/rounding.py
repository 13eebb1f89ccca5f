"""Cases of ``tensor_runtime.ops.rounding``: whole numbers, and numbers that are finite or not."""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final

from tensor_core.dtypes import ALL, DTYPES, F32, F64, REAL, Bool
from tensor_core.host.tensor import HostTensor
from tensor_runtime.dispatch.dtype_rules import boolean
from tensor_runtime.ops import rounding
from tensor_runtime.testing.case import Case
from tensor_runtime.testing.cases.arithmetic import Row, unary_cases
from tensor_runtime.testing.oracle import elementwise

_ORDERED: Final = REAL | {Bool}
FRACTIONS: Final = (-2.5, -1.5, -0.5, -0.25, -0.0, 0.0, 0.25, 0.5, 1.5, 2.5, 2.75, 1e20)


def _kept(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """``function`` of finite floats, with the sign of the element; all else is whole already, or has no number."""

    def rounded(x: Any) -> Any:
        if isinstance(x, complex):
            return complex(rounded(x.real), rounded(x.imag))
        if not isinstance(x, float) or not math.isfinite(x):
            return x
        return math.copysign(float(function(x)), x)

    return rounded


def _about(function: Callable[[complex], bool]) -> Callable[[Any], bool]:
    return lambda x: function(complex(x))


ROUNDINGS: Final = (
    Row(rounding.floor, _kept(math.floor), _ORDERED),
    Row(rounding.ceil, _kept(math.ceil), _ORDERED),
    Row(rounding.trunc, _kept(math.trunc), _ORDERED),
    Row(rounding.round, _kept(round), ALL),
)
PREDICATES: Final = (
    Row(rounding.isnan, _about(cmath.isnan), ALL, boolean),
    Row(rounding.isinf, _about(cmath.isinf), ALL, boolean),
    Row(rounding.isfinite, _about(cmath.isfinite), ALL, boolean),
)


def cases() -> Iterator[Case]:
    """Every case of the family."""
    for row in (*ROUNDINGS, *PREDICATES):
        yield from unary_cases(row)
    for row in ROUNDINGS:
        for floating in (F32, F64):
            x = HostTensor.from_flat(FRACTIONS, (len(FRACTIONS),), floating)
            yield Case(row.name, f"{floating} fractions", (x,), row.call, partial(elementwise, row.oracle, floating, x))
    parts = (complex(1, math.nan), complex(math.inf, 0), complex(math.nan, math.inf), 1j)
    for dtype in DTYPES:
        if dtype.kind == "complex":
            z = HostTensor.from_flat(parts, (len(parts),), dtype)
            for row in PREDICATES:
                yield Case(row.name, f"{dtype} parts", (z,), row.call, partial(elementwise, row.oracle, Bool, z))
