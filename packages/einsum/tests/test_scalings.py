"""Factors that only scale: taken where they cost least, never another result, never more operations or memory."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from random import Random
from typing import Any

import numpy as np
import opt_einsum
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tensor_runtime as tr
from network_cases import Case, naive, networks, same, small_integers
from network_derivatives import environment, summed
from tensor_einsum import Plan, plan
from tensor_einsum.plans.plan import plan_cache
from tensor_einsum.steps import scalings
from tensor_runtime.algebras import MAX_PLUS, MAX_TIMES, MIN_PLUS, Semiring

FIXTURES = [HealthCheck.function_scoped_fixture]  # ``always`` holds for all examples


@pytest.fixture
def always(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Look for scalings in every network, however small."""
    plan_cache.clear()
    monkeypatch.setattr(scalings, "WORTH_A_LOOK", 0)
    yield
    plan_cache.clear()


def as_given(monkeypatch: pytest.MonkeyPatch, *arguments: Any, **options: Any) -> Plan:
    """The plan that executes its path as it was given."""
    with monkeypatch.context() as patch:
        patch.setattr(scalings, "WORTH_A_LOOK", 1 << 80)
        plan_cache.clear()
        found = plan(*arguments, **options)
        assert found.steps  # made when they are first read
    plan_cache.clear()
    return found


FROM_THE_LEFT = ((0, 1), (0, 1)), ((0, 1), (0, 2), (0, 1)), ((0, 1), (0, 3), (0, 2), (0, 1))
"""The first two, then what is left with the next, whose results go to the end."""


