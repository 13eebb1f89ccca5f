"""Contractions in the order in which an operand lies, block by block, each of which is copied to where it belongs.

A tensor whose axes the result has in another order is read far apart by whatever writes the result in its order, or is
copied whole for a matrix product. Where sums leave less than the operand has, copies of that are cheaper, while they
are in the cache.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any, Final, NamedTuple

from tensor_cpu.kernels import memory_costs as memory
from tensor_cpu.kernels.contraction.gemm import BLAS_TYPES, plan_product
from tensor_cpu.kernels.contraction.loops.broadcast import BroadcastProduct, plan_broadcast
from tensor_cpu.kernels.contraction.loops.stack import StackProduct, plan_stack
from tensor_cpu.kernels.contraction.loops.turned import TurnedProduct, plan_turned
from tensor_cpu.kernels.contraction.native import TYPE_NAMES, PairProduct, ScatterProduct, groups_of, plan_native
from tensor_cpu.system.extension import LIBRARY
from tensor_runtime.backends.shared.axes import (
    FIRST,
    RESULT,
    SECOND,
    Axis,
    Operand,
    by_stride,
    extent_of,
    join,
    row_major,
)
from tensor_runtime.backends.shared.products import MatrixProduct

Group = tuple[Axis, ...]
Kernel = Callable[[Any, Any], Any]
Whole = PairProduct | ScatterProduct | StackProduct | TurnedProduct | BroadcastProduct | MatrixProduct

_LEAST_TERMS: Final = 1 << 13
"""Multiply-adds from which another order is worth a look, which takes as long as the first one."""
_SURELY: Final = 0.9  # of the time by the result's own order, below which another is taken
_BLOCK: Final = 1 << 15  # bytes
_MOST_TRIED: Final = 256  # numbers of parts of an axis
_LEAST_BLOCK: Final = 512  # elements of one of several


class ReorderedProduct(NamedTuple):
    """One decision: the axes from block to block and those of a block, outermost first, and how one is computed."""

    outer: Group
    within: Group
    x: Operand  # of a block
    y: Operand
    block: Operand
    plan: Whole
    cost: float  # estimated nanoseconds


def sums_nothing(axes: Sequence[Axis]) -> bool:
    """Whether there are axes, and the last of them is the result's: what is summed comes last.

    >>> sums_nothing((Axis((0,), 3, (1, 1, 1)),)), sums_nothing((Axis((0,), 3, (1, 1, None)),))
    (True, False)
    """
    return bool(axes) and axes[-1].strides[RESULT] is not None


def plan_without_copies(axes: tuple[Axis, ...], x: Operand, y: Operand, result: Operand) -> Whole | None:
    """The cheapest kernel that copies nothing, of operands of the result's dtype; None where none takes them.

    >>> x, y = row_major((0, 1), (30, 40), "int64"), row_major((1, 2), (40, 50), "int64")
    >>> result = row_major((0, 2), (30, 50), "int64")
    >>> plan_without_copies(join(x, y, result), x, y, result) is not None
    True
    """
    ways: list[Whole | None]
    if sums_nothing(axes):
        ways = [plan_broadcast(axes, x, y, result, copies=False), plan_turned(axes, x, y, result)]
    else:
        ways = [plan_stack(axes, x, y, result), plan_native(axes, x, y, result)]
        matrices = plan_product(axes, x, y, result) if result.dtype in BLAS_TYPES else None
        ways.append(matrices if matrices and not matrices.copies else None)
    return min([way for way in ways if way is not None], key=lambda way: way.cost, default=None)


def plan_reordered(
    axes: Sequence[Axis], x: Operand, y: Operand, result: Operand, direct: float
) -> ReorderedProduct | None:
    """The product in the order of the larger operand, where that and its copies surely cost less than ``direct``.

    ``axes`` are as from ``join``. How many threads there are decides nothing here.

    >>> x, y = row_major((0, 1, 2, 3), (20, 20, 20, 20), "float64"), row_major((2,), (20,), "float64")
    >>> result = row_major((3, 1, 0), (20, 20, 20), "float64")
    >>> found = plan_reordered(join(x, y, result), x, y, result, 1e6)
    >>> [axis.extent for axis in (*found.outer, *found.within)]
    [2, 20, 10, 20]
    """
    if extent_of(axes) < _LEAST_TERMS or not x.dtype == y.dtype == result.dtype:
        return None
    kept = by_stride([axis for axis in axes if axis.strides[RESULT] is not None], RESULT)
    role = FIRST if x.size >= y.size else SECOND
    own = tuple([axis for axis in kept if axis.strides[role] is not None])
    as_it_lies = by_stride(own, role)
    if own == as_it_lies:
        return None
    others = [axis for axis in kept if axis.strides[role] is None]
    outer, within = _blocks((*others, *as_it_lies), kept, _BLOCK // memory.ITEMSIZE[result.dtype])
    count, size = extent_of(outer), extent_of(within)
    if outer and size < _LEAST_BLOCK:
        return None
    run = within[-1].extent if within and within[-1].strides[RESULT] == 1 else 1
    surely = direct * _SURELY
    copying = memory.scattered(count, result.size, run, result.dtype)
    if copying >= surely:
        return None
    inside = (*within, *[axis for axis in axes if axis.strides[RESULT] is None])
    block = row_major(tuple(range(len(within))), tuple([axis.extent for axis in within]), result.dtype)
    of_x, of_y = _part(inside, FIRST, x.dtype), _part(inside, SECOND, y.dtype)
    found = plan_without_copies(join(of_x, of_y, block), of_x, of_y, block)
    if found is None or count * found.cost + copying >= surely:
        return None
    return ReorderedProduct(outer, within, of_x, of_y, block, found, count * found.cost + copying)


def _blocks(order: Group, final: Group, most: int) -> tuple[Group, Group]:
    """The axes from block to block, and those of blocks of at most so many elements, both in this order.

    Blocks take the innermost axes of this order and of the result's in turns; the last one may be of both.

    >>> rows, columns = Axis((0,), 90, (90, None, 1)), Axis((1,), 90, (1, None, 90))
    >>> outer, within = _blocks((rows, columns), (columns, rows), 4096)
    >>> [axis.extent for axis in (*outer, *within)]
    [2, 45, 90]
    """
    parts: dict[Axis, int] = {}
    for axis in dict.fromkeys(chain.from_iterable(zip(reversed(order), reversed(final), strict=True))):
        parts[axis] = _largest_part(axis.extent, most)
        most //= parts[axis]
        if parts[axis] < axis.extent:
            break
    outer, within = [], []
    for axis in order:
        part = parts.get(axis, 1)
        if part > 1:
            within.append(axis._replace(extent=part))
        if part < axis.extent:
            steps = tuple([step and step * part for step in axis.strides])
            outer.append(Axis(axis.labels, axis.extent // part, (steps[FIRST], steps[SECOND], steps[RESULT])))
    return tuple(outer), tuple(within)


def _largest_part(extent: int, most: int) -> int:
    """The largest divisor of an extent up to ``most``, if some of these numbers of parts is one; else 1.

    >>> _largest_part(90, 45), _largest_part(90, 100), _largest_part(97, 50)
    (45, 90, 1)
    """
    fewest = -(-extent // most)
    parts = next((number for number in range(fewest, fewest + _MOST_TRIED) if extent % number == 0), extent)
    return extent // parts


def _part(axes: Group, role: int, dtype: str) -> Operand:
    """The part of an operand that is along these axes, with their places as labels."""
    own = [(place, axis.extent, step) for place, axis in enumerate(axes) if (step := axis.strides[role]) is not None]
    labels, shape, strides = zip(*own, strict=True) if own else ((), (), ())
    return Operand(labels, shape, strides, dtype)


def bind_reordered(plan: ReorderedProduct, kernel: Kernel, result: Operand) -> Kernel:
    """The kernel of a decision: ``kernel``, a native one, makes a block.

    >>> import numpy as np
    >>> rows, columns = Axis((0,), 2, (1, None, 1)), Axis((1,), 3, (None, 1, 2))
    >>> result = row_major((1, 0), (3, 2), "float64")
    >>> one = LIBRARY.bind_pair("F64", (3,), ((3, 0, 1, 1),), ())
    >>> pairs = PairProduct((rows,), (), 0.0)
    >>> plan = ReorderedProduct((rows,), (columns,), result, result, result, pairs, 0.0)
    >>> kernel = bind_reordered(plan, one, result)
    >>> kernel(np.array([1.0, 2.0]), np.array([3.0, 4.0, 5.0])).tolist()
    [[3.0, 6.0], [4.0, 8.0], [5.0, 10.0]]
    """
    extents = tuple([axis.extent for axis in plan.within])
    strides = tuple([axis.strides[RESULT] or 0 for axis in plan.within])
    return LIBRARY.bind_scattered(
        TYPE_NAMES[result.dtype], result.shape, kernel, groups_of(plan.outer), extents, strides
    )
