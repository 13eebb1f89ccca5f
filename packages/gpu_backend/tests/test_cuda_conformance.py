"""The conformance suite on a GPU, where there is one; with REQUIRE_GPU=1 a missing one is a failure."""

from __future__ import annotations

import os

import pytest

import tensor_runtime as tr
from tensor_core.errors import TensorError
from tensor_runtime.placement import Placement, as_placement
from tensor_runtime.testing.conformance import BackendConformance

try:
    tr.synchronize("cuda")
except TensorError as error:
    if os.environ.get("REQUIRE_GPU") == "1":
        raise
    pytest.skip(f"no GPU: {error}", allow_module_level=True)


@pytest.fixture(scope="module")
def placement() -> Placement:
    return as_placement("cuda:0")


class TestCudaConformance(BackendConformance):
    pass
