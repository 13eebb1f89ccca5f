"""Contractions as matrix products: which axes are rows, columns and inner, and what is copied for it.

C[n, m] = Y[n, k] X[k, m] for every index of the stacked axes, X from the first operand, Y from the second. The stack
takes the batch axes, and axes of one operand only where that saves a copy: ``x[A, k, B] w[k, t] -> [A, t, B]`` is a
stack of A products and copies nothing. Libraries take a matrix whose rows or columns are contiguous, any distance
apart; what they cannot take is copied first, and a result that they cannot write is permuted once, unless a device has
a loop that takes any strides, and all is so small that it is faster than the copies.

What all this costs, the device says. Nothing here touches an array, and no cost is known here.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Final, NamedTuple, Protocol

from tensor_core.dtypes import as_dtype
from tensor_runtime.backends.shared.axes import (
    FIRST,
    RESULT,
    SECOND,
    Axis,
    Line,
    Operand,
    by_occurrence,
    by_stride,
    extent_of,
    line,
)

Group = tuple[Axis, ...]
Matrix = tuple[Line, Line]  # outer and inner axis

_SINGLE_AXES: Final = 3  # how many axes are tried as the only rows (or columns) of a stack, longest first


class ProductCosts(Protocol):
    """What products cost on a device, in estimated nanoseconds, none of them negative; a module may be one.

    A stack is of ``count`` products [n, k] [k, m]; types are by NumPy's names.
    """

    @property
    def stacks_evenly(self) -> bool:
        """Whether a call takes only stacks of which each operand's matrices are evenly spaced, forwards."""
        ...

    def products(self, count: int, m: int, n: int, k: int, dtype: str) -> float:
        """A stack of products by the library, with the call around it."""
        ...

    def loops(self, count: int, m: int, n: int, k: int) -> float:
        """The same by a loop that takes any strides; infinite where there is none."""
        ...

    def along(self, count: int, m: int, n: int, k: int, dtype: str) -> float:
        """What products take more of which both factors have the summed axis contiguous."""
        ...

    def apart(self, count: int, size: int, step: int, dtype: str) -> float:
        """What products take more each of which reads a vector of ``size`` elements that are ``step`` apart."""
        ...

    def interleaved(self, size: int, run: int, dtype: str) -> float:
        """What products take more whose results lie between each other, in runs of ``run`` elements."""
        ...

    def copy(self, size: int, run: int, dtype: str) -> float:
        """A permuted copy into ``size`` elements of this type, of which ``run`` neighbours stay neighbours."""
        ...


class MatrixProduct(NamedTuple):
    """One decision: the part of every axis, and what has to be copied."""

    stack: Group
    rows: Group  # of the second operand
    inner: Group
    columns: Group  # of the first operand
    copies_first: bool
    copies_second: bool
    permutes_result: bool
    matrices: tuple[Matrix | None, Matrix | None, Matrix | None]  # by role, as they are taken; None if they are not
    cost: float  # estimated nanoseconds

    @property
    def copies(self) -> bool:
        """Whether anything passes through a workspace."""
        return self.copies_first or self.copies_second or self.permutes_result

    def workspace_bytes(self, x: Operand, y: Operand, result: Operand) -> int:
        """Bytes taken at once besides the result: the copies, which are gone when the product is permuted.

        >>> from tensor_runtime.backends.shared.axes import row_major
        >>> x, y, result = (row_major(labels, (99, 99), "float64") for labels in ((1, 0), (2, 1), (2, 0)))
        >>> copied = MatrixProduct((), (), (), (), True, False, False, (None, None, None), 0.0)
        >>> copied.workspace_bytes(x, y, result) == 99 * 99 * 8
        True
        """
        copied = (x.size if self.copies_first else 0) + (y.size if self.copies_second else 0)
        return max(copied, result.size if self.permutes_result else 0) * as_dtype(result.dtype).itemsize


class Factor(NamedTuple):
    """One operand as the matrix of a product, if it is taken so."""

    own: Group  # its axes besides the inner ones
    extent: int  # of those
    matrix: Matrix | None
    copied: bool  # also where the library would take it, as its elements are of another type
    copying: float  # estimated nanoseconds


def plan_product(
    axes: Sequence[Axis], x: Operand, y: Operand, result: Operand, costs: ProductCosts, below: float = inf
) -> MatrixProduct:
    """The cheapest matrix product; ``axes`` as from ``join``, none of extent 0.

    Where none costs less than ``below``, any of them.

    >>> from types import SimpleNamespace
    >>> from tensor_runtime.backends.shared.axes import join, row_major
    >>> nothing = lambda *given, **options: 0.0
    >>> costs = SimpleNamespace(products=nothing, along=nothing, apart=nothing, interleaved=nothing,
    ...     loops=lambda *given: inf, copy=lambda size, *given: float(size), stacks_evenly=False)
    >>> x, w = row_major((0, 1, 2), (5, 40, 30), "float64"), row_major((3, 1), (20, 40), "float64")
    >>> result = row_major((0, 3, 2), (5, 20, 30), "float64")
    >>> plan = plan_product(join(x, w, result), x, w, result, costs)
    >>> [[axis.labels for axis in group] for group in (plan.stack, plan.rows, plan.inner, plan.columns)], plan.copies
    ([[(0,)], [(3,)], [(1,)], [(2,)]], False)
    """
    _, contracted, free_x, free_y = by_occurrence(axes)
    best: MatrixProduct | None = None
    terms, dtype = extent_of(axes), result.dtype
    columns_of, rows_of = _choices(free_x, FIRST), _choices(free_y, SECOND)
    for inner in _orders(contracted, FIRST, SECOND):
        k = extent_of(inner)
        seconds = [_factor(rows, inner, SECOND, y, dtype, costs) for rows in rows_of]
        for first in [_factor(columns, inner, FIRST, x, dtype, costs) for columns in columns_of]:
            for second in seconds:
                m, n = first.extent, second.extent
                count = terms // (m * n * k)
                time = costs.products(count, m, n, k, dtype)
                if best is not None:
                    least = min(time + first.copying + second.copying, costs.loops(count, m, n, k))
                    if least >= best.cost or least >= below:
                        continue
                taken = (*inner, *first.own, *second.own)
                stack = tuple([axis for axis in axes if axis not in taken]) if len(taken) < len(axes) else ()
                candidate = _judge(stack, first, second, inner, (x, y, result), costs, time)
                if best is None or candidate.cost < best.cost:
                    best = candidate
                if len(first.own) == len(free_x) and len(second.own) == len(free_y) and not candidate.copies:
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


