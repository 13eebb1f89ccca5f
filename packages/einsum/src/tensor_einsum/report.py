"""A plan as text: totals first, then one line per step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tensor_core.formatting import readable_bytes

if TYPE_CHECKING:
    from tensor_einsum.plan import Plan

_WIDEST: Final = 48  # characters of subscripts and shapes shown per line


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
    dtypes = ", ".join(dict.fromkeys(dtype.name for dtype in plan.dtypes))
    largest = max((step.bytes for step in plan.steps), default=0)
    text = _cut(plan.notation, 100)
    lines = [
        text if text.strip() else repr(text),
        f"  operands              {len(plan.shapes)}, {dtypes}",
        f"  result                {plan.output_dtype.name} {plan.output_shape}",
        *_sliced(plan),
        f"  flops                 {_number(plan.flops)}",
        f"  largest intermediate  {_number(plan.largest_intermediate)} elements, {readable_bytes(largest)}",
        f"  peak memory           {readable_bytes(plan.peak_bytes)}",
        "",
    ]
    header = ("result", "operands", "kind", "subscripts", "shape", "flops", "bytes")
    steps = list(enumerate(plan.steps, len(plan.shapes)))
    head, skipped = len(steps), 0
    if max_steps is not None and len(steps) > max_steps:
        head = max(max_steps, 2) // 2
        tail = max(max_steps, 2) - head
        skipped = len(steps) - head - tail
        steps = steps[:head] + steps[-tail:]
    rows = [
        (
            str(number),
            " ".join(map(str, step.operands)),
            step.kind,
            _cut(step.subscripts, _WIDEST),
            _cut(str(step.shape), _WIDEST),
            _number(step.flops),
            readable_bytes(step.bytes) if step.kind != "squeeze" else "view",
        )
        for number, step in steps
    ]
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    left = {2, 3, 4}
    for place, row in enumerate([header, *rows]):
        if skipped and place == head + 1:
            lines.append(f"… {skipped} more steps …")
        cells = [
            cell.ljust(width) if at in left else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def _sliced(plan: Plan) -> list[str]:
    """How many slices there are, and of which labels; the steps are those of one."""
    if not plan.sliced:
        return []
    slices = plan.slices
    shown = [
        f"{label} by {extent}" if extent > 1 else label
        for label, extent in zip(slices.labels, slices.extents, strict=True)
    ]
    return [f"  slices                {_number(slices.count)}, of {_cut(', '.join(shown), 60)}"]


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
