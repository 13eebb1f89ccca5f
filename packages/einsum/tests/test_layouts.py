"""Orders of the labels of intermediates: never another result, never dearer by the model, the same in every run."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from itertools import permutations
from random import Random
from statistics import geometric_mean

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tensor_runtime as tr
from network_cases import Case, cases, naive, networks, same, small_integers
from network_derivatives import environment
from tensor_einsum import Plan, native, plan
from tensor_einsum.notation.network import Labels
from tensor_einsum.plans.plan import plan_cache
from tensor_einsum.search.path import to_ids
from tensor_einsum.steps import layouts
from tensor_einsum.steps.steps import Step, build_steps

pytestmark = pytest.mark.skipif(not native.AVAILABLE, reason="orders are chosen by the extension")
FIXTURES = [HealthCheck.function_scoped_fixture]  # ``always`` holds for all examples

HYPER_EDGES = "bf,gahdeif,dcjbhiea,jgce->diaj", ((8, 5), (4, 5, 4, 5, 3, 8, 5), (5, 4, 8, 8, 4, 8, 3, 5), (8, 4, 4, 3))
"""A matrix that acts on a large operand: the usual order moves all of its labels behind the new one."""
PATH = [(0, 1), (0, 2), (0, 1)]


@pytest.fixture
def always(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Look at every step of every network, however small."""
    plan_cache.clear()
    monkeypatch.setattr(layouts, "_WORTH_A_LOOK", 0)
    monkeypatch.setattr(layouts, "_WORTH_A_STEP", 1e-9)
    yield
    plan_cache.clear()


def usually(found: Plan, monkeypatch: pytest.MonkeyPatch) -> tuple[Step, ...]:
    """The plan's steps in their usual orders."""
    with monkeypatch.context() as patch:
        patch.setattr(native, "AVAILABLE", False)
        return build_steps(found._network, to_ids(found.path, len(found.inputs)), 8, found.conj)


def estimated(found: Plan, steps: tuple[Step, ...]) -> float:
    """Nanoseconds by the model that orders are chosen by."""
    extents = tuple(map(float, found.extents))
    return sum(
        native.LIBRARY.product_cost(extents, *step.inputs, step.output) for step in steps if len(step.inputs) == 2
    )


def test_a_large_operand_keeps_its_order_where_a_small_one_acts_on_it(monkeypatch: pytest.MonkeyPatch) -> None:
    found = plan(HYPER_EDGES[0], *HYPER_EDGES[1], optimize=PATH)

    assert usually(found, monkeypatch)[0].subscripts == "bf,gahdeif->bgahdei"
    assert found.steps[0].subscripts == "bf,gahdeif->gahdeib"
    assert found.steps[2].output == found.output


def test_networks_in_other_orders_give_the_same_exact_integers(monkeypatch: pytest.MonkeyPatch, always: None) -> None:
    rng = np.random.default_rng(3)
    changed = 0
    for seed in range(40):
        found = drawn_plan(seed, 4)
        arrays = [tr.tensor(small_integers(rng, shape, "int64")) for shape in found.shapes]
        before = usually(found, monkeypatch)
        changed += before != found.steps
        ours = plan(found.notation, *found.shapes, dtype="I64", optimize=found.path)
        plan_cache.clear()
        with monkeypatch.context() as patch:
            patch.setattr(native, "AVAILABLE", False)
            expected = plan(found.notation, *found.shapes, dtype="I64", optimize=found.path)
            assert expected.steps == before  # made when they are first read
        plan_cache.clear()
        assert ours.steps == found.steps
        assert np.array_equal(ours(*arrays).to_numpy(), expected(*arrays).to_numpy())
    assert changed > 3


@settings(suppress_health_check=FIXTURES)
@given(case=cases())
def test_any_network_gives_the_definition_when_every_step_is_looked_at(always: None, case: Case) -> None:
    assert same(plan(case.notation, *case.tensors)(*case.tensors), naive(case))


@settings(suppress_health_check=FIXTURES)
@given(case=cases(), data=st.data())
def test_slices_of_uneven_parts_share_intermediates_in_one_order(always: None, case: Case, data: st.DataObject) -> None:
    whole = plan(case.notation, *case.tensors)
    labels = data.draw(st.lists(st.sampled_from(whole.names), unique=True, max_size=4)) if whole.names else []
    sliced = whole.with_slices({label: data.draw(st.integers(1, 4)) for label in labels})

    assert same(sliced(*case.tensors), naive(case))


@settings(suppress_health_check=FIXTURES)
@given(case=networks())
def test_environments_are_the_definition_in_any_orders(always: None, case: Case) -> None:
    for operand, found in enumerate(case.plan.environments(*case.tensors)):
        assert same(found, environment(case, operand)), (case.notation, operand)


def test_short_slices_read_what_full_ones_left_in_its_order() -> None:
    whole = plan(HYPER_EDGES[0], *HYPER_EDGES[1], dtype="I64", optimize=PATH)
    rng = np.random.default_rng(1)
    arrays = [tr.tensor(small_integers(rng, shape, "int64")) for shape in whole.shapes]
    expected = whole(*arrays).to_numpy()

    for label in whole.names:
        for part in (1, 2, 3):
            assert np.array_equal(whole.with_slices({label: part})(*arrays).to_numpy(), expected), (label, part)


def test_steps_for_other_extents_take_the_orders_of_those_they_are_like() -> None:
    found = plan(HYPER_EDGES[0], *HYPER_EDGES[1], optimize=PATH)
    small = found.reuse(*[(2,) * len(shape) for shape in found.shapes])
    path = to_ids(found.path, len(found.inputs))

    like = build_steps(small._network, path, 8, (), found.steps)

    assert [step.output for step in like] == [step.output for step in found.steps]
    assert [step.output for step in small.steps] != [step.output for step in found.steps]
    assert all(step.shape == (2,) * len(step.output) for step in like)
    assert sum(step.flops for step in like) == small.flops


