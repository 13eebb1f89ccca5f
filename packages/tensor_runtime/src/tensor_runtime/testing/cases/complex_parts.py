"""Cases of ``tensor_runtime.ops.complex_parts``: parts, and numbers from parts."""

from __future__ import annotations

from collections.abc import Iterator

from tensor_core.dtypes import ALL, REAL, Bool
from tensor_runtime.dispatch.dtype_rules import component
from tensor_runtime.ops import complex_parts
from tensor_runtime.ops.complex_parts import paired
from tensor_runtime.testing.case import Case
from tensor_runtime.testing.cases.arithmetic import Row, binary_cases, unary_cases


def cases() -> Iterator[Case]:
    """Every case of the family."""
    yield from unary_cases(Row(complex_parts.real, lambda x: x.real, ALL, component))
    yield from unary_cases(Row(complex_parts.imag, lambda x: x.imag, ALL, component, edges=True))
    yield from binary_cases(Row(complex_parts.complex, complex, REAL | {Bool}, paired))
