"""Cases of ``tensor_runtime.ops.comparison``."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import Final

from tensor_core.dtypes import ALL, F64, I64, REAL, Bool
from tensor_core.host.tensor import HostTensor
from tensor_runtime.dispatch.dtype_rules import boolean
from tensor_runtime.ops import comparison
from tensor_runtime.testing.case import Case
from tensor_runtime.testing.cases.arithmetic import Row, binary_case, binary_cases

_ORDERED: Final = REAL | {Bool}
ROWS: Final = (
    Row(comparison.equal, operator.eq, ALL, boolean),
    Row(comparison.not_equal, operator.ne, ALL, boolean),
    Row(comparison.less, operator.lt, _ORDERED, boolean),
    Row(comparison.less_equal, operator.le, _ORDERED, boolean),
    Row(comparison.greater, operator.gt, _ORDERED, boolean),
    Row(comparison.greater_equal, operator.ge, _ORDERED, boolean),
)


def cases() -> Iterator[Case]:
    """Every case of the family."""
    a = HostTensor.from_nested([2**53 + 1, 2**53], I64)
    b = HostTensor.from_nested([2.0**53], F64)
    for row in ROWS:
        yield from binary_cases(row)
        yield binary_case(row, "large integers are rounded to F64 first", a, b)
