"""What an import costs: milliseconds over a bare interpreter, and modules of the standard library loaded with it.

Each measurement is a fresh process that finds compiled files, as an installed package has them; the bare interpreter
and every package take turns. The budget is that of the library's promise: 25 ms and 40 modules for ``tensor_core``,
40 ms for ``tensor_runtime``, and no NumPy with either.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple

from benchmarks.timing import Spread, median_spread

PACKAGES: Final = ("tensor_core", "tensor_runtime", "tensor_einsum", "tensor_linalg", "tensor_cpu.backend", "numpy")
BUDGET: Final = {"tensor_core": 25.0, "tensor_runtime": 40.0}
"""Milliseconds over a bare interpreter."""
_COUNT: Final = (
    "import sys, json; before = set(sys.modules); import {}; after = set(sys.modules) - before; "
    "print(json.dumps([len([m for m in after if m.partition('.')[0] in sys.stdlib_module_names]), 'numpy' in after]))"
)


class Import(NamedTuple):
    """The cost of importing one package."""

    package: str
    milliseconds: Spread
    standard_modules: int
    loads_numpy: bool

    @property
    def verdict(self) -> str:
        """Whether the budget is kept; falling short needs the whole interval above it."""
        budget = BUDGET.get(self.package)
        if budget is None:
            return ""
        return f"{'above' if self.milliseconds.low > budget else 'within'} {budget:.0f} ms"


def measure(rounds: int = 15, packages: Sequence[str] = PACKAGES) -> list[Import]:
    """Time every package and the bare interpreter in turns; the first round compiles and is not timed."""
    programs = {"": "pass", **{package: f"import {package}" for package in packages}}
    samples: dict[str, list[float]] = {package: [] for package in programs}
    environment = {name: text for name, text in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    with TemporaryDirectory() as folder:
        python = [sys.executable, "-X", f"pycache_prefix={folder}", "-c"]
        for k in range(rounds + 1):
            for package, program in programs.items():
                start = time.perf_counter()
                subprocess.run([*python, program], check=True, env=environment)
                if k:
                    samples[package].append((time.perf_counter() - start) * 1e3)
    results = []
    for package in packages:
        over = [taken - bare for taken, bare in zip(samples[package], samples[""], strict=True)]
        counted = subprocess.run([sys.executable, "-c", _COUNT.format(package)], check=True, capture_output=True)
        results.append(Import(package, median_spread(over), *json.loads(counted.stdout)))
    return results


def as_markdown(results: Sequence[Import]) -> str:
    """One row per package."""
    lines = ["| import | ms over a bare interpreter | standard modules | NumPy | budget |", "|---|--:|--:|---|---|"]
    lines += [
        f"| {row.package} | {row.milliseconds} | {row.standard_modules} | {'yes' if row.loads_numpy else 'no'} "
        f"| {row.verdict} |"
        for row in results
    ]
    return "\n".join(lines)


def as_json(results: Sequence[Import]) -> dict[str, Any]:
    """Every number, for a file."""
    return {"imports": [row._asdict() for row in results]}
