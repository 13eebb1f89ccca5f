"""Batches of operands, exact: what calling the plan for each value gives; and the same path for other inputs."""

from __future__ import annotations

import copy
import json
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tensor_runtime as tr
from network_cases import Case, networks, same, small_integers
from tensor_core import C64, F32, F64, Bool
from tensor_core.errors import ArgumentError, DTypeError, FormatError
from tensor_cpu.system.memory import pool
from tensor_einsum import ExtentError, MemoryLimitError, Plan, Progress, plan
from tensor_einsum.derivatives.running import BoundSweep
from tensor_runtime.algebras import MAX_PLUS


def batched(data: st.DataObject, case: Case, extent: int) -> tuple[dict[int, int], list[np.ndarray[Any, Any]]]:
    """Some operands with a batch axis somewhere, and all of them."""
    count = len(case.inputs)
    chosen = data.draw(st.sets(st.integers(0, count - 1), min_size=1))
    axes, arrays = {}, list(case.arrays)
    for position in chosen:
        shape, dtype = case.arrays[position].shape, case.arrays[position].dtype.name
        place = data.draw(st.integers(0, len(shape)))
        axes[position] = place - (len(shape) + 1) * data.draw(st.integers(0, 1))
        arrays[position] = small_integers(
            np.random.default_rng(position), (*shape[:place], extent, *shape[place:]), dtype
        )
    return axes, arrays


def one_by_one(found: Plan, axes: dict[int, int], arrays: list[np.ndarray[Any, Any]], extent: int) -> Any:
    results = np.zeros((*found.output_shape, extent), found.output_dtype.numpy_name)
    for value in range(extent):
        chosen = [np.take(array, value, axis=axes[at]) if at in axes else array for at, array in enumerate(arrays)]
        results[..., value] = found(*map(tr.tensor, chosen)).to_numpy()
    return results


@given(networks(), st.integers(0, 4), st.data())
def test_a_batch_gives_what_its_values_give_one_by_one(case: Case, extent: int, data: st.DataObject) -> None:
    found = case.plan
    axes, arrays = batched(data, case, extent)

    assert same(found.map(list(map(tr.tensor, arrays)), axes), one_by_one(found, axes, arrays, extent))


@given(networks(), st.integers(1, 9), st.data())
def test_a_batch_in_parts_gives_the_same(case: Case, extent: int, data: st.DataObject) -> None:
    found = case.plan
    axes, arrays = batched(data, case, extent)
    tensors = list(map(tr.tensor, arrays))
    limit = data.draw(st.integers(0, 2000))
    try:
        result = found.map(tensors, axes, memory_limit=limit)
    except MemoryLimitError as error:
        assert error.smallest > limit == error.limit
        result = found.map(tensors, axes, memory_limit=error.smallest)

    assert same(result, one_by_one(found, axes, arrays, extent))


@given(networks(dtypes=("complex128",)), st.data())
def test_batches_of_conjugated_operands(case: Case, data: st.DataObject) -> None:
    found = case.planned(conj=data.draw(st.sets(st.integers(0, len(case.inputs) - 1)).map(sorted)))
    axes, arrays = batched(data, case, 3)
    tensors = list(map(tr.tensor, arrays))
    try:
        result = found.map(tensors, axes, memory_limit=0)
    except MemoryLimitError as error:
        result = found.map(tensors, axes, memory_limit=error.smallest)

    assert same(result, one_by_one(found, axes, arrays, 3))


def test_batches_in_another_algebra() -> None:
    a, b = np.array([[1.0, 5.0], [2.0, 0.0]]), np.array([[1.0, 2.0, 3.0], [4.0, 0.0, -1.0]])
    found = plan("ij,j->i", a.shape, (2,), algebra=MAX_PLUS).map([tr.tensor(a), tr.tensor(b)])

    assert found.to_numpy().tolist() == np.max(a[:, :, None] + b[None], axis=1).tolist()


