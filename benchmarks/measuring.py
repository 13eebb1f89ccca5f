"""Rows measured by one process per contender and number of threads, in turns.

A process computes only when it is asked to and is paused otherwise, so that no idle thread pool spins beside the one
that is measured. A ratio is taken within a turn. Every contender's result is compared with NumPy's before it is timed;
what differs is an error and has no time.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from benchmarks.contenders.limits import GEMM_FLOPS
from benchmarks.rows import BEST, CONTENDERS, LIMIT, OURS, Row
from benchmarks.step_limits import Limits, Work
from benchmarks.timing import Spread, median_spread

MOST_ROUNDS: Final = 41
FEWEST_ROUNDS: Final = 3
LONG: Final = 20.0  # seconds: turns that take longer are made twice
SHORTEST: Final = 0.01  # seconds: shorter runs are repeated within a turn
MOST_IN_TURN: Final = 0.1  # seconds: what repeating may take
SLOW: Final = 1.0  # seconds: such a run needs no warming, and counts from the first
HOPELESS: Final = 20.0  # whoever is slow and takes so many times the fastest is measured once
LIMIT_SECONDS: Final = 0.5  # about what measuring a product or a copy takes, for the limit of a step
SHORTEST_LIMIT: Final = 0.001  # seconds: shorter ones are repeated
PATIENCE: Final = 120.0  # seconds for one answer
THREAD_VARIABLES: Final = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "NUMEXPR_MAX_THREADS",
    "TENSOR_CPU_THREADS",
)


class Outcome(NamedTuple):
    """A row at one number of threads: seconds per turn of each contender, and why others have none."""

    row: Row
    threads: int
    samples: dict[str, list[float]]
    missing: dict[str, str]
    compile_seconds: dict[str, float]
    errors: Mapping[str, Mapping[str, float]] = MappingProxyType({})
    """Of ours and of the reference, in rounding units, by their names (``benchmarks.accuracy``)."""
    estimate: float | None = None
    """Seconds of ours in one thread, as cost models think; None where they do not know all of it."""

    def best(self) -> str | None:
        """The peer with the lowest median, among those that make a fresh result."""
        peers = [name for name in self.samples if name not in (OURS, LIMIT) and CONTENDERS[name].fresh]
        return min(peers, key=lambda name: median(self.samples[name]), default=None)

    def ratios(self, against: str) -> list[float]:
        """Ours over the other's time, turn by turn; nothing where one of them is missing."""
        other = self.best() if against == BEST else against
        ours, theirs = self.samples.get(OURS, []), self.samples.get(other or "", [])
        return [a / b for a, b in zip(ours, theirs, strict=False)]

    def spread(self, against: str) -> Spread | None:
        """The median of these ratios and its interval."""
        ratios = self.ratios(against)
        return median_spread(ratios) if ratios else None


class Worker:
    """A contender's process; paused unless it has something to answer."""

    def __init__(self, contender: str, threads: int, interpreter: str = sys.executable) -> None:
        self.contender = contender
        self._process = subprocess.Popen(
            [interpreter, "-m", "benchmarks.worker", contender],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **dict.fromkeys(THREAD_VARIABLES, str(threads)), "JAX_PLATFORMS": "cpu"},
        )

    def ask(self, do: str, **request: Any) -> dict[str, Any]:
        """Send a request and wait for the answer; no answer in time ends the process."""
        assert self._process.stdin is not None and self._process.stdout is not None
        try:
            self._process.send_signal(signal.SIGCONT)
            print(json.dumps({"do": do, **request}), file=self._process.stdin, flush=True)
            ready, _, _ = select.select([self._process.stdout], [], [], PATIENCE)
            line = self._process.stdout.readline() if ready else ""
        except BrokenPipeError:
            line = ""
        if not line:
            self._process.kill()
            return {"error": "the process ended" if self._process.poll() else f"no answer within {PATIENCE:.0f} s"}
        self._process.send_signal(signal.SIGSTOP)
        answer: dict[str, Any] = json.loads(line)
        return answer

    @property
    def ended(self) -> bool:
        """Whether the process is gone."""
        return self._process.poll() is not None

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                stream.close()


