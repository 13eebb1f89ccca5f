"""The report on a GPU, or without one the same on a simulated device: ``make gpu-report``.

The exit status is 1 where something failed, or where REQUIRE_GPU=1 is set and there is no GPU. What fails is told of in
its place, and the rest runs.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT)]  # for the benchmarks' own facts
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # or JAX takes most of the device's memory

from gpu_reporting.behaviour import behaviour, forked  # noqa: E402
from gpu_reporting.benchmark import benchmark  # noqa: E402
from gpu_reporting.beside_host import beside_host  # noqa: E402
from gpu_reporting.drivers import drivers  # noqa: E402
from gpu_reporting.facts import facts  # noqa: E402
from gpu_reporting.launches import launches  # noqa: E402
from gpu_reporting.sizes import large_sizes  # noqa: E402
from gpu_reporting.subject import Subject, subject  # noqa: E402
from gpu_reporting.suites import conformance, sanitizers  # noqa: E402
from gpu_reporting.transfers import transfers  # noqa: E402
from gpu_reporting.verdicts import FAILED, HELD, Told, summary  # noqa: E402

SECONDS: Final = 570.0
"""In which the report is to be written."""
Sections = Mapping[str, Callable[[Subject], Told | list[str]]]
"""A section that gives lines alone holds as a whole, unless it raises."""
SECTIONS: Final[Sections] = {
    "Machine": facts,
    "Forks": forked,
    "Streams, threads, other libraries, memory": behaviour,
    "Beside the host": beside_host,
    "More than 2³¹ elements": large_sizes,
    "Sanitizers": sanitizers,
    "Conformance": conformance,
    "Launches": launches,
    "Transfers": transfers,
    "Drivers": drivers,
    "Benchmark": benchmark,
}
"""The last one takes what time the others leave."""


def main() -> int:
    """Write the report; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--backend", default="cuda", help="the backend to report on")
    parser.add_argument("--output", type=Path, default=ROOT / "out" / "gpu.md")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="in which the report is to be written")
    options = parser.parse_args()
    found, reason = subject(options.backend, options.seconds)
    first = f"A GPU was used: {found.place}." if found.gpu else f"No GPU was used ({reason})."
    text, failed = report(found)
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(f"**{first}**\n\n# Report: a GPU, or what stands for one\n\n{text}", encoding="utf-8")
    print(first, text.partition("\n## ")[0], f"The report is {options.output}.", sep="\n")
    print(*(f"FAILED: {name}" for name in failed), sep="\n", end="\n" * bool(failed))
    if os.environ.get("REQUIRE_GPU") == "1" and not found.gpu:
        print("REQUIRE_GPU=1 is set, and no GPU was used")
        return 1
    return 1 if failed else 0


def report(found: Subject, sections: Sections = SECTIONS, /) -> tuple[str, list[str]]:
    """The verdicts and the sections, and the names of those in which something failed.

    >>> text, failed = report(Subject("sim", False), {"Ends": lambda subject: [][1]})
    >>> failed, "FAILED: IndexError" in text
    (['Ends'], True)
    """
    parts, verdicts = [], []
    for name, section in sections.items():
        start = time.perf_counter()
        try:
            told = section(found)
            lines, given = told if isinstance(told, Told) else (told, Counter({HELD: 1}))
        except Exception as error:  # a section that fails is reported, and the others still run
            lines, given = [f"{FAILED}: {type(error).__name__}", "", "```text", str(error), "```"], Counter({FAILED: 1})
        verdicts.append((name, given))
        parts.append(f"## {name}\n\n" + "\n".join(lines) + f"\n\n{time.perf_counter() - start:.0f} s\n")
    head = "## Verdicts\n\n" + "\n".join(summary(verdicts)) + "\n"
    return "\n".join([head, *parts]), [name for name, given in verdicts if given[FAILED]]


if __name__ == "__main__":
    sys.exit(main())