def large() -> tuple[Plan, list[tr.Tensor], np.ndarray[Any, Any]]:
    """A large shared product, then a small one for every value of the batch."""
    a, b = np.ones((300, 300)), np.arange(300.0 * 300).reshape(300, 300) % 7
    vectors = np.arange(300.0 * 64).reshape(300, 64) % 5
    last = np.arange(300.0) % 3
    found = plan("ij,jk,k,i->", a.shape, b.shape, (300,), (300,), optimize=[(0, 1), (0, 2), (0, 1)])
    return found, [*map(tr.tensor, (a, b, vectors, last))], last @ a @ b @ vectors


def test_steps_that_no_operand_of_the_batch_reaches_run_once(monkeypatch: pytest.MonkeyPatch) -> None:
    runs: list[list[str]] = []
    run = BoundSweep.__call__

    def noted(bound: BoundSweep, arrays: Any, *done: Any) -> Any:
        steps = [step.subscripts.replace("->", ",").split(",") for step in bound.sweep.steps]
        runs.append([" ".join("".join(sorted(term)) for term in terms) for terms in steps])  # in any order of labels
        return run(bound, arrays)

    monkeypatch.setattr(BoundSweep, "__call__", noted)
    found, tensors, expected = large()
    limit = 300 * 300 * 8 + 64 * 8 + 301 * 10 * 8
    result = found.map(tensors, {2: 1}, memory_limit=limit)

    assert runs[0] == ["ij jk ik"]
    assert runs[1:] == [["ak ik ai", "i ai a"]] * 7
    assert result.to_numpy().tolist() == expected.tolist()


def test_parts_take_factors_where_the_whole_batch_does() -> None:
    rng = np.random.default_rng(5)
    shapes = (60, 5), (5, 60), (60, 40, 64), (60,), (40,)
    arrays = [rng.integers(-3, 4, shape).astype(float) for shape in shapes]
    # Of many values the factor goes to the first operand, where it costs least; one value is not worth a look.
    single = (*shapes[:2], (60, 40), *shapes[3:])
    found = plan("ij,jk,kl,i,l->i", *single, optimize=[(0, 1), (0, 3), (0, 2), (0, 1)])

    result = found.map(list(map(tr.tensor, arrays)), {2: 2}, memory_limit=700_000)
    assert result.to_numpy().tolist() == np.einsum("ij,jk,kla,i,l->ia", *arrays, optimize=True).tolist()


@pytest.mark.parametrize("limit", [None, 30_000, 15_000])
@pytest.mark.parametrize("cut", ["", "i"])
def test_progress_counts_the_steps_of_all_parts(limit: int | None, cut: str) -> None:
    a, vectors = tr.ones((20, 20)), tr.ones((20, 70))
    found = plan("ij,jk,k->i", (20, 20), (20, 20), (20,), optimize=[(0, 1), (0, 1)]).with_slices(cut)
    seen: list[Progress] = []
    result = found.map([a, a, vectors], memory_limit=limit, progress=seen.append)

    assert result.to_numpy().tolist() == found.map([a, a, vectors]).to_numpy().tolist()
    assert [now.done for now in seen] == list(range(1, seen[-1].total + 1))
    assert len({now.total for now in seen}) == 1
    assert seen[-1].share == 1.0
    with pytest.raises(ArgumentError, match=r"progress is 'yes'; accepted: True, False"):
        found.map([a, a, vectors], memory_limit=limit, progress="yes")  # type: ignore[arg-type]


def test_a_batch_of_no_values_keeps_a_limit() -> None:
    a, none = tr.ones((20, 20)), tr.ones((20, 0))
    found = plan("ij,jk,k->i", (20, 20), (20, 20), (20,))
    for limit in (None, 0, 10, 5000):
        try:
            result = found.map([a, a, none], memory_limit=limit)
        except MemoryLimitError as error:
            assert limit is not None and error.smallest > limit
            result = found.map([a, a, none], memory_limit=error.smallest)
        assert result.shape == (20, 0)


