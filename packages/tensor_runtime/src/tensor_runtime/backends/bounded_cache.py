"""The bounded cache: what is kept between calls, in tables that share one budget in bytes.

A look-up that finds its entry is one read of a plain dictionary, without a lock and without bookkeeping. An entry
counts for what it keeps alive: closures, what partials carry, the objects behind them, and arrays. When the budget is
exceeded the oldest entry leaves, whichever table holds it. Entries are made outside any lock, and dropped only after
the lock is released, because making or dropping one may run code of others.
"""

from __future__ import annotations

from collections import deque
from functools import partial
from sys import getsizeof
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any, Final, Generic, NamedTuple, TypeVar

from tensor_core.dtypes import DType
from tensor_core.errors import ArgumentError, shortened
from tensor_runtime.form import Form
from tensor_runtime.locks import fork_safe_lock
from tensor_runtime.placement import DeviceId, DeviceKind, Placement

V = TypeVar("V")

DEFAULT_LIMIT: Final = 32 << 20  # bytes
_ENTRY_BYTES: Final = 850  # a key, a result form, entries of tables; measured with tracemalloc on common operations
_AXIS_BYTES: Final = 64


class CacheStats(NamedTuple):
    """What a cache holds, and what it did so far."""

    entries: int
    bytes: int  # estimated
    limit_bytes: int
    builds: int  # entries added
    evictions: int
    hits: int = 0
    """Entries found by :meth:`CacheTable.find`; hot paths read the dictionary, and count nothing."""

    @property
    def misses(self) -> int:
        """Entries that were not there and were made."""
        return self.builds


class BoundedCache:
    """A budget in bytes that tables share.

    Args:
        name: for messages.
        limit_bytes: an int of 0 or more. The newest entry is kept whatever it takes.

    >>> cache = BoundedCache("demo", 2)
    >>> table = CacheTable(cache)
    >>> table.insert("a", "x", 1), table.insert("b", "y", 1), table.insert("c", "z", 1)
    ('x', 'y', 'z')
    >>> table.found, cache.stats().evictions
    ({'b': 'y', 'c': 'z'}, 1)
    >>> cache.clear()
    >>> cache.stats().entries
    0
    """

    def __init__(self, name: str = "cache", limit_bytes: int = DEFAULT_LIMIT) -> None:
        self._name = name
        self._limit = self._checked(limit_bytes)
        self._order: deque[tuple[CacheTable[Any], Any, int]] = deque()
        self._bytes = self._builds = self._evictions = self._hits = 0
        self._lock = fork_safe_lock()

    def stats(self) -> CacheStats:
        """Entries and bytes held now; entries added, evicted and found so far."""
        with self._lock:
            return CacheStats(len(self._order), self._bytes, self._limit, self._builds, self._evictions, self._hits)

    def set_limit(self, limit_bytes: int, /) -> None:
        """Change the budget; what no longer fits leaves at once.

        Raises:
            ArgumentError: no int of 0 or more.
        """
        limit_bytes = self._checked(limit_bytes)
        with self._lock:
            self._limit = limit_bytes
            dropped = self._evict()
        del dropped

    def clear(self) -> None:
        """Drop every entry of every table; they are made again when needed."""
        with self._lock:
            dropped = [table.drop(key) for table, key, _ in self._order]
            self._order.clear()
            self._bytes = 0
        del dropped

    def add(self, table: CacheTable[V], key: Any, value: V, cost: int, /) -> V:
        """Put an entry to a table unless another thread was first; return the one that is kept. Tables call it."""
        with self._lock:
            kept = table.keep(key, value)
            dropped: list[Any] = []
            if kept is value:
                self._order.append((table, key, cost))
                self._bytes += cost
                self._builds += 1
                if self._bytes > self._limit:
                    dropped = self._evict()
        del dropped
        return kept

    def count_hit(self) -> None:
        """Note that an entry was found. Tables call it."""
        with self._lock:
            self._hits += 1

    def _evict(self) -> list[Any]:
        dropped = []
        while self._bytes > self._limit and len(self._order) > 1:
            table, key, cost = self._order.popleft()
            dropped.append(table.drop(key))
            self._bytes -= cost
            self._evictions += 1
        return dropped

    def _checked(self, limit_bytes: int) -> int:
        if type(limit_bytes) is not int or limit_bytes < 0:
            raise ArgumentError(
                f"{self._name}: the limit is {shortened(limit_bytes)}; accepted: an int of 0 or more, in bytes"
            )
        return limit_bytes


