"""Contractions as matrix products: which axes are rows, columns and inner, what is copied for it, and the kernel.

C[n, m] = Y[n, k] X[k, m] for every index of the stacked axes, X from the first operand, Y from the second. The stack
takes the batch axes, and axes of one operand only where that saves a copy: ``x[A, k, B] w[k, t] -> [A, t, B]`` is a
stack of A products and copies nothing. BLAS takes a matrix whose rows or columns are contiguous, any distance apart;
what it cannot take is copied first, and a result that it cannot write is permuted once, unless all is so small that
NumPy's own loop, into which it falls without a word, is faster than the copies.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, Final

import numpy as np

from tensor_cpu.kernels.axes import (
    FIRST,
    RESULT,
    SECOND,
    Axis,
    Line,
    Look,
    Operand,
    access,
    by_occurrence,
    by_stride,
    extent_of,
    line,
    look,
)
from tensor_cpu.kernels.contraction import cost
from tensor_cpu.kernels.copy.permute import bind_copy, bind_fill
from tensor_cpu.system.errstate import IGNORING_FP_ERRORS, ignoring_fp_errors

Group = tuple[Axis, ...]
Kernel = Callable[[Any, Any], Any]

_SINGLE_AXES: Final = 3  # how many axes are tried as the only rows (or columns) of a stack, longest first


@dataclass(frozen=True, slots=True)
class MatrixProduct:
    """One decision: the part of every axis, and what has to be copied."""

    stack: Group
    rows: Group  # of the second operand
    inner: Group
    columns: Group  # of the first operand
    copies_first: bool
    copies_second: bool
    permutes_result: bool
    cost: float  # estimated nanoseconds

    @property
    def copies(self) -> bool:
        """Whether anything passes through a workspace."""
        return self.copies_first or self.copies_second or self.permutes_result

    def workspace_bytes(self, x: Operand, y: Operand, result: Operand) -> int:
        """Bytes taken at once besides the result: the copies, which are gone when the product is permuted.

        >>> from tensor_cpu.kernels.axes import join, row_major
        >>> x, y, result = (row_major(labels, (99, 99), "float64") for labels in ((1, 0), (2, 1), (2, 0)))
        >>> x = Operand(x.labels, x.shape, (0, 0), x.dtype)  # one element, repeated
        >>> plan_product(join(x, y, result), x, y, result).workspace_bytes(x, y, result) == 99 * 99 * 8
        True
        """
        copied = (x.size if self.copies_first else 0) + (y.size if self.copies_second else 0)
        return max(copied, result.size if self.permutes_result else 0) * np.dtype(result.dtype).itemsize


def plan_product(axes: Sequence[Axis], x: Operand, y: Operand, result: Operand) -> MatrixProduct:
    """The cheapest matrix product; ``axes`` as from ``join``, at least one of them contracted.

    >>> from tensor_cpu.kernels.axes import join, row_major
    >>> x, w = row_major((0, 1, 2), (5, 40, 30), "float64"), row_major((3, 1), (20, 40), "float64")
    >>> result = row_major((0, 3, 2), (5, 20, 30), "float64")
    >>> plan = plan_product(join(x, w, result), x, w, result)
    >>> [[axis.labels for axis in group] for group in (plan.stack, plan.rows, plan.inner, plan.columns)], plan.copies
    ([[(0,)], [(3,)], [(1,)], [(2,)]], False)
    """
    _, contracted, free_x, free_y = by_occurrence(axes)
    best: MatrixProduct | None = None
    for inner in _orders(contracted, FIRST, SECOND):
        for columns in _choices(free_x, FIRST):
            for rows in _choices(free_y, SECOND):
                taken = (*inner, *columns, *rows)
                stack = tuple([axis for axis in axes if axis not in taken]) if len(taken) < len(axes) else ()
                candidate = _judge(stack, rows, inner, columns, x, y, result)
                if best is None or candidate.cost < best.cost:
                    best = candidate
                if len(columns) == len(free_x) and len(rows) == len(free_y) and not candidate.copies:
                    return candidate
    assert best is not None  # every generator yields at least once
    return best


def _orders(group: Sequence[Axis], *roles: int) -> list[Group]:
    """The orders in which these roles have the axes, without repetition."""
    if len(group) < 2:
        return [tuple(group)]
    return list(dict.fromkeys(by_stride(group, role) for role in roles))


def _choices(group: Sequence[Axis], role: int) -> list[Group]:
    """All axes, in the result's order and in the operand's; then, the rest being stacked, the longest ones alone."""
    choices = _orders(group, RESULT, role)
    if len(group) > 1:
        choices += [(axis,) for axis in sorted(group, key=lambda axis: -axis.extent)[:_SINGLE_AXES]]
    return choices


def _judge(
    stack: Group, rows: Group, inner: Group, columns: Group, x: Operand, y: Operand, result: Operand
) -> MatrixProduct:
    copies_first = x.dtype != result.dtype or blas_matrix(inner, columns, FIRST) is None
    copies_second = y.dtype != result.dtype or blas_matrix(rows, inner, SECOND) is None
    permutes_result = blas_matrix(rows, columns, RESULT) is None
    m, n, k = extent_of(columns), extent_of(rows), extent_of(inner)
    count = extent_of(stack)
    time = cost.products(count, m, n, k, result.dtype)
    loop_time = cost.loops(count, m, n, k)
    if copies_first:
        time += cost.copy(x.size, _contiguous_run((*columns, *inner), FIRST))
    if copies_second:
        time += cost.copy(y.size, _contiguous_run((*rows, *inner), SECOND))
    if permutes_result:
        time += cost.copy(result.size, _contiguous_run((columns or rows)[-1:], RESULT))
    if loop_time < time and x.dtype == y.dtype == result.dtype:
        roles = ((FIRST, inner, columns), (SECOND, rows, inner), (RESULT, rows, columns))
        if all(
            line(outer, role) and line(fast, role) for role, outer, fast in roles
        ):  # views exist; BLAS does not matter
            return MatrixProduct(stack, rows, inner, columns, False, False, False, loop_time)
    return MatrixProduct(stack, rows, inner, columns, copies_first, copies_second, permutes_result, time)


def _contiguous_run(axes: Sequence[Axis], role: int) -> int:
    """Neighbours that a copy keeps together when one of these axes is its last."""
    return max((axis.extent for axis in axes if axis.strides[role] == 1), default=1)


def blas_matrix(outer: Group, inner: Group, role: int, *, gaps: bool = True) -> tuple[Line, Line] | None:
    """The groups as the two axes of a matrix (or a vector) that BLAS takes as it is; None if it does not.

    >>> rows, columns = Axis((0,), 4, (9, None, 1)), Axis((1,), 8, (1, None, 4))
    >>> blas_matrix((rows,), (columns,), FIRST), blas_matrix((rows,), (columns,), FIRST, gaps=False)
    ((Line(extent=4, stride=9), Line(extent=8, stride=1)), None)
    """
    row, column = line(outer, role), line(inner, role)
    if row is None or column is None:
        return None
    if 1 in (row.extent, column.extent):
        return (row, column) if (column if row.extent == 1 else row).stride > 0 else None
    slow, fast = (row, column) if column.stride == 1 else (column, row)
    suits = fast.stride == 1 and (slow.stride >= fast.extent if gaps else slow.stride == fast.extent)
    return (row, column) if suits else None


def bind_product(plan: MatrixProduct, x: Operand, y: Operand, result: Operand) -> Kernel:
    """The kernel of a decision: two native arrays in, one native array out, which it allocates.

    >>> from tensor_cpu.kernels.axes import join, row_major
    >>> x, y, result = (row_major(labels, (2, 2), "float64") for labels in ((1, 0), (2, 1), (2, 0)))
    >>> kernel = bind_product(plan_product(join(x, y, result), x, y, result), x, y, result)
    >>> kernel(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[0.0, 1.0], [1e308, 1e308]])).tolist()
    [[3.0, 4.0], [inf, inf]]
    """
    if not plan.stack and not plan.permutes_result:
        # ndarray.dot has the least overhead, but copies matrices with gaps; np.matmul does not.
        whole_x = plan.copies_first or blas_matrix(plan.inner, plan.columns, FIRST, gaps=False) is not None
        whole_y = plan.copies_second or blas_matrix(plan.rows, plan.inner, SECOND, gaps=False) is not None
        if whole_x and whole_y:
            return _bind_dot(plan, x, y, result)
    stack = [(axis,) for axis in plan.stack]
    look_x = look_at(x, stack, plan.inner, plan.columns, FIRST, copy_as=result.dtype if plan.copies_first else None)
    look_y = look_at(y, stack, plan.rows, plan.inner, SECOND, copy_as=result.dtype if plan.copies_second else None)
    shape, dtype, matmul, empty = result.shape, np.dtype(result.dtype), np.matmul, np.empty

    if plan.permutes_result:
        put = bind_rearranged(plan, result)
        return ignoring_fp_errors(lambda x, y: put(matmul(look_y(y), look_x(x))))

    look_out = look_at(result, stack, plan.rows, plan.columns, RESULT, copy_as=None)

    def direct(x: Any, y: Any) -> Any:
        out = empty(shape, dtype)
        matmul(look_y(y), look_x(x), look_out(out))
        return out

    return ignoring_fp_errors(direct)


def bind_rearranged(plan: MatrixProduct, result: Operand) -> Callable[[Any], Any]:
    """Kernel that makes the result of a product without gaps, [stack..., rows, columns], by one permuted copy.

    >>> from tensor_cpu.kernels.axes import join, row_major
    >>> x, y = row_major((0, 1, 2), (2, 3, 4), "float64"), row_major((2, 3), (4, 5), "float64")
    >>> result = row_major((0, 3, 1), (2, 5, 3), "float64")
    >>> plan = plan_product(join(x, y, result), x, y, result)
    >>> bind_rearranged(plan, result)(np.zeros(30)).shape
    (2, 5, 3)
    """
    made = (*plan.stack, *plan.rows, *plan.columns)  # axes of the product, each of them a run of the result's
    final = by_stride(made, RESULT)
    order = tuple(made.index(axis) for axis in final)
    extents, extents_out = tuple(axis.extent for axis in made), tuple(axis.extent for axis in final)
    fill = bind_fill(extents_out, tuple(prod(extents[place + 1 :]) for place in order))
    shape, dtype, empty = result.shape, np.dtype(result.dtype), np.empty

    def put(product: Any) -> Any:
        out = empty(shape, dtype)
        fill(out.reshape(extents_out), product.reshape(extents).transpose(order))
        return out

    return put


def copy_swaps(outer: Group, role: int) -> bool:
    """Whether a copy lies as [stack..., inner, outer], which keeps neighbours of the operand together.

    >>> copy_swaps((Axis((0,), 4, (1, None, 1)),), FIRST)
    True
    """
    return any(axis.strides[role] == 1 for axis in outer)


def look_at(
    operand: Operand, stack: Sequence[Group], outer: Group, inner: Group, role: int, *, copy_as: str | None
) -> Look:
    """How a kernel sees an array as [stack..., outer, inner]: as a view, or as a copy in a layout that BLAS takes.

    >>> from tensor_cpu.kernels.axes import row_major
    >>> operand = row_major((0, 1), (2, 3), "int32")
    >>> rows, columns = Axis((1,), 3, (1, None, 1)), Axis((0,), 2, (3, 2, None))
    >>> look_at(operand, [], (rows,), (columns,), FIRST, copy_as="float64")(np.ones((2, 3), "int32")).dtype.name
    'float64'
    """
    if copy_as is None:
        return look(operand, access(operand, [*stack, outer, inner], role))
    swaps = copy_swaps(outer, role)
    groups = [*stack, inner, outer] if swaps else [*stack, outer, inner]
    present = [axis for group in groups for axis in group if axis.strides[role] is not None]
    thin = look(operand, access(operand, [(axis,) for axis in present], role))
    extents, strides = tuple(axis.extent for axis in present), tuple(axis.strides[role] or 0 for axis in present)
    copy, shape = bind_copy(extents, strides, np.dtype(copy_as)), access(operand, groups, role).shape
    if swaps:
        return lambda array: copy(thin(array)).reshape(shape).swapaxes(-1, -2)
    return lambda array: copy(thin(array)).reshape(shape)


def _bind_dot(plan: MatrixProduct, x: Operand, y: Operand, result: Operand) -> Kernel:
    """A single product of matrices or vectors without gaps; the left factor has the result's outer axis."""
    along = line(plan.columns, RESULT)
    x_left = bool(plan.rows and plan.columns) and along is not None and along.stride != 1
    m, n, k = plan.columns, plan.rows, plan.inner
    if not plan.copies_first and not plan.copies_second:
        way_x = _plain(x, [m, k] if x_left else [k, m], FIRST)
        way_y = _plain(y, [k, n] if x_left else [n, k], SECOND)
        extents = tuple(extent_of(group) for group in ([m, n] if x_left else [n, m]) if group)
        if way_x and way_y and extents and extents == result.shape:
            return _DOTS[x_left, way_x, way_y]
    (outer_x, inner_x), (outer_y, inner_y) = ((m, k), (k, n)) if x_left else ((k, m), (n, k))
    outer, inner = (m, n) if x_left else (n, m)
    shape, dtype, empty = result.shape, np.dtype(result.dtype), np.empty
    matrix: tuple[int, ...] = (extent_of(outer), extent_of(inner))
    if plan.copies_first or plan.copies_second:
        look_x = look_at(x, [], outer_x, inner_x, FIRST, copy_as=result.dtype if plan.copies_first else None)
        look_y = look_at(y, [], outer_y, inner_y, SECOND, copy_as=result.dtype if plan.copies_second else None)
    else:  # a factor without rows or columns is a vector, which has less overhead than a matrix
        look_x = look(x, access(x, [group for group in (outer_x, inner_x) if group], FIRST))
        look_y = look(y, access(y, [group for group in (outer_y, inner_y) if group], SECOND))
        matrix = tuple(extent_of(group) for group in (outer, inner) if group)

    def dot(x: Any, y: Any) -> Any:
        out = empty(shape, dtype)
        left, right = (look_x(x), look_y(y)) if x_left else (look_y(y), look_x(x))
        left.dot(right, out.reshape(matrix))
        return out

    return ignoring_fp_errors(dot)


