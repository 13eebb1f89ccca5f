"""A tensor as matrices between two groups of its axes."""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import Any, Final, NamedTuple

from tensor_core.errors import ArgumentError
from tensor_core.shapes import Shape, normalize_axis, unravel_index
from tensor_runtime.dispatch.arguments import wholes

_WRITTEN: Final = frozenset({int, type(None)})


class Groups(NamedTuple):
    """Axes of a tensor by their part in a matrix: rows, columns, batch."""

    left: tuple[int, ...]
    right: tuple[int, ...]
    batch: tuple[int, ...]


class Matricization(NamedTuple):
    """What a tensor of a shape becomes, between groups of its axes."""

    order: tuple[int, ...] | None
    """Of the axes, None where it is theirs already."""
    matrix: Shape
    """[M, N, B...]."""
    rows: Shape
    columns: Shape
    batch: Shape


def matricization(operation: str, shape: Shape, left: Any, right: Any, batch: Any, /) -> Matricization:
    """The same for the axes as they were written; errors as for :func:`groups`.

    >>> matricization("split", (2, 3, 4), (0, -1), None, ()).matrix
    (8, 3)
    """
    for axes in (left, right, batch):
        if type(axes) not in _WRITTEN and not (type(axes) is tuple and all(type(axis) is int for axis in axes)):
            return _matricization(operation, shape, left, right, batch)
    return _kept_matricization(operation, shape, left, right, batch)


def _matricization(operation: str, shape: Shape, left: Any, right: Any, batch: Any) -> Matricization:
    axes = groups(operation, len(shape), left, right, batch)
    order = (*axes.left, *axes.right, *axes.batch)
    rows, columns, rest = (tuple(shape[axis] for axis in group) for group in axes)
    moved = None if order == tuple(range(len(shape))) else order
    return Matricization(moved, (prod(rows), prod(columns), *rest), rows, columns, rest)


_kept_matricization: Final = lru_cache(256)(_matricization)


def groups(operation: str, rank: int, left: Any, right: Any, batch: Any, /) -> Groups:
    """The three groups; one of ``left`` and ``right`` may be None, for the axes that nobody names, in order.

    Raises:
        AxisError: an axis out of range.
        ArgumentError: an axis named twice or not at all; None for ``batch``.

    >>> groups("split", 4, (0, -1), None, ())
    Groups(left=(0, 3), right=(1, 2), batch=())
    """
    given = [None if one is None else _axes(operation, rank, one) for one in (left, right, batch)]
    if given[2] is None:
        raise ArgumentError(f"{operation}: batch_axes is None; accepted: axes, () for no batch", operation=operation)
    named = [axis for group in given for axis in group or ()]
    rest = tuple(axis for axis in range(rank) if axis not in named)
    if given[0] is None and given[1] is None:
        raise ArgumentError(
            f"{operation}: neither left_axes nor right_axes is given; accepted: at least one of them",
            operation=operation,
        )
    if len(set(named)) < len(named) or (rest and None not in given):
        raise ArgumentError(
            f"{operation}: left_axes {left}, right_axes {right} and batch_axes {batch} of a tensor of rank {rank}; "
            "accepted: every axis in exactly one of them (left or right may be None, for all others)",
            operation=operation,
        )
    return Groups(*(rest if group is None else group for group in given))


def _axes(operation: str, rank: int, axes: Any) -> tuple[int, ...]:
    return tuple(normalize_axis(axis, rank, operation) for axis in wholes(operation, "axes", axes))


def index_in_tensor(rows: Shape, columns: Shape, row: int, column: int, /) -> tuple[int, ...]:
    """The indices of an element of the matrix, along the axes that became its rows and those that became its columns.

    >>> index_in_tensor((2, 3), (4,), 3, 2)
    (1, 1, 2)
    """
    return unravel_index(row, rows, order="F") + unravel_index(column, columns, order="F")
