"""What is missing for devices of CUDA is said with the command that mends it, from every call and by the doctor."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from functools import partial
from typing import Any, cast

import pytest

import tensor_gpu.cuda.backend as entry
import tensor_runtime as tr
from tensor_core.errors import BackendUnavailableError
from tensor_gpu.backend import DeviceBackend
from tensor_gpu.cuda.info import info
from tensor_gpu.cuda.probe import CupyProbe
from tensor_gpu.cuda.report import ACCELERATORS, NOT_INSTALLED, VISIBLE, DeviceReport, Probe, examine
from tensor_gpu.sim.api import SimulatedApi
from tensor_runtime.backends.discovery import Candidate
from tensor_runtime.backends.registry import Registry, registry
from tensor_runtime.doctor import report
from tensor_runtime.placement import DeviceKind, GpuBackendKind, as_placement
from tensor_runtime.protocols import PROTOCOL_VERSION

CUDA = DeviceKind.gpu(GpuBackendKind.Cuda)


class Machine:
    """A probe of a machine that has everything but what is said."""

    modules: Any = None

    def __init__(self, **answers: Any) -> None:
        self.answers = answers

    def _answer(self, name: str, usual: Any) -> Any:
        found = self.answers.get(name, usual)
        if isinstance(found, Exception):
            raise found
        return found

    def installed(self) -> bool:
        return bool(self._answer("installed", True))

    def load(self) -> str:
        return str(self._answer("load", "14.2.0"))

    def driver(self) -> int:
        return int(self._answer("driver", 12040))

    def runtime(self) -> int:
        return int(self._answer("runtime", 12090))

    def devices(self) -> int:
        return int(self._answer("devices", 1))

    def library(self, name: str, /) -> None:
        self._answer(name, None)

    def launch(self) -> None:
        self._answer("launch", None)


MISSING: dict[str, tuple[dict[str, Any], str]] = {
    "cupy": (
        {"installed": False},
        "CuPy is not installed; pip install 'ironstride-tensor-gpu[cuda12]', or with [cuda13] for drivers of CUDA 13",
    ),
    "import": (
        {"load": ImportError("libcudart is\nodd")},
        "importing CuPy failed: ImportError: libcudart is odd; pip list names every cupy package: leave one of them, "
        "and pip install --force-reinstall it",
    ),
    "driver that fails": (
        {"driver": RuntimeError("cudaErrorSystemDriverMismatch: versions differ")},
        "the NVIDIA driver does not tell its version: RuntimeError: cudaErrorSystemDriverMismatch: versions differ; "
        "nvidia-smi says whether it works, and after an update of the driver the machine has to be started again",
    ),
    "runtime that fails": (
        {"runtime": RuntimeError("libcudart cannot\nbe loaded")},
        "CuPy does not tell the CUDA that it was built for: RuntimeError: libcudart cannot be loaded; python -c "
        "'import cupy; cupy.show_config()' says what it finds, and pip install --force-reinstall brings it anew",
    ),
    "driver": (
        {"driver": 0},
        "there is no NVIDIA driver; install one that knows CUDA 12 (as root, ubuntu-drivers install, or apt-get "
        "install nvidia-driver on Debian), and start a container with --gpus all; nvidia-smi then lists the devices",
    ),
    "old driver": (
        {"driver": 11040, "devices": RuntimeError("cudaErrorInsufficientDriver: CUDA driver version is insufficient")},
        "the NVIDIA driver is too old: it knows CUDA 11.4, and this CuPy is built for CUDA 12.9; install a newer "
        "driver (as root, ubuntu-drivers install, or apt-get install nvidia-driver on Debian), or a CuPy for CUDA 11",
    ),
    "device": (
        {"devices": RuntimeError("cudaErrorNoDevice: no CUDA-capable device is detected")},
        "the NVIDIA driver finds no device: RuntimeError: cudaErrorNoDevice: no CUDA-capable device is detected; "
        "nvidia-smi says what it sees, and a container needs --gpus all",
    ),
    "libraries": (
        {"cublas": ImportError("libcublas.so.12: no such file"), "nvrtc": RuntimeError("libnvrtc.so.12")},
        "the library cublas cannot be opened: ImportError: libcublas.so.12: no such file; "
        "pip install 'cupy-cuda12x[ctk]'; the library nvrtc cannot be opened: RuntimeError: libnvrtc.so.12; "
        "pip install 'cupy-cuda12x[ctk]'",
    ),
    "launch": (
        {"launch": RuntimeError("CUDA_ERROR_NO_BINARY_FOR_GPU")},
        "a kernel of one element failed: RuntimeError: CUDA_ERROR_NO_BINARY_FOR_GPU; nvidia-smi says whether the "
        "device is free and sound, and python -c 'import cupy; cupy.show_config()' what CuPy uses",
    ),
}


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (ACCELERATORS, VISIBLE):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(("answers", "message"), MISSING.values(), ids=MISSING)
def test_what_is_missing_is_named_with_what_mends_it(answers: dict[str, Any], message: str) -> None:
    probe: Probe = Machine(**answers)

    assert examine(probe).message == message


def test_where_nothing_is_missing_the_report_says_what_there_is() -> None:
    assert examine(Machine(devices=2)) == DeviceReport("14.2.0", 12040, 12090, 2)


def test_what_was_found_before_something_is_missing_stays_in_the_report() -> None:
    failed = RuntimeError("it failed")

    assert examine(Machine(driver=failed))[:3] == ("14.2.0", 0, 0)
    assert examine(Machine(runtime=failed))[:3] == ("14.2.0", 12040, 0)


def test_a_misspelt_accelerator_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ACCELERATORS, "cutensr")

    assert examine(Machine(load=ValueError("Unknown accelerator: cutensr"))).message == (
        "importing CuPy failed: ValueError: Unknown accelerator: cutensr; unset CUPY_ACCELERATORS, which is 'cutensr'"
    )


def test_devices_that_a_variable_hides_are_told_by_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VISIBLE, "")

    assert examine(Machine(devices=0)).message == (
        "the NVIDIA driver finds no device; unset CUDA_VISIBLE_DEVICES, which is ''"
    )


def of_machine(monkeypatch: pytest.MonkeyPatch, machine: Machine) -> Registry:
    """A registry whose cuda backend finds this machine."""
    monkeypatch.setattr(entry, "CupyApi", lambda modules: SimulatedApi(devices=1, memory_bytes=1 << 20))
    ready = {**info(), "status": "ready"}
    return Registry(
        lambda: [
            Candidate(
                "cuda", "ironstride-tensor-gpu 1", lambda: partial(entry.backend, cast(CupyProbe, machine)), ready
            )
        ]
    )


def test_every_call_gives_the_message_and_the_doctor_does(monkeypatch: pytest.MonkeyPatch) -> None:
    answers, message = MISSING["driver"]
    known = of_machine(monkeypatch, Machine(**answers))

    for _ in range(2):
        with pytest.raises(BackendUnavailableError) as caught:
            known.backend_for(as_placement("cuda"))
        assert str(caught.value) == f"backend 'cuda': {message}"
    (row,) = known.backends()
    assert (row.status, row.troubled) == (message, False)
    assert any(message in line for line in report(known)[0])


def test_where_nothing_is_missing_there_is_a_backend(monkeypatch: pytest.MonkeyPatch) -> None:
    backend = of_machine(monkeypatch, Machine()).backend_for(as_placement("cuda"))

    assert isinstance(backend, DeviceBackend)
    assert backend.device_kind is CUDA


def test_the_entry_speaks_the_protocol_of_this_runtime() -> None:
    assert info()["protocol_version"] == PROTOCOL_VERSION
    assert info()["device_kinds"] == ("cuda",)


def test_without_cupy_the_entry_says_so_before_anything_is_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tensor_gpu.cuda.report.find_spec", lambda name: None)

    assert info()["status"] == NOT_INSTALLED


CALLS: tuple[Callable[[], object], ...] = (
    lambda: tr.to(tr.ones(2), "cuda"),
    lambda: tr.ones(2, placement="cuda:1"),
    lambda: tr.stream("cuda"),
    lambda: tr.memory("cuda"),
    lambda: tr.synchronize("cuda"),
)


@pytest.mark.skipif(
    importlib.util.find_spec("cupy") is not None, reason="CuPy is installed: `make test-cupy` asks then"
)
@pytest.mark.parametrize("call", CALLS)
def test_here_every_call_says_that_cupy_is_not_installed(call: Callable[[], object]) -> None:
    with pytest.raises(BackendUnavailableError) as caught:
        call()

    assert str(caught.value) == f"backend 'cuda': {NOT_INSTALLED}"
    assert next(row.status for row in registry.backends() if row.name == "cuda") == NOT_INSTALLED
