"""The page on writing a backend, followed to the letter: its files are installed and pass the suite in one line."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "docs" / "write-a-backend.md").read_text(encoding="utf-8")
EXAMPLE = ROOT / "examples" / "plugins" / "fortran_backend"
FILES = dict(re.findall(r"^`([\w./]+)`[^\n]*\n\n```(?:python|toml)\n(.*?)```", PAGE, re.DOTALL | re.MULTILINE))
INSTALL, SUITE = (shlex.split(line) for line in re.findall(r"```sh\n(.*?)\n(.*?)\n```", PAGE)[0])
(SHOWN,) = re.findall(r"```text\n(conformance of .*?)```", PAGE, re.DOTALL)
COUNTED = re.compile(r"^conformance of fortran:0: ([\d,]+) passed, ([\d,]+) unsupported$", re.MULTILINE)


def run(command: list[str], cwd: Path, **environment: str) -> str:
    """Standard output of a command of the page, with this Python; it must succeed."""
    assert command[0] == "python"
    done = subprocess.run(
        [sys.executable, *command[1:]],
        cwd=cwd,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=540,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def number(text: str) -> int:
    return int(text.replace(",", ""))


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package of the page, written and installed as it says, but beside the environment of the tests."""
    folder = tmp_path_factory.mktemp("page")
    for name, text in FILES.items():
        file = folder / "source" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    target = folder / "installed"
    run([*INSTALL, "--quiet", "--no-index", "--target", str(target)], folder / "source")
    return target


def test_the_page_prints_the_example() -> None:
    files = {str(path.relative_to(EXAMPLE)) for path in (*EXAMPLE.rglob("*.py"), *EXAMPLE.glob("*.toml"))}
    assert set(FILES) == files - {"test_fortran.py"} - {name for name in files if name.startswith("build/")}
    for name, text in FILES.items():
        assert text.strip() == (EXAMPLE / name).read_text(encoding="utf-8").strip(), name


@pytest.mark.slow
def test_the_backend_of_the_page_passes_the_suite_in_one_line(installed: Path) -> None:
    printed = run([*SUITE, "-q", "-p", "no:cacheprovider", "-W", "error"], installed, PYTHONPATH=str(installed))

    (found,) = COUNTED.findall(printed)
    passed, unsupported = map(number, found)
    assert passed > 1000 and unsupported > 3000  # "more than a thousand", "several thousand"
    head, rest = (re.escape(line.strip()).replace(r"\.\.\.", r"[\d,]+") for line in SHOWN.splitlines())
    assert re.search(f"^{head}$", printed, re.MULTILINE)
    assert re.search(f"^ +{rest}$", printed, re.MULTILINE)


def test_a_place_that_nobody_serves_is_told_before_the_suite_begins(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, *SUITE[1:-1], "fotran"], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 4
    assert done.stderr.startswith("ERROR: --conformance fotran: no backend serves device 'fotran'")


def test_a_backend_without_what_the_suite_needs_is_told_so(installed: Path, tmp_path: Path) -> None:
    shutil.copytree(installed, tmp_path / "poor")
    device = tmp_path / "poor" / "fortran_backend" / "device.py"
    text = device.read_text(encoding="utf-8")
    device.write_text(
        text.replace("return REQUIRED_KERNELS |", 'return REQUIRED_KERNELS - {"full"} |'), encoding="utf-8"
    )
    done = subprocess.run(
        [sys.executable, *SUITE[1:]],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path / "poor")},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 4
    assert done.stderr.strip() == "ERROR: --conformance fortran: the suite itself needs full, which fortran has not"
