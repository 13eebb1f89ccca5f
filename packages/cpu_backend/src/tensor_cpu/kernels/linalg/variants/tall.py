"""Least squares of tall matrices, by the triangle that a QR decomposition of A and b together leaves (csrc/linalg).

With A = Q R the solution, the rank and the singular values are those of R and Qᴴ b, which are columns of the triangle
of [A b]; so no orthonormal factor meets b, and what is left is small. F32 and C32 of few columns are computed in F64
and C64, and rounded once; those of many columns take less time in floats as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from tensor_core.dtypes import C32, C64, F32, F64, FLOATING, I64, DType
from tensor_cpu.kernel_table import NativeBinder, bind_numpy
from tensor_cpu.kernel_table import bind as bind_best
from tensor_cpu.kernels.linalg import lapack, least_squares
from tensor_cpu.kernels.linalg.batched_simd import apart
from tensor_cpu.kernels.params import taking_fields
from tensor_cpu.storage import NUMPY_DTYPES, Array
from tensor_cpu.system.errstate import ignoring_fp_errors
from tensor_runtime.backends.workspaces import with_workspace
from tensor_runtime.errors import NotConvergedError
from tensor_runtime.form import Form, form_of
from tensor_runtime.protocols import Kernel, Operand, Result

TAKES: Final = (
    "matrices of more than 64 rows and at least twice as many as columns, of F32 and C32 up to 16 columns, each with "
    "right-hand sides of its own"
)
_SHORTEST: Final = 65
"""Rows from which lanes have no kernel of the whole problem."""
_TALL: Final = 2
"""Rows for each column from which the triangle takes less time than the matrix."""
_OF_TRIANGLES: Final = 8
"""Times their bytes that decomposing the triangles takes."""
_FEW: Final = 16
"""Columns up to which lanes solve the problem of one triangle, too; so it has the same bits in every batch. Of more,
LAPACK decomposes every one."""
_WIDE: Final[Mapping[DType, DType]] = {F32: F64, C32: C64}


def bind(operands: tuple[Operand, ...], result: Result, rtol: float, check: bool, /) -> Kernel | None:
    """The kernel for these forms, or None where the matrices are not tall, or right-hand sides share one.

    >>> from tensor_runtime.placement import CPU
    >>> a, b, x = (form_of(F64, shape, CPU) for shape in ((80, 1), (80, 1), (1, 1)))
    >>> result = (x, form_of(F64, (1,), CPU), form_of(I64, (), CPU), form_of(F64, (1,), CPU))
    >>> found = bind((a, b), result, 0.0, True)(np.full((1, 80), 2.0), np.ones((1, 80)))
    >>> [part.round(6).tolist() for part in found]
    [[[0.5]], [0.0], 1, [17.888544]]
    """
    a, b = operands
    if not isinstance(a, Form) or not isinstance(b, Form) or not isinstance(result, tuple):
        return None
    (rows, columns, *_), right = a.shape, b.shape[1]
    if a.dtype is not b.dtype or a.dtype not in FLOATING or b.shape[2:] != a.shape[2:] or not (a.size and b.size):
        return None
    if rows < max(_SHORTEST, _TALL * (columns + right)):
        return None
    if columns > _FEW and a.dtype in _WIDE:
        return None
    behind = least_squares.bind(operands, result, rtol, check, bind_svd=bind_numpy)
    kernel = _by_triangle(a, right, result, rtol, behind)
    computed = a.nbytes * (2 if a.dtype in _WIDE else 1)
    joined, triangles = computed // columns * (columns + right), computed // rows * columns
    return with_workspace(kernel, 3 * joined + _OF_TRIANGLES * triangles)


def _by_triangle(
    a: Form, right: int, result: tuple[Form, ...], rtol: float, fallback: Callable[..., Any]
) -> Callable[..., Any]:
    """The kernel of finite matrices; others are the fallback's."""
    dtype = _WIDE.get(a.dtype, a.dtype)
    rows, columns, *batch = a.shape
    joined = columns + right

    def form(dtype: DType, *shape: int) -> Form:
        return form_of(dtype, (*shape, *batch), a.placement)

    triangle, sides, values = form(dtype, columns, columns), form(dtype, columns, right), form(dtype.component, columns)
    factors = form(dtype, rows, joined), form(dtype, joined, joined)
    qr = bind_best("qr", (factors[0],), factors, (False,))
    small = sides, form(dtype.component, right), form(I64), values
    if columns > _FEW:
        solve = least_squares.bind((triangle, sides), small, rtol, False, bind_svd=_by_lapack)
    else:
        solve = bind_best("lstsq", (triangle, sides), small, (rtol, False))
    found_as = [NUMPY_DTYPES[part.dtype] for part in result]
    shape, wide = (*reversed(batch), joined, rows), NUMPY_DTYPES[dtype]

    def kernel(x: Array, y: Array) -> Any:
        both = np.empty(shape, wide)
        both[..., :columns, :], both[..., columns:, :] = x, y
        r = qr(both)[1]
        spoilt = ~np.isfinite(np.add.reduce(r, axis=(-2, -1)))  # as operands are, or near the end of the range
        if spoilt.any():
            return apart(spoilt, (x, y), kernel, fallback)
        try:
            solution, _, rank, values = solve(r[..., :columns, :columns].copy(), r[..., columns:, :columns].copy())
        except NotConvergedError:
            return fallback(x, y)
        missed = both[..., columns:, :] - solution @ both[..., :columns, :]
        sizes = np.square(missed.real) + np.square(missed.imag) if missed.dtype.kind == "c" else np.square(missed)
        parts = solution, np.asarray(np.add.reduce(sizes, axis=-1)), rank, values
        if dtype is a.dtype:
            return parts
        return tuple(np.asarray(part, dtype) for part, dtype in zip(parts, found_as, strict=True))

    return ignoring_fp_errors(kernel)


def _by_lapack(name: str, operands: tuple[Operand, ...], result: Result, params: Any, /) -> Kernel:
    """LAPACK's kernel for matrices of any size and batches of any length."""
    return lapack.BINDERS[name](operands, result, params) or bind_numpy(name, operands, result, params)


BINDERS: Final[Mapping[str, NativeBinder]] = {"lstsq": taking_fields(bind)}
