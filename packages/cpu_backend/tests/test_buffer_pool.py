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


def filled(mebibytes: float, value: float = 1.0) -> np.ndarray[Any, Any]:
    array = LIBRARY.empty((int(mebibytes * MEGABYTE) // 8,), "F64")
    array.fill(value)
    return array


def test_a_buffer_that_came_back_serves_others_of_any_size() -> None:
    filled(40)
    before = LIBRARY.allocator_stats()
    parts = [filled(size) for size in (10, 3.3, 20)]
    del parts
    whole = filled(40)  # the parts, joined again
    after = LIBRARY.allocator_stats()

    assert (after["misses"], after["hits"]) == (before["misses"], before["hits"] + 4)
    assert after["kept_bytes"] == 0
    assert whole.all()


def test_what_is_used_and_kept_is_little_more_than_what_was_used_at_one_time() -> None:
    LIBRARY.allocator_set_limit(1 << 40)
    generator = np.random.default_rng(1)
    held: list[Any] = []
    for _ in range(300):
        if held and generator.random() < 0.5:
            held.pop(int(generator.integers(len(held))))
        else:
            held.append(filled(float(generator.uniform(1, 12))))
        stats = LIBRARY.allocator_stats()
        assert stats["used_bytes"] + stats["kept_bytes"] <= stats["peak_bytes"] * 33 / 32 + 16 * MEGABYTE
    assert LIBRARY.allocator_stats()["hits"] > 50


def test_buffers_cut_from_one_never_overlap() -> None:
    filled(64)
    generator = np.random.default_rng(2)
    held: dict[int, Any] = {}
    for number in range(1, 400):
        if held and generator.random() < 0.5:
            gone = int(generator.choice(list(held)))
            assert (held.pop(gone) == gone).all()
        held[number] = filled(float(generator.uniform(1, 6)), number)
        if sum(array.nbytes for array in held.values()) > 48 * MEGABYTE:
            held.pop(next(iter(held)))
    assert all((array == number).all() for number, array in held.items())


def test_a_large_buffer_wastes_at_most_a_thirtieth() -> None:
    for mebibytes in (1.0, 1.001, 1.9, 7.77):
        before = LIBRARY.allocator_stats()["used_bytes"]
        array = filled(mebibytes)
        taken = LIBRARY.allocator_stats()["used_bytes"] - before
        assert array.__array_interface__["data"][0] % 64 == 0
        assert array.nbytes <= taken <= array.nbytes * (1 + 1 / 30)
        del array


def test_a_write_to_a_part_that_came_back_stops_the_process_in_debug_mode() -> None:
    code = """
import ctypes, sys
from tensor_cpu.system.extension import LIBRARY
LIBRARY.allocator_set_poisoning(True)
size = 1 << 20
x = LIBRARY.empty((8 * size // 8,), "F64")
start = x.ctypes.data
del x
parts = [LIBRARY.empty((size // 8,), "F64") for _ in range(8)]
assert sorted(part.ctypes.data for part in parts) == [start + k * size for k in range(8)]
for k in (1, 3, 0, 2, 7, 5, 6, 4):
    parts[k] = None
whole = LIBRARY.empty((8 * size // 8,), "F64")
assert whole.ctypes.data == start
print("clean", flush=True)
del whole
ctypes.c_ubyte.from_address(start + 5 * size + 77).value = 7
LIBRARY.empty((8 * size // 8,), "F64")
print("alive")
"""
    done = run_python(code)
    assert done.stdout.split() == ["clean"]
    assert "was written to at byte" in done.stderr
    assert done.returncode != 0
