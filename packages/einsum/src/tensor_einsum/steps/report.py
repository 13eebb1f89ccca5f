"""A plan as text or HTML: totals first, then one line per step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from tensor_core.formatting import readable_bytes
from tensor_einsum.steps.steps import VIEWS, Step
from tensor_runtime.algebras import PLUS_TIMES
from tensor_runtime.dispatch.arguments import whole

if TYPE_CHECKING:
    from tensor_einsum.derivatives.sweep import SweepPlan
    from tensor_einsum.plans.plan import Plan

_WIDEST: Final = 48  # characters of subscripts and shapes shown per line
_FEWEST: Final = 2  # steps shown of a plan that has more
_HEADER: Final = ("result", "operands", "kind", "subscripts", "shape", "flops", "bytes")
_LEFT: Final = frozenset({"kind", "subscripts", "shape"})  # columns of words; the others are of numbers


class Report(NamedTuple):
    """What is shown of a plan, before it is text."""

    title: str
    totals: list[tuple[str, str]]
    rows: Sequence[tuple[str, ...]]  # one for each step shown
    skipped: int  # steps left out
    head: int  # rows before those left out


def rounded(number: int) -> str:
    """Three digits of a count, however large.

    >>> rounded(48), rounded(12_345_678), rounded(2**4000)
    ('48', '1.23e+07', '2^4000')
    """
    return f"{number:.3g}" if number < 10**300 else f"2^{number.bit_length() - 1}"


def counted(number: int) -> str:
    """All digits of a count that memory could have, and three of what is beyond it.

    >>> counted(12_345_678), counted(2**63)
    ('12345678', '9.22e+18')
    """
    return str(number) if number < 1 << 63 else rounded(number)


def plan_table(plan: Plan, max_steps: int | None = None) -> str:
    """Totals, and a row per step; ``max_steps`` leaves out the middle of a long plan.

    Operands are numbered from 0, and each step's result takes the next number.

    >>> from tensor_einsum import plan
    >>> print(plan_table(plan("ij,jk->ki", (2, 3), (3, 4))))
    ij,jk->ki
      operands              2, F64
      result                F64 (4, 2)
      flops                 48
      largest intermediate  8 elements, 64 B
      peak memory           64 B
    <BLANKLINE>
    result  operands  kind      subscripts  shape   flops  bytes
         2       0 1  contract  ij,jk->ki   (4, 2)     48   64 B
    """
    return as_text(report_of_plan(plan, max_steps))


def report_of_plan(plan: Plan, max_steps: int | None) -> Report:
    """What is shown of a plan.

    >>> from tensor_einsum import plan
    >>> report_of_plan(plan("ij->", (2, 3)), None).totals[1]
    ('result', 'F64 ()')
    """
    dtypes = ", ".join(dict.fromkeys(dtype.name for dtype in plan.dtypes))
    largest = max((step.bytes for step in plan.steps), default=0)
    totals = [
        ("operands", f"{len(plan.shapes)}, {dtypes}"),
        ("result", f"{plan.output_dtype.name} {plan.output_shape}"),
        *_arithmetic(plan),
        *_sliced(plan),
        ("flops", _number(plan.flops)),
        ("largest intermediate", f"{_number(plan.largest_intermediate)} elements, {readable_bytes(largest)}"),
        ("peak memory", readable_bytes(plan.peak_bytes)),
    ]
    text = _cut(plan.notation, 100)
    return _report(text if text.strip() else repr(text), totals, plan.steps, len(plan.shapes), max_steps)


def _arithmetic(plan: Plan) -> Iterator[tuple[str, str]]:
    """What is added and multiplied with, where it is not what everybody expects."""
    if plan.algebra is not PLUS_TIMES:
        yield "algebra", plan.algebra.name
    if plan.conj:
        yield "conjugated operands", _cut(" ".join(map(str, plan.conj)), 60)


def report_of_sweep(sweep: SweepPlan, max_steps: int | None) -> Report:
    """What is shown of a sweep.

    >>> from tensor_einsum import plan
    >>> report_of_sweep(plan("ij,j->i", (2, 3), (3,)).environments_plan(cotangent=True), None).totals[0]
    ('environments of', '0 1, with a cotangent')
    """
    plan, goal = sweep.plan, sweep.goal
    kinds = [
        ("environments of", " ".join(map(str, goal.operands)) + (", with a cotangent" if goal.cotangent else "")),
        ("marginals of", " ".join(plan.names[label] for label in goal.labels)),
    ]
    totals = [(name, _cut(text, 60)) for name, text in kinds if text]
    again = f", {_number(sweep.repeated)} done again" if sweep.repeated else ""
    each = f", for each of {_number(sweep.slices)} slices" if sweep.slices > 1 else ""
    each += f", {_number(len(sweep.shared))} of them once" if sweep.shared else ""
    totals += [
        ("steps", f"{_number(len(sweep.steps))}{again}{each}"),
        ("flops", f"{_number(sweep.flops)}; {_number(plan.flops)} of one contraction"),
        (
            "peak memory",
            f"{readable_bytes(sweep.peak_bytes)}; {readable_bytes(plan.peak_bytes)} of one contraction",
        ),
    ]
    text = _cut(plan.notation, 100)
    return _report(text if text.strip() else repr(text), totals, sweep.steps, sweep.first_slot, max_steps)


def as_text(report: Report) -> str:
    """Lines for a terminal.

    >>> print(as_text(Report("i->", [("flops", "2")], [("1", "0", "unary_einsum", "i->", "()", "2", "8 B")], 0, 1)))
    i->
      flops  2
    <BLANKLINE>
    result  operands  kind          subscripts  shape  flops  bytes
         1         0  unary_einsum  i->         ()         2    8 B
    """
    names = max(len(name) for name, _ in report.totals)
    lines = [report.title, *[f"  {name.ljust(names)}  {text}" for name, text in report.totals], ""]
    widths = [max(map(len, column)) for column in zip(_HEADER, *report.rows, strict=True)]
    for place, row in enumerate([_HEADER, *report.rows]):
        if report.skipped and place == report.head + 1:
            lines.append(f"… {report.skipped} more steps …")
        cells = [
            cell.ljust(width) if column in _LEFT else cell.rjust(width)
            for column, cell, width in zip(_HEADER, row, widths, strict=True)
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def as_html(report: Report) -> str:
    """A table for notebooks, without styles of its own but the sides of cells; whatever a user wrote is escaped.

    >>> as_html(Report("<i>", [("flops", "2")], [], 0, 0))[:62]
    '<table><caption style="text-align:left"><code>&lt;i&gt;</code>'
    """
    from html import escape

    sides = ["left" if column in _LEFT else "right" for column in _HEADER]

    def line(tag: str, cells: tuple[str, ...]) -> str:
        written = [
            f'<{tag} style="text-align:{side}">{escape(cell)}</{tag}>' for cell, side in zip(cells, sides, strict=True)
        ]
        return f"<tr>{''.join(written)}</tr>"

    totals = "".join(f"<br>{escape(name)}: {escape(text)}" for name, text in report.totals)
    rows = [line("td", row) for row in report.rows]
    if report.skipped:
        rows.insert(report.head, f'<tr><td colspan="{len(_HEADER)}">… {report.skipped} more steps …</td></tr>')
    return (
        f'<table><caption style="text-align:left"><code>{escape(report.title)}</code>{totals}</caption>'
        f"<thead>{line('th', _HEADER)}</thead><tbody>{''.join(rows)}</tbody></table>"
    )


def _report(
    title: str, totals: list[tuple[str, str]], steps: tuple[Step, ...], first: int, max_steps: int | None
) -> Report:
    numbered = list(enumerate(steps, first))
    head, skipped = len(numbered), 0
    most = head if max_steps is None else max(whole("table", "max_steps", max_steps), _FEWEST)
    if len(numbered) > most:
        head = most // 2
        skipped = len(numbered) - most
        numbered = numbered[:head] + numbered[head + skipped :]
    rows = [
        (
            str(number),
            " ".join(map(str, step.operands)),
            step.kind,
            _cut(step.subscripts, _WIDEST),
            _cut(str(step.shape), _WIDEST),
            _number(step.flops),
            "view" if step.kind in VIEWS else readable_bytes(step.bytes),
        )
        for number, step in numbered
    ]
    return Report(title, totals, rows, skipped, head)


def _sliced(plan: Plan) -> list[tuple[str, str]]:
    """How many slices there are, and of which labels; the steps are those of one."""
    if not plan.sliced:
        return []
    slices = plan.slices
    shown = [
        f"{label} by {extent}" if extent > 1 else label
        for label, extent in zip(slices.labels, slices.extents, strict=True)
    ]
    return [("slices", f"{_number(slices.count)}, of {_cut(', '.join(shown), 60)}")]


def _number(count: int) -> str:
    """An exact number up to a million, and three digits beyond it, also past the range of a float."""
    if count < 10**6:
        return str(count)
    digits = str(count) if count.bit_length() < 10_000 else None
    if digits is None:
        return f"2^{count.bit_length() - 1}"
    return f"{digits[0]}.{digits[1:3]}e{len(digits) - 1}"


def _cut(text: str, width: int) -> str:
    """The text, with its middle left out when it is long."""
    text = " ".join(text.split())
    return text if len(text) <= width else f"{text[: width // 2]}…{text[-(width - width // 2 - 1) :]}"