def test_a_limit_that_no_value_keeps_is_refused_with_one_that_works() -> None:
    found, tensors, expected = large()
    told = r"map: the batch of 64 takes .* even one value at a time, .* memory_limit=\d+ or more"
    with pytest.raises(MemoryLimitError, match=told) as info:
        found.map(tensors, {2: 1}, memory_limit=1000)

    assert found.map(tensors, {2: 1}, memory_limit=info.value.smallest).to_numpy().tolist() == expected.tolist()


@given(networks(), st.integers(0, 6), st.data())
def test_the_limit_that_is_told_works_and_one_byte_less_does_not(case: Case, extent: int, data: st.DataObject) -> None:
    cut = data.draw(st.sets(st.sampled_from(sorted(case.extents)))) if case.extents else set()
    found = case.plan.with_slices(sorted(cut))
    axes, arrays = batched(data, case, extent)
    tensors = list(map(tr.tensor, arrays))
    told: int = 0
    try:
        found.map(tensors, axes, memory_limit=0)
    except MemoryLimitError as error:
        told = error.__dict__["smallest"]

    assert same(found.map(tensors, axes, memory_limit=told), one_by_one(found, axes, arrays, extent))
    for below in {told - 1, told // 2} - {told, -1}:
        with pytest.raises(MemoryLimitError) as refused:
            found.map(tensors, axes, memory_limit=below)
        assert refused.value.__dict__["smallest"] == told


def test_few_values_may_take_less_all_at_once() -> None:
    a, pairs = tr.ones((8, 8)), tr.ones((8, 8, 2))
    found = plan("ij,jk->ik", (8, 8), (8, 8))
    with pytest.raises(MemoryLimitError, match="beside the operands all at once, and more one value at a time") as info:
        found.map([a, pairs], memory_limit=1023)

    assert info.value.smallest == 2 * 64 * 8  # a part of one value would lie beside the whole result
    assert found.map([a, pairs], memory_limit=1024).shape == (8, 8, 2)


def test_what_is_no_batch_is_refused() -> None:
    a, b = tr.ones((2, 3)), tr.ones((3, 4))
    found = plan("ij,j->i", (2, 3), (3,))
    with pytest.raises(ExtentError, match="map: no operand has a batch axis"):
        found.map([a, tr.ones((3,))])
    with pytest.raises(ExtentError, match="map: batch axes have extents 2 in operand 0, 4 in operand 1"):
        found.map([tr.ones((2, 3, 2)), b])
    with pytest.raises(ExtentError, match=r"axis=1 leaves \(2,\) of operand 1, .* made for \(3,\) there; plan again"):
        found.map([a, tr.ones((2, 4))])
    with pytest.raises(
        ExtentError, match=r"map: axis=0 leaves \(4,\) of operand 1, of shape \(3, 4\), .*; give axis=1"
    ):
        found.map([a, b], axis=0)
    with pytest.raises(ExtentError, match=r"axis=0 leaves \(4,\) of operand 1"):
        found.map([a, b], axis={1: 0})
    with pytest.raises(ExtentError, match="map: found 3 operands; this plan was made for 2"):
        found.map([a, b, b])
    for few, axis in (([a], -1), ([b], {0: 1}), ([], -1)):
        with pytest.raises(ExtentError, match=f"map: found {len(few)} operands; this plan was made for 2"):
            found.map(few, axis)
    with pytest.raises(ArgumentError, match="the batch axis of operand 1 is 2, but its shape is"):
        found.map([a, b], axis={1: 2})
    with pytest.raises(ExtentError, match=r"axis names operand 0, of shape \(2, 3\); accepted: one axis more than in"):
        found.map([a, b], axis={0: 0, 1: 1})
    with pytest.raises(ArgumentError, match="axis names operand 2; accepted: positions of the 2 operands"):
        found.map([a, b], axis={2: 0})
    with pytest.raises(ArgumentError, match=r"axis names operand -1; .* each once"):
        found.map([a, b], axis={1: 1, -1: 1})
    with pytest.raises(tr.errors.ForeignOperandError, match="map: operands are 3; accepted: a sequence of tensors"):
        found.map(3)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="map: axis is 'last'"):
        found.map([a, b], axis="last")  # type: ignore[arg-type]
    with pytest.raises(DTypeError, match="map: operands are F64, F32; this plan was made for F64, F64"):
        found.map([a, tr.ones((3, 4), dtype=F32)])
    with pytest.raises(ArgumentError, match="memory_limit"):
        found.map([a, b], memory_limit=-1)


