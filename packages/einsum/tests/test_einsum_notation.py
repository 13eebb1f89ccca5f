"""Notation: what is read, what is refused, and where the caret stands."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tensor_runtime as tr
from tensor_core import TensorError
from tensor_core.errors import ArgumentError
from tensor_einsum import ExtentError, Plan, einsum, plan
from tensor_einsum.errors import SubscriptsError, pointed
from tensor_einsum.notation.interleaved import split_interleaved
from tensor_einsum.notation.label_names import label_number, shown
from tensor_einsum.notation.reading import ELLIPSIS, number_labels, parse


def test_labels_are_numbered_by_first_occurrence() -> None:
    notation = parse("ij,jk->ik")

    assert notation.inputs == ((0, 1), (1, 2))
    assert notation.output == (0, 2)
    assert notation.names == ("i", "j", "k")


def test_white_space_means_nothing() -> None:
    assert parse(" i j ,\tjk\n-> i k ").inputs == parse("ij,jk->ik").inputs
    assert parse(" i j ,\tjk\n-> i k ").output == parse("ij,jk->ik").output


@given(st.text("aZ0é漢_,;", max_size=9), st.none() | st.text("aZ0é漢_", max_size=4))
def test_a_blank_at_the_end_changes_nothing_but_the_text(inputs: str, output: str | None) -> None:
    def read(text: str) -> object:
        try:
            found = parse(text)
        except SubscriptsError as error:
            return str(error).split("\n")[0], error.column
        return found._replace(text="", placed=None), found.starts, found.columns

    text = inputs if output is None else f"{inputs}->{output}"
    assert read(text) == read(f"{text} ")


@pytest.mark.parametrize(
    ("implicit", "explicit"),
    [
        ("ij,jk", "ij,jk->ik"),
        ("ji", "ji->ij"),
        ("ii", "ii->"),
        ("bA", "bA->Ab"),
        ("j...i", "j...i->...ij"),
        ("ij,ij", "ij,ij->"),
        ("iij", "iij->j"),
        ("", "->"),
    ],
)
def test_the_implicit_output_is_the_sorted_labels_that_occur_once(implicit: str, explicit: str) -> None:
    assert parse(implicit).output == parse(explicit).output


@pytest.mark.parametrize(
    ("text", "order"),
    [
        ("ij,jk", None),
        ("ij,(jk,kl)->il", ((1, 2), (0, 3))),
        ("(ij,jk),(kl,lm)->im", ((0, 1), (2, 3), (4, 5))),
        ("((ij))->ij", None),
        ("(i,j,k)->", ((0, 1, 2),)),
        ("(,)->", ((0, 1),)),
        ("a,(b,c),d->abcd", ((1, 2), (0, 4, 3))),
    ],
)
def test_parentheses_become_an_order(text: str, order: object) -> None:
    assert parse(text).order == order


def test_operands_may_have_no_labels() -> None:
    assert parse(",->").inputs == ((), ())
    assert parse("").inputs == ((),)


def test_an_ellipsis_in_the_output_alone_covers_nothing() -> None:
    assert parse("i->...i").output == (0,)
    assert parse("...i->...i").output == (ELLIPSIS, 0)


@given(st.lists(st.integers(0, 60_000), min_size=1, max_size=300, unique=True))
def test_any_number_of_unicode_labels_is_read(codes: list[int]) -> None:
    characters = [chr(192 + code) for code in codes if not 0xD800 <= 192 + code <= 0xDFFF]
    labels = [character for character in characters if not character.isspace()]

    assert parse(",".join(labels)).names == tuple(labels)


MALFORMED = [
    ("ij,jk->il", 8, "output label 'l' is in no operand; labels of the operands: 'i', 'j', 'k'"),
    ("i->ij", 4, "output label 'j' is in no operand; labels of the operands: 'i'"),
    ("->i", 2, "output label 'i' is in no operand; labels of the operands: none"),
    ("ij,%k->ik", 3, "'%' is no label"),
    ("ij$", 2, "'$' is no label"),
    ("i_j", 1, "'_' is no label"),
    ("i+j", 1, "'+' is no label"),
    ("i*", 1, "'*' is no label"),
    ("ij;jk", 2, "';' is no label"),
    ("i]j", 1, "']' without '['"),
    ("ij,[left", 3, "'[' is never closed"),
    ("[left,jk->ik", 0, "'[' is never closed"),
    ("i[]", 1, "no name between '[' and ']'"),
    ("i[  ]", 1, "no name between '[' and ']'"),
    ("[i[j]]", 2, "'[' inside a name; write '\\[' for the character"),
    ("[a\\]", 0, "'[' is never closed"),
    ("[a\n]", 2, "'\\n' in a name"),
    ("[left]i->[right]", 9, "output label 'right' is in no operand; labels of the operands: 'left', 'i'"),
    ("[a],[b])", 7, "')' without '('"),
    ("[a]([b],[c])", 3, "'(' directly after a label"),
    ("([a],[b])[c]", 9, "'[' directly after ')'"),
    ("[a]->[a]->", 8, "a second '->'"),
    ("[a].->", 3, "stray '.'"),
    ("i\0", 1, "is no label"),
    ("i\ud800", 1, "is no label"),
    ("i,j->i&", 6, "'&' is no label"),
    ("i->j->k", 4, "a second '->'"),
    ("->->", 2, "a second '->'"),
    ("i-j", 1, "a lone '-'"),
    ("i>j", 1, "a lone '>'"),
    ("i>-j", 2, "a lone '-'"),
    ("i-->j", 1, "a lone '-'"),
    ("i->>j", 3, "a lone '>'"),
    (".i->i", 0, "stray '.'; an ellipsis is three dots"),
    ("i..->i", 1, "stray '.'"),
    ("i....->i", 1, "stray '.'"),
    ("i......->i", 1, "stray '.'"),
    ("...i...->", 4, "a second '...' in one operand"),
    ("...i->...i...", 10, "a second '...' in one operand"),
    ("i.. .->i", 1, "stray '.'"),
    ("ij,jk->i,k", 8, "',' in the output"),
    ("ij->(ij)", 4, "'(' in the output"),
    ("(ij,jk->ik", 0, "'(' is never closed"),
    ("((ij),jk", 0, "'(' is never closed"),
    ("ij),jk->ik", 2, "')' without '('"),
    ("i(j,k)->ijk", 1, "'(' directly after a label"),
    ("(i,j)k->ijk", 5, "'k' directly after ')'"),
    ("(i,j)(k,l)", 5, "'(' directly after ')'"),
    ("(i,j)...", 5, "'.' directly after ')'"),
]


@pytest.mark.parametrize(("text", "column", "message"), MALFORMED)
def test_a_malformed_notation_is_refused_with_a_caret(text: str, column: int, message: str) -> None:
    with pytest.raises(SubscriptsError) as caught:
        parse(text)

    assert message in str(caught.value)
    assert caught.value.column == column
    assert str(caught.value).splitlines()[-1] == " " * (column + 2) + "^"
    assert isinstance(caught.value, ValueError)
    assert isinstance(caught.value, TensorError)


@given(st.text(alphabet="ij.,->() %[]\\", max_size=14))
def test_nothing_but_our_errors_escapes(text: str) -> None:
    try:
        parse(text)
    except SubscriptsError as error:
        assert str(error).startswith("einsum: ")


def test_a_long_notation_is_cut_around_the_caret() -> None:
    text = ",".join("ab" for _ in range(500)) + ",a%," + ",".join("ab" for _ in range(500))

    with pytest.raises(SubscriptsError) as caught:
        parse(text)

    _, shown, marks = str(caught.value).splitlines()
    assert len(shown) < 80
    assert shown.strip().startswith("…")
    assert shown.strip().endswith("…")
    assert shown[marks.index("^")] == "%"


def test_the_caret_counts_the_columns_of_wide_characters() -> None:
    assert pointed("m", "字%", [1]).splitlines()[-1] == "    ^"
    for text in ("i\u0301%", "a\u0302\u0323%", "b\u20dd%"):  # marks are drawn onto the letter before them
        assert pointed("m", text, [len(text) - 1]).splitlines()[1:] == [f"  {text}", "   ^"]
    assert pointed("m", "字\u0301a%", [1, 3]).splitlines()[-1] == "  ^  ^"


def test_nesting_has_no_depth_limit() -> None:
    depth = 5000

    assert parse("(" * depth + "i" + ",i)" * depth + "->i").order is not None


def test_interleaved_labels_may_be_any_hashable_objects() -> None:
    lists, operands = split_interleaved("einsum", ["A", ("left", 1), "B", [1, None], ["left", None]])
    notation = number_labels(lists)

    assert operands == ("A", "B")
    assert notation.inputs == ((0, 1), (1, 2))
    assert notation.output == (0, 2)
    assert notation.text == "[left]1,1[None]->[left][None]"


def test_names_in_brackets_are_labels_beside_letters() -> None:
    notation = parse("[left bond] [right bond], [right bond] x -> [left bond] x")

    assert notation.names == ("left bond", "right bond", "x")
    assert notation.inputs == ((0, 1), (1, 2))
    assert notation.output == (0, 2)
    assert parse("[i]j,[j]k->i[k]").inputs == parse("ij,jk->ik").inputs
    assert parse("[->],[,]->[,]").names == ("->", ",")
    assert parse("[b][a],[a]c").output == (0, 2)  # sorted by name
    assert parse("...[left],([left]i,i[right])->...[right]").order == ((1, 2), (0, 3))
    assert parse("[...]...->...").names == ("...",)


NAMES = st.lists(
    st.text(
        st.characters(exclude_categories=("C", "Zl", "Zp")) | st.sampled_from("[]\\ ,.->()ij"), min_size=1, max_size=6
    ),
    min_size=1,
    max_size=5,
    unique=True,
).filter(lambda names: all(name.isprintable() for name in names))


@given(NAMES, st.data())
def test_what_is_written_reads_as_what_it_was(names: list[str], data: st.DataObject) -> None:
    labels = st.lists(st.sampled_from(names), max_size=4)
    inputs = data.draw(st.lists(labels, min_size=1, max_size=4))
    used = sorted({name for term in inputs for name in term})
    output = data.draw(st.lists(st.sampled_from(used), max_size=3)) if used else []
    lists = tuple(map(tuple, inputs)), tuple(output)
    notation = number_labels(lists)  # type: ignore[arg-type]

    again = parse(notation.text)
    assert (again.inputs, again.output, again.names) == (notation.inputs, notation.output, notation.names)
    assert again.columns == notation.columns
    assert [start for start, term in zip(again.starts, again.inputs, strict=True) if term] == [
        start for start, term in zip(notation.starts, notation.inputs, strict=True) if term
    ]


def test_a_plan_shows_what_can_be_read_again() -> None:
    text = "[left bond]i...,i[right bond]...,[right bond]->[left bond]..."
    shapes = (2, 3, 4), (3, 5, 4), (5,)
    found = plan(text, *shapes)

    assert found.subscripts == "[left bond]i[...0],i[right bond][...0],[right bond]->[left bond][...0]"
    again = plan(found.subscripts, *shapes)
    assert [(step.subscripts, step.shape) for step in again.steps] == [
        (step.subscripts, step.shape) for step in found.steps
    ]
    assert all(parse(step.subscripts).names for step in found.steps)


def test_a_caret_points_at_a_long_name() -> None:
    with pytest.raises(ExtentError) as caught:
        plan("[left bond]i,i[right bond]->[left bond]", (2, 3), (4, 5))
    assert "label 'i' has extent 3 in operand 0 '[left bond]i'" in str(caught.value)
    assert str(caught.value).splitlines()[-1] == "  " + " " * 11 + "^ ^"
    with pytest.raises(SubscriptsError) as unknown:
        number_labels(((("left", "i"),), ("i", "right")))
    assert str(unknown.value).splitlines()[-2:] == ["  [left]i->i[right]", "  " + " " * 10 + "^"]


def test_interleaved_integers_follow_the_implicit_rule() -> None:
    assert number_labels((((7, 3), (3, 5)), None)).output == (2, 0)


def test_labels_whose_names_cannot_be_printed_are_shown_in_ascii() -> None:
    notation = number_labels(((("a\nb", "", frozenset(), "é"),), ("é",)))
    assert notation.names == (r"'a\nb'", "''", "frozenset()", "é")
    assert parse(notation.text).names == notation.names


class Alike:
    """Labels that all print the same."""

    def __repr__(self) -> str:
        return "L"


def test_labels_that_print_alike_are_told_apart() -> None:
    assert number_labels((((1, "1"),), (1, "1"))).names == ("1 (int)", "1")
    x, y = Alike(), Alike()
    labels: list[Any] = [x, "L", y, "k", "L (Alike) 2", "L (Alike)", "", "''"]
    notation = number_labels(((tuple(labels),), ()))

    assert notation.names == (
        "L (Alike) 1", "L", "L (Alike) 3", "k", "L (Alike) 2", "L (Alike)", "'' (str)", "''",
    )  # fmt: skip
    assert parse(notation.text).names == notation.names
    found = [None, 1, None, 3, 4, 5, 6, 7]
    assert [label_number(label, notation.names) for label in labels] == found
    assert [label_number(name, notation.names) for name in notation.names] == [*range(8)]


def test_a_label_is_taken_as_it_was_given_before_as_it_is_shown() -> None:
    found = plan((2, 3), (1, "1"), ())
    assert found.with_slices([1]).sliced == ((0, 1),)
    assert found.with_slices(["1"]).sliced == ((1, 1),)
    quoted = plan("[k]['k']->", (2, 3))
    assert quoted.with_slices(["k"]).sliced == ((0, 1),)
    assert quoted.with_slices(["'k'"]).sliced == ((1, 1),)


def test_labels_that_print_alike_have_marginals_of_their_own_and_plans_that_can_be_read() -> None:
    x, y = Alike(), Alike()
    a, b = tr.ones((2, 2)), tr.ones((2, 3))
    found = plan(a, (x, "k"), b, ("k", y), (x, y))

    assert Plan.from_json(found.to_json()) == found
    assert [marginal.shape[0] for marginal in found.marginals(a, b).values()] == [2, 2, 3]
    with pytest.raises(ArgumentError, match=r"with_slices: found label L; accepted: 'L \(Alike\) 1', 'k', 'L \("):
        found.with_slices([y])
    assert found.with_slices("L (Alike) 2").sliced == ((2, 1),)


@pytest.mark.parametrize("text", ["[...0]...->...", "[...1]...[...0]->...[...0]", "[...0]i...->..."])
def test_axes_of_an_ellipsis_have_names_that_no_label_has(text: str) -> None:
    found = plan(text, (2, 3, 4))

    assert len({*found.names}) == 3
    assert Plan.from_json(found.to_json()) == found
    assert {name: x.shape[0] for name, x in found.marginals(tr.ones((2, 3, 4))).items()} == dict(
        zip(found.names, found.extents, strict=True)
    )


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ((1.0, 2.0), (1, 2)),
        ((True, 2), (1, 2)),
        ((np.int64(1), 2), (1, 2)),
        (((1.0,), 2), ((1,), 2)),
        ((1, 2), (1.0, 2)),
    ],
)
def test_names_of_labels_do_not_depend_on_earlier_calls(first: tuple[Any, ...], second: tuple[Any, ...]) -> None:
    x = tr.ones((2, 3))
    for labels in (first, second, first):
        found = plan(x, labels, ())
        assert found.names == tuple(map(repr, labels))
        assert found.with_slices([labels[0]]).slices.labels == (repr(labels[0]),)
        assert einsum(x, labels, labels[::-1]).shape == (3, 2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["A"], "found no notation"),
        (["A", "ij"], r"labels of operand 0: found str; accepted: a list or tuple"),
        (["A", [0], "B", 3], r"labels of operand 1: found int"),
        (["A", [0], 0], r"labels of the output: found int"),
        (["A", [[0]]], r"labels of operand 0: \[0\] is not hashable"),
    ],
)
def test_malformed_interleaved_arguments_are_refused(arguments: list[object], message: str) -> None:
    with pytest.raises(SubscriptsError, match=message):
        split_interleaved("einsum", arguments)


@pytest.mark.parametrize("labels", ["ij", 3, None, [[0]], [{}]])
def test_labels_of_a_wrong_type_are_a_type_error_too(labels: object) -> None:
    with pytest.raises(TypeError):
        split_interleaved("einsum", ["A", labels])


@pytest.mark.parametrize(
    ("lists", "message"),
    [
        ((((0, 1),), (2,)), r"output label 2 is in no operand; labels of the operands: \[0, 1\]"),
        ((((0, "a"),), None), "have no common order; give the output's labels"),
        ((((..., 0, ...),), (0,)), "a second '...' in one operand"),
    ],
)
def test_malformed_interleaved_labels_are_refused(lists: object, message: str) -> None:
    with pytest.raises(SubscriptsError, match=message):
        number_labels(lists)  # type: ignore[arg-type]


@pytest.mark.parametrize("label", ["\xa0", "\x85", "\u1680", "\u2003", "\u2028", "\u3000", "\u05ff", "\ue000"])
def test_every_character_beyond_ascii_is_a_label_bare_and_in_brackets(label: str) -> None:
    assert parse(f"a{label},{label}->a").inputs == ((0, 1), (1,))
    assert parse(f"a[{label}],\t{label} \n-> a").inputs == ((0, 1), (1,))
    assert parse(f"[{label}x{label}]i,i").names == (f"{label}x{label}", "i")
    assert parse(f"{shown(label)}{shown(label * 2)}").names == (label, label * 2)


@pytest.mark.parametrize("call", [einsum, plan])
def test_labels_without_an_order_are_refused_in_the_name_of_what_was_called(call: Any) -> None:
    x = tr.ones((2,))
    with pytest.raises(SubscriptsError, match=f"^{call.__name__}: the labels of .* have no common order"):
        call(x, (None,), x, (1j,))
