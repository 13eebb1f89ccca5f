"""The change that ``docs/structured-operation.md`` prints is complete: applied to a copy, the operation is there."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "docs" / "structured-operation.md").read_text(encoding="utf-8")
PROGRAM = """
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
chosen = [case for case in cases() if case.operation == "linalg.lu"]
for case in chosen:
    for place in (CPU, device.placement()):
        check_case(case, place)
assert "lu" in device.bound
kernels = runpy.run_path(str(Path(sys.argv[1]) / "tools" / "kernels.py"), run_name="kernels")
print(len(chosen) > 10, "### `lu`" in kernels["page"]())
"""


@pytest.fixture(scope="module")
def changed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the sources with the change of the page."""
    folder = tmp_path_factory.mktemp("copy")
    for name in ("packages", "tools"):
        left_out = shutil.ignore_patterns("__pycache__", "*.egg-info", "build", "*.so", "tests")
        shutil.copytree(ROOT / name, folder / name, ignore=left_out)
    shutil.copy(ROOT / "CHANGELOG.md", folder)
    (change,) = re.findall(r"```diff\n(.*?)```", PAGE, re.DOTALL)
    done = subprocess.run(["git", "apply", "-"], input=change, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder


def run(folder: Path, *command: str) -> str:
    paths = os.pathsep.join(map(str, sorted(folder.glob("packages/*/src"))))
    done = subprocess.run(
        [sys.executable, *command],
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": paths},
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_printed_change_adds_an_operation_that_passes_its_cases_and_keeps_its_contract(changed: Path) -> None:
    assert run(changed, "-W", "error", "-c", PROGRAM, str(changed)).split() == ["True", "True"]


def test_what_the_printed_change_adds_keeps_the_rules_of_the_house(changed: Path) -> None:
    shutil.copy(ROOT / "pyproject.toml", changed)
    run(changed, "-m", "ruff", "check", "packages")
    run(changed, "-m", "ruff", "format", "--check", "packages")
