"""A tensor as matrices between two groups of its axes, and back."""

from __future__ import annotations

from math import prod
from typing import Any, NamedTuple

import tensor_runtime as tr
from tensor_core.errors import ArgumentError
from tensor_core.shapes import normalize_axis
from tensor_runtime.dispatch.arguments import wholes


class Groups(NamedTuple):
    """Axes of a tensor by their part in a matrix: rows, columns, batch."""

    left: tuple[int, ...]
    right: tuple[int, ...]
    batch: tuple[int, ...]


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


def matricized(x: tr.Tensor, axes: Groups, /) -> tr.Tensor:
    """[M, N, B...]: a view, unless the axes of a group do not follow one another in column-major order.

    >>> matricized(tr.zeros((2, 3, 4)), Groups((0, 1), (2,), ())).shape
    (6, 4)
    """
    order = (*axes.left, *axes.right, *axes.batch)
    moved = x if order == tuple(range(x.rank)) else tr.permute_axes(x, order)
    rows, columns = (prod(x.shape[axis] for axis in group) for group in axes[:2])
    return moved.reshape((rows, columns, *(x.shape[axis] for axis in axes.batch)))
