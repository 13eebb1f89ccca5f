"""The plan cache: plans by (notation, shapes, dtypes, options), bounded in bytes, the oldest leaving first."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable
from threading import RLock
from typing import Final, NamedTuple

from tensor_core.errors import ArgumentError
from tensor_einsum.plan import Plan

_PLAN_BYTES: Final = 2000  # a plan without steps; measured with tracemalloc
_STEP_BYTES: Final = 700  # a step, its labels and its text


class PlanCacheStats(NamedTuple):
    """What the cache holds and how often it helped."""

    entries: int
    bytes: int  # estimated
    limit_bytes: int
    hits: int
    misses: int
    evictions: int


class PlanCache:
    """Plans of recent contractions.

    >>> cache = PlanCache()
    >>> cache.stats().entries
    0
    """

    def __init__(self, limit_bytes: int = 32 << 20) -> None:
        self._plans: dict[Hashable, Plan] = {}
        self._limit = _as_limit(limit_bytes)
        self._bytes = self._hits = self._misses = self._evictions = 0
        self._lock = RLock()
        os.register_at_fork(after_in_child=self._renew_lock)

    def get(self, key: Hashable, make: Callable[[], Plan], /) -> Plan:
        """The plan kept under a key; made outside the lock, and kept, if there is none."""
        with self._lock:
            known = self._plans.get(key)
            if known is not None:
                self._hits += 1
                return known
            self._misses += 1
        plan = make()
        with self._lock:
            kept = self._plans.setdefault(key, plan)
            if kept is plan:
                self._bytes += _cost(plan)
                dropped = self._evict()
                del dropped
        return kept

    def stats(self) -> PlanCacheStats:
        """Entries and bytes held now; hits, misses and evictions so far."""
        with self._lock:
            return PlanCacheStats(len(self._plans), self._bytes, self._limit, self._hits, self._misses, self._evictions)

    def set_limit(self, limit_bytes: int, /) -> None:
        """Change the budget; what no longer fits leaves at once. 0 keeps nothing but the newest plan.

        Raises:
            ArgumentError: not an int of at least 0.
        """
        limit_bytes = _as_limit(limit_bytes)
        with self._lock:
            self._limit = limit_bytes
            self._evict()

    def clear(self) -> None:
        """Forget every plan."""
        with self._lock:
            self._plans.clear()
            self._bytes = 0

    def _evict(self) -> list[Plan]:
        dropped = []
        while self._bytes > self._limit and len(self._plans) > 1:
            plan = self._plans.pop(next(iter(self._plans)))
            self._bytes -= _cost(plan)
            self._evictions += 1
            dropped.append(plan)
        return dropped

    def _renew_lock(self) -> None:
        self._lock = RLock()


def _as_limit(limit_bytes: int) -> int:
    if type(limit_bytes) is not int or limit_bytes < 0:
        raise ArgumentError(f"plan cache: limit_bytes is {limit_bytes!r}; accepted: an int of at least 0")
    return limit_bytes


def _cost(plan: Plan) -> int:
    return _PLAN_BYTES + _STEP_BYTES * len(plan.steps) + 2 * len(plan.notation)


plan_cache: Final = PlanCache()
"""The plans of this process; ``.stats()``, ``.set_limit()``, ``.clear()``."""
