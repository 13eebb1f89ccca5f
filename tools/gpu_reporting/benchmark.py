"""The benchmark: every workload by every library that sees the GPU, in turns, on the same numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from statistics import median
from time import perf_counter_ns
from typing import Any

import numpy as np

from gpu_reporting.peers import PEERS, Library, ours
from gpu_reporting.subject import Subject
from gpu_reporting.workloads import CEILINGS, WORKLOADS, Workload

Timed = Mapping[str, float]
"""Median nanoseconds of each library; those that failed are left out."""
SECONDS: float = 6.0  # that a row may take, at most


def benchmark(subject: Subject, /) -> list[str]:
    """Ceilings, then workloads; a ratio below the one accepted is marked, and on a simulated device none is made."""
    libraries = {"ours": ours(subject.place)}
    if subject.gpu:
        found = {name: make() for name, make in PEERS.items()}
        libraries.update({name: library for name, library in found.items() if library is not None})
    names = list(libraries)
    lines = [
        f"Libraries: {', '.join(names)}. Milliseconds, medians, waited for; the ratio is the best peer over ours.",
        "",
        f"| workload | {' | '.join(names)} | rate of ours | ratio | accepted from |",
        f"|---|{'--:|' * (len(names) + 3)}",
    ]
    lines += [row(workload, subject, libraries) for workload in (*CEILINGS, *WORKLOADS)]
    if not subject.gpu:
        lines += ["", "A simulated device is as slow as it is strict: these times say that the rows run, and no more."]
    return lines


def row(workload: Workload, subject: Subject, libraries: Mapping[str, Library], /) -> str:
    """One row of the table."""
    operands = drawn(workload, subject)
    times, trouble = timed(workload, operands, libraries, 20 if subject.gpu else 2)
    cells = [f"{times[name] / 1e6:.3f}" if name in times else trouble[name] for name in libraries]
    others = [time for name, time in times.items() if name != "ours"]
    ratio, rate = "–", "–"
    if others and "ours" in times:
        value = min(others) / times["ours"]
        ratio = f"{value:.2f}" + ("" if value >= workload.accept else " below")
    if subject.gpu and "ours" in times:
        rate = _rate(workload, operands, times["ours"])
    return f"| {workload.name} | {' | '.join(cells)} | {rate} | {ratio} | {workload.accept or '–'} |"


def drawn(workload: Workload, subject: Subject, /) -> list[Any]:
    """Operands, the same for every library; a positive definite one for Cholesky."""
    draw = np.random.default_rng(1)
    made = []
    for shape in workload.shapes(subject):
        x = draw.standard_normal(shape).astype(workload.dtype)
        made.append(x + x.T + 4 * shape[0] * np.eye(shape[0]) if workload.call == "cholesky" else x)
    return made


def timed(
    workload: Workload, operands: Sequence[Any], libraries: Mapping[str, Library], rounds: int, /
) -> tuple[Timed, Mapping[str, str]]:
    """Medians of rounds in which every library computes once, and what those said that could not."""
    runs: dict[str, Callable[[], object]] = {}
    trouble: dict[str, str] = {}
    for name, library in libraries.items():
        try:
            taken = [library.take(x) for x in operands]
            call = partial(library.einsum, workload.equation) if workload.equation else library.calls[workload.call]
            run = partial(_run, call, taken, library.wait)
            run()
            runs[name] = run
        except Exception as error:  # of any library, and the others are still compared
            trouble[name] = type(error).__name__
    samples: dict[str, list[int]] = {name: [] for name in runs}
    end = perf_counter_ns() + int(SECONDS * 1e9)
    for number in range(rounds):
        for name, each in runs.items():
            begin = perf_counter_ns()
            each()
            samples[name].append(perf_counter_ns() - begin)
        if number >= 2 and perf_counter_ns() > end:
            break
    return {name: median(found) for name, found in samples.items()}, trouble


def _run(call: Callable[..., Any], operands: Sequence[Any], wait: Callable[[Any], object]) -> None:
    wait(call(*operands))


def _rate(workload: Workload, operands: Sequence[Any], nanoseconds: float) -> str:
    nbytes = sum(x.nbytes for x in operands)
    if workload.equation == "ij,jk->ik":
        work = (8 if workload.dtype.startswith("complex") else 2) * operands[0].shape[0] ** 3
        return f"{work / nanoseconds / 1e3:.1f} TFLOP/s"
    moved = {"copy": 2.0, "add": 1.5, "sum": 1.0}.get(workload.call, 2.0 if workload.equation == "ij->ji" else 0.0)
    return f"{moved * nbytes / nanoseconds:.0f} GB/s" if moved else "–"
