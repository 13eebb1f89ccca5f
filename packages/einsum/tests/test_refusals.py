"""Limits that no slices keep: refused in time, with one that was found to be kept, or with what stands in its way."""

from __future__ import annotations

from itertools import chain, combinations
from time import process_time
from typing import Any

import pytest

from tensor_core import F64
from tensor_core.errors import OutOfMemoryError
from tensor_einsum import MemoryLimitError, Plan, native, plan
from tensor_einsum.plans.plan import make_plan
from tensor_einsum.search.deadline import Deadline
from tensor_einsum.search.options import SearchOptions
from tensor_einsum.search.problem import Problem
from tensor_einsum.slices import smallest
from tensor_einsum.slices.finder import find_cuts, find_least, is_worth
from tensor_einsum.slices.keeping import model_of
from tensor_einsum.slices.limit import plan_within
from tensor_einsum.slices.model import Model
from tensor_einsum.slices.needs import usual_forms
from tensor_einsum.slices.smallest import find_smallest
from tensor_einsum.testing.networks import lattice, regular_graph

needs_native = pytest.mark.skipif(not native.AVAILABLE, reason="the search in Python alone finds other orders")


def operands(network: Problem) -> list[Any]:
    shapes = [tuple(network.extents[label] for label in term) for term in network.inputs]
    return [*chain(*zip(shapes, network.inputs, strict=True)), network.output]


def complete(nodes: int, extent: int) -> list[Any]:
    edges = {pair: label for label, pair in enumerate(combinations(range(nodes), 2))}
    terms = [tuple(edges[min(one, other), max(one, other)] for other in range(nodes) if other != one)
             for one in range(nodes)]  # fmt: skip
    return [*chain(*[((extent,) * len(term), term) for term in terms]), ()]


