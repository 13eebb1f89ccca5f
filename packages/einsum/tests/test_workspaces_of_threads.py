"""What plans take beside operands while other numbers of threads are set than when they were first bound."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import tensor_runtime as tr
from tensor_cpu.system.extension import AVAILABLE
from tensor_cpu.system.memory import pool
from tensor_einsum import MemoryLimitError, Plan, einsum, plan
from tensor_einsum.plans.calls import plan_calls
from tensor_runtime.algebras import MAX_PLUS
from tensor_runtime.backends.workspaces import threads_in_force

pytestmark = pytest.mark.skipif(not AVAILABLE, reason="NumPy's kernels pack nothing")

SIDE = 400
RESULT = 8 * SIDE * SIDE
ROUNDED = 1 << 16  # bytes by which the pool rounds each buffer, or fewer
KINDS: dict[str, dict[str, Any]] = {"I64": {}, "F64": {"algebra": MAX_PLUS}}
"""Products of which kernels pack panels: for each of their threads, or of narrower parts for more threads."""


def taken(call: Callable[[], object]) -> int:
    """The most bytes in use at one time during a call, its result among them."""
    call()
    pool.clear()
    before = pool.stats().used_bytes
    result = call()
    seen = pool.stats().peak_bytes - before
    del result
    return seen


@pytest.mark.parametrize("dtype", list(KINDS))
def test_the_peak_is_that_of_the_threads_in_force(dtype: str) -> None:
    x = tr.ones((SIDE, SIDE), dtype=dtype)
    found = plan("ij,jk->ik", x, x, **KINDS[dtype])
    peaks = []
    for count in (1, 2, 3, 1, 8):
        with tr.set_threads(count):
            peaks.append(found.peak_bytes)
            assert found.peak_bytes_on(x, x) == peaks[-1]
            assert taken(lambda: found(x, x)) <= peaks[-1] + (2 + count) * ROUNDED
    assert RESULT < peaks[0] == peaks[3] < peaks[1] <= peaks[2] <= peaks[4]


@pytest.mark.parametrize("dtype", list(KINDS))
def test_a_limit_is_kept_with_more_threads_than_at_the_first_call(dtype: str) -> None:
    x, options = tr.ones((SIDE, SIDE), dtype=dtype), KINDS[dtype]
    with tr.set_threads(1):
        limit = plan("ij,jk->ik", x, x, **options).peak_bytes
    out = tr.zeros((SIDE, SIDE), dtype=dtype)
    calls: list[Callable[[], object]] = [
        lambda: einsum("ij,jk->ik", x, x, memory_limit=limit, **options),
        lambda: einsum("ij,jk->ik", x, x, memory_limit=limit, out=out, **options),
        lambda: plan("ij,jk->ik", x, x, memory_limit=limit, **options)(x, x),
    ]
    for call in calls:
        for count in (1, 8, 1, 2):
            with tr.set_threads(count):
                assert taken(call) <= limit + (2 + count) * ROUNDED


def test_slices_that_were_bound_for_one_thread_are_bound_again_for_more() -> None:
    x = tr.ones((SIDE, SIDE), dtype="I64")
    found = plan("ij,jk->ik", x, x).with_slices({"i": 150})
    assert found.sliced
    for count in (1, 8, 1):
        with tr.set_threads(count):
            assert taken(lambda: found(x, x)) <= found.peak_bytes + (2 + count) * ROUNDED


def test_limits_of_sweeps_are_kept_with_more_threads_than_at_the_first_call() -> None:
    x = tr.ones((SIDE, SIDE), dtype="I64")
    found = plan("ij,jk,ki->", x, x, x)
    peaks = []
    for count in (1, 8, 1):
        with tr.set_threads(count):
            peaks.append(found.environments_plan().peak_bytes)
            assert taken(lambda: found.environments(x, x, x)) <= peaks[-1] + (2 + count) * ROUNDED
            if count > 1:
                with pytest.raises(MemoryLimitError):
                    found.environments(x, x, x, memory_limit=peaks[0])
            else:
                assert found.environments(x, x, x, memory_limit=peaks[0])
    assert peaks[1] > peaks[0] == peaks[2]


def test_the_number_of_threads_is_asked_only_where_workspaces_follow_it() -> None:
    floats, integers = tr.ones((SIDE, SIDE)), tr.ones((SIDE, SIDE), dtype="I64")
    small = tr.ones((3, 3), dtype="I64")

    def kernel_of(found: Plan, *operands: tr.Tensor) -> object:
        found(*operands)
        return plan_calls.found[(found, *[x._form for x in operands])][0]

    kinds = [type(kernel_of(plan("ij,jk->ik", x, x), x, x)).__name__ for x in (floats, small, integers)]
    assert [kind == "ThreadedKernel" for kind in kinds] == [False, False, True]


def test_one_setting_of_threads_is_one_object() -> None:
    with tr.set_threads(3):
        three = threads_in_force.value
    with tr.set_threads(5):
        assert threads_in_force.value != three
    with tr.set_threads(3):
        assert threads_in_force.value is three
