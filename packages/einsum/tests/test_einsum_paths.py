"""Paths: what is accepted, what is refused, and that searches are repeatable."""

from __future__ import annotations

import random
import subprocess
import sys
from typing import Any

import numpy as np
import opt_einsum
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tensor_runtime as tr
from tensor_einsum import PathError, plan, plan_cache
from tensor_einsum.search.path import in_pairs, to_ids, to_linear

OPTIMIZERS = [
    "auto",
    "auto-hq",
    "greedy",
    "eager",
    "optimal",
    "branch-all",
    "branch-2",
    "branch-1",
    "dp",
    "random-greedy",
]


@st.composite
def linear_paths(draw: st.DrawFn) -> tuple[int, list[tuple[int, ...]]]:
    """A number of operands and a complete path whose entries take one to three of them."""
    left = operands = draw(st.integers(1, 8))
    path = []
    while left > 1:
        size = draw(st.integers(1, min(3, left)))
        path.append(tuple(draw(st.permutations(range(left)))[:size]))
        left -= size - 1
        if size == 1 and len(path) > 20:
            path.append((0, 1))
            left -= 1
    return operands, path


@given(linear_paths())
def test_a_path_written_with_ids_reads_back_as_it_was(case: tuple[int, list[tuple[int, ...]]]) -> None:
    operands, path = case

    assert to_linear(to_ids(path, operands), operands) == tuple(path)


@given(linear_paths())
def test_a_path_in_pairs_is_a_path(case: tuple[int, list[tuple[int, ...]]]) -> None:
    operands, path = case
    pairs = in_pairs(to_ids(path, operands), operands)

    assert all(len(entry) <= 2 for entry in pairs)
    assert to_ids(to_linear(pairs, operands), operands) == pairs
    used = [one for entry in pairs for one in entry]
    assert len(set(used)) == len(used)
    assert sum(len(entry) == 2 for entry in pairs) == operands - 1


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ([(0, 1)], "the path is incomplete: 2 operands are left after its 1 steps"),
        ([], "the path is incomplete: 3 operands are left after its 0 steps"),
        ([(0, 3), (0, 1)], r"step 0 of the path, \(0, 3\), names position 3; accepted: 0 to 2, as 3 operands are left"),
        ([(0, 1), (0, 2)], r"step 1 of the path, \(0, 2\), names position 2; accepted: 0 to 1"),
        ([(0, -1), (0, 1)], "names position -1"),
        ([(0, 0), (0, 1)], r"step 0 of the path, \(0, 0\), names a position twice"),
        ([(), (0, 1, 2)], "step 0 of the path names no operand"),
        ([(0, 1), (0, 1), (0, 1)], "step 2 of the path"),
        ([(0, 1.5)], "optimize is .* accepted: the name of a search"),
        ([0, 1], "optimize is"),
        (7, "optimize is 7; accepted"),
        (None, "optimize is None; accepted"),
        ("fastest", "optimize='fastest' is no search; accepted: auto, auto-hq"),
    ],
)
def test_an_invalid_path_is_refused(path: Any, message: str) -> None:
    with pytest.raises(PathError, match=message):
        plan("ij,jk,kl->il", (2, 3), (3, 4), (4, 5), optimize=path)


def test_an_unknown_search_is_refused_for_two_operands_too() -> None:
    with pytest.raises(PathError, match="'fastest' is no search"):
        plan("ij,jk", (2, 3), (3, 4), optimize="fastest")


def test_parentheses_and_a_path_are_two_orders() -> None:
    assert plan("ij,(jk,kl)->il", (2, 3), (3, 4), (4, 5)).path == ((1, 2), (0, 1))
    with pytest.raises(PathError, match="the parentheses of the notation fix the order"):
        plan("ij,(jk,kl)->il", (2, 3), (3, 4), (4, 5), optimize=[(0, 1), (0, 1)])
    for optimize in ("auto", True):
        with pytest.raises(PathError, match="seconds= or objective= asks for another"):
            plan("ij,(jk,kl)->il", (2, 3), (3, 4), (4, 5), optimize=optimize, seconds=1)


