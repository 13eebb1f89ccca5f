"""The doctor: what it says, whether it stays on its feet, and its exit status."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import tensor_runtime as tr
from tensor_runtime.__main__ import main
from tensor_runtime.doctor import report
from tensor_runtime.registry import Candidate, Registry, registry
from tensor_runtime.testing.simulated import SimulatedBackend


def registry_of(*candidates: Candidate) -> Registry:
    return Registry(lambda: candidates)


def cpu() -> Candidate:
    return Candidate("cpu", "ironstride-tensor-cpu 0.1.0", lambda: tr.backend("cpu"), {"device_kinds": ("cpu",)})


def broken(name: str = "bad") -> Candidate:
    def load() -> object:
        raise ImportError("libbad.so: cannot open shared object file")

    return Candidate(name, "bad-plugin 1.0", load, {"device_kinds": ("other",)})


def test_it_prints_versions_backends_blas_and_threads(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor"]) == 0
    printed = capsys.readouterr().out
    for part in ("python ", "ironstride-tensor-core ", "backend cpu for cpu", "ready", "numpy ", "blas ", "threads"):
        assert part in printed
    assert printed.endswith("tensors can be used\n")


def test_a_backend_that_is_not_in_this_release_is_no_trouble() -> None:
    absent = Candidate("gpu", "g 1", lambda: None, {"device_kinds": ("cuda",), "status": "absent", "reason": "later"})
    lines, healthy = report(registry_of(cpu(), absent))
    assert healthy
    assert "  status  absent: later" in lines


def test_without_any_backend_it_names_the_install_command() -> None:
    lines, healthy = report(registry_of())
    assert not healthy
    assert lines[-1] == "problem: no backend serves device 'cpu'; pip install ironstride-tensor-cpu"


def test_a_broken_backend_is_reported_and_the_others_too() -> None:
    lines, healthy = report(registry_of(broken(), cpu()))
    assert not healthy
    assert "  status  broken: ImportError: libbad.so: cannot open shared object file" in lines
    assert any(line.startswith("  status") and line.endswith("ready") for line in lines)
    assert lines[-1] == "problem: bad: broken: ImportError: libbad.so: cannot open shared object file"


def test_two_claims_of_one_device_are_a_problem() -> None:
    other = Candidate("mine", "other 1.0", lambda: tr.backend("cpu"), {"device_kinds": ("cpu",)})
    lines, healthy = report(registry_of(cpu(), other))
    assert not healthy
    assert "is claimed by 'cpu' of ironstride-tensor-cpu 0.1.0 and 'mine' of other 1.0" in lines[-1]


def test_what_a_backend_lacks_is_listed_with_its_reason() -> None:
    device = SimulatedBackend(tr.backend("cpu"), "sim", {"exp": "no exponential unit"})
    candidate = Candidate("sim", "sim 1.0", lambda: device, {"device_kinds": ("sim",)})
    lines, healthy = report(registry_of(cpu(), candidate))
    assert healthy
    assert any(line.split() == ["lacks", "exp", "no", "exponential", "unit"] for line in lines)


def test_a_backend_whose_report_fails_is_reported() -> None:
    class Silent(SimulatedBackend):
        def describe(self) -> Mapping[str, str]:
            raise ZeroDivisionError("nothing to say")

    device = Silent(tr.backend("cpu"), "silent")
    candidate = Candidate("silent", "s 1.0", lambda: device, {"device_kinds": ("silent",)})
    lines, _ = report(registry_of(cpu(), candidate))
    assert "  report  failed: ZeroDivisionError: nothing to say" in lines


@pytest.mark.parametrize("arguments", [[], ["docter"], ["doctor", "--all"]])
def test_anything_else_is_refused_in_one_line(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    printed: Any = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.count("\n") == 1
    assert "accepted: doctor" in printed.err


def test_it_runs_as_a_module() -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "tensor_runtime", "doctor"], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0
    assert "backend cpu for cpu" in ran.stdout
    assert ran.stderr == ""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
@pytest.mark.parametrize("options", [[], ["-u"]], ids=["buffered", "unbuffered"])
def test_a_full_disk_behind_its_output_is_one_line_and_status_2(options: list[str]) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    with Path("/dev/full").open("w") as full:
        ran = subprocess.run(
            [sys.executable, *options, "-m", "tensor_runtime", "doctor"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
            check=False,
        )

    assert ran.returncode == 2
    assert ran.stderr.startswith("python -m tensor_runtime: the output cannot be written: No space left on device")
    assert ran.stderr.count("\n") == 1


@pytest.mark.skipif(sys.platform == "win32", reason="no shell that closes a stream")
def test_a_closed_output_changes_no_exit_status() -> None:
    command = f'"{sys.executable}" -m tensor_runtime doctor >&-'
    ran = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)

    assert (ran.returncode, ran.stderr) == (0, "")


def test_it_changes_nothing_in_the_registry() -> None:
    before = [row.name for row in registry.backends()]
    report(registry)
    assert [row.name for row in registry.backends()] == before
