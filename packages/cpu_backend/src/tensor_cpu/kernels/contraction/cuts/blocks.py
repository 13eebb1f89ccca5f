"""Products between copies, block by block: what is copied of a block stays in the cache, and takes little memory.

A block is a part of the result's outermost axis, so that blocks follow one another in memory. An operand that has the
axis is copied block by block as well; one that lacks it is copied once.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from tensor_cpu.kernels.contraction.cuts.row_groups import divided
from tensor_runtime.backends.shared.axes import FIRST, RESULT, SECOND, Axis, by_stride, extent_of
from tensor_runtime.backends.shared.products import MatrixProduct, matrix_of

Group = tuple[Axis, ...]

_COPIED: Final = 1 << 19  # bytes of copies of a block, which half of a second-level cache holds
_TRIED: Final = 1 << 16  # numbers of blocks, of which one divides the axis evenly
_RUN: Final = 1 << 12  # bytes that a block reads of an operand without a gap, or else lines are read again and again
_FEWEST: Final = 512  # rows or columns of a block: fewer take longer in a product of matrices


class Blocks(NamedTuple):
    """Blocks of a product, all alike."""

    plan: MatrixProduct  # of one of them
    number: int
    steps: tuple[int, int]  # elements from one to the next, in either operand
    whole: tuple[bool, bool]  # which operands lack the axis, so that every block reads all of them


def blocks_of(plan: MatrixProduct, dtype: str) -> Blocks | None:
    """How a product that copies goes block by block; None where it is too small, or has too few rows to be cut.

    Args:
        plan: a product with copies, of operands that have the type of the result.
        dtype: NumPy's name of that type.

    >>> stack, rows = Axis((0,), 64, (4096, 4096, 4096)), Axis((1,), 64, (None, 64, 1))
    >>> inner, columns = Axis((2,), 64, (1, 1, None)), Axis((3,), 64, (64, None, 64))
    >>> product = MatrixProduct((stack,), (rows,), (inner,), (columns,), True, True, True, (None, None, None), 0.0)
    >>> found = blocks_of(product, "float64")
    >>> found.number, found.plan.stack[0].extent, found.steps, found.whole
    (8, 8, (32768, 32768), (False, False))
    """
    groups = plan.stack, plan.rows, plan.columns
    axis = by_stride([one for group in groups for one in group], RESULT)[:1]
    count = _count(plan, axis[0], np.dtype(dtype).itemsize) if axis else 1
    if count == 1:
        return None
    part = axis[0].extent // count
    near, _ = divided(axis[0], part)
    stack, rows, columns = [_with(group, axis[0], near) for group in groups]
    matrices = (
        None if plan.copies_first else matrix_of(plan.inner, columns, FIRST),
        None if plan.copies_second else matrix_of(rows, plan.inner, SECOND),
        None if plan.permutes_result else matrix_of(rows, columns, RESULT),
    )
    copies = plan.copies_first, plan.copies_second, plan.permutes_result
    if any(matrix is None and not copied for matrix, copied in zip(matrices, copies, strict=True)):
        return None  # a group of axes that was evenly spaced is not without a part of one
    first, second, _ = axis[0].strides
    block = plan._replace(stack=stack, rows=rows, columns=columns, matrices=matrices)
    return Blocks(block, count, ((first or 0) * part, (second or 0) * part), (first is None, second is None))


def _count(plan: MatrixProduct, axis: Axis, itemsize: int) -> int:
    """So many blocks as are worth a call each, read operands in long runs, and have matrices that are wide enough."""
    everything = (*plan.stack, *plan.rows, *plan.inner, *plan.columns)
    copied, most = 0, axis.extent
    for role, flag in enumerate((plan.copies_first, plan.copies_second, plan.permutes_result)):
        stride = axis.strides[role]
        if stride is None:
            continue
        if flag:
            copied += extent_of([one for one in everything if one.strides[role] is not None])
        most = min(most, axis.extent * abs(stride) * itemsize // _RUN)
    most = min(most, copied * itemsize // _COPIED)
    for group in (plan.rows, plan.columns):
        if axis in group:
            most = min(most, extent_of(group) // _FEWEST)
    return next((count for count in range(most, max(1, most - _TRIED), -1) if axis.extent % count == 0), 1)


def _with(group: Group, axis: Axis, near: Group) -> Group:
    """The group with a part in place of an axis that it may have."""
    place = group.index(axis) if axis in group else len(group)
    return (*group[:place], *near, *group[place + 1 :]) if place < len(group) else group