def _factor(own: Group, inner: Group, role: int, operand: Operand, dtype: str, costs: ProductCosts) -> Factor:
    matrix = matrix_of(inner, own, FIRST) if role == FIRST else matrix_of(own, inner, SECOND)
    factor = Factor(own, extent_of(own), matrix, False, 0.0)
    return factor if matrix and operand.dtype == dtype else _copied(factor, inner, role, operand, dtype, costs)


def _copied(factor: Factor, inner: Group, role: int, operand: Operand, dtype: str, costs: ProductCosts) -> Factor:
    time = costs.copy(operand.size, _contiguous_run((*factor.own, *inner), role), dtype)
    return factor._replace(copied=True, copying=time)


def _judge(
    stack: Group,
    first: Factor,
    second: Factor,
    inner: Group,
    arrays: tuple[Operand, Operand, Operand],
    costs: ProductCosts,
    time: float,
) -> MatrixProduct:
    """The product of these parts; ``time`` is what the library takes for the stack."""
    (x, y, result), rows, columns = arrays, second.own, first.own
    product = matrix_of(rows, columns, RESULT)
    dtype = result.dtype
    if stack and costs.stacks_evenly:
        if not evenly_spaced(stack, FIRST):
            first = first if first.copied else _copied(first, inner, FIRST, x, dtype, costs)
            first = first._replace(matrix=None)
        if not evenly_spaced(stack, SECOND):
            second = second if second.copied else _copied(second, inner, SECOND, y, dtype, costs)
            second = second._replace(matrix=None)
        product = product if evenly_spaced(stack, RESULT) else None
    matrices = first.matrix, second.matrix, product
    m, n, k, count = first.extent, second.extent, extent_of(inner), extent_of(stack)
    if k > 1 and first.matrix and second.matrix and first.matrix[0].stride == 1 == second.matrix[1].stride:
        time += costs.along(count, m, n, k, dtype)
    for factor in (first, second):
        if factor.matrix and not factor.copied and 1 in (factor.matrix[0].extent, factor.matrix[1].extent):
            vector = max(factor.matrix)
            if vector.stride > 1:
                time += costs.apart(count, vector.extent, vector.stride, dtype)
    if stack and product and min(m, n) > 1:
        slow, fast = sorted(product, key=lambda one: -one.stride)
        if any((axis.strides[RESULT] or 0) < slow.stride for axis in stack):
            time += costs.interleaved(result.size, fast.extent, dtype)
    time += first.copying + second.copying
    if product is None:
        time += costs.copy(result.size, _contiguous_run((columns or rows)[-1:], RESULT), dtype)
    if stack and costs.stacks_evenly and (_is_mixed(stack, FIRST) or _is_mixed(stack, SECOND)):
        time = inf  # no copy makes it even
    loop_time = costs.loops(count, m, n, k)
    if loop_time < time and x.dtype == y.dtype == dtype:
        roles = ((FIRST, inner, columns), (SECOND, rows, inner), (RESULT, rows, columns))
        if all(line(outer, role) and line(fast, role) for role, outer, fast in roles):  # views exist, for that loop
            return MatrixProduct(stack, rows, inner, columns, False, False, False, matrices, loop_time)
    copies = first.copied, second.copied, product is None
    return MatrixProduct(stack, rows, inner, columns, *copies, matrices, time)


def _contiguous_run(axes: Sequence[Axis], role: int) -> int:
    """Neighbours that a copy keeps together when one of these axes is its last."""
    return max((axis.extent for axis in axes if axis.strides[role] == 1), default=1)


def _is_mixed(stack: Group, role: int) -> bool:
    """Whether an operand has some axes of a stack, and lacks others.

    >>> batch, own = Axis((0,), 4, (4, 4, 4)), Axis((1,), 4, (1, None, 1))
    >>> _is_mixed((batch, own), FIRST), _is_mixed((batch, own), SECOND), _is_mixed((own,), SECOND)
    (False, True, False)
    """
    lacking = [axis.strides[role] is None for axis in stack]
    return any(lacking) and not all(lacking)


def evenly_spaced(stack: Sequence[Axis], role: int) -> bool:
    """Whether the matrices of a stack follow each other at equal distances, forwards, or are one and the same.

    >>> evenly_spaced([Axis((0,), 4, (-9, None, 1))], FIRST), evenly_spaced([Axis((0,), 4, (-9, None, 1))], SECOND)
    (False, True)
    """
    found = line(stack, role)
    return found is not None and found.stride >= 0


def matrix_of(outer: Group, inner: Group, role: int, *, gaps: bool = True) -> Matrix | None:
    """The groups as the two axes of a matrix (or a vector) that a library takes as it is; None if it does not.

    >>> rows, columns = Axis((0,), 4, (9, None, 1)), Axis((1,), 8, (1, None, 4))
    >>> matrix_of((rows,), (columns,), FIRST), matrix_of((rows,), (columns,), FIRST, gaps=False)
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
