"""What a call costs beside the device's work: launches, calls of libraries and transfers, and the host's time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from statistics import median
from time import perf_counter_ns
from typing import Any, Final

import numpy as np

import tensor_linalg as tl
import tensor_runtime as tr
from gpu_reporting.peers import PEERS, Library, built, ours
from gpu_reporting.subject import Subject
from gpu_reporting.verdicts import FAILED, HELD, MET, OPEN, SHORT, Told, in_cell
from tensor_einsum import einsum

SUBMITTED: Final = ("launch", "gemm", "solver", "copy", "fill", "upload", "download")
"""What a device is asked for, as ``tensor_gpu.device.api`` names it."""
CALLS: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "a sum of two": lambda x, at: x + x,
    "a sum along an axis": lambda x, at: tr.sum(x, axis=0),
    "a copy of a transpose": lambda x, at: tr.copy(x.T),
    "a product of 16×16": lambda x, at: einsum("ij,jk->ik", x, x),
    "a trace": lambda x, at: einsum("ii->", x),
    "three operands": lambda x, at: einsum("ij,jk,kl->il", x, x, x),
    "elements at indices": lambda x, at: tr.take(x, at, axis=0),
    "a sort": lambda x, at: tr.sort(x, axis=0),
    "a Cholesky factor": lambda x, at: tl.cholesky(x),
    "singular values and vectors": lambda x, at: tl.svd(x),
    "a solution": lambda x, at: tl.solve(x, x),
}
MOST_EXTRA: Final = 8.0
"""Microseconds of the host that a product may take more than CuPy's own."""
ROUNDS: Final = 200


@contextmanager
def counted(place: str, /) -> Iterator[Counter[str]]:
    """What the device of a placement is asked for inside the ``with`` block, by name.

    >>> x = tr.ones(4, placement="sim")
    >>> with counted("sim") as counts:
    ...     y = x + x
    >>> counts
    Counter({'launch': 1})
    """
    api: Any = tr.backend(place).api  # type: ignore[attr-defined]
    counts: Counter[str] = Counter()

    def count(name: str, call: Callable[..., Any], *given: Any) -> Any:
        counts[name] += 1
        return call(*given)

    for name in SUBMITTED:
        setattr(api, name, partial(count, name, getattr(api, name)))
    try:
        yield counts
    finally:
        for name in SUBMITTED:
            delattr(api, name)


def host_microseconds(call: Callable[[], Any], wait: Callable[[], Any], rounds: int = ROUNDS, /) -> float:
    """The median time until a call returns, which does not wait for the device's work.

    >>> host_microseconds(lambda: None, lambda: None) < 1000
    True
    """
    times = []
    for number in range(rounds):
        begin = perf_counter_ns()
        result = call()
        times.append(perf_counter_ns() - begin)
        if number % 20 == 19:  # or work piles up, and calls wait for room in the queue
            wait()
        del result
    wait()
    return median(times) / 1e3


def launches(subject: Subject, /) -> Told:
    """A row for each call, and the host's time of a product beside CuPy's.

    >>> launches(Subject("sim", False)).verdicts
    Counter({'held': 11, 'open': 1})
    """
    verdicts = Counter[str]()
    lines = [f"| call | {' | '.join(SUBMITTED)} | µs until it returns |", f"|---|{'--:|' * (len(SUBMITTED) + 1)}"]
    values = np.eye(16) * 20.0 + np.arange(256.0).reshape(16, 16) % 7
    x = tr.to(tr.tensor(values + values.T), subject.place)
    at = tr.to(tr.tensor([3, 0]), subject.place)
    for name, call in CALLS.items():
        try:
            call(x, at)
            with counted(subject.place) as counts:
                call(x, at)
            time = host_microseconds(
                partial(call, x, at), partial(tr.synchronize, subject.place), subject.size(ROUNDS, 10)
            )
        except Exception as error:  # it is told in its row, and the others still run
            verdicts[FAILED] += 1
            lines.append(f"| {name} | {FAILED}: {in_cell(repr(error))} |")
            continue
        verdicts[HELD] += 1
        lines.append(f"| {name} | {' | '.join(str(counts[one] or '–') for one in SUBMITTED)} | {time:.1f} |")
    verdict, said = beside_cupy(subject, values)
    verdicts[verdict] += 1
    return Told([*lines, "", said], verdicts)


def beside_cupy(subject: Subject, values: Any, /) -> tuple[str, str]:
    """The host's time of a small product, ours and CuPy's, and whether ours is near enough."""
    try:
        own = _product(ours(subject.place), values)
    except Exception as error:
        return FAILED, f"A product of 16×16 by `einsum`: {FAILED}: {in_cell(repr(error))}."
    cupy, why = built(PEERS["CuPy"]) if subject.gpu else (None, "")
    try:
        theirs = None if cupy is None else _product(cupy, values)
    except Exception as error:
        theirs, why = None, in_cell(repr(error))
    if theirs is None:
        lacks = f"cannot: {why}" if why else "is not here to compare"
        return OPEN, f"A product of 16×16 by `einsum`: {own:.1f} µs until it returns; CuPy {lacks}."
    verdict = MET if own - theirs <= MOST_EXTRA else SHORT
    return verdict, (
        f"A product of 16×16 by `einsum`: {own:.1f} µs until it returns, CuPy's {theirs:.1f}; at most {MOST_EXTRA:g} "
        f"more are accepted: {verdict}."
    )


def _product(library: Library, values: Any) -> float:
    x = library.take(values)
    result = library.einsum("ij,jk->ik", x, x)
    return host_microseconds(lambda: library.einsum("ij,jk->ik", x, x), lambda: library.wait(result))
