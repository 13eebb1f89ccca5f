"""Elementwise expressions, reductions, and a product over another semiring, on large F64 operands."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from pathlib import Path
from typing import Any, Final

from benchmarks.rows import BEST, ELEMENT_BYTES, GroupTarget, Limit, Operand, Row, Target

CONTENDERS: Final = ("ours", "numpy", "numpy out=", "numexpr", "torch", "jax")
FUSED, SINGLE, SUMS, SEMIRING = "fused expressions", "single operations", "sums", "max-plus product"
LARGE: Final = 30_000_000
SMALL: Final = 1_000_000
SIZES: Final = {"1e6": SMALL, "3e7": LARGE}
GROUPS: Final = (GroupTarget(SINGLE, {1: 0.75, 2: 0.75}),)


def rows(folder: Path | None = None) -> Iterator[Row]:
    """All rows; there is nothing to read from a folder."""
    yield _expression("a*x + b*y, 3e7", FUSED, "2.5*x + 1.5*y", [(LARGE,)] * 2, {1: 0.6, 2: 0.5}, fused=True)
    for name, size in SIZES.items():
        expression = "exp(-x*x)*sin(y) + z"
        yield _expression(f"{expression}, {name}", FUSED, expression, [(size,)] * 3, {1: 0.5, 2: 0.4}, fused=True)
    for name, size in SIZES.items():
        for expression, count in (("x + y", 2), ("x * y", 2), ("exp(x)", 1)):
            yield _expression(f"{expression}, {name}", SINGLE, expression, [(size,)] * count, {1: 1.0, 2: 1.0})
    matrix = (4000, 4000)
    for name, vector in (("row", (4000, 1)), ("column", (1, 4000))):  # in column-major words (1, n) and (n, 1)
        yield _expression(f"matrix 4000×4000 + {name}", SINGLE, "x + y", [matrix, vector], {1: 1.0, 2: 1.0})
    cube = (64,) * 4
    yield _expression("x + y, 64⁴, axes of y reversed", SINGLE, "x + y", [cube] * 2, {1: 1.0, 2: 1.0}, reversed=[1])
    for name, axis in (("first axis", 2), ("middle axis", 1), ("last axis", 0), ("all axes", None)):
        operand = Operand((300, 300, 300))
        target = Target(BEST, {1: 1.05, 2: 1.05})
        given = {"function": "sum", "axis": axis}
        # A sum only reads: its limit is the copy that moves as many bytes.
        limit = Limit(moved=operand.bytes)
        yield Row(f"sum of 300³, {name}", SUMS, "reduction", (operand,), given, (target,), limit)
    square = Operand((512, 512), "signed")
    target = Target("numpy", {1: 0.1, 2: 0.1})
    yield Row("512×512", SEMIRING, "max-plus", (square, square), {}, (target,), Limit(flops=2.0 * 512**3), 0.0)


def _expression(
    name: str, group: str, expression: str, shapes: list[tuple[int, ...]], bounds: dict[int, float], **arguments: Any
) -> Row:
    operands = tuple(Operand(shape) for shape in shapes)
    result = max(prod(shape) for shape in shapes) * ELEMENT_BYTES["F64"]
    limit = Limit(moved=sum(operand.bytes for operand in operands) + result)
    given = {"expression": expression, **arguments}
    return Row(name, group, "elementwise", operands, given, (Target(BEST, bounds),), limit, tolerance=1e-14)
