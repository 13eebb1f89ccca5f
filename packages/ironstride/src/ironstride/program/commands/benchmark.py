"""The command `bench`: a minute of everyday work on this machine, beside NumPy.

Both sides compute the same from the same numbers, in turns, so that what else the machine does meets both. A ratio is
the median over the turns; below 1 ours is faster.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from statistics import median, quantiles
from typing import Any, Final, NamedTuple

from tqdm import tqdm

import tensor_einsum
import tensor_linalg as tl
import tensor_runtime as tr
from ironstride.program.json_text import json_text
from ironstride.program.units import table

TURN: Final = 2e-3  # seconds of one side of a turn, at least
FEWEST, MOST = 3, 200  # turns of a case

Call = Callable[[], object]


class Measured(NamedTuple):
    """One case: seconds of a call, medians, and the ratio ours to NumPy's with its quartiles."""

    name: str
    ours: float
    numpy: float
    ratio: float
    low: float
    high: float
    turns: int


def bench(seconds: float, threads: int | None, as_json: bool) -> bool:
    """Measure for about so many seconds, and print a row for each case.

    Returns:
        True.

    >>> bench(0.01, None, False)  # doctest: +ELLIPSIS
      case                                    ours      NumPy  ours/NumPy  quartiles
      add, 3 elements  ...
      ...
    geometric mean ..., below 1 ours is faster
    True
    """
    cases = every_case()
    rows = []
    with (
        tr.set_threads(threads) if threads else nullcontext(),
        tqdm(cases, unit="case", disable=None, leave=False) as bar,
    ):
        for name, prepare in bar:
            rows.append(measure(name, *prepare(), seconds / len(cases)))
    mean = 1.0
    for row in rows:
        mean *= row.ratio ** (1 / len(rows))
    if as_json:
        print(json_text({"threads": tr.threads(), "mean": mean, "cases": [row._asdict() for row in rows]}))
        return True
    cells = [
        (row.name, time_text(row.ours), time_text(row.numpy), f"{row.ratio:.2f}", f"{row.low:.2f} to {row.high:.2f}")
        for row in rows
    ]
    print(table([("case", "ours", "NumPy", "ours/NumPy", "quartiles"), *cells], "<>>>>"))
    print(f"geometric mean {mean:.2f}, below 1 ours is faster")
    return True


def measure(name: str, ours: Call, theirs: Call, seconds: float) -> Measured:
    """The two sides in turns, for about so long.

    >>> measure("nothing", lambda: None, lambda: None, 0.01).turns >= 3
    True
    """
    begun = time.perf_counter()
    counts = [_repeats(call) for call in (ours, theirs)]
    times: tuple[list[float], list[float]] = ([], [])
    while len(times[0]) < FEWEST or (len(times[0]) < MOST and time.perf_counter() - begun < seconds):
        for call, count, taken in zip((ours, theirs), counts, times, strict=True):
            taken.append(_seconds(call, count) / count)
    ratios = [mine / other for mine, other in zip(*times, strict=True)]
    low, _, high = quantiles(ratios, n=4)
    return Measured(name, median(times[0]), median(times[1]), median(ratios), low, high, len(ratios))


def _repeats(call: Call) -> int:
    """How often a call is made in a turn."""
    call()  # which may bind and load
    count = 1
    while _seconds(call, count) < TURN:
        count *= 2
    return count


def _seconds(call: Call, count: int) -> float:
    begun = time.perf_counter()
    for _ in range(count):
        call()
    return time.perf_counter() - begun


def time_text(seconds: float) -> str:
    """A duration with three digits.

    >>> time_text(1.234e-7), time_text(0.0123), time_text(2.0)
    ('0.123 µs', '12.3 ms', '2 s')
    """
    unit, name = next(((unit, name) for unit, name in ((1.0, "s"), (1e-3, "ms")) if seconds >= unit), (1e-6, "µs"))
    return f"{seconds / unit:.3g} {name}"


