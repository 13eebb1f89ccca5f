"""The machine, its devices, and versions; what the driver says of clocks and power."""

from __future__ import annotations

import shutil
import subprocess
from importlib.metadata import PackageNotFoundError, version
from typing import Final

from benchmarks.machine import machine

import tensor_runtime as tr
from gpu_reporting.subject import Subject

ALSO: Final = ("cupy-cuda12x", "cupy-cuda13x", "cutensor-cu12", "cutensor-cu13", "nvmath-python")
ASKED: Final = (
    "name",
    "driver_version",
    "clocks.sm",
    "clocks.max.sm",
    "clocks.mem",
    "power.draw",
    "power.limit",
    "temperature.gpu",
    "pstate",
    "clocks_event_reasons.active",
)
"""Of ``nvidia-smi``."""


def facts(subject: Subject, /) -> list[str]:
    """A table of what there is."""
    rows = {**machine(), **dict(tr.backend(subject.place).describe()), **clocks_and_power()}
    for package in ALSO:
        try:
            rows[package] = version(package)
        except PackageNotFoundError:
            rows[package] = "not installed"
    return ["| what | found |", "|---|---|", *(f"| {name} | {found} |" for name, found in rows.items())]


def clocks_and_power() -> dict[str, str]:
    """What ``nvidia-smi`` says of the first GPU now; one line where it is missing, or says something else."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return {"clocks and power": "not told: `nvidia-smi` is not on PATH"}
    command = (program, f"--query-gpu={','.join(ASKED)}", "--format=csv,noheader", "--id=0")
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=20)
    except (OSError, subprocess.TimeoutExpired) as error:
        return {"clocks and power": f"not told: {type(error).__name__}"}
    found = [part.strip() for part in done.stdout.partition("\n")[0].split(",")]
    if done.returncode or len(found) != len(ASKED):
        return {"clocks and power": f"not told: {' '.join((done.stdout + done.stderr).split())[:200]}"}
    return dict(zip(ASKED, found, strict=True))
