"""The time of a plan under a memory limit: the search ends before, and what follows makes do with what time is left."""

from __future__ import annotations

from itertools import chain, pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensor_einsum import MemoryLimitError, Plan, plan
from tensor_einsum.search.deadline import Deadline
from tensor_einsum.search.options import SearchOptions
from tensor_einsum.search.problem import Problem
from tensor_einsum.slices import finder
from tensor_einsum.slices.limit import plan_within
from tensor_einsum.slices.model import Model
from tensor_einsum.slices.needs import usual_forms
from tensor_einsum.testing.networks import drawn, lattice, regular_graph


class Clock:
    """A time that goes on when it is told to."""

    def __init__(self) -> None:
        self.time = 0.0

    def __call__(self) -> float:
        return self.time


def planned(network: Problem, **keywords: Any) -> Plan:
    shapes = [tuple(network.extents[label] for label in term) for term in network.inputs]
    return plan(*chain(*zip(shapes, network.inputs, strict=True)), network.output, **keywords)


def in_time() -> bool:
    return False


def too_late() -> bool:
    return True


def model_of(whole: Plan) -> Model:
    return Model(whole._network, whole.steps, 8, [0.0] * len(whole.steps))


def test_a_search_and_the_choice_of_cuts_leave_time_for_what_follows() -> None:
    clock = Clock()
    deadline = Deadline(2.0, 500, now=clock)
    searched = deadline.search_seconds()
    assert searched is not None and 1 < searched < 2
    clock.time = searched
    assert not deadline.is_late()
    assert (deadline.search_seconds() or 1) < 0.01  # a second search has next to nothing
    clock.time = (searched + 2) / 2
    assert deadline.is_late()


@pytest.mark.parametrize("seconds", [1e-9, 0.01, 1.0])
def test_a_search_has_half_of_a_short_time(seconds: float) -> None:
    searched = Deadline(seconds, 100_000, now=Clock()).search_seconds()
    assert searched == pytest.approx(max(seconds / 2, 1e-3))


@pytest.mark.parametrize("share", [2, 20, 200])
def test_cuts_of_a_choice_that_is_late_keep_the_limit(share: int) -> None:
    whole = planned(regular_graph(60, 3, 4), optimize="greedy")
    limit = whole.intermediate_bytes // share
    model = model_of(whole)
    late, unhurried = finder.find_cuts(model, limit, late=too_late), finder.find_cuts(model, limit, late=in_time)

    assert late is not None and unhurried is not None
    assert model.peak(dict(late)) <= limit
    assert model.flops(dict(unhurried)) <= model.flops(dict(late))


def test_a_choice_that_is_late_tries_once(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = planned(lattice(6, 6), optimize="greedy")
    tries = [0]
    descend = finder._descend

    def counted(*given: Any) -> Any:
        tries[0] += 1
        return descend(*given)

    monkeypatch.setattr(finder, "_descend", counted)
    for late, fewest, most in ((too_late, 1, 1), (in_time, 2, 6)):
        tries[0] = 0
        finder.find_cuts(model_of(whole), whole.intermediate_bytes // 4, late=late)
        assert fewest <= tries[0] <= most


def test_all_searches_before_a_refusal_share_the_time() -> None:
    whole = planned(lattice(4, 4), optimize="greedy")
    asked: list[float] = []

    def make(options: SearchOptions) -> Plan:
        assert options.seconds is not None
        asked.append(options.seconds)
        return whole

    with pytest.raises(MemoryLimitError):
        plan_within(make, SearchOptions(seconds=0.3, limit=0), usual_forms(whole))
    assert len(asked) == 3
    assert asked[0] < 0.3
    assert all(later < sooner for sooner, later in pairwise(asked))


def test_without_a_time_searches_have_none() -> None:
    whole = planned(lattice(3, 3), optimize="greedy")
    asked: list[float | None] = []

    def make(options: SearchOptions) -> Plan:
        asked.append(options.seconds)
        return whole

    with pytest.raises(MemoryLimitError):
        plan_within(make, SearchOptions(limit=0), usual_forms(whole))
    assert asked == [None, None, None]


@given(st.integers(0, 2**32), st.integers(2, 9), st.data())
def test_flops_with_one_cut_more_or_fewer_are_those_of_the_cuts(seed: int, operands: int, data: st.DataObject) -> None:
    whole = planned(drawn(seed, operands), optimize="greedy")
    model = model_of(whole)
    labels = [label for label, extent in enumerate(whole.extents) if extent > 1]
    cut = [label for label in labels if data.draw(st.booleans())]
    parts = dict.fromkeys(cut, 1)
    others = [label for label in labels if label not in cut]

    assert model.flops_with(parts, others) == {label: model.flops({**parts, label: 1}) for label in others}
    fewer = model.flops_without(parts)
    assert fewer.keys() == parts.keys()
    for label in cut:  # a step whose operands sum by themselves has flops that its cuts divide with a rest
        exact = model.flops({one: 1 for one in cut if one != label})
        assert abs(fewer[label] - exact) <= exact


@given(st.integers(0, 2**32), st.integers(2, 9), st.data())
def test_no_peak_is_below_what_one_step_writes_and_reads(seed: int, operands: int, data: st.DataObject) -> None:
    whole = planned(drawn(seed, operands), optimize="greedy")
    model = model_of(whole)
    parts = {
        label: data.draw(st.integers(1, extent - 1))
        for label, extent in enumerate(whole.extents)
        if extent > 1 and data.draw(st.booleans())
    }
    assert model.least(model.sizes(parts), range(len(whole.steps))) <= model.peak(parts)
