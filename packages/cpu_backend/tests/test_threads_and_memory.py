"""The number of threads and the warm memory, as users and the environment set them."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import pytest

import tensor_runtime as tr
from tensor_core.errors import ArgumentError
from tensor_cpu.extension import AVAILABLE, LIBRARY
from tensor_cpu.memory import PoolStats, pool
from tensor_cpu.threads import set_threads, threads

NATIVE = pytest.mark.skipif(not AVAILABLE, reason="the native kernels are not built")


def program(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a program where the environment is what is given and nothing else of ours."""
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("TENSOR_CPU_", "OPENBLAS_", "OMP_"))
    }
    return subprocess.run(
        [sys.executable, "-c", code],
        env={**kept, **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


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


SHOW = "import tensor_cpu.backend, tensor_cpu.threads as t; print(t.threads())"


def test_the_first_count_is_the_number_of_processors_that_the_process_may_use() -> None:
    expected = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()

    assert program(SHOW).stdout.split() == [str(expected)]


@pytest.mark.parametrize("native", ["0", "1"])
def test_the_environment_sets_the_first_count(native: str) -> None:
    done = program(SHOW, TENSOR_CPU_THREADS="5", TENSOR_CPU_NATIVE=native)

    assert done.stdout.strip() == "5", done.stderr


@pytest.mark.parametrize("bad", ["0", "two", "-1", "1.5", "²", "9" * 5000])
def test_a_count_in_the_environment_that_is_no_number_is_refused_by_name(bad: str) -> None:
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


@pytest.mark.parametrize("bad", [-1, 2**63, 1.5, "1", None, False])
def test_a_limit_that_is_no_number_of_bytes_is_refused(bad: Any) -> None:
    with pytest.raises(ArgumentError, match=r"pool\.set_limit: limit_bytes"):
        pool.set_limit(bad)


def test_without_native_kernels_the_pool_is_empty_and_does_nothing() -> None:
    code = "from tensor_cpu.memory import pool; pool.clear(); pool.set_limit(5); print(*pool.stats())"

    assert program(code, TENSOR_CPU_NATIVE="0").stdout.split() == ["0"] * 8


@NATIVE
def test_debugging_overwrites_what_is_given_back_and_stops_a_process_that_writes_there() -> None:
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


def test_a_word_that_debugging_does_not_know_is_refused() -> None:
    done = program("import tensor_cpu.backend", TENSOR_CPU_POOL_DEBUG="yes")

    assert "ArgumentError: TENSOR_CPU_POOL_DEBUG is 'yes'; accepted: 0, 1, or unset" in done.stderr


def test_the_doctor_says_whether_native_kernels_are_in_use_and_with_what() -> None:
    facts = tr.backend("cpu").describe()

    if AVAILABLE:
        assert facts["native kernels"] == f"in use, {LIBRARY.instruction_set()}"
        assert facts["threads"] == str(threads())
        assert "-bit integers" in facts["blas"]
    else:
        assert facts["native kernels"].startswith("none: ")
    done = program("import tensor_runtime as tr; print(tr.backend('cpu').describe())", TENSOR_CPU_NATIVE="0")
    assert "'native kernels': 'none: switched off by TENSOR_CPU_NATIVE=0'" in done.stdout
