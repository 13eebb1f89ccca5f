"""What a type checker says of a program whose wrong lines are marked, and what the other lines do."""

from __future__ import annotations

import shutil
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

KNOWN = Path(__file__).resolve().parents[3] / ".mypy_cache"
"""What mypy found when it was run on the whole workspace; it looks again at whatever has changed."""


def type_checked(folder: Path, *programs: Path) -> tuple[str, int]:
    """The report of mypy --strict on programs, and its exit status; what it remembers stays in the folder."""
    api = pytest.importorskip("mypy.api")
    cache = folder / "cache"
    if KNOWN.is_dir():  # a copy, as other suites run meanwhile
        with suppress(shutil.Error):  # where mypy changes it just now, it is known in part
            shutil.copytree(KNOWN, cache)
    report, _, status = api.run(["--strict", "--cache-dir", str(cache), *map(str, programs)])
    return report, status


def check_marked_errors(source: str, folder: Path) -> None:
    """mypy --strict complains about the lines that are marked with ``# error`` and about no other."""
    program = folder / "probe.py"
    program.write_text(source)
    report, status = type_checked(folder, program)
    assert status == 1
    wrong = [k for k, line in enumerate(source.splitlines(), 1) if "# error" in line]
    assert sorted({int(line.split(":")[1]) for line in report.splitlines() if ": error:" in line}) == wrong, report


def run_other_lines(source: str) -> dict[str, Any]:
    """The names that the lines without an error leave."""
    names: dict[str, Any] = {}
    exec("\n".join(line for line in source.splitlines() if "# error" not in line), names)
    return names