def _plain(operand: Operand, groups: Sequence[Group], role: int) -> str | None:
    """How the array itself becomes the factor: "as it is" or "transposed"; None if it must be reshaped."""
    wanted = access(operand, [group for group in groups if group], role)
    rank = len(operand.shape)
    if wanted.shape == operand.shape and wanted.order == tuple(range(rank)):
        return "as it is"
    if wanted.shape == operand.shape[::-1] and wanted.order == tuple(range(rank))[::-1]:
        return "transposed"
    return None


_enter: Final = IGNORING_FP_ERRORS.copy
# Matrix products with no Python frame but their own: (the first operand is the left factor, first, second).
_DOTS: Final[dict[tuple[bool, str, str], Kernel]] = {
    (False, "as it is", "as it is"): lambda x, y: _enter().run(y.dot, x),
    (False, "as it is", "transposed"): lambda x, y: _enter().run(y.T.dot, x),
    (False, "transposed", "as it is"): lambda x, y: _enter().run(y.dot, x.T),
    (False, "transposed", "transposed"): lambda x, y: _enter().run(y.T.dot, x.T),
    (True, "as it is", "as it is"): lambda x, y: _enter().run(x.dot, y),
    (True, "as it is", "transposed"): lambda x, y: _enter().run(x.dot, y.T),
    (True, "transposed", "as it is"): lambda x, y: _enter().run(x.T.dot, y),
    (True, "transposed", "transposed"): lambda x, y: _enter().run(x.T.dot, y.T),
}
