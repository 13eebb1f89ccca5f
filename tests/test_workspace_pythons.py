"""``make test-pythons`` with interpreters that only tell a version: which of them are tested, and which passed over."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

MAKEFILE = Path(__file__).parents[1] / "Makefile"


def interpreter(path: Path, says: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho {says}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


@pytest.mark.skipif(shutil.which("make") is None, reason="no make here")
def test_no_interpreter_is_tested_as_another_one(tmp_path: Path) -> None:
    versions = {"first": "3.77.1", "second": "3.77.2", "again": "3.77.1"}
    pythons = [interpreter(tmp_path / name, version) for name, version in versions.items()]
    for version in versions.values():
        interpreter(tmp_path / f".venv-{version}" / "bin" / "python", f"the tests on {version}")
    # Run by another make, this one would say which folder it enters.
    environment = {
        name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")
    }
    ran = subprocess.run(
        ["make", "-f", str(MAKEFILE), "test-pythons", "MAKE=true", f"PYTHONS={' '.join(map(str, pythons))}"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )

    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.splitlines() == [
        "Python 3.77.1",
        "the tests on 3.77.1",
        "Python 3.77.2",
        "the tests on 3.77.2",
        f"Python 3.77.1 was tested already; {pythons[2]} is passed over",
    ]
