"""What a measurement was made on, and which peers are there."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Final

PACKAGES: Final = (
    "numpy",
    "scipy",
    "torch",
    "jax",
    "jaxlib",
    "numexpr",
    "opt_einsum",
    "cotengra",
    "ironstride-tensor-runtime",
)


def machine() -> dict[str, str]:
    """Processor, cores, system, interpreter and versions.

    >>> sorted(machine())[:3]
    ['cores', 'ironstride-tensor-runtime', 'load']
    """
    facts = {
        "processor": _processor(),
        "cores": str(os.cpu_count()),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "load": f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "unknown",
    }
    for package in PACKAGES:
        try:
            facts[package] = version(package)
        except PackageNotFoundError:
            facts[package] = "not installed"
    return facts


def has_torch() -> bool:
    """Whether PyTorch can be compared with; its rows say so otherwise."""
    return find_spec("torch") is not None


def as_line(facts: dict[str, str]) -> str:
    """The facts in one line of text."""
    return ", ".join(f"{name} {value}" for name, value in facts.items())


def _processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if not cpuinfo.exists():
        return platform.processor() or platform.machine()
    first = cpuinfo.read_text().split("\n\n")[0].splitlines()
    fields = {name.strip(): value.strip() for name, _, value in (line.partition(":") for line in first)}
    name = fields.get("model name", platform.machine())
    return f"{name} (family {fields['cpu family']}, model {fields['model']})" if "cpu family" in fields else name
