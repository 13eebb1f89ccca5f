"""Orders of axes, remembered by their numbers, and whether axes make one line. No element is looked at."""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise

from tensor_core.shapes import normalize_axis
from tensor_runtime.form import Form


@lru_cache(1 << 10)
def exchanged(rank: int, axis1: int, axis2: int, /) -> tuple[int, ...]:
    """The order in which two axes have changed places.

    Raises:
        AxisError: an axis out of range.

    >>> exchanged(3, 0, -1)
    (2, 1, 0)
    """
    first, second = (normalize_axis(axis, rank, "swapaxes") for axis in (axis1, axis2))
    order = [*range(rank)]
    order[first], order[second] = second, first
    return tuple(order)


@lru_cache(1 << 10)
def moved(rank: int, source: int, destination: int, /) -> tuple[int, ...]:
    """The order in which one axis was moved, and the others keep theirs.

    Raises:
        AxisError: an axis out of range.

    >>> moved(3, 0, -1)
    (1, 2, 0)
    """
    of, to = (normalize_axis(axis, rank, "move_axes") for axis in (source, destination))
    order = [axis for axis in range(rank) if axis != of]
    return (*order[:to], of, *order[to:])


def is_line(form: Form, /) -> bool:
    """Whether each axis goes on where the one before it ends, so that all of them are a view as one.

    >>> is_line(zeros((4, 3))[::2]._form), is_line(zeros((3, 4))[::2]._form), is_line(zeros((3, 4)).T._form)
    (True, False, False)
    """
    if form.is_compact:
        return True
    axes = [axis for axis in zip(form.shape, form.strides, strict=True) if axis[0] != 1]
    return all(after[1] == extent * stride for (extent, stride), after in pairwise(axes))
