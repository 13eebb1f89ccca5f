"""The doctor: what it says, whether it stays on its feet, and its exit status."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

import tensor_runtime as tr
from tensor_runtime.__main__ import main
from tensor_runtime.backends.discovery import Candidate
from tensor_runtime.backends.plugins.kernels import KernelTable
from tensor_runtime.backends.plugins.rules import RuleTable
from tensor_runtime.backends.plugins.table import Offer
from tensor_runtime.backends.registry import Registry, registry
from tensor_runtime.doctor import report
from tensor_runtime.testing.simulated_device import SimulatedBackend


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
    assert lines[-1] == "problem: bad of bad-plugin 1.0: broken: ImportError: libbad.so: cannot open shared object file"


def test_two_claims_of_one_device_are_a_problem() -> None:
    other = Candidate("mine", "other 1.0", lambda: tr.backend("cpu"), {"device_kinds": ("cpu",)})
    lines, healthy = report(registry_of(cpu(), other))
    assert not healthy
    assert "is claimed by 'cpu' of ironstride-tensor-cpu 0.1.0 and 'mine' of other 1.0" in lines[-1]


def problems_of(known: Registry) -> list[str]:
    return [line.removeprefix("problem: ") for line in report(known)[0] if line.startswith("problem: ")]


def test_two_backends_of_one_name_are_one_problem_shown_by_both() -> None:
    lines, healthy = report(
        registry_of(
            cpu(),
            Candidate("npu", "one 1.0", lambda: None, {"device_kinds": ("npu",)}),
            Candidate("npu", "two 1.0", lambda: None, {"device_kinds": ("tpu",)}),
        )
    )
    assert not healthy
    conflict = "conflict: backend name 'npu' is taken by one 1.0 and two 1.0; uninstall one"
    assert lines[-2:] == ["", f"problem: npu: {conflict}"]
    assert lines.count(f"  status  {conflict}") == 2


@pytest.mark.parametrize(
    ("candidates", "problem"),
    [
        (
            [cpu(), Candidate("mine", "other 1.0", lambda: tr.backend("cpu"), {"device_kinds": ("cpu",)})],
            "device 'cpu' is claimed by 'cpu' of ironstride-tensor-cpu 0.1.0 and 'mine' of other 1.0; uninstall one, ",
        ),
        ([], "no backend serves device 'cpu'; pip install ironstride-tensor-cpu"),
        (
            [Candidate("cpu", "bad-plugin 1.0", broken().load, {"device_kinds": ("cpu",)})],
            "backend 'cpu' of bad-plugin 1.0 did not load: ImportError: libbad.so: cannot open shared object file;",
        ),
        (
            [Candidate("cpu", "bad-plugin 1.0", broken().load, {})],
            "no backend serves device 'cpu'; 'cpu' of bad-plugin 1.0 may, but is broken: ImportError: libbad.so: ",
        ),
    ],
    ids=["two claims", "none", "broken", "perhaps broken"],
)
def test_whatever_keeps_cpu_from_being_served_is_one_problem(candidates: list[Candidate], problem: str) -> None:
    known = registry_of(*candidates)
    known.kernels = KernelTable(lambda: [Offer("cpu", "pythag", "a 1", lambda: bind_nothing)])

    (found,) = problems_of(known)
    assert found.startswith(problem)


def test_kernels_that_fail_for_one_reason_are_one_problem() -> None:
    offers = [Offer("cpu", name, "a 1", importing("libpythag")) for name in ("pythag", "croot")]
    offers += [Offer("npu", name, "b 2", lambda: bind_nothing) for name in ("pythag", "croot")]

    assert problems_of(with_kernels(*offers)) == [
        "cpu.croot of a 1 and cpu.pythag of a 1: broken: ImportError: libpythag is not there",
        "npu.croot of b 2 and npu.pythag of b 2: no backend is called 'npu'; there are cpu",
    ]


@pytest.mark.parametrize(
    ("entry", "lacks"), [("pythag", "backend"), (".pythag", "backend"), ("cpu.", "operation"), ("", "backend")]
)
def test_a_kernel_whose_entry_point_names_no_backend_or_operation_is_a_problem_with_a_remedy(
    entry: str, lacks: str
) -> None:
    scope, _, operation = entry.rpartition(".")
    known = with_kernels(Offer(scope, operation, "a 1", lambda: bind_nothing))

    assert problems_of(known) == [
        f"{entry.lstrip('.')} of a 1: misnamed: an entry point that names no {lacks}; accepted: BACKEND.OPERATION; "
        "mend or uninstall its package"
    ]


@pytest.mark.parametrize(("entry", "lacks"), [("pythag", "kind"), ("lower.", "operation")])
def test_a_rule_whose_entry_point_names_no_kind_or_operation_is_a_problem_with_a_remedy(entry: str, lacks: str) -> None:
    scope, _, operation = entry.rpartition(".")
    known = registry_of(cpu())
    known.rules = RuleTable(lambda: [Offer(scope, operation, "a 1", importing("librules"))])

    assert problems_of(known) == [
        f"{entry} of a 1: misnamed: an entry point that names no {lacks}; accepted: KIND.OPERATION; "
        "mend or uninstall its package"
    ]


def importing(name: str) -> Callable[[], object]:
    def load() -> object:
        raise ImportError(f"{name} is not there")

    return load


def bind_nothing(operands: object, result: object, params: object) -> object:
    return None


def with_kernels(*offers: Offer) -> Registry:
    known = registry_of(cpu())
    known.kernels = KernelTable(lambda: offers)
    return known


def test_kernels_of_others_are_tried_and_listed() -> None:
    lines, healthy = report(with_kernels(Offer("cpu", "pythag", "family 1.0", lambda: bind_nothing)))
    assert healthy
    where = lines.index("kernels brought by others")
    assert lines[where + 1] == "  cpu.pythag  family 1.0"


@pytest.mark.parametrize(
    ("offers", "problems"),
    [
        (
            [Offer("cpu", "pythag", "a 1", importing("libpythag"))],
            ["cpu.pythag of a 1: broken: ImportError: libpythag is not there"],
        ),
        (
            [Offer("cpu", "pythag", "a 1", lambda: 3)],
            [
                "cpu.pythag of a 1: broken: PluginLoadError: pythag: the kernel for cpu of a 1 is of type int; "
                "accepted: "
            ],
        ),
        (
            [Offer("npu", "pythag", "a 1", lambda: bind_nothing)],
            ["npu.pythag of a 1: no backend is called 'npu'; there are cpu"],
        ),
        (
            [Offer("cpu", "add", "a 1", lambda: bind_nothing)],
            ["cpu.add of a 1: conflict: brought by a 1 and the backend 'cpu' itself; uninstall a 1"],
        ),
        (
            [Offer("cpu", "pythag", "a 1", lambda: bind_nothing), Offer("cpu", "pythag", "b 2", lambda: bind_nothing)],
            ["cpu.pythag: conflict: brought by a 1 and b 2; uninstall one"],
        ),
    ],
)
def test_a_kernel_in_trouble_is_a_problem_and_a_row_of_the_table(offers: list[Offer], problems: list[str]) -> None:
    known = with_kernels(*offers, Offer("cpu", "good", "c 3", lambda: bind_nothing))
    lines, healthy = report(known)

    assert not healthy
    found = [line.removeprefix("problem: ") for line in lines if line.startswith("problem: ")]
    assert len(found) == len(problems)
    assert all(line.startswith(problem) for line, problem in zip(found, problems, strict=True))
    rows = [row for row in known.backends() if row.devices == "a kernel"]
    assert [row.distribution for row in rows] == [offer.origin for offer in offers]
    assert all(found[0].endswith(f": {row.status}") for row in rows)


def test_a_kernel_that_loads_after_all_is_in_no_trouble() -> None:
    loads = [importing("late"), lambda: bind_nothing]
    known = with_kernels(Offer("cpu", "pythag", "a 1", lambda: loads.pop(0)()))

    assert not report(known)[1]
    assert report(known)[1]
    assert [row.name for row in known.backends()] == ["cpu"]


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
    assert "  report      failed: ZeroDivisionError: nothing to say" in lines
    assert "  placements  silent:0" in lines


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
