"""Searches under a limit of live elements: labels are sliced until it is kept, and no more than that."""

from __future__ import annotations

import os
import subprocess
import sys
from math import log2
from statistics import fmean

import pytest

from tensor_einsum import native
from tensor_einsum.search.engine import search
from tensor_einsum.search.measure import measure
from tensor_einsum.search.problem import Budget, Objective, Problem, SearchRecord
from tensor_einsum.testing.networks import brickwork, drawn, lattice, regular_graph

FLOPS = Objective("flops")

needs_native = pytest.mark.skipif(not native.AVAILABLE, reason="the native search was not built")


@pytest.mark.parametrize("minimize", ["flops", "seconds", "size"])
@pytest.mark.parametrize("bits", [6, 10, 14])
def test_the_limit_is_kept_at_the_peak(minimize: str, bits: int) -> None:
    problem = regular_graph(60, 3, 3)
    found = search(problem, Objective(minimize), Budget(rotations=300_000), largest=2**bits)  # type: ignore[arg-type]
    assert measure(problem, found.path, found.sliced).peak <= bits + 1e-9
    assert found.record.log2_peak <= bits + 1e-9


def test_nothing_is_sliced_where_the_best_tree_keeps_the_limit() -> None:
    problem = lattice(6, 6)
    free = search(problem, FLOPS, Budget(rotations=300_000))
    limited = search(problem, FLOPS, Budget(rotations=300_000), largest=round(2**free.record.log2_peak) + 1)
    assert limited.sliced == ()
    assert limited.record.log2_products <= free.record.log2_products + 0.05


def test_no_label_is_sliced_in_vain() -> None:
    problem, bits = regular_graph(60, 3, 4), 9
    found = search(problem, FLOPS, Budget(rotations=300_000), largest=2**bits)
    assert found.sliced
    assert len({*found.sliced}) == len(found.sliced)
    for label in found.sliced:
        rest = [other for other in found.sliced if other != label]
        assert measure(problem, found.path, rest).peak > bits


@needs_native
def test_slices_cost_more_the_tighter_the_limit() -> None:
    problem = regular_graph(80, 3, 5)
    costs = [
        search(problem, FLOPS, Budget(rotations=10**6), largest=2**bits).record.log2_products for bits in (6, 9, 12, 40)
    ]
    assert costs == sorted(costs, reverse=True)
    assert costs[0] > costs[-1]


@needs_native
def test_searching_with_the_limit_beats_slicing_the_best_tree_afterwards() -> None:
    problem, bits = regular_graph(120, 3, 6), 10
    free = search(problem, FLOPS, Budget(rotations=10**6))
    sliced: list[int] = []
    while measure(problem, free.path, sliced).peak > bits:
        others = [label for label in range(len(problem.extents)) if label not in sliced]
        sliced.append(min(others, key=lambda label: measure(problem, free.path, [*sliced, label])[::-1]))
    limited = search(problem, FLOPS, Budget(rotations=10**6), largest=2**bits)
    assert limited.record.log2_products < measure(problem, free.path, sliced).products - 1


@pytest.mark.slow
@needs_native
@pytest.mark.parametrize(
    ("problem", "bits"),
    [
        (regular_graph(200, 3, 7), 18),
        (regular_graph(80, 4, 8), 15),
        (regular_graph(500, 3, 9), 21),
        (lattice(18, 18), 16),
        (lattice(36, 36), 24),
    ],
    ids=["3-regular", "4-regular", "large 3-regular", "lattice", "large lattice"],
)
def test_a_share_finds_under_a_limit_what_as_many_rotations_find(problem: Problem, bits: int) -> None:
    def records(budget: Budget) -> list[SearchRecord]:
        return [search(problem, FLOPS, budget, largest=2**bits, seed=seed).record for seed in range(3)]

    share = records(Budget(share=10.0, most_rotations=2_000_000))
    count = records(Budget(rotations=2_000_000))
    assert all(1_900_000 < record.rotations < 2_100_000 for record in share)
    # Three seeds; one search of the large graph is up to 10 bits off another.
    assert fmean(one.log2_products for one in share) <= fmean(one.log2_products for one in count) + 4
    assert all(step.log2_size <= bits for record in share for step in record.history)


