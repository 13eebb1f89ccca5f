"""The core alone: its wheel in an environment that holds nothing else, then its tests beside what they import."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from importlib.metadata import distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[1]
CORE = ROOT / "packages" / "tensor_core"

pytestmark = pytest.mark.slow


def run(*command: str | Path, cwd: Path) -> str:
    """Standard output of a command that has to succeed, without what this environment would lend it."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "COV_"))}
    done = subprocess.run(
        [str(part) for part in command],
        capture_output=True,
        text=True,
        cwd=cwd,
        env=environment,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("wheels")


@pytest.fixture(scope="module")
def wheel(folder: Path) -> Path:
    """The wheel of the core, built from a copy so that the sources stay clean."""
    source = folder / "source"
    for path in [*CORE.glob("src/**/*"), CORE / "pyproject.toml", CORE / "README.md"]:
        if path.is_file() and path.suffix in {".py", ".typed", ".toml", ".md"}:
            target = source / path.relative_to(CORE)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(path.read_bytes())
    options = ("--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--wheel-dir", folder)
    run(sys.executable, "-m", "pip", "wheel", *options, source, cwd=folder)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def alone(folder: Path, wheel: Path) -> Path:
    """The interpreter of an environment that holds the wheel and nothing else, not even pip."""
    run(sys.executable, "-m", "venv", "--without-pip", folder / "venv", cwd=folder)
    python = folder / "venv" / "bin" / "python"
    install = ("-m", "pip", "--python", python, "install", "--quiet", "--no-deps", "--no-index")
    run(sys.executable, *install, wheel, cwd=folder)
    return python


def test_the_wheel_holds_the_package_and_its_marker_of_types(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    sources = {str(path.relative_to(CORE / "src")) for path in CORE.glob("src/**/*.py")}
    assert {*sources, "tensor_core/py.typed"} <= names
    assert all(name.startswith(("tensor_core/", "ironstride_tensor_core-")) for name in names)


def test_the_wheel_imports_where_nothing_else_is_installed(alone: Path, folder: Path) -> None:
    listed = run(sys.executable, "-m", "pip", "--python", alone, "list", "--format=freeze", cwd=folder)
    assert [line.partition("==")[0] for line in listed.splitlines()] == ["ironstride-tensor-core"]
    code = "import tensor_core as c; print(c.HostTensor.from_nested([[1, 2], [3, 4]]).to_nested(), c.__file__)"
    printed = run(alone, "-I", "-c", code, cwd=folder)
    assert printed.startswith("[[1, 2], [3, 4]] ")
    assert str(folder / "venv") in printed


def with_requirements(*names: str) -> set[str]:
    """Distributions, and those that they need here."""
    found: set[str] = set()
    waiting = [*names]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            needed = map(Requirement, distribution(name).requires or ())
            waiting += [one.name for one in needed if one.marker is None or one.marker.evaluate({"extra": ""})]
    return found


def test_the_tests_of_the_core_need_only_pytest_hypothesis_and_numpy(alone: Path, wheel: Path, folder: Path) -> None:
    second = folder / "second"
    run(sys.executable, "-m", "venv", "--without-pip", second, cwd=folder)
    python = second / "bin" / "python"
    (packages,) = second.glob("lib/python*/site-packages")
    for name in with_requirements("pytest", "hypothesis", "numpy"):  # lent by this environment, and nothing else is
        lent = distribution(name)
        for entry in {file.parts[0] for file in lent.files or ()} - {"..", "__pycache__"}:
            (packages / entry).symlink_to(Path(str(lent.locate_file(entry))))
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", python, "install", "--quiet")
    run(*pip, "--no-deps", "--no-index", wheel, cwd=folder)
    beside = f"pythonpath={CORE / 'tests'}"  # what several of its tests share
    apart = ("-c", os.devnull, "--rootdir", CORE, "-o", beside)  # nothing else of the workspace's configuration
    options = ("-q", "-p", "no:cacheprovider", "-W", "error", "--import-mode=importlib", *apart)
    printed = run(python, "-m", "pytest", *options, CORE / "tests", cwd=folder)
    assert " passed" in printed
    assert "failed" not in printed
