"""Native matrix products: one call of BLAS for each product of a stack, or tile of a large one (csrc/contraction).

The decision, which axes are rows, columns and inner and what is copied, is that of ``gemm``. Here the
library is the one that ``tensor_cpu.system.blas`` has chosen, the threads are ours, and no view is made.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from math import prod
from typing import Any, Final

import numpy as np

from tensor_cpu.kernels.axes import FIRST, RESULT, SECOND, Axis, Operand, extent_of
from tensor_cpu.kernels.contraction.gemm import MatrixProduct, bind_rearranged, blas_matrix, copy_swaps, look_at
from tensor_cpu.kernels.contraction.native import TYPE_NAMES
from tensor_cpu.system.blas import open_blas
from tensor_cpu.system.errstate import ignoring_fp_errors
from tensor_cpu.system.extension import AVAILABLE, LIBRARY

Group = tuple[Axis, ...]
Kernel = Callable[..., Any]
Steps = tuple[int, int]
_Layout = tuple[list[int], int, int]  # strides along the stacked axes, the outer and the inner ones

BLAS_TYPES: Final = ("float32", "float64", "complex64", "complex128")


def bind_product(plan: MatrixProduct, x: Operand, y: Operand, result: Operand) -> Kernel | None:
    """The kernel of a decision; None where BLAS does not take the operands, or cannot count their elements.

    Raises:
        ArgumentError: the environment names a BLAS that does not exist.
        BackendUnavailableError: it names one that is not installed.

    >>> from tensor_cpu.kernels.axes import join, row_major
    >>> from tensor_cpu.kernels.contraction.gemm import plan_product
    >>> x, y, result = (row_major(labels, (2, 2), "float64") for labels in ((1, 0), (2, 1), (2, 0)))
    >>> kernel = bind_product(plan_product(join(x, y, result), x, y, result), x, y, result)
    >>> kernel(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[0.0, 1.0], [1.0, 1.0]])).tolist()
    [[3.0, 4.0], [4.0, 6.0]]
    """
    if not AVAILABLE or result.dtype not in BLAS_TYPES:
        return None
    of_x = _layout(plan.stack, plan.inner, plan.columns, FIRST, copied=plan.copies_first)
    of_y = _layout(plan.stack, plan.rows, plan.inner, SECOND, copied=plan.copies_second)
    made = _made(plan) if plan.permutes_result else _layout(plan.stack, plan.rows, plan.columns, RESULT, copied=False)
    if of_x is None or of_y is None or made is None:
        return None
    extents = extent_of(plan.columns), extent_of(plan.rows), extent_of(plan.inner)
    shape = tuple([axis.extent for axis in (*plan.stack, *plan.rows, *plan.columns)])
    stack = tuple([(axis.extent, of_x[0][i], of_y[0][i], made[0][i]) for i, axis in enumerate(plan.stack)])
    steps = (of_x[2], of_x[1]), (of_y[2], of_y[1]), (made[2], made[1])
    kernel = bind_matrices(result.dtype, shape if plan.permutes_result else result.shape, extents, stack, *steps)
    if kernel is None or not plan.copies:
        return kernel
    groups = [(axis,) for axis in plan.stack]
    if plan.copies_first:
        copy_x = look_at(x, groups, plan.inner, plan.columns, FIRST, copy_as=result.dtype)
        kernel = _after_first(kernel, copy_x)
    if plan.copies_second:
        copy_y = look_at(y, groups, plan.rows, plan.inner, SECOND, copy_as=result.dtype)
        kernel = _after_second(kernel, copy_y)
    return ignoring_fp_errors(_before(kernel, bind_rearranged(plan, result)) if plan.permutes_result else kernel)


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
) -> Kernel | None:
    """The kernel of C[m, n] = A[m, k] B[k, n] for every index of a stack; None if BLAS cannot count that far.

    Args:
        dtype: NumPy's name of a type of ``BLAS_TYPES``.
        shape: of the array that is made for C; None if it is given as the third argument of the kernel.
        extents: (m, n, k), at least 1 each.
        stack: of each stacked axis the extent and the strides in A, in B and in C.
        a, b, c: strides of each matrix from row to row and from column to column. Strides count elements; one of the
            two is 1, and the other spans the elements in between.

    >>> kernel = bind_matrices("float64", (2,), (2, 1, 3), (), (3, 1), (1, 1), (1, 1))
    >>> kernel(np.arange(6.0).reshape(2, 3), np.ones(3)).tolist()
    [3.0, 12.0]
    """
    if max(*extents, *map(abs, (*a, *b, *c))) > largest_count():
        return None
    return LIBRARY.bind_products(TYPE_NAMES[dtype], shape, extents, tuple(stack), a, b, c)


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
    kernel = None
    if AVAILABLE:
        stack = ((count, m * k, right[0], target[0]),)
        kernel = bind_matrices(dtype, None, (m, n, k), stack, (k, 1), right[1:], (target[1], 1))
    return np.matmul if kernel is None else kernel


@cache
def largest_count() -> int:
    """What the library can count; the first time, it is opened for that.

    >>> largest_count() in (2**31 - 1, 2**63 - 1)
    True
    """
    return open_blas().limit


def _layout(stack: Group, outer: Group, inner: Group, role: int, *, copied: bool) -> _Layout | None:
    """How an operand lies, or its copy; None where BLAS does not take it."""
    if copied:
        axes: list[Group] = [*((axis,) for axis in stack), outer, inner]
        places = [*range(len(stack)), *((-1, -2) if copy_swaps(outer, role) else (-2, -1))]
        strides, size = [0] * len(axes), 1
        for place in reversed(places):
            present = [axis.extent for axis in axes[place] if axis.strides[role] is not None]
            if present or place < 0:
                strides[place] = size
                size *= prod(present)
        return strides[:-2], strides[-2], strides[-1]
    matrix = blas_matrix(outer, inner, role)
    if matrix is None:
        return None
    row, column = matrix
    return [axis.strides[role] or 0 for axis in stack] if stack else [], row.stride, column.stride


def _made(plan: MatrixProduct) -> _Layout:
    """How a product lies that is still to be rearranged: without gaps."""
    columns, rows = extent_of(plan.columns), extent_of(plan.rows)
    stack = [rows * columns * extent_of(plan.stack[place + 1 :]) for place in range(len(plan.stack))]
    return stack, columns, 1
