from __future__ import annotations

import gc
import threading
import tracemalloc
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import tensor_linalg
import tensor_runtime as tr
from tensor_cpu.system.memory import pool
from tensor_einsum import plan_cache
from tensor_runtime.backends.bindings import BindingTable, PairTable
from tensor_runtime.backends.bounded_cache import BoundedCache, held_bytes


def counting_table(cache: BoundedCache) -> tuple[BindingTable, list[Any]]:
    built: list[Any] = []

    def build(key: Any) -> tuple[Callable[..., Any], Any]:
        built.append(key)
        return abs, key

    return BindingTable(build, cache), built


def test_a_binding_is_built_once_and_found_again() -> None:
    table, built = counting_table(BoundedCache())

    assert table["a"] == (abs, "a")
    assert table["a"] is table["a"]
    assert built == ["a"]


def test_the_oldest_binding_of_any_table_leaves_first() -> None:
    cache = BoundedCache(limit_bytes=10_000)
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
    cache = BoundedCache()
    table, built = counting_table(cache)
    for key in range(50):
        table[key]
    cache.set_limit(1)

    assert len(table) == cache.stats().entries == 1
    assert table[3] == (abs, 3)
    assert built[-1] == 3


def test_clear_empties_every_table() -> None:
    cache = BoundedCache()
    tables = [counting_table(cache)[0] for _ in range(3)]
    for table in tables:
        table["key"]
    cache.clear()

    assert not any(table.found for table in tables)
    assert cache.stats()[:2] == (0, 0)


def test_a_failed_build_leaves_nothing_behind() -> None:
    cache = BoundedCache()
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
    cache = BoundedCache()

    def build(key: int) -> tuple[Callable[..., Any], Any]:
        return abs, 0 if key == 0 else table[key - 1][1] + 1

    table = BindingTable(build, cache)
    assert table[5][1] == 5
    assert cache.stats().entries == 6


def test_threads_that_race_get_one_binding() -> None:
    cache = BoundedCache(limit_bytes=20_000)
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
    cache = BoundedCache()
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

    table = PairTable(build, BoundedCache())

    with pytest.raises(ValueError, match="a"):
        table["a", "x"]
    assert table.found == {}


OPERATIONS: dict[str, Callable[[tr.Tensor], Any]] = {
    "add": lambda x: x + x,
    "number": lambda x: x * 2.0,
    "power": lambda x: x**3,
    "sum": lambda x: tr.sum(x, axis=0),
    "var": lambda x: tr.var(x, axis=1),
    "view": lambda x: x.T,
    "copy": lambda x: tr.copy(x.T),
    "triu": tr.triu,
    "tril": lambda x: tr.tril(x, -1),
    "product": lambda x: x.T @ x,
    "outer": lambda x: tr.tensordot(x, x, axes=0),
    "einsum": lambda x: tr.einsum("ij,ik,il->jk", x, x, x),
    "pad": lambda x: tr.pad(x, 1),
    "repeat": lambda x: tr.repeat(x, 2, axis=0),
    "svd": tensor_linalg.svd,
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_what_many_shapes_hold_stays_near_the_budget(name: str) -> None:
    limit, operation = 128 << 10, OPERATIONS[name]
    former = tr.binding_cache.stats().limit_bytes
    shapes = [(2 + number % 20, 3 + number // 20) for number in range(400)]
    for shape in ((2, 2), shapes[-1]):  # what is imported on the way counts for nothing
        operation(tr.ones(shape))
    tr.binding_cache.set_limit(limit)
    try:
        # a table of the whole process may grow meanwhile, once
        stays = any(_memory_held_after(operation, shapes) <= 1.2 * limit for _ in range(3))
    finally:
        tr.binding_cache.set_limit(former)

    assert tr.binding_cache.stats().bytes <= limit
    assert stays


def _memory_held_after(operation: Callable[[tr.Tensor], Any], shapes: list[tuple[int, int]]) -> int:
    """In bytes; what the pool keeps for the next arrays, up to half of the budget, is not the cache's."""
    tr.binding_cache.clear()
    plan_cache.clear()
    gc.collect()
    tracemalloc.start()
    try:
        for shape in shapes:
            operation(tr.ones(shape))
        plan_cache.clear()  # which has a budget of its own
        gc.collect()
        pool.clear()
        return tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()


@pytest.mark.usefixtures("by_blas")  # our own products hold tables of offsets along an axis, and are charged for them
def test_kernels_of_large_shapes_hold_no_more_than_those_of_small_ones() -> None:
    for name in ("add", "sum", "copy", "triu", "tril", "product", "pad", "repeat"):
        charges = []
        for extent in (200, 2000):
            tr.binding_cache.clear()
            OPERATIONS[name](tr.ones((extent, 150)))
            charges.append(tr.binding_cache.stats().bytes)
        assert charges[1] <= charges[0] + 1000, name


def test_a_binding_is_charged_for_everything_behind_its_kernel() -> None:
    array, text = np.zeros(10_000), b"x" * 20_000

    class Holder:
        def __init__(self, held: Any) -> None:
            self.held = held

        def method(self) -> None: ...

    class Compiled:
        __slots__ = ()

        def __sizeof__(self) -> int:
            return 30_000

    def closing(held: Any) -> Callable[[], Any]:
        return lambda: lambda: held

    assert held_bytes(closing(array)) >= 80_000
    assert held_bytes(closing(array[::2])) >= 80_000
    assert held_bytes(closing((1, [array], {"x": text}))) >= 100_000
    assert held_bytes(partial(max, array, key=text)) >= 100_000
    assert held_bytes(Holder(text).method) >= 20_000
    assert held_bytes(lambda x=text, *, y=array: x) >= 100_000
    assert held_bytes(Compiled()) >= 30_000
    assert held_bytes(closing((array, array))) < 90_000
    assert held_bytes(closing((text, [text]))) < 30_000
    assert held_bytes(closing(tr.ones((2,))._form)) < 500
    assert held_bytes(np.add) == held_bytes(np.add) == 0


@pytest.mark.parametrize(
    "nested", [lambda inner: (inner,), lambda inner: {"x": [inner]}, lambda inner: partial(max, inner)]
)
def test_a_kernel_may_hold_what_is_nested_deeper_than_python_calls(nested: Callable[[Any], Any]) -> None:
    held: Any = bytes(100_000)
    for _ in range(3000):
        held = nested(held)

    assert 100_000 + 3000 * 40 < held_bytes(lambda: held) < 3_000_000


def test_a_kernel_that_holds_itself_is_counted_once() -> None:
    held: list[Any] = [bytes(5000)]
    held.append(held)

    assert 5000 < held_bytes(lambda: held) < 6000
