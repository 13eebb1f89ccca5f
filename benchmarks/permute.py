"""Permuted copies: a view with its axes permuted becomes a fresh compact tensor.

Rows come from the ``permutation_patterns.json`` of a folder, or, without one, from patterns of the same classes here.
Shapes, strides and ``perm`` are column-major, and element i of the result is ``out[i0, ...] = source[i_perm0, ...]``;
peers get the same memory in row-major words, so that their work is the same, too.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from benchmarks.rows import BEST, LIMIT, Limit, Operand, Row, Target

CONTENDERS: Final = ("ours", "numpy", "numpy out=", "torch", "jax")
PATTERNS: Final = "permutation_patterns.json"
BEST_BOUNDS: Final = {1: 0.33, 2: 0.25}
LARGE_EXTENT: Final = 8
"""Where every extent, with neighbours fused, is at least this, a copy must be nearly as fast as a plain one."""
OWN_PATTERNS: Final[tuple[tuple[str, tuple[int, ...], tuple[int, ...]], ...]] = (
    ("transpose 3000×2000", (3000, 2000), (1, 0)),
    ("rotate 220³, [2, 0, 1]", (220, 220, 220), (2, 0, 1)),
    ("exchange within 220³, [1, 0, 2]", (220, 220, 220), (1, 0, 2)),
    ("6 axes of 24 and 12, [5, 0, 4, 1, 3, 2]", (24, 24, 24, 24, 12, 12), (5, 0, 4, 1, 3, 2)),
    ("reverse 22 axes of 2", (2,) * 22, tuple(range(21, -1, -1))),
    ("reverse 14 axes of 3", (3,) * 14, tuple(range(13, -1, -1))),
    ("cycle 14 axes of 3", (3,) * 14, (*range(1, 14), 0)),
)


def rows(folder: Path | None) -> Iterator[Row]:
    """The patterns of the folder's file; without a folder or file, our own."""
    file = None if folder is None else folder / PATTERNS
    if file is None or not file.exists():
        for name, shape, axes in OWN_PATTERNS:
            yield row(name, shape, axes, colmajor_strides(shape))
        return
    for pattern in json.loads(file.read_text(encoding="utf-8"))["patterns"]:
        yield _from_file(pattern)


def _from_file(pattern: dict[str, Any]) -> Row:
    shape, layout = tuple(pattern["shape"]), pattern["src_layout"]
    if (pattern["dtype"], pattern["dst_layout"]["kind"]) != ("f64", "col_major"):
        raise ValueError(f"{pattern['id']}: accepted are f64 and a column-major destination")
    strides = colmajor_strides(shape) if layout["kind"] == "col_major" else tuple(layout["strides"])
    return row(pattern["id"], shape, tuple(pattern["perm"]), strides)


def row(name: str, shape: tuple[int, ...], axes: tuple[int, ...], strides: tuple[int, ...]) -> Row:
    """The row of a permutation, in column-major words; its source may be any gapless arrangement of its axes.

    >>> row("", (2, 3, 4), (2, 0, 1), (1, 2, 6)).arguments["axes"]
    [1, 2, 0]
    """
    order = sorted(range(len(shape)), key=lambda axis: (strides[axis], shape[axis]))
    stored = tuple(shape[axis] for axis in order)
    if tuple(strides[axis] for axis in order) != colmajor_strides(stored):
        raise ValueError(f"{name}: strides {strides} leave gaps or overlap for the shape {shape}")
    source_axes = [order.index(axis) for axis in range(len(shape))]
    in_memory = tuple(source_axes[axis] for axis in axes)
    operand = Operand(stored[::-1])
    last = len(shape) - 1
    targets = [Target(LIMIT, dict.fromkeys((1, 2), 1.2 if min(fused(stored, in_memory)) >= LARGE_EXTENT else 3.0))]
    if in_memory != tuple(range(len(shape))):  # a plain copy has nothing to gain on anybody
        targets.insert(0, Target(BEST, BEST_BOUNDS))
    arguments = {
        "axes": [last - in_memory[last - axis] for axis in range(len(shape))],
        "axes_colmajor": list(axes),
        "source_axes": source_axes,
    }
    limit = Limit(moved=2 * operand.bytes)
    return Row(name, "permute", "permute", (operand,), arguments, tuple(targets), limit, tolerance=0.0)


def colmajor_strides(shape: Sequence[int]) -> tuple[int, ...]:
    """Strides, in elements, of a compact column-major tensor.

    >>> colmajor_strides((2, 3, 4))
    (1, 2, 6)
    """
    strides = [1]
    for extent in shape:
        strides.append(strides[-1] * extent)
    return tuple(strides[: len(shape)])


def fused(shape: Sequence[int], axes: Sequence[int]) -> list[int]:
    """Extents of the result, axes that are neighbours before and after taken as one.

    >>> fused((2, 3, 4), (1, 2, 0)), fused((2, 3, 4), (0, 1, 2))
    ([12, 2], [24])
    """
    extents: list[int] = []
    for position, axis in enumerate(axes):
        if position and axes[position - 1] + 1 == axis:
            extents[-1] *= shape[axis]
        else:
            extents.append(shape[axis])
    return extents
