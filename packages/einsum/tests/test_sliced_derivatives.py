"""Environments, marginals and batches of sliced plans, exact: those of the same plan without slices."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tensor_runtime as tr
from network_cases import Case, networks, same, small_integers
from network_derivatives import environment, marginal
from tensor_core import F64
from tensor_core.errors import ArgumentError, DTypeError, ShapeError
from tensor_cpu.system.memory import pool
from tensor_einsum import ExtentError, MemoryLimitError, Plan, Progress, plan
from tensor_einsum.derivatives.sliced import kinds_of
from tensor_runtime.algebras import MAX_PLUS, MAX_TIMES, MIN_PLUS, OR_AND, PLUS_TIMES, Semiring


def cut(data: st.DataObject, found: Plan) -> Plan:
    """The plan with some labels in parts."""
    return found.with_slices({name: data.draw(st.integers(1, 3)) for name in found.names if data.draw(st.booleans())})


@given(networks(), st.data())
def test_environments_are_added_up_over_slices(case: Case, data: st.DataObject) -> None:
    found = cut(data, case.plan)

    for operand, given_back in enumerate(found.environments(*case.tensors)):
        assert same(given_back, environment(case, operand)), (case.notation, found.sliced, operand)


@given(networks(), st.data())
def test_a_cotangent_is_sliced_with_the_result(case: Case, data: st.DataObject) -> None:
    found = cut(data, case.plan)
    cotangent = small_integers(np.random.default_rng(3), found.output_shape, case.arrays[0].dtype.name)

    for operand, given_back in enumerate(found.environments(*case.tensors, cotangent=tr.tensor(cotangent))):
        assert same(given_back, environment(case, operand, cotangent)), (case.notation, found.sliced, operand)


@pytest.mark.parametrize("algebra", [PLUS_TIMES, MAX_PLUS, MIN_PLUS, MAX_TIMES, OR_AND], ids=lambda one: one.name)
@given(data=st.data())
def test_slices_are_added_as_the_algebra_does(algebra: Semiring, data: st.DataObject) -> None:
    case = data.draw(networks(dtypes=[dtype.numpy_name for dtype in algebra.accepts]))
    case = case.magnitudes if algebra is MAX_TIMES else case
    found = cut(data, case.planned(algebra=algebra))

    for operand, given_back in enumerate(found.environments(*case.tensors)):
        assert same(given_back, environment(case, operand, algebra=algebra)), (case.notation, found.sliced, operand)
    for label, given_back in found.marginals(*case.tensors).items():
        assert same(given_back, marginal(case, label, algebra)), (case.notation, found.sliced, label)


@given(networks(), st.data())
def test_limits_count_the_results_of_all_slices(case: Case, data: st.DataObject) -> None:
    found = cut(data, case.plan)
    try:
        found.environments_plan(memory_limit=0)
        limit = 0
    except MemoryLimitError as error:
        limit = error.smallest
    limit += data.draw(st.integers(0, 2000))
    sweep = found.environments_plan(memory_limit=limit)

    assert sweep.peak_bytes <= limit
    assert sweep.slices == found.slices.count
    for operand, given_back in enumerate(found.environments(*case.tensors, memory_limit=limit)):
        assert same(given_back, environment(case, operand))


@given(networks(), st.data())
def test_batches_go_through_slices(case: Case, data: st.DataObject) -> None:
    found = cut(data, case.plan)
    arrays = list(case.arrays)
    arrays[0] = np.stack([arrays[0], np.zeros_like(arrays[0]), arrays[0]], axis=-1)
    tensors = list(map(tr.tensor, arrays))
    once = found(*case.tensors).to_numpy()
    expected = np.stack([once, np.zeros_like(once), once], axis=-1)
    try:
        in_parts = found.map(tensors, {0: -1}, memory_limit=0)
    except MemoryLimitError as error:
        in_parts = found.map(tensors, {0: -1}, memory_limit=error.smallest)

    assert same(found.map(tensors, {0: -1}), expected)
    assert same(in_parts, expected)


def test_slices_stay_with_other_inputs() -> None:
    found = plan("ij,jk->ik", (4, 6), (6, 5)).with_slices({"j": 2, "k": 1}).reuse((4, 9), (9, 7))

    assert (found.slices.count, found.slices.labels) == (5 * 7, ("k", "j"))


def test_slices_take_less_memory_than_the_whole() -> None:
    whole = plan("ij,jk,kl,li->", *[(64, 64)] * 4)
    sliced = whole.with_slices({"i": 8})

    assert sliced.environments_plan(which=0).peak_bytes < whole.environments_plan(which=0).peak_bytes
    assert "for each of 8 slices" in str(sliced.environments_plan())
    assert repr(sliced.environments_plan()).startswith("<SweepPlan of 4 results: 8 slices, ")


def test_what_does_not_fit_a_sliced_plan_is_refused() -> None:
    a, b = tr.ones((2, 3)), tr.ones((3, 4))
    found = plan("ij,jk->ik", a, b).with_slices("j")
    with pytest.raises(ExtentError, match="this plan was made for"):
        found.environments(a, a)
    with pytest.raises(ShapeError, match="the cotangent has shape"):
        found.environments(a, b, cotangent=a)
    with pytest.raises(DTypeError, match="the cotangent is C64"):
        found.environments(a, b, cotangent=tr.ones((2, 4), dtype="C64"))
    with pytest.raises(MemoryLimitError, match="environments: the sweep needs"):
        found.environments(a, b, memory_limit="1 B")
    with pytest.raises(tr.errors.ForeignOperandError, match="environments: found list"):
        found.environments(a, [1.0])  # type: ignore[arg-type]
    assert found.environments(a, b)[0].dtype is F64


def test_a_sweep_is_planned_without_a_list_of_its_slices() -> None:
    found = plan("i,j,k->", (1000,), (1000,), (1000,)).with_slices("ijk")

    assert found.environments_plan(0).slices == 10**9
    assert plan("i->", (2**62,)).with_slices("i").environments_plan().slices == 2**62


def test_the_starts_of_slices_are_not_listed() -> None:
    found = plan("ij,j->", (2**21, 2), (2,)).with_slices("i")
    tracemalloc.start()
    sweep = found.environments_plan(which=1)
    taken = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert sweep.peak_bytes == 32
    assert taken < 1_000_000


def test_slices_follow_one_another_with_the_last_cut_running_fastest() -> None:
    found = plan("ij,jk,k->", (5, 6), (6, 7), (7,)).with_slices({"i": 2, "j": 3, "k": 4})
    cuts = [kind.starts for kind in kinds_of(found)]

    assert len(cuts) == 4
    for kind in kinds_of(found):
        starts = [tuple(part.start for part in parts.values()) for parts in kind.parts()]
        assert starts == list(product(*kind.starts))
        lengths = {tuple(part.stop - part.start for part in parts.values()) for parts in kind.parts()}
        assert lengths == {kind.lengths}


@given(networks(), st.data())
def test_the_smallest_limit_of_a_refusal_is_one_that_all_slices_keep(case: Case, data: st.DataObject) -> None:
    found = cut(data, case.plan)
    calls: list[Callable[[int], Any]] = [
        lambda limit: found.environments_plan(memory_limit=limit).peak_bytes,
        lambda limit: found.environments(*case.tensors, memory_limit=limit),
        lambda limit: found.marginals_plan(memory_limit=limit).peak_bytes,
        lambda limit: found.marginals(*case.tensors, memory_limit=limit),
    ]
    for call in calls:
        try:
            call(0)
        except MemoryLimitError as error:
            smallest: Any = error.smallest
            given_back = call(smallest)
            assert not isinstance(given_back, int) or given_back <= smallest


def test_the_peak_is_that_of_the_slices_that_take_most() -> None:
    whole = plan("h,cb,fab,ea->", (1,), (50, 5), (1, 2, 5), (4, 2))
    results = 8 * (1 + 50 + 5 + 1 + 2 + 4)
    peaks = []
    for part in (24, 40):  # kernels with the extension and without it take more for shorter slices of one of these
        shorter = whole.reuse((1,), tr.ones((50, 5))[-(50 % part) :], (1, 2, 5), (4, 2))  # it reads a view
        sliced = whole.with_slices({"c": part})
        peaks.append((sliced.marginals_plan().peak_bytes - results, shorter.marginals_plan().peak_bytes))

    assert all(peak >= other for peak, other in peaks)
    assert any(peak == other for peak, other in peaks)  # full slices, which share intermediates, take less


def test_shorter_slices_may_need_more_than_full_ones() -> None:
    a, b = tr.ones((1, 2, 2)), tr.ones((3, 2))
    found = plan("edc,fc->ed", a, b).with_slices({"c": 1, "f": 2})
    with pytest.raises(MemoryLimitError) as refused:
        found.marginals(a, b, memory_limit=0)
    marginals = found.marginals(a, b, memory_limit=refused.value.__dict__["smallest"])

    assert {label: x.to_numpy().tolist() for label, x in marginals.items()} == {
        "e": [12.0], "d": [6.0, 6.0], "c": [6.0, 6.0], "f": [4.0, 4.0, 4.0]
    }  # fmt: skip


RING = ",".join("abcdefgh"[k] + "abcdefgh"[(k + 1) % 8] for k in range(8)) + "->"
INSIDE = [(1, 2), (1, 2), (1, 2), (2, 3), (2, 3), (0, 2), (0, 1)]  # all that has no label a first
MATRICES = [tr.tensor(np.random.default_rng(k).integers(-2, 3, (12, 12)).astype(float)) for k in range(8)]


@pytest.mark.parametrize("part", [1, 4, 5])  # of an extent of 12: the last two parts of 5 are one of 2
def test_what_no_cut_label_reaches_is_computed_once(part: int) -> None:
    whole = plan(RING, *MATRICES, optimize=INSIDE)
    found = whole.with_slices({"a": part})
    sweep = found.environments_plan()
    seen: list[Progress] = []
    environments = found.environments(*MATRICES, progress=seen.append)
    steps, kinds = len(sweep.steps), 1 + (12 % part > 0)

    assert len(sweep.shared) >= 4
    once = kinds * len(sweep.shared) if part < 5 else len(sweep.shared)  # nothing is shared by the one slice of 2
    alone = found.slices.count * (steps - len(sweep.shared)) + (len(sweep.shared) if part == 5 else 0)
    assert [now.done for now in seen] == list(range(1, once + alone + 1))
    assert {now.total for now in seen} == {once + alone}
    assert seen[-1].share == 1.0 and all(a.share < b.share for a, b in pairwise(seen))
    for one, other in zip(environments, whole.environments(*MATRICES), strict=True):
        assert one.to_numpy().tolist() == other.to_numpy().tolist()
    each = sum(step.flops for step in sweep.steps)
    assert sweep.flops < found.slices.count * each
    assert f"{len(sweep.shared)} of them once" in str(sweep)


def test_slices_share_as_much_as_a_limit_allows() -> None:
    found = plan(RING, *MATRICES, optimize=INSIDE).with_slices("a")
    free = found.environments_plan()
    with pytest.raises(MemoryLimitError) as refused:
        found.environments_plan(memory_limit=0)
    smallest = refused.value.__dict__["smallest"]
    expected = [one.to_numpy().tolist() for one in found.environments(*MATRICES)]
    shared = []
    for limit in range(smallest, free.peak_bytes + 500, 500):
        sweep = found.environments_plan(memory_limit=limit)
        shared.append(len(sweep.shared))
        assert sweep.peak_bytes <= limit
        assert [one.to_numpy().tolist() for one in found.environments(*MATRICES, memory_limit=limit)] == expected

    assert shared[0] < shared[-1] == len(free.shared)


def test_what_listens_to_a_sweep_may_stop_it() -> None:
    def stop(now: Progress) -> None:
        raise KeyError(now.done)

    x = tr.ones((3, 3))
    whole = plan("ij,jk,ki->", x, x, x)
    for found in (whole, whole.with_slices("i")):
        with pytest.raises(KeyError):
            found.environments(x, x, x, progress=stop)
        with pytest.raises(KeyError):
            found.marginals(x, x, x, progress=stop)
        with pytest.raises(ArgumentError, match="environments: progress is 3; accepted: True, False, and a function"):
            found.environments(x, x, x, progress=3)  # type: ignore[arg-type]
        assert found.environments(x, x, x)[0].to_numpy().tolist() == [[9.0 / 3] * 3] * 3


def test_a_sweep_without_slices_tells_its_steps() -> None:
    seen: list[Progress] = []
    x = tr.ones((3, 3))
    found = plan("ij,jk,ki->", x, x, x)
    found.environments(x, x, x, progress=seen.append)
    found.marginals(x, x, x, labels="i", progress=seen.append)

    assert [now.done for now in seen] == [
        *range(1, len(found.environments_plan().steps) + 1),
        *range(1, len(found.marginals_plan("i").steps) + 1),
    ]


@pytest.mark.parametrize("cut", [{"a": 300}, {"b": 100}])
def test_a_slice_is_let_go_before_the_next_one(cut: dict[str, int]) -> None:
    x = [tr.ones((600, 600)) for _ in range(3)]
    found = plan("ab,bc,ca->", *x).with_slices(cut)
    limit = found.environments_plan().peak_bytes
    found.environments(*x, memory_limit=limit)
    pool.clear()
    before = pool.stats().used_bytes
    found.environments(*x, memory_limit=limit)

    assert pool.stats().peak_bytes - before <= 1.1 * limit  # the allocator's classes of sizes are coarser
