"""The number of threads and the caching allocator, as users and the environment set them."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable
from typing import Any

import pytest

import tensor_runtime as tr
from tensor_core.errors import ArgumentError
from tensor_cpu.system.extension import AVAILABLE, LIBRARY
from tensor_cpu.system.memory import PoolStats, pool
from tensor_cpu.system.threads import set_threads, threads
from tensor_runtime.backends.memory_limits import usable_bytes

Program = Callable[..., subprocess.CompletedProcess[str]]
NATIVE = pytest.mark.skipif(not AVAILABLE, reason="the native kernels are not built")


def test_a_call_sets_our_threads_and_its_block_restores_them() -> None:
    before = threads()

    with set_threads(3):
        with set_threads(1):
            assert threads() == 1
            assert not AVAILABLE or LIBRARY.threads() == 1
        assert threads() == 3
        assert not AVAILABLE or LIBRARY.threads() == 3

    assert threads() == before


def test_a_plain_call_holds_until_the_next_one() -> None:
    setting = set_threads(2)
    try:
        assert threads() == 2
        set_threads(1)
        assert threads() == 1
    finally:
        setting.__exit__(None, None, None)


def test_an_error_in_the_block_restores_the_threads_too() -> None:
    before = threads()

    with pytest.raises(KeyError), set_threads(before + 1):
        raise KeyError
    assert threads() == before


@pytest.mark.parametrize("bad", [0, -1, 1025, 10**30, 1.0, "2", None, True])
def test_a_count_that_is_no_number_of_threads_is_refused(bad: Any) -> None:
    before = threads()

    with pytest.raises(ArgumentError, match="set_threads: count"):
        set_threads(bad)
    assert threads() == before


SHOW = "import tensor_cpu.backend, tensor_cpu.system.threads as t; print(t.threads())"


def test_the_first_count_is_the_number_of_processors_that_the_process_may_use(program: Program) -> None:
    expected = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()

    assert program(SHOW).stdout.split() == [str(expected)]


@pytest.mark.parametrize(("text", "count"), [("3", 3), (" 3 ", 3), ("3,2", 3), ("1024", 1024)])
def test_the_usual_variable_counts_where_ours_is_not_set(text: str, count: int, program: Program) -> None:
    assert program(SHOW, OMP_NUM_THREADS=text).stdout.split() == [str(count)]
    assert program(SHOW, OMP_NUM_THREADS=text, TENSOR_CPU_THREADS="2").stdout.split()[0] == "2"


@pytest.mark.parametrize("text", ["", "0", "-3", "many", "1025", ",2"])
def test_what_is_no_count_in_the_usual_variable_is_passed_over(text: str, program: Program) -> None:
    assert program(SHOW, OMP_NUM_THREADS=text).stdout == program(SHOW).stdout


@NATIVE
def test_kernels_take_every_count_that_is_accepted() -> None:
    with set_threads(1024):
        assert LIBRARY.threads() == 1024
    for bad in (0, -1, 1025, 2**40):
        with pytest.raises(ValueError, match="accepted: 1 to 1024"):
            LIBRARY.set_threads(bad)


def test_the_runtime_sets_the_threads_of_the_backend_and_its_block_restores_them() -> None:
    before = tr.threads()

    with tr.set_threads(3):
        with tr.set_threads(2):
            assert threads() == 2
            assert ("cpu", "kernels", 2) in tr.threads()
        assert threads() == 3
    assert tr.threads() == before


def test_a_call_of_the_runtime_holds_without_a_block() -> None:
    setting = tr.set_threads(threads() + 1)
    try:
        assert threads() == setting_count(tr.threads())
    finally:
        setting.__exit__(None, None, None)


def setting_count(table: Any) -> int:
    (count,) = [row.threads for row in table if (row.backend, row.library) == ("cpu", "kernels")]
    return count


@pytest.mark.parametrize("bad", [0, -1, 1025, 10**30, 1.0, "2", None, True])
def test_the_runtime_refuses_what_is_no_number_of_threads(bad: Any) -> None:
    before = tr.threads()

    with pytest.raises(ArgumentError, match="set_threads: count"):
        tr.set_threads(bad)
    assert tr.threads() == before


WORKING = """
import os, signal
import numpy as np, tensor_runtime as tr
from tensor_cpu.system.extension import LIBRARY
x = tr.asarray(np.ones((2000, 2000), order="F"))  # lent, so that nothing is copied yet
def work():
    tr.sum(x).item(), tr.copy(tr.transpose(x)), tr.exp(x)
def masks():
    return sorted(
        line.split()[1]
        for task in os.listdir("/proc/self/task")
        for line in open(f"/proc/self/task/{task}/status")
        if line.startswith("Cpus_allowed_list")
    )
