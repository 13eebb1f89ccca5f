"""The options of a search: what is accepted, what is refused, and what plans are kept under."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensor_runtime as tr
from tensor_core.errors import ArgumentError, TensorError
from tensor_einsum import Plan, einsum, plan

CHAIN = "ij,jk,kl->il"
SHAPES = (2, 3), (3, 4), (4, 5)


@pytest.mark.parametrize("seconds", [0, -1.0, float("nan"), float("inf"), 10**400, "1", True, [1]])
def test_seconds_must_be_a_positive_number(seconds: Any) -> None:
    with pytest.raises(ArgumentError, match=r"seconds=.*; accepted: a positive number, or None"):
        plan(CHAIN, *SHAPES, seconds=seconds)


@pytest.mark.parametrize("optimize", ["greedy", False, [(0, 1), (0, 1)]])
def test_seconds_are_refused_where_nothing_searches_for_so_long(optimize: Any) -> None:
    with pytest.raises(ArgumentError, match="seconds= is for the search of optimize='auto', found beside optimize="):
        plan(CHAIN, *SHAPES, optimize=optimize, seconds=1)


@pytest.mark.parametrize("weights", [(10**400, 1), (1, 10**400), (0, 1), (1, -1), (float("nan"), 1), (1, float("inf"))])
def test_weights_that_are_no_finite_numbers_are_refused(weights: tuple[Any, Any]) -> None:
    with pytest.raises(ArgumentError, match=r"objective=.*; accepted: .*weights"):
        plan(CHAIN, *SHAPES, objective=dict(zip(("flops", "elements"), weights, strict=True)))


@pytest.mark.parametrize("weights", [{"flops": 1e-300}, {"elements": 1}, {"flops": 1, "elements": 1, "size": 1}])
def test_weights_that_are_refused_are_told_that_there_are_two_of_them(weights: dict[str, float]) -> None:
    with pytest.raises(ArgumentError, match=r": both of them, finite, of flops above 0 and of elements 0 or more$"):
        plan(CHAIN, *SHAPES, objective=weights)
    assert plan(CHAIN, *SHAPES, objective={"flops": 1e-300, "elements": 0}).flops > 0


def test_weights_far_apart_are_those_of_one_alone() -> None:
    fewest = plan(CHAIN, *SHAPES, objective="flops")
    assert plan(CHAIN, *SHAPES, objective={"flops": 1, "elements": 0}).flops == fewest.flops
    assert plan(CHAIN, *SHAPES, objective={"flops": 1e300, "elements": 1e-300}).flops == fewest.flops
    moved = [plan(CHAIN, *SHAPES, objective={"flops": least, "elements": 1e9}) for least in (1e-2, 1e-300)]
    assert moved[0].path == moved[1].path


def test_an_unknown_option_is_refused_by_its_name() -> None:
    ones = [tr.ones(shape) for shape in SHAPES]

    with pytest.raises(
        TypeError, match=r"einsum\(\) got an unexpected keyword argument 'optimise'; accepted: .*optimize"
    ):
        einsum(CHAIN, *ones, optimise="greedy")  # type: ignore[call-arg]


def test_the_default_by_name_is_the_default() -> None:
    assert plan(CHAIN, *SHAPES, optimize="auto") is plan(CHAIN, *SHAPES)
    assert plan(CHAIN, *SHAPES, optimize=[(0, 1), (0, 1)]) is plan(CHAIN, *SHAPES, optimize=((0, 1), (0, 1)))


LONG: Any = "x" * 100_000


@pytest.mark.parametrize(
    "call",
    [
        lambda: plan("ij,jk", (2, 2), (2, 2), optimize=LONG),
        lambda: plan("ij,jk,kl", (2, 2), (2, 2), (2, 2), optimize=LONG),
        lambda: plan("ij,(jk,kl)", (2, 2), (2, 2), (2, 2), optimize=LONG),
        lambda: plan("ij,jk,kl", (2, 2), (2, 2), (2, 2), optimize=[LONG, LONG]),
        lambda: plan(f"[{LONG}]", (2,), (2,)),
        lambda: plan("i", (LONG,)),
        lambda: plan((2,), ([LONG],)),
        lambda: Plan.from_json(plan("i", (2,)).to_json().replace('"inputs": [[0', f'"inputs": [["{LONG}"')),
    ],
)
def test_messages_stay_short_whatever_is_refused(call: Callable[[], object]) -> None:
    with pytest.raises(TensorError) as caught:
        call()

    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize("seconds", [np.float64(0.5), np.float32(0.5), np.int64(1)])
def test_scalars_of_numpy_are_seconds(seconds: Any) -> None:
    assert plan("ij,jk", (2, 3), (3, 4), seconds=seconds) is plan("ij,jk", (2, 3), (3, 4), seconds=float(seconds))
