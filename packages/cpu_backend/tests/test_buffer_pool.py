"""The caching allocator: buffers come back when the last view dies, within a limit, through threads and forks."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tensor_runtime as tr
from tensor_cpu.system.extension import AVAILABLE, LIBRARY, WHY_NOT

pytestmark = pytest.mark.skipif(not AVAILABLE, reason=WHY_NOT)
MEGABYTE = 1 << 20


@pytest.fixture(autouse=True)
def empty_pool() -> Iterator[None]:
    gc.collect()
    limit = LIBRARY.allocator_stats()["limit_bytes"]
    LIBRARY.allocator_clear()
    yield
    LIBRARY.allocator_set_limit(limit)
    LIBRARY.allocator_clear()


def used() -> int:
    return LIBRARY.allocator_stats()["used_buffers"]


def large(count: int = MEGABYTE // 8) -> tr.Tensor:
    """A computed tensor of a megabyte, whose memory is the pool's."""
    x = tr.zeros((count,))
    return tr.add(x, 1.0)


def test_memory_goes_back_when_the_last_view_dies() -> None:
    before = used()
    x = large()
    assert used() == before + 1
    views: list[Any] = [x[3:], np.asarray(x), memoryview(np.asarray(x))]
    views.append(np.from_dlpack(np.asarray(x)))
    del x
    while views:
        assert used() == before + 1
        views.pop()
        gc.collect()
    assert used() == before
    assert LIBRARY.allocator_stats()["kept_buffers"] >= 1


