"""Numbers as text: counts, norms that no exponent overflows, and tables of both.

Everything returns text in ASCII; nothing here prints.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence


def power_text(count: int) -> str:
    """A count as a power of ten with three digits, however large it is.

    >>> power_text(1234567), power_text(0), power_text(10**400)
    ('1.23e+6', '0', '1.00e+400')
    """
    return "0" if count == 0 else scientific(1.0, math.log10(count), digits=2)


def count_text(count: int, digits: int = 15) -> str:
    """A count in full if it has at most `digits` digits, and as a power of ten otherwise.

    >>> count_text(1048576), count_text(10**20)
    ('1,048,576', '1.00e+20')
    """
    return f"{count:,}" if count < 10**digits else power_text(count)


def scientific(factor: float, log10: float, digits: int = 11) -> str:
    """factor * 10**log10 in scientific notation, also where no float can hold it.

    >>> scientific(1.0, 199.30103)
    '2.00000001997e+199'
    >>> scientific(-2.5, 400.0, digits=3)
    '-2.500e+400'
    """
    if factor == 0:
        return "0"
    exponent = math.floor(log10 + math.log10(abs(factor)))
    mantissa = math.copysign(10 ** (log10 - exponent + math.log10(abs(factor))), factor)
    text = f"{mantissa:.{digits}f}"
    if abs(float(text)) >= 10:  # 9.999… rounded up
        text, exponent = f"{mantissa / 10:.{digits}f}", exponent + 1
    return f"{text}e{exponent:+d}"


def table(rows: Iterable[Sequence[str]], align: str) -> str:
    """Rows of cells as lines of aligned columns, two blanks apart and indented by two.

    Args:
        rows: equally long rows.
        align: `<` or `>` for each column.

    >>> print(table([("steps", "3"), ("flops", "1,200")], "<>"))
      steps      3
      flops  1,200
    """
    cells = [list(row) for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = ("  ".join(f"{cell:{a}{w}}" for cell, a, w in zip(row, align, widths, strict=True)) for row in cells)
    return "\n".join(f"  {line}".rstrip() for line in lines)
