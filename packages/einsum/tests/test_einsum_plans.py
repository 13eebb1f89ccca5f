"""Plans: extents, costs, and a plan as a value."""

from __future__ import annotations

import copy
import gc
import itertools
import json
import pickle
import weakref
from typing import Any

import numpy as np
import opt_einsum
import pytest

import tensor_runtime
from tensor_core import C32, C64, F32, F64, I32, I64, Bool
from tensor_core.errors import ArgumentError, DTypeError, FormatError
from tensor_einsum import ExtentError, Plan, plan, plan_cache
from tensor_einsum.slices.needs import copying_within
from tensor_runtime.algebras import Semiring


@pytest.mark.parametrize(
    ("notation", "shapes", "message", "carets"),
    [
        (
            "ij,jk->ik",
            [(2, 3), (4, 5)],
            r"label 'j' has extent 3 in operand 0 'ij' of shape \(2, 3\), but 4 in operand 1 'jk' of shape \(4, 5\)",
            "   ^ ^",
        ),
        ("ij,jk->ik", [(2, 3), (3, 4, 5)], r"operand 1 'jk' names 2 axes, but its shape \(3, 4, 5\) has 3", "     ^^"),
        ("i,->i", [(2,), (3,)], r"operand 1 '' names 0 axes, but its shape \(3,\) has 1", "    ^"),
        ("ij...->...", [(2,)], r"operand 0 'ij...' names 2 axes and '...', but its shape \(2,\) has 1", "  ^^^"),
        ("ii->i", [(2, 3)], r"label 'i' has extents 2 and 3 within operand 0 'ii' of shape \(2, 3\)", "  ^^"),
        ("k,ii->i", [(4,), (1, 3)], r"label 'i' has extents 1 and 3 within operand 1 'ii'", "    ^^"),
        ("i,i->i", [(0,), (2,)], "label 'i' has extent 0 in operand 0 .* but 2 in operand 1", "  ^ ^"),
        (
            "...i->i",
            [(2, 3)],
            r"'...' covers 1 axis of operand 0 '...i' of shape \(2, 3\), but the output has no",
            "  ^",
        ),
        ("...,...->...", [(2, 3), (4, 3)], "an axis of '...' has extent 2 in operand 0", "  ^   ^"),
    ],
)
def test_shapes_that_do_not_fit_name_label_operands_and_shapes(
    notation: str, shapes: list[tuple[int, ...]], message: str, carets: str
) -> None:
    with pytest.raises(ExtentError, match=message) as caught:
        plan(notation, *shapes)

    assert str(caught.value).splitlines()[-1] == carets
    assert caught.value.shapes


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        ([(2, 3)], r"'ij,jk' has 2 operands, found 1: \(2, 3\)"),
        ([], "found no operand"),
        ([(2, 3), "no"], "operand 1: found 'no'; accepted: a shape"),
        ([(2, -3), (3, 4)], "operand 0: found"),
    ],
)
def test_plan_wants_one_shape_per_operand(shapes: list[Any], message: str) -> None:
    with pytest.raises(ExtentError, match=message):
        plan("ij,jk", *shapes)


def test_dtypes_are_given_once_or_one_each() -> None:
    assert plan("i,i", (2,), (2,)).dtypes == (F64, F64)
    assert plan("i,i", (2,), (2,), dtype="F32").output_dtype is F32
    assert plan("i,i", (2,), (2,), dtype=[F32, C64]).output_dtype is C64
    assert plan("i,i", (2,), (2,), dtype=[I32, Bool]).output_dtype is I32
    with pytest.raises(ExtentError, match="found 3 dtypes for 2 operands"):
        plan("i,i", (2,), (2,), dtype=[F32, F32, F32])
    with pytest.raises(DTypeError):
        plan("i,i", (2,), (2,), dtype="F16")


def test_costs_of_a_chain_are_counted_by_hand() -> None:
    found = plan("ij,jk,kl->il", (2, 3), (3, 4), (4, 5), optimize=[(0, 1), (0, 1)])

    assert [step.flops for step in found.steps] == [2 * 2 * 3 * 4, 2 * 2 * 4 * 5]
    assert found.flops == 128
    assert found.largest_intermediate == 10
    assert found.peak_bytes == (8 + 10) * 8
    assert plan("ij,jk,kl->il", (2, 3), (3, 4), (4, 5), dtype=F32).peak_bytes == 72


