"""Slices that never clip and never wrap, and Python's slices resolved to them."""

from __future__ import annotations

from tensor_core.errors import SliceError, shortened
from tensor_core.records import Record


class SliceSpec(Record):
    """Elements ``start``, ``start + step``, ... before ``end``, along one axis.

    Args:
        start: the first element; 0 or more.
        end: the first element left out; None means past the last one in the step's direction.
        step: signed, not zero.

    Raises:
        SliceError: the step is zero, or a bound is negative.

    >>> SliceSpec(3, None, -1)
    SliceSpec(start=3, end=None, step=-1)
    """

    __slots__ = ("start", "end", "step")

    start: int
    end: int | None
    step: int

    def __init__(self, start: int, end: int | None = None, step: int = 1) -> None:
        try:
            bounds = start.__index__(), None if end is None else end.__index__(), step.__index__()
        except (AttributeError, TypeError):  # an array has __index__, and refuses
            raise SliceError(
                f"SliceSpec: found {shortened((start, end, step))}; accepted: ints, and None for the end"
            ) from None
        if bounds[2] == 0:
            raise SliceError("SliceSpec: the step is 0; give a positive or a negative one")
        if bounds[0] < 0 or (bounds[1] is not None and bounds[1] < 0):
            raise SliceError(
                f"SliceSpec: bounds {shortened((start, end))}; accepted: 0 or more (nothing wraps here; end=None "
                "runs to the edge)"
            )
        self._set(*bounds)


def resolve(spec: SliceSpec, extent: int, /) -> tuple[int, int, int]:
    """First element, number of elements and step of a slice along an axis.

    Raises:
        SliceError: a bound lies outside the axis.

    >>> resolve(SliceSpec(3, None, -2), 4), resolve(SliceSpec(1, 1), 4)
    ((3, 2, -2), (1, 0, 1))
    """
    if not isinstance(spec, SliceSpec):
        raise SliceError(f"slice: found {shortened(spec)}; accepted: a SliceSpec; x[...] takes Python's slices")
    start, end, step = spec.start, spec.end, spec.step
    if step > 0:
        last = extent if end is None else end
        inside = start <= extent and last <= extent
        count = (last - start + step - 1) // step
    else:
        last = -1 if end is None else end
        inside = (start < extent or (extent == 0 and start == 0)) and last < max(extent, 1)
        count = (start - last - step - 1) // -step if extent else 0
    if not inside:
        raise SliceError(
            f"slice: {shortened(spec)} reaches outside an axis of extent {extent}; nothing is clipped", extent=extent
        )
    return start, max(count, 0), step


def from_python(item: slice, extent: int, /) -> SliceSpec:
    """The slice that Python's own wrapping and clipping makes of ``item``.

    Raises:
        SliceError: the step is zero, or a bound is no int.

    >>> from_python(slice(-3, 99), 4), from_python(slice(None, None, -1), 4)
    (SliceSpec(start=1, end=4, step=1), SliceSpec(start=3, end=None, step=-1))
    """
    try:
        start, end, step = item.indices(extent)
    except (TypeError, ValueError) as error:
        raise SliceError(
            f"slice: {shortened(item)}: {error}; accepted: ints and None, and a step that is not 0"
        ) from None
    if not len(range(start, end, step)):
        return SliceSpec(0, 0, 1)
    return SliceSpec(start, None if end < 0 else end, step)
