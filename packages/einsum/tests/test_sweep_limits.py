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
    with pytest.raises(MemoryLimitError, match="accepted: memory_limit=48 or more"):
        found.environments(*operands, which=[3, 5, 4], memory_limit=40)
    assert len(found.environments(*operands, which=[3, 5, 4], memory_limit=48)) == 3


@pytest.mark.parametrize("steps", [0, 500])
def test_not_every_sweep_of_a_large_network_is_tried(steps: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "_STEPS", steps)
    network = lattice(4, 6)
    found = plan(
        *[part for term in network.inputs for part in ((2,) * len(term), term)], (), optimize=False
    )  # from left to right
    tried: list[Tried] = []

    def noted(*given: Any) -> Tried:
        tried.append(try_limit(*given))
        return tried[-1]

    monkeypatch.setattr(limits, "try_limit", noted)
    smallest = refused(lambda limit: found.environments_plan(memory_limit=limit), 0)

    assert smallest is not None
    assert found.environments_plan(memory_limit=smallest).peak_bytes <= smallest
    assert (len(tried) > 3) == (steps > 0)
