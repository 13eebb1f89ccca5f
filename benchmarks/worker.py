"""One contender in a process of its own: prepares a row, checks it, runs it when told, and says how long it took.

Thread pools of two libraries in one process spin against each other, so every contender gets its own process, and the
parent lets only one of them run at a time. Lines of JSON come in on stdin and go out on what stdout was at the start:

``load``  draw the operands of a row and prepare it; with ``reference``, compare the result with that file, and answer
          the ``seconds`` of this first run
``save``  write the result to a file, as the reference of the others, and answer the ``seconds`` of this first run
``errors`` of its result, by name; with ``graded``, of the small values of such matrices
``run``   run it ``times`` times after ``warm`` untimed runs, and answer ``seconds`` per run
``drop``  forget the row
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.accuracy import errors, small_values
from benchmarks.contenders.base import NotOfferedError, Operations, Prepared
from benchmarks.drawing import draw, require_agreement
from benchmarks.rows import CONTENDERS


class Server:
    """Answers requests for one contender."""

    def __init__(self, contender: str) -> None:
        found = CONTENDERS[contender]
        self._operations: Operations = getattr(import_module(found.module), found.table)
        self._prepared: Prepared | None = None
        self._operation, self._arrays = "", list[Any]()

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """Do what is asked; an error is an answer, too."""
        try:
            return getattr(self, request.pop("do"))(**request) or {}
        except NotOfferedError as error:
            return {"not_offered": str(error) or "not offered"}
        except Exception as error:  # the parent prints it in the row of this contender
            return {"error": f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"}

    def load(self, row: dict[str, Any], seed: int, kind: str = "", reference: str = "") -> dict[str, Any]:
        """Prepare a row; ``kind`` replaces that of all operands."""
        self._prepared = None
        if row["operation"] not in self._operations:
            raise NotOfferedError
        operands = [(tuple(shape), kind or drawn, dtype) for shape, drawn, dtype in row["operands"]]
        prepare = self._operations[row["operation"]]
        self._operation, self._arrays = row["operation"], draw(operands, seed)
        self._prepared = prepare(row["arguments"], self._arrays)
        gc.collect()
        seconds = 0.0
        if reference:
            by_element = all(drawn == "uniform" for _, drawn, _ in operands)
            with np.load(reference) as expected:
                seconds = self._compare(list(expected.values()), row["tolerance"], by_element)
        estimate = self._prepared.estimate
        return {
            "compile_seconds": self._prepared.compile_seconds,
            "seconds": seconds,
            "estimate": None if estimate is None else estimate(),
        }

    def _compare(self, expected: list[Any], tolerance: float, by_element: bool) -> float:
        found, seconds = self._first_run()
        require_agreement(found, expected, tolerance, by_element=by_element)
        return seconds

    def _first_run(self) -> tuple[Sequence[Any], float]:
        assert self._prepared is not None
        start = perf_counter()
        result = self._prepared.run()
        elapsed = perf_counter() - start
        return self._prepared.read(result), elapsed

    def save(self, to: str) -> dict[str, Any]:
        """Write the arrays of the result."""
        found, seconds = self._first_run()
        np.savez(to, *found)
        return {"seconds": seconds}

    def errors(self, graded: bool = False) -> dict[str, Any]:
        """Errors of the result, beside extended precision."""
        assert self._prepared is not None
        if self._prepared.parts is None:
            return {}
        parts = self._prepared.parts(self._prepared.run())
        if graded:
            return {"errors": small_values(self._operation, self._arrays[0], parts)}
        return {"errors": errors(self._operation, self._arrays, parts)}

    def run(self, times: int, warm: int = 0) -> dict[str, Any]:
        """Time it; every result is dropped before the next run."""
        assert self._prepared is not None
        run = self._prepared.run
        gc.disable()
        for _ in range(warm):
            run()
        start = perf_counter()
        for _ in range(times):
            run()
        elapsed = perf_counter() - start
        gc.enable()
        gc.collect()
        return {"seconds": elapsed / times}

    def drop(self) -> None:
        """Forget the row and its operands."""
        self._prepared = None
        self._arrays.clear()
        gc.collect()


def serve(contender: str) -> None:
    """Answer requests until stdin ends."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a library prints must not look like an answer
    pin(int(os.environ.get("OMP_NUM_THREADS", "1")))
    server = Server(contender)
    for line in sys.stdin:
        print(json.dumps(server.answer(json.loads(line))), file=answers, flush=True)


def pin(threads: int) -> None:
    """Keep to as many cores as there are threads, the last ones; and, on Linux, end with the parent."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, 9)  # PR_SET_PDEATHSIG, SIGKILL: a paused process would outlive its parent
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-threads:])


if __name__ == "__main__":
    serve(sys.argv[1])