def test_paths_of_numpy_and_of_opt_einsum_are_accepted() -> None:
    shapes = (2, 3), (3, 4), (4, 5)
    arrays = [np.ones(shape) for shape in shapes]

    assert plan("ij,jk,kl->il", *shapes, optimize=np.einsum_path("ij,jk,kl->il", *arrays)[0]).path
    assert plan("ij,jk,kl->il", *shapes, optimize=opt_einsum.contract_path("ij,jk,kl->il", *arrays)[0]).path
    assert plan("ij,jk,kl->il", *shapes, optimize=[np.array([0, 2]), [0, 1]]).path == ((0, 2), (0, 1))


def test_false_contracts_from_left_to_right() -> None:
    found = plan("ij,jk,kl,lm->im", (2, 3), (3, 4), (4, 5), (5, 6), optimize=False)

    assert [step.subscripts for step in found.steps] == ["ij,jk->ik", "ik,kl->il", "il,lm->im"]


def test_an_optimizer_object_is_asked_every_time() -> None:
    calls = []

    def search(inputs: Any, output: Any, sizes: Any, memory_limit: Any) -> list[tuple[int, int]]:
        calls.append((inputs, output, sizes, memory_limit))
        return [(0, 1), (0, 1)]

    for _ in range(2):
        assert plan("ij,jk,kl->il", (2, 3), (3, 4), (4, 5), optimize=search).path == ((0, 1), (0, 1))
    assert len(calls) == 2
    inputs, output, sizes, _ = calls[0]
    assert [sizes[label] for label in sorted(inputs[0])] == [2, 3]
    assert [sizes[label] for label in sorted(output)] == [2, 5]


def test_opt_einsums_own_optimizers_are_accepted() -> None:
    for optimizer in (
        opt_einsum.RandomGreedy(max_repeats=4),
        opt_einsum.DynamicProgramming(),
        opt_einsum.BranchBound(),
    ):
        assert len(plan("ij,jk,kl->il", (2, 3), (3, 4), (4, 5), optimize=optimizer).path) >= 2


def test_an_object_with_get_path_is_a_tree() -> None:
    class Tree:
        def get_path(self) -> list[tuple[int, int]]:
            return [(1, 2), (0, 1)]

    assert plan("ij,jk,kl->il", (2, 3), (3, 4), (4, 5), optimize=Tree()).path == ((1, 2), (0, 1))


def test_a_search_that_fails_is_a_path_error() -> None:
    def search(*_: Any) -> Any:
        raise RuntimeError("no luck")

    with pytest.raises(PathError, match="the search by function failed: RuntimeError: no luck"):
        plan("ij,jk,kl->il", (2, 3), (3, 4), (4, 5), optimize=search)
    with pytest.raises(PathError, match=r"plan: the search by function gave None; accepted: a path such as \[\(0, 1\)"):
        plan("ij,jk,kl->il", (2, 3), (3, 4), (4, 5), optimize=lambda *_: None)


@pytest.mark.parametrize("optimize", [np.array(1), tr.tensor(1), [tr.tensor(1)], 7])
def test_what_holds_no_steps_is_no_path(optimize: Any) -> None:
    with pytest.raises(PathError, match=r"plan: optimize is .*; accepted: the name of a search"):
        plan("ij,jk,kl->il", (2, 3), (3, 4), (4, 5), optimize=optimize)


@pytest.mark.parametrize("optimize", OPTIMIZERS)
def test_searches_neither_use_nor_change_the_global_generator(optimize: str) -> None:
    notation = ",".join(chr(97 + k) + chr(98 + k) for k in range(6))
    shapes = [(2 + k % 3, 2 + (k + 1) % 3) for k in range(6)]
    plan_cache.clear()
    random.seed(1)
    first, state = plan(notation, *shapes, optimize=optimize), random.getstate()
    random.seed(1)
    assert random.getstate() == state
    plan_cache.clear()
    random.seed(2)
    assert plan(notation, *shapes, optimize=optimize) == first


def test_a_plan_is_the_same_in_every_process() -> None:
    code = (
        "from tensor_einsum import plan; "
        "print(plan('aé,éb,bc,cd,da,a,xy,yz->xz', *[(3, 3)] * 5, (3,), (2, 3), (3, 2), optimize='greedy').path)"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code], env={"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True
        ).stdout
        for seed in ("0", "1", "2")
    }
    assert len(outputs) == 1
