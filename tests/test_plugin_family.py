"""The example of a family of operations: installed as a wheel, and held to its cases on every kind of backend."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from plugin_wheels import ROOT, install, python


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder into which both plugins that need no download are installed, as wheels."""
    return install(tmp_path_factory.mktemp("plugins"), "fortran_backend", "hadamard_family")


def test_the_family_passes_its_cases_by_its_kernels_and_by_its_rules(installed: Path) -> None:
    """Where neither backend nor family has a kernel, as on ``other``, the rules compute."""
    program = """
import doctest, os, pytest, sys
import tensor_runtime as tr
from tensor_runtime.testing import cases
from tensor_runtime.testing.simulated_device import SimulatedBackend
assert {one.name: one.id for one in tr.families()}["hadamard"] == "hadamard_family.hadamard/1"
assert "hadamard_family" not in sys.modules
found = [case for case in cases.family_cases() if case.operation.startswith("hadamard.")]
cases.all_cases, cases.family_cases = lambda: found, lambda: ()  # the others take long to collect
device = SimulatedBackend(tr.backend("cpu"), "other")
assert not {"khatri_rao", "walsh_hadamard"} & device.operations()
tr.register_backend("other", device)
chosen = ["-k", "hadamard.", "-q", "-p", "no:cacheprovider", "-c", os.devnull]
for place in ("cpu", "sim", "other"):
    before = tr.backend("sim").api.counts["launches"]
    status = pytest.main(["-p", "tensor_runtime.testing.pytest_plugin", "--conformance", place, *chosen])
    assert status == 0, place
    assert (tr.backend("sim").api.counts["launches"] > before) == (place == "sim")
assert pytest.main(["-p", "tensor_runtime.testing.pytest_plugin", "--conformance", "fortran", *chosen]) == 0
import hadamard_family
print(len(found), doctest.testmod(hadamard_family))
"""
    *printed, last = python(installed, "-c", program)
    number, _, examples = last.partition(" ")

    *counts, lacking = [line for line in printed if line.startswith("conformance of ") and "passed" in line]
    assert counts == [f"conformance of {place}: {number} passed" for place in ("cpu", "sim:0", "other:0")]
    assert int(number) > 60
    assert lacking.startswith("conformance of fortran:0:")
    passed, unsupported = (int(count) for count in re.findall(r"(\d+) (?:passed|unsupported)", lacking))
    assert passed + unsupported == int(number) and unsupported > 50  # its rules ask for what that backend lacks
    assert examples == "TestResults(failed=0, attempted=4)"


def test_a_product_of_columns_is_one_launch_and_a_transform_one_for_each_bit(installed: Path) -> None:
    program = """
import tensor_runtime as tr
from hadamard_family import khatri_rao, walsh_hadamard
counts = tr.backend("sim").api.counts
a = tr.ones((3, 5), placement="sim").T
b = tr.ones((4, 3), placement="sim")
for call in (lambda: khatri_rao(a, b), lambda: walsh_hadamard(b), lambda: walsh_hadamard(b[::-1, 1:])):
    before = counts.copy()
    call()
    print(dict(counts - before))
"""
    assert python(installed, "-c", program) == ["{'launches': 1}", "{'launches': 3}", "{'launches': 3}"]


def test_the_sources_of_the_programs_do_on_the_host_what_they_mean(installed: Path) -> None:
    program = f"""
import sys
sys.path.insert(0, {str(ROOT / "tools")!r})
from gpu_programs.building import compiler
from tensor_core.errors import BackendUnavailableError
try:
    compiler()
except BackendUnavailableError as error:
    raise SystemExit(print("no compiler")) from None
import tensor_runtime as tr
from gpu_programs.comparing import difference
from gpu_programs.recording import recorded
from gpu_programs.running import Hosted
from hadamard_family import devices, khatri_rao, walsh_hadamard
with recorded() as recording:
    place = recording.place
    for name in ("khatri_rao", "walsh_hadamard"):
        tr.register_kernel("noted", name, getattr(devices, f"bind_{{name}}"))
    for dtype in ("I64", "F32", "C64"):
        a = tr.cast(tr.arange(6, placement=place).reshape((2, 3)), dtype)
        b = tr.cast(tr.arange(24, placement=place).reshape((8, 3)), dtype)
        khatri_rao(a[:, ::-1], b[::2])
        walsh_hadamard(b)
    mine = [one for one in recording.launches() if one.launch.program.entry in ("khatri_rao", "butterfly")]
    with Hosted(list(dict.fromkeys(one.launch.program for one in mine))) as hosted:
        wrong = [difference(one, left) for one, left in zip(mine, hosted.run(mine), strict=True)]
print(len(wrong), [one for one in wrong if one is not None])
"""
    assert python(installed, "-c", program) in (["12 []"], ["no compiler"])