class Crew:
    """The processes of one number of threads, started when first needed."""

    def __init__(self, threads: int, interpreters: Mapping[str, str]) -> None:
        self.threads = threads
        self._interpreters = interpreters
        self._workers: dict[str, Worker] = {}
        self.limits = Limits(self._limit)
        """Of steps; what is measured for one row holds for the others."""

    def __getitem__(self, contender: str) -> Worker:
        worker = self._workers.get(contender)
        if worker is None or worker.ended:
            interpreter = self._interpreters.get(contender, sys.executable)
            worker = self._workers[contender] = Worker(contender, self.threads, interpreter)
        return worker

    def _limit(self, operation: str, arguments: Mapping[str, Any]) -> float:
        """Seconds of a limit: the best of some."""
        worker = self[LIMIT]
        worker.ask("load", row=Row("", "", operation, arguments=arguments).as_request(), seed=0)
        once = float(worker.ask("run", times=1, warm=1)["seconds"])
        runs, times = max(2, min(9, round(LIMIT_SECONDS / once))), max(1, round(SHORTEST_LIMIT / once))
        best = min(float(worker.ask("run", times=times)["seconds"]) for _ in range(runs))
        worker.ask("drop")
        return min(once, best)

    def close(self) -> None:
        """End all."""
        for worker in self._workers.values():
            worker.close()


def measure(
    rows: Sequence[Row],
    contenders: Sequence[str],
    threads: Sequence[int],
    seconds: float,
    reference: str,
    interpreters: Mapping[str, str] = MappingProxyType({}),
) -> Iterator[Outcome]:
    """Every row at every number of threads.

    Args:
        rows: what to measure.
        contenders: names of ``CONTENDERS``, ours among them; those not installed are left out and named.
        threads: numbers of threads; all rows at the first, then all at the next, in fresh processes.
        seconds: budget of a row at one number of threads, without preparation and comparison.
        reference: the contender whose result is right.
        interpreters: of contenders that run in another environment than this one.

    Yields:
        One outcome per row and number of threads.
    """
    seed = int.from_bytes(os.urandom(4), "little")
    for count in threads:
        crew = Crew(count, interpreters)
        try:
            peak = _peak(crew) if any(row.limit and row.limit.flops for row in rows) else 0.0
            for row in rows:
                first = count == threads[0]
                asked = row if first else row._replace(check_also="")
                found = _errors(row, crew, (OURS, reference), seed) if first else {}
                yield _measure_row(asked, crew, contenders, seconds, reference, seed, peak)._replace(errors=found)
        finally:
            crew.close()


def _errors(row: Row, crew: Crew, names: Sequence[str], seed: int) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    for name in names if row.graded is not None else ():
        for kind in ("", row.graded) if row.graded else ("",):
            crew[name].ask("load", row=row.as_request(), seed=seed, kind=kind)
            found.setdefault(name, {}).update(crew[name].ask("errors", graded=bool(kind)).get("errors", {}))
    return found


def _peak(crew: Crew) -> float:
    """Operations per second of a large product: the best of nine."""
    worker = crew[LIMIT]
    worker.ask("load", row=Row("", "", "product").as_request(), seed=0)
    best = min(float(worker.ask("run", times=1)["seconds"]) for _ in range(9))
    worker.ask("drop")
    return GEMM_FLOPS / best


