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


def printed_diff(page: str, heading: str) -> str:
    """The diff under a heading of a page."""
    section = (ROOT / page).read_text(encoding="utf-8").partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    found = re.search(r"```diff\n(.*?)```", section, re.DOTALL)
    assert found, f"{page}: no diff under {heading!r}"
    return found[1]


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of what belongs to the repository, with the extension that is built here."""
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=False,
    )
    if listing.returncode:
        pytest.skip("not a git checkout")
    built = [str(path.relative_to(ROOT)) for path in ROOT.glob("packages/*/src/*/_native*.so")]
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


def apply(folder: Path, diff: str) -> None:
    """Apply a diff strictly: no fuzz, no offset in what it names."""
    subprocess.run(["git", "apply", "--unidiff-zero", "-"], cwd=folder, input=diff, text=True, check=True)


@pytest.mark.slow
def test_the_printed_change_that_adds_an_operation_passes_the_tests_that_it_names(copy: Path) -> None:
    apply(copy, printed_diff("CONTRIBUTING.md", "Add an operation"))
    for tool in ("catalogue", "kernels"):
        run(copy, sys.executable, f"tools/{tool}.py")

    said = run(
        copy, sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "heaviside or page or list",
        "packages/cpu_backend/tests/test_cpu_conformance.py",
        "packages/tensor_runtime/tests/test_simulated_conformance.py",
        "packages/tensor_runtime/src/tensor_runtime/ops/selection.py",
        "tests/test_catalogue_page.py",
        "tests/test_kernels_page.py", "tests/test_one_fact_one_place.py",
    )  # fmt: skip
    assert int(re.findall(r"(\d+) passed", said)[-1]) > 20
    used = "import tensor_runtime as tr; print(tr.heaviside(tr.tensor([-2.0, 0.0]), 0.5).to_numpy().tolist())"
    assert run(copy, sys.executable, "-c", used) == "[0.0, 0.5]\n"
    fused = "import tensor_runtime as tr; print(tr.fuse(lambda x: tr.heaviside(x, 0.0) + x)(tr.tensor([4.0])).item())"
    assert run(copy, sys.executable, "-c", fused) == "5.0\n"
