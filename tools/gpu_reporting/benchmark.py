"""The benchmark: every workload by every library that sees the device, in turns, on the same numbers.

Each library computes on several copies of its operands in turn, larger together than the device's cache, and is timed
by events on its own stream where it has them. A row that fails says so, and the others run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from statistics import median
from time import perf_counter_ns
from typing import Any, Final, NamedTuple

from gpu_reporting.errors import Array, bound, error
from gpu_reporting.facts import clocks_and_power
from gpu_reporting.peers import PEERS, Library, built, ours
from gpu_reporting.raw import library
from gpu_reporting.subject import Subject
from gpu_reporting.verdicts import FAILED, HELD, MET, NOT_RUN, OPEN, SHORT, Told, in_cell
from gpu_reporting.workloads import BEST, CEILINGS, WORKLOADS, Workload

OURS: Final = "ours"
RAW: Final = "libraries"
SECONDS: Final = 2.5  # that the rounds of a row may take, more or less
MOST_COMPILED: Final = 128
MOST_AXES: Final = 12
"""Operands of a network that JAX is given, and axes of each: compiling hundreds of operands, or a copy that permutes 25
axes, takes it minutes, and cannot be stopped."""
CACHE: Final = 60 << 20
"""Bytes of the largest cache of level 2 that GPUs have now; operands are rotated through more than twice that."""
MOST_SETS: Final = 16
LEAST_SECONDS: Final = 10.0
"""With less left, no further row is begun."""


class Timing(NamedTuple):
    """Median nanoseconds of a workload by one library."""

    call: float  # until the call returned
    whole: float  # until its result was there


class Run(NamedTuple):
    """Calls that can be made again, on one set of operands each, and what the first one gave."""

    calls: Sequence[Callable[[], Any]]
    library: Library
    result: Any


def benchmark(subject: Subject, /) -> Told:
    """Ceilings, then workloads, each with its verdicts.

    >>> told = benchmark(Subject("sim", gpu=False))
    >>> told.verdicts["held"] == len(CEILINGS) + len(WORKLOADS), told.verdicts["FAILED"]
    (True, 0)
    """
    libraries = {OURS: ours(subject.place)}
    makers: dict[str, Callable[[], Library | None]] = {RAW: partial(library, subject.place, libraries[OURS])}
    if subject.gpu:
        makers.update(PEERS)
    absent = []
    for name, make in makers.items():
        one, why = built(make)
        if one is not None:
            libraries[name] = one
        elif why:
            absent.append(f"{name} cannot be used: {why}.")
    by_host = [name for name, one in libraries.items() if not one.clock.events]
    lines = [
        f"By {', '.join(libraries)}; `{RAW}` are cuBLAS and cuSOLVER by themselves, writing to memory that is there.",
        f"Milliseconds, medians; by events on a library's stream, or, of {', '.join(by_host)}, by the host's clock.",
        'In "until it returns" our call is back on the host; errors are of samples of our results; a ratio is the '
        "other library's time over ours.",
        *absent,
        "",
        f"| workload | {' | '.join(libraries)} | until it returns | rate of ours | error | verdicts |",
        f"|---|{'--:|' * (len(libraries) + 3)}---|",
    ]
    verdicts = Counter[str]()
    for workload in (*CEILINGS, *WORKLOADS):
        line, given = _row_or_failure(workload, subject, libraries)
        lines.append(line)
        if subject.gpu:
            print(line, flush=True)  # for a row that hangs
        verdicts.update(given)
    after = "; ".join(f"{name} {value}" for name, value in clocks_and_power().items())
    lines += ["", f"Afterwards: {after}."]
    if not subject.gpu:
        lines += ["", "A simulated device is as slow as it is strict: these times say that the rows run, and no more."]
    return Told(lines, verdicts)


def _row_or_failure(
    workload: Workload, subject: Subject, libraries: Mapping[str, Library]
) -> tuple[str, Sequence[str]]:
    if subject.left() < LEAST_SECONDS:
        return f"| {workload.name} | {NOT_RUN}: no time is left |", [NOT_RUN]
    try:
        return row(workload.of(subject), subject, libraries)
    except Exception as problem:  # it is told in its row, and the others still run
        return f"| {workload.name} | {FAILED}: {in_cell(f'{type(problem).__name__}: {problem}')} |", [FAILED]


def row(workload: Workload, subject: Subject, libraries: Mapping[str, Library], /) -> tuple[str, Sequence[str]]:
    """One row of the table, and its verdicts: whether our result was right, and what of the times is accepted."""
    operands = workload.drawn(subject)
    runs, trouble = prepared(workload, operands, libraries, sets_for(operands, subject))
    if OURS not in runs:
        return f"| {workload.name} | {FAILED}: {trouble[OURS]} |", [FAILED]
    result = runs[OURS].result
    off = error(workload, operands, result, libraries[OURS].give)
    right = off <= min(bound(workload, operands), workload.residual)
    times, raised = timed(runs, 20 if subject.gpu else 2, workload.repeats if subject.gpu else 2)
    trouble.update(raised)
    if OURS not in times:
        return f"| {workload.name} | {FAILED}: {trouble[OURS]} |", [FAILED]
    cells = [f"{times[name].whole / 1e6:.3f}" if name in times else trouble[name] for name in libraries]
    rate = _rate(workload, operands, result, times[OURS].whole) if subject.gpu else "–"
    said = judged_times(workload, {name: one.whole for name, one in times.items()}, subject)
    if workload.memory:
        said.append(judged_memory(workload, runs))
    cells += [f"{times[OURS].call / 1e6:.3f}", rate, f"{off:.1e}{'' if right else ' WRONG'}"]
    text = "; ".join(f"{verdict}: {what}" for verdict, what in said) or "–"
    return f"| {workload.name} | {' | '.join(cells)} | {text} |", [HELD if right else FAILED, *(one for one, _ in said)]


def judged_times(workload: Workload, times: Mapping[str, float], subject: Subject, /) -> list[tuple[str, str]]:
    """Beside each library that the workload names: met, short, or open where it is not here.

    >>> workload = Workload("", "", lambda subject: (), "", (("best", 0.9), ("PyTorch", 2.0), ("JAX", 1.0)))
    >>> judged_times(workload, {"ours": 10.0, "PyTorch": 18.0, "CuPy": 9.5}, Subject("cuda", True))
    [('met', '0.95 of CuPy, 0.9 accepted'), ('short', '1.80 of PyTorch, 2 accepted'), ('open', 'no JAX')]
    """
    if not subject.gpu:
        return [(OPEN, "no GPU")] if workload.accept else []
    said = []
    others = {name: time for name, time in times.items() if name != OURS}
    for name, least in workload.accept:
        peer = min(others, key=others.__getitem__, default=None) if name == BEST else name
        if peer is None or peer not in others:
            said.append((OPEN, f"no {name}"))
            continue
        ratio = others[peer] / times[OURS]
        said.append((MET if ratio >= least else SHORT, f"{ratio:.2f} of {peer}, {least:g} accepted"))
    return said


def judged_memory(workload: Workload, runs: Mapping[str, Run], /) -> tuple[str, str]:
    """The most memory of our call beside that of PyTorch's."""
    measure = runs[OURS].library.peak
    assert measure is not None
    own, other = measure(runs[OURS].calls[0]), _peak(runs.get("PyTorch"))
    if other is None:
        return OPEN, f"{own:,} bytes at most"
    ratio = own / max(other, 1)
    return MET if ratio <= workload.memory else SHORT, (
        f"{own:,} bytes at most, {ratio:.2f} of PyTorch's, {workload.memory:g} accepted"
    )


