from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from tensor_runtime.bindings import BindingCache, BindingTable, PairTable


def counting_table(cache: BindingCache) -> tuple[BindingTable, list[Any]]:
    built: list[Any] = []

    def build(key: Any) -> tuple[Callable[..., Any], Any]:
        built.append(key)
        return abs, key

    return BindingTable(build, cache), built


def test_a_binding_is_built_once_and_found_again() -> None:
    table, built = counting_table(BindingCache())

    assert table["a"] == (abs, "a")
    assert table["a"] is table["a"]
    assert built == ["a"]


def test_the_oldest_binding_of_any_table_leaves_first() -> None:
    cache = BindingCache(limit_bytes=10_000)
    first, _ = counting_table(cache)
    second, _ = counting_table(cache)
    for key in range(4):
        first[key]
    for key in range(100):
        second[key]

    assert not first.found
    assert 99 in second.found
    assert 0 not in second.found
    stats = cache.stats()
    assert stats.bytes <= stats.limit_bytes
    assert stats.entries == len(second)
    assert stats.evictions == 104 - stats.entries
    assert stats.builds == 104


def test_a_smaller_limit_takes_effect_at_once() -> None:
    cache = BindingCache()
    table, built = counting_table(cache)
    for key in range(50):
        table[key]
    cache.set_limit(1)

    assert len(table) == cache.stats().entries == 1
    assert table[3] == (abs, 3)
    assert built[-1] == 3


def test_clear_empties_every_table() -> None:
    cache = BindingCache()
    tables = [counting_table(cache)[0] for _ in range(3)]
    for table in tables:
        table["key"]
    cache.clear()

    assert not any(table.found for table in tables)
    assert cache.stats()[:2] == (0, 0)


def test_a_failed_build_leaves_nothing_behind() -> None:
    cache = BindingCache()
    fails = True

    def build(key: Any) -> tuple[Callable[..., Any], Any]:
        if fails:
            raise ValueError("no")
        return abs, key

    table = BindingTable(build, cache)
    try:
        table["a"]
    except ValueError:
        pass
    assert cache.stats().entries == 0
    fails = False
    assert table["a"] == (abs, "a")


def test_a_build_may_use_its_own_table() -> None:
    cache = BindingCache()

    def build(key: int) -> tuple[Callable[..., Any], Any]:
        return abs, 0 if key == 0 else table[key - 1][1] + 1

    table = BindingTable(build, cache)
    assert table[5][1] == 5
    assert cache.stats().entries == 6


def test_threads_that_race_get_one_binding() -> None:
    cache = BindingCache(limit_bytes=20_000)
    table, _ = counting_table(cache)
    seen: list[dict[int, Any]] = []

    def look() -> None:
        for _ in range(50):
            for key in range(40):
                assert table[key][1] == key
        seen.append({})

    threads = [threading.Thread(target=look) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(seen) == 8
    assert cache.stats().entries == len(table)
    assert cache.stats().bytes <= cache.stats().limit_bytes


def test_a_table_of_pairs_builds_once_and_loses_rows_with_their_last_binding() -> None:
    cache = BindingCache()
    built: list[Any] = []

    def build(key: Any) -> tuple[Callable[..., Any], Any]:
        built.append(key)
        return abs, key

    table = PairTable(build, cache)
    for first in "ab":
        for second in "xy":
            assert table[first, second] is table[first, second]
            assert table.found[first][second] is table[first, second]

    assert built == [("a", "x"), ("a", "y"), ("b", "x"), ("b", "y")]
    assert len(table) == cache.stats().entries == 4
    cache.set_limit(1)
    assert table.found == {"b": {"y": (abs, ("b", "y"))}}
    cache.clear()
    assert table.found == {}
    assert len(table) == cache.stats().entries == 0


def test_a_key_that_cannot_be_bound_leaves_no_row_behind() -> None:
    def build(key: Any) -> tuple[Callable[..., Any], Any]:
        raise ValueError(key)

    table = PairTable(build, BindingCache())

    with pytest.raises(ValueError, match="a"):
        table["a", "x"]
    assert table.found == {}
