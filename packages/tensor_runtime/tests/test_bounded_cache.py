"""The cache that serves everything kept between calls, and the locks that a forked process finds free."""

from __future__ import annotations

import os
import threading
from typing import Any

import pytest

from tensor_core.errors import ArgumentError
from tensor_runtime.backends.bounded_cache import BoundedCache, CacheTable
from tensor_runtime.locks import fork_safe_lock


class Sized(CacheTable[bytes]):
    def put(self, key: Any, value: bytes) -> bytes:
        return self.insert(key, value, len(value))


def test_tables_share_a_budget_and_the_oldest_entry_leaves_first() -> None:
    cache = BoundedCache("demo", 100)
    first, second = Sized(cache), Sized(cache)
    first.put("a", bytes(60))
    second.put("b", bytes(30))
    second.put("c", bytes(30))

    assert (list(first.found), list(second.found)) == ([], ["b", "c"])
    assert cache.stats()[:5] == (2, 60, 100, 3, 1)


def test_an_entry_larger_than_the_budget_is_kept_alone() -> None:
    cache = BoundedCache("demo", 10)
    table = Sized(cache)
    for key in "ab":
        table.put(key, bytes(50))

    assert list(table.found) == ["b"]


def test_the_entry_of_who_was_first_is_kept() -> None:
    cache = BoundedCache("demo")
    table = Sized(cache)
    first = table.put("a", b"first")

    assert table.put("a", b"second") is first
    assert cache.stats().builds == cache.stats().entries == 1


def test_entries_that_are_found_count_as_hits_and_those_that_are_made_as_misses() -> None:
    cache = BoundedCache("demo")
    table = Sized(cache)
    assert table.find("a") is None
    table.put("a", b"x")
    assert table.find("a") == b"x"

    assert (cache.stats().hits, cache.stats().misses) == (1, 1)
    cache.clear()
    assert table.find("a") is None and cache.stats()[:2] == (0, 0)


@pytest.mark.parametrize("limit", ["1000", None, 1.5, True, -1])
def test_a_budget_that_is_no_count_of_bytes_is_refused_and_changes_nothing(limit: Any) -> None:
    cache = BoundedCache("demo", 100)
    with pytest.raises(ArgumentError, match=r"demo: the limit is .*; accepted: an int of 0 or more, in bytes"):
        cache.set_limit(limit)
    with pytest.raises(ArgumentError):
        BoundedCache("demo", limit)

    assert cache.stats().limit_bytes == 100


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_forked_process_finds_a_lock_free_that_another_thread_held() -> None:
    lock: Any = fork_safe_lock()
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with lock:
            held.set()
            done.wait(60)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait(60)
    assert not lock.acquire(blocking=False)
    child = os.fork()
    if child == 0:
        os._exit(0 if lock.acquire(timeout=10) else 1)
    _, status = os.waitpid(child, 0)
    done.set()
    thread.join()

    assert os.waitstatus_to_exitcode(status) == 0
