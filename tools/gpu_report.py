"""The report on a GPU, or without one the same on a simulated device: ``make gpu-report``.

The exit status is 1 where a section failed, or where REQUIRE_GPU=1 is set and there is no GPU. A section that fails is
told of in its place, and the others run.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT)]  # for the benchmarks' own facts

from gpu_reporting.behaviour import forks, large_sizes, out_of_memory, streams  # noqa: E402
from gpu_reporting.benchmark import benchmark  # noqa: E402
from gpu_reporting.drivers import drivers  # noqa: E402
from gpu_reporting.facts import facts  # noqa: E402
from gpu_reporting.subject import Subject, subject  # noqa: E402
from gpu_reporting.suites import conformance, sanitizer  # noqa: E402

SECTIONS: Final[Mapping[str, Callable[[Subject], list[str]]]] = {
    "Machine": facts,
    "Forks": forks,
    "Conformance": conformance,
    "Sanitizer": sanitizer,
    "Streams": streams,
    "Large sizes": large_sizes,
    "Out of memory": out_of_memory,
    "Benchmark": benchmark,
    "Drivers": drivers,
}


def main() -> int:
    """Write the report; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--backend", default="cuda", help="the backend to report on")
    parser.add_argument("--output", type=Path, default=ROOT / "out" / "gpu.md")
    options = parser.parse_args()
    found, reason = subject(options.backend)
    first = f"A GPU was used: {found.place}." if found.gpu else f"No GPU was used ({reason})."
    text, failed = report(found)
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(f"**{first}**\n\n# Report: a GPU, or what stands for one\n\n{text}", encoding="utf-8")
    print(first, f"The report is {options.output}.", *(f"FAILED: {name}" for name in failed), sep="\n")
    if os.environ.get("REQUIRE_GPU") == "1" and not found.gpu:
        print("REQUIRE_GPU=1 is set, and no GPU was used")
        return 1
    return 1 if failed else 0


def report(
    found: Subject, sections: Mapping[str, Callable[[Subject], list[str]]] = SECTIONS, /
) -> tuple[str, list[str]]:
    """The sections, and the names of those that failed.

    >>> text, failed = report(Subject("sim", False), {"Ends": lambda subject: [str(1 // 0)]})
    >>> failed, "FAILED: ZeroDivisionError" in text
    (['Ends'], True)
    """
    parts, failed = [], []
    for name, section in sections.items():
        start = time.perf_counter()
        try:
            lines = section(found)
        except Exception as error:  # a section that fails is reported, and the others still run
            failed.append(name)
            lines = [f"FAILED: {type(error).__name__}", "", "```text", str(error), "```"]
        parts.append(f"## {name}\n\n" + "\n".join(lines) + f"\n\n{time.perf_counter() - start:.0f} s\n")
    return "\n".join(parts), failed


if __name__ == "__main__":
    sys.exit(main())
