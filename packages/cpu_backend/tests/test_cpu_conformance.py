"""The conformance suite on ``cpu``, while NumPy is told to raise where it would warn."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from tensor_runtime.placement import CPU, Placement
from tensor_runtime.testing.conformance import BackendConformance


@pytest.fixture(scope="module")
def placement() -> Iterator[Placement]:
    with np.errstate(all="raise"):
        yield CPU


class TestCpuConformance(BackendConformance):
    pass
