"""Axes of a contraction: which label each is, where it occurs, and which neighbours can be walked as one.

A contraction has three roles: FIRST and SECOND operand, and RESULT. Everything here is in reversed order of axes,
outermost axis first, the reverse of the tensor's. Axes of extent 1 carry no information and are left out. Extents and
strides count elements. Nothing here touches an array.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from math import gcd, prod
from typing import Any, Final, NamedTuple, Protocol

from tensor_core.shapes import Shape

Labels = tuple[int, ...]
Strides = tuple[int | None, int | None, int | None]
"""By role; None where the label does not occur."""
Look = Callable[[Any], Any]

FIRST: Final = 0
SECOND: Final = 1
RESULT: Final = 2

_PLACES: Final = 1024
_LINES_OF_A_PLACE: Final = 8
"""Sets of a second-level cache, and the lines that one of them holds: those of most processors, or half of them."""


class NamedType(Protocol):
    """What is used of an element type."""

    @property
    def numpy_name(self) -> str: ...


class FormLike(Protocol):
    """What is used of a form; ``tensor_runtime.form.Form`` satisfies it."""

    @property
    def dtype(self) -> NamedType: ...
    @property
    def shape(self) -> Shape: ...
    @property
    def strides(self) -> Shape: ...


class Operand(NamedTuple):
    """A native array as far as it is known before the call."""

    labels: Labels
    shape: Shape
    strides: Shape
    dtype: str  # NumPy's name

    @property
    def size(self) -> int:
        """Number of elements."""
        return prod(self.shape)


class Axis(NamedTuple):
    """A label, or several that are adjacent, in this order, wherever they occur."""

    labels: Labels
    extent: int
    strides: Strides


class Line(NamedTuple):
    """A group of axes walked as one: ``extent`` elements, each ``stride`` after the last."""

    extent: int
    stride: int


class Occurrences(NamedTuple):
    """Axes by the roles in which they occur, each group in the order in which the axes were given."""

    batch: tuple[Axis, ...]  # in all three
    contracted: tuple[Axis, ...]  # in both operands
    free_first: tuple[Axis, ...]  # in the first operand and the result
    free_second: tuple[Axis, ...]


def by_occurrence(axes: Iterable[Axis]) -> Occurrences:
    """Group axes by the roles in which they occur; those of one operand alone are in no group.

    >>> groups = by_occurrence([Axis((0,), 4, (1, None, 1)), Axis((1,), 3, (4, 1, None))])
    >>> [[axis.labels for axis in group] for group in groups]
    [[], [(1,)], [(0,)], []]
    """
    batch, contracted, free_first, free_second = [], [], [], []
    for axis in axes:
        first, second, result = axis.strides
        if result is None:
            if first is not None and second is not None:
                contracted.append(axis)
        elif first is None:
            free_second.append(axis)
        elif second is None:
            free_first.append(axis)
        else:
            batch.append(axis)
    return Occurrences(tuple(batch), tuple(contracted), tuple(free_first), tuple(free_second))


def native(form: FormLike, labels: Labels) -> Operand:
    """The native array of a tensor of this form: its axes in reversed order."""
    return Operand(labels[::-1], form.shape[::-1], form.strides[::-1], form.dtype.numpy_name)


def row_major(labels: Labels, shape: Shape, dtype: str) -> Operand:
    """A native array without gaps.

    >>> row_major((0, 1), (3, 4), "float64").strides
    (4, 1)
    """
    strides, step = [], 1
    for extent in reversed(shape):
        strides.append(step)
        step *= extent
    return Operand(labels, shape, tuple(reversed(strides)), dtype)


def join(x: Operand, y: Operand, result: Operand) -> tuple[Axis, ...]:
    """The axes of a contraction, as few as possible: the result's in its order, then the contracted ones.

    >>> x, y = row_major((0, 1, 2), (2, 3, 4), "float64"), row_major((2, 5), (4, 7), "float64")
    >>> [axis.labels for axis in join(x, y, row_major((0, 1, 5), (2, 3, 7), "float64"))]
    [(0, 1), (5,), (2,)]
    """
    of_x, of_y = dict(zip(x.labels, x.strides, strict=True)), dict(zip(y.labels, y.strides, strict=True))
    of_result = dict(zip(result.labels, result.strides, strict=True))
    extents = dict(zip((*x.labels, *y.labels), (*x.shape, *y.shape), strict=True))
    contracted = [label for label in extents if label not in of_result]
    if len(contracted) > 1:
        large = of_x if x.size >= y.size else of_y
        contracted.sort(key=lambda label: -abs(large.get(label, 0)))
    axes: list[Axis] = []
    labels: Labels = ()
    size = 1
    outer: Strides = None, None, None
    for label in (*result.labels, *contracted):
        extent = extents[label]
        if extent == 1:
            continue
        inner = of_x.get(label), of_y.get(label), of_result.get(label)
        if labels and _continues_everywhere(outer, inner, extent):
            labels, size = (*labels, label), size * extent
        else:
            if labels:
                axes.append(Axis(labels, size, outer))
            labels, size = (label,), extent
        outer = inner
    if labels:
        axes.append(Axis(labels, size, outer))
    return tuple(axes)


def _continues(outer: int | None, inner: int | None, extent: int) -> bool:
    """Whether one step of the outer axis equals ``extent`` steps of the inner one, or neither occurs."""
    return outer is inner is None or (outer is not None and inner is not None and outer == extent * inner)


def _continues_everywhere(outer: Strides, inner: Strides, extent: int) -> bool:
    return (
        _continues(outer[FIRST], inner[FIRST], extent)
        and _continues(outer[SECOND], inner[SECOND], extent)
        and _continues(outer[RESULT], inner[RESULT], extent)
    )


def line(axes: Sequence[Axis], role: int) -> Line | None:
    """The axes, outermost first, as one line in the array of this role; None if they are not evenly spaced.

    >>> rows, columns = Axis((0,), 3, (8, None, 1)), Axis((1,), 4, (2, None, 3))
    >>> line((rows, columns), FIRST), line((rows, columns), RESULT)
    (Line(extent=12, stride=2), None)
    """
    if len(axes) == 1:
        return Line(axes[0].extent, axes[0].strides[role] or 0)
    for outer, inner in pairwise(axes):
        if not _continues(outer.strides[role], inner.strides[role], inner.extent):
            return None
    return Line(extent_of(axes), (axes[-1].strides[role] or 0) if axes else 1)


def extent_of(axes: Iterable[Axis]) -> int:
    """Number of index values of a group of axes.

    >>> extent_of([Axis((0,), 3, (8, None, 1)), Axis((1,), 4, (2, None, 3))]), extent_of([])
    (12, 1)
    """
    count = 1
    for axis in axes:
        count *= axis.extent
    return count


def by_stride(axes: Iterable[Axis], role: int) -> tuple[Axis, ...]:
    """The axes in the order in which they lie in the array of this role, outermost first.

    >>> [axis.extent for axis in by_stride([Axis((0,), 3, (8, None, 1)), Axis((1,), 4, (2, None, 3))], RESULT)]
    [4, 3]
    """
    ordered = list(axes)
    if len(ordered) > 1:
        ordered.sort(key=lambda axis: -abs(axis.strides[role] or 0))
    return tuple(ordered)


def fetches(walk: Iterable[Axis], role: int, kept: int, line: int, *, crowded: bool = False) -> float:
    """How often a line of the cache of an array is fetched by a walk, innermost axes first.

    Once where steps that share a line are so few elements apart that it stays, as often as it has elements where it
    never does.

    Args:
        walk: axes; those that the array lacks count for nothing.
        role: of the array.
        kept: elements that stay in the cache, each in a line of its own counting for a line.
        line: elements of a line.
        crowded: whether lines that are a large power of two apart, which share few places of the cache, stay for
            fewer steps, as they do for kernels that come back for the next vector of each.

    >>> rows, columns = Axis((0,), 1000, (1, None, 1)), Axis((1,), 1000, (None, 1000, 1000))
    >>> [fetches(walk, RESULT, 4096, 8) for walk in ((rows, columns), (columns, rows))]
    [1.0, 8.0]
    >>> fetches([Axis((0,), 10_000, (3, None, 1)), Axis((1,), 3, (1, None, 10_000))], FIRST, 4096, 9)  # a third of each
    3.0
    >>> walks = [[Axis((0,), 64, (step,) * 3), Axis((1,), 8, (1,) * 3)] for step in (8192, 8200)]
    >>> [fetches(walk, FIRST, 4096, 8, crowded=True) for walk in walks]
    [8.0, 1.0]
    """
    known: list[tuple[int, int]] = []
    count, cover = 1, 1.0
    for axis in walk:
        stride = abs(axis.strides[role] or 0)
        if stride == 0 or axis.extent == 1:
            continue
        known.append((stride, axis.extent))
        cover = 1.0
        for step, extent in known:
            if step < line:
                cover *= min(extent, line / step)
        cover = min(cover, line)
        count *= axis.extent
        if count * line > kept * cover or (crowded and count > _LINES_OF_A_PLACE * _places(known, line) * cover):
            break
    return line / cover


def _places(walked: Iterable[tuple[int, int]], line: int) -> int:
    """Places of the cache in which the lines lie that steps of these strides and extents meet.

    >>> [_places([(step, 64)], 8) for step in (8192, 4096, 4104, 1)]
    [1, 2, 64, 64]
    """
    reached, common = 1, _PLACES
    for stride, extent in walked:
        apart = gcd(stride // line, _PLACES) if stride % line == 0 else 1
        reached *= min(extent, _PLACES // apart)
        common = gcd(common, apart)
    return min(reached, _PLACES // common)


class Access(NamedTuple):
    """How a kernel looks at an operand: ``array.transpose(order).reshape(shape)``."""

    order: tuple[int, ...]
    shape: Shape


def access(operand: Operand, groups: Iterable[Sequence[Axis]], role: int) -> Access:
    """The operand with one axis per group of axes; a group that does not occur in it has extent 1.

    >>> operand = row_major((0, 1, 2), (2, 3, 4), "float64")
    >>> rows, columns, others = Axis((2,), 4, (1, None, 6)), Axis((0, 1), 6, (4, None, 1)), Axis((3,), 9, (None, 1, 24))
    >>> access(operand, [(rows,), (columns,), (others,)], FIRST)
    Access(order=(2, 0, 1), shape=(4, 6, 1))
    """
    groups = [[axis for axis in group if axis.strides[role] is not None] for group in groups]
    order = [operand.labels.index(label) for group in groups for axis in group for label in axis.labels]
    ones = [place for place in range(len(operand.labels)) if place not in order]  # left-over axes have extent 1
    return Access((*ones, *order), tuple(extent_of(group) for group in groups))


def look(operand: Operand, seen: Access) -> Look:
    """The function that makes this view, as short as it can be.

    >>> import numpy as np
    >>> look(row_major((0, 1), (2, 3), "float64"), Access((1, 0), (3, 1, 2)))(np.arange(6).reshape(2, 3)).tolist()
    [[[0, 3]], [[1, 4]], [[2, 5]]]
    """
    order, shape = seen.order, seen.shape
    moved = tuple(operand.shape[axis] for axis in order)
    if order == tuple(range(len(order))):
        return (lambda array: array) if moved == shape else (lambda array: array.reshape(shape))
    return (
        (lambda array: array.transpose(order))
        if moved == shape
        else (lambda array: array.transpose(order).reshape(shape))
    )
