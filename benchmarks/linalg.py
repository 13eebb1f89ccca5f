"""Linear algebra on batches of F64 matrices, small and large, and on one.

Our batch is trailing, [N, N, batch]; peers get the same numbers with a leading batch, contiguous.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from benchmarks.rows import BEST, Limit, Operand, Row, Target

CONTENDERS: Final = ("ours", "numpy", "scipy", "torch", "jax")
BATCHES: Final = {
    2: 40_000,
    4: 10_000,
    8: 10_000,
    12: 2_000,
    16: 1_000,
    24: 500,
    32: 250,
    64: 100,
    100: 1,
    300: 1,
    1000: 1,
}
"""Batch size by extent."""
_FACTORS: Final = {8: (0.10, 0.08), 16: (0.35, 0.25), 64: (0.8, 0.6), 1000: (1.05, 1.05)}
_SYSTEMS: Final = {8: (0.20, 0.15), 16: (0.35, 0.25), 64: (0.8, 0.6), 1000: (1.05, 1.05)}
"""Bounds for one thread and for two, of extents up to each key."""
OPERATIONS: Final[tuple[tuple[str, str, float, float, Mapping[int, tuple[float, float]]], ...]] = (
    ("svd", "signed", 21.0, 2.0, _FACTORS),
    ("qr", "signed", 8 / 3, 2.0, _FACTORS),
    ("eigh", "symmetric", 9.0, 1.0, _FACTORS),
    ("cholesky", "definite", 1 / 3, 1.0, _SYSTEMS),
    ("solve", "general", 2 / 3, 0.0, _SYSTEMS),
    ("inv", "general", 2.0, 1.0, _SYSTEMS),
    ("det", "general", 2 / 3, 0.0, _SYSTEMS),
)
"""Name, kind of the matrix, leading operations over n³ (Golub and Van Loan), result matrices, bounds."""


def rows(folder: Path | None = None) -> Iterator[Row]:
    """All rows; there is nothing to read from a folder."""
    for extent, batch in BATCHES.items():
        for operation, kind, cubes, results, bounds in OPERATIONS:
            matrix = Operand((batch, extent, extent), kind)
            operands = (matrix, Operand((batch, extent, 1), "signed")) if operation == "solve" else (matrix,)
            alone, shared = bounds[min(most for most in bounds if most >= extent)]
            against = ("numpy", "scipy") if batch == 1 else (BEST,)  # of one matrix PyTorch's MKL is only shown
            targets = tuple(Target(peer, {1: alone, 2: shared}) for peer in against)
            moved = sum(operand.bytes for operand in operands) + int(results * matrix.bytes)
            limit = Limit(moved=moved, flops=cubes * extent**3 * batch)
            name = f"{operation} {extent}×{extent}×{batch}"
            yield Row(name, f"{extent}×{extent}", operation, operands, {}, targets, limit, tolerance=1e-10)
