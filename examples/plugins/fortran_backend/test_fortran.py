"""The conformance suite on the backend, and that is all its tests; needs the extra ``testing``."""

from __future__ import annotations

import pytest

from tensor_runtime.placement import Placement, as_placement
from tensor_runtime.testing.conformance import BackendConformance


@pytest.fixture(scope="module")
def placement() -> Placement:
    """Where the suite computes."""
    return as_placement("fortran")


class TestFortran(BackendConformance):
    """Every operation on every layout; what the backend lacks is refused with its reason."""
