"""Whole networks: agreement with opt_einsum on NumPy, and time beside it and opt_einsum on PyTorch.

All contenders follow the same path, the one stored in the file, and are prepared beforehand: a plan here, a contract
expression there. They run in processes of their own, in turns; ratios are taken within a turn.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.machine import has_torch
from benchmarks.timing import Spread, ratio

SLOW = 5.0  # seconds: whatever takes longer is run twice at most
MOST_ROUNDS = 15
SHORTEST = 0.01  # seconds: shorter runs are repeated within a measurement


class Outcome(NamedTuple):
    """One network at one number of threads; seconds."""

    network: str
    threads: int
    seconds: dict[str, list[float]]
    errors: dict[str, str]
    agreement: dict[str, float]  # largest relative difference, by distribution

    def to_peer(self, peer: str) -> Spread | None:
        """Ours over the peer's time."""
        ours, theirs = self.seconds.get("ours"), self.seconds.get(peer)
        return ratio(ours, theirs) if ours and theirs else None

    def as_json(self) -> dict[str, Any]:
        """Everything measured."""
        return self._asdict()


class Worker:
    """A contender's process."""

    def __init__(self, contender: str, threads: int) -> None:
        count = str(threads)
        names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.network_worker", contender],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **dict.fromkeys(names, count)},
        )

    def ask(self, **request: Any) -> dict[str, Any]:
        """Send a request and wait for the answer."""
        assert self._process.stdin is not None and self._process.stdout is not None
        print(json.dumps(request), file=self._process.stdin, flush=True)
        line = self._process.stdout.readline()
        answer: dict[str, Any] = json.loads(line) if line else {"error": "the process ended"}
        return answer

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


def measure(files: Sequence[Path], threads: Sequence[int], seconds: float, path: str) -> Iterator[Outcome]:
    """Every network at every number of threads; agreement is checked at the first number."""
    for file in files:
        document = json.loads(file.read_text(encoding="utf-8"))
        if "format_string" not in document or path not in document.get("paths", {}):
            print(f"{file.stem}: skipped, it has no format_string or no path {path}", flush=True)
            continue
        for count in threads:
            outcome = measure_one(file, count, seconds, path, check=count == threads[0])
            print(_progress(outcome), flush=True)
            yield outcome


def measure_one(file: Path, threads: int, seconds: float, path: str, *, check: bool) -> Outcome:
    """One network: agreement on two distributions, then interleaved rounds."""
    contenders = ["ours", "numpy", *(["torch"] if has_torch() else [])]
    errors = {} if has_torch() else {"torch": "not installed"}
    workers = {contender: Worker(contender, threads) for contender in contenders}
    load = {"do": "load", "file": str(file), "path": path}
    try:
        agreement = _agreement(workers, load) if check else {}
        for contender, worker in list(workers.items()):
            answer = worker.ask(**load, distribution="uniform")
            if "error" in answer:
                errors[contender] = answer["error"]
                workers.pop(contender).close()
        return Outcome(file.stem, threads, _rounds(workers, seconds, errors), errors, agreement)
    finally:
        for worker in workers.values():
            worker.close()


def _agreement(workers: dict[str, Worker], load: dict[str, Any]) -> dict[str, float]:
    """Relative differences of ours from opt_einsum on NumPy: by element on (0, 1), by norm on signed data."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for distribution in ("uniform", "signed"):
            results = []
            for contender in ("ours", "numpy"):
                file = Path(folder) / f"{contender}.npy"
                worker = workers[contender]
                answer = worker.ask(**load, distribution=distribution)
                answer |= worker.ask(do="save", to=str(file))
                if "error" in answer:
                    return {distribution: float("nan")}
                results.append(np.load(file, mmap_mode="r"))
            found[distribution] = difference(*results, by_element=distribution == "uniform")
    return found


def difference(ours: Any, theirs: Any, *, by_element: bool) -> float:
    """Largest relative difference of elements, or the relative norm of the difference, safe from overflow.

    >>> difference(np.array([1e200, 2.0]), np.array([1e200, 1.0]), by_element=True)
    1.0
    """
    if ours.shape != theirs.shape:
        return float("inf")
    scale = float(np.abs(theirs).max()) or 1.0
    gap = np.abs(ours / scale - theirs / scale)
    if by_element:
        return float((gap / np.abs(theirs / scale)).max())
    return float(np.linalg.norm(gap.ravel()) / np.linalg.norm((theirs / scale).ravel()))


def _rounds(workers: dict[str, Worker], seconds: float, errors: dict[str, str]) -> dict[str, list[float]]:
    samples: dict[str, list[float]] = {contender: [] for contender in workers}
    first = {}
    for contender, worker in workers.items():  # a first run each: what is made once, and how long one takes
        answer = worker.ask(do="run", times=1)
        if "error" in answer:
            errors[contender] = answer["error"]
        else:
            first[contender] = answer["seconds"]
            if answer["seconds"] < SLOW:
                again = worker.ask(do="run", times=1)
                first[contender] = min(first[contender], again["seconds"])
    names = list(first)
    rounds = {name: 2 if first[name] > SLOW else int(min(MOST_ROUNDS, max(3, seconds / first[name]))) for name in names}
    times = {name: max(1, round(SHORTEST / first[name])) for name in names}
    for turn in range(max(rounds.values(), default=0)):
        start = turn % len(names)
        for name in names[start:] + names[:start]:
            if turn < rounds[name]:
                samples[name].append(workers[name].ask(do="run", times=times[name])["seconds"])
    return {name: values for name, values in samples.items() if values}


def _milliseconds(values: Sequence[float] | None, error: str | None) -> str:
    if not values:
        return error or "–"
    return f"{float(np.median(values)) * 1e3:.4g}"


def _progress(outcome: Outcome) -> str:
    times = ", ".join(
        f"{name} {_milliseconds(outcome.seconds.get(name), outcome.errors.get(name))} ms"
        for name in ("ours", "numpy", "torch")
    )
    return f"{outcome.network}, {outcome.threads} threads: {times}; differences {outcome.agreement}"


def as_markdown(outcomes: Sequence[Outcome]) -> str:
    """One table of times and ratios, one of agreement."""
    lines = [
        "Medians in ms; ratios of ours to a peer's time, median and 95 % interval (range for fewer than six rounds).",
        "",
        "| network | threads | ours | opt_einsum, NumPy | opt_einsum, torch | ours/NumPy | ours/torch |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for one in outcomes:
        cells = [one.network, str(one.threads)]
        cells += [_milliseconds(one.seconds.get(name), one.errors.get(name)) for name in ("ours", "numpy", "torch")]
        cells += [str(one.to_peer(peer) or "–") for peer in ("numpy", "torch")]
        lines.append("| " + " | ".join(cells) + " |")
    lines += ["", "| network | elements on (0, 1) | norm, signed |", "|---|---:|---:|"]
    for one in outcomes:
        if one.agreement:
            cells = [f"{one.agreement.get(name, float('nan')):.1e}" for name in ("uniform", "signed")]
            lines.append("| " + " | ".join([one.network, *cells]) + " |")
    return "\n".join(lines)