@pytest.mark.parametrize(
    ("notation", "shapes", "pairs"),
    [
        ("ij,jk,i->ik", ((300, 20), (20, 400), (300,)), [{2, 0}, {3, 1}]),  # an operand of the large product
        (
            "ij,jk,ik,ik,kl->il",
            ((300, 20), (20, 400), (300, 400), (300, 400), (400, 2)),
            None,
        ),  # nothing has all labels
        ("ij,jk,k,kl->il", ((300, 90), (90, 400), (400,), (400, 2)), [{0, 1}, {2, 3}, {4, 5}]),  # what comes later
        ("ijk,i,jk->i", ((40, 50, 60), (40,), (50, 60)), [{0, 2}, {1, 3}]),  # the result
        ("ijk,ij,ij->ijk", ((40, 50, 60), (40, 50), (40, 50)), [{1, 2}, {0, 3}]),  # one factor another
        ("ijk,k,i->ijk", ((40, 50, 60), (60,), (40,)), None),  # nowhere but to the operand
    ],
)
def test_a_factor_multiplies_the_least_that_has_its_labels(
    notation: str, shapes: tuple[tuple[int, ...], ...], pairs: list[set[int]] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = FROM_THE_LEFT[len(shapes) - 3]
    before = as_given(monkeypatch, notation, *shapes, optimize=path)
    found = plan(notation, *shapes, optimize=path)
    arrays = [small_integers(np.random.default_rng(at), shape, "int64") for at, shape in enumerate(shapes)]

    assert found.path == path
    if pairs is None:
        assert found.steps == before.steps
    else:
        assert [{*step.operands} for step in found.steps] == pairs
        assert found.flops < before.flops
    result = plan(notation, *shapes, dtype="I64", optimize=path)(*map(tr.tensor, arrays))
    assert np.array_equal(result.to_numpy(), np.einsum(notation, *arrays, optimize="greedy"))


def test_a_factor_stays_away_from_where_it_would_take_more_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    notation, shapes, path = "ij,jk,k,kl->il", ((1000, 200), (200, 20), (20,), (20, 100)), FROM_THE_LEFT[1]
    before = as_given(monkeypatch, notation, *shapes, optimize=path)
    found = plan(notation, *shapes, optimize=path)

    # Beside [i, k] and [i, l] there is room for no copy of [k, l]; [j, k] is larger, and multiplied while there is.
    assert before.intermediate_bytes == (1000 * 20 + 1000 * 100) * 8
    assert [{*step.operands} for step in found.steps] == [{1, 2}, {0, 4}, {3, 5}]
    assert found.intermediate_bytes == before.intermediate_bytes
    assert found.flops == before.flops - 1000 * 20 + 200 * 20


def test_small_contractions_are_executed_as_given() -> None:
    found = plan("ij,jk,i->ik", (3, 4), (4, 5), (3,), optimize=[(0, 1), (0, 1)])

    assert [{*step.operands} for step in found.steps] == [{0, 1}, {2, 3}]


def test_steps_follow_from_the_path_that_was_given_however_a_plan_came_about() -> None:
    found = plan("ij,jk,i->ik", (300, 20), (20, 400), (300,), optimize=FROM_THE_LEFT[0])
    expected = [{2, 0}, {3, 1}]

    assert [{*step.operands} for step in found.steps] == expected
    for other in (
        plan("ij,jk,i->ik", *found.shapes, optimize=found.path),
        Plan.from_json(found.to_json()),
        pickle.loads(pickle.dumps(found)),
        found.reuse(*found.shapes),
        found.with_slices({"j": 5}).with_slices({"j": 20}),
    ):
        assert other == found
        assert other.steps == found.steps
        assert (other.flops, other.opt_einsum_flops) == (found.flops, found.opt_einsum_flops)


def test_a_table_shows_what_is_executed() -> None:
    found = plan("ij,jk,i->ik", (300, 20), (20, 400), (300,), optimize=FROM_THE_LEFT[0])
    rows = [line.split()[:4] for line in found.table().splitlines()[-2:]]

    assert [{*row[1:3]} for row in rows] == [{"0", "2"}, {"1", "3"}]
    assert f"{300 * 20 + 2 * 300 * 20 * 400}"[:3] in found.table().replace(".", "")


def drawn(seed: int) -> tuple[str, list[tuple[int, ...]], list[tuple[int, int]]]:
    """Large factors and small ones with some of their labels, in any order of contraction."""
    draw = Random(seed)
    names, extents = "abcdefg", {label: draw.choice((2, 3, 4, 6)) for label in "abcdefg"}
    terms = ["".join(draw.sample(names, draw.choice((1, 1, 2, 2, 3, 4, 5)))) for _ in range(draw.randint(3, 8))]
    used = sorted(set("".join(terms)))
    output = "".join(draw.sample(used, draw.randint(0, min(5, len(used)))))
    path = []
    for left in range(len(terms), 1, -1):
        first, second = draw.sample(range(left), 2)
        path.append((first, second))
    return f"{','.join(terms)}->{output}", [tuple(extents[label] for label in term) for term in terms], path


def test_neither_operations_nor_memory_grow_and_the_path_is_counted_as_given(
    always: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    changed = fewer = 0
    for seed in range(400):
        notation, shapes, path = drawn(seed)
        before = as_given(monkeypatch, notation, *shapes, optimize=path)
        found = plan(notation, *shapes, optimize=path)
        info = opt_einsum.contract_path(notation, *shapes, shapes=True, optimize=path)[1]
        assert found.path == before.path == tuple(path)
        assert found.flops <= before.flops
        assert found.intermediate_bytes <= before.intermediate_bytes
        assert found.opt_einsum_flops == before.opt_einsum_flops == int(info.opt_cost)
        assert len([1 for step in found.steps if len(step.operands) == 2]) == len(shapes) - 1
        assert found.steps[-1].output == found.output
        changed += [step.operands for step in found.steps] != [step.operands for step in before.steps]
        fewer += found.flops < before.flops
    assert changed >= fewer > 60


def test_drawn_networks_give_the_same_exact_integers_whole_and_in_slices(always: None) -> None:
    rng = np.random.default_rng(7)
    for seed in range(120):
        notation, shapes, path = drawn(seed)
        arrays = [small_integers(rng, shape, "int64") for shape in shapes]
        expected = np.einsum(notation, *arrays, optimize="greedy")
        whole = plan(notation, *shapes, dtype="I64", optimize=path)
        names = list(whole.names)
        for cut in ({}, {names[0]: 1}, {names[-1]: 2, names[0]: 1}, dict.fromkeys(names[:3], 2)):
            found = whole.with_slices(cut)
            assert np.array_equal(found(*map(tr.tensor, arrays)).to_numpy(), expected), (notation, path, cut)


def test_slices_never_do_more_than_the_path_that_was_given(always: None, monkeypatch: pytest.MonkeyPatch) -> None:
    fewer = 0
    for seed in range(150):
        notation, shapes, path = drawn(seed)
        before = as_given(monkeypatch, notation, *shapes, optimize=path)
        names = before.names
        for cut in ({names[0]: 1}, {names[-1]: 2, names[0]: 1}):
            with monkeypatch.context() as patch:
                patch.setattr(scalings, "WORTH_A_LOOK", 1 << 80)
                plain = before.with_slices(cut)
            found = before.with_slices(cut)
            assert found.flops <= plain.flops
            assert found.intermediate_bytes <= plain.intermediate_bytes
            assert found.opt_einsum_flops == plain.opt_einsum_flops
            fewer += found.flops < plain.flops
    assert fewer > 20


@settings(suppress_health_check=FIXTURES)
@given(case=networks(max_operands=8))
def test_any_network_along_any_path_gives_the_definition(always: None, case: Case) -> None:
    assert same(case.plan(*case.tensors), naive(case))


@settings(suppress_health_check=FIXTURES)
@given(
    case=networks(max_operands=7, dtypes=("float64", "float32")),
    algebra=st.sampled_from((MAX_PLUS, MIN_PLUS, MAX_TIMES)),
)
def test_so_it_does_in_other_algebras(always: None, case: Case, algebra: Semiring) -> None:
    case = (case.magnitudes if algebra is MAX_TIMES else case)._replace(output="".join(dict.fromkeys(case.output)))
    shape = tuple(case.extents[label] for label in case.output)
    expected = summed(case, case.factors, case.output, shape, algebra)

    assert np.array_equal(case.planned(algebra=algebra)(*case.tensors).to_numpy(), expected)


@settings(suppress_health_check=FIXTURES)
@given(case=networks(max_operands=7, dtypes=("complex128", "complex64")), data=st.data())
def test_conjugated_operands_stay_conjugated(always: None, case: Case, data: st.DataObject) -> None:
    conj = data.draw(st.lists(st.integers(0, len(case.inputs) - 1), unique=True))
    arrays = tuple(array.conj() if at in conj else array for at, array in enumerate(case.arrays))

    assert same(case.planned(conj=conj)(*case.tensors), naive(case._replace(arrays=arrays)))


@settings(suppress_health_check=FIXTURES)
@given(case=networks())
def test_environments_are_the_definition(always: None, case: Case) -> None:
    for operand, found in enumerate(case.plan.environments(*case.tensors)):
        assert same(found, environment(case, operand)), (case.notation, operand)


def test_a_batch_of_one_factor_is_mapped_along_the_same_path() -> None:
    rng = np.random.default_rng(0)
    shapes = (300, 20), (20, 400), (300,)
    a, b, many = (small_integers(rng, shape, "int64") for shape in (*shapes[:2], (5, 300)))
    found = plan("ij,jk,i->ik", *shapes, dtype="I64", optimize=FROM_THE_LEFT[0])
    mapped = found.map([tr.tensor(a), tr.tensor(b), tr.tensor(many)], axis={2: 0}).to_numpy()

    assert np.array_equal(mapped, np.einsum("ij,jk,bi->ikb", a, b, many))
