"""What a type checker says of a program whose wrong lines are marked, and what the other lines do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest


def check_marked_errors(source: str, folder: Path) -> None:
    """mypy --strict complains about the lines that are marked with ``# error`` and about no other."""
    api = pytest.importorskip("mypy.api")
    (folder / "probe.py").write_text(source)
    report, _, status = api.run(["--strict", "--cache-dir", str(folder / "cache"), str(folder / "probe.py")])
    assert status == 1
    wrong = [k for k, line in enumerate(source.splitlines(), 1) if "# error" in line]
    assert sorted({int(line.split(":")[1]) for line in report.splitlines() if ": error:" in line}) == wrong, report


def run_other_lines(source: str) -> dict[str, Any]:
    """The names that the lines without an error leave."""
    names: dict[str, Any] = {}
    exec("\n".join(line for line in source.splitlines() if "# error" not in line), names)
    return names