@pytest.mark.parametrize(
    ("notation", "shapes", "flops"),
    [
        ("i,j->ij", [(3,), (4,)], 12),  # products alone
        ("i,i->", [(3,), (3,)], 6),
        ("ij->", [(3, 4)], 12),
        ("ij->ji", [(3, 4)], 0),
        ("ii->i", [(3, 3)], 0),
        ("ii->", [(3, 3)], 3),
        ("i->ii", [(3,)], 0),
        ("ij,k->k", [(3, 4), (5,)], 12 + 5),  # the first operand is summed by itself
        ("bij,bjk->bik", [(2, 3, 4), (2, 4, 5)], 2 * 2 * 3 * 4 * 5),
        ("ij,jk->ik", [(0, 3), (3, 4)], 0),
    ],
)
def test_flops_are_counted_as_documented(notation: str, shapes: list[tuple[int, ...]], flops: int) -> None:
    assert plan(notation, *shapes).flops == flops


@pytest.mark.parametrize("notation", ["ab,bc,cd,de->ae", "ab,b,bc->c", "abc,bd,cd->a", "ij,jk,kl,li->"])
def test_opt_einsums_count_is_reproduced(notation: str) -> None:
    shapes = [tuple(2 + ord(label) % 5 for label in term) for term in notation.split("->")[0].split(",")]
    path, info = opt_einsum.contract_path(notation, *shapes, shapes=True)
    found = plan(notation, *shapes, optimize=path)

    assert found.opt_einsum_flops == int(info.opt_cost)
    assert found.largest_intermediate == int(info.largest_intermediate)


def test_labels_of_one_operand_alone_are_summed_in_the_first_step_that_reads_it() -> None:
    found = plan("abx,bcy,cd->ad", (2, 3, 9), (3, 4, 9), (4, 5), optimize=[(0, 1), (0, 1)])

    assert [step.subscripts for step in found.steps] == ["abx,bcy->ac", "cd,ac->ad"]


def test_diagonals_are_taken_where_a_label_is_repeated_and_summed_at_once() -> None:
    found = plan("iijkk,jl->l", (2, 2, 3, 4, 4), (3, 5))

    assert [(step.kind, step.subscripts) for step in found.steps] == [
        ("unary_einsum", "iijkk->j"),
        ("contract", "j,jl->l"),
    ]


def test_a_hyper_edge_stays_until_the_last_operand_that_has_it() -> None:
    found = plan("ab,ac,ad->bcd", (2, 3), (2, 4), (2, 5), optimize=False)

    assert [step.subscripts for step in found.steps] == ["ab,ac->bca", "bca,ad->bcd"]


def test_a_repeated_output_label_is_written_in_a_step_of_its_own() -> None:
    found = plan("ij,j->iji", (2, 3), (3,))

    assert [step.subscripts for step in found.steps] == ["ij,j->ij", "ij->iji"]
    assert [step.subscripts for step in plan("ii->ii", (2, 2)).steps] == ["ii->ii"]


def test_an_axis_of_extent_1_that_broadcasts_is_dropped_without_work() -> None:
    found = plan("ij,ij->ij", (2, 1), (2, 4))

    assert [(step.kind, step.subscripts, step.bytes) for step in found.steps] == [
        ("squeeze", "ij->i", 0),
        ("contract", "i,ij->ij", 64),
    ]
    assert found.output_shape == (2, 4)


def test_an_extent_of_1_against_0_gives_0() -> None:
    assert plan("i,i->i", (1,), (0,)).output_shape == (0,)


def test_an_ellipsis_broadcasts_from_the_right() -> None:
    found = plan("...ij,...jk->...ik", (7, 1, 2, 3), (5, 3, 4))

    assert found.output_shape == (7, 5, 2, 4)
    assert found.subscripts == "abij,bjk->abik"


def test_more_labels_than_letters_are_possible() -> None:
    labels = [chr(192 + k) for k in range(400)]
    found = plan(",".join(a + b for a, b in itertools.pairwise(labels)), *[(2, 2)] * 399)

    assert found.output_shape == (2, 2)
    assert found.largest_intermediate == 4


PLANS = [
    plan("ij,jk,kl->il", (2, 3), (3, 4), (4, 5)),
    plan("iij,j->jj", (2, 2, 3), (3,), dtype=[F32, C64]),
    plan("...ij,jk", (7, 2, 1), (3, 4)),
    plan((2, 3), ("left", "bond"), (3, 4), ("bond", "right"), ("left", "right")),
    plan("ij,(jk,kl)->il", (2, 3), (3, 4), (4, 5)),
    plan("ij->", (0, 3), dtype=Bool),
    plan("i,i,i->i", (1,), (3,), (3,)),
    plan("ij,jk,kl->il", (2, 9), (9, 4), (4, 5)).with_slices({"j": 2, "l": 1}),
    copying_within(plan("ij,jk", (2, 3), (3, 4)), 100),
]


