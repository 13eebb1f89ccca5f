"""Timing of contenders in interleaved rounds, and what may be said about the numbers afterwards.

Machines drift: a core changes its clock, a neighbour wakes up. So contenders never run one after the other but in
turns, and a ratio is taken within a round, between two measurements made milliseconds apart.

Durations are in nanoseconds, intervals are 95 % intervals of a median and assume no distribution.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Mapping, Sequence
from math import comb
from statistics import median
from timeit import Timer
from typing import Any, Final, NamedTuple

CONFIDENCE: Final = 0.95
Stopwatch = Callable[[int], float]
"""Runs a statement a number of times and returns the nanoseconds that all of them took."""


class Spread(NamedTuple):
    """A median and its 95 % interval."""

    median: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.median:.2f} ({self.low:.2f}–{self.high:.2f})"


def stopwatch(statement: str, **names: Any) -> Stopwatch:
    """A statement whose names are local variables, which is the fastest that Python can look them up.

    >>> stopwatch("f(x)", f=abs, x=-1)(10) > 0
    True
    """
    setup = "; ".join(f"{name} = _{name}" for name in names) or "pass"
    timer = Timer(statement, setup, globals={f"_{name}": value for name, value in names.items()})
    return lambda number: timer.timeit(number) * 1e9


def interleave(contenders: Mapping[str, Stopwatch], *, rounds: int, round_ns: float = 1e6) -> dict[str, list[float]]:
    """Time every contender once per round, each round starting with another one.

    Args:
        contenders: by name.
        rounds: measurements of each.
        round_ns: about how long one measurement takes; short statements are repeated so often.

    Returns:
        Nanoseconds per execution, one number per round, in the order of rounds.
    """
    names = list(contenders)
    numbers = {name: _number_for(contenders[name], round_ns) for name in names}
    samples: dict[str, list[float]] = {name: [] for name in names}
    enabled = gc.isenabled()
    gc.disable()
    try:
        for turn in range(rounds):
            first = turn % len(names)
            for name in names[first:] + names[:first]:
                samples[name].append(contenders[name](numbers[name]) / numbers[name])
            gc.collect()
    finally:
        if enabled:
            gc.enable()
    return samples


def _number_for(watch: Stopwatch, round_ns: float) -> int:
    watch(3)  # what is done once, such as binding, is not what a call costs
    number = 1
    while (elapsed := watch(number)) < round_ns / 10 and number < 1 << 20:
        number *= 4
    return max(1, round(number * round_ns / elapsed))


def median_spread(values: Sequence[float]) -> Spread:
    """The median and its interval by order statistics; for fewer than six values, their range.

    >>> median_spread([3.0, 1.0, 2.0])
    Spread(median=2.0, low=1.0, high=3.0)
    """
    ordered = sorted(values)
    count = len(ordered)
    below = tail = 0.0
    rank = 0
    while True:  # the largest rank whose two tails hold at most 5 % of Binomial(count, 1/2)
        below += comb(count, rank) / 2**count
        if 2 * below > 1 - CONFIDENCE or rank >= (count - 1) // 2:
            break
        tail, rank = below, rank + 1
    rank = max(rank - 1, 0) if tail else 0
    return Spread(median(ordered), ordered[rank], ordered[-1 - rank])
