"""Memory limits of environments and marginals: what runs and their plans accept, and the smallest of a refusal."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tensor_runtime as tr
from network_cases import Case, networks
from tensor_einsum import MemoryLimitError, plan
from tensor_einsum.derivatives import limits
from tensor_einsum.derivatives.environments import environments_goal
from tensor_einsum.derivatives.planning import Tried, try_limit
from tensor_einsum.derivatives.running import BoundSweep
from tensor_einsum.testing.networks import lattice


def mixed(case: Case, data: st.DataObject) -> list[tr.Tensor]:
    """Operands of the shapes of a case, of dtypes that kernels may have to convert, turned or not."""
    shapes = [array.shape for array in case.arrays]
    dtypes = [data.draw(st.sampled_from(["F32", "F64", "C32", "C64"])) for _ in shapes]
    turned = [data.draw(st.booleans()) for _ in shapes]
    return [
        tr.ones(shape[::-1], dtype=dtype).T if turns and len(shape) == 2 else tr.ones(shape, dtype=dtype)
        for shape, dtype, turns in zip(shapes, dtypes, turned, strict=True)
    ]


def refused(call: Callable[[int], Any], limit: int) -> int | None:
    """The smallest limit that a refusal names; None where the limit is accepted."""
    try:
        call(limit)
    except MemoryLimitError as error:
        smallest: int = error.__dict__["smallest"]
        return smallest
    return None


@given(networks(), st.data())
def test_plans_of_sweeps_accept_the_limits_that_runs_accept(case: Case, data: st.DataObject) -> None:
    operands = mixed(case, data)
    found = plan(case.notation, *operands, optimize=case.path)
    if data.draw(st.booleans()):
        found = found.with_slices({name: data.draw(st.integers(1, 3)) for name in found.names[:2]})
    weights = tr.ones(found.output_shape, dtype=found.output_dtype) if data.draw(st.booleans()) else None
    calls: list[tuple[Callable[[int], Any], Callable[[int], Any]]] = [
        (
            lambda limit: found.environments_plan(cotangent=weights is not None, memory_limit=limit),
            lambda limit: found.environments(*operands, cotangent=weights, memory_limit=limit),
        ),
        (
            lambda limit: found.marginals_plan(memory_limit=limit),
            lambda limit: found.marginals(*operands, memory_limit=limit),
        ),
    ]
    for planned, run in calls:
        free = planned(1 << 40).peak_bytes
        limit = data.draw(st.integers(0, free))
        smallest = refused(planned, limit)
        assert smallest == refused(run, limit)
        if smallest is not None:
            limit = smallest
            assert refused(run, smallest - 1) == smallest
        assert planned(limit).peak_bytes <= limit
        assert refused(run, limit) is None


@given(networks(), st.data())
def test_a_refusal_names_what_the_sweep_takes_that_takes_least(case: Case, data: st.DataObject) -> None:
    operands = mixed(case, data)
    found = plan(case.notation, *operands, optimize=case.path)
    goal, forms = environments_goal(found, None, False), [operand._form for operand in operands]
    smallest = refused(lambda limit: found.environments(*operands, memory_limit=limit), 0) or 0
    for limit in range(0, smallest, 4):
        sweep = try_limit(found, goal, limit).sweep
        assert sweep is None or BoundSweep("environments", sweep, forms).needed_bytes >= smallest


def test_the_smallest_limit_may_be_that_of_a_sweep_that_drops_less() -> None:
    scalars = [tr.tensor(1.0), tr.tensor([1.0], dtype="F32"), tr.tensor(1.0), tr.tensor(1.0, dtype="F32")]
    operands = [tr.ones((2, 2, 1), dtype="F32"), *scalars, tr.tensor(1.0), tr.ones((2, 2))]
    found = plan("aab,,a,,,,bb->", *operands, optimize=False)
    smallest = refused(lambda limit: found.environments(*operands, which=[3, 5, 4], memory_limit=limit), 8) or 0
    with pytest.raises(MemoryLimitError, match=f"accepted: memory_limit={smallest} or more"):
        found.environments(*operands, which=[3, 5, 4], memory_limit=smallest - 8)
    assert len(found.environments(*operands, which=[3, 5, 4], memory_limit=smallest)) == 3


@pytest.mark.parametrize("steps", [0, 500])
def test_not_every_sweep_of_a_large_network_is_tried(steps: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "_STEPS", steps)
    network = lattice(4, 6)
    terms = [part for term in network.inputs for part in ((2,) * len(term), term)]
    found = plan(*terms, (), optimize=False)
    tried: list[Tried] = []

    def noted(*given: Any) -> Tried:
        tried.append(try_limit(*given))
        return tried[-1]

    monkeypatch.setattr(limits, "try_limit", noted)
    smallest = refused(lambda limit: found.environments_plan(memory_limit=limit), 0)

    assert (len(tried) > 1) == (steps > 0)  # the limit itself, and those beyond it
    assert smallest is not None
    assert found.environments_plan(memory_limit=smallest).peak_bytes <= smallest


@pytest.mark.parametrize(("which", "smallest"), [([0], 960_000), ([1, 3], 1_280_000)])
def test_the_plan_of_a_sweep_counts_operands_that_are_converted(which: list[int], smallest: int) -> None:
    narrow, wide = tr.ones((200, 200), dtype="F32"), tr.ones((200, 200))
    operands = narrow, wide, narrow, wide, narrow
    found = plan("ab,bc,cd,de,ea->", *operands)
    calls: list[Callable[[int], Any]] = [
        lambda limit: found.environments_plan(which, memory_limit=limit),
        lambda limit: found.environments(*operands, which=which, memory_limit=limit),
    ]

    assert [refused(call, 640_000) for call in calls] == [smallest, smallest]
    assert [refused(call, smallest) for call in calls] == [None, None]
    assert found.environments_plan(which).peak_bytes >= smallest


def test_the_plan_of_a_sweep_without_kernels_tells_what_shapes_do() -> None:
    apart = plan("ij,jk->ik", tr.ones((2, 3)), tr.ones((3, 4), placement="meta"))
    assert apart.environments_plan().peak_bytes == apart.environments_plan(memory_limit=10_000).peak_bytes > 0
    huge = plan("i,i->", (2**62,), (2**62,))
    assert huge.environments_plan().peak_bytes == 2**66
    assert refused(lambda limit: huge.environments_plan(memory_limit=limit), 2**60) == 2**66
    sliced = huge.with_slices({"i": 2**61})
    assert refused(lambda limit: sliced.environments_plan(memory_limit=limit), 2**60) == 2**66 + 2**65
