"""Rules that many specs share: dtypes and shapes of results.

A shape rule takes the operation's name, then the operands' shapes, then the params if the operation has one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import SupportsIndex

from tensor_core.dtypes import F64, FLOATING, I64, Bool, DType
from tensor_core.errors import ShapeError
from tensor_core.shapes import Shape, broadcast_shapes, normalize_axes

Axes = SupportsIndex | Sequence[SupportsIndex] | None
Reduction = tuple[Axes, bool]  # (axis, keepdims)


def boolean(dtype: DType, /) -> DType:
    """Comparisons give Bool."""
    return Bool


def component(dtype: DType, /) -> DType:
    """The real type of one component: F64 for C64, and a real type for itself."""
    return dtype.component


def inexact(dtype: DType, /) -> DType:
    """Integers and Bool become F64; floating types stay."""
    return dtype if dtype in FLOATING else F64


def accumulator(dtype: DType, /) -> DType:
    """Sums of integers and of Bool are I64."""
    return dtype if dtype in FLOATING else I64


def same_shape(operation: str, shape: Shape, /) -> Shape:
    """One operand, result of its shape."""
    return shape


def broadcast(operation: str, a: Shape, b: Shape, /) -> Shape:
    """Right-aligned broadcasting, as in NumPy; an extent-1 axis against 0 gives 0.

    >>> broadcast("add", (2, 1), (3,))
    (2, 3)
    """
    if a == b:
        return a
    try:
        return broadcast_shapes(a, b)
    except ShapeError as error:
        raise ShapeError(
            f"{operation}: shapes {a} and {b} do not broadcast; accepted: extents that are equal or 1, "
            "aligned at the last axis",
            operation=operation,
            shapes=(a, b),
        ) from error


def equal_shapes(operation: str, a: Shape, b: Shape, /) -> Shape:
    """Strict: both operands have one shape.

    >>> equal_shapes("add", (2,), (2,))
    (2,)
    """
    if a != b:
        raise ShapeError(
            f"{operation}: shapes {a} and {b} differ; accepted: equal shapes (broadcast_to() first)",
            operation=operation,
            shapes=(a, b),
        )
    return a


def broadcast_three(operation: str, a: Shape, b: Shape, c: Shape, /) -> Shape:
    """Right-aligned broadcasting of three operands.

    >>> broadcast_three("where", (2, 1), (3,), ())
    (2, 3)
    """
    if a == b == c:
        return a
    try:
        return broadcast_shapes(a, b, c)
    except ShapeError as error:
        raise ShapeError(
            f"{operation}: shapes {a}, {b} and {c} do not broadcast; accepted: extents that are equal or 1, "
            "aligned at the last axis",
            operation=operation,
            shapes=(a, b, c),
        ) from error


def three_equal_shapes(operation: str, a: Shape, b: Shape, c: Shape, /) -> Shape:
    """Strict: all three operands have one shape.

    >>> three_equal_shapes("select", (2,), (2,), (2,))
    (2,)
    """
    return equal_shapes(operation, equal_shapes(operation, a, b), c)


def reduced(operation: str, shape: Shape, params: Reduction, /) -> Shape:
    """Shape after a reduction over the axes named.

    >>> reduced("sum", (2, 3), (0, False)), reduced("sum", (2, 3), (None, True))
    ((3,), (1, 1))
    """
    axis, keepdims = params
    axes = reduced_axes(operation, len(shape), axis)
    if keepdims:
        return tuple(1 if position in axes else extent for position, extent in enumerate(shape))
    return tuple(extent for position, extent in enumerate(shape) if position not in axes)


def reduced_axes(operation: str, rank: int, axis: Axes, /) -> tuple[int, ...]:
    """Axes of a reduction, non-negative: None is all of them, () none, negative ones count from the end.

    >>> reduced_axes("sum", 3, -1), reduced_axes("sum", 2, None), reduced_axes("sum", 2, ())
    ((2,), (0, 1), ())
    """
    if axis is None:
        return tuple(range(rank))
    return normalize_axes(axis, rank, operation)