class CacheTable(Generic[V]):
    """Entries by key, in a cache whose budget they share with those of other tables.

    ``found`` holds them in a plain dictionary, for hot paths that look up first and come back after a ``KeyError``:
    a dictionary with a ``__missing__`` costs 30 ns more per look-up, 5 % of a small operation.

    >>> table = CacheTable(BoundedCache("demo"))
    >>> table.find("key") is None, table.insert("key", "value"), table.find("key"), len(table)
    (True, 'value', 'value', 1)
    """

    __slots__ = ("_cache", "found")

    def __init__(self, cache: BoundedCache, /) -> None:
        self.found: dict[Any, Any] = {}
        self._cache = cache

    def __len__(self) -> int:
        return len(self.found)

    def find(self, key: Any, /) -> V | None:
        """The entry of a key, if there is one; counted as a hit."""
        value = self.get(key)
        if value is not None:
            self._cache.count_hit()
        return value

    def get(self, key: Any, /) -> V | None:
        """The entry of a key, if there is one."""
        value: V | None = self.found.get(key)
        return value

    def insert(self, key: Any, value: V, cost: int | None = None, /) -> V:
        """Add an entry unless another thread was first; return the one that is kept.

        Args:
            key: hashable.
            value: not None.
            cost: bytes that it counts for; None for what :meth:`cost` says.
        """
        return self._cache.add(self, key, value, self.cost(key, value) if cost is None else cost)

    def cost(self, key: Any, value: V, /) -> int:
        """Bytes that an entry counts for: its key, for the axes of forms and the parts of tuples, and what it holds.

        >>> table = CacheTable(BoundedCache("demo"))
        >>> table.cost(((0, 1), (1, 2)), bytes(10_000)) - table.cost((0, 1), b"")
        10128
        """
        axes, waiting = 0, [key]
        for part in waiting:  # grows on the way
            kind = type(part)
            if kind is Form:
                axes += len(part.shape) or 1
            elif kind is int or kind is str or issubclass(kind, type):
                axes += 1
            elif isinstance(part, tuple):
                if part and type(part[0]) is type(part[-1]) is int:  # labels, extents
                    axes += len(part)
                else:
                    waiting += part
            else:
                axes += len(getattr(part, "shape", ())) or 1
        return _ENTRY_BYTES + _AXIS_BYTES * axes + held_bytes(value)

    def keep(self, key: Any, value: V, /) -> V:
        """Add an entry unless there is one; return the one that is kept. The cache calls it, under its lock."""
        kept: V = self.found.setdefault(key, value)
        return kept

    def drop(self, key: Any, /) -> V | None:
        """Remove an entry and return it. The cache calls it, under its lock."""
        dropped: V | None = self.found.pop(key, None)
        return dropped


_FREE: Final[set[type]] = {
    *(bool, int, float, complex, str, type(None), slice, range, type, ModuleType, BuiltinFunctionType),
    *(DType, Form, Placement, DeviceId, DeviceKind),
}
"""Of bounded size, or shared with the program; grows by classes of functions that are."""
_MOST: Final = 10_000
"""Objects looked at; a kernel that holds more says so by ``__sizeof__``, or is charged for these only."""


