"""Devices for the tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import tensor_runtime as tr
from tensor_runtime.backends.registry import registry
from tensor_runtime.placement import Placement
from tensor_runtime.testing.simulated_device import ProgramBackend, SimulatedBackend


@pytest.fixture
def device() -> Iterator[SimulatedBackend]:
    """A registered device with memory of its own, which lacks one kernel."""
    made = SimulatedBackend(tr.backend("cpu"), "simulated", {"sqrt": "the device has no square root"})
    tr.register_backend("simulated", made)
    yield made
    registry.unregister("simulated")


@pytest.fixture
def lacking() -> Iterator[Callable[..., Placement]]:
    """Makes a device "odd" that lacks the kernels named."""

    def made(*kernels: str) -> Placement:
        one = SimulatedBackend(tr.backend("cpu"), "odd", dict.fromkeys(kernels, "the device has no such unit"))
        tr.register_backend("odd", one)
        return one.placement()

    yield made
    registry.unregister("odd")


@pytest.fixture
def machine() -> Iterator[ProgramBackend]:
    """A registered device that has programs as one kernel."""
    device = ProgramBackend(tr.backend("cpu"), "machine")
    registry.register("machine", device)
    yield device
    registry.unregister("machine")


@pytest.fixture(params=["cpu", "machine"])
def place(request: pytest.FixtureRequest, machine: ProgramBackend) -> Any:
    """The name of a backend with native programs or NumPy's, and of one that runs their steps."""
    return request.param