@pytest.mark.parametrize("found", PLANS, ids=str)
def test_a_plan_survives_pickle_json_and_copy(found: Plan) -> None:
    for other in (pickle.loads(pickle.dumps(found)), Plan.from_json(found.to_json()), copy.deepcopy(found)):
        assert other == found
        assert hash(other) == hash(found)
        assert other.steps == found.steps
        assert str(other) == str(found)
        assert {found: 1}[other] == 1


def test_a_plan_may_be_held_weakly() -> None:
    found = Plan.from_json(plan("ij,jk->ik", (2, 3), (3, 4)).to_json())
    held = weakref.ref(found)
    assert held() is found
    del found
    gc.collect()
    assert held() is None


@pytest.mark.parametrize("found", PLANS, ids=str)
def test_a_plan_is_data_and_says_the_same_after_it_ran(found: Plan) -> None:
    before = {name: getattr(found, name) for name in Plan.__slots__}
    found(*[tensor_runtime.zeros(shape, dtype=dtype) for shape, dtype in zip(found.shapes, found.dtypes, strict=True)])

    assert {name: getattr(found, name) for name in Plan.__slots__} == before
    data = {kind for kind in kinds_in(list(before.values())) if kind is not Semiring}
    assert {kind.__module__.partition(".")[0] for kind in data} <= {
        "builtins",
        "tensor_core",
        "tensor_einsum",
    }


def kinds_in(values: list[Any]) -> set[type]:
    kinds = set()
    for value in values:  # grows on the way
        kinds.add(type(value))
        if isinstance(value, tuple):
            values.extend(value)
    return kinds


@pytest.mark.parametrize("found", PLANS[:4], ids=str)
def test_the_path_of_a_plan_gives_the_plan_again(found: Plan) -> None:
    assert plan(
        found.subscripts if len(found.names[0]) == 1 else "ij,jk->ik", *found.shapes, optimize=found.path
    ).path == (found.path)


def test_plans_differ_by_shape_dtype_path_and_notation() -> None:
    plans = {
        plan("ij,jk", (2, 3), (3, 4)),
        plan("ij,jk", (2, 3), (3, 5)),
        plan("ij,jk", (2, 3), (3, 4), dtype=F32),
        plan("ij,jk->ki", (2, 3), (3, 4)),
        plan("ij,jk,k", (2, 3), (3, 4), (4,), optimize=[(0, 1), (0, 1)]),
        plan("ij,jk,k", (2, 3), (3, 4), (4,), optimize=[(1, 2), (0, 1)]),
    }
    assert len(plans) == 6


def test_a_plan_is_immutable() -> None:
    with pytest.raises(AttributeError, match="a plan is immutable"):
        PLANS[0].flops = 3
    with pytest.raises(AttributeError, match="a plan is immutable"):
        del PLANS[0].flops


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"format": "other"}',
        json.dumps({**json.loads(PLANS[0].to_json()), "path": [[0, 7]]}),
        json.dumps({**json.loads(PLANS[0].to_json()), "shapes": [[2, 3]]}),
        json.dumps({**json.loads(PLANS[0].to_json()), "shapes": [[2, 3], [3, 4], [5, 5]]}),
        json.dumps({**json.loads(PLANS[0].to_json()), "dtypes": ["F64"]}),
        json.dumps({**json.loads(PLANS[0].to_json()), "output": [9]}),
        json.dumps({**json.loads(PLANS[0].to_json()), "inputs": [[0, -1], [1, 2], [2, 3]]}),
        json.dumps({**json.loads(PLANS[0].to_json()), "names": 3}),
        "[" * 100_000,
    ],
)
def test_text_that_is_no_plan_is_refused(text: str) -> None:
    with pytest.raises(FormatError, match=r"Plan\.from_json"):
        Plan.from_json(text)


def test_the_table_names_the_totals_and_every_step() -> None:
    found = plan("ij,jk,kl->il", (2, 3), (3, 4), (4, 5), optimize=[(0, 1), (0, 1)])

    assert str(found).splitlines() == [
        "ij,jk,kl->il",
        "  operands              3, F64",
        "  result                F64 (2, 5)",
        "  flops                 128",
        "  largest intermediate  10 elements, 80 B",
        "  peak memory           144 B",
        "",
        "result  operands  kind      subscripts  shape   flops  bytes",
        "     3       0 1  contract  ij,jk->ik   (2, 4)     48   64 B",
        "     4       2 3  contract  kl,ik->il   (2, 5)     80   80 B",
    ]


