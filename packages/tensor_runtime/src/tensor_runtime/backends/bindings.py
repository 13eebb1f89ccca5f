"""Binding tables: from the operands' forms to the kernel that the backend bound to them.

A binding is the plain tuple (kernel, form of the result). A hit costs one look-up and no bookkeeping. All tables
share one budget in bytes: the oldest binding leaves first, whichever table holds it. Bindings are built outside any
lock, and dropped only after the lock is released, because building or dropping one may run code of others.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Hashable
from threading import RLock
from typing import Any, Final, NamedTuple

from tensor_core.errors import ArgumentError
from tensor_runtime.backends.holding import held_bytes

Binding = tuple[Callable[..., Any], Any]  # (kernel, result form or forms): unpacking a NamedTuple is slower

_BINDING_BYTES: Final = 900  # a key, a result form, entries of tables; measured with tracemalloc on common operations
_AXIS_BYTES: Final = 64


class CacheStats(NamedTuple):
    """What a cache holds. ``hits`` are not counted: a hit costs nothing because it does nothing."""

    entries: int
    bytes: int
    limit_bytes: int
    builds: int
    evictions: int


class BindingCache:
    """The budget that all binding tables share.

    >>> cache = BindingCache(limit_bytes=1 << 20)
    >>> table = BindingTable(lambda key: (abs, key), cache)
    >>> table["form"], cache.stats().entries
    ((<built-in function abs>, 'form'), 1)
    >>> cache.clear()
    >>> cache.stats().entries
    0
    """

    def __init__(self, limit_bytes: int = 32 << 20) -> None:
        self._limit = limit_bytes
        self._order: deque[tuple[BindingTable, Any, int]] = deque()
        self._bytes = self._builds = self._evictions = 0
        self._lock = RLock()
        os.register_at_fork(after_in_child=self._renew_lock)

    def stats(self) -> CacheStats:
        """Entries and bytes held now, bindings built and evicted so far."""
        with self._lock:
            return CacheStats(len(self._order), self._bytes, self._limit, self._builds, self._evictions)

    def set_limit(self, limit_bytes: int, /) -> None:
        """Change the budget; what no longer fits leaves at once.

        Raises:
            ArgumentError: no int of 0 or more.
        """
        if type(limit_bytes) is not int or limit_bytes < 0:
            raise ArgumentError(f"binding_cache: the limit is {limit_bytes!r}; accepted: an int of 0 or more, in bytes")
        with self._lock:
            self._limit = limit_bytes
            dropped = self._evict()
        del dropped

    def clear(self) -> None:
        """Drop every binding of every table; they are rebuilt when needed."""
        with self._lock:
            dropped = [table.drop(key) for table, key, _ in self._order]
            self._order.clear()
            self._bytes = 0
        del dropped

    def insert(self, table: BindingTable, key: Hashable, binding: Binding, /) -> Binding:
        """Keep ``binding`` unless another thread was first; return the one that is kept."""
        cost = table.cost(key, binding)
        with self._lock:
            kept = table.keep(key, binding)
            dropped: list[Binding | None] = []
            if kept is binding:
                self._order.append((table, key, cost))
                self._bytes += cost
                self._builds += 1
                dropped = self._evict()
        del dropped
        return kept

    def _evict(self) -> list[Binding | None]:
        dropped = []
        while self._bytes > self._limit and len(self._order) > 1:
            table, key, cost = self._order.popleft()
            dropped.append(table.drop(key))
            self._bytes -= cost
            self._evictions += 1
        return dropped

    def _renew_lock(self) -> None:
        self._lock = RLock()


def _axes_of(key: Any) -> int:
    """Axes that a key mentions; long keys of high-rank forms are charged for their tuples."""
    if isinstance(key, tuple):
        return sum(map(_axes_of, key))
    return len(getattr(key, "shape", ())) or 1


binding_cache: Final = BindingCache()
"""The cache of this process."""


class BindingTable:
    """Bindings by key: ``table[key]`` builds what is not there with the function given.

    ``found`` holds them in a plain dictionary, for hot paths that look up first and come back here after a
    ``KeyError``: a dictionary with a ``__missing__`` costs 30 ns more per look-up, 5 % of a small operation.

    >>> table = BindingTable(lambda key: (len, key), BindingCache())
    >>> table["form"], "form" in table.found
    ((<built-in function len>, 'form'), True)
    """

    __slots__ = ("_build", "_cache", "found")

    def __init__(self, build: Callable[[Any], Binding], cache: BindingCache = binding_cache) -> None:
        self.found: dict[Any, Any] = {}
        self._build = build
        self._cache = cache

    def __getitem__(self, key: Any) -> Binding:
        binding = self.get(key)
        return self._cache.insert(self, key, self._build(key)) if binding is None else binding

    def __len__(self) -> int:
        return len(self.found)

    def get(self, key: Any, /) -> Binding | None:
        """The binding of a key, if there is one."""
        found: Binding | None = self.found.get(key)
        return found

    def keep(self, key: Any, binding: Binding, /) -> Binding:
        """Add a binding unless there is one; return the one that is kept. The cache calls it, under its lock."""
        kept: Binding = self.found.setdefault(key, binding)
        return kept

    def cost(self, key: Any, binding: Binding, /) -> int:
        """Bytes that a binding counts for, with all that its kernel keeps alive."""
        return _BINDING_BYTES + _AXIS_BYTES * _axes_of(key) + held_bytes(binding[0])

    def drop(self, key: Any, /) -> Binding | None:
        """Remove a binding and return it. The cache calls it, under its lock."""
        dropped: Binding | None = self.found.pop(key, None)
        return dropped


class PairTable(BindingTable):
    """Bindings by keys of two parts, held as rows: ``found[first][second]``.

    Two look-ups by identity cost 30 to 45 ns less than one by a tuple, which has to be made, hashed and compared.

    >>> table = PairTable(lambda key: (max, key[0]), BindingCache())
    >>> table["a", "b"], table.found["a"]["b"]
    ((<built-in function max>, 'a'), (<built-in function max>, 'a'))
    """

    __slots__ = ()

    def __len__(self) -> int:
        return sum(map(len, self.found.values()))

    def get(self, key: Any, /) -> Binding | None:
        """The binding of a pair, if there is one."""
        first, second = key
        row: dict[Any, Binding] = self.found.get(first, {})
        return row.get(second)

    def keep(self, key: Any, binding: Binding, /) -> Binding:
        """Add a binding unless there is one; return the one that is kept."""
        first, second = key
        kept: Binding = self.found.setdefault(first, {}).setdefault(second, binding)
        return kept

    def drop(self, key: Any, /) -> Binding | None:
        """Remove a binding and return it, and its row with the last one."""
        first, second = key
        row: dict[Any, Binding] = self.found.get(first, {})
        binding = row.pop(second, None)
        if not row:
            self.found.pop(first, None)
        return binding