"""
LINUX = pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="processors are chosen as Linux does")


@NATIVE
@pytest.mark.skipif(not hasattr(signal, "pthread_sigmask"), reason="the system has no such signals")
def test_a_signal_that_the_program_waits_for_never_reaches_a_worker(program: Program) -> None:
    code = f"""{WORKING}
LIBRARY.set_threads(3)
work()
signal.pthread_sigmask(signal.SIG_BLOCK, {{signal.SIGUSR1}})
for _ in range(20):
    work()
    os.kill(os.getpid(), signal.SIGUSR1)
    assert signal.sigwait({{signal.SIGUSR1}}) == signal.SIGUSR1
print("alive")
"""
    done = program(code, OPENBLAS_NUM_THREADS="1")

    assert (done.returncode, done.stdout.strip()) == (0, "alive"), done.stderr


@NATIVE
@LINUX
def test_workers_follow_the_processors_of_the_thread_that_calls(program: Program) -> None:
    code = f"""{WORKING}
allowed = sorted(os.sched_getaffinity(0))
LIBRARY.set_threads(4)
work()
for pinned in ({{allowed[0]}}, {{allowed[-1]}}, set(allowed)):
    os.sched_setaffinity(0, pinned)
    work()
    names = {{str(one) for one in pinned}}
    assert len(pinned) > 1 or set(masks()) == names, (pinned, masks())
    assert len(masks()) == 4, masks()
print("followed")
"""
    done = program(code, OPENBLAS_NUM_THREADS="1")

    assert (done.returncode, done.stdout.strip()) == (0, "followed"), done.stderr


@NATIVE
@LINUX
def test_work_of_twenty_microseconds_wakes_no_worker(program: Program) -> None:
    code = f"""{WORKING}
LIBRARY.set_threads(2)
square, truths, whole = x[:256, :256], tr.tensor(np.ones(65536, bool)), tr.tensor(np.ones((48, 48), np.int64))
tr.sum(square), tr.sum(square, axis=0), tr.exp(x[:100, :100]), tr.add(square, square), tr.copy(tr.transpose(square))
tr.convert(truths, tr.I32), tr.convert(tr.tensor(np.ones(65536, np.float32)), tr.F64), tr.matmul(whole, whole)
print(len(masks()))
work()
print(len(masks()))
"""
    done = program(code, OPENBLAS_NUM_THREADS="1")

    assert done.stdout.split() == ["1", "2"], done.stderr


@NATIVE
@LINUX
def test_a_thread_with_one_processor_works_alone_unless_a_count_was_chosen(program: Program) -> None:
    code = f"""{WORKING}
