"""Walks: elements of several arrays of one shape, in column-major order, over as few axes as that takes.

Strides count elements. Nothing here reads or copies anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tensor_core.shapes import Shape
from tensor_runtime.form import Form


class Walk(NamedTuple):
    """Extents, and strides of each array along them; element k in column-major order is the same as before."""

    extents: Shape
    strides: tuple[Shape, ...]

    @property
    def is_contiguous(self) -> bool:
        """Whether every array is walked from one element to the next.

        >>> walk((2, 3), [(1, 2), (1, 2)]).is_contiguous, walk((2, 3), [(1, 2), (3, 1)]).is_contiguous
        (True, False)
        """
        return len(self.extents) <= 1 and all(stride in ((), (1,)) for stride in self.strides)


def walk(shape: Shape, strides: Sequence[Shape], /) -> Walk:
    """The walk over arrays of one shape: axes of extent 1 left out, neighbours joined that every array can join.

    >>> walk((2, 3, 4), [(1, 2, 6), (1, 2, 6)])
    Walk(extents=(24,), strides=((1,), (1,)))
    >>> walk((2, 1, 3), [(1, 2, 2), (0, 0, 5)])
    Walk(extents=(2, 3), strides=((1, 2), (0, 5)))
    >>> walk((), [()])
    Walk(extents=(), strides=((),))
    """
    extents: list[int] = []
    steps: list[tuple[int, ...]] = []
    for axis, extent in enumerate(shape):
        if extent == 1:
            continue
        along = tuple(stride[axis] for stride in strides)
        if extents and all(step * extents[-1] == next_step for step, next_step in zip(steps[-1], along, strict=True)):
            extents[-1] *= extent
        else:
            extents.append(extent)
            steps.append(along)
    return Walk(tuple(extents), tuple(tuple(step[place] for step in steps) for place in range(len(strides))))


def broadcast_strides(form: Form, shape: Shape, /) -> Shape:
    """Strides of a tensor that is repeated to a shape, aligned at the last axis.

    >>> from tensor_core import F64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> broadcast_strides(form_of(F64, (3, 1), CPU), (2, 3, 4))
    (0, 1, 0)
    """
    new = len(shape) - form.rank
    own = (0 if extent == 1 else stride for extent, stride in zip(form.shape, form.strides, strict=True))
    return (0,) * new + tuple(own)
