"""What plans take beside operands while other numbers of threads are set than when they were first bound."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import tensor_runtime as tr
from tensor_cpu.system.extension import AVAILABLE
from tensor_cpu.system.memory import pool
from tensor_einsum import Plan, einsum, plan
from tensor_einsum.plans.calls import plan_calls
from tensor_runtime.backends.workspaces import threads_in_force

pytestmark = [
    pytest.mark.skipif(not AVAILABLE, reason="NumPy's kernels have no threads"),
    pytest.mark.usefixtures("by_blas"),
]

PRODUCTS = "ijb,jkb->kib"
"""A batch of which each thread takes some, and copies the first operand of the one that it is at: BLAS reads no rows in
reverse."""
SIDE, BATCH = 100, 48
ROUNDED = 1 << 16  # bytes by which the pool rounds each buffer, or fewer
DTYPES = ["F64", "C64"]


def taken(call: Callable[[], object]) -> int:
    """The most bytes in use at one time during a call, its result among them."""
    call()
    pool.clear()
    before = pool.stats().used_bytes
    result = call()
    seen = pool.stats().peak_bytes - before
    del result
    return seen


def operands(dtype: str) -> tuple[tr.Tensor, tr.Tensor]:
    x = tr.ones((SIDE, SIDE, BATCH), dtype=dtype)
    return x[::-1], x


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_peak_is_that_of_the_threads_in_force(dtype: str) -> None:
    x, y = operands(dtype)
    found = plan(PRODUCTS, x, y)
    peaks = []
    for count in (1, 2, 3, 1, 8):
        with tr.set_threads(count):
            peaks.append(found.peak_bytes)
            assert found.peak_bytes_on(x, y) == peaks[-1]
            assert taken(lambda: found(x, y)) <= peaks[-1] + (2 + count) * ROUNDED
    assert found.intermediate_bytes < peaks[0] == peaks[3] < peaks[1]


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_limit_is_kept_with_more_threads_than_at_the_first_call(dtype: str) -> None:
    x, y = operands(dtype)
    with tr.set_threads(1):
        limit = plan(PRODUCTS, x, y).peak_bytes
    out = tr.zeros((SIDE, SIDE, BATCH), dtype=dtype)
    calls: list[Callable[[], object]] = [
        lambda: einsum(PRODUCTS, x, y, memory_limit=limit),
        lambda: einsum(PRODUCTS, x, y, memory_limit=limit, out=out),
        lambda: plan(PRODUCTS, x, y, memory_limit=limit)(x, y),
    ]
    for call in calls:
        for count in (1, 8, 1, 2):
            with tr.set_threads(count):
                assert taken(call) <= limit + (2 + count) * ROUNDED


def scattered() -> tuple[tr.Tensor, tr.Tensor]:
    """Operands of a batch without BLAS, of which each thread computes products in a block of its own."""
    x = tr.ones((50, 40, 40), dtype="I32")
    return x, tr.ones((40, 40, 50), dtype="I32")


def test_slices_that_were_bound_for_one_thread_are_bound_again_for_more() -> None:
    x, _ = scattered()
    found = plan("bij,bjk->kib", x, x).with_slices({"i": 20})
    peaks = []
    for count in (1, 8, 1):
        with tr.set_threads(count):
            peaks.append(found.peak_bytes)
            assert taken(lambda: found(x, x)) <= peaks[-1] + ROUNDED
    assert peaks[1] > peaks[0] == peaks[2]


def test_limits_of_sweeps_are_kept_with_more_threads_than_at_the_first_call() -> None:
    x, last = scattered()
    found = plan("bij,bjk,kib->", x, x, last)
    with tr.set_threads(1):
        limit = found.environments_plan(which=[2]).peak_bytes
    for count in (1, 8, 1):
        with tr.set_threads(count):
            assert taken(lambda: found.environments(x, x, last, which=[2], memory_limit=limit)) <= limit + ROUNDED


def test_the_number_of_threads_is_asked_only_where_workspaces_follow_it() -> None:
    x, y = operands("F64")

    def asks(found: Plan, *operands: tr.Tensor) -> bool:
        found(*operands)
        kernel = plan_calls.found[(found, *[x._form for x in operands])][0]
        return type(kernel).__name__ == "ThreadedKernel"

    assert asks(plan(PRODUCTS, x, y), x, y)
    assert not asks(plan(PRODUCTS, y, y), y, y)
    assert not asks(plan(PRODUCTS, x[:3, :3], y[:3, :3]), x[:3, :3], y[:3, :3])


def test_one_setting_of_threads_is_one_object() -> None:
    with tr.set_threads(3):
        three = threads_in_force.value
    with tr.set_threads(5):
        assert threads_in_force.value != three
    with tr.set_threads(3):
        assert threads_in_force.value is three
