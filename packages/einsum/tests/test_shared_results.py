"""Results that all slices share: kept as far as a limit has room for them, and computed in each slice beyond."""

from __future__ import annotations

import json
import pickle
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from math import log2, prod
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tensor_runtime as tr
from tensor_core.errors import FormatError
from tensor_einsum import Plan, native, plan
from tensor_einsum.search.problem import Problem
from tensor_einsum.slices.cutting import kept_results, parted_steps
from tensor_einsum.slices.needs import replaced
from tensor_einsum.testing.networks import brickwork, lattice, regular_graph

SLICED = plan("ij,jk,kl,lm,mn->in", *[(6, 6)] * 5, optimize=[(3, 4), (2, 3), (1, 2), (0, 1)]).with_slices("ij")


def whole_numbers(found: Plan, seed: int = 3) -> list[tr.Tensor]:
    generator = np.random.default_rng(seed)
    return [tr.asarray(generator.integers(-3, 4, shape), dtype=found.output_dtype) for shape in found.shapes]


def planned(problem: Problem, limit: int | None) -> Plan:
    """Of integers, which are exact in every order, as they wrap."""
    shapes = [tuple([problem.extents[label] for label in term]) for term in problem.inputs]
    items: list[Any] = [part for pair in zip(shapes, problem.inputs, strict=True) for part in pair]
    return plan(*items, problem.output, dtype="I64", memory_limit=limit)


def kept(found: Plan) -> int:
    """Bytes of the results that slices share, and read."""
    return sum(found.steps[step].bytes for step in kept_results(found))


@given(st.integers(0, 700), st.sampled_from(["i", "j", "ij", "im"]))
def test_no_more_is_kept_than_there_is_room_for_and_results_are_the_same(room: int, labels: str) -> None:
    sharing = SLICED.with_slices(labels)
    found = replaced(sharing, sharing.sliced, room)
    operands = whole_numbers(found)
    arrays = [operand.to_numpy() for operand in operands]

    assert kept(found) <= room and kept(found) <= kept(sharing)
    assert found.flops >= sharing.flops
    assert sum(map(len, parted_steps(found))) == len(found.steps)
    np.testing.assert_array_equal(found(*operands).to_numpy(), np.linalg.multi_dot(arrays))


def test_with_room_for_all_of_them_slices_share_what_they_did() -> None:
    room = kept(SLICED)
    found, less = (replaced(SLICED, SLICED.sliced, bytes_kept) for bytes_kept in (room, room - 1))

    assert room > 0
    assert (found.flops, found.steps, parted_steps(found)) == (SLICED.flops, SLICED.steps, parted_steps(SLICED))
    assert found != SLICED and less.flops > SLICED.flops
    assert replaced(SLICED, SLICED.sliced, 0).flops == SLICED.slices.count * sum(step.flops for step in SLICED.steps)


def test_slices_that_share_less_run_in_every_way() -> None:
    found = replaced(SLICED, SLICED.sliced, 0)
    operands = whole_numbers(found)
    wanted = found(*operands).to_numpy()

    parts = [found.run_slice(number, *operands) for number in range(found.slices.count)]
    np.testing.assert_array_equal(found.gather(parts).to_numpy(), wanted)
    with ThreadPoolExecutor(2) as pool:
        np.testing.assert_array_equal(found.map_slices(pool, *operands).to_numpy(), wanted)
    steps: list[tuple[int, int]] = []
    found(*operands, on_step=lambda *step: steps.append(step))
    assert steps[-1] == (len(found.steps) * found.slices.count,) * 2
    first, *others = operands
    mapped = found.map([tr.stack([first, 2 * first], axis=-1), *others], axis={0: 2}).to_numpy()
    np.testing.assert_array_equal(mapped, np.stack([wanted, 2 * wanted], axis=-1))


def test_what_is_kept_is_a_part_of_a_plan_and_is_stored_with_it() -> None:
    found = replaced(SLICED, SLICED.sliced, 100)
    for other in (Plan.from_json(found.to_json()), pickle.loads(pickle.dumps(found))):
        assert other == found and hash(other) == hash(found)
        assert (other.shared_bytes, other.flops) == (100, found.flops)
    assert found.reuse(*found.shapes) == found
    assert found.with_slices("ij").shared_bytes is None and replaced(found, (), 100).shared_bytes is None

    content = json.loads(found.to_json())
    for wrong in (-1, 1.5, True, "all"):
        with pytest.raises(FormatError, match=r"shared_bytes is .*; accepted: null, or an int from 0 on"):
            Plan.from_json(json.dumps(content | {"shared_bytes": wrong}))
    with pytest.raises(FormatError, match="shared_bytes"):
        Plan.from_json(json.dumps(content | {"sliced": []}))
    del content["shared_bytes"]
    content["format"] = "tensor_einsum.plan/2"
    assert Plan.from_json(json.dumps(content)) == SLICED


def test_a_plan_for_other_inputs_has_room_for_the_same_results() -> None:
    found = replaced(SLICED, SLICED.sliced, 300)
    assert kept_results(found) and len(kept_results(found)) < len(kept_results(SLICED)) + 1

    larger = found.reuse(*[(60, 60)] * 5)
    assert kept_results(larger) == kept_results(found) and larger.shared_bytes == 30_000
    uncut = found.reuse((1, 1), *[(1, 6)] * 1, *[(6, 6)] * 3)
    assert (uncut.sliced, uncut.shared_bytes) == ((), None)
    assert uncut == uncut.with_slices(()) == Plan.from_json(uncut.to_json())
    assert replaced(SLICED, ((0, 6), (1, 99)), 10).shared_bytes is None


@pytest.mark.skipif(not native.AVAILABLE, reason="the native search was not built")
@pytest.mark.parametrize(
    ("problem", "shares"),
    [(lattice(12, 12), (8, 16, 32)), (brickwork(20, 16), (16, 40)), (regular_graph(60, 3, 1), (20, 100))],
    ids=["lattice", "circuit", "graph"],
)
def test_a_tight_limit_costs_what_the_search_says(problem: Problem, shares: Sequence[int]) -> None:
    unlimited = planned(problem, None)
    for share in shares:
        limit = unlimited.peak_bytes // share
        found = planned(problem, limit)

        assert found.search is not None
        assert found.peak_bytes <= limit
        # Shared results that a search does not count were made room for by cuts, thousands of times the work.
        assert log2(found.flops) <= found.search.log2_products + 3
        if prod(found.output_shape) == 1 and found.slices.count <= 300:
            operands = whole_numbers(found, 1)
            assert found(*operands).item() == unlimited(*operands).item()