def _peak(run: Run | None) -> int | None:
    """Of another library; None where it is not here, or cannot."""
    if run is None or run.library.peak is None:
        return None
    try:
        return run.library.peak(run.calls[0])
    except Exception:
        return None


def sets_for(operands: Sequence[Array], subject: Subject, /) -> int:
    """How many copies of operands it takes that none is still in the cache when its turn comes; some, at the most.

    >>> from types import SimpleNamespace as Space
    >>> [sets_for([Space(nbytes=nbytes)], Subject("cuda", True)) for nbytes in (1 << 10, 50 << 20, 1 << 30)]
    [16, 4, 1]
    """
    if not subject.gpu:
        return 2
    nbytes = max(1, sum(x.nbytes for x in operands))
    return 1 if nbytes > 2 * CACHE else min(MOST_SETS, 1 + -(-2 * CACHE // nbytes))


def prepared(
    workload: Workload, operands: Sequence[Array], libraries: Mapping[str, Library], sets: int = 1, /
) -> tuple[dict[str, Run], dict[str, str]]:
    """Calls that were made once, and what those said that could not."""
    runs: dict[str, Run] = {}
    trouble: dict[str, str] = {}
    for name, one in libraries.items():
        if name == "JAX" and (len(operands) > MOST_COMPILED or max(x.ndim for x in operands) > MOST_AXES):
            trouble[name] = "not tried"
            continue
        try:
            made = partial(one.einsum, workload.equation) if workload.equation else one.calls[workload.call]
            calls = [partial(made, *one.taken(workload.call, operands)) for _ in range(sets)]
            result = calls[0]()
            one.wait(result)
            runs[name] = Run(calls, one, result if name == OURS else None)
        except Exception as problem:  # of any library, and the others are still compared
            lacks = name != OURS and isinstance(problem, (NotImplementedError, KeyError))  # it has no such call
            trouble[name] = "–" if lacks else _said(name, problem)
    return runs, trouble


def _said(name: str, problem: Exception) -> str:
    """What of ours is a failure, and is told whole; of another library its type will do."""
    kind = type(problem).__name__
    return in_cell(f"{kind}: {problem}") if name == OURS else kind


def timed(runs: Mapping[str, Run], rounds: int, repeats: int, /) -> tuple[dict[str, Timing], dict[str, str]]:
    """Medians of rounds in which every library computes once, or so often in a row; on other operands each time.

    A library that raises is left out from then on; what it said comes second.
    """
    trouble: dict[str, str] = {}
    samples: dict[str, list[Timing]] = {name: [] for name in runs}
    end, turn = perf_counter_ns() + int(SECONDS * 1e9), 0
    for number in range(rounds):
        for name, run in runs.items():
            if name in trouble:
                continue
            try:
                samples[name].append(_sample(run, turn, repeats))
            except Exception as problem:  # of any library, and the others are still compared
                trouble[name] = _said(name, problem)
        turn += repeats
        if number >= 2 and perf_counter_ns() > end:
            break
    whole = {name: found for name, found in samples.items() if name not in trouble}
    return {
        name: Timing(*(median(each) for each in zip(*found, strict=True))) for name, found in whole.items()
    }, trouble


def _sample(run: Run, turn: int, repeats: int) -> Timing:
    clock, calls = run.library.clock, run.calls
    begin, first = perf_counter_ns(), clock.mark()
    result = calls[turn % len(calls)]()
    for more in range(1, repeats):
        result = calls[(turn + more) % len(calls)]()
    last, returned = clock.mark(), perf_counter_ns()
    run.library.wait(result)
    whole = clock.between(first, last) if clock.events else perf_counter_ns() - begin
    return Timing(returned - begin, whole)


def _rate(workload: Workload, operands: Sequence[Array], result: Any, nanoseconds: float) -> str:
    if workload.rate == "flops":
        work = (8 if workload.dtype.startswith("complex") else 2) * operands[0].shape[0] ** 3
        return f"{work / nanoseconds / 1e3:.1f} TFLOP/s"
    if workload.rate:
        moved = sum(x.nbytes for x in operands) + result.nbytes
        return f"{moved / nanoseconds:.0f} GB/s"
    return "–"
