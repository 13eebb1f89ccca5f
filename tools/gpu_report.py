"""The report on a GPU, or without one the same on a simulated device: ``make gpu-report``.

The exit status is 1 where something failed, or where REQUIRE_GPU=1 is set and there is no GPU. What fails is told of in
its place, and the rest runs.
"""

from __future__ import annotations

import argparse
import faulthandler
import math
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, NamedTuple

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
GRACE: Final = 30.0
"""Seconds more after which the process ends with the stacks of its threads: what hangs is then known."""


class Section(NamedTuple):
    """What gives a part of the report, and how many seconds it may take: what they do not reach is not run.

    A section that gives lines alone holds as a whole, unless it raises.
    """

    of: Callable[[Subject], Told | list[str]]
    seconds: float


Sections = Mapping[str, Section]
SECTIONS: Final[Sections] = {
    "Machine": Section(facts, 20),
    "Forks": Section(forked, 20),
    "Streams, threads, other libraries, memory": Section(behaviour, 60),
    "Beside the host": Section(beside_host, 60),
    "More than 2³¹ elements": Section(large_sizes, 60),
    "Sanitizers": Section(sanitizers, 90),
    "Conformance": Section(conformance, 240),
    "Launches": Section(launches, 20),
    "Transfers": Section(transfers, 30),
    "Drivers": Section(drivers, 40),
    "Benchmark": Section(benchmark, math.inf),
}
"""The last one takes what time the others leave."""


def main() -> int:
    """Write the report; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--backend", default="cuda", help="the backend to report on")
    parser.add_argument("--output", type=Path, default=ROOT / "out" / "gpu.md")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="in which the report is to be written")
    parser.add_argument("--sections", nargs="+", choices=SECTIONS, default=list(SECTIONS), help="these alone")
    options = parser.parse_args()
    faulthandler.dump_traceback_later(options.seconds + GRACE, exit=True)
    found, reason = subject(options.backend, options.seconds)
    first = f"A GPU was used: {found.place}." if found.gpu else f"No GPU was used ({reason})."
    print(first, flush=True)
    options.output.parent.mkdir(parents=True, exist_ok=True)

    def write(text: str) -> None:
        whole = f"**{first}**\n\n# Report: a GPU, or what stands for one\n\n{text}"
        options.output.write_text(whole, encoding="utf-8")

    text, failed = report(found, {name: SECTIONS[name] for name in options.sections}, write)
    faulthandler.cancel_dump_traceback_later()
    print(text.partition("\n## ")[0], f"The report is {options.output}.", sep="\n")
    print(*(f"FAILED: {name}" for name in failed), sep="\n", end="\n" * bool(failed))
    if os.environ.get("REQUIRE_GPU") == "1" and not found.gpu:
        print("REQUIRE_GPU=1 is set, and no GPU was used")
        return 1
    return 1 if failed else 0


def report(found: Subject, sections: Sections, write: Callable[[str], object], /) -> tuple[str, list[str]]:
    """The verdicts and the sections, and the names of those in which something failed.

    Args:
        found: what the report is about.
        sections: by name.
        write: given all that is known after each section, so that a section that hangs loses no other.

    >>> sections = {"Ends": Section(lambda subject: [][1], 1.0)}
    >>> text, failed = report(Subject("sim", False), sections, lambda text: None)
    Ends: 1 FAILED, 0 s
    >>> failed, "FAILED: IndexError" in text
    (['Ends'], True)
    """
    text, parts, verdicts = "", [], []
    for name, section in sections.items():
        start = time.perf_counter()
        try:
            told = section.of(found.within(section.seconds))
            lines, given = told if isinstance(told, Told) else (told, Counter({HELD: 1}))
        except Exception as error:  # a section that fails is reported, and the others still run
            lines, given = [f"{FAILED}: {type(error).__name__}", "", "```text", str(error), "```"], Counter({FAILED: 1})
        verdicts.append((name, given))
        seconds = time.perf_counter() - start
        print(f"{name}: {', '.join(f'{count} {one}' for one, count in given.items())}, {seconds:.0f} s", flush=True)
        parts.append(f"## {name}\n\n" + "\n".join(lines) + f"\n\n{seconds:.0f} s\n")
        text = "\n".join(["## Verdicts\n\n" + "\n".join(summary(verdicts)) + "\n", *parts])
        write(text)
    return text, [name for name, given in verdicts if given[FAILED]]


if __name__ == "__main__":
    sys.exit(main())
