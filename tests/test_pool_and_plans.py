"""What a plan says that it needs, beside what the pool of buffers had to give while it ran."""

from __future__ import annotations

import gc

import pytest

import tensor_einsum as te
import tensor_runtime as tr
from tensor_cpu.system.extension import AVAILABLE, WHY_NOT
from tensor_cpu.system.memory import pool
from tensor_einsum.execution.executor import bind_plan

pytestmark = pytest.mark.skipif(not AVAILABLE, reason=WHY_NOT)


def chain_of_growing_tensors(base: int, most: int) -> tuple[str, list[tuple[int, ...]], list[tuple[int, int]]]:
    """A network whose intermediates grow by the factor ``base`` step by step and shrink again, each of another size."""
    letters = "abcdefghijklmnopqrstuvwxyz"[:most]
    terms = [f"{letters[k]}{letters[k + 1]}" for k in range(most - 1)] + list(letters)
    shapes = [(base,) * len(term) for term in terms]
    path = [(0, 1)] + [(0, left - 1) for left in range(len(terms) - 1, 1, -1)]
    return ",".join(terms) + "->", shapes, path


@pytest.mark.parametrize(("base", "most"), [(2, 23), (3, 14), (5, 10)])
def test_the_pool_gives_what_the_plan_says_within_a_tenth_whatever_the_sizes(base: int, most: int) -> None:
    notation, shapes, path = chain_of_growing_tensors(base, most)
    plan = te.plan(notation, *shapes, optimize=path)
    operands = [tr.ones(shape) for shape in shapes]
    needed = bind_plan(plan, [operand._form for operand in operands])[0].needed_bytes
    limit = pool.stats().limit_bytes
    pool.set_limit(4 * needed)
    gc.collect()
    pool.clear()
    before = pool.stats().used_bytes
    plan(*operands)
    after = pool.stats()
    taken = after.used_bytes + after.kept_bytes - before
    pool.set_limit(limit)
    pool.clear()
    assert plan.peak_bytes == needed
    assert 0.9 * needed <= after.peak_bytes - before <= 1.1 * needed
    assert taken <= 1.1 * needed + (32 << 20)  # 32 MiB of small buffers may be kept whatever the plan needs