os.sched_setaffinity(0, {{min(os.sched_getaffinity(0))}})
LIBRARY.set_most_threads(8)
work()
print(len(masks()))
LIBRARY.set_threads(2)
work()
print(len(masks()))
"""
    done = program(code, OPENBLAS_NUM_THREADS="1")

    assert done.stdout.split() == ["1", "2"], done.stderr


@pytest.mark.parametrize("native", ["0", "1"])
def test_the_environment_sets_the_first_count(native: str, program: Program) -> None:
    done = program(SHOW, TENSOR_CPU_THREADS="5", TENSOR_CPU_NATIVE=native)

    assert done.stdout.strip() == "5", done.stderr


@pytest.mark.parametrize("bad", ["0", "two", "-1", "1.5", "²", "9" * 5000])
def test_a_count_in_the_environment_that_is_no_number_is_refused_by_name(bad: str, program: Program) -> None:
    done = program("import tensor_cpu.backend", TENSOR_CPU_THREADS=bad)

    assert done.returncode == 1
    assert "ArgumentError: TENSOR_CPU_THREADS is" in done.stderr
    assert "accepted: 1 to 1024, or unset" in done.stderr


@NATIVE
def test_the_pool_keeps_buffers_counts_them_and_gives_them_back() -> None:
    pool.clear()
    assert (pool.stats().kept_bytes, pool.stats().kept_buffers) == (0, 0)

    before = pool.stats()
    x = LIBRARY.empty((2**20,), "F64")
    during = pool.stats()
    del x
    after = pool.stats()

    assert isinstance(before, PoolStats)
    assert during.used_bytes - before.used_bytes >= 2**23
    assert during.used_buffers == before.used_buffers + 1
    assert (after.used_bytes, after.kept_buffers) == (before.used_bytes, 1)
    assert after.kept_bytes >= 2**23
    y = LIBRARY.empty((2**20,), "F64")
    assert pool.stats().hits == after.hits + 1
    del y
    pool.clear()
    assert pool.stats().kept_bytes == 0


@NATIVE
def test_what_does_not_fit_the_limit_is_not_kept() -> None:
    former = pool.stats().limit_bytes
    try:
        pool.set_limit(2**20)
        assert pool.stats().limit_bytes == 2**20
        x = LIBRARY.empty((2**20,), "F64")
        evicted = pool.stats().evictions
        del x
        assert pool.stats().evictions > evicted
        assert pool.stats().kept_bytes <= 2**20
    finally:
        pool.set_limit(former)


@NATIVE
def test_arrays_of_many_sizes_one_at_a_time_leave_little_more_than_the_largest_behind() -> None:
    former = pool.stats().limit_bytes
    try:
        pool.set_limit(2**40)
        pool.clear()
        held = pool.stats().used_bytes
        for mebibytes in (*range(4, 97, 3), *range(97, 4, -5)):
            LIBRARY.empty((mebibytes, 2**17), "F64")
            assert pool.stats().kept_bytes <= pool.stats().peak_bytes * 33 / 32 + 2**24
        assert held + 94 * 2**20 <= pool.stats().peak_bytes <= held + 120 * 2**20
        assert pool.stats().kept_bytes >= 94 * 2**20
    finally:
        pool.clear()
        pool.set_limit(former)
    assert pool.stats().peak_bytes == pool.stats().used_bytes


@NATIVE
def test_memory_that_was_not_to_be_had_is_no_peak() -> None:
    pool.clear()
    before = pool.stats().peak_bytes

    with pytest.raises(MemoryError):
        LIBRARY.empty((2**57,), "F64")
    assert pool.stats().peak_bytes == before
    assert pool.stats().used_bytes <= before


@NATIVE
def test_the_first_limit_is_an_eighth_of_what_the_process_may_have(program: Program) -> None:
    code = "import tensor_cpu.backend; from tensor_cpu.system.memory import pool; print(pool.stats().limit_bytes)"
    bounded = f"import resource; resource.setrlimit(resource.RLIMIT_AS, (3 * 2**32, 3 * 2**32)); {code}"

    assert int(program(code).stdout) == (usable_bytes() or 0) // 8
    assert int(program(bounded).stdout) <= 3 * 2**29


@pytest.mark.parametrize("bad", [-1, 2**63, 1.5, "1", None, False])
def test_a_limit_that_is_no_number_of_bytes_is_refused(bad: Any) -> None:
    with pytest.raises(ArgumentError, match=r"pool\.set_limit: limit_bytes"):
        pool.set_limit(bad)


def test_without_native_kernels_the_pool_is_empty_and_does_nothing(program: Program) -> None:
    code = "from tensor_cpu.system.memory import pool; pool.clear(); pool.set_limit(5); print(*pool.stats())"

    assert program(code, TENSOR_CPU_NATIVE="0").stdout.split() == ["0"] * 10


@NATIVE
def test_debugging_overwrites_what_is_given_back_and_stops_a_process_that_writes_there(program: Program) -> None:
    code = (
        "import ctypes, tensor_cpu.backend\n"
        "from tensor_cpu._native import empty\n"
        "x = empty((2**17,), 'F64'); x[:] = 1.0; place = x.ctypes.data + 5000; del x\n"
        "print(hex(ctypes.c_ubyte.from_address(place).value))\n"
        "ctypes.c_ubyte.from_address(place).value = 7\n"
        "empty((2**17,), 'F64')\n"
        "print('alive')"
    )
    poisoned, plain = program(code, TENSOR_CPU_POOL_DEBUG="1"), program(code)

    assert poisoned.returncode != 0
    assert "was written to at byte 5000 after it was given back" in poisoned.stderr
    assert plain.stdout.split()[-1] == "alive"
    assert poisoned.stdout.split()[:1] != plain.stdout.split()[:1]


def test_a_word_that_debugging_does_not_know_is_refused(program: Program) -> None:
    done = program("import tensor_cpu.backend", TENSOR_CPU_POOL_DEBUG="yes")

    assert "ArgumentError: TENSOR_CPU_POOL_DEBUG is 'yes'; accepted: 0, 1, or unset" in done.stderr


def test_the_doctor_says_whether_native_kernels_are_in_use_and_with_what(program: Program) -> None:
    facts = tr.backend("cpu").describe()

    if AVAILABLE:
        assert facts["native kernels"] == f"in use, {LIBRARY.instruction_set()}"
        assert facts["threads"] == str(threads())
        assert "-bit integers" in facts["blas"]
    else:
        assert facts["native kernels"].startswith("none: ")
    done = program("import tensor_runtime as tr; print(tr.backend('cpu').describe())", TENSOR_CPU_NATIVE="0")
    assert "'native kernels': 'none: switched off by TENSOR_CPU_NATIVE=0'" in done.stdout
