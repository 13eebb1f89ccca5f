"""Packages with native code as wheels: with a compiler they hold the extension, without one they work all the same."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

BACKEND = Path(__file__).resolve().parents[1] / "packages" / "cpu_backend"
EINSUM = BACKEND.with_name("einsum")
COMPILER = shutil.which(os.environ.get("CC", "cc"))

pytestmark = pytest.mark.slow


def build_wheel(folder: Path, package: Path = BACKEND, compiler: str | None = None) -> Path:
    """A wheel built from a copy of what a source distribution holds; compiled quickly, as it only has to be whole."""
    source = folder / "source"
    kept = shutil.ignore_patterns("build", "__pycache__", "*.so", "*.egg-info", "tests")
    shutil.copytree(package, source, ignore=kept)
    environment = {"NATIVE_PLAIN": "1", "CFLAGS": "-O0"} | ({} if compiler is None else {"CC": compiler})
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "wheel", "--quiet", "--no-deps"]
    command += ["--no-build-isolation", "--no-index", "--wheel-dir", str(folder), str(source)]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment}, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (wheel,) = folder.glob("*.whl")
    return wheel


USE_OF_BACKEND = (
    "from tensor_cpu.system import extension\n"
    "import tensor_runtime as tr\n"
    "print(extension.__file__)\n"
    "print(extension.AVAILABLE, tr.matmul(tr.ones((2, 3)), tr.ones((3, 2)))[1, 1].item())"
)
USE_OF_SEARCH = (
    "from tensor_einsum import native\n"
    "from tensor_einsum.search.engine import search\n"
    "from tensor_einsum.search.problem import Budget, Objective, Problem\n"
    "print(native.__file__)\n"
    "found = search(Problem(((0, 1), (1, 2)), (0, 2), (2, 3, 4)), Objective(), Budget(rotations=1))\n"
    "print(native.AVAILABLE, found.path, found.record.engine)"
)


def describe(wheel: Path, folder: Path, code: str = USE_OF_BACKEND) -> str:
    """What a process says that runs the package as it lies in the wheel."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "installed")
    environment = {**os.environ, "PYTHONPATH": str(folder / "installed")}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    place, said = done.stdout.splitlines()
    assert place.startswith(str(folder))
    return said


@pytest.mark.skipif(COMPILER is None, reason="no C compiler on this machine")
def test_with_a_compiler_the_wheel_holds_the_extension(tmp_path: Path) -> None:
    wheel = build_wheel(tmp_path)
    names = zipfile.ZipFile(wheel).namelist()
    assert sum(name.startswith("tensor_cpu/_native.") and not name.endswith(".pyi") for name in names) == 1
    assert "tensor_cpu/_native.pyi" in names
    assert describe(wheel, tmp_path) == "True 3.0"


def test_without_a_compiler_the_wheel_works_on_numpy(tmp_path: Path) -> None:
    wheel = build_wheel(tmp_path, compiler="no-such-compiler")
    assert not any(name.startswith("tensor_cpu/_native.c") for name in zipfile.ZipFile(wheel).namelist())
    assert describe(wheel, tmp_path) == "False 3.0"


@pytest.mark.skipif(COMPILER is None, reason="no C compiler on this machine")
def test_a_compiler_that_fails_is_an_error(tmp_path: Path) -> None:
    failing = tmp_path / "failing-compiler"
    failing.write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
    failing.chmod(0o755)
    with pytest.raises(AssertionError, match="failing-compiler"):
        build_wheel(tmp_path, compiler=str(failing))


@pytest.mark.skipif(COMPILER is None, reason="no C compiler on this machine")
def test_with_a_compiler_the_wheel_of_einsum_holds_the_search(tmp_path: Path) -> None:
    wheel = build_wheel(tmp_path, EINSUM)
    names = zipfile.ZipFile(wheel).namelist()
    assert sum(name.startswith("tensor_einsum/_native.") and not name.endswith(".pyi") for name in names) == 1
    assert "tensor_einsum/_native.pyi" in names
    assert describe(wheel, tmp_path, USE_OF_SEARCH) == "True ((0, 1),) native"


def test_without_a_compiler_the_wheel_of_einsum_searches_in_python(tmp_path: Path) -> None:
    wheel = build_wheel(tmp_path, EINSUM, "no-such-compiler")
    assert not any(name.startswith("tensor_einsum/_native.c") for name in zipfile.ZipFile(wheel).namelist())
    assert describe(wheel, tmp_path, USE_OF_SEARCH) == "False ((0, 1),) python"
