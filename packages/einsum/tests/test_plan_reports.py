"""Plans and sweeps as tables: text for terminals, HTML for notebooks."""

from __future__ import annotations

import itertools
import re
from html.parser import HTMLParser
from typing import Any

import pytest

import tensor_einsum.plans.plan as plan_module
from tensor_core import F64
from tensor_core.errors import ArgumentError
from tensor_einsum import Plan, plan
from tensor_einsum.search.options import DEFAULT
from tensor_einsum.steps.steps import plain_steps
from tensor_runtime.algebras import MAX_PLUS


class Cells(HTMLParser):
    """What a browser would show, cell by cell, and whether every tag is closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.rows: list[list[str]] = []
        self.caption = ""
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag == "br":
            self.caption += "\n"
            return
        self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "caption" in self.open:
            self.caption += data
        elif self.open[-1] in ("td", "th"):
            self.rows[-1][-1] += data
        else:
            raise AssertionError(f"text outside of cells: {data!r}")


def chain(count: int) -> Plan:
    names = [chr(300 + k) for k in range(count + 1)]
    return plan(",".join(a + b for a, b in itertools.pairwise(names)), *[(2, 2)] * count)


def test_html_shows_what_the_text_shows() -> None:
    found = plan("ij,jk,kl->il", (2, 3), (3, 4), (4, 5), optimize=False)
    page, text = Cells(found._repr_html_().split("</div>")[1]), found.table()
    totals, steps = text.split("\n\n")

    assert page.rows == [re.split(r"  +", line.strip()) for line in steps.splitlines()]
    assert page.caption.splitlines() == [re.sub(r"  +", ": ", line.strip()) for line in totals.splitlines()]


def test_html_escapes_labels() -> None:
    found = plan((2,), ("<script>alert(1)</script>",), (2,), ("a&b\"'",), ())

    for shown in (found, found.environments_plan(), found.marginals_plan()):
        html = shown._repr_html_()
        assert "<script" not in html
        assert "&lt;script&gt;" in html
        assert "a&amp;b" in html


def test_the_middle_of_a_long_plan_is_left_out() -> None:
    page = Cells(chain(100)._repr_html_().split("</div>")[1])

    assert [row for row in page.rows if len(row) == 1] == [["… 59 more steps …"]]
    assert len(page.rows) == 1 + 40 + 1
    assert [len(row) for row in page.rows].index(1) == 21


@pytest.mark.parametrize("most", [-3, 0, 1, 2])
def test_at_least_the_first_and_the_last_step_are_shown_and_each_once(most: int) -> None:
    alone, several = chain(2), chain(5)

    assert alone.table(most) == alone.table()
    _, *shown = several.table(most).split("\n\n")[1].splitlines()
    _, first, *_, last = several.table().split("\n\n")[1].splitlines()
    assert [line.split()[0] for line in shown] == [first.split()[0], "…", last.split()[0]]
    assert shown[1] == "… 2 more steps …"


def test_a_sweep_is_shown_like_a_plan() -> None:
    sweep = chain(3).environments_plan(which=[0, 2])
    text = str(sweep)

    assert "environments of  0 2" in text
    assert f"flops            {sweep.flops}; {sweep.plan.flops} of one contraction" in text
    assert len(Cells(sweep._repr_html_()).rows) == 1 + len(sweep.steps)
    assert "marginals of  j i" in str(plan("ij->", (2, 3)).marginals_plan("ji"))
    assert "with a cotangent" in str(chain(3).environments_plan(cotangent=True))
    assert repr(sweep) == f"<SweepPlan of 2 results: {len(sweep.steps)} steps, {sweep.flops:.3g} flops, peak 160 B>"


def test_an_algebra_and_conjugated_operands_are_shown_where_they_are_unusual() -> None:
    shapes = (2, 3), (3, 4)
    assert "  algebra               max_plus\n" in str(plan("ij,jk->ik", *shapes, algebra=MAX_PLUS))
    assert "  conjugated operands   0 1\n" in str(plan("ij,jk->ik", *shapes, dtype="C64", conj=(0, 1)))
    plain = str(plan("ij,jk->ik", *shapes, dtype="C64"))
    assert "algebra" not in plain
    assert "conjugated" not in plain


def test_a_number_of_steps_that_is_none_is_refused() -> None:
    found = plan("ij,jk->ik", (2, 3), (3, 4))
    for table in (found.table, plan("ij,j->", (2, 3), (3,)).environments_plan().table):
        with pytest.raises(ArgumentError, match="table: max_steps is 'abc'; accepted: an int"):
            table("abc")  # type: ignore[arg-type]


def test_steps_are_built_when_they_are_first_read(monkeypatch: pytest.MonkeyPatch) -> None:
    built = []

    def noted(*arguments: Any) -> Any:
        built.append(0)
        return plain_steps(*arguments)

    monkeypatch.setattr(plan_module, "plain_steps", noted)
    made = plan_module.make_plan("plan", "ij,jk,kl", ((2, 3), (3, 4), (4, 5)), [F64] * 3, DEFAULT)

    assert (made.path, made.output_shape, built) == (((0, 1), (0, 1)), (2, 5), [])
    assert (made.flops, made.largest_intermediate, made.intermediate_bytes) == (128, 10, 144)
    assert [step.subscripts for step in made.steps] == ["ij,jk->ik", "kl,ik->il"]
    assert built == [0]


def test_a_plan_has_no_attributes_but_its_own() -> None:
    with pytest.raises(AttributeError, match="'Plan' object has no attribute 'cost'"):
        plan("ij,jk", (2, 3), (3, 4)).cost  # type: ignore[attr-defined]


def test_a_plan_of_more_elements_than_text_of_integers_may_show_is_shown() -> None:
    letters = [chr(192 + number) for number in range(300)]
    huge = plan(f"{','.join(letters)}->{''.join(letters)}", *[(1 << 60,)] * 300, optimize=False)

    assert "largest intermediate 2^18000 elements, 2^18003 bytes of intermediates" in repr(huge)
