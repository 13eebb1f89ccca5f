"""How long a search goes on: by count and share alike in every run and on any threads, by the clock in time."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from math import exp2
from typing import Any

import pytest

import tensor_runtime as tr
from tensor_einsum import einsum, native, plan
from tensor_einsum.plans.plan import plan_cache
from tensor_einsum.search import optimizers
from tensor_einsum.search.engine import search, search_checked
from tensor_einsum.search.measure import measure
from tensor_einsum.search.problem import Budget, Objective, Problem
from tensor_einsum.testing.networks import drawn, lattice, regular_graph
from tensor_runtime.backends.bindings import binding_cache

FLOPS = Objective("flops")

needs_native = pytest.mark.skipif(not native.AVAILABLE, reason="the native search was not built")


@pytest.mark.parametrize("budget", [Budget(rotations=300_000), Budget(share=1.0, most_rotations=500_000)])
@pytest.mark.parametrize(
    ("problem", "largest"),
    [(regular_graph(60, 3, 1), None), (regular_graph(60, 3, 1), 2**12), (lattice(11, 11), 2**8)],
    ids=["free", "limited", "in bands"],
)
def test_the_result_does_not_depend_on_the_run_or_the_number_of_threads(
    problem: Problem, largest: int | None, budget: Budget
) -> None:
    found = [search(problem, FLOPS, budget, largest=largest, seed=7, threads=threads) for threads in (1, 1, 2, 3, 8)]
    records = [one.record._replace(seconds=0.0) for one in found]
    assert all(one.path == found[0].path and one.sliced == found[0].sliced for one in found)
    assert all(record == records[0] for record in records)


@needs_native
def test_another_seed_draws_other_trees() -> None:
    problem = regular_graph(100, 3, 1)
    assert len({search(problem, FLOPS, Budget(rotations=100_000), seed=seed).path for seed in range(4)}) > 1


@needs_native
def test_more_rotations_find_better_trees() -> None:
    problem = regular_graph(150, 3, 2)
    costs = [search(problem, FLOPS, Budget(rotations=count)).record.log2_products for count in (0, 10**5, 3 * 10**6)]
    assert costs[0] > costs[1] + 1 > costs[2] + 1.5


@needs_native
def test_a_search_by_count_tells_how_it_went() -> None:
    record = search(regular_graph(100, 3, 3), FLOPS, Budget(rotations=10**6)).record
    assert record.stopped == "rotations"
    assert [step.rotations for step in record.history] == sorted(step.rotations for step in record.history)
    assert record.history[-1].log2_products == record.log2_products < record.history[0].log2_products
    assert {one.method for one in record.tried} >= {"greedy", "sweep", "bisection", "annealing"}


@needs_native
@pytest.mark.parametrize("largest", [None, 2**20])
@pytest.mark.parametrize(
    ("problem", "asked"),
    [
        (regular_graph(100, 3, 3), 10**6),
        (regular_graph(500, 3, 3), 10**6),
        (lattice(20, 20), 500_000),
        (lattice(40, 40), 2 * 10**6),
    ],
    ids=["100 nodes", "500 nodes", "20x20", "40x40"],
)
def test_as_many_rotations_are_tried_as_were_asked_for(problem: Problem, asked: int, largest: int | None) -> None:
    record = search(problem, FLOPS, Budget(rotations=asked), largest=largest).record
    assert 0.97 * asked < record.rotations < 1.03 * asked


@needs_native
def test_a_share_searches_long_only_where_contracting_takes_long() -> None:
    fast, slow = Objective("seconds"), Objective("seconds", flop_rate=2e4, element_rate=5e2)
    problem = regular_graph(80, 3, 4)
    short, long = (search(problem, objective, Budget(share=0.1)).record for objective in (fast, slow))
    assert short.stopped in ("share", "settled")
    assert short.rotations < long.rotations / 10
    tiny = search(Problem(tuple((i, i + 1) for i in range(40)), (0, 40), (2,) * 41), fast, Budget(share=0.1)).record
    assert tiny.rotations < 20_000


@needs_native
def test_a_share_takes_no_longer_than_it_says() -> None:
    objective = Objective("seconds")
    record = search(regular_graph(120, 3, 5), objective, Budget(share=0.1, most_rotations=3_000_000)).record
    assert record.rotations < 4_000_000
    estimate = 0.1 * exp2(record.history[0].log2_products) / (objective.flop_rate / 2)
    assert record.rotations * 2e-8 < max(1, estimate)


@pytest.mark.parametrize("seconds", [0.05, 0.5])
def test_a_search_by_the_clock_ends_in_time(seconds: float) -> None:
    problem = lattice(12, 12)
    begun, spent = time.perf_counter(), time.process_time()
    record = search(problem, FLOPS, Budget(seconds=seconds), threads=1).record
    took = time.perf_counter() - begun
    assert record.stopped == "seconds" or (record.engine == "python" and record.stopped == "settled")
    # What other processes took of the processor does not count.
    assert min(took, time.process_time() - spent) <= 1.03 * seconds + 0.02
    assert record.seconds <= took


@needs_native
@pytest.mark.usefixtures("sigint_interrupts")
def test_ctrl_c_ends_a_search_by_the_clock_and_keeps_what_was_found() -> None:
    problem = regular_graph(60, 3, 6)
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    found = search(problem, FLOPS, Budget(seconds=60))
    timer.join()
    assert found.record.stopped == "interrupted"
    assert found.record.seconds < 30
    assert abs(measure(problem, found.path).products - found.record.log2_products) < 1e-6


@needs_native
@pytest.mark.usefixtures("sigint_interrupts")
def test_a_long_search_that_is_interrupted_has_annealed() -> None:
    problem = regular_graph(150, 3, 2)
    short = search(problem, FLOPS, Budget(seconds=1.0)).record
    timer = threading.Timer(3.0, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    long = search(problem, FLOPS, Budget(seconds=1000)).record
    timer.join()
    assert long.stopped == "interrupted"
    assert long.log2_products < short.log2_products + 1  # 4 more when starts took a part of 1000 seconds
    assert "annealing" in {one.method for one in long.tried}


@pytest.mark.parametrize("limit", [None, "1MiB"])
def test_what_ctrl_c_cut_short_is_searched_again(limit: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    interrupts, searched = [True, True, False], [0]

    def interrupted(*arguments: Any) -> Any:
        path, sliced, found = search_checked(*arguments)
        searched[0] += 1
        stopped = "interrupted" if interrupts[searched[0] - 1] else "seconds"
        return path, sliced, found._replace(made=found.record._replace(stopped=stopped))

    monkeypatch.setattr(optimizers, "search_checked", interrupted)
    x = tr.ones((2, 3, 2, 3))
    options: dict[str, Any] = {"seconds": 0.0625, "memory_limit": limit}
    calls: list[Callable[[], Any]] = [
        lambda: plan("abcd,cdef,efgh,gbah->", x, x, x, x, **options).search,
        lambda: einsum("abcd,cdef,efgh,gbah->", x, x, x, x, **options),
    ]
    for call in calls:
        plan_cache.clear()
        binding_cache.clear()
        searched[0] = 0
        seen = []
        for _ in range(5):
            call()
            seen.append(searched[0])
        assert seen == [1, 2, 3, 3, 3]


@needs_native
@pytest.mark.usefixtures("sigint_interrupts")
def test_ctrl_c_goes_through_a_search_by_count() -> None:
    problem = regular_graph(200, 3, 6)
    timer = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        search(problem, FLOPS, Budget(rotations=10**11))
    timer.join()


@needs_native
def test_other_errors_of_signal_handlers_go_through() -> None:
    def complain(*_: object) -> None:
        raise RuntimeError("from the handler")

    before = signal.signal(signal.SIGUSR1, complain)
    try:
        timer = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGUSR1))
        timer.start()
        with pytest.raises(RuntimeError, match="from the handler"):
            search(regular_graph(60, 3, 6), FLOPS, Budget(seconds=60))
        timer.join()
    finally:
        signal.signal(signal.SIGUSR1, before)


@needs_native
def test_other_threads_run_while_it_searches() -> None:
    begun, counted = time.perf_counter(), []
    searching = threading.Thread(target=search, args=(lattice(10, 10), FLOPS, Budget(seconds=0.5)))
    searching.start()
    while searching.is_alive():
        counted.append(time.perf_counter() - begun)
        time.sleep(0.005)
    assert len(counted) > 10


def test_two_thousand_operands_are_searched() -> None:
    found = search(regular_graph(2000, 3, 7), FLOPS, Budget(rotations=0))
    assert len(found.path) == 1999


@pytest.mark.parametrize(
    "budget", [Budget(), Budget(rotations=1, seconds=1.0), Budget(rotations=-1), Budget(seconds=float("nan"))]
)
def test_what_is_no_budget_is_refused(budget: Budget) -> None:
    with pytest.raises(ValueError, match="a budget is one of rotations, share and seconds"):
        search(drawn(0, 3), FLOPS, budget)
