"""The machine, its devices, and versions."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from typing import Final

from benchmarks.machine import machine

import tensor_runtime as tr
from gpu_reporting.subject import Subject

ALSO: Final = ("cupy-cuda12x", "cupy-cuda13x", "cutensor-cu12", "nvmath-python")


def facts(subject: Subject, /) -> list[str]:
    """A table of what there is."""
    rows = {**machine(), **dict(tr.backend(subject.place).describe())}
    for package in ALSO:
        try:
            rows[package] = version(package)
        except PackageNotFoundError:
            rows[package] = "not installed"
    return ["| what | found |", "|---|---|", *(f"| {name} | {found} |" for name, found in rows.items())]
