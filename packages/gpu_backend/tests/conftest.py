"""What tests of devices run with."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import tensor_runtime as tr
from fake_cupy.driver import Machine
from fake_cupy.libraries import modules
from gpu_programs.building import compiler
from tensor_core.errors import BackendUnavailableError
from tensor_gpu.backend import DeviceBackend
from tensor_gpu.cuda.cupy_api import CupyApi
from tensor_gpu.cuda.exchange import CudaBackend
from tensor_gpu.sim.api import SimulatedApi
from tensor_runtime.backends.registry import registry
from tensor_runtime.placement import DeviceKind


@pytest.fixture
def machine() -> Machine:
    """Two devices that stand for real ones (``tools/fake_cupy``)."""
    return Machine(devices=2, memory_bytes=1 << 20, seed=3)


@pytest.fixture
def api(machine: Machine) -> CupyApi:
    """What asks their libraries."""
    return CupyApi(modules(machine))


@pytest.fixture(scope="module")
def shared() -> Machine:
    """The machine behind ``place``."""
    return Machine(devices=2)


@pytest.fixture(scope="module")
def place(shared: Machine) -> Iterator[str]:
    """The second device of a backend on ``shared``."""
    tr.register_backend("fake", CudaBackend(CupyApi(modules(shared)), DeviceKind.other("fake"), device_type=99))
    yield "fake:1"
    registry.unregister("fake")


@pytest.fixture
def driven() -> Iterator[SimulatedApi]:
    """Devices ``driven:0`` and ``driven:1``."""
    found = SimulatedApi(devices=2, memory_bytes=1 << 24)
    tr.register_backend("driven", DeviceBackend(found, DeviceKind.other("driven")))
    yield found
    registry.unregister("driven")


@pytest.fixture
def drivenfake() -> Iterator[Machine]:
    """Device ``drivenfake:0``, on what stands for CuPy."""
    found = Machine()
    tr.register_backend(
        "drivenfake", CudaBackend(CupyApi(modules(found)), DeviceKind.other("drivenfake"), device_type=97)
    )
    yield found
    registry.unregister("drivenfake")


@pytest.fixture(scope="session")
def on_host() -> None:
    """Sources of programs run on the host; skipped where no compiler of C++ is."""
    try:
        compiler()
    except BackendUnavailableError as error:
        pytest.skip(f"sources are not run on the host: {error}")
