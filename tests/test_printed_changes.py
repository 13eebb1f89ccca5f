"""The changes that the pages print are true: each applies to a copy of the repository, whose tests then pass."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
UDU = """
from pathlib import Path
import runpy
import sys
import tensor_cpu, tensor_linalg, tensor_runtime as tr
assert all(module.__file__.startswith(sys.argv[1]) for module in (tensor_cpu, tensor_linalg, tr))
from tensor_linalg.testing.cases import cases
from tensor_runtime.placement import CPU
from tensor_runtime.testing.conformance import check_case
from tensor_runtime.testing.kernel_contracts import ContractBackend
device = ContractBackend(tr.backend("cpu"), "by-contract")
tr.register_backend("by-contract", device)
chosen = [case for case in cases() if case.operation == "linalg.udu"]
for case in chosen:
    for place in (CPU, device.placement()):
        check_case(case, place)
assert "udu" in device.bound
kernels = runpy.run_path(str(Path(sys.argv[1]) / "tools" / "kernels.py"), run_name="kernels")
print(len(chosen) > 10, "### `udu`" in kernels["page"]())
"""


def printed_diff(page: str) -> str:
    """The only diff on a page."""
    (found,) = re.findall(r"```diff\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL)
    diff: str = found
    return diff


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of what belongs to the repository, with the extensions that are built here."""
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=False,
    )
    if listing.returncode:
        pytest.skip("not a git checkout")
    built = [str(path.relative_to(ROOT)) for path in ROOT.glob("packages/*/src/*/_*.so")]
    for name in [*filter(None, listing.stdout.decode().split("\0")), *built]:
        if (ROOT / name).exists():
            target = tmp_path / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target)
    return tmp_path


def run(folder: Path, *command: str) -> str:
    """The output of a command that sees the packages of the copy; it has to succeed."""
    sources = os.pathsep.join(map(str, sorted(folder.glob("packages/*/src"))))
    done = subprocess.run(
        command, cwd=folder, env={**os.environ, "PYTHONPATH": sources}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-3000:]
    return done.stdout


def apply(folder: Path, page: str) -> None:
    """Apply what a page prints."""
    done = subprocess.run(
        ["git", "apply", "-"], cwd=folder, input=printed_diff(page), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_the_change_that_adds_an_elementwise_operation_passes_the_tests_of_the_house(copy: Path) -> None:
    apply(copy, "CONTRIBUTING.md")
    for tool in ("catalogue", "kernels"):
        run(copy, sys.executable, f"tools/{tool}.py")
    # test_catalogue_page would only make the page again, and compare it with itself.
    rows = (copy / "docs" / "catalogue.md").read_text(encoding="utf-8").splitlines()
    assert "| heaviside | all but Bool C32 C64 | F64 from I32 I64; else same | heaviside | cpu, sim |" in rows

    said = run(
        copy, sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "heaviside or page or list",
        "packages/cpu_backend/tests/test_cpu_conformance.py",
        "packages/tensor_runtime/tests/test_simulated_conformance.py",
        "packages/tensor_runtime/src/tensor_runtime/ops/selection.py",
        "tests/test_kernels_page.py", "tests/test_one_fact_one_place.py",
    )  # fmt: skip
    assert int(re.findall(r"(\d+) passed", said)[-1]) > 20
    used = "import tensor_runtime as tr; print(tr.heaviside(tr.tensor([-2.0, 0.0]), 0.5).to_numpy().tolist())"
    assert run(copy, sys.executable, "-c", used) == "[0.0, 0.5]\n"
    fused = "import tensor_runtime as tr; print(tr.fuse(lambda x: tr.heaviside(x, 0.0) + x)(tr.tensor([4.0])).item())"
    assert run(copy, sys.executable, "-c", fused) == "5.0\n"


def test_the_change_that_adds_a_structured_operation_passes_its_cases_and_keeps_its_contract(copy: Path) -> None:
    apply(copy, "docs/structured-operation.md")

    assert run(copy, sys.executable, "-W", "error", "-c", UDU, str(copy)).split() == ["True", "True"]
    run(copy, sys.executable, "-m", "ruff", "check", "packages")
    run(copy, sys.executable, "-m", "ruff", "format", "--check", "packages")
