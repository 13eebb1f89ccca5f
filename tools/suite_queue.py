"""A queue of test suites: several processes at once, shown one after the other, and everything ends with Ctrl-C.

What a suite needs is built when its turn comes. Its output goes to a file in ``out/suites`` while it runs, and is shown
whole when those before it have been shown; lines of dots are left out. Every suite runs, whatever fails before it, and
one that fails makes the exit status. What suites counted of the conformance of backends is one table at the end.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).resolve().parents[1]
LOGS: Final = ROOT / "out" / "suites"
SLOWEST: Final = ("--durations=5", "--durations-min=10")
"""Tests that take more than ten seconds are named."""

_COUNTED: Final = re.compile(r"^conformance of (\S+): (\d.*)$", re.MULTILINE)
_COLUMNS: Final = ("passed", "failed", "unsupported")
_DOTS: Final = re.compile(r"^[.sxXFE]+ *\[ *\d+%\]$\n?", re.MULTILINE)


class Suite(NamedTuple):
    """One run of pytest, or of a program."""

    what: str
    arguments: Sequence[str]  # of pytest
    environment: Mapping[str, str] = {}
    program: Sequence[str] = ()  # in place of pytest

    @property
    def command(self) -> list[str]:
        """What the operating system runs."""
        pytest = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *SLOWEST, *self.arguments]
        return list(self.program) or pytest


Job = Callable[[], Suite | str]
"""Builds what a suite needs and returns it, or says why it is left out."""


class Outcome(NamedTuple):
    """What became of a job."""

    what: str
    status: int
    said: str
    seconds: float


class Processes:
    """The processes that run; each leads a session, so that all that it started ends with it."""

    def __init__(self) -> None:
        self._running: set[subprocess.Popen[bytes]] = set()
        self._ended = False
        self._lock = Lock()

    def run(self, suite: Suite, log: Path) -> int:
        """Run a suite to its end; its exit status."""
        with log.open("wb") as output:
            with self._lock:
                if self._ended:
                    return 1
                process = subprocess.Popen(
                    suite.command,
                    env={**os.environ, **suite.environment},
                    cwd=ROOT,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
                self._running.add(process)
            status = process.wait()
        with self._lock:
            self._running.remove(process)
        return status

    def end(self) -> None:
        """Kill all that run, and start no more."""
        with self._lock:
            self._ended = True
            for process in self._running:
                with suppress(ProcessLookupError):  # it has ended by itself, and nobody has said so yet
                    os.killpg(process.pid, signal.SIGKILL)


def run_all(jobs: Sequence[Job], logs: Path = LOGS, workers: int = 2) -> int:
    """Run every job, ``workers`` of them at a time in their order; the exit status of the first that failed, or 0.

    The order is that of starting and of showing. Long ones belong first, so that no processor waits for the last one.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     run_all([lambda: "nothing to run"], Path(folder))
    <BLANKLINE>
    nothing to run
    0
    """
    logs.mkdir(parents=True, exist_ok=True)
    processes, outcomes = Processes(), []
    former = signal.signal(signal.SIGTERM, _interrupt)
    pool = ThreadPoolExecutor(workers)
    try:
        waiting = [pool.submit(_outcome, job, processes, logs / f"{n:02}.log") for n, job in enumerate(jobs, 1)]
        for future in waiting:
            outcomes.append(_waited_for(future))
            _show(outcomes[-1])
    except KeyboardInterrupt:
        processes.end()
        print("\ninterrupted; every suite was ended, and what is being built is waited for", flush=True)
        return 130
    finally:
        pool.shutdown(cancel_futures=True)
        signal.signal(signal.SIGTERM, former)
    for line in conformance_table(outcome.said for outcome in outcomes):
        print(line, flush=True)
    failed = [outcome for outcome in outcomes if outcome.status]
    for outcome in failed:
        print(f"FAILED with status {outcome.status}: {outcome.what}", flush=True)
    return failed[0].status if failed else 0


def conformance_table(said: Iterable[str], /) -> list[str]:
    """What suites said of the conformance of backends, a row for each count of a placement; nothing where none did.

    >>> said = ["conformance of sim:0: 1,210 passed, 3 unsupported", "conformance of cpu: 8 passed"]
    >>> for line in conformance_table(said)[1:]:
    ...     print(line)
    conformance         passed    failed  unsupported
    cpu                      8         0            0
    sim:0                1,210         0            3
    """
    counted = sorted({found for text in said for found in _COUNTED.findall(text)})
    if not counted:
        return []
    rows = [("conformance", *_COLUMNS)]
    for place, counts in counted:
        numbers = {what: number for number, _, what in (part.partition(" ") for part in counts.split(", "))}
        rows.append((place, *(numbers.get(column, "0") for column in _COLUMNS)))
    return ["", *(f"{place:<16}{passed:>10}{failed:>10}{left:>13}" for place, passed, failed, left in rows)]


def _outcome(job: Job, processes: Processes, log: Path) -> Outcome:
    start = time.perf_counter()
    try:
        suite = job()
        if isinstance(suite, str):
            return Outcome(suite, 0, "", 0.0)
        status = processes.run(suite, log)
        said = log.read_text(encoding="utf-8", errors="replace")
        return Outcome(suite.what, status, said, time.perf_counter() - start)
    except Exception:  # building failed
        name = getattr(getattr(job, "func", job), "__name__", "a suite")  # of a partial, that of its function
        return Outcome(name, 1, traceback.format_exc(), time.perf_counter() - start)


def _waited_for(future: Future[Outcome]) -> Outcome:
    """The result; a signal is heard meanwhile."""
    while True:
        try:
            return future.result(timeout=0.5)
        except TimeoutError:
            continue


def _show(outcome: Outcome) -> None:
    after = f" ({outcome.seconds:.0f} s)" if outcome.said else ""
    print(f"\n{outcome.what}{after}\n{_DOTS.sub('', outcome.said)}", end="", flush=True)


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt
