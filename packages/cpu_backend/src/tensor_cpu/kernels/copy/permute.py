"""Permuted copies, tile by tile: by a native kernel where there is one, else by NumPy.

NumPy copies in the order of the destination. When the source lies in another order, each cache line of it is fetched
once per element: a reversal of 23 axes of extent 2 takes 32 ns per element. A tile that holds whole cache lines of both
sides needs each line once (7 ns; 4 instead of 13 for 15 axes of extent 3), and costs one Python call per few thousand
elements.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from math import prod
from typing import Any, Final

import numpy as np

from tensor_core.shapes import Shape
from tensor_cpu.kernels.copy import native as native
from tensor_cpu.system.extension import AVAILABLE

Fill = Callable[[Any, Any], None]

_SIDE: Final = 64  # elements of one side of a tile that are neighbours in memory
_SMALL: Final = 1 << 14  # elements; both sides fit into the cache anyway
_LONG_RUN: Final = 8  # elements that are neighbours on both sides: a cache line; NumPy alone is as fast then


def bind_fill(extents: Shape, strides: Shape) -> Fill:
    """Kernel of ``target[...] = source`` for a target without gaps.

    Args:
        extents: the shape of both; neighbouring axes that could be one should be one.
        strides: of the source, in elements.

    >>> target = np.empty((2, 3))
    >>> bind_fill((2, 3), (1, 2))(target, np.arange(6.0).reshape(3, 2).T)
    >>> target.tolist()
    [[0.0, 2.0, 4.0], [1.0, 3.0, 5.0]]
    """
    if prod(extents) <= _SMALL:
        return np.copyto
    tiled = bind_tiles(extents, strides)
    return native.fill_kernel(extents, strides, tiled) if AVAILABLE else tiled


def bind_tiles(extents: Shape, strides: Shape) -> Fill:
    """:func:`bind_fill` on NumPy alone.

    >>> bind_tiles((2, 3), (1, 2)) is np.copyto
    True
    """
    tile = _tile(extents, strides)
    looped = tuple(axis for axis in range(len(extents)) if tile[axis] < extents[axis])
    if not looped:
        return np.copyto
    order = (*looped, *(axis for axis in range(len(extents)) if axis not in looped))
    steps = [(extents[axis], tile[axis]) for axis in looped]

    def fill(target: Any, source: Any) -> None:
        target, source = target.transpose(order), source.transpose(order)
        # An axis of which a tile has one value is indexed by it, which is faster than by a slice. The slices are made
        # here, beside a copy of as many elements and more: a kernel that is kept holds nothing that grows with shapes.
        places = [
            range(extent) if step == 1 else [slice(start, start + step) for start in range(0, extent, step)]
            for extent, step in steps
        ]
        for place in product(*places):
            target[place] = source[place]

    return fill


def fuse(extents: Shape, strides: Shape) -> tuple[Shape, Shape]:
    """The fewest axes that walk the same elements in the same order, as extents and strides.

    >>> fuse((2, 3, 4), (1, 8, 2))
    ((2, 12), (1, 2))
    """
    fused: list[tuple[int, int]] = []
    for extent, stride in zip(extents, strides, strict=True):
        if extent == 1:
            continue
        if fused and fused[-1][1] == extent * stride:
            fused[-1] = fused[-1][0] * extent, stride
        else:
            fused.append((extent, stride))
    return tuple(extent for extent, _ in fused), tuple(stride for _, stride in fused)


def bind_copy(extents: Shape, strides: Shape, dtype: np.dtype[Any]) -> Callable[[Any], Any]:
    """Kernel that copies a source of this shape to a new array without gaps, converted to ``dtype``.

    >>> source = np.arange(6.0).reshape(3, 2).T
    >>> copy = bind_copy((2, 3), (1, 2), np.dtype("float32"))(source)
    >>> copy.tolist(), copy.dtype.name, copy.flags.c_contiguous
    ([[0.0, 2.0, 4.0], [1.0, 3.0, 5.0]], 'float32', True)
    """
    numpys = _bind_numpy_copy(extents, strides, dtype)
    return native.copy_kernel(extents, strides, dtype, numpys) if AVAILABLE else numpys


def _bind_numpy_copy(extents: Shape, strides: Shape, dtype: np.dtype[Any]) -> Callable[[Any], Any]:
    fill, empty = bind_tiles(extents, strides), np.empty
    if fill is np.copyto:
        return lambda source: source.astype(dtype, order="C")

    def copy(source: Any) -> Any:
        target = empty(extents, dtype)
        fill(target, source)
        return target

    return copy


def _tile(extents: Shape, strides: Shape) -> Sequence[int]:
    """Extents of a tile: the fastest axes of the target and the fastest axes of the source."""
    if prod(extents) <= _SMALL or (abs(strides[-1]) == 1 and extents[-1] >= _LONG_RUN):
        return extents
    axes = range(len(extents))
    tile = [1] * len(extents)
    for fastest_first in (reversed(axes), sorted(axes, key=lambda axis: abs(strides[axis]))):
        side = 1
        for axis in fastest_first:
            if side >= _SIDE:
                break
            tile[axis] = max(tile[axis], min(extents[axis], _SIDE))
            side *= tile[axis]
    return tile
