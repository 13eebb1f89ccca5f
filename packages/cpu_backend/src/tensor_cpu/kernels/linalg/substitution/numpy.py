"""Substitution: SciPy's binding of the BLAS routines ``trsm`` and ``trsv``, one matrix of a stack after the other.

Stacks of many small matrices are solved all at once, step by step, with the axis of the stack innermost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from itertools import repeat
from math import prod
from typing import Any, Final

import numpy as np

from tensor_cpu import kernel_table
from tensor_cpu.kernel_table import Binder
from tensor_cpu.kernels.linalg.checks import require_finite, require_indexable
from tensor_cpu.kernels.linalg.limits.powers import scaled
from tensor_cpu.storage import NUMPY_DTYPES, Array, empty
from tensor_cpu.system.errstate import ignoring_fp_errors
from tensor_runtime.contracts.linalg import TriangularSolveParams
from tensor_runtime.errors import NonFiniteError, SingularMatrixError, matrix_at
from tensor_runtime.form import Form, form_of
from tensor_runtime.protocols import Kernel

_MOST_STEPS: Final = 4096
"""Multiplications in one system up to which a call of BLAS costs more than they do."""
_HEADROOM: Final = 24
"""Powers of two that are taken out of right-hand sides whose solutions are not finite: no row has more numbers."""
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
    if not result.size:
        return lambda a, b: empty(result)
    rows, columns = result.shape[:2]
    if rows * rows * columns <= _MOST_STEPS and result.size > 2 * rows * rows * columns:
        return _together(params, rows, columns)
    in_place = bind_in_place(result, params)
    return lambda a, b: in_place(a, b.copy(order="C"))


def bind_in_place(result: Form, params: TriangularSolveParams, /) -> Kernel:
    """The kernel that puts solutions in the place of right-hand sides, which are compact and not empty.

    Raises:
        SizeLimitError: the BLAS's integers are too short for the shapes.

    >>> from tensor_core import F64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> upper = TriangularSolveParams(lower=False, transpose=False, conjugate=False, unit_diagonal=False)
    >>> sides = np.array([[4.0]])
    >>> bind_in_place(form_of(F64, (1, 1), CPU), upper)(np.array([[2.0]]), sides) is sides, sides.tolist()
    (True, [[2.0]])
    """
    from scipy.linalg import get_blas_funcs

    rows, columns = result.shape[:2]
    require_indexable("triangular_solve", result.shape, max(rows * rows, rows * columns))
    solve: Any = get_blas_funcs("trsm", dtype=result.dtype.numpy_name)
    lower, transpose, conjugate, unit = params
    # conj(A) X = B is A conj(X) = conj(B), and BLAS conjugates only what it transposes
    conjugate_sides = conjugate and not transpose and result.dtype.kind == "complex"
    transposed = (2 if conjugate else 1) if transpose else 0
    options = {"lower": lower, "trans_a": transposed, "diag": unit, "overwrite_b": True}
    solve_one: Any = get_blas_funcs("trsv", dtype=result.dtype.numpy_name)  # packs nothing of the matrix
    options_of_one = {"lower": lower, "trans": transposed, "diag": unit, "overwrite_x": True}

    by_division = ignoring_fp_errors(partial(_substitute, lower != transpose, divide=_divide_in_place))

    def triangular(a: Array, out: Array) -> Array:
        if conjugate_sides:
            np.conjugate(out, out=out)
        extreme = repeat(False) if unit else _are_extreme(a)
        matrices = map(a.__getitem__, np.ndindex(a.shape[:-2]))  # one that repeats is copied for none
        for is_extreme, matrix, sides in zip(extreme, matrices, out.reshape(-1, columns, rows), strict=False):
            if is_extreme:
                turned = matrix if transposed else matrix.T
                by_division(turned.conj() if transposed == 2 else turned, sides.T)
                continue
            if columns == 1:
                solved = solve_one(matrix.T, sides[0], **options_of_one)[:, np.newaxis]
            else:
                solved = solve(1, matrix.T, sides.T, **options)
            if solved.ctypes.data != sides.ctypes.data:
                sides.T[...] = solved
        return np.conjugate(out, out=out) if conjugate_sides else out

    return triangular


def _are_extreme(matrices: Array) -> Iterable[bool]:
    """Whether each matrix has numbers on its diagonal whose reciprocals, which BLAS takes, are infinite or vanish."""
    diagonals = matrices.diagonal(axis1=-2, axis2=-1)
    extreme = np.asarray((_minute(diagonals) | _huge(diagonals)).any(axis=-1))
    return map(bool, extreme.reshape(-1))


def _minute(x: Array) -> Array:
    """Which elements have a size below the normal ones, and are not zero."""
    sizes = np.abs(x)
    return np.asarray((sizes > 0) & (sizes < np.finfo(x.dtype).tiny))


def _huge(x: Array) -> Array:
    """Which complex elements are so large that squares of their parts over one of them are beyond the range."""
    return np.asarray((np.abs(x) > np.finfo(x.dtype).max / 4) & (x.dtype.kind == "c"))


def _substitute(forward: bool, matrices: Array, x: Array, divide: Callable[[Array, Any], Any] | None) -> None:
    """Put solutions in the place of right-hand sides, row by row: ``matrices[i, j]`` and ``x[i, k]``.

    ``divide`` puts the quotients of a row by an element of the diagonal in their place; None leaves it as it is.
    """
    rows = len(matrices)
    for i in range(rows) if forward else range(rows - 1, -1, -1):
        if divide is not None:
            divide(x[i], matrices[i, i])
        rest = slice(i + 1, None) if forward else slice(0, i)
        x[rest] -= matrices[rest, i, np.newaxis] * x[i]


def _divide_in_place(row: Array, by: Any) -> None:
    """Quotients in the place of a row.

    Complex ones take the reciprocal of a part of the divisor, so minute and huge divisors are scaled, and the row too.
    """
    divisors = np.asarray(by)
    if divisors.dtype.kind == "c":
        wide = np.finfo(divisors.dtype).bits == 64
        scale = np.where(_minute(divisors), 2.0**200 if wide else 2.0**40, np.where(_huge(divisors), 2.0**-8, 1.0))
        if (scale != 1.0).any():
            scale = scale.astype(divisors.real.dtype)
            row[...] = (row * scale) / (divisors * scale)
            return
    np.divide(row, by, out=row)


def _together(params: TriangularSolveParams, rows: int, columns: int) -> Kernel:
    """The kernel that makes each step of the substitution for a group of systems at once."""
    lower, transpose, conjugate, unit = params

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
            _substitute(lower != transpose, matrices, x, None if unit else _divide_in_place)
            out[group] = x.T
        return out.reshape(b.shape)

    return ignoring_fp_errors(triangular)


def bind_checked(operands: tuple[Form, Form], result: Form, params: TriangularSolveParams, /) -> Kernel:
    """The kernel that looks at all elements that are read first; operands of any dtypes and batches, and vectors.

    >>> from tensor_core import F64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> a, b = form_of(F64, (1, 1), CPU), form_of(F64, (1,), CPU)
    >>> upper = TriangularSolveParams(lower=False, transpose=False, conjugate=False, unit_diagonal=False)
    >>> bind_checked((a, b), b, upper)(np.array([[2.0]]), np.array([4.0])).tolist()
    [2.0]
    """
    rows, columns, batch = result.shape[0], prod(result.shape[1:2]), result.shape[2:]
    dtype = NUMPY_DTYPES[result.dtype]
    forms = tuple(form_of(result.dtype, (rows, one, *batch), result.placement) for one in (rows, columns))
    solve: Kernel = kernel_table.bind("triangular_solve", forms, forms[1], params)

    def spread(array: Array, core: tuple[int, int]) -> Array:
        if array.shape == (*batch[::-1], *core):
            return np.ascontiguousarray(array)
        of_batch = array.shape[: max(array.ndim - 2, 0)]
        missing = (1,) * (len(batch) - len(of_batch))
        return np.ascontiguousarray(np.broadcast_to(array.reshape(*of_batch, *missing, *core), (*batch[::-1], *core)))

    def checked(a: Array, b: Array) -> Array:
        _require_finite_triangle(a, params)
        require_finite("triangular_solve", "b", b, min(2, b.ndim))
        if not params.unit_diagonal:
            zero = np.asarray((a.diagonal(axis1=-2, axis2=-1) == 0).any(axis=-1))
            if zero.any():
                raise _zero_on_diagonal(tuple(int(i) for i in np.unravel_index(int(zero.argmax()), zero.shape)[::-1]))
        given = [part.astype(dtype, copy=False) for part in (spread(a, (rows, rows)), spread(b, (columns, rows)))]
        found: Array = solve(*given)
        if not np.isfinite(found).all():
            found = np.where(np.isfinite(found), found, of_smaller(*given))
        return found.reshape(result.shape[::-1])

    @ignoring_fp_errors
    def of_smaller(a: Array, b: Array) -> Array:
        """Solutions by way of smaller right-hand sides, with which sums on the way to a number do not overflow."""
        return scaled(solve(a, scaled(b, -_HEADROOM)), _HEADROOM)

    return checked


def _require_finite_triangle(a: Array, params: TriangularSolveParams) -> None:
    """Raise where an element that is read is not finite; of transposed arrays the triangles are exchanged."""
    try:
        require_finite("triangular_solve", "a", a)
    except NonFiniteError:
        beside = int(params.unit_diagonal)
        require_finite("triangular_solve", "a", np.triu(a, beside) if params.lower else np.tril(a, -beside))


def _zero_on_diagonal(batch: tuple[int, ...]) -> SingularMatrixError:
    return SingularMatrixError(
        f"triangular_solve: {matrix_at(batch)} has a zero on its diagonal; pinv() and lstsq() solve without",
        operation="triangular_solve",
        batch_index=batch,
        element_index=None,
    )


def when_called(bind: Callable[..., Kernel], *forms: Any) -> Kernel:
    """A kernel that is bound whenever it is called: native ones refuse few calls, and SciPy takes long to import.

    >>> when_called(lambda times: lambda x: times * x, 3)(4)
    12
    """

    def kernel(*arrays: Array) -> Any:
        return bind(*forms)(*arrays)

    return kernel


BINDERS: Final[Mapping[str, Binder]] = {
    "triangular_solve": bind_triangular_solve,
    "triangular_solve_checked": bind_checked,
}
