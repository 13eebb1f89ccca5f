"""Environments, exact: small integers in every dtype, against the definition over the whole space of indices."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tensor_runtime as tr
from network_cases import Case, networks, same, small_integers
from network_derivatives import environment
from tensor_core import C64, F32, F64, I64
from tensor_core.errors import ArgumentError, DTypeError, OutOfMemoryError, ShapeError, TensorError
from tensor_einsum import ExtentError, MemoryLimitError, plan
from tensor_einsum.derivatives import running
from tensor_einsum.execution import memory
from tensor_einsum.execution.sequenced import Sequenced
from tensor_runtime.algebras import MAX_PLUS, MAX_TIMES, MIN_PLUS, OR_AND, PLUS_TIMES, Semiring
from tensor_runtime.backends.bindings import binding_cache


@given(networks(output=""))
def test_environments_of_a_number_are_the_network_without_each_operand(case: Case) -> None:
    for operand, found in enumerate(case.plan.environments(*case.tensors)):
        assert same(found, environment(case, operand)), (case.notation, operand)


@given(networks())
def test_environments_keep_the_labels_of_the_output(case: Case) -> None:
    for operand, found in enumerate(case.plan.environments(*case.tensors)):
        assert same(found, environment(case, operand)), (case.notation, operand)


@given(networks(), st.integers(0, 2**32 - 1))
def test_environments_with_a_cotangent_are_those_of_the_weighted_result(case: Case, seed: int) -> None:
    found = case.plan
    shape, dtype = found.output_shape, case.arrays[0].dtype.name
    cotangent = small_integers(np.random.default_rng(seed), shape, dtype)

    for operand, given_back in enumerate(found.environments(*case.tensors, cotangent=tr.tensor(cotangent))):
        assert same(given_back, environment(case, operand, cotangent)), (case.notation, operand)


@pytest.mark.parametrize("algebra", [MAX_PLUS, MIN_PLUS, MAX_TIMES, OR_AND], ids=lambda algebra: algebra.name)
@given(data=st.data())
def test_environments_in_any_algebra(algebra: Semiring, data: st.DataObject) -> None:
    case = data.draw(networks(dtypes=[dtype.numpy_name for dtype in algebra.accepts])).magnitudes
    found = case.planned(algebra=algebra)
    cotangent = np.abs(small_integers(np.random.default_rng(5), found.output_shape, case.arrays[0].dtype.name))

    for operand, given_back in enumerate(found.environments(*case.tensors)):
        assert same(given_back, environment(case, operand, algebra=algebra)), (case.notation, operand)
    for operand, given_back in enumerate(found.environments(*case.tensors, cotangent=tr.tensor(cotangent))):
        assert same(given_back, environment(case, operand, cotangent, algebra)), (case.notation, operand)


@given(networks(dtypes=("complex128",)), st.data())
def test_conjugated_operands_are_so_in_the_environments_of_others(case: Case, data: st.DataObject) -> None:
    conj = data.draw(st.sets(st.integers(0, len(case.inputs) - 1)))
    found = case.planned(conj=sorted(conj))
    read = case._replace(arrays=tuple(a.conj() if at in conj else a for at, a in enumerate(case.arrays)))

    for operand, given_back in enumerate(found.environments(*case.tensors)):
        assert same(given_back, environment(read, operand)), (case.notation, conj, operand)


@given(networks(), st.data())
def test_environments_are_given_for_the_operands_named(case: Case, data: st.DataObject) -> None:
    count = len(case.inputs)
    which = data.draw(st.lists(st.integers(-count, count - 1), unique_by=lambda one: one % count))
    found = case.plan.environments(*case.tensors, which=which)

    assert len(found) == len(which)
    assert all(same(one, environment(case, at % count)) for one, at in zip(found, which, strict=True))


@given(networks(), st.data())
def test_a_memory_limit_changes_no_environment_and_is_refused_only_with_one_that_works(
    case: Case, data: st.DataObject
) -> None:
    found = case.plan
    unlimited = found.environments_plan()
    limit = data.draw(st.integers(0, unlimited.peak_bytes))
    try:
        sweep = found.environments_plan(memory_limit=limit)
    except MemoryLimitError as error:
        assert error.smallest > limit == error.limit
        limit = error.smallest
        sweep = found.environments_plan(memory_limit=limit)

    assert sweep.peak_bytes <= limit
    assert sweep.peak_bytes >= sweep.peak_with([0] * len(sweep.steps))
    for operand, given_back in enumerate(found.environments(*case.tensors, memory_limit=limit)):
        assert same(given_back, environment(case, operand))


@given(networks(output="", dtypes=("float64", "complex128")))
def test_an_operand_times_its_environment_is_the_result(case: Case) -> None:
    found = case.plan
    result = found(*case.tensors).to_numpy()

    for array, given_back in zip(case.arrays, found.environments(*case.tensors), strict=True):
        assert np.sum(array * given_back.to_numpy()) == result


@pytest.mark.parametrize("dtypes", [(F32, F64), (I64, F32), (F64, C64), (I64, I64)])
def test_environments_have_the_dtype_of_the_result(dtypes: Sequence[Any]) -> None:
    a, b = tr.ones((2, 3), dtype=dtypes[0]), tr.ones((3, 2), dtype=dtypes[1])
    found = plan("ij,ji->", a, b)

    assert [one.dtype for one in found.environments(a, b)] == [found.output_dtype] * 2
    assert [one.to_numpy().tolist() for one in found.environments(a, b)] == [[[1] * 3] * 2, [[1] * 2] * 3]


def test_a_ring_of_many_takes_about_three_times_its_contraction() -> None:
    terms = [f"{chr(300 + k)}{chr(300 + (k + 1) % 60)}" for k in range(60)]
    ring = plan(f"{','.join(terms)}->", *[(8, 8)] * 60)
    sweep = ring.environments_plan()

    assert len(sweep.results) == 60
    assert sweep.flops <= 3 * ring.flops
    assert sweep.repeated == 0


def lattice(rows: int, columns: int) -> str:
    """A square lattice with open ends, column by column."""
    edges: dict[Any, str] = {}
    terms = []
    for column in range(columns):
        for row in range(rows):
            ends = [(row, column, row + 1, column), (row, column, row, column + 1)]
            ends += [(row - 1, column, row, column), (row, column - 1, row, column)]
            kept = [end for end in ends if min(end) >= 0 and end[2] < rows and end[3] < columns]
            terms.append("".join(edges.setdefault(end, chr(300 + len(edges))) for end in kept))
    return f"{','.join(terms)}->"


@pytest.mark.parametrize("share", [0.9, 0.6, 0.35])
def test_a_deep_tree_computes_again_what_does_not_fit(share: float) -> None:
    notation = lattice(6, 12)
    shapes = [(2,) * len(term) for term in notation[:-2].split(",")]
    column_by_column = plan(notation, *shapes, optimize=False)
    free = column_by_column.environments_plan()
    limit = int(free.peak_bytes * share)
    tight = column_by_column.environments_plan(memory_limit=limit)

    assert free.repeated == 0 < tight.repeated
    assert tight.peak_bytes <= limit
    assert tight.flops < 3 * free.flops


def test_without_a_limit_a_sweep_takes_what_the_process_may_use(monkeypatch: pytest.MonkeyPatch) -> None:
    notation = lattice(4, 5)
    operands = [tr.ones((2,) * len(term)) for term in notation[:-2].split(",")]
    found = plan(notation, *operands, optimize=False)
    expected = [environment.to_numpy().tolist() for environment in found.environments(*operands)]
    peak = found.environments_plan().peak_bytes
    asked: list[int] = []

    def usable() -> int:
        asked.append(1)
        return peak * 2 // 3

    monkeypatch.setattr(memory, "_UNCHECKED", 0)
    monkeypatch.setattr(memory, "_UNCHECKED_ON_DEVICES", 0)
    monkeypatch.setattr(memory, "recently_usable_bytes", usable)
    binding_cache.clear()

    assert [environment.to_numpy().tolist() for environment in found.environments(*operands)] == expected
    assert asked
    with pytest.raises(OutOfMemoryError, match="but this process may use"):
        found.environments(*operands, memory_limit=peak)
    monkeypatch.setattr(memory, "recently_usable_bytes", lambda: 100)
    binding_cache.clear()
    asking = "the limit is 100 B, what the process may use; accepted: "
    with pytest.raises(MemoryLimitError, match=f"{asking}fewer results, or a plan in slices") as info:
        found.environments(*operands)
    assert info.value.limit == 100
    with pytest.raises(MemoryLimitError, match=f"{asking}fewer results"):
        found.with_slices([found.names[3]]).environments(*operands)
    with pytest.raises(MemoryLimitError, match=f"map: .* {asking}a plan in slices"):
        found.map([tr.ones((*operands[0].shape, 4)), *operands[1:]])


def test_a_limit_that_cannot_be_kept_is_refused_before_anything_is_computed() -> None:
    a = tr.ones((8, 8))
    with pytest.raises(
        MemoryLimitError, match=r"environments: the sweep needs 512 B .* memory_limit=512 or more"
    ) as info:
        plan("ij,ji->", a, a).environments(a, a, which=0, memory_limit=100)
    assert (info.value.smallest, info.value.limit) == (512, 100)


@pytest.mark.parametrize("which", [2, -3, (0, 0), (0, -2), "0", 0.5, [None]])
def test_operands_that_are_not_there_are_refused(which: Any) -> None:
    with pytest.raises(ArgumentError, match="which"):
        plan("ij,ji->", (2, 3), (3, 2)).environments_plan(which)


@pytest.mark.parametrize("limit", [-1, 2.5, 1000.0, "much", True, []])
def test_memory_limits_are_bytes(limit: Any) -> None:
    a = tr.ones((2, 2))
    found = plan("ij,ji->", a, a)
    found.environments(a, a, memory_limit=1000)
    with pytest.raises(ArgumentError, match="memory_limit"):
        found.environments_plan(memory_limit=limit)
    with pytest.raises(ArgumentError, match="memory_limit"):
        found.environments(a, a, memory_limit=limit)


@pytest.mark.parametrize("value", [None, 1, 3, "no", []])
def test_flags_are_bools(value: Any) -> None:
    a = tr.ones((2, 2))
    found = plan("ij,ji->", a, a)
    with pytest.raises(ArgumentError, match=r"cotangent is .*; accepted: True and False"):
        found.environments_plan(cotangent=value)
    with pytest.raises(ArgumentError, match=r"normalize is .*; accepted: True and False"):
        found.marginals(a, a, normalize=value)


def test_operands_and_cotangents_that_do_not_fit_are_refused() -> None:
    a, b = tr.ones((2, 3)), tr.ones((3, 4))
    found = plan("ij,jk->ik", a, b)
    with pytest.raises(ExtentError, match=r"environments: operands have shapes .*; this plan was made for"):
        found.environments(a, a)
    with pytest.raises(ExtentError, match="this plan was made for"):
        found.environments(a)
    with pytest.raises(DTypeError, match="this plan was made for F64, F64"):
        found.environments(a, tr.ones((3, 4), dtype=F32))
    with pytest.raises(ShapeError, match=r"the cotangent has shape \(2, 3\), but the result of this plan has \(2, 4\)"):
        found.environments(a, b, cotangent=a)
    with pytest.raises(DTypeError, match="the cotangent is C64, but the result of this plan is F64"):
        found.environments(a, b, cotangent=tr.ones((2, 4), dtype=C64))
    with pytest.raises(tr.errors.ForeignOperandError, match="environments: found list"):
        found.environments(a, [1.0])  # type: ignore[arg-type]


def test_views_and_narrow_cotangents_are_taken() -> None:
    a, b = tr.tensor(np.arange(6.0).reshape(2, 3)), tr.tensor(np.arange(12.0).reshape(4, 3))
    cotangent = tr.ones((2, 4), dtype=F32)
    of_a, of_b = plan("ij,jk->ik", a, b.T).environments(a, b.T, cotangent=cotangent)

    assert same(of_a, np.ones((2, 4)) @ b.to_numpy())
    assert same(of_b, a.to_numpy().T @ np.ones((2, 4)))


def test_results_share_no_memory_with_operands_or_with_each_other() -> None:
    a, b = tr.ones((2, 3)), tr.ones((2, 3))
    of_a, of_b = plan("ij,ij->", a, b).environments(a, b)
    of_a.mutable_view()[...] = 5.0
    of_b.mutable_view()[...] = 7.0

    assert a.to_numpy().tolist() == b.to_numpy().tolist() == [[1.0] * 3] * 2
    assert of_a.to_numpy().tolist() == [[5.0] * 3] * 2


def test_running_out_of_memory_on_the_way_says_in_which_step() -> None:
    a = tr.ones((2, 3))
    sweep = plan("ij,ij->", a, a).environments_plan()
    bound = running.BoundSweep("environments", sweep, [a._form, a._form])

    def fails(*arrays: Any) -> Any:
        raise MemoryError

    bound.instructions = (bound.instructions[0], bound.instructions[1]._replace(kernel=fails))
    with pytest.raises(OutOfMemoryError, match=r"environments: not enough memory in step 1 of 2, ij->ij, whose result"):
        bound([a._array, a._array], done=lambda: None)


@pytest.mark.parametrize("known", [False, True])
def test_steps_of_a_sweep_that_run_at_once_fail_as_they_do_one_by_one(known: bool) -> None:
    a = tr.ones((2, 2))
    sweep = plan("ij,jk,kl,li->", a, a, a, a).environments_plan()
    bound = running.BoundSweep("environments", sweep, [a._form] * 4)
    raised = ShapeError("mine", shapes=()) if known else MemoryError()

    def fails(*arrays: Any) -> Any:
        raise raised

    places = [(*one[:3], slot) for slot, one in enumerate(bound.instructions, 4)]
    bound._at_once = Sequenced(bound.home, [*places[:3], (fails, *places[3][1:]), *places[4:]], sweep.results)
    if not Sequenced(bound.home, places, sweep.results).run([*[a._array] * 4, *[None] * len(places)]):
        return  # the backend has no sequences
    with pytest.raises(TensorError) as caught:
        bound([a._array] * 4)
    if known:
        assert caught.value is raised
    else:
        assert isinstance(caught.value, OutOfMemoryError)
        assert caught.value.step == 3
        assert "not enough memory in step 3" in str(caught.value)
        assert caught.value.__cause__ is raised


def test_results_are_inferred_without_computing() -> None:
    a, b = tr.ones((2, 3)), tr.ones((3, 4))
    found = plan("ij,jk->ik", a, b)

    assert tr.infer(lambda x, y: found.environments(x, y)[1], a, b).shape == (3, 4, 2)
    assert tr.infer(lambda x, y: found.with_slices("j").environments(x, y)[1], a, b).shape == (3, 4, 2)
    assert tr.infer(lambda x, y: found.marginals(x, y)["k"], a, b).shape == (4,)


def test_the_smallest_limit_of_a_refusal_counts_the_copies_of_kernels() -> None:
    a, b, c = tr.ones((30, 40), dtype="F32"), tr.ones((40, 50)), tr.ones((50, 30), dtype="F32")
    found = plan("ij,jk,ki->", a, b, c)
    for sliced in (found, found.with_slices("j")):
        with pytest.raises(MemoryLimitError) as e:
            sliced.environments(a, b, c, memory_limit=0)
        assert len(sliced.environments(a, b, c, memory_limit=e.value.smallest)) == 3


@pytest.mark.parametrize("algebra", [PLUS_TIMES, MIN_PLUS, MAX_PLUS, MAX_TIMES], ids=str)
@pytest.mark.parametrize("labels", ["", "i", "j"])
def test_environments_and_marginals_that_sum_nothing_are_zeros(algebra: Semiring, labels: str) -> None:
    x, nothing, y = tr.full((2, 3), math.inf), tr.zeros((3, 0)), tr.full((2, 2), math.inf)
    found = plan("ij,jk,il->l", x, nothing, y, algebra=algebra).with_slices(labels)
    zero = algebra.zero_of("F64")

    for result in (*found.environments(x, nothing, y), *found.environments(x, nothing, y, cotangent=tr.ones((2,)))):
        assert np.array_equal(result.to_numpy(), np.full(result.shape, zero))
    for marginal in found.marginals(x, nothing, y).values():
        assert np.array_equal(marginal.to_numpy(), np.full(marginal.shape, zero))


@pytest.mark.parametrize(
    ("notation", "shapes", "expected"),
    [
        ("a,b->bb", [(2,), (3,)], [(2, 3), (3,)]),
        ("a,b->ba", [(2,), (3,)], [(2, 3), (3, 2)]),
        ("a,a->a", [(1,), (3,)], [(1, 3), (3,)]),
        ("a,ab->ab", [(1,), (3, 4)], [(1, 3, 4), (3, 4)]),
        ("ij,jk->ik", [(2, 1), (3, 4)], [(2, 1, 4), (3, 4, 2)]),
    ],
)
def test_labels_of_the_result_that_an_environment_keeps_are_there_once(
    notation: str, shapes: list[tuple[int, ...]], expected: list[tuple[int, ...]]
) -> None:
    rng = np.random.default_rng(4)
    arrays = [rng.integers(-4, 5, shape).astype(float) for shape in shapes]
    operands = [tr.tensor(array) for array in arrays]
    terms, output = notation.split("->")
    once = "".join(dict.fromkeys(output))
    whole = plan(f"{terms}->{once}", *operands)(*operands).to_numpy()

    for position, found in enumerate(plan(notation, *operands).environments(*operands)):
        assert found.shape == expected[position]
        # An axis that the operand has with extent 1 only is another label than the one that the result has.
        axes = zip(terms.split(",")[position], shapes[position], strict=True)
        own = "".join([label.upper() if extent == 1 else label for label, extent in axes])
        kept = "".join([label for label in once if label not in own])
        assert np.array_equal(np.einsum(f"{own}{kept},{own}->{once}", found.to_numpy(), arrays[position]), whole)


def test_an_environment_of_what_has_no_elements_is_as_elsewhere() -> None:
    x, nothing = tr.full((2, 3), 2.0), tr.zeros((3, 0))
    of_x, of_nothing = plan("ij,jk->k", x, nothing).environments(x, nothing)

    assert of_x.shape == (2, 3, 0)
    assert of_nothing.shape == (3, 0)
