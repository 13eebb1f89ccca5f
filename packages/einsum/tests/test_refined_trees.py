"""Trees that cost nearly the same: the one whose contractions sum what lies together, and the result of any other."""

from __future__ import annotations

from itertools import permutations
from math import prod
from string import ascii_lowercase

import numpy as np
import pytest

import tensor_runtime as tr
from network_cases import small_integers
from tensor_einsum import Plan, native, plan, plan_cache
from tensor_einsum.notation.network import Labels
from tensor_einsum.steps.steps import Step

pytestmark = pytest.mark.skipif(not native.AVAILABLE, reason="trees are refined by the extension")

EXTENTS = {3: 60, 4: 20, 5: 11, 6: 8}
"""By rank: of tensors that take long enough for a look at the orders of labels."""


def with_vectors(rank: int, kept: str) -> tuple[str, list[tuple[int, ...]]]:
    """A tensor and a vector for each of its labels but those that are kept, as notation and shapes."""
    labels, extent = ascii_lowercase[:rank], EXTENTS[rank]
    vectors = [label for label in labels if label not in kept]
    return f"{','.join([labels, *vectors])}->{kept}", [(extent,) * rank, *[(extent,)] * len(vectors)]


def runs_summed(step: Step, term: Labels) -> int:
    """In how many pieces of neighbours the labels lie that a step sums."""
    summed = [label not in step.output for label in term]
    return sum(here and not before for here, before in zip(summed, [False, *summed], strict=False))


def estimated(found: Plan) -> float:
    """Nanoseconds by the model of orders of labels."""
    extents = tuple(map(float, found.extents))
    return sum(
        native.LIBRARY.product_cost(extents, *step.inputs, step.output, True)
        for step in found.steps
        if len(step.inputs) == 2
    )


@pytest.mark.parametrize("rank", EXTENTS)
def test_a_tensor_and_vectors_sum_neighbours(rank: int) -> None:
    for kept in ("", *ascii_lowercase[:rank]):
        notation, shapes = with_vectors(rank, kept)
        found = plan(notation, *shapes)
        reads = [step for step in found.steps if any(len(term) == rank for term in step.inputs)]
        runs = [runs_summed(step, term) for step in reads for term in step.inputs]

        assert max(runs) == 1, (notation, [step.subscripts for step in found.steps])


def test_no_tree_of_as_many_flops_is_estimated_to_take_much_less() -> None:
    notation, shapes = with_vectors(4, "d")
    found = plan(notation, *shapes)
    others = [
        plan(notation, *shapes, optimize=[(first, second), last, (0, 1)])
        for first, second in permutations(range(4), 2)
        for last in ((0, 1), (0, 2), (1, 2))
    ]

    assert estimated(found) <= 1.05 * min(estimated(one) for one in others if one.flops <= 1.01 * found.flops)


@pytest.mark.parametrize("notation", ["abcd,a,b,c->d", "abcd,a,c->db", "abcd,d,b,ae->ec", "abc,cd,ab,d->"])
def test_values_are_those_of_other_trees(notation: str) -> None:
    terms = notation.split("->")[0].split(",")
    rng = np.random.default_rng(7)
    arrays = [small_integers(rng, (24,) * len(term), "float64") for term in terms]
    found = plan(notation, *(array.shape for array in arrays))

    ours = found(*map(tr.tensor, arrays)).to_numpy()

    assert (ours == np.einsum(notation, *arrays, optimize=True)).all()


def test_the_tree_is_the_same_whenever_it_is_made() -> None:
    notation, shapes = with_vectors(5, "")
    paths = []
    for _ in range(3):
        plan_cache.clear()
        paths.append(plan(notation, *shapes).path)

    assert len({*paths}) == 1


def test_a_limit_of_memory_is_kept() -> None:
    notation, shapes = with_vectors(5, "a")
    free = plan(notation, *shapes)
    limit = free.peak_bytes // 2

    assert plan(notation, *shapes, memory_limit=limit).peak_bytes <= limit


def test_trees_of_fewest_flops_stay_such() -> None:
    for kept in ("", "a", "b", "c", "d"):
        notation, shapes = with_vectors(4, kept)

        assert plan(notation, *shapes).flops <= 1.01 * plan(notation, *shapes, objective="flops").flops


@pytest.mark.parametrize(("near", "apart"), [("abcd,ab->cd", "abcd,ac->bd"), ("abcd,cd->ab", "abcd,ad->bc")])
def test_sums_of_neighbours_are_estimated_to_take_less(near: str, apart: str) -> None:
    shapes = (20,) * 4, (20,) * 2
    assert prod(shapes[0]) > 1 << 17  # beyond the second-level cache
    assert 1.5 * estimated(plan(near, *shapes)) < estimated(plan(apart, *shapes))
