"""What a notebook shows of a plan: its picture, where matplotlib is there to draw it, and its table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tensor_einsum.errors import PlotError
from tensor_einsum.pictures.drawing import inline_svg, require_matplotlib
from tensor_einsum.pictures.tree import tree_of
from tensor_einsum.steps.report import as_html, report_of_plan

if TYPE_CHECKING:
    from tensor_einsum.plans.plan import Plan


def page(plan: Plan, max_steps: int) -> str:
    """HTML of a plan; the table leaves out the middle of one with more steps.

    >>> from tensor_einsum import plan
    >>> "of all flops" in page(plan("ij,jk", (2, 3), (3, 4)), 40)
    True
    """
    table = as_html(report_of_plan(plan, max_steps))
    try:
        require_matplotlib()
    except PlotError:
        return table
    return f"<div>{inline_svg(tree_of(plan), plan.notation)}</div>{table}"