def test_the_next_result_of_the_same_size_is_warm() -> None:
    x, y = tr.ones((MEGABYTE // 8,)), tr.ones((MEGABYTE // 8,))
    z = tr.add(x, y)
    address = np.asarray(z).__array_interface__["data"][0]
    del z
    again = tr.add(x, y)
    assert np.asarray(again).__array_interface__["data"][0] == address
    assert LIBRARY.allocator_stats()["hits"] >= 1


def test_buffers_are_aligned_and_waste_at_most_a_fifth() -> None:
    for elements in (8192, 8193, 10_000, 12_345, 16_384, 100_001):
        array = None
        before = LIBRARY.allocator_stats()["used_bytes"]
        array = LIBRARY.empty((elements,), "F64")
        taken = LIBRARY.allocator_stats()["used_bytes"] - before
        assert array.__array_interface__["data"][0] % 64 == 0
        assert elements * 8 <= taken <= elements * 8 * 1.25


def test_what_is_kept_stays_within_the_limit_oldest_out_first() -> None:
    LIBRARY.allocator_set_limit(3 * MEGABYTE)
    arrays = [LIBRARY.empty((MEGABYTE // 8 * size,), "F64") for size in (1, 1, 2)]
    evictions = LIBRARY.allocator_stats()["evictions"]
    while arrays:
        arrays.pop(0)
    stats = LIBRARY.allocator_stats()
    assert stats["kept_bytes"] == 3 * MEGABYTE and stats["evictions"] == evictions + 1
    LIBRARY.allocator_set_limit(0)
    assert LIBRARY.allocator_stats()["kept_bytes"] == 0


def test_clear_gives_everything_back() -> None:
    large()
    assert LIBRARY.allocator_stats()["kept_bytes"] > 0
    LIBRARY.allocator_clear()
    assert LIBRARY.allocator_stats()["kept_bytes"] == LIBRARY.allocator_stats()["kept_buffers"] == 0


def resident() -> int:
    """Bytes of this process that lie in memory."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def bytes_of(megabytes: int) -> np.ndarray[Any, Any]:
    array: np.ndarray[Any, Any] = LIBRARY.empty((megabytes * MEGABYTE,), "Bool")
    return array


@pytest.mark.skipif(sys.platform != "linux", reason="pages are moved on Linux alone")
def test_large_buffers_of_other_sizes_serve_before_new_memory() -> None:
    LIBRARY.allocator_set_limit(1 << 30)
    first, second = bytes_of(40), bytes_of(24)
    first.fill(True)
    second.fill(True)
    del first, second
    before = resident()
    both = bytes_of(64)
    stats = LIBRARY.allocator_stats()
    assert stats["kept_bytes"] == 0 and stats["used_bytes"] == stats["peak_bytes"] == 64 * MEGABYTE
    both.fill(False)
    assert resident() - before < 8 * MEGABYTE
    assert not both.any()


@pytest.mark.skipif(sys.platform != "linux", reason="pages are moved on Linux alone")
def test_what_is_left_of_a_large_buffer_is_kept_and_serves_too() -> None:
    LIBRARY.allocator_set_limit(1 << 30)
    whole = bytes_of(64)
    whole.fill(True)
    del whole
    before = resident()
    parts = [bytes_of(12), bytes_of(20)]
    assert LIBRARY.allocator_stats()["kept_bytes"] == 32 * MEGABYTE
    parts.append(bytes_of(32))
    assert LIBRARY.allocator_stats()["kept_bytes"] == 0
    for number, part in enumerate(parts):
        part.view(np.uint8).fill(number)
    assert resident() - before < 8 * MEGABYTE
    assert [set(np.unique(part.view(np.uint8))) for part in parts] == [{0}, {1}, {2}]
    del parts, part
    LIBRARY.allocator_set_limit(16 * MEGABYTE)
    assert LIBRARY.allocator_stats()["kept_bytes"] <= 16 * MEGABYTE
    LIBRARY.allocator_clear()
    assert LIBRARY.allocator_stats()["kept_bytes"] == LIBRARY.allocator_stats()["used_bytes"] == 0


def test_large_buffers_of_many_sizes_never_overlap() -> None:
    LIBRARY.allocator_set_limit(1 << 30)
    random = np.random.default_rng(5)
    held: list[tuple[int, Any]] = []
    for turn in range(120):
        if held and random.random() < 0.5:
            number, array = held.pop(int(random.integers(len(held))))
            assert (array[:: 1 << 20] == number).all() and array[-1] == number
        if sum(array.size for _, array in held) < 200 * MEGABYTE:
            array = bytes_of(int(random.integers(5, 60))).view(np.uint8)
            array[:: 1 << 20] = turn
            array[-1] = turn
            held.append((turn, array))
        array = None
    for number, array in held:
        assert (array[:: 1 << 20] == number).all() and array[-1] == number


@pytest.mark.skipif(sys.platform != "linux", reason="pages are moved on Linux alone")
def test_a_write_into_a_large_buffer_given_back_is_found_when_its_pages_serve_another() -> None:
    code = """
import ctypes
from tensor_cpu.system.extension import LIBRARY
LIBRARY.allocator_set_poisoning(True)
array = LIBRARY.empty((16 << 20,), "Bool")
address = array.__array_interface__["data"][0]
del array
{write}
array = LIBRARY.empty((12 << 20,), "Bool")
print("unharmed")
"""
    fine = run_python(code.format(write=""))
    assert fine.stdout == "unharmed\n", fine.stderr
    wrong = run_python(code.format(write="ctypes.memset(address + 5000, 1, 1)"))
    assert wrong.returncode != 0 and "was written to at byte 5000 after it was given back" in wrong.stderr


def test_sizes_that_no_memory_has_are_refused() -> None:
    with pytest.raises(ValueError, match="cannot keep -1 bytes"):
        LIBRARY.allocator_set_limit(-1)
    with pytest.raises(ValueError, match="must not be negative"):
        LIBRARY.empty((3, -1), "F64")
    for shape in ((2**60,), (2**32, 2**32), (0, 2**40, 2**40)):
        with pytest.raises(OverflowError, match="larger than any memory"):
            LIBRARY.empty(shape, "F64")
    assert LIBRARY.empty((0, 2**40), "F64").shape == (0, 2**40)


def test_arrays_of_the_user_are_not_allocated_here() -> None:
    before = used()
    array = np.ones(MEGABYTE)
    assert used() == before and array.size == MEGABYTE


def test_zeros_are_zeros_in_buffers_used_before() -> None:
    x = tr.add(tr.zeros((MEGABYTE // 8,)), 7.0)
    del x
    for _ in range(3):
        a = tr.zeros((256, 512))
        assert not np.asarray(a).any()
        b = tr.matmul(a, tr.ones((512, 256)))
        assert not np.asarray(b).any()
        del a, b


def test_threads_never_share_a_buffer() -> None:
    failures: list[str] = []

    def work(number: int) -> None:
        for turn in range(200):
            array = LIBRARY.empty((8192 + 64 * (turn % 5),), "I64")
            array.fill(number * 1000 + turn)
            if (array != number * 1000 + turn).any():
                failures.append(f"thread {number} in turn {turn}")

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def run_python(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)


def test_a_write_after_the_end_of_a_buffers_life_stops_the_process_in_debug_mode() -> None:
    code = """
import ctypes
from tensor_cpu.system.extension import LIBRARY
LIBRARY.allocator_set_poisoning(True)
array = LIBRARY.empty((16384,), "F64")
address = array.__array_interface__["data"][0]
del array
{write}
array = LIBRARY.empty((16384,), "F64")
print("unharmed", array.view("u1")[1000])
"""
    fine = run_python(code.format(write=""))
    assert fine.stdout == f"unharmed {0xDB}\n", fine.stderr
    wrong = run_python(code.format(write="ctypes.memset(address + 5000, 1, 1)"))
    assert wrong.returncode != 0 and "was written to at byte 5000 after it was given back" in wrong.stderr


def test_poisoning_may_be_switched_while_buffers_come_and_go() -> None:
    code = """
import threading
from tensor_cpu.system.extension import LIBRARY
def churn():
    for turn in range(4000):
        LIBRARY.empty((8192 + 2048 * (turn % 3),), "F64")
threads = [threading.Thread(target=churn) for _ in range(3)]
for thread in threads: thread.start()
on = False
while any(thread.is_alive() for thread in threads):
    on = not on
    LIBRARY.allocator_set_poisoning(on)
print("unharmed")
"""
    done = run_python(code)
    assert done.stdout == "unharmed\n", done.stderr


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_fork_amid_allocations_leaves_the_child_working() -> None:
    code = """
import os, threading
from tensor_cpu.system.extension import LIBRARY
stop = threading.Event()
def churn():
    while not stop.is_set():
        LIBRARY.empty((16384,), "F64")
threads = [threading.Thread(target=churn) for _ in range(3)]
for thread in threads: thread.start()
statuses = []
for _ in range(30):
    child = os.fork()
    if child == 0:
        for _ in range(20): LIBRARY.empty((16384,), "F64")
        os._exit(0)
    statuses.append(os.waitpid(child, 0)[1])
stop.set()
for thread in threads: thread.join()
print(statuses == [0] * 30)
"""
    done = run_python(code)
    assert done.stdout == "True\n", done.stderr
