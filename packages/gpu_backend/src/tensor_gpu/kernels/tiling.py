"""Which copies go by tiles, and how large these are: pure arithmetic on extents and strides, which count elements."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Final, NamedTuple

from tensor_core.shapes import Shape
from tensor_gpu.programs.transposition import MOST_AXES, MOST_ELEMENTS

LEAST_ELEMENTS: Final = 1 << 12
"""Fewer are copied before it matters how."""
RUN: Final = 32
"""Neighbours that a warp reads or writes at once."""
SECTOR_BYTES: Final = 32
"""What memory moves at least: neighbours that are as far apart are none."""
ENOUGH_BYTES: Final = 2 * SECTOR_BYTES
"""Of neighbours that a warp of a plain loop meets in both arrays, with which it moves little else."""
MOST_BLOCKS: Final = 2048
"""Of a launch; each takes tile after tile, so that the offsets within one are found once."""


class Tiling(NamedTuple):
    """How axes are cut, and the orders in which the elements of a tile are written and read."""

    chunks: Shape  # extents of a tile
    near: Shape  # place values of each axis in the target's order
    far: Shape  # and in the operand's
    tiles: int
    volume: int  # elements of a tile

    @property
    def blocks(self) -> int:
        """Of a launch."""
        return min(self.tiles, MOST_BLOCKS)


def tiling(extents: Shape, target: Shape, operand: Shape, itemsize: int, /) -> Tiling | None:
    """The tiles of a copy, or None where a plain loop reads and writes as well.

    Args:
        extents: of the axes, each above 1.
        target: strides of what is written.
        operand: strides of what is read.
        itemsize: bytes of the smaller elements of both.

    >>> tiling((100, 64), (1, 100), (64, 1), 8)
    Tiling(chunks=(25, 32), near=(1, 25), far=(32, 1), tiles=8, volume=800)
    >>> powers = tuple(1 << axis for axis in range(12))
    >>> tiling((2,) * 12, powers, powers[::-1], 8).chunks
    (2, 2, 2, 2, 2, 1, 1, 2, 2, 2, 2, 2)
    >>> tiling((64, 10, 100), (1, 64, 640), (1, 6400, 64), 8) is None  # 32 neighbours in both
    True
    """
    if not 2 <= len(extents) <= MOST_AXES or prod(extents) < LEAST_ELEMENTS:
        return None
    written, read = _order(target), _order(operand)
    if not read or not written:
        return None
    if max(abs(target[written[0]]), abs(operand[read[0]])) * itemsize > SECTOR_BYTES:
        return None
    if min(_neighbours(extents, target, written), _neighbours(extents, operand, read)) * itemsize >= ENOUGH_BYTES:
        return None
    chunks = _filled(extents, written, read)
    volume = prod(chunks)
    tiles = prod(-(-extent // chunk) for extent, chunk in zip(extents, chunks, strict=True))
    return Tiling(chunks, _place_values(chunks, written), _place_values(chunks, read), tiles, volume)


def _order(strides: Shape) -> list[int]:
    """The axes from the fastest on, without those along which nothing moves."""
    return sorted((axis for axis, stride in enumerate(strides) if stride), key=lambda axis: abs(strides[axis]))


def _neighbours(extents: Shape, strides: Shape, order: Sequence[int]) -> int:
    """Elements of an array that lie beside each other, of those that a warp of a plain loop has at once."""
    covered, left = [1] * len(extents), RUN
    for axis, extent in enumerate(extents):
        covered[axis] = min(extent, left)
        left //= covered[axis]
    run, step = 1, abs(strides[order[0]])
    for axis in order:
        if abs(strides[axis]) != run * step:
            break
        run *= covered[axis]
        if covered[axis] < extents[axis]:
            break
    return run


def _filled(extents: Shape, written: Sequence[int], read: Sequence[int]) -> Shape:
    """The largest tile that has the room, of whose sides neither is much longer."""
    goals = [RUN, RUN]
    best = _cut(extents, written, read, goals)
    grown = True
    while grown:
        grown = False
        for side in (0, 1):
            tried = list(goals)
            tried[side] *= 2
            chunks = _cut(extents, written, read, tried)
            if chunks != best and prod(chunks) <= MOST_ELEMENTS:
                best, goals, grown = chunks, tried, True
    return best


def _cut(extents: Shape, written: Sequence[int], read: Sequence[int], goals: Sequence[int]) -> Shape:
    """Axes from the fastest on, of both arrays, until there are so many neighbours; of a long axis an even part."""
    chunks = [1] * len(extents)
    for order, goal in zip((written, read), goals, strict=True):
        left = goal
        for axis in order:
            parts = -(-extents[axis] // left)
            chunks[axis] = max(chunks[axis], -(-extents[axis] // parts))
            left //= extents[axis]
            if left < 2:
                break
    return tuple(chunks)


def _place_values(chunks: Shape, order: Sequence[int]) -> Shape:
    values, product = [0] * len(chunks), 1
    for axis in (*order, *(axis for axis in range(len(chunks)) if axis not in order)):
        values[axis] = product
        product *= chunks[axis]
    return tuple(values)
