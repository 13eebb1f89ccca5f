"""Bindings: from the operands' forms to the kernel that the backend bound to them.

A binding is the plain tuple (kernel, form of the result). All tables of bindings share one budget in bytes, that of
``binding_cache``; a binding counts for what its kernel keeps alive (``bounded_cache.held_bytes``).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from tensor_runtime.backends.bounded_cache import BoundedCache, CacheTable

Binding = tuple[Callable[..., Any], Any]  # (kernel, result form or forms): unpacking a NamedTuple is slower

binding_cache: Final = BoundedCache("binding_cache")
"""The bindings of this process; ``.stats()``, ``.set_limit()``, ``.clear()``."""


class BindingTable(CacheTable[Binding]):
    """Bindings by key: ``table[key]`` builds what is not there with the function given.

    >>> table = BindingTable(lambda key: (len, key), BoundedCache("demo"))
    >>> table["form"], "form" in table.found
    ((<built-in function len>, 'form'), True)
    """

    __slots__ = ("_build",)

    def __init__(self, build: Callable[[Any], Binding], cache: BoundedCache = binding_cache) -> None:
        super().__init__(cache)
        self._build = build

    def __getitem__(self, key: Any) -> Binding:
        binding = self.get(key)
        return self.insert(key, self._build(key)) if binding is None else binding


class PairTable(BindingTable):
    """Bindings by keys of two parts, held as rows: ``found[first][second]``.

    Two look-ups by identity cost 30 to 45 ns less than one by a tuple, which has to be made, hashed and compared.

    >>> table = PairTable(lambda key: (max, key[0]), BoundedCache("demo"))
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
