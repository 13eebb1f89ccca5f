"""Copies around a matrix product: of an operand whose rows BLAS does not take, and of a product in another order.

An operand is seen as [stack..., outer, inner], either as a view or through a copy without gaps, in which neighbours of
the operand stay neighbours.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from tensor_core.shapes import Shape
from tensor_cpu.kernels.copy.permute import bind_copy, bind_fill
from tensor_runtime.backends.shared.axes import RESULT, Axis, Look, Operand, access, by_stride, look

Group = tuple[Axis, ...]
Strides = tuple[list[int], int, int]  # along the stacked axes, the outer and the inner ones, in elements


def bind_rearranged(made: Group, result: Operand) -> Callable[[Any], Any]:
    """Kernel that makes the result by one permuted copy of a product without gaps.

    Args:
        made: axes of the product, outermost first; each is a run of the result's.
        result: the array that is made.

    >>> from tensor_runtime.backends.shared.axes import row_major
    >>> rows, columns = Axis((0,), 2, (3, None, 1)), Axis((1,), 3, (None, 1, 2))
    >>> bind_rearranged((rows, columns), row_major((1, 0), (3, 2), "float64"))(np.arange(6.0)).tolist()
    [[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]]
    """
    final = by_stride(made, RESULT)
    order = tuple(made.index(axis) for axis in final)
    extents = tuple(axis.extent for axis in made)
    extents_out, strides = rearranged(made)
    fill = bind_fill(extents_out, strides)
    shape, dtype, empty = result.shape, np.dtype(result.dtype), np.empty

    def put(product: Any) -> Any:
        out = empty(shape, dtype)
        fill(out.reshape(extents_out), product.reshape(extents).transpose(order))
        return out

    return put


def rearranged(made: Group) -> tuple[Shape, Shape]:
    """Extents of the result, outermost first, and the strides of a product without gaps along them.

    >>> rearranged((Axis((0,), 2, (3, None, 1)), Axis((1,), 3, (None, 1, 2))))
    ((3, 2), (1, 3))
    """
    final, strides, step = by_stride(made, RESULT), {}, 1
    for axis in reversed(made):
        strides[axis] = step
        step *= axis.extent
    return tuple([axis.extent for axis in final]), tuple([strides[axis] for axis in final])


def gathered(stack: Group, outer: Group, inner: Group, role: int) -> tuple[Shape, Shape]:
    """Extents of the copy that :func:`look_at` makes, outermost first, and the strides of the operand along them.

    >>> from tensor_runtime.backends.shared.axes import FIRST
    >>> rows, columns = Axis((1,), 3, (1, None, 1)), Axis((0,), 2, (3, 2, None))
    >>> gathered((), (rows,), (columns,), FIRST)
    ((2, 3), (3, 1))
    """
    axes = (*stack, *inner, *outer) if _swaps(outer, role) else (*stack, *outer, *inner)
    present = [(axis.extent, stride) for axis in axes if (stride := axis.strides[role]) is not None]
    return tuple([extent for extent, _ in present]), tuple([stride for _, stride in present])


def look_at(
    operand: Operand, stack: Sequence[Group], outer: Group, inner: Group, role: int, *, copy_as: str | None
) -> Look:
    """How a kernel sees an array as [stack..., outer, inner]: as a view, or as a copy in a layout that BLAS takes.

    >>> from tensor_runtime.backends.shared.axes import FIRST, row_major
    >>> operand = row_major((0, 1), (2, 3), "int32")
    >>> rows, columns = Axis((1,), 3, (1, None, 1)), Axis((0,), 2, (3, 2, None))
    >>> look_at(operand, [], (rows,), (columns,), FIRST, copy_as="float64")(np.ones((2, 3), "int32")).dtype.name
    'float64'
    """
    if copy_as is None:
        return look(operand, access(operand, [*stack, outer, inner], role))
    swaps = _swaps(outer, role)
    groups = [*stack, inner, outer] if swaps else [*stack, outer, inner]
    present = [axis for group in groups for axis in group if axis.strides[role] is not None]
    thin = look(operand, access(operand, [(axis,) for axis in present], role))
    extents, strides = tuple(axis.extent for axis in present), tuple(axis.strides[role] or 0 for axis in present)
    copy, shape = bind_copy(extents, strides, np.dtype(copy_as)), access(operand, groups, role).shape
    if swaps:
        return lambda array: copy(thin(array)).reshape(shape).swapaxes(-1, -2)
    return lambda array: copy(thin(array)).reshape(shape)


def copy_strides(stack: Group, outer: Group, inner: Group, role: int) -> Strides:
    """How the copy lies that :func:`look_at` makes of the operand of a role.

    >>> from tensor_runtime.backends.shared.axes import FIRST
    >>> rows, columns = Axis((1,), 3, (1, None, 1)), Axis((0,), 2, (3, 2, None))
    >>> copy_strides((), (rows,), (columns,), FIRST)  # rows are neighbours, and stay so
    ([], 1, 3)
    """
    axes: list[Group] = [*((axis,) for axis in stack), outer, inner]
    places = [*range(len(stack)), *((-1, -2) if _swaps(outer, role) else (-2, -1))]
    strides, size = [0] * len(axes), 1
    for place in reversed(places):
        present = [axis.extent for axis in axes[place] if axis.strides[role] is not None]
        if present or place < 0:
            strides[place] = size
            size *= prod(present)
    return strides[:-2], strides[-2], strides[-1]


def _swaps(outer: Group, role: int) -> bool:
    """Whether a copy lies as [stack..., inner, outer], which keeps neighbours of the operand together."""
    return any(axis.strides[role] == 1 for axis in outer)