def test_a_batch_beside_labels_with_long_names() -> None:
    a, b = tr.ones((2, 3)), tr.ones((3, 4))
    found = plan((2, 3), ("left", "batch"), (3,), ("batch",), ("left",))

    assert found.map([a, b]).shape == (2, 4)


@given(networks(), st.data())
def test_a_plan_for_other_inputs_follows_the_same_path(case: Case, data: st.DataObject) -> None:
    small = case.plan
    doubled = [np.concatenate([array] * 2, axis=0) if array.ndim else array for array in case.arrays]
    try:
        large = small.reuse(*map(tr.tensor, doubled))
    except ExtentError:
        return
    expected = plan(case.notation, *[array.shape for array in doubled], dtype=small.dtypes[0], optimize=case.path)

    assert large == expected
    assert large.path == small.path
    assert large(*map(tr.tensor, doubled)).to_numpy().tolist() == expected(*map(tr.tensor, doubled)).to_numpy().tolist()


def test_dtypes_stay_unless_they_are_given() -> None:
    first = plan("ij,jk->ik", (2, 3), (3, 4), dtype=[F32, C64], conj=1)

    assert first.reuse((5, 3), (3, 7)).dtypes == (F32, C64)
    assert first.reuse((5, 3), (3, 7)).conj == (1,)
    assert first.reuse((5, 3), tr.ones((3, 7), dtype=F64)).dtypes == (F32, F64)
    assert first.reuse((5, 3), (3, 7), dtype="F64").dtypes == (F64, F64)
    assert first.reuse((5, 3), (3, 7), dtype=[F64, F32]).dtypes == (F64, F32)
    assert first.reuse((2, 3), (3, 4)) == first
    assert plan("i,i->", (2,), (2,), algebra=MAX_PLUS).reuse((3,), (3,)).algebra is MAX_PLUS


def test_a_plan_for_other_inputs_is_a_plan_like_any_other() -> None:
    made = plan("...ij,jk->...ik", (7, 2, 3), (3, 4)).reuse((5, 4, 6), (6, 1))

    assert made.output_shape == (5, 4, 1)
    assert pickle.loads(pickle.dumps(made)) == made == Plan.from_json(made.to_json()) == copy.deepcopy(made)


def test_inputs_of_another_network_are_refused() -> None:
    first = plan("ij,jk->ik", (2, 3), (3, 4))
    with pytest.raises(ExtentError, match="reuse: found 1 operands; this plan has 2"):
        first.reuse((2, 3))
    with pytest.raises(ExtentError, match="reuse: found 2 operands and 1 dtypes"):
        first.reuse((2, 3), (3, 4), dtype=[F64])
    with pytest.raises(ExtentError, match="reuse: label 'j' has extent 3 in operand 0"):
        first.reuse((2, 3), (4, 4))
    with pytest.raises(ExtentError, match=r"reuse: operand 1 'jk' names 2 axes, but its shape .* has 3"):
        first.reuse((2, 3), (3, 4, 5))
    with pytest.raises(ExtentError, match="reuse: operand 0: found 'no'"):
        first.reuse("no", (3, 4))
    with pytest.raises(ExtentError, match=r"reuse: operand 1: shape .* has more than 2\*\*63 - 1 elements; make it"):
        first.reuse((2, 3), (3, 2**62))
    with pytest.raises(DTypeError):
        plan("i,i->", (2,), (2,), algebra=MAX_PLUS).reuse((2,), (2,), dtype=Bool)


