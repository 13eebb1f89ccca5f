"""Windows over spatial axes: how many there are, and what each covers. Shared by convolution and pooling.

A window of extent K with dilation D covers D * (K - 1) + 1 elements of its axis; window number o begins at element
o * stride - before, counted from the first element of the operand, where ``before`` is the padding in front. Windows
that would reach beyond the padding behind do not exist:

    count = (extent + before + after - covered) // stride + 1, or 0 where a window does not fit once

Padding is "VALID" (none), "SAME" (as in TensorFlow: count = ceil(extent / stride), and of the elements that takes,
half in front, rounded down, the rest behind), or explicit pairs (before, after), of which negative numbers crop.

Nothing here touches an element.
"""

from __future__ import annotations

from math import prod
from operator import index
from typing import Any, Final, NamedTuple

from tensor_core.errors import ArgumentError, ShapeError, SizeLimitError, shortened
from tensor_core.shapes import Shape

Steps = int | tuple[int, ...]  # one number for every spatial axis, or one each
Pairs = tuple[tuple[int, int], ...]
Padding = str | Pairs

_MODES: Final = ("VALID", "SAME")
_LARGEST: Final = 2**63 - 1


class Windows(NamedTuple):
    """Windows with everything resolved; one entry per spatial axis in each field."""

    extents: Shape  # elements of a window
    strides: Shape  # from window to window
    dilation: Shape  # from element to element of a window
    padding: Pairs  # (before, after)
    counts: Shape  # windows: the extents of the result


def as_steps(operation: str, name: str, value: Any, /) -> Steps:
    """What the user wrote for a number per spatial axis, hashable.

    >>> as_steps("conv", "strides", [1, 2]), as_steps("conv", "strides", 2)
    ((1, 2), 2)
    """
    try:
        return tuple(index(one) for one in value) if isinstance(value, (tuple, list)) else index(value)
    except TypeError:
        raise ArgumentError(
            f"{operation}: {name} is {shortened(value)}; accepted: an int, or a tuple of one int per spatial axis",
            operation=operation,
        ) from None


def as_padding(operation: str, value: Any, /) -> Padding:
    """What the user wrote for the padding, hashable.

    >>> as_padding("conv", "SAME"), as_padding("conv", [(0, 1), (2, -1)])
    ('SAME', ((0, 1), (2, -1)))
    """
    if isinstance(value, str) and value in _MODES:
        return str(value)
    try:
        if isinstance(value, (tuple, list)):
            return tuple((index(before), index(after)) for before, after in value)
    except (TypeError, ValueError):
        pass
    raise ArgumentError(
        f"{operation}: padding is {shortened(value)}; accepted: 'VALID', 'SAME', or one pair (before, after) "
        "per spatial axis",
        operation=operation,
    )


def resolve(
    operation: str, spatial: Shape, extents: Shape, strides: Steps, padding: Padding, dilation: Steps, /
) -> Windows:
    """Windows of these extents over axes of the extents ``spatial``, which are axes 1, 2, ... of the operand.

    Raises:
        ArgumentError: a number that is too small, or one too many or too few.
        ShapeError: negative padding that removes more than there is.
        SizeLimitError: the padded extents have more than 2**63 - 1 elements.

    >>> resolve("conv", (5, 6), (3, 3), 2, "SAME", 1)
    Windows(extents=(3, 3), strides=(2, 2), dilation=(1, 1), padding=((1, 1), (0, 1)), counts=(3, 3))
    """
    rank = len(spatial)
    strides = _per_axis(operation, "strides", strides, rank)
    dilation = _per_axis(operation, "dilation", dilation, rank)
    covered = tuple(d * (k - 1) + 1 for k, d in zip(extents, dilation, strict=True))
    if isinstance(padding, str):
        pairs = tuple(
            _same(*axis) if padding == "SAME" else (0, 0) for axis in zip(spatial, covered, strides, strict=True)
        )
    else:
        pairs = padding
        if len(pairs) != rank:
            raise ArgumentError(
                f"{operation}: padding has {len(pairs)} pairs for {rank} spatial axes; "
                "accepted: 'VALID', 'SAME', or one pair (before, after) "
                "per spatial axis",
                operation=operation,
            )
    padded = tuple(extent + before + after for extent, (before, after) in zip(spatial, pairs, strict=True))
    for axis, (extent, pair, left) in enumerate(zip(spatial, pairs, padded, strict=True), 1):
        if left < 0 or extent + min(pair[0], 0) + min(pair[1], 0) < 0:
            raise ShapeError(
                f"{operation}: axis {axis} of the operand has extent {extent} and padding {pair} removes more; "
                "accepted: negative padding that leaves 0 or more elements",
                operation=operation,
                axis=axis,
            )
    if prod(left or 1 for left in padded) > _LARGEST:
        raise SizeLimitError(
            f"{operation}: spatial extents {spatial} with padding {pairs} are more than 2**63 - 1 elements; pad less",
            operation=operation,
        )
    counts = tuple(max(0, (p - c) // s + 1) for p, c, s in zip(padded, covered, strides, strict=True))
    return Windows(extents, strides, dilation, pairs, counts)


def _same(extent: int, covered: int, stride: int) -> tuple[int, int]:
    if extent == 0:
        return 0, 0
    total = max(0, ((extent - 1) // stride) * stride + covered - extent)
    return total // 2, total - total // 2


def _per_axis(operation: str, name: str, value: Steps, rank: int) -> Shape:
    steps = value if isinstance(value, tuple) else (value,) * rank
    if len(steps) != rank or any(step < 1 for step in steps):
        raise ArgumentError(
            f"{operation}: {name} is {value}; accepted: an int of 1 or more, or {rank} of them, one per spatial axis",
            operation=operation,
        )
    return steps


def members(windows: Windows, axis: int, offset: int, extent: int, /) -> tuple[int, int, int]:
    """Which windows hold an element of the operand at ``offset`` in them: (first, end, element of the first).

    Args:
        windows: as from :func:`resolve`.
        axis: a spatial axis, counted from 0.
        offset: which element of a window, 0 to its extent - 1.
        extent: of the operand along that axis.

    Returns:
        Windows first to end - 1 (none if end <= first) hold elements, the first of them the element given, the next
        one the element ``stride`` after it.

    >>> members(resolve("max_pool", (5,), (3,), 2, "SAME", 1), 0, 0, 5)  # windows at -1, 1, 3
    (1, 3, 1)
    """
    stride, shift = windows.strides[axis], offset * windows.dilation[axis] - windows.padding[axis][0]
    first = max(0, -(shift // stride))
    end = min(windows.counts[axis], (extent - 1 - shift) // stride + 1)
    return first, end, first * stride + shift
