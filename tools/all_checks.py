"""Everything that ``make check`` asks, two questions at a time, as most take one processor only.

``python tools/all_checks.py NAME...`` looks at these folders and files; types are checked in the sources of packages,
and in all others. Every question is asked, whatever the answer to those before, and shown in order.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from suite_queue import ROOT, Job, Suite, run_all


def checks(names: Sequence[str]) -> list[Job]:
    """Every question, those that take longest first."""
    typed = [str(path.relative_to(ROOT)) for path in sorted(ROOT.glob("packages/*/src"))]
    typed += [name for name in names if name != "packages"]
    core = ("--config", "packages/tensor_core/pyproject.toml")
    return [
        check("types", installed("mypy"), *typed),
        check("C sources", sys.executable, "tools/check_c.py"),
        check("import contracts", installed("lint-imports")),
        check("import contracts of the core", installed("lint-imports"), *core),
        check("docstrings", sys.executable, "tools/check_docstrings.py"),
        check("format", installed("ruff"), "format", "--check", *names),
        check("lint", installed("ruff"), "check", *names),
    ]


def check(what: str, *program: str) -> Job:
    """A program that fails where something is amiss."""
    return partial(Suite, what, [], {}, program)


def installed(name: str) -> str:
    """A program of this environment."""
    return str(Path(sys.executable).with_name(name))


if __name__ == "__main__":
    sys.exit(run_all(checks(sys.argv[1:]), ROOT / "out" / "checks"))