def every_case() -> Sequence[tuple[str, Callable[[], tuple[Call, Call]]]]:
    """Names of the cases, and what prepares each: the same work for both sides."""
    return [
        ("add, 3 elements", lambda: _add(3)),
        ("add, a million elements", lambda: _add(1_000_000)),
        ("exp(-x * x) * cos(x), fused, a million", _chain),
        ("sum along rows, 1000x1000", _row_sums),
        ("permute 4 axes of 32, copied", _permute),
        ("matmul 3x3", lambda: _product(3)),
        ("matmul 500x500", lambda: _product(500)),
        ("einsum of a ring of five 20x20", _ring),
        ("einsum with a hyper-edge, 3 operands", _hyper_edge),
        ("svd of 2,000 matrices 8x8", lambda: _of_stack("svd", 8, 2000)),
        ("eigh of 2,000 matrices 8x8", lambda: _of_stack("eigh", 8, 2000)),
        ("solve 2,000 systems 8x8", lambda: _of_stack("solve", 8, 2000)),
        ("inv of 10,000 matrices 3x3", lambda: _of_stack("inv", 3, 10_000)),
        ("svd of one matrix 200x200", lambda: _of_stack("svd", 200, 1)),
    ]


def _drawn(*shape: int, seed: int = 0) -> tuple[tr.Tensor, Any]:
    """Numbers on (0, 1), as a tensor and as a row-major array, which NumPy knows best."""
    import numpy as np

    x = tr.uniform(shape, seed=seed)
    return x, np.ascontiguousarray(np.asarray(x))


def _add(length: int) -> tuple[Call, Call]:
    import numpy as np

    (a, c), (b, d) = _drawn(length), _drawn(length, seed=1)
    return lambda: tr.add(a, b), lambda: np.add(c, d)


def _chain() -> tuple[Call, Call]:
    import numpy as np

    x, y = _drawn(1_000_000)
    fused = tr.fuse(lambda t: tr.exp(-t * t) * tr.cos(t))
    return lambda: fused(x), lambda: np.exp(-y * y) * np.cos(y)


def _row_sums() -> tuple[Call, Call]:
    import numpy as np

    x, y = _drawn(1000, 1000)
    return lambda: tr.sum(x, axis=1), lambda: np.sum(y, axis=1)


def _permute() -> tuple[Call, Call]:
    import numpy as np

    x, y = _drawn(32, 32, 32, 32)
    axes = (2, 0, 3, 1)
    return lambda: tr.to_contiguous(tr.permute_axes(x, axes)), lambda: np.ascontiguousarray(np.transpose(y, axes))


def _product(size: int) -> tuple[Call, Call]:
    import numpy as np

    (a, c), (b, d) = _drawn(size, size), _drawn(size, size, seed=1)
    return lambda: tr.matmul(a, b), lambda: np.matmul(c, d)


def _ring() -> tuple[Call, Call]:
    notation, shapes = "ab,bc,cd,de,ea->", [(20, 20)] * 5
    return _contraction(notation, shapes)


def _hyper_edge() -> tuple[Call, Call]:
    return _contraction("xa,xb,xc->abc", [(50, 20)] * 3)


def _contraction(notation: str, shapes: Sequence[tuple[int, ...]]) -> tuple[Call, Call]:
    import numpy as np

    drawn = [_drawn(*shape, seed=seed) for seed, shape in enumerate(shapes)]
    ours, theirs = [x for x, _ in drawn], [y for _, y in drawn]
    path = np.einsum_path(notation, *theirs, optimize="optimal")[0]
    return lambda: tensor_einsum.einsum(notation, *ours), lambda: np.einsum(notation, *theirs, optimize=path)


def _of_stack(what: str, size: int, batch: int) -> tuple[Call, Call]:
    """A function of linear algebra: batch axes last for ours, first for NumPy's."""
    import numpy as np

    x, y = _drawn(size, size, batch)
    if what == "eigh":
        x, y = x + tr.swapaxes(x, 0, 1), y + y.swapaxes(0, 1)
    x = tr.to_contiguous(x)
    stack = np.ascontiguousarray(np.moveaxis(y, -1, 0))
    if what == "solve":
        (b, c) = _drawn(size, 1, batch, seed=1)
        right = np.ascontiguousarray(np.moveaxis(c, -1, 0))
        return lambda: tl.solve(x, b), lambda: np.linalg.solve(stack, right)
    if what == "svd":
        return lambda: tl.svd(x), lambda: np.linalg.svd(stack, full_matrices=False)
    if what == "inv":
        return lambda: tl.inv(x), lambda: np.linalg.inv(stack)
    return lambda: tl.eigh(x), lambda: np.linalg.eigh(stack)
