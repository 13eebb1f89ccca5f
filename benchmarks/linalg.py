"""Linear algebra on batches of matrices of every dtype, small and large, and on one; with errors beside the times.

Our batch is trailing, [N, N, batch]; peers get the same numbers with a leading batch, contiguous. There are many rows:
``--only "8×8 F64"`` takes those of one size and dtype.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import Final, NamedTuple

from benchmarks.rows import BEST, Limit, Operand, Row, Target

CONTENDERS: Final = ("ours", "numpy", "scipy", "torch", "jax")
SECONDS: Final = 1.0
DTYPES: Final = ("F64", "F32", "C64", "C32")
BATCHES: Final = {
    2: 40_000,
    3: 20_000,
    4: 10_000,
    6: 10_000,
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


class _Operation(NamedTuple):
    kind: str  # of the matrix
    cubes: float  # leading operations over n³ (Golub and Van Loan)
    results: float  # matrices
    bounds: Mapping[int, tuple[float, float]]
    right: bool = False  # a column of right-hand sides
    graded: str = ""  # the kind whose small values are looked at


OPERATIONS: Final[Mapping[str, _Operation]] = {
    "svd": _Operation("signed", 21.0, 2.0, _FACTORS, graded="graded"),
    "qr": _Operation("signed", 8 / 3, 2.0, _FACTORS),
    "eigh": _Operation("symmetric", 9.0, 1.0, _FACTORS, graded="graded definite"),
    "cholesky": _Operation("definite", 1 / 3, 1.0, _SYSTEMS),
    "solve": _Operation("general", 2 / 3, 0.0, _SYSTEMS, right=True),
    "inv": _Operation("general", 2.0, 1.0, _SYSTEMS),
    "det": _Operation("general", 2 / 3, 0.0, _SYSTEMS),
    "triangular_solve": _Operation("lower", 0.0, 0.0, _SYSTEMS, right=True),
}


def rows(folder: Path | None = None) -> Iterator[Row]:
    """All rows; there is nothing to read from a folder."""
    for (extent, batch), dtype, name in product(BATCHES.items(), DTYPES, OPERATIONS):
        kind, cubes, results, bounds, has_right, graded = OPERATIONS[name]
        if name == "det" and extent > 300:  # beyond the range of all dtypes
            continue
        is_narrow, is_complex = dtype[1:] == "32", dtype[0] == "C"
        # the determinants of larger matrices leave the range of F32
        matrix = Operand((batch, extent, extent), "signed" if name == "det" and is_narrow else kind, dtype)
        operands = (matrix, Operand((batch, extent, 1), "signed", dtype)) if has_right else (matrix,)
        alone, shared = bounds[min(most for most in bounds if most >= extent)]
        against = ("numpy", "scipy") if batch == 1 else (BEST,)  # of one matrix PyTorch's MKL is only shown
        targets = tuple(Target(peer, {1: alone, 2: shared}) for peer in against)
        moved = sum(operand.bytes for operand in operands) + int(results * matrix.bytes)
        limit = Limit(moved=moved, flops=(4 if is_complex else 1) * cubes * extent**3 * batch)
        yield Row(
            f"{name} {extent}×{extent}×{batch} {dtype}",
            f"{extent}×{extent} {dtype}",
            name,
            operands,
            {},
            targets,
            limit,
            tolerance=1e-2 if is_narrow else 1e-9,
            graded=graded if extent <= 32 else "",
        )
