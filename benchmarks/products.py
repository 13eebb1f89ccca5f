"""Stacks of small matrix products, and products of a few columns: what filters, robots and statistics compute.

A row is written as NumPy's users write it, with leading batches. Ours reads the same memory with all axes reversed: the
batch is trailing, and the factors change places. Of stacks *side by side* the batch is the axis that is next in memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from pathlib import Path
from typing import Final

from benchmarks.rows import BEST, Limit, Operand, Row, Target

CONTENDERS: Final = ("ours", "numpy", "torch", "jax")
STACKS, OTHERS = "stacks", "others"
KINDS: Final = {"F64": "uniform", "F32": "uniform", "C64": "signed"}
_BYTES: Final = {"F64": 8, "F32": 4, "C64": 16}
_PRODUCT: Final = {"": "matmul(x, y)", "ours": "linalg.matmul(y, x)"}
_SIDE_BY_SIDE: Final = {
    "": "matmul(x.T, y.T).T",
    "ours": "matmul(x, y)",
    "torch": "matmul(x.permute(2, 1, 0), y.permute(2, 1, 0)).permute(2, 1, 0)",
}
_TRANSPOSED: Final = {"": "matmul(x.mT, y)", "ours": "linalg.matmul(y, linalg.mT(x))"}
_PREDICTED: Final = {
    "": "matmul(matmul(x, y), x.mT)",
    "ours": "linalg.matmul(linalg.matmul(linalg.mT(x), y), x)",
}
_INNER: Final = {
    "": "vecdot(x, y)",
    "torch": "linalg.vecdot(x, y)",
    "ours": "linalg.vecdot(x, y)",
}
_OUTER: Final = {"": "x[:, :, None] * y[:, None, :]", "ours": "linalg.outer(y, x)"}
_SIDES: Final = {2: 100_000, 3: 50_000, 4: 100_000, 6: 100_000, 8: 50_000, 16: 10_000, 32: 2_000}
"""How many products of each side."""


def rows(folder: Path | None = None) -> Iterator[Row]:
    """All rows; there is nothing to read from a folder."""
    for dtype in KINDS:
        for side, count in _SIDES.items():
            if dtype == "F64" or side in (4, 16):
                shape = (count, side, side)
                yield _row(f"{side}×{side}×{count} {dtype}", STACKS, _PRODUCT, (shape, shape), dtype, side, shape)
    for side, count in ((4, 100_000), (16, 10_000), (64, 1_000)):
        shape = (side, side, count)
        name = f"{side}×{side}×{count} F64 side by side"
        yield _row(name, STACKS, _SIDE_BY_SIDE, (shape, shape), "F64", side, shape)
    square, stack, few = (6, 6), (100_000, 6, 6), (100_000, 2, 6)
    yield _row("one 6×6 × 100000 F64", STACKS, _PRODUCT, (square, stack), "F64", 6, stack)
    yield _row("100000 × one 6×6 F64", STACKS, _PRODUCT, (stack, square), "F64", 6, stack)
    yield _row("predicted covariances 6×6×100000 F64", STACKS, _PREDICTED, (square, stack), "F64", 12, stack)
    yield _row("transposed 2×6×100000 F64", STACKS, _TRANSPOSED, (few, few), "F64", 2, stack)
    vectors = (100_000, 6)
    yield _row("inner products 6×100000 F64", STACKS, _INNER, (vectors, vectors), "F64", 6, (100_000,))
    yield _row("outer products 6×100000 F64", STACKS, _OUTER, (vectors, vectors), "F64", 1, stack)
    for dtype in ("F64", "F32"):
        for m, k, n in ((8, 8, 100_000), (100_000, 8, 8), (2000, 2000, 4), (4, 2000, 2000), (1, 2000, 2000)):
            shapes = ((m, k), (k, n))
            yield _row(f"{m}×{k}×{n} {dtype}", OTHERS, _PRODUCT, shapes, dtype, k, (m, n))
        yield _row(f"64×64×64 {dtype} transposed", OTHERS, _TRANSPOSED, ((64, 64), (64, 64)), dtype, 64, (64, 64))


def _row(
    name: str,
    group: str,
    spelled: dict[str, str],
    shapes: tuple[tuple[int, ...], ...],
    dtype: str,
    depth: int,
    result: tuple[int, ...],
) -> Row:
    operands = tuple(Operand(shape, KINDS[dtype], dtype) for shape in shapes)
    moved = sum(map(prod, (*shapes, result))) * _BYTES[dtype]
    flops = 2.0 * prod(result) * depth * (4 if dtype == "C64" else 1)
    targets = (Target(BEST, {1: 1.0, 2: 1.0}),)
    arguments = {"spelled": spelled, "axis": None}
    limit = Limit(moved=moved, flops=flops)
    return Row(
        name, group, "everyday", operands, arguments, targets, limit, tolerance=1e-4 if dtype == "F32" else 1e-10
    )