def cube(side: int, extent: int) -> list[Any]:
    edges: dict[Any, int] = {}
    parts: list[Any] = []
    for place in range(side**3):
        where = [place // side**axis % side for axis in range(3)]
        term = []
        for axis in range(3):
            if where[axis] + 1 < side:
                term.append(edges.setdefault((place, axis), len(edges)))
            if where[axis]:
                term.append(edges.setdefault((place - side**axis, axis), len(edges)))
        parts += [(extent,) * len(term), tuple(term)]
    return [*parts, ()]


@needs_native
@pytest.mark.parametrize(("network", "limit"), [
    (cube(7, 3), 1 << 20), (operands(lattice(20, 20)), 100), (complete(30, 2), 1 << 30),
    (operands(regular_graph(300, 3, 1)._replace(extents=(8,) * 450)), 1 << 30),
], ids=["cube", "lattice", "complete", "regular"])  # fmt: skip
def test_planning_under_a_limit_ends_soon_after_its_time(network: list[Any], limit: int) -> None:
    begun = process_time()
    try:
        peak = plan(*network, seconds=0.5, memory_limit=limit).peak_bytes
    except MemoryLimitError as refused:
        assert "take at most 2^40 times its work" in str(refused)
    else:
        assert peak <= limit
    assert process_time() - begun < 10  # as long as some machine may take; it was 15 seconds to many minutes


@needs_native
@pytest.mark.parametrize("limit", [48, 100, 150])
def test_the_smallest_limit_of_many_operands_is_small_and_works(limit: int) -> None:
    parts = operands(lattice(9, 9))
    source, shapes = (tuple(parts[1:-1:2]), parts[-1]), tuple(parts[:-1:2])
    forms = usual_forms(plan(*parts, optimize="greedy"))

    def make(options: SearchOptions) -> Plan:
        quick = options._replace(most_rotations=min(options.most_rotations, 200_000))
        return make_plan("plan", source, shapes, [F64] * len(shapes), quick)

    with pytest.raises(MemoryLimitError, match="bytes or more, which are enough; a smaller limit may work") as caught:
        plan_within(make, SearchOptions(limit=limit // 3), forms)
    smallest: Any = caught.value.smallest
    assert smallest <= 200
    assert plan_within(make, SearchOptions(limit=smallest), forms).peak_bytes <= smallest


def planned(network: list[Any]) -> Plan:
    return plan(*network, optimize="greedy")


def test_the_smallest_limit_of_a_path_does_not_depend_on_the_run() -> None:
    found = planned(operands(lattice(10, 10)))
    forms = usual_forms(found)
    first, second = (find_smallest(found, forms) for _ in range(2))
    assert first == second and not first.exact and first.fits
    assert is_worth(found.flops, first.plan.flops)
    assert first.plan.peak_bytes == first.bytes < found.peak_bytes // 100


def test_labels_are_cut_as_far_as_it_is_worth_the_work() -> None:
    found = planned(operands(regular_graph(80, 3, 5)))
    model = model_of(found, shared=True)
    cuts, fewest = find_least(model)
    assert fewest <= model.peak(dict(cuts)) < model.peak({})
    assert is_worth(model.flops({}), model.flops(dict(cuts)))
    assert find_cuts(model, fewest - 1) is None


@pytest.mark.parametrize("parts", [3, 30])
def test_cuts_of_a_choice_that_is_over_keep_the_limit_at_once(parts: int) -> None:
    model = model_of(planned(operands(regular_graph(60, 3, 4))), shared=True)
    limit, before = model.peak({}) // parts, model.looked
    cuts = find_cuts(model, limit, late=lambda: True, over=lambda: True)
    assert cuts is not None and model.peak(dict(cuts)) <= limit
    assert model.looked - before < 100 * len(model.steps)


def test_sizes_beyond_64_bits_are_compared_by_their_leading_bits() -> None:
    found = planned(operands(regular_graph(60, 4, 4)._replace(extents=(64,) * 120)))
    model = model_of(found, shared=False)
    sizes, varies = model.sizes({}), model.varies({})
    assert max(sizes) >= 1 << 64
    labels, limit = [*range(120)], 1 << 30
    for label, seen in zip(labels, model.excesses({}, sizes, varies, labels, limit), strict=True):
        exact = sum(max(live - limit, 0) for live in model.lives({label: 1}, model.sizes({label: 1}), varies))
        if seen is not None:
            assert abs(seen - exact) <= exact >> 20


def test_the_time_of_a_refusal_ends_a_little_later() -> None:
    clock = [0.0]
    deadline = Deadline(10.0, 100, now=lambda: clock[0])
    seen = []
    for clock[0] in (9.0, 10.5, 11.6, 12.7):
        seen.append((deadline.is_late(), deadline.is_over(), deadline.is_lost()))
    assert seen == [(False,) * 3, (True, False, False), (True, True, False), (True,) * 3]
    assert not Deadline(None, 100).is_over()


def test_slices_beyond_every_address_are_refused_with_the_rule() -> None:
    network = operands(regular_graph(40, 4, 3)._replace(extents=(10_000,) * 80))
    with pytest.raises(
        OutOfMemoryError, match=r"2\^40 times its work are more than can be addressed; by sizes alone"
    ) as caught:
        plan(*network, memory_limit=4096, optimize="greedy")
    assert isinstance(caught.value, MemoryLimitError) and caught.value.__dict__["smallest"] > 4096


def test_the_smallest_limit_of_several_paths_is_said_to_be_that_of_slices_that_were_found() -> None:
    told = r"in the smallest slices that were found 'ij,jk,kl->il' still needs"
    with pytest.raises(MemoryLimitError, match=told):
        plan("ij,jk,kl->il", (9, 9), (9, 9), (9, 9), memory_limit=600)
    for options in ({"optimize": "greedy"}, {"optimize": [(0, 1), (0, 1)]}):
        with pytest.raises(MemoryLimitError, match=r"in the smallest slices 'ij,jk,kl->il' still needs"):
            plan("ij,jk,kl->il", (9, 9), (9, 9), (9, 9), memory_limit=600, **options)


def test_a_long_chain_is_refused_with_work_that_follows_its_length(monkeypatch: pytest.MonkeyPatch) -> None:
    models: list[Model] = []

    def noting(*given: Any, **named: Any) -> Model:
        models.append(model_of(*given, **named))
        return models[-1]

    monkeypatch.setattr(smallest, "model_of", noting)
    for length in (1000, 2000):
        terms = ",".join(chr(0x4E00 + k) + chr(0x4E01 + k) for k in range(length))
        found = plan(terms, *[(2, 2)] * length, optimize="greedy")
        find_smallest(found, usual_forms(found))
    assert models[1].looked < 3 * models[0].looked
