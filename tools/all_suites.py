"""Every test, two suites at a time: ``make test``.

Packages and the tests of the workspace are suites of their own, beside those of ``native_suites.py``. The CPU backend
and the workspace are tested with as many threads of NumPy's BLAS as there are processors, whatever stands above the
backend with one.
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from native_suites import ORACLE, POLLING, native_jobs
from suite_queue import LOGS, ROOT, Job, Suite, run_all

# Packages with suites of their own, the slowest first; the others share one.
APART: Final = ("cpu_backend", "gpu_backend", "tensor_runtime", "einsum", "linalg")
OPTIONS: Final = {"gpu_backend": ("-m", "not slow")}  # what `make test-gpu-sources` runs
BUILDS: Final = "test_workspace_*.py"


def jobs(folder: Path) -> list[Job]:
    """Every suite, those that take longest first; what is built for them goes into the folder."""
    slowest, *native = native_jobs(folder)
    apart = [ROOT / "packages" / name for name in APART]
    others = sorted({file.parent for file in (ROOT / "packages").glob("*/pyproject.toml")} - set(apart))
    builds = sorted((ROOT / "tests").glob(BUILDS))
    first = [
        suite("tests of the workspace: what is built, installed and printed", *builds),
        *(suite(f"tests and examples of {path.name}", path, *OPTIONS.get(path.name, ())) for path in apart),
        suite("tests of the workspace: the others", ROOT / "tests", f"--ignore-glob=*/{BUILDS}"),
    ]
    last = suite(
        f"tests and examples of {', '.join(path.name for path in others)} and the tools", *others, ROOT / "tools"
    )
    return [slowest, *first, *native, last]


def suite(what: str, *arguments: Path | str) -> Job:
    """Pytest on what the arguments name."""
    threaded = (ROOT / "packages" / "cpu_backend", ROOT / "tests")
    environment = (
        POLLING if any(Path(one).is_relative_to(folder) for one in arguments for folder in threaded) else ORACLE
    )
    return partial(Suite, what, list(map(str, arguments)), environment)


def main() -> int:
    """Run every suite; the exit status of the first that fails."""
    with TemporaryDirectory() as name:
        found = jobs(Path(name))
        print(
            f"{len(found)} suites, two at a time, shown in order; {LOGS.relative_to(ROOT)}/ shows what runs", flush=True
        )
        return run_all(found)


if __name__ == "__main__":
    sys.exit(main())
