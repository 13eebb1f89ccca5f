"""Sums, means, spreads, norms and maxima of F64 operands along every axis; no targets."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from benchmarks.rows import Limit, Operand, Row

CONTENDERS: Final = ("ours", "numpy", "torch", "jax")
FUNCTIONS: Final = ("sum", "mean", "var", "std", "norm", "max")
SHAPES: Final[tuple[tuple[int, ...], ...]] = ((200, 200, 200), (3_000_000, 3))
"""Row-major; in our words the first axis is the last."""


def rows(folder: Path | None = None) -> Iterator[Row]:
    """All rows; there is nothing to read from a folder."""
    for function in FUNCTIONS:
        for shape in SHAPES:
            operand = Operand(shape)
            # A reduction only reads: its limit is the copy that moves as many bytes.
            limit = Limit(moved=operand.bytes)
            for axis in (*reversed(range(len(shape))), None):
                where = "all axes" if axis is None else f"axis {len(shape) - 1 - axis}"
                name = f"{function} of {'×'.join(map(str, reversed(shape)))}, {where}"
                yield Row(name, function, "reduction", (operand,), {"function": function, "axis": axis}, (), limit)
