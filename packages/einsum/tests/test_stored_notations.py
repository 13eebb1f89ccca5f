"""A stored plan whose notation does not give the labels stored beside it is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tensor_core.errors import FormatError
from tensor_einsum import Plan, plan

X = (2, 3)
PLANS = [
    plan("ij,jk", X, (3, 4)),
    plan(" k i , ij -> ", (4, 2), X),
    plan("...ij,j...->i...", (7, 1, *X), (3, 5)),
    plan("...i,i...->...", (2,), (2,)),
    plan("ij,(jk,kl)->il", X, (3, 4), (4, 5)),
    plan("iij,j->jj", (2, 2, 3), (3,)),
    plan("ß日,日b->b", X, (3, 4)),
    plan(X, ("left", "bond"), (3, 4), ("bond", "right"), ("left", "right")),
    plan((5, 2, 3), (..., "left", "bond"), (6, 5, 3, 4), (..., "bond", "right"), (..., "left", "right")),
    plan((2, 3), (0, ..., 10), (3,), (..., 10), (..., 0)),
    plan(X, (0, 1), (3, 4), (1, 2)),
    plan((2,), ("(",), (2,), (")",), (")", "(")),
    plan((2,), (" ",), (2,), (",",)),
    plan(X, ("] [", "a,b"), (3,), ("a,b",), ("a,b", "] [")),
    plan((), (), (2,), ("a1",)),
    plan((2, 5), (..., 3), (5,), (3,)),
]


@pytest.mark.parametrize("found", PLANS, ids=repr)
def test_what_was_stored_is_read(found: Plan) -> None:
    assert Plan.from_json(found.to_json()) == found


def changed(found: Plan, **fields: Any) -> str:
    return json.dumps({**json.loads(found.to_json()), **fields})


@pytest.mark.parametrize(
    ("found", "notation"),
    [
        (PLANS[0], "ij,jk->ki"),
        (PLANS[0], "ij,ik"),
        (PLANS[0], "ij,jk,k"),
        (PLANS[0], "ij,"),
        (PLANS[0], "..."),
        (PLANS[0], "[i j],[j k]->[i k]"),
        (PLANS[0], ""),
        (PLANS[2], "ij...,j...->i..."),
        (PLANS[7], "[left bond],[bond right]->[right left]"),
        (PLANS[7], "[left ...],[bond right]->[left right]"),
        (PLANS[7], "[left bond],[bond right]->[left right] "),
        (PLANS[7], "ij,jk->ij"),
        (PLANS[8], "[left ... bond],[... bond right]->[... left right]"),
        (PLANS[8], "[... bond],[... bond right]->[... left right]"),
        (PLANS[11], "(,)->()"),
    ],
)
def test_a_notation_that_gives_other_labels_is_refused(found: Plan, notation: str) -> None:
    with pytest.raises(FormatError, match=r"Plan\.from_json: the notation .* does not give the labels .*->"):
        Plan.from_json(changed(found, notation=notation))


def test_labels_that_are_changed_are_refused() -> None:
    with pytest.raises(FormatError, match=r"the notation 'ij,jk' does not give the labels ij,jk->ki"):
        Plan.from_json(changed(PLANS[0], output=[2, 0]))
    with pytest.raises(FormatError, match=r"does not give the labels ij,kl->il"):
        Plan.from_json(changed(PLANS[0], names=[*"ijkl"], inputs=[[0, 1], [2, 3]], output=[0, 3]))


def test_labels_of_one_name_are_refused() -> None:
    with pytest.raises(FormatError, match=r"two labels have one name; found \('k', 'j', 'k'\)"):
        Plan.from_json(changed(PLANS[0], names=["k", "j", "k"]))


@pytest.mark.parametrize(
    "names",
    ["ijk", [None, ["a"], {}], ["i", "j", 3], ["i", "j", ""], ["i", "j", "\n"], ["i", "j", "k\n"], ["i", "j", "\ud800"],
     ["i", "j", "\x00"], ["i", "j", "a\udfffb"], {"i": 0, "j": 1, "k": 2}, [["i"], "j", "k"]],
)  # fmt: skip
def test_names_that_no_notation_has_are_refused(names: Any) -> None:
    with pytest.raises(FormatError, match=r"Plan\.from_json: names are .*; accepted: a list of texts that a notation"):
        Plan.from_json(changed(PLANS[0], names=names))


def test_names_without_a_label_are_refused() -> None:
    with pytest.raises(FormatError, match="a label that has a name is in no operand"):
        Plan.from_json(changed(PLANS[0], names=["i", "j", "k", "l"]))


@pytest.mark.parametrize("text", ["\u200bi->i", "\u0378\x9f->\x9f", "[\\ ][,]->", "[(][)]->[)]"])
def test_names_of_any_notation_are_read(text: str) -> None:
    found = plan(text, (2, 3))

    assert Plan.from_json(found.to_json()) == found


def test_labels_may_be_numbered_otherwise() -> None:
    text = changed(PLANS[0], names=["k", "j", "i"], inputs=[[2, 1], [1, 0]], output=[2, 0])

    assert Plan.from_json(text).subscripts == "ij,jk->ik"


def test_names_of_the_notation_are_those_of_the_labels() -> None:
    with pytest.raises(FormatError, match=r"the notation 'ij,jk' does not give the labels xj,jk->xk"):
        Plan.from_json(changed(PLANS[0], names=["x", "j", "k"]))
    with pytest.raises(FormatError, match=r"the notation 'ij,jk' does not give the labels ik,kj->ij"):
        Plan.from_json(changed(PLANS[0], names=["i", "k", "j"]))
    with pytest.raises(FormatError, match="does not give the labels"):
        Plan.from_json(changed(PLANS[7], notation="ij,jk->ik"))


def test_axes_of_an_ellipsis_may_have_any_name() -> None:
    *named, covered = json.loads(PLANS[15].to_json())["names"]

    assert Plan.from_json(changed(PLANS[15], names=[*named, f"{covered}'"])).names == (*named, f"{covered}'")


CONJUGATED = plan("ij,jk->ik", (2, 3), (3, 4), dtype="C64", conj=(0,)).with_slices("j")


@pytest.mark.parametrize(
    ("member", "value", "accepted"),
    [
        ("path", [[False, True]], "a list of lists of positions"),
        ("path", [[0, 1.0]], "a list of lists of positions"),
        ("path", ["einsum_path", [0, 1]], "a list of lists of positions"),
        ("path", "auto", "a list of lists of positions"),
        ("sliced", "", "a list of pairs"),
        ("sliced", {}, "a list of pairs"),
        ("sliced", None, "a list of pairs"),
        ("conj", 0, "a list of positions"),
        ("conj", -1, "a list of positions"),
        ("conj", "", "a list of positions"),
        ("conj", [False], "a list of positions"),
        ("inputs", {}, "a list of lists of labels"),
        ("inputs", ["", ""], "a list of lists of labels"),
        ("output", "", "a list of labels"),
        ("shapes", [{}, [3, 4]], "a list of lists of extents"),
        ("dtypes", {"C64": 1, "F64": 2}, "a list of names"),
        ("notation", 5, "a text"),
    ],
)
def test_members_of_other_types_are_refused(member: str, value: object, accepted: str) -> None:
    with pytest.raises(FormatError, match=rf"^Plan\.from_json: {member} is .*; accepted: {accepted}"):
        Plan.from_json(changed(CONJUGATED, **{member: value}))


def test_a_label_that_is_cut_twice_is_refused() -> None:
    with pytest.raises(FormatError, match=r"^Plan\.from_json: a label is cut twice; found \[\[1, 2\], \[1, 1\]\]"):
        Plan.from_json(changed(CONJUGATED, sliced=[[1, 2], [1, 1]]))


@pytest.mark.parametrize("member", ["path", "format", "shapes"])
def test_a_member_that_stands_twice_is_refused(member: str) -> None:
    text = PLANS[0].to_json()
    with pytest.raises(FormatError, match=f"Plan.from_json: '{member}' stands twice in one object"):
        Plan.from_json(text[:-1] + f', "{member}": {json.dumps(json.loads(text)[member])}}}')
