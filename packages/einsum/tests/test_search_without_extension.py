"""The search in Python, as it is without a C compiler: slower, never wrong."""

from __future__ import annotations

from math import isclose, log2
from time import perf_counter

import pytest

from tensor_einsum import native
from tensor_einsum.search.engine import search
from tensor_einsum.search.measure import measure
from tensor_einsum.search.problem import Budget, Objective
from tensor_einsum.search.python_search import EXACT_MOST, search_in_python
from tensor_einsum.testing.networks import drawn, lattice, regular_graph
from without_extension import printed


def test_its_paths_are_valid_and_cost_what_is_reported() -> None:
    for seed in range(60):
        problem = drawn(seed, seed % 25 + 1)
        operands = len(problem.inputs)
        found = search_in_python(problem, Objective(), Budget(rotations=10**6), None, seed, perf_counter())
        assert sorted(one for pair in found.path for one in pair) == list(range(2 * operands - 2))
        assert all(a < b < operands + step for step, (a, b) in enumerate(found.path))
        counted = measure(problem, found.path)
        assert found.record[5:8] == (counted.products, counted.size, counted.peak)
        assert found.record.engine == "python"


@pytest.mark.skipif(not native.AVAILABLE, reason="the native search was not built")
@pytest.mark.parametrize("minimize", ["flops", "seconds", "size"])
def test_of_few_operands_it_finds_trees_as_good_as_the_native_search(minimize: str) -> None:
    objective, budget = Objective(minimize), Budget(rotations=10**6)  # type: ignore[arg-type]
    for seed in range(40):
        problem = drawn(seed, seed % EXACT_MOST + 1)
        ours = search_in_python(problem, objective, budget, None, 0, perf_counter()).record
        theirs = search(problem, objective, budget).record
        assert ours.stopped == theirs.stopped == "exact"
        column = {"flops": "log2_products", "seconds": "log2_seconds", "size": "log2_size"}[minimize]
        a, b = getattr(ours, column), getattr(theirs, column)
        assert a == b or isclose(a, b, abs_tol=1e-3)


def test_it_keeps_limits() -> None:
    for problem in (regular_graph(40, 3, 1), lattice(5, 5, extent=3)):
        found = search_in_python(problem, Objective("flops"), Budget(rotations=0), 100, 0, perf_counter())
        assert found.sliced
        assert measure(problem, found.path, found.sliced).peak <= log2(100) + 1e-9


def test_it_stops_in_time() -> None:
    begun = perf_counter()
    record = search_in_python(lattice(8, 8), Objective(), Budget(seconds=0.3), None, 0, begun).record
    assert record.stopped in ("seconds", "settled")


def test_several_starts_are_better_than_one() -> None:
    problem = regular_graph(60, 3, 0)
    one, several = (
        search_in_python(problem, Objective("flops"), Budget(rotations=count), None, 0, perf_counter()).record
        for count in (0, 10**7)
    )
    assert one.tried[0].times == 1 < several.tried[0].times
    assert several.log2_products < one.log2_products


def test_it_takes_the_place_of_an_extension_that_is_switched_off() -> None:
    code = (
        "from tensor_einsum.search.engine import search\n"
        "from tensor_einsum.search.problem import *\n"
        "from tensor_einsum.testing.networks import lattice\n"
        "print(search(lattice(4, 4), Objective(), Budget(rotations=100)).record.engine)\n"
    )
    assert printed(code) == "python\n"