@pytest.mark.parametrize(
    ("notation", "shapes", "others"),
    [
        ("ij,jk->ik", [(2, 3), (3, 2)], [(2, 3), (4, 2)]),
        ("ij,jk->ik", [(2, 3), (3, 2)], [(2, 3), (4, 2, 1)]),
        (" i j , (j k, k)", [(2, 3), (3, 2), (2,)], [(2, 3), (3, 2), (5,)]),
        ("[left bond]i,i[left bond]", [(2, 3), (3, 2)], [(2, 3), (3, 4)]),
        ("ij...k,...kj->...i", [(2, 3, 7, 7, 4), (7, 7, 4, 3)], [(2, 3, 7, 7, 4), (7, 7, 5, 3)]),
        ("ij...,...j", [(2, 3, 7, 6), (7, 6, 3)], [(2, 3, 7, 6), (7, 5, 3)]),
        ("ii,i", [(2, 2), (2,)], [(2, 3), (2,)]),
        ("i,->i", [(2,), ()], [(2,), (3,)]),
    ],
)
def test_inputs_of_another_network_are_refused_with_the_carets_of_a_plan(
    notation: str, shapes: list[tuple[int, ...]], others: list[tuple[int, ...]]
) -> None:
    found = plan(notation, *shapes)
    with pytest.raises(ExtentError) as expected:
        plan(notation, *others)
    with pytest.raises(ExtentError) as refused:
        found.reuse(*others)
    with pytest.raises(FormatError) as unread:
        Plan.from_json(json.dumps({**json.loads(found.to_json()), "shapes": others}))

    for error in (refused, unread):
        assert str(error.value).splitlines()[1:] == str(expected.value).splitlines()[1:]
    assert refused.value.__context__ is None


@pytest.mark.parametrize("labels", ["", "j"])
def test_an_empty_batch_takes_what_is_shared_and_nothing_for_its_values(labels: str) -> None:
    operands = [tr.ones((2, 3)), tr.ones((3, 0)), tr.ones((4, 4))]
    found = plan("ij,j,kl->i", (2, 3), (3,), (4, 4)).with_slices(labels)
    with pytest.raises(MemoryLimitError) as e:
        found.map(operands, memory_limit=0)

    result = found.map(operands, memory_limit=e.value.smallest, progress=lambda told: None)
    assert result.shape == (2, 0)


@pytest.mark.parametrize("count", [2, 3, 8])
def test_a_part_is_let_go_before_the_next_one(count: int) -> None:
    operands = [tr.ones((1000, 2, count)), tr.ones((2, 1000)), tr.ones((1000, 1000))]
    found = plan("ij,jk,kl->il", (1000, 2), *operands[1:], optimize=[(0, 1), (0, 1)])
    with pytest.raises(MemoryLimitError) as refused:
        found.map(operands, memory_limit=0)
    limit = refused.value.__dict__["smallest"]
    found.map(operands, memory_limit=limit)
    pool.clear()
    before = pool.stats().used_bytes
    found.map(operands, memory_limit=limit)

    assert limit == 8 * 1000**2 * (count + 2)
    assert pool.stats().peak_bytes - before <= 1.01 * limit  # the allocator's classes of sizes are coarser


def test_operands_that_stand_side_by_side_are_told_to_be_a_list() -> None:
    x = tr.ones((2, 2))
    with pytest.raises(ArgumentError, match=r"^map: found 3 operands side by side; accepted: one list of them"):
        plan("ij,jk,kl->il", x, x, x).map(x, x, x)  # type: ignore[arg-type]
