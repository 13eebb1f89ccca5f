"""Contractions as matrix products of BLAS: the copies and the calls of what ``shared.products`` of the runtime decides.

BLAS takes a matrix whose rows or columns are contiguous, any distance apart. Where all is so small that NumPy's own
loop, into which it falls without a word, is faster than the copies for it, nothing is copied.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf
from typing import Any, Final

import numpy as np

from tensor_cpu.kernels import blas_costs as cost
from tensor_cpu.kernels.contraction.cuts.blocks import blocks_of
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
from tensor_runtime.backends.shared import products
from tensor_runtime.backends.shared.axes import FIRST, RESULT, SECOND, Axis, Operand, extent_of
from tensor_runtime.backends.shared.products import Group, Matrix, MatrixProduct

Kernel = Callable[..., Any]
Steps = tuple[int, int]

BLAS_TYPES: Final = ("float32", "float64", "complex64", "complex128")
_OPENBLAS: Final = ("own", "numpy")


def plan_product(axes: Sequence[Axis], x: Operand, y: Operand, result: Operand, below: float = inf) -> MatrixProduct:
    """The cheapest matrix product here, as ``tensor_runtime.backends.shared.products`` plans it.

    >>> from tensor_runtime.backends.shared.axes import join, row_major
    >>> x, w = row_major((0, 1, 2), (5, 40, 30), "float64"), row_major((3, 1), (20, 40), "float64")
    >>> result = row_major((0, 3, 2), (5, 20, 30), "float64")
    >>> plan = plan_product(join(x, w, result), x, w, result)
    >>> [[axis.labels for axis in group] for group in (plan.stack, plan.rows, plan.inner, plan.columns)], plan.copies
    ([[(0,)], [(3,)], [(1,)], [(2,)]], False)
    """
    return products.plan_product(axes, x, y, result, cost, below)


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
    same = x.dtype == y.dtype == result.dtype
    if plan.copies and same:
        return _bind_copied(plan, result, conjugated)
    kernel = _bind_uncopied(plan, result.dtype, result.shape, conjugated)
    if kernel is None or not plan.copies:
        return kernel
    stack, rows, inner, columns = plan.stack, plan.rows, plan.inner, plan.columns
    groups = [(axis,) for axis in stack]
    if plan.copies_first:
        kernel = _after_first(kernel, look_at(x, groups, inner, columns, FIRST, copy_as=result.dtype))
    if plan.copies_second:
        kernel = _after_second(kernel, look_at(y, groups, rows, inner, SECOND, copy_as=result.dtype))
    if plan.permutes_result:
        kernel = _before(kernel, bind_rearranged((*stack, *rows, *columns), result))
    return ignoring_fp_errors(kernel)


def _bind_uncopied(plan: MatrixProduct, dtype: str, shape: tuple[int, ...], conjugated: int | None) -> Kernel | None:
    """The product of what copies of operands have made, before that of the result."""
    stack, rows, inner, columns = plan.stack, plan.rows, plan.inner, plan.columns
    first, second, product = plan.matrices
    of_x = copy_strides(stack, inner, columns, FIRST) if plan.copies_first else _strides(stack, first, FIRST)
    of_y = copy_strides(stack, rows, inner, SECOND) if plan.copies_second else _strides(stack, second, SECOND)
    made = _compact_strides(plan) if plan.permutes_result else _strides(stack, product, RESULT)
    if of_x is None or of_y is None or made is None:  # views exist, which only NumPy takes
        return None
    extents = extent_of(columns), extent_of(rows), extent_of(inner)
    if plan.permutes_result:
        shape = tuple([axis.extent for axis in (*stack, *rows, *columns)])
    stacked = tuple([(axis.extent, of_x[0][i], of_y[0][i], made[0][i]) for i, axis in enumerate(stack)])
    steps = (of_x[2], of_x[1]), (of_y[2], of_y[1]), (made[2], made[1])
    return bind_matrices(dtype, shape, extents, stacked, *steps, conjugated)


def _bind_copied(plan: MatrixProduct, result: Operand, conjugated: int | None) -> Kernel | None:
    """The product between its copies as one native kernel, which may be a step of a sequence."""
    copies = plan.copies_first, plan.copies_second, plan.permutes_result
    blocks = blocks_of(plan, result.dtype)
    if blocks is None:
        kernel = _bind_uncopied(plan, result.dtype, result.shape, conjugated)
        return kernel and _between_copies(kernel, plan, result.dtype, result.shape, copies)
    block_shape = (result.size // blocks.number,)
    kernel = _bind_uncopied(blocks.plan, result.dtype, block_shape, conjugated)
    if kernel is None:
        return None
    once = plan.copies_first and blocks.whole[FIRST], plan.copies_second and blocks.whole[SECOND], False
    each = copies[FIRST] and not once[FIRST], copies[SECOND] and not once[SECOND], copies[RESULT]
    kernel = _between_copies(kernel, blocks.plan, result.dtype, block_shape, each)
    kernel = LIBRARY.bind_repeated(TYPE_NAMES[result.dtype], result.shape, kernel, (blocks.number, *blocks.steps))
    return _between_copies(kernel, plan, result.dtype, result.shape, once) if any(once) else kernel


def _between_copies(
    kernel: Kernel, plan: MatrixProduct, dtype: str, shape: tuple[int, ...], which: tuple[bool, bool, bool]
) -> Kernel:
    stack, rows, inner, columns = plan.stack, plan.rows, plan.inner, plan.columns
    name, (first, second, product) = TYPE_NAMES[dtype], which
    copies = (
        LIBRARY.bind_copy(*gathered(stack, inner, columns, FIRST), name) if first else None,
        LIBRARY.bind_copy(*gathered(stack, rows, inner, SECOND), name) if second else None,
        LIBRARY.bind_copy(*rearranged((*stack, *rows, *columns)), name) if product else None,
    )
    return LIBRARY.bind_copied(name, shape, kernel, *copies)


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
