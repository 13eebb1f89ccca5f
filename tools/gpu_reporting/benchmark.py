"""The benchmark: every workload by every library that sees the GPU, in turns, on the same numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from statistics import median
from time import perf_counter_ns
from typing import Any, Final, NamedTuple

from gpu_reporting.errors import Array, bound, error
from gpu_reporting.peers import PEERS, Library, ours
from gpu_reporting.subject import RefutedError, Subject
from gpu_reporting.workloads import CEILINGS, WORKLOADS, Workload

OURS: Final = "ours"
SECONDS: Final = 8.0  # that the rounds of a row may take, more or less


class Timing(NamedTuple):
    """Median nanoseconds of a workload by one library."""

    call: float  # until the call returned
    whole: float  # until its result was waited for


def benchmark(subject: Subject, /) -> list[str]:
    """Ceilings, then workloads; a ratio below the one accepted is marked, and on a simulated device none is made.

    >>> len(benchmark(Subject("sim", gpu=False))) > len(CEILINGS) + len(WORKLOADS)
    True

    Raises:
        RefutedError: a result is wrong; with the table, where its row is marked.
    """
    libraries = {OURS: ours(subject.place)}
    if subject.gpu:
        found = {name: make() for name, make in PEERS.items()}
        libraries.update({name: library for name, library in found.items() if library is not None})
    lines = [
        f"Libraries: {', '.join(libraries)}. Milliseconds, medians, waited for; the ratio is the best peer over ours.",
        'In "until it returns" our call is back on the host; errors are those of samples of our results.',
        "",
        f"| workload | {' | '.join(libraries)} | until it returns | rate of ours | error | ratio | accepted from |",
        f"|---|{'--:|' * (len(libraries) + 5)}",
    ]
    rows = [row(workload, subject, libraries) for workload in (*CEILINGS, *WORKLOADS)]
    lines += [line for line, _ in rows]
    if not subject.gpu:
        lines += ["", "A simulated device is as slow as it is strict: these times say that the rows run, and no more."]
    if not all(right for _, right in rows):
        raise RefutedError("\n".join(["results are wrong", "", *lines]))
    return lines


def row(workload: Workload, subject: Subject, libraries: Mapping[str, Library], /) -> tuple[str, bool]:
    """One row of the table, and whether our result was right."""
    operands = workload.drawn(subject)
    runs, trouble = prepared(workload, operands, libraries)
    if OURS not in runs:
        return f"| {workload.name} | {trouble[OURS]} |", False
    result = runs[OURS].result
    off, allowed = error(workload, operands, result, libraries[OURS].give), bound(workload, operands)
    times = timed(runs, 20 if subject.gpu else 2, workload.repeats if subject.gpu else 2)
    cells = [f"{times[name].whole / 1e6:.3f}" if name in times else trouble[name] for name in libraries]
    others = [found.whole for name, found in times.items() if name != OURS]
    ratio, rate = "–", "–"
    if others:
        value = min(others) / times[OURS].whole
        ratio = f"{value:.2f}" + ("" if value >= workload.accept else " below")
    if subject.gpu:
        rate = _rate(workload, operands, result, times[OURS].whole)
    cells += [f"{times[OURS].call / 1e6:.3f}", rate, f"{off:.1e}{'' if off <= allowed else ' WRONG'}", ratio]
    return f"| {workload.name} | {' | '.join(cells)} | {workload.accept or '–'} |", off <= allowed


class Run(NamedTuple):
    """A call that can be made again, and what it gave the first time."""

    call: Callable[[], Any]
    wait: Callable[[Any], object]
    result: Any


def prepared(
    workload: Workload, operands: Sequence[Array], libraries: Mapping[str, Library], /
) -> tuple[dict[str, Run], dict[str, str]]:
    """Calls that were made once, and what those said that could not."""
    runs: dict[str, Run] = {}
    trouble: dict[str, str] = {}
    for name, library in libraries.items():
        try:
            taken = library.taken(workload.call, operands)
            made = partial(library.einsum, workload.equation) if workload.equation else library.calls[workload.call]
            call = partial(made, *taken)
            result = call()
            library.wait(result)
            runs[name] = Run(call, library.wait, result if name == OURS else None)
        except Exception as problem:  # of any library, and the others are still compared
            trouble[name] = type(problem).__name__
    return runs, trouble


def timed(runs: Mapping[str, Run], rounds: int, repeats: int, /) -> dict[str, Timing]:
    """Medians of rounds in which every library computes once, or so often in a row."""
    samples: dict[str, list[Timing]] = {name: [] for name in runs}
    end = perf_counter_ns() + int(SECONDS * 1e9)
    for number in range(rounds):
        for name, run in runs.items():
            begin = perf_counter_ns()
            result = run.call()
            for _ in range(repeats - 1):
                result = run.call()
            returned = perf_counter_ns()
            run.wait(result)
            samples[name].append(Timing(returned - begin, perf_counter_ns() - begin))
        if number >= 2 and perf_counter_ns() > end:
            break
    return {name: Timing(*(median(each) for each in zip(*found, strict=True))) for name, found in samples.items()}


def _rate(workload: Workload, operands: Sequence[Array], result: Any, nanoseconds: float) -> str:
    if workload.rate == "flops":
        work = (8 if workload.dtype.startswith("complex") else 2) * operands[0].shape[0] ** 3
        return f"{work / nanoseconds / 1e3:.1f} TFLOP/s"
    if workload.rate:
        moved = sum(x.nbytes for x in operands) + (result.nbytes if workload.rate == "bytes" else 0)
        return f"{moved / nanoseconds:.0f} GB/s"
    return "–"
