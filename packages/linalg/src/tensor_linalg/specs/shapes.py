"""The axes of matrices and of batches in a shape ``[M, N, B...]``."""

from __future__ import annotations

from tensor_core.errors import ShapeError
from tensor_core.shapes import Shape, broadcast_shapes


def matrix_axes(operation: str, shape: Shape, /) -> tuple[int, int, Shape]:
    """M, N and the batch shape of ``[M, N, B...]``.

    Raises:
        ShapeError: fewer than two axes.

    >>> matrix_axes("svd", (4, 3, 10))
    (4, 3, (10,))
    """
    if len(shape) < 2:
        raise ShapeError(
            f"{operation}: operand of shape {shape} holds no matrices; accepted: [M, N, B...], batch axes last",
            operation=operation,
            shape=shape,
        )
    return shape[0], shape[1], shape[2:]


def square_axes(operation: str, shape: Shape, /) -> tuple[int, Shape]:
    """N and the batch shape of ``[N, N, B...]``.

    Raises:
        ShapeError: fewer than two axes, or the first two differ.

    >>> square_axes("eigh", (3, 3, 10))
    (3, (10,))
    """
    rows, columns, batch = matrix_axes(operation, shape)
    if rows != columns:
        leading = len(shape) > 2 and shape[-1] == shape[-2]
        advice = f"; batch_last(x, {len(shape) - 2}) moves leading batch axes to the end" if leading else ""
        raise ShapeError(
            f"{operation}: operand of shape {shape} holds {rows}x{columns} matrices, which are not square; "
            f"accepted: [N, N, B...], batch axes last{advice}",
            operation=operation,
            shape=shape,
        )
    return rows, batch


def square_shape(operation: str, shape: Shape, params: object = None, /) -> Shape:
    """The shape rule of what gives square matrices for square ones, ``[N, N, B...]``.

    >>> square_shape("expm", (3, 3, 10))
    (3, 3, 10)
    """
    square_axes(operation, shape)
    return shape


def number_shape(operation: str, shape: Shape, params: object = None, /) -> Shape:
    """The shape rule of what gives a number for each square matrix, ``[B...]``.

    >>> number_shape("det", (3, 3, 10))
    (10,)
    """
    return square_axes(operation, shape)[1]


def broadcast_batches(operation: str, of_a: Shape, of_b: Shape, a: str = "a", /) -> Shape:
    """The common batch shape of two operands, ``b`` and one that an error calls ``a``.

    Raises:
        ShapeError: extents that differ, and are not 1.

    >>> broadcast_batches("solve", (5, 1), (3,))
    (5, 3)
    """
    if of_a == of_b:
        return of_a
    try:
        return broadcast_shapes(of_a, of_b)
    except ShapeError as error:
        raise ShapeError(
            f"{operation}: batch shapes {of_a} of {a} and {of_b} of b do not broadcast; "
            "accepted: extents that are equal or 1, aligned at the last axis",
            operation=operation,
            shapes=(of_a, of_b),
        ) from error
