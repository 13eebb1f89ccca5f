"""A plug-in of pytest: what became of each test, one JSON line each, into the file that CLIENTS_OUTCOMES names."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any


def _write(name: str, outcome: str, why: str) -> None:
    with Path(os.environ["CLIENTS_OUTCOMES"]).open("a", encoding="utf-8") as file:
        file.write(json.dumps([name, outcome, why]) + "\n")


def _why(report: Any) -> str:
    crash = getattr(report.longrepr, "reprcrash", None)
    text = crash.message if crash is not None else str(report.longrepr)
    lines = [line for line in text.splitlines() if line.strip()] or [""]
    return lines[-1 if crash is None else 0].strip()[:300]


def pytest_runtest_logreport(report: Any) -> None:
    """Called for set-up, call and end of each test."""
    if report.failed:
        _write(report.nodeid, "failed", _why(report))
    elif report.skipped:
        _write(report.nodeid, "skipped", "")
    elif report.when == "call":
        _write(report.nodeid, "passed", "")


def pytest_collectreport(report: Any) -> None:
    """Called for each file that is read for tests."""
    if report.failed:
        _write(report.nodeid or "collection", "failed", _why(report))
