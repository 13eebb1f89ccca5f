"""The fixed cost of calls, by processes in turns: what ``overhead`` shows in one process, beside an earlier checkout.

Each row is a statement on tiny operands ``x``, ``y``, ``z``, run many times within a turn; ``o`` takes results of
their shape. A Python call around the statement is part of every contender's time.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from benchmarks.rows import Operand, Row

CONTENDERS: Final = ("ours", "numpy")
CALLS: Final[tuple[tuple[str, tuple[tuple[int, ...], ...]], ...]] = (
    ("add(x, y)", ((2, 2), (2, 2))),
    ("add(x, 2.0)", ((2, 2),)),
    ("x + y", ((2, 2), (2, 2))),
    ("x * 2.0", ((2, 2),)),
    ("exp(x)", ((2, 2),)),
    ("add(x, y, out=o)", ((2, 2), (2, 2))),
    ("matmul(x, y)", ((4, 4), (4, 4))),
    ("einsum('ij,jk->ik', x, y)", ((4, 4), (4, 4))),
    ("einsum('ij,jk,kl->il', x, y, z)", ((4, 4), (4, 4), (4, 4))),
    ("x.T", ((4, 4),)),
    ("x[1:3]", ((4, 4),)),
    ("sum(x, axis=1)", ((4, 4),)),
    ("var(x)", ((4, 4),)),
    ("where(x > 0.5, x, y)", ((4, 4), (4, 4))),
    ("x + y  # broadcast", ((4, 4), (4,))),
    ("exp(x)  # of 1,000", ((1000,),)),
)


def rows(folder: Path | None = None) -> Iterator[Row]:
    """All rows; there is nothing to read from a folder."""
    for statement, shapes in CALLS:
        operands = tuple(Operand(shape) for shape in shapes)
        yield Row(f"`{statement}`", "calls", "call", operands, {"statement": statement}, tolerance=1e-12)
