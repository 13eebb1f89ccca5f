"""Stacks of small matrix products in C (csrc/contraction/stack.c).

BLAS takes 40 nanoseconds for a product of any size, and none whose elements lie a stack apart. This kernel takes
operands as they lie, and packs the little that it cannot load as vectors. It also takes long products of few columns,
which are bound by memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from tensor_cpu.kernels import costs as cost
from tensor_cpu.kernels import memory_costs as memory
from tensor_cpu.kernels.contraction.cuts.nearness import LINE, again, by_nearness
from tensor_cpu.kernels.contraction.native import TYPE_NAMES, groups_of, large_roles
from tensor_cpu.kernels.processor_rates import rates
from tensor_cpu.system.extension import AVAILABLE, LIBRARY
from tensor_runtime.backends.shared.axes import FIRST, RESULT, SECOND, Axis, Operand, by_occurrence, extent_of

Group = tuple[Axis, ...]
Kernel = Callable[[Any, Any], Any]

_LOOPS: Final = ("float32", "float64", "complex64", "complex128")
_MANY_COLUMNS: Final = 64  # more than processors fetch ahead
_LONG_NEAR: Final = 8  # products that are worth a loop of their own
_LONGEST_ELEMENT: Final = 16  # bytes
_LARGEST_OUTER: Final = 256  # elements of an outer product
_MOST_PACKED: Final = LIBRARY.MOST_PACKED_BYTES if AVAILABLE else 0


class StackProduct(NamedTuple):
    """One decision: the part of every axis; each of the last four is one axis or none."""

    stack: Group
    near: Group  # the stacked axis that is walked in the innermost loop
    rows: Group
    columns: Group
    inner: Group
    rows_are_second: bool  # whether the second operand has the rows
    cost: float  # estimated nanoseconds


def plan_stack(axes: Sequence[Axis], x: Operand, y: Operand, result: Operand) -> StackProduct | None:
    """The stack of small products; ``axes`` as from ``join``. None where there is none, or no loop for the type.

    Vectors are made of the result's fastest axis: of rows, or of products.

    >>> from tensor_runtime.backends.shared.axes import join, row_major
    >>> x, y, result = (row_major((9, *labels), (50, 3, 3), "float64") for labels in ((1, 0), (2, 1), (2, 0)))
    >>> plan = plan_stack(join(x, y, result), x, y, result)
    >>> plan and [[axis.labels for axis in group] for group in (plan.near, plan.rows, plan.columns, plan.inner)]
    [[(9,)], [(0,)], [(2,)], [(1,)]]
    """
    if not AVAILABLE or result.dtype not in _LOOPS or not x.dtype == y.dtype == result.dtype:
        return None
    batch, inner, of_x, of_y = by_occurrence(axes)
    kept = [axis for axis in axes if axis.strides[RESULT] is not None]
    if len(inner) > 1 or not kept:
        return None
    fastest = kept[-1]
    second = fastest in of_y
    of_rows, of_columns = (of_y, of_x) if second else (of_x, of_y)
    sizes = x.size, y.size, result.size
    large = large_roles(sizes, result.dtype)
    rows = _side(of_rows, large) if fastest in batch else (fastest,)
    columns = _side(of_columns, large)
    near = (fastest,) if fastest in batch else ()
    rest = [axis for axis in kept if axis not in (*rows, *columns, *near)]
    if not near and rest:
        near = (_walked(rest),)
        rest.remove(near[0])
    if not (near or columns) and extent_of((*rows, *inner)) > memory.CACHED_BYTES // _LONGEST_ELEMENT:
        return None  # a large matrix times a vector is BLAS's
    if not inner and (not near or extent_of((*rows, *columns)) > _LARGEST_OUTER):
        return None  # long rows and hyper-edges are the pair kernel's
    plan = StackProduct(by_nearness(tuple(rest), large) if rest else (), near, rows, columns, inner, second, 0.0)
    time = _estimate(plan, sum(sizes), result.dtype)
    if time is not None and large:
        time += memory.fetched_again(again(_walk(plan), large, x, y, result, crowded=True), "stack")
    return None if time is None else plan._replace(cost=time)


def _walk(plan: StackProduct) -> Group:
    """The axes as the kernel goes along them, innermost first."""
    if not rates().stack.in_strips:
        return (*plan.inner, *plan.rows, *plan.columns, *plan.near, *reversed(plan.stack))
    if plan.near and plan.near[0].strides[RESULT] == 1:
        strip, strips = _strips(plan.near)
        return (*strip, *plan.inner, *plan.rows, *plan.columns, *strips, *reversed(plan.stack))
    strip, strips = _strips(plan.rows)
    return (*strip, *plan.inner, *plan.columns, *strips, *plan.near, *reversed(plan.stack))


def _strips(axes: Group) -> tuple[Group, Group]:
    """An axis as a line of the cache and the lines of it.

    >>> [[axis.extent for axis in group] for group in _strips((Axis((0,), 20, (1, None, 1)),))]
    [[8], [3]]
    """
    if not axes:
        return (), ()
    axis, near = axes[0], min(axes[0].extent, LINE)
    first, second, result = (step and step * near for step in axis.strides)
    return (axis._replace(extent=near),), (Axis(axis.labels, -(-axis.extent // near), (first, second, result)),)


def _walked(axes: Sequence[Axis]) -> Axis:
    """The axis of the innermost loop: the nearest of the long ones, else the longest.

    >>> short, near, far = (Axis((0,), extent, (step, step, step)) for extent, step in ((2, 1), (9, 2), (99, 18)))
    >>> _walked((far, near, short)).extent, _walked((short,)).extent
    (9, 2)
    """
    long = [axis for axis in axes if axis.extent >= _LONG_NEAR]
    return min(long, key=lambda axis: axis.strides[RESULT] or 0) if long else max(axes, key=lambda axis: axis.extent)


def _side(axes: Group, large: Sequence[int]) -> Group:
    """The rows or columns, one axis or none: the longest; where arrays leave the cache, the nearest of the long ones.

    >>> near, far = (Axis((0,), extent, (step, None, step)) for extent, step in ((9, 2), (99, 18)))
    >>> [[axis.extent for axis in _side((far, near), roles)] for roles in ((), (0, 2))]
    [[99], [9]]
    """
    if len(axes) < 2:
        return axes
    return (_walked(axes) if large else max(axes, key=lambda axis: axis.extent),)


def _estimate(plan: StackProduct, size: int, dtype: str) -> float | None:
    """Nanoseconds for so many elements in all, each fetched once; None where more is packed than the kernel takes."""
    of_rows, of_columns = (SECOND, FIRST) if plan.rows_are_second else (FIRST, SECOND)
    m, n, k = extent_of(plan.rows), extent_of(plan.columns), extent_of(plan.inner)
    itemsize, near = memory.ITEMSIZE[dtype], plan.near
    if near and near[0].strides[RESULT] == 1:
        needed = [extent * k for role, extent in ((of_rows, m), (of_columns, n)) if near[0].strides[role] != 1]
        if max(m, n) * k * rates().vector_bytes > _MOST_PACKED:
            return None
        time = cost.lanes(extent_of(plan.stack), near[0].extent, m, n, k, dtype, packed=sum(needed))
    else:
        packed = m * k if m > 1 and plan.rows[0].strides[of_rows] != 1 else 0
        if packed * itemsize > _MOST_PACKED:
            return None
        once = near and not near[0].strides[of_rows]
        packed *= extent_of(plan.stack) if once else extent_of((*plan.stack, *near))
        count = extent_of((*plan.stack, *near))
        step = plan.inner[0].strides[of_rows] or 0 if plan.inner and not packed else 1
        time = cost.rows(extent_of(plan.stack), extent_of(near), m, n, k, dtype, packed=packed, step=step)
        if plan.columns and plan.columns[0].strides[RESULT] != m:  # else whole products are written one after the other
            time += memory.parts_of_lines(count * m * n, m, dtype)
        if n > _MANY_COLUMNS and count * m * n * itemsize > memory.CACHED_BYTES:
            time = max(time, memory.columns_apart(count * m * n, plan.columns[0].strides[RESULT] or 0, dtype))
    moved = size * itemsize
    time += moved * rates().stack.traffic_byte
    return time if moved <= memory.CACHED_BYTES else memory.with_traffic(time, moved)


def bind_stack(plan: StackProduct, result: Operand) -> Kernel:
    """The kernel of a decision: two native arrays of the result's dtype in, one native array out.

    >>> import numpy as np
    >>> from tensor_runtime.backends.shared.axes import join, row_major
    >>> x, y, result = (row_major(labels, (2, 2), "float64") for labels in ((1, 0), (1, 2), (2, 0)))
    >>> plan = plan_stack(join(x, y, result), x, y, result)
    >>> x, y = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[0.0, 1.0], [1.0, 1.0]])
    >>> plan is None or bind_stack(plan, result)(x, y).tolist() == [[3.0, 4.0], [4.0, 6.0]]
    True
    """
    return LIBRARY.bind_stack(
        TYPE_NAMES[result.dtype],
        result.shape,
        groups_of(plan.stack),
        groups_of(plan.near),
        groups_of(plan.rows),
        groups_of(plan.columns),
        groups_of(plan.inner),
        plan.rows_are_second,
    )
