"""Linear algebra on batches of small F64 matrices; targets are for 4×4 alone, the others are there to be known.

Our batch is trailing, [N, N, batch]; peers get the same numbers with a leading batch, contiguous.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from benchmarks.rows import BEST, Limit, Operand, Row, Target

CONTENDERS: Final = ("ours", "numpy", "scipy", "torch", "jax")
BATCHES: Final = {4: 10_000, 8: 10_000, 16: 1_000, 64: 100}
"""Batch size by extent."""
OPERATIONS: Final[tuple[tuple[str, str, float, float, float], ...]] = (
    ("svd", "signed", 21.0, 2.0, 0.15),
    ("qr", "signed", 8 / 3, 2.0, 0.15),
    ("eigh", "symmetric", 9.0, 1.0, 0.15),
    ("cholesky", "definite", 1 / 3, 1.0, 0.5),
    ("solve", "general", 2 / 3, 0.0, 0.5),
    ("inv", "general", 2.0, 1.0, 0.5),
    ("det", "general", 2 / 3, 0.0, 0.5),
)
"""Name, kind of the matrix, leading operations over n³ (Golub and Van Loan), result matrices, bound for 4×4."""


def rows(folder: Path | None = None) -> Iterator[Row]:
    """All rows; there is nothing to read from a folder."""
    for extent, batch in BATCHES.items():
        for operation, kind, cubes, results, bound in OPERATIONS:
            matrix = Operand((batch, extent, extent), kind)
            operands = (matrix, Operand((batch, extent, 1), "signed")) if operation == "solve" else (matrix,)
            targets = (Target(BEST, {1: bound, 2: bound}),) if extent == 4 else ()
            moved = sum(operand.bytes for operand in operands) + int(results * matrix.bytes)
            limit = Limit(moved=moved, flops=cubes * extent**3 * batch)
            name = f"{operation} {extent}×{extent}×{batch}"
            yield Row(name, f"{extent}×{extent}", operation, operands, {}, targets, limit, tolerance=1e-10)