@pytest.mark.slow
@needs_native
@pytest.mark.parametrize(
    ("shape", "rotations", "bits", "most"),
    [
        ((28, 28), 6_000_000, 24, 49.0),
        ((36, 36), 6_000_000, 27, 68.0),
        ((45, 45), 2_000_000, 27, 82.0),  # two parts of 22 and 23 rows
        ((45, 45), 2_000_000, 24, 115.0),  # these do not fit: three parts of 15 rows
        ((6, 6, 6), 2_000_000, 23, 64.0),
    ],
)
def test_a_lattice_under_a_limit_comes_near_to_cutting_it_by_hand(
    shape: tuple[int, ...], rotations: int, bits: int, most: float
) -> None:
    problem = lattice(*shape)
    found = search(problem, FLOPS, Budget(rotations=rotations), largest=2**bits)
    assert measure(problem, found.path, found.sliced).peak <= bits + 1e-9
    assert found.record.log2_products <= most


@needs_native
def test_trees_are_sliced_while_they_are_annealed() -> None:
    # The best tree without a limit is a sweep of 2^50 multiplications, which becomes one of 2^500 when it is sliced.
    problem, bits = brickwork(60, 40), 21
    found = [search(problem, FLOPS, Budget(rotations=2 * 10**6), largest=2**bits, seed=seed) for seed in range(4)]
    assert all(measure(problem, one.path, one.sliced).peak <= bits + 1e-9 for one in found)
    assert fmean(one.record.log2_products for one in found) <= 102


def test_labels_of_the_output_may_be_sliced_and_the_whole_result_counts() -> None:
    problem = Problem(((0, 1), (1, 2), (2, 3), (3, 0)), (0,), (16, 16, 16, 16))
    found = search(problem, FLOPS, Budget(rotations=10_000), largest=100)
    assert found.sliced
    assert measure(problem, found.path, found.sliced).peak <= log2(100) + 1e-9


def test_where_the_result_alone_is_too_large_the_record_says_so() -> None:
    problem = Problem(((0, 1), (1, 2)), (0, 2), (64, 64, 64))
    record = search(problem, FLOPS, Budget(rotations=1000), largest=100).record
    assert record.log2_peak > log2(100)


def test_any_limit_ends_with_a_valid_answer() -> None:
    for seed in range(60):
        problem = drawn(seed, seed % 12 + 1)
        for largest in (1, 2, 10, 1000):
            found = search(problem, FLOPS, Budget(rotations=5000), largest=largest, seed=seed)
            found_peak = measure(problem, found.path, found.sliced).peak
            assert found_peak == found.record.log2_peak or abs(found_peak - found.record.log2_peak) < 1e-9


def test_a_limit_below_one_element_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one element"):
        search(drawn(0, 3), FLOPS, Budget(rotations=1), largest=0)


@needs_native
@pytest.mark.parametrize("seconds", [1e-9, 0.02])
@pytest.mark.parametrize(
    ("problem", "bits"), [(regular_graph(200, 3, 8), 14), (lattice(5, 5, 5), 12), (lattice(4, 4, extent=5), 9)]
)
def test_a_search_that_has_no_time_for_slices_keeps_the_limit_all_the_same(
    problem: Problem, bits: int, seconds: float
) -> None:
    found = search(problem, FLOPS, Budget(seconds=seconds), largest=2**bits, threads=1)

    assert found.sliced
    assert measure(problem, found.path, found.sliced).peak <= bits + 1e-9


SHORT_OF_MEMORY = """
import resource, sys
from tensor_core.errors import OutOfMemoryError
from tensor_einsum.search.engine import search
from tensor_einsum.search.problem import Budget, Objective
from tensor_einsum.testing.networks import regular_graph
objective, budget = Objective("flops"), Budget(rotations=100_000)
search(regular_graph(10, 3, 1), objective, budget, threads=2)
problem = regular_graph(200, 3, 1)
size = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (size + int(sys.argv[1]), resource.RLIM_INFINITY))
try:
    print("found" if search(problem, objective, budget, threads=2).path else "nothing")
except OutOfMemoryError as error:
    print(error)
"""


@needs_native
@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="the system does not tell the size of a process")
def test_a_search_ends_where_memory_does() -> None:
    said = set()
    for room in (*range(100_000, 1_700_000, 200_000), 1 << 28):
        code = [sys.executable, "-c", SHORT_OF_MEMORY, str(room)]
        said.add(subprocess.run(code, capture_output=True, text=True, check=True).stdout)
    refusal = "plan: not enough memory to search an order of 200 operands; optimize='greedy' or a path takes less"
    assert said == {"found\n", refusal + "\n"}
