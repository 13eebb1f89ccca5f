"""How the time of a plan is shared by the search, the choice of slices, and binding."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from time import perf_counter
from typing import Final

_CHOOSING: Final = 2e-4
"""Seconds of what is left of a time for each operand, while cuts are chosen."""
_BINDING: Final = 3e-4
"""The same while kernels are bound."""
_SHORTEST_SEARCH: Final = 1e-3  # seconds
_BEYOND: Final = (0.45, 0.15)
"""Seconds, and parts of a time: the longer is allowed beyond it, for limits that nothing has kept until then."""
_LOST: Final = 0.75  # as much again, at most, for what a refusal names


class Deadline:
    """When a plan has to be there: a search ends before, so that cuts can be chosen and kernels bound.

    Both take at most half of the time together, as long as they keep to what they are estimated to take. What takes
    longer all the same has a little time beyond, and is over then.

    Args:
        seconds: for all; None if it may take as long as it takes.
        operands: how many the plan has.
        now: tells the time.

    >>> deadline = Deadline(10.0, 1000, now=lambda: 0.0)
    >>> deadline.search_seconds(), deadline.is_late(), Deadline(None, 1000).search_seconds()
    (9.5, False, None)
    """

    def __init__(self, seconds: float | None, operands: int, now: Callable[[], float] = perf_counter) -> None:
        self._now = now
        self._searched = self._chosen = self._over = self._lost = inf
        if seconds is not None:
            scale = min(1.0, seconds / 2 / ((_CHOOSING + _BINDING) * operands))
            self._chosen = now() + seconds - scale * _BINDING * operands
            self._searched = self._chosen - scale * _CHOOSING * operands
            beyond = max(_BEYOND[0], _BEYOND[1] * seconds)
            self._over = now() + seconds + beyond
            self._lost = self._over + _LOST * beyond

    def search_seconds(self) -> float | None:
        """How long a search may take that begins now."""
        return None if self._searched == inf else max(self._searched - self._now(), _SHORTEST_SEARCH)

    def is_late(self) -> bool:
        """Whether the cuts that there are have to do."""
        return self._now() >= self._chosen

    def is_over(self) -> bool:
        """Whether a limit that is not kept yet is refused with what is known."""
        return self._now() >= self._over

    def is_lost(self) -> bool:
        """Whether it is refused now."""
        return self._now() >= self._lost

    def rest(self) -> float:
        """Seconds until it is over."""
        return max(self._over - self._now(), _SHORTEST_SEARCH)
