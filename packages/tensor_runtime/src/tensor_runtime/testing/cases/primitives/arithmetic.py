"""Cases of strict arithmetic."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import Final

from tensor_core.dtypes import (
    I32,
    I64,
    NUMERIC,
)
from tensor_core.errors import (
    ArgumentError,
)
from tensor_core.host.tensor import HostTensor
from tensor_runtime import primitives
from tensor_runtime.dispatch.dtype_rules import component
from tensor_runtime.testing.case import Case, refused
from tensor_runtime.testing.cases.arithmetic import Row, sign
from tensor_runtime.testing.cases.primitives.strict import ONE, TWO, rows_cases

BINARY: Final = (
    Row(primitives.add, operator.add, NUMERIC),
    Row(primitives.sub, operator.sub, NUMERIC),
    Row(primitives.mul, operator.mul, NUMERIC),
    Row(primitives.pow, operator.pow, NUMERIC, ulps=16),
)
UNARY: Final = (
    Row(primitives.neg, operator.neg, NUMERIC),
    Row(primitives.abs, abs, NUMERIC, component, ulps=1),
    Row(primitives.conj, lambda x: x.conjugate(), NUMERIC),
    Row(primitives.sign, sign, NUMERIC, ulps=3),
)


def cases() -> Iterator[Case]:
    """Every case of the family."""
    yield from rows_cases(BINARY, TWO)
    yield from rows_cases(UNARY, ONE)
    for dtype in (I32, I64):
        x, exponents = (HostTensor.from_nested(numbers, dtype) for numbers in ([-7, 7, 2], [1, 0, -1]))
        yield refused("primitives.pow", f"{dtype} negative exponent", (x, exponents), primitives.pow, ArgumentError)