def test_a_long_table_leaves_out_its_middle() -> None:
    labels = [chr(192 + k) for k in range(101)]
    found = plan(",".join(a + b for a, b in itertools.pairwise(labels)), *[(2, 2)] * 100)

    assert "… 59 more steps …" in str(found)
    assert len(found.table().splitlines()) > 99
    assert "more steps" not in found.table()


def test_costs_of_absurd_size_are_exact_and_print() -> None:
    found = plan("i,j,k->ijk", (10**15,), (10**15,), (10**15,))

    assert found.flops == 10**30 + 10**45
    assert "1.00e45" in str(found)


def test_plans_are_cached_by_notation_shapes_dtypes_and_options() -> None:
    plan_cache.clear()
    before = plan_cache.stats()
    first = plan("ij,jk,kl", (2, 3), (3, 4), (4, 5))

    assert plan("ij,jk,kl", (2, 3), (3, 4), (4, 5)) is first
    assert plan("ij,jk,kl", [2, 3], (3, 4), (4, 5)) is first
    assert plan("ij,jk,kl", (2, 3), (3, 4), (4, 5), dtype=F32) is not first
    assert plan("ij,jk,kl", (2, 3), (3, 4), (4, 5), optimize="greedy") is not first
    stats = plan_cache.stats()
    assert (stats.entries, stats.hits - before.hits, stats.misses - before.misses) == (3, 2, 3)
    plan_cache.clear()
    assert plan_cache.stats()[:2] == (0, 0)


def test_the_plan_cache_keeps_to_its_budget() -> None:
    plan_cache.clear()
    limit = plan_cache.stats().limit_bytes
    try:
        plan_cache.set_limit(20_000)
        for extent in range(1, 100):
            plan("ij,jk", (extent, 3), (3, 4))
            assert plan_cache.stats().bytes <= 20_000
        assert plan_cache.stats().evictions > 0
    finally:
        plan_cache.set_limit(limit)


@pytest.mark.parametrize("limit", ["1000", None, 1.5, True, -1])
def test_the_plan_cache_refuses_a_budget_that_is_no_count(limit: Any) -> None:
    before = plan_cache.stats().limit_bytes

    with pytest.raises(ArgumentError, match=r"plan_cache: the limit is .*; accepted: an int of 0 or more, in bytes"):
        plan_cache.set_limit(limit)

    assert plan_cache.stats().limit_bytes == before


def test_two_thousand_operands_are_planned_without_recursion() -> None:
    operands = 2000
    labels = [chr(192 + k) for k in range(operands + 1)]
    notation = ",".join(a + b for a, b in itertools.pairwise(labels))
    found = plan(notation, *[(2, 2)] * operands)

    assert len(found.steps) == operands - 1
    assert found.largest_intermediate == 4
    nested = (
        "(" * (operands - 1)
        + notation.replace(",", ",", 1)[:2]
        + "".join(f",{term})" for term in notation.split(",")[1:])
    )
    assert plan(nested, *[(2, 2)] * operands).flops == 1999 * 16


def test_the_table_of_a_sliced_plan_says_what_is_cut() -> None:
    found = plan("ij,jk->ik", (6, 8), (8, 5)).with_slices({"j": 3, "k": 1})

    assert "\n  slices                15, of k, j by 3\n" in str(found)
    assert repr(found).startswith("<Plan 'ij,jk->ik': 15 slices, 1 steps, 480 flops")


def test_an_array_brings_its_dtype_as_a_tensor_does() -> None:
    assert plan("ij,jk", np.ones((2, 3), np.float32), np.ones((3, 2), np.complex64)).dtypes == (F32, C32)
    assert plan("ij,jk", np.ones((2, 3), np.float32), (3, 2)).dtypes == (F32, F64)
    with pytest.raises(DTypeError, match=r"operand 1 has dtype .*uint8.*; accepted: .* or give dtype="):
        plan("ij,jk", (2, 3), np.ones((3, 2), np.uint8))
    assert plan("ij,jk", (2, 3), np.ones((3, 2), np.uint8), dtype="I64").dtypes == (I64, I64)


def test_a_shape_that_nothing_can_count_is_refused_for_its_size() -> None:
    with pytest.raises(ExtentError, match=r"operand 1: shape .* has more than 2\*\*63 - 1 elements; make it smaller"):
        plan("i,ij", (1,), (2**40, 2**40))
