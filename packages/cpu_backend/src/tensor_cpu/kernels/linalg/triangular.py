"""Substitution: SciPy's binding of the BLAS routine ``trsm``, one matrix of a stack after the other.

Stacks of many small matrices are solved all at once, step by step, with the axis of the stack innermost.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from tensor_cpu.kernel_table import Binder
from tensor_cpu.kernels.linalg.checks import require_indexable
from tensor_cpu.storage import Array, empty
from tensor_cpu.system.errstate import ignoring_fp_errors
from tensor_runtime.contracts.linalg import TriangularSolveParams
from tensor_runtime.form import Form
from tensor_runtime.protocols import Kernel

_MOST_STEPS: Final = 4096
"""Multiplications in one system up to which a call of BLAS costs more than they do."""
_GROUP: Final = 2048
"""Systems that are solved together: so many that NumPy's calls cost little, so few that they stay in the cache."""


def bind_triangular_solve(operands: tuple[Form, Form], result: Form, params: TriangularSolveParams, /) -> Kernel:
    """The kernel that solves op(A) X = B for stacks of triangular matrices.

    Raises:
        SizeLimitError: the BLAS's integers are too short for the shapes.

    >>> from tensor_core import F64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> a, b = form_of(F64, (2, 2), CPU), form_of(F64, (2, 1), CPU)
    >>> upper = TriangularSolveParams(lower=False, transpose=False, conjugate=False, unit_diagonal=False)
    >>> bind_triangular_solve((a, b), b, upper)(np.array([[2.0, 0.0], [1.0, 4.0]]), np.array([[4.0, 8.0]])).tolist()
    [[1.0, 2.0]]
    """
    from scipy.linalg import get_blas_funcs

    if not result.size:
        return lambda a, b: empty(result)
    rows, columns = result.shape[:2]
    require_indexable("triangular_solve", result.shape, max(rows * rows, rows * columns))
    solve: Any = get_blas_funcs("trsm", dtype=result.dtype.numpy_name)
    lower, transpose, conjugate, unit = params
    if rows * rows * columns <= _MOST_STEPS and result.size > 2 * rows * rows * columns:
        return _together(params, rows, columns)
    # conj(A) X = B is A conj(X) = conj(B), and BLAS conjugates only what it transposes
    conjugate_sides = conjugate and not transpose and result.dtype.kind == "complex"
    transposed = (2 if conjugate else 1) if transpose else 0
    options = {"lower": lower, "trans_a": transposed, "diag": unit, "overwrite_b": True}

    def triangular(a: Array, b: Array) -> Array:
        matrices = a.reshape(-1, rows, rows)
        out = b.copy(order="C")
        if conjugate_sides:
            np.conjugate(out, out=out)
        for matrix, sides in zip(matrices, out.reshape(-1, columns, rows), strict=True):
            solved = solve(1, matrix.T, sides.T, **options)
            if solved.ctypes.data != sides.ctypes.data:
                sides.T[...] = solved
        return np.conjugate(out, out=out) if conjugate_sides else out

    return triangular


def _together(params: TriangularSolveParams, rows: int, columns: int) -> Kernel:
    """The kernel that makes each step of the substitution for a group of systems at once."""
    lower, transpose, conjugate, unit = params
    forward = lower != transpose
    order = range(rows) if forward else range(rows - 1, -1, -1)

    def substituted(matrices: Array, x: Array) -> None:
        """``matrices[i, j]`` and ``x[i, k]`` are one number for each system."""
        for i in order:
            if not unit:
                x[i] /= matrices[i, i]
            rest = slice(i + 1, None) if forward else slice(0, i)
            x[rest] -= matrices[rest, i, np.newaxis] * x[i]

    def triangular(a: Array, b: Array) -> Array:
        stack, sides = a.reshape(-1, rows, rows), b.reshape(-1, columns, rows)
        out = np.empty_like(sides, order="C")
        for start in range(0, len(sides), _GROUP):
            group = slice(start, start + _GROUP)
            matrices = np.ascontiguousarray(stack[group].T)
            if transpose:
                matrices = matrices.swapaxes(0, 1)
            if conjugate:
                matrices = np.conjugate(matrices)
            x = np.array(sides[group].T, order="C")
            substituted(matrices, x)
            out[group] = x.T
        return out.reshape(b.shape)

    return ignoring_fp_errors(triangular)


BINDERS: Final[Mapping[str, Binder]] = {"triangular_solve": bind_triangular_solve}
