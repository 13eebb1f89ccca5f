"""Conformance cases of functions of matrices, beside oracles in plain Python."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tensor_core.dtypes import F64
from tensor_core.host.tensor import HostTensor
from tensor_linalg.functions import det
from tensor_linalg.testing.cases.matrices import determinants, shifted
from tensor_linalg.testing.cases.rows import Row, case, cases_of
from tensor_runtime.testing.case import Case


def cases() -> Iterator[Case]:
    """Every case of a function of matrices."""
    yield from cases_of(ROWS)
    zeros = HostTensor.zeros((2, 2, 2), F64)
    yield case("linalg.det", "singular", (zeros,), det, None, lambda: HostTensor.zeros((2,), F64))


ROWS: Final = (Row(det, lambda a: shifted(a, 24), None, determinants),)