def test_equal_plans_have_equal_steps_however_they_came_about() -> None:
    found = plan(HYPER_EDGES[0], *HYPER_EDGES[1], optimize=PATH)

    for other in (
        plan(HYPER_EDGES[0], *HYPER_EDGES[1], optimize=found.path),
        Plan.from_json(found.to_json()),
        pickle.loads(pickle.dumps(found)),
        found.reuse(*found.shapes),
        found.with_slices({"c": 2}).with_slices({"c": 4}),
    ):
        assert other == found
        assert other.steps == found.steps


def test_orders_are_those_of_one_run_in_every_other() -> None:
    for seed in range(40):
        found = drawn_plan(seed, 6)
        first = layouts.chosen_orders(found._network, found.steps)
        assert all(layouts.chosen_orders(found._network, found.steps) == first for _ in range(3))


@pytest.mark.parametrize("operands", [3, 5, 9])
def test_chosen_orders_have_the_same_labels_and_never_cost_more(
    monkeypatch: pytest.MonkeyPatch, always: None, operands: int
) -> None:
    changed = 0
    for seed in range(60):
        found = drawn_plan(seed, operands)
        before = usually(found, monkeypatch)
        assert found.steps[-1].output == found.output
        assert [sorted(step.output) for step in found.steps] == [sorted(step.output) for step in before]
        assert [(step.kind, step.operands, step.flops, step.bytes) for step in found.steps] == [
            (step.kind, step.operands, step.flops, step.bytes) for step in before
        ]
        assert all(step.shape == tuple(found.extents[label] for label in step.output) for step in found.steps)
        if found.steps != before:
            changed += 1
            assert estimated(found, found.steps) < estimated(found, before)
    assert changed > 0


def test_what_is_chosen_for_one_intermediate_is_close_to_the_best_of_all_orders(
    monkeypatch: pytest.MonkeyPatch, always: None
) -> None:
    ratios = []
    for seed in range(400):
        found = drawn_plan(seed, 3)
        if len(found.steps) != 2 or len(found.steps[0].output) > 6 or found.steps == usually(found, monkeypatch):
            continue
        first, second = found.steps

        def cost(order: Labels, first: Step = first, second: Step = second, found: Plan = found) -> float:
            inputs = [order if slot == 3 else found.inputs[slot] for slot in second.operands]
            return estimated(found, (first._replace(output=order), second._replace(inputs=tuple(inputs))))

        ratios.append(cost(first.output) / min(map(cost, permutations(first.output))))
    assert len(ratios) > 20
    assert geometric_mean(ratios) < 1.1
    assert max(ratios) < 1.5


def test_small_networks_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def asked(*_: object) -> None:
        raise AssertionError

    class Library:
        layouts = asked
        read_plain = native.LIBRARY.read_plain
        build_steps = native.LIBRARY.build_steps

    monkeypatch.setattr(native, "LIBRARY", Library)
    plan_cache.clear()

    assert plan("ij,jk,kl->il", (4, 4), (4, 4), (4, 4), optimize=False).steps
    with pytest.raises(AssertionError):
        _ = plan("ij,jk,kl->il", (400, 400), (400, 400), (400, 400), optimize=False).steps


def test_extents_beyond_any_number_leave_the_usual_orders() -> None:
    names = [chr(0x100 + number) for number in range(40)]
    terms = [f"{one}{other}" for one, other in zip(names[::2], names[1::2], strict=True)]
    found = plan(f"{','.join(terms)}->{''.join(names)}", *[(10**9, 10**9)] * 20, optimize=[(0, 1)] * 19)

    assert layouts.chosen_orders(found._network, found.steps) is None


@pytest.mark.parametrize(
    "arguments",
    [
        ((2,), ((0, 1),), [(0, -1, (0,))], 1.0),
        ((2, 2), ((0, 1),), [(1, -1, (0,))], 1.0),
        ((2, 2), ((0, 1),), [(0, 1, (0,))], 1.0),
        ((2, 2), ([0, 1],), [(0, -1, (0,))], 1.0),
        ((2, 2), ((0, 1),), [0], 1.0),
        ((2, "2"), ((0, 1),), [(0, -1, (0,))], 1.0),
    ],
)
def test_the_extension_refuses_labels_and_steps_that_are_not_there(arguments: tuple[object, ...]) -> None:
    with pytest.raises((TypeError, ValueError)):
        native.LIBRARY.layouts(*arguments)  # type: ignore[arg-type]


def drawn_plan(seed: int, operands: int) -> Plan:
    """A network with hyper-edges and intermediates of up to a million elements, contracted from left to right."""
    draw = Random(seed)
    while True:
        terms: list[list[int]] = [[] for _ in range(operands)]
        extents = []
        for label in range(draw.randint(6, 11)):
            for term in draw.sample(terms, draw.choice((2, 2, 2, 3))):
                term.append(label)
            extents.append(draw.choice((2, 3, 4, 5, 8)))
        for term in terms:
            draw.shuffle(term)
        output = [label for label in range(len(extents)) if draw.random() < 0.35]
        draw.shuffle(output)
        shapes = [tuple(extents[label] for label in term) for term in terms]
        written = ["".join(chr(97 + label) for label in term) for term in (*terms, output)]
        found = plan(f"{','.join(written[:-1])}->{written[-1]}", *shapes, optimize="greedy")
        if all(terms) and max(*[np.prod(shape) for shape in shapes], found.largest_intermediate) < 10**6:
            return found
