"""Cases of strict complex numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tensor_core.dtypes import (
    COMPLEX,
    REAL_FLOATING,
)
from tensor_runtime import primitives
from tensor_runtime.dispatch.dtype_rules import component
from tensor_runtime.ops.complex_parts import paired
from tensor_runtime.testing.case import Case
from tensor_runtime.testing.cases.arithmetic import Row
from tensor_runtime.testing.cases.primitives.strict import ONE, TWO, rows_cases

PARTS: Final = (
    Row(primitives.real, lambda x: x.real, COMPLEX, component),
    Row(primitives.imag, lambda x: x.imag, COMPLEX, component),
)


def cases() -> Iterator[Case]:
    """Every case of the family."""
    yield from rows_cases(PARTS, ONE)
    yield from rows_cases((Row(primitives.complex, complex, REAL_FLOATING, paired),), TWO)
