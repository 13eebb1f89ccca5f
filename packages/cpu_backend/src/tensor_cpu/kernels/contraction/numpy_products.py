"""Matrix products by NumPy, where BLAS is not called by ourselves: without the extension, and for integers.

The decision, which axes are rows, columns and inner and what is copied, is that of ``gemm``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from tensor_cpu.kernels.copy.matrix_copies import bind_rearranged, look_at
from tensor_cpu.system.errstate import IGNORING_FP_ERRORS, ignoring_fp_errors
from tensor_runtime.backends.shared.axes import FIRST, RESULT, SECOND, Axis, Operand, access, extent_of, line, look
from tensor_runtime.backends.shared.products import MatrixProduct, matrix_of

Group = tuple[Axis, ...]
Kernel = Callable[[Any, Any], Any]


def bind_product(plan: MatrixProduct, x: Operand, y: Operand, result: Operand) -> Kernel:
    """The kernel of a decision: two native arrays in, one native array out, which it allocates.

    >>> from tensor_runtime.backends.shared.axes import join, row_major
    >>> from tensor_cpu.kernels.contraction.gemm import plan_product
    >>> x, y, result = (row_major(labels, (2, 2), "float64") for labels in ((1, 0), (2, 1), (2, 0)))
    >>> kernel = bind_product(plan_product(join(x, y, result), x, y, result), x, y, result)
    >>> kernel(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[0.0, 1.0], [1e308, 1e308]])).tolist()
    [[3.0, 4.0], [inf, inf]]
    """
    if not plan.stack and not plan.permutes_result:
        # ndarray.dot has the least overhead, but copies matrices with gaps; np.matmul does not.
        whole_x = plan.copies_first or matrix_of(plan.inner, plan.columns, FIRST, gaps=False) is not None
        whole_y = plan.copies_second or matrix_of(plan.rows, plan.inner, SECOND, gaps=False) is not None
        if whole_x and whole_y:
            return _bind_dot(plan, x, y, result)
    stack = [(axis,) for axis in plan.stack]
    look_x = look_at(x, stack, plan.inner, plan.columns, FIRST, copy_as=result.dtype if plan.copies_first else None)
    look_y = look_at(y, stack, plan.rows, plan.inner, SECOND, copy_as=result.dtype if plan.copies_second else None)
    shape, dtype, matmul, empty = result.shape, np.dtype(result.dtype), np.matmul, np.empty

    if plan.permutes_result:
        put = bind_rearranged((*plan.stack, *plan.rows, *plan.columns), result)
        return ignoring_fp_errors(lambda x, y: put(matmul(look_y(y), look_x(x))))

    look_out = look_at(result, stack, plan.rows, plan.columns, RESULT, copy_as=None)

    def direct(x: Any, y: Any) -> Any:
        out = empty(shape, dtype)
        matmul(look_y(y), look_x(x), look_out(out))
        return out

    return ignoring_fp_errors(direct)


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
