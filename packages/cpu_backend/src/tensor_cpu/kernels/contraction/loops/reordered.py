"""Contractions in the order in which an operand lies, block by block, each of which is copied to where it belongs.

A tensor whose axes the result has in another order is read far apart by whatever writes the result in its order, or is
copied whole for a matrix product. Where sums leave less than the operand has, copies of that are cheaper, while they
are in the cache.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any, Final, Generic, NamedTuple, TypeVar

from tensor_cpu.kernels import blas_costs
from tensor_cpu.kernels.contraction.native import TYPE_NAMES, groups_of
from tensor_cpu.kernels.memory_costs import ITEMSIZE
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

Group = tuple[Axis, ...]
Kernel = Callable[[Any, Any], Any]
P = TypeVar("P", bound=Any)

_LEAST_TERMS: Final = 1 << 13
"""Multiply-adds from which another order is worth a look, which takes as long as the first one."""
_SURELY: Final = 0.8  # of the time by the result's own order, below which another one is taken
_BLOCKS: Final = 1 << 16  # bytes of those of all threads
_LEAST_BLOCK: Final = 512  # elements of one of several
_NEXT: Final = 150.0  # nanoseconds from a block to the next one


class ReorderedProduct(NamedTuple, Generic[P]):
    """One decision: the axes from block to block and those of a block, outermost first, and how one is computed."""

    outer: Group
    within: Group
    x: Operand  # of a block
    y: Operand
    block: Operand
    plan: P
    cost: float  # estimated nanoseconds


def plan_reordered(
    axes: Sequence[Axis],
    x: Operand,
    y: Operand,
    result: Operand,
    direct: float,
    plan: Callable[[tuple[Axis, ...], Operand, Operand, Operand], P],
) -> ReorderedProduct[P] | None:
    """The product in the order of the larger operand, where that and its copies surely cost less than ``direct``.

    ``axes`` are as from ``join``, and ``plan`` says how a block of the operands is computed, whose axes it takes.

    >>> from types import SimpleNamespace
    >>> x, y = row_major((0, 1, 2, 3), (20, 20, 20, 20), "float64"), row_major((2,), (20,), "float64")
    >>> result = row_major((3, 1, 0), (20, 20, 20), "float64")
    >>> found = plan_reordered(join(x, y, result), x, y, result, 1e6, lambda *block: SimpleNamespace(cost=100.0))
    >>> extent_of(found.outer) * found.block.size == 20**3
    True
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
    most = max(_LEAST_BLOCK, _BLOCKS // (LIBRARY.threads() * ITEMSIZE[result.dtype]))
    outer, within = _blocks((*others, *as_it_lies), kept, most)
    count, size = extent_of(outer), extent_of(within)
    if outer and size < _LEAST_BLOCK:
        return None
    run = within[-1].extent if within and within[-1].strides[RESULT] == 1 else 1
    copying = count * (_NEXT + blas_costs.copy(size, run, result.dtype) - blas_costs.copy(0, 1, result.dtype))
    if copying >= _SURELY * direct:
        return None
    inside = (*within, *[axis for axis in axes if axis.strides[RESULT] is None])
    block = row_major(tuple(range(len(within))), tuple([axis.extent for axis in within]), result.dtype)
    operands = _part(inside, FIRST, x.dtype), _part(inside, SECOND, y.dtype)
    found = plan(join(*operands, block), *operands, block)
    time = count * found.cost + copying
    return ReorderedProduct(outer, within, *operands, block, found, time) if time < _SURELY * direct else None


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
        whole = axis.extent <= most
        parts[axis] = axis.extent if whole else max(n for n in range(1, most + 1) if axis.extent % n == 0)
        most //= parts[axis]
        if not whole:
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


def _part(axes: Group, role: int, dtype: str) -> Operand:
    """The part of an operand that is along these axes, with their places as labels."""
    own = [(place, axis.extent, step) for place, axis in enumerate(axes) if (step := axis.strides[role]) is not None]
    labels, shape, strides = zip(*own, strict=True) if own else ((), (), ())
    return Operand(labels, shape, strides, dtype)


def bind_reordered(plan: ReorderedProduct[Any], kernel: Kernel, result: Operand) -> Kernel:
    """The kernel of a decision: ``kernel``, a native one, makes a block.

    >>> import numpy as np
    >>> rows, columns = Axis((0,), 2, (1, None, 1)), Axis((1,), 3, (None, 1, 2))
    >>> result = row_major((1, 0), (3, 2), "float64")
    >>> one = LIBRARY.bind_pair("F64", (3,), ((3, 0, 1, 1),), ()) if LIBRARY else None
    >>> plan = ReorderedProduct((rows,), (columns,), result, result, result, None, 0.0)
    >>> kernel = bind_reordered(plan, one, result)
    >>> kernel(np.array([1.0, 2.0]), np.array([3.0, 4.0, 5.0])).tolist()
    [[3.0, 6.0], [4.0, 8.0], [5.0, 10.0]]
    """
    extents = tuple([axis.extent for axis in plan.within])
    strides = tuple([axis.strides[RESULT] or 0 for axis in plan.within])
    return LIBRARY.bind_scattered(
        TYPE_NAMES[result.dtype], result.shape, kernel, groups_of(plan.outer), extents, strides
    )
