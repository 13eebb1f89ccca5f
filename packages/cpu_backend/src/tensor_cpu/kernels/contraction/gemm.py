"""Contractions as matrix products: which axes are rows, columns and inner, what is copied for it, and the call of BLAS.

C[n, m] = Y[n, k] X[k, m] for every index of the stacked axes, X from the first operand, Y from the second. The stack
takes the batch axes, and axes of one operand only where that saves a copy: ``x[A, k, B] w[k, t] -> [A, t, B]`` is a
stack of A products and copies nothing. BLAS takes a matrix whose rows or columns are contiguous, any distance apart;
what it cannot take is copied first, and a result that it cannot write is permuted once, unless all is so small that
NumPy's own loop, into which it falls without a word, is faster than the copies.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf
from typing import Any, Final, NamedTuple

import numpy as np

from tensor_cpu.kernels import costs as cost
from tensor_cpu.kernels.contraction.native import TYPE_NAMES
from tensor_cpu.kernels.copy.matrix_copies import (
    Strides,
    bind_rearranged,
    copy_strides,
    gathered,
    look_at,
    rearranged,
)
from tensor_cpu.system.blas import blas_limit, open_blas
from tensor_cpu.system.errstate import ignoring_fp_errors
from tensor_cpu.system.extension import AVAILABLE, LIBRARY
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
Kernel = Callable[..., Any]
Matrix = tuple[Line, Line]  # outer and inner axis
Steps = tuple[int, int]

BLAS_TYPES: Final = ("float32", "float64", "complex64", "complex128")
_OPENBLAS: Final = ("own", "numpy")
_SINGLE_AXES: Final = 3  # how many axes are tried as the only rows (or columns) of a stack, longest first


class MatrixProduct(NamedTuple):
    """One decision: the part of every axis, and what has to be copied."""

    stack: Group
    rows: Group  # of the second operand
    inner: Group
    columns: Group  # of the first operand
    copies_first: bool
    copies_second: bool
    permutes_result: bool
    matrices: tuple[Matrix | None, Matrix | None, Matrix | None]  # by role, as BLAS takes them; None if it does not
    cost: float  # estimated nanoseconds

    @property
    def copies(self) -> bool:
        """Whether anything passes through a workspace."""
        return self.copies_first or self.copies_second or self.permutes_result

    def workspace_bytes(self, x: Operand, y: Operand, result: Operand) -> int:
        """Bytes taken at once besides the result: the copies, which are gone when the product is permuted.

        >>> from tensor_runtime.backends.shared.axes import join, row_major
        >>> x, y, result = (row_major(labels, (99, 99), "float64") for labels in ((1, 0), (2, 1), (2, 0)))
        >>> x = Operand(x.labels, x.shape, (0, 0), x.dtype)  # one element, repeated
        >>> plan_product(join(x, y, result), x, y, result).workspace_bytes(x, y, result) == 99 * 99 * 8
        True
        """
        copied = (x.size if self.copies_first else 0) + (y.size if self.copies_second else 0)
        return max(copied, result.size if self.permutes_result else 0) * np.dtype(result.dtype).itemsize


def plan_product(axes: Sequence[Axis], x: Operand, y: Operand, result: Operand, below: float = inf) -> MatrixProduct:
    """The cheapest matrix product; ``axes`` as from ``join``, at least one of them contracted.

    Where none costs less than ``below``, it need not be the cheapest.

    >>> from tensor_runtime.backends.shared.axes import join, row_major
    >>> x, w = row_major((0, 1, 2), (5, 40, 30), "float64"), row_major((3, 1), (20, 40), "float64")
    >>> result = row_major((0, 3, 2), (5, 20, 30), "float64")
    >>> plan = plan_product(join(x, w, result), x, w, result)
    >>> [[axis.labels for axis in group] for group in (plan.stack, plan.rows, plan.inner, plan.columns)], plan.copies
    ([[(0,)], [(3,)], [(1,)], [(2,)]], False)
    """
    _, contracted, free_x, free_y = by_occurrence(axes)
    best: MatrixProduct | None = None
    terms = extent_of(axes)
    for inner in _orders(contracted, FIRST, SECOND):
        for columns in _choices(free_x, FIRST):
            for rows in _choices(free_y, SECOND):
                taken = (*inner, *columns, *rows)
                stack = tuple([axis for axis in axes if axis not in taken]) if len(taken) < len(axes) else ()
                if best is not None:
                    dots = not (rows or columns)
                    least = cost.least_products(extent_of(stack), terms, result.dtype, dots=dots)
                    if least >= min(best.cost, below):
                        continue
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
    first, second, product = matrices = (
        blas_matrix(inner, columns, FIRST),
        blas_matrix(rows, inner, SECOND),
        blas_matrix(rows, columns, RESULT),
    )
    copies_first, copies_second = x.dtype != result.dtype or first is None, y.dtype != result.dtype or second is None
    permutes_result = product is None
    m, n, k = extent_of(columns), extent_of(rows), extent_of(inner)
    count = extent_of(stack)
    time = cost.products(count, m, n, k, result.dtype)
    loop_time = cost.loops(count, m, n, k)
    if first and second and first[0].stride == 1 == second[1].stride and k > 1:
        time += cost.along(count, m, n, k, result.dtype)
    if stack and product and min(m, n) > 1:
        slow, fast = sorted(product, key=lambda one: -one.stride)
        if any((axis.strides[RESULT] or 0) < slow.stride for axis in stack):
            time += cost.interleaved(result.size, fast.extent, result.dtype)
    if copies_first:
        time += cost.copy(x.size, _contiguous_run((*columns, *inner), FIRST))
    if copies_second:
        time += cost.copy(y.size, _contiguous_run((*rows, *inner), SECOND))
    if permutes_result:
        time += cost.copy(result.size, _contiguous_run((columns or rows)[-1:], RESULT))
    if loop_time < time and x.dtype == y.dtype == result.dtype:
        roles = ((FIRST, inner, columns), (SECOND, rows, inner), (RESULT, rows, columns))
        if all(line(outer, role) and line(fast, role) for role, outer, fast in roles):  # views exist, for NumPy's loop
            return MatrixProduct(stack, rows, inner, columns, False, False, False, matrices, loop_time)
    return MatrixProduct(stack, rows, inner, columns, copies_first, copies_second, permutes_result, matrices, time)


def _contiguous_run(axes: Sequence[Axis], role: int) -> int:
    """Neighbours that a copy keeps together when one of these axes is its last."""
    return max((axis.extent for axis in axes if axis.strides[role] == 1), default=1)


def blas_matrix(outer: Group, inner: Group, role: int, *, gaps: bool = True) -> Matrix | None:
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


def bind_product(
    plan: MatrixProduct, x: Operand, y: Operand, result: Operand, conjugated: int | None = None
) -> Kernel | None:
    """The kernel that calls BLAS; None where it does not take the operands, or cannot count their elements.

    ``conjugated`` is the role of an operand whose elements are read conjugated; None also where BLAS cannot.

    The library is the one that ``tensor_cpu.system.blas`` has chosen, the threads are ours, and no view is made: one
    call for each product of a stack, or for each tile of a large one (csrc/contraction).

    Raises:
        ArgumentError: the environment names a BLAS that does not exist.
        BackendUnavailableError: it names one that is not installed.

    >>> from tensor_runtime.backends.shared.axes import join, row_major
    >>> x, y, result = (row_major(labels, (2, 2), "float64") for labels in ((1, 0), (2, 1), (2, 0)))
    >>> kernel = bind_product(plan_product(join(x, y, result), x, y, result), x, y, result)
    >>> x, y = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[0.0, 1.0], [1.0, 1.0]])
    >>> kernel is None or kernel(x, y).tolist() == [[3.0, 4.0], [4.0, 6.0]]
    True
    """
    if not AVAILABLE or result.dtype not in BLAS_TYPES:
        return None
    stack, rows, inner, columns = plan.stack, plan.rows, plan.inner, plan.columns
    first, second, product = plan.matrices
    of_x = copy_strides(stack, inner, columns, FIRST) if plan.copies_first else _strides(stack, first, FIRST)
    of_y = copy_strides(stack, rows, inner, SECOND) if plan.copies_second else _strides(stack, second, SECOND)
    made = _compact_strides(plan) if plan.permutes_result else _strides(stack, product, RESULT)
    if of_x is None or of_y is None or made is None:  # views exist, which only NumPy takes
        return None
    extents = extent_of(columns), extent_of(rows), extent_of(inner)
    shape = tuple([axis.extent for axis in (*stack, *rows, *columns)]) if plan.permutes_result else result.shape
    stacked = tuple([(axis.extent, of_x[0][i], of_y[0][i], made[0][i]) for i, axis in enumerate(stack)])
    steps = (of_x[2], of_x[1]), (of_y[2], of_y[1]), (made[2], made[1])
    kernel = bind_matrices(result.dtype, shape, extents, stacked, *steps, conjugated)
    if kernel is None or not plan.copies:
        return kernel
    if x.dtype == y.dtype == result.dtype:
        return _between_copies(kernel, plan, result)
    groups = [(axis,) for axis in stack]
    if plan.copies_first:
        kernel = _after_first(kernel, look_at(x, groups, inner, columns, FIRST, copy_as=result.dtype))
    if plan.copies_second:
        kernel = _after_second(kernel, look_at(y, groups, rows, inner, SECOND, copy_as=result.dtype))
    if plan.permutes_result:
        kernel = _before(kernel, bind_rearranged((*stack, *rows, *columns), result))
    return ignoring_fp_errors(kernel)


def _between_copies(kernel: Kernel, plan: MatrixProduct, result: Operand) -> Kernel:
    """The same as one native kernel, which may be a step of a sequence."""
    stack, rows, inner, columns = plan.stack, plan.rows, plan.inner, plan.columns
    name = TYPE_NAMES[result.dtype]
    copies = (
        LIBRARY.bind_copy(*gathered(stack, inner, columns, FIRST), name) if plan.copies_first else None,
        LIBRARY.bind_copy(*gathered(stack, rows, inner, SECOND), name) if plan.copies_second else None,
        LIBRARY.bind_copy(*rearranged((*stack, *rows, *columns)), name) if plan.permutes_result else None,
    )
    return LIBRARY.bind_copied(name, result.shape, kernel, *copies)


def _after_first(kernel: Kernel, copy: Callable[[Any], Any]) -> Kernel:
    return lambda x, y: kernel(copy(x), y)


def _after_second(kernel: Kernel, copy: Callable[[Any], Any]) -> Kernel:
    return lambda x, y: kernel(x, copy(y))


def _before(kernel: Kernel, put: Callable[[Any], Any]) -> Kernel:
    return lambda x, y: put(kernel(x, y))


def bind_matrices(
    dtype: str,
    shape: tuple[int, ...] | None,
    extents: tuple[int, int, int],
    stack: Sequence[tuple[int, int, int, int]],
    a: Steps,
    b: Steps,
    c: Steps,
    conjugated: int | None = None,
) -> Kernel | None:
    """The kernel of C[m, n] = A[m, k] B[k, n] for every index of a stack.

    None if BLAS cannot count that far, or cannot read that factor conjugated, and without the extension.

    Args:
        dtype: NumPy's name of a type of ``BLAS_TYPES``.
        shape: of the array that is made for C; None if it is given as the third argument of the kernel.
        extents: (m, n, k), at least 1 each.
        stack: of each stacked axis the extent and the strides in A, in B and in C.
        a, b, c: strides of each matrix from row to row and from column to column. Strides count elements; one of the
            two is 1, and the other spans the elements in between.
        conjugated: the factor that is read conjugated, 0 or 1, or None. OpenBLAS does that with every matrix, other
            libraries with one that they see transposed, and none with a vector beside a matrix.

    >>> kernel = bind_matrices("float64", (2,), (2, 1, 3), (), (3, 1), (1, 1), (1, 1))
    >>> kernel is None or kernel(np.arange(6.0).reshape(2, 3), np.ones(3)).tolist() == [3.0, 12.0]
    True
    """
    if not AVAILABLE or max(*extents, *map(abs, (*a, *b, *c))) > blas_limit():
        return None
    arguments = TYPE_NAMES[dtype], shape, extents, tuple(stack), a, b, c
    if conjugated is None:
        return LIBRARY.bind_products(*arguments)
    return LIBRARY.bind_products(*arguments, conjugated, open_blas().name in _OPENBLAS)


def bind_stack(
    dtype: str, extents: tuple[int, int, int, int], right: tuple[int, int, int], target: tuple[int, int]
) -> Kernel:
    """The kernel of out[s] = left[s] right[s] for a stack of matrices; its arguments are left, right and out.

    Args:
        dtype: NumPy's name of a floating or complex type.
        extents: (stack, m, k, n); left is [stack, m, k] without gaps.
        right: strides of the right factors from product to product, row to row and column to column.
        target: strides of out from product to product and row to row; columns are contiguous.

    >>> out = np.empty((1, 2, 1))
    >>> _ = bind_stack("float64", (1, 2, 3, 1), (3, 1, 1), (2, 1))(np.ones((1, 2, 3)), np.ones((1, 3, 1)), out)
    >>> out.ravel().tolist()
    [3.0, 3.0]
    """
    count, m, k, n = extents
    stack = ((count, m * k, right[0], target[0]),)
    kernel = bind_matrices(dtype, None, (m, n, k), stack, (k, 1), right[1:], (target[1], 1))
    return np.matmul if kernel is None else kernel


def _strides(stack: Group, matrix: Matrix | None, role: int) -> Strides | None:
    """How an operand lies of which nothing is copied; None where BLAS does not take it."""
    if matrix is None:
        return None
    row, column = matrix
    return [axis.strides[role] or 0 for axis in stack] if stack else [], row.stride, column.stride


def _compact_strides(plan: MatrixProduct) -> Strides:
    """How a product lies that is still to be rearranged: without gaps."""
    columns, rows = extent_of(plan.columns), extent_of(plan.rows)
    stack = [rows * columns * extent_of(plan.stack[place + 1 :]) for place in range(len(plan.stack))]
    return stack, columns, 1
