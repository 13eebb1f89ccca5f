"""Transfers between host and device: from memory that any program has, and from memory that the device reads itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from statistics import median
from time import perf_counter
from typing import Any, Final, NamedTuple

import numpy as np

import tensor_runtime as tr
from gpu_reporting.subject import Subject, require
from gpu_reporting.verdicts import FAILED, HELD, MET, NOT_RUN, OPEN, SHORT, Told, in_cell
from tensor_runtime.placement import MemoryKind, Placement, as_placement

Ways = Mapping[str, Callable[[], Any]]
"""By row what transfers once, and waits."""
UP, DOWN, PINNED_UP, PINNED_DOWN = "upload", "download", "upload, pinned", "download, pinned"
ROWS: Final = (UP, DOWN, PINNED_UP, PINNED_DOWN)
ACCEPTED: Final = 0.95
"""Of the best other library's rate, memory of the same kind."""


def _ours(place: str, values: Any) -> Ways:
    host = tr.asarray(values)
    x = tr.to(host, place)
    backend: Any = tr.backend(place)

    def waited(source: tr.Tensor, target: Placement | str) -> None:
        tr.to(source, target)
        tr.synchronize(place)

    ways: dict[str, Callable[[], Any]] = {UP: partial(waited, host, place), DOWN: partial(waited, x, "cpu")}
    pinned = Placement(MemoryKind.PinnedHost, as_placement(place).device)
    if pinned in backend.placements():
        ways[PINNED_UP] = partial(waited, tr.to(x, pinned), place)
        ways[PINNED_DOWN] = partial(waited, x, pinned)
    return ways


def _torch(values: Any) -> Ways:
    torch: Any = import_module("torch")
    host, x = torch.from_numpy(values), torch.from_numpy(values).cuda()
    pinned = host.pin_memory()

    def waited(call: Callable[[], Any]) -> None:
        call()
        torch.cuda.synchronize()

    return {
        UP: partial(waited, host.cuda),
        DOWN: partial(waited, x.cpu),
        PINNED_UP: partial(waited, lambda: pinned.cuda(non_blocking=True)),
        PINNED_DOWN: partial(waited, lambda: pinned.copy_(x, non_blocking=True)),
    }


def _cupy(values: Any) -> Ways:
    cupy: Any = import_module("cupy")
    pinned_array: Any = import_module("cupyx").empty_pinned
    x, pinned = cupy.asarray(values), pinned_array(values.shape, values.dtype)
    pinned[...] = values

    def waited(call: Callable[[], Any]) -> None:
        call()
        cupy.cuda.get_current_stream().synchronize()

    return {
        UP: partial(waited, lambda: cupy.asarray(values)),
        DOWN: partial(waited, lambda: cupy.asnumpy(x)),
        PINNED_UP: partial(waited, lambda: x.set(pinned)),
        PINNED_DOWN: partial(waited, lambda: x.get(out=pinned)),
    }


class Rates(NamedTuple):
    """GB/s by row, and what those rows said that raised."""

    found: dict[str, float]
    trouble: dict[str, str]


OTHERS: Final[Mapping[str, Callable[[Any], Ways]]] = {"PyTorch": _torch, "CuPy": _cupy}


def transfers(subject: Subject, /) -> Told:
    """Rates in GB/s; ours are judged beside the best other library, memory of the same kind.

    >>> transfers(Subject("sim", False)).verdicts
    Counter({'open': 4, 'held': 1})
    """
    verdicts = Counter[str]()
    values = np.arange(subject.size(1 << 27, 1 << 10), dtype=np.float64)
    found = {"ours": _rates(partial(_ours, subject.place), values, subject)}
    if subject.gpu:
        found.update({name: _rates(make, values, subject) for name, make in OTHERS.items()})
    lines = [f"{values.nbytes:,} bytes, GB/s, medians.", "", f"| way | {' | '.join(found)} | verdict |"]
    lines.append(f"|---|{'--:|' * len(found)}---|")
    for row in ROWS:
        verdict, why = _verdict(row, found)
        verdicts[verdict] += 1
        cells = [f"{rates[row]:.2f}" if row in rates else "–" for rates, _ in found.values()]
        lines.append(f"| {row} | {' | '.join(cells)} | {verdict}{why} |")
    verdict, said = _both_ways(subject, values)
    verdicts[verdict] += 1
    return Told([*lines, "", said], verdicts)


def _verdict(row: str, found: Mapping[str, Rates]) -> tuple[str, str]:
    """Of a row, and what to say beside it."""
    ours = found["ours"]
    if row in ours.trouble:
        return FAILED, f": {ours.trouble[row]}"
    if row not in ours.found:
        return NOT_RUN, ""
    best = max((rates.found.get(row, 0.0) for name, rates in found.items() if name != "ours"), default=0.0)
    return OPEN if not best else MET if ours.found[row] >= ACCEPTED * best else SHORT, ""


def _rates(make: Callable[[Any], Ways], values: Any, subject: Subject) -> Rates:
    try:
        ways = make(values)
    except Exception as error:  # of a library that is not here, or cannot; of ours it is a failure of each row
        return Rates({}, dict.fromkeys(ROWS, in_cell(repr(error))))
    rates = Rates({}, {})
    for row, call in ways.items():
        times = []
        try:
            for _ in range(subject.size(5, 2)):
                begin = perf_counter()
                call()
                times.append(perf_counter() - begin)
        except Exception as error:  # it is told in its row, and the others still run
            rates.trouble[row] = in_cell(repr(error))
            continue
        rates.found[row] = values.nbytes / median(times) / 1e9
    return rates


def _both_ways(subject: Subject, values: Any) -> tuple[str, str]:
    """In the background, up and down at once: what arrives is what was sent."""
    try:
        x = tr.upload(tr.download(tr.asarray(values)), subject.place, wait=False).result()
        down = tr.download(x, wait=False)
        again = tr.upload(down.result(), subject.place, wait=False).result()
        require(bool((tr.to(again, "cpu").to_numpy() == values).all()), "what arrives is what was sent")
    except Exception as error:
        return FAILED, f"In the background: {FAILED}: {in_cell(repr(error))}."
    return HELD, "Sent up, down and up again in the background: every element arrives."
