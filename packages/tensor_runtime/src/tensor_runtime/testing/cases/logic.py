"""Cases of ``tensor_runtime.ops.logic``: truth values and bits."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any, Final

from tensor_core.dtypes import ALL, I32, I64, INTEGER, Bool
from tensor_core.host.tensor import HostTensor
from tensor_runtime.dispatch.dtype_rules import boolean
from tensor_runtime.ops import logic
from tensor_runtime.testing.case import Case
from tensor_runtime.testing.cases.arithmetic import Row, binary_case, binary_cases, unary_cases
from tensor_runtime.testing.oracle import whole_numbers


def _truth(function: Callable[[bool, bool], bool]) -> Callable[[Any, Any], bool]:
    return lambda x, y: function(bool(x), bool(y))


def left(x: int, count: int, /) -> int:
    """Bits moved up; a count below 0 or beyond the width of any integer leaves 0.

    >>> left(3, 2), left(3, -1), left(3, 1000)
    (12, 0, 0)
    """
    return x << count if 0 <= count < 64 else 0


def right(x: int, count: int, /) -> int:
    """Bits moved down; a count below 0 or beyond the width of any integer leaves the sign.

    >>> right(-7, 1), right(-7, -1), right(7, 1000)
    (-4, -1, 0)
    """
    return x >> count if 0 <= count < 64 else -(x < 0)


_BITS: Final = INTEGER | {Bool}
BINARY: Final = (
    Row(logic.logical_and, _truth(operator.and_), ALL, boolean),
    Row(logic.logical_or, _truth(operator.or_), ALL, boolean),
    Row(logic.logical_xor, _truth(operator.xor), ALL, boolean),
    Row(logic.bitwise_and, operator.and_, _BITS),
    Row(logic.bitwise_or, operator.or_, _BITS),
    Row(logic.bitwise_xor, operator.xor, _BITS),
)
SHIFTS: Final = (Row(logic.bitwise_left_shift, left, INTEGER), Row(logic.bitwise_right_shift, right, INTEGER))


def cases() -> Iterator[Case]:
    """Every case of the family."""
    for row in (*BINARY, *SHIFTS):
        yield from binary_cases(row)
    yield from unary_cases(Row(logic.logical_not, operator.not_, ALL, boolean))
    yield from unary_cases(Row(logic.bitwise_invert, lambda x: not x if isinstance(x, bool) else ~x, _BITS))
    for row in SHIFTS:
        for dtype, width in ((I32, 32), (I64, 64)):
            counts = HostTensor.from_flat([0, width - 1, width, 1000, -1, -1000], (6,), dtype)
            yield binary_case(row, f"{dtype} counts", whole_numbers((3, 1), dtype), counts)
