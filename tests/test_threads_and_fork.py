"""Eight threads, and a forked process, give what one thread gives.

Every thread dispatches operations, views and einsums on the same tensors while caches are cleared under them, and
must get the very bits that one thread got before. IRONSTRIDE_THREAD_SECONDS prolongs the run; a minute is what the
report quotes.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Final

import numpy as np
import pytest

import tensor_runtime as tr
from tensor_einsum import einsum, plan_cache

SECONDS: Final = float(os.environ.get("IRONSTRIDE_THREAD_SECONDS", "1.5"))
THREADS: Final = 8
DTYPES: Final = (tr.F32, tr.F64, tr.C32, tr.C64)

Job = Callable[[], tr.Tensor]
Bits = tuple[str, tuple[int, ...], bytes]


def bits(tensor: tr.Tensor) -> Bits:
    """Everything about a tensor that could differ."""
    return tensor.dtype.name, tensor.shape, tr.download(tensor).tobytes()


# Functions of a square matrix, the same upside down as a view, and one of its rows.
OPERATIONS: Final[tuple[Callable[[tr.Tensor, tr.Tensor, tr.Tensor], tr.Tensor], ...]] = (
    lambda a, b, row: tr.add(a, b),
    lambda a, b, row: a * 2 - 1,
    lambda a, b, row: a * row,
    lambda a, b, row: a / 0.0,
    lambda a, b, row: a.T @ b,
    lambda a, b, row: a[1:5, ::-2].reshape((12,)),
    lambda a, b, row: tr.sum(tr.transpose(a), axis=0),
    lambda a, b, row: tr.equal(a, 1),
    lambda a, b, row: einsum("ij,jk->ik", a, b),
    lambda a, b, row: einsum("ij,jk,k->i", a, b, row),
    lambda a, b, row: einsum("ii->i", a),
    lambda a, b, row: einsum("i->ii", row),
)


def sum_of_a_new_form(extent: int) -> tr.Tensor:
    """Bindings that few other calls share, so that some are made and evicted all the time."""
    return tr.sum(tr.ones((extent, 3)) + tr.ones((3,)))


def jobs() -> list[Job]:
    """Operations, views and einsums on shared tensors: integers in float types, so that every order sums alike."""
    found: list[Job] = [partial(sum_of_a_new_form, extent) for extent in range(1, 60)]
    for number, dtype in enumerate(DTYPES):
        values = np.random.default_rng(number).integers(-4, 5, (6, 6)).astype(dtype.numpy_name)
        square = tr.asarray(values, copy=True)
        operands = square, tr.reverse_view(square, 0), square[2]
        found += [partial(operation, *operands) for operation in OPERATIONS]
    return found


@pytest.fixture
def small_budget() -> Iterator[None]:
    """So few bytes for bindings that they are evicted while others use them."""
    limit = tr.binding_cache.stats().limit_bytes
    tr.binding_cache.set_limit(60_000)
    yield
    tr.binding_cache.set_limit(limit)


def repeat(work: Sequence[Job], expected: Sequence[Bits], start: int, until: float) -> int:
    """Run the jobs round and round, starting anywhere; the number of calls, all equal to what was expected."""
    calls = 0
    while True:
        position = (start + calls) % len(work)
        assert bits(work[position]()) == expected[position], f"job {position}"
        calls += 1
        if calls >= len(work) and time.monotonic() > until:
            return calls


def run_threads(work: Sequence[Job], expected: Sequence[Bits], seconds: float) -> int:
    """Eight threads at once, and a ninth that clears the caches; the number of calls."""
    failures: list[BaseException] = []
    calls: list[int] = []
    until = time.monotonic() + seconds
    gate = threading.Barrier(THREADS + 1)

    def dispatch(number: int) -> None:
        try:
            gate.wait()
            calls.append(repeat(work, expected, number * len(work) // THREADS, until))
        except BaseException as failure:
            failures.append(failure)

    def clear() -> None:
        gate.wait()
        while time.monotonic() < until and not failures:
            tr.binding_cache.clear()
            plan_cache.clear()
            time.sleep(0.02)

    threads = [threading.Thread(target=dispatch, args=(number,)) for number in range(THREADS)]
    threads.append(threading.Thread(target=clear))
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)  # change threads a hundred times as often
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    if failures:
        raise failures[0]
    return sum(calls)


def in_child(work: Callable[[], object]) -> None:
    """Run something in a forked process, which must end by itself and well."""
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", DeprecationWarning
        )  # Python 3.12 warns of forks beside threads; that is the test
        child = os.fork()
    if child == 0:
        status = 1
        try:
            work()
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    until = time.monotonic() + 60 + 2 * SECONDS
    while time.monotonic() < until:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            assert os.waitstatus_to_exitcode(status) == 0
            return
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    pytest.fail("the forked process did not end: a lock was held across the fork")


def test_eight_threads_get_what_one_thread_gets(small_budget: None) -> None:
    work = jobs()
    expected = [bits(job()) for job in work]

    calls = run_threads(work, expected, SECONDS)

    print(f"{calls} calls by {THREADS} threads in {SECONDS:g} s")
    assert calls >= THREADS * len(work)


def test_eight_threads_that_meet_everything_for_the_first_time_agree() -> None:
    work = jobs()
    expected = [bits(job()) for job in work]
    tr.binding_cache.clear()
    plan_cache.clear()

    assert run_threads(work, expected, 0.0) == THREADS * len(work)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_forked_process_gets_what_its_parent_gets() -> None:
    work = jobs()
    expected = [bits(job()) for job in work]

    in_child(lambda: repeat(work, expected, 0, 0.0))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_forks_while_eight_threads_dispatch_leave_no_lock_behind(small_budget: None) -> None:
    work = jobs()
    expected = [bits(job()) for job in work]
    failures: list[BaseException] = []
    until = time.monotonic() + SECONDS

    def threads() -> None:
        try:
            run_threads(work, expected, SECONDS)
        except BaseException as failure:
            failures.append(failure)

    runner = threading.Thread(target=threads)
    runner.start()
    forks = 0
    try:
        while runner.is_alive() and (time.monotonic() < until or not forks):
            in_child(lambda: repeat(work, expected, 0, 0.0))
            forks += 1
    finally:
        runner.join()

    print(f"{forks} forks beside {THREADS} threads in {SECONDS:g} s")
    assert not failures
    assert forks
    assert [bits(job()) for job in work] == expected


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_eight_threads_of_a_forked_process_agree(small_budget: None) -> None:
    work = jobs()
    expected = [bits(job()) for job in work]

    in_child(lambda: run_threads(work, expected, SECONDS / 2))