def _measure_row(
    row: Row, crew: Crew, contenders: Sequence[str], seconds: float, reference: str, seed: int, peak: float
) -> Outcome:
    outcome = Outcome(row, crew.threads, {}, {}, {})
    runners: dict[str, float] = {}  # with the seconds of their first run
    with tempfile.TemporaryDirectory() as folder:
        files, right = _references(row, crew[reference], seed, Path(folder), outcome.missing)
        for contender in contenders:
            lacking = [package for package in CONTENDERS[contender].needs if find_spec(package) is None]
            if lacking:
                outcome.missing[contender] = f"{' and '.join(lacking)} not installed"
                continue
            answer = right if contender == reference else _load(crew[contender], row, seed, files)
            if contender == OURS:
                outcome = outcome._replace(estimate=answer.get("estimate"))
            if compile_seconds := answer.get("compile_seconds"):
                outcome.compile_seconds[contender] = compile_seconds
            if reason := answer.get("error") or answer.get("not_offered"):
                outcome.missing[contender] = reason
                crew[contender].ask("drop")
            else:
                runners[contender] = answer["seconds"]
    if row.limit and row.limit.moved and runners:
        copying = Row("", "", "copy", arguments={"bytes": row.limit.moved // 2})
        crew[LIMIT].ask("load", row=copying.as_request(), seed=0)
        runners[LIMIT] = 0.0
    outcome.samples.update(_turns({name: crew[name] for name in runners}, runners, seconds, outcome.missing))
    if row.limit and row.limit.steps and outcome.samples:
        whole = sum(crew.limits.seconds(Work(*step)) for step in row.limit.steps)
        outcome.samples[LIMIT] = [whole] * max(map(len, outcome.samples.values()))
    elif row.limit and peak:
        work = row.limit.flops / peak
        turns = max(map(len, outcome.samples.values()), default=0)
        copies = outcome.samples.pop(LIMIT, None) or [0.0] * turns
        if copies:
            outcome.samples[LIMIT] = [max(copy, work) for copy in copies]
    for name in {*runners, reference}:
        crew[name].ask("drop")
    return outcome


def _references(
    row: Row, worker: Worker, seed: int, folder: Path, missing: dict[str, str]
) -> tuple[dict[str, str], dict[str, Any]]:
    """Files with the right result by kind of drawing, the row's own last and named ""; and the answer to that one."""
    files, answer = {}, dict[str, Any]()
    for kind in (row.check_also, "") if row.check_also else ("",):
        file = folder / f"{kind or 'own'}.npz"
        answer = worker.ask("load", row=row.as_request(), seed=seed, kind=kind)
        if "compile_seconds" in answer:
            answer |= worker.ask("save", to=str(file))
        if "seconds" in answer and file.exists():
            files[kind] = str(file)
        else:
            missing["reference"] = str(answer.get("error", "not offered"))
    return files, answer


def _load(worker: Worker, row: Row, seed: int, files: dict[str, str]) -> dict[str, Any]:
    """Prepare a row for every kind of drawing, the timed one last, comparing each result."""
    answer: dict[str, Any] = {"error": "nothing to compare the result with"}
    for kind, file in files.items():
        answer = worker.ask("load", row=row.as_request(), seed=seed, kind=kind, reference=file)
        if "compile_seconds" not in answer:
            break
    return answer


def repeats(seconds: float, fastest: float) -> int:
    """Runs within a turn: as many for everyone, since the first ones find cold caches; fewer for who is far slower.

    >>> repeats(0.5e-3, 0.5e-3), repeats(1e-3, 0.5e-3), repeats(0.05, 0.5e-3), repeats(1.0, 0.5)
    (20, 20, 2, 1)
    """
    return max(1, min(round(SHORTEST / fastest), round(MOST_IN_TURN / seconds)))


def _turns(
    workers: dict[str, Worker], first_runs: dict[str, float], seconds: float, missing: dict[str, str]
) -> dict[str, list[float]]:
    """Seconds per run, one number per turn; each turn begins with another contender."""
    once: dict[str, float] = {}
    for name, worker in workers.items():
        answer: dict[str, Any] = {"seconds": first_runs[name]}
        if first_runs[name] < SLOW:
            answer = worker.ask("run", times=1, warm=1)
        if "error" in answer:
            missing[name] = answer["error"]
        else:
            once[name] = answer["seconds"]
    names = list(once)
    fastest = min((once[name] for name in names if name != LIMIT), default=SHORTEST)
    times = {name: repeats(once[name], fastest) for name in names}
    warm = {name: times[name] if once[name] < SHORTEST else 0 for name in names}
    hopeless = [name for name in names if name != OURS and once[name] > max(SLOW, HOPELESS * fastest)]
    turn = sum(once[name] * (times[name] + warm[name]) for name in names if name not in hopeless)
    fewest = 2 if turn > LONG else FEWEST_ROUNDS
    rounds = int(min(MOST_ROUNDS, max(fewest, seconds / turn))) if names else 0
    samples: dict[str, list[float]] = {name: [] for name in names}
    for k in range(rounds):
        first = k % len(names)
        for name in names[first:] + names[:first]:
            if k == 0 or name not in hopeless:
                answer = workers[name].ask("run", times=times[name], warm=warm[name])
                if "error" in answer:
                    missing[name] = answer["error"]
                else:
                    samples[name].append(answer["seconds"])
    return {name: values for name, values in samples.items() if values}
