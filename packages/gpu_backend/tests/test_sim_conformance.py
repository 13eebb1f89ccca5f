"""The conformance suite on simulated devices: addresses of their own, checked memory, streams that run late."""

from __future__ import annotations

import pytest

from tensor_runtime.placement import Placement, as_placement
from tensor_runtime.testing.conformance import BackendConformance


@pytest.fixture(scope="module")
def placement() -> Placement:
    return as_placement("sim:1")


class TestSimConformance(BackendConformance):
    pass
