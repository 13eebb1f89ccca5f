"""Networks along the paths that each contender finds by itself in ten seconds; the search is not timed. No targets.

Ours is ``optimize="auto"`` by the clock, for the time of contracting; opt_einsum draws greedy paths, cotengra is its
HyperOptimizer as it comes, in one process.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from benchmarks import drawn, einsum
from benchmarks.einsum import CONTENDERS, REFERENCE
from benchmarks.rows import Row

__all__ = ["CONTENDERS", "REFERENCE", "rows"]

SECONDS: Final = 10.0


def rows(folder: Path | None) -> Iterator[Row]:
    """The networks of a folder that have an order to be found, and those that are drawn."""
    for row in (*einsum.rows(folder), *drawn.rows(folder)):
        if len(row.operands) > 2:
            arguments = {name: value for name, value in row.arguments.items() if name != "path"}
            # Each order rounds differently, and sums of many signs cancel.
            yield row._replace(
                arguments={**arguments, "search_seconds": SECONDS}, limit=None, tolerance=1e-9, check_also=""
            )