def held_bytes(kernel: Any, /) -> int:
    """Bytes that live as long as a kernel or another object does, without what every program has. Takes 0.2 to 5 µs.

    Kernels are functions, partials, methods, or objects, whose class may say their whole size by ``__sizeof__``.
    Functions without a closure, classes and modules belong to the program, forms to whoever names them: none counts.

    >>> large = bytes(5000)
    >>> closing = (lambda held: lambda: held)(large)
    >>> held_bytes(len), held_bytes(closing) > 5000, held_bytes(partial(max, large)) > 5000
    (0, True, True)
    """
    kind = type(kernel)
    if kind in _FREE:
        return 0
    if kind in _LEAVES:
        return getsizeof(kernel)
    if kind is tuple and len(kernel) == 2 and type(kernel[0]) in _LEAVES and type(kernel[1]) in _FREE:
        return getsizeof(kernel) + getsizeof(kernel[0])  # a binding as most are: a kernel in C, and a form
    total, waiting = 0, [kernel]
    seen: set[int] = set()
    while waiting:  # no recursion: what a kernel holds may be nested deeper than Python calls
        one = waiting.pop()
        kind = type(one)
        if kind in _FREE:
            continue
        if id(one) not in seen and len(seen) <= _MOST:
            seen.add(id(one))
            total += getsizeof(one) if kind in _LEAVES else _own_bytes(one, kind, waiting)
    return total


def _own_bytes(one: Any, kind: type, waiting: list[Any]) -> int:
    """Bytes of one object by itself; what it holds is put to what waits."""
    if kind is FunctionType:
        cells = one.__closure__ or ()
        for cell in cells:
            try:
                waiting.append(cell.cell_contents)
            except ValueError:  # a name that is not bound yet
                continue
        waiting += one.__defaults__ or ()
        if one.__kwdefaults__:
            waiting += one.__kwdefaults__.values()
        return _FUNCTION + _CELL * len(cells) if cells else 0
    size = getsizeof(one)
    if kind is tuple or kind is list or kind is set or kind is frozenset:
        waiting += one
    elif kind is dict:
        waiting += one.values()
    elif kind is partial:
        waiting += one.func, one.args, one.keywords
    elif kind is MethodType:
        waiting.append(one.__self__)
    else:
        has_bytes, names = _LOOKS.get(kind) or _look(kind)
        if kind in _FREE:  # as it turned out just now
            return 0
        if has_bytes:  # an array: where it owns its elements, getsizeof may not see them
            if one.base is None:
                owned: int = one.nbytes
                return max(owned, size)
            waiting.append(one.base)
            return size
        waiting += [getattr(one, name, None) for name in names]
        if isinstance(one, tuple):
            waiting += one
    return size


_FUNCTION: Final = getsizeof(lambda: None) + getsizeof((None,))
_CELL: Final = getsizeof((lambda x: lambda: x)(0).__closure__[0])  # type: ignore[index]
_LOOKS: Final[dict[type, tuple[bool, tuple[str, ...]]]] = {}
"""Of classes met so far: whether their objects are arrays, and under which names they hold others."""
_LEAVES: Final[set[type]] = {bytes, bytearray}
"""Classes whose objects say their whole size themselves, as those of compiled code do."""


def _look(kind: type) -> tuple[bool, tuple[str, ...]]:
    if "__name__" in vars(kind) and callable(kind.__call__):  # functions of the program, such as NumPy's
        _FREE.add(kind)
    has_bytes = hasattr(kind, "nbytes") and hasattr(kind, "base")
    names = tuple(slot for base in kind.__mro__ for slot in getattr(base, "__slots__", ()) if type(slot) is str)
    if getattr(kind, "__dictoffset__", 0):
        names += ("__dict__",)
    if not has_bytes and ("__sizeof__" in vars(kind) or not (names or issubclass(kind, tuple))):
        _LEAVES.add(kind)
    return _LOOKS.setdefault(kind, (has_bytes, names))
