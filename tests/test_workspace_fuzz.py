"""The fuzz drivers find what they are there to find, and say how to see it again."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

import check_c
import native_builds
import native_suites

MISTAKES = {  # one in what each driver looks at
    "copies": ("copy/permute.c", "tile.columns = last ? plan->last_columns", "tile.columns = last ? 1"),
    "reductions": ("reduction/simd/reduce_body.h", "i < count; k++, i++", "i + 1 < count; k++, i++"),
    "products": ("contraction/simd/gemm_body.h", "block->adds ? *to + value : value", "value"),
}


@pytest.mark.skipif(native_builds.compiler_name() is None, reason="there is no C compiler")
def test_drivers_find_wrong_kernels_and_print_a_seed_that_repeats_the_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "package"
    for name in ("csrc", "fuzz"):
        shutil.copytree(check_c.PACKAGE / name, package / name)
    shutil.copy(check_c.PACKAGE / "setup.py", package)
    for file, right, wrong in MISTAKES.values():
        source = package / "csrc" / file
        text = source.read_text(encoding="utf-8")
        assert right in text
        source.write_text(text.replace(right, wrong), encoding="utf-8")
    monkeypatch.setattr(native_builds, "PACKAGE", package)
    monkeypatch.setattr(native_builds, "FUZZ", package / "fuzz")
    program = native_builds.plain_drivers(tmp_path / "built", [str(native_builds.compiler_name())], ["-O0"])

    for driver in MISTAKES:
        found = run(program, "60", "1", driver)
        assert found.returncode == 1
        (seed,) = re.findall(rf"{driver} failed with plain kernels: seed (\d+)", found.stderr)
        again = run(program, "0", seed, driver)
        assert again.returncode == 1 and again.stderr == found.stderr
    assert run(program, "1", "1", "pairs").returncode == 0
    assert run(program, "1", "1", "no such driver").returncode == 2


def test_the_sanitizer_suite_compares_every_array_with_its_plan(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(native_suites, "extension", lambda folder, **options: f"{folder} {sorted(options.items())}")
    monkeypatch.setattr(native_suites, "library_of", lambda compiler, name: name)

    suite = native_suites.Watched(tmp_path, "cc").kernels()

    assert suite.environment["TENSOR_CPU_CHECK_CALLS"] == "1"
    assert "('NATIVE_SANITIZE', '1')" in suite.environment["TENSOR_CPU_NATIVE"]


def run(*command: str) -> subprocess.CompletedProcess[str]:
    """Run it and keep what it says."""
    return subprocess.run(command, capture_output=True, text=True, check=False)
