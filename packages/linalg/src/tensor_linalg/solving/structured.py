"""Systems of banded and of Toeplitz matrices over trailing batch axes, of which only the diagonals are given."""

from __future__ import annotations

from collections.abc import Sequence

from tensor_core.errors import ArgumentError, ShapeError, shortened
from tensor_linalg.contracts.solving import BandedParams
from tensor_linalg.operands import promoted, require_finite, with_batch
from tensor_linalg.specs.shapes import broadcast_batches
from tensor_linalg.specs.solving import SOLVE_BANDED, SOLVE_TOEPLITZ
from tensor_linalg.targets import placed
from tensor_runtime.dispatch.arguments import flag, whole
from tensor_runtime.dispatch.call import execute_pair
from tensor_runtime.dispatch.out import Out
from tensor_runtime.errors import NonFiniteError
from tensor_runtime.ops.arithmetic import conj
from tensor_runtime.ops.creation import zeros
from tensor_runtime.ops.joining import concatenate
from tensor_runtime.ops.views import reverse_view
from tensor_runtime.tensors.tensor import Tensor


def solve_banded(bandwidths: Sequence[int], ab: Tensor, b: Tensor, /, *, check: bool = True, out: Out = None) -> Tensor:
    """The x with A x = b for banded matrices, by LU decomposition with partial pivoting within the band.

    Args:
        bandwidths: (l, u), how many diagonals there are below and above the main one.
        ab: shape [l + u + 1, N, B...] with ``ab[u + i - j, j] = A[i, j]``: one diagonal per row, the uppermost first,
            as SciPy has it; what lies outside of the matrix is not read, but must be finite. F32, F64, C32 or C64.
        b: shape [N, M, B...] of any of these dtypes, or [N] when ``ab`` is [l + u + 1, N]. The batch shapes are equal
            or broadcast among themselves, aligned at the last axis.
        check: raise when an element is not finite.
        out: where the result is written; see ``tensor_runtime.add``.

    Returns:
        x of the shape of ``b`` with the batch shapes broadcast; owned, compact, of the promoted dtype. The residual
        b - A x is a few rounding units of the dtype times l + u + 1 times the norms of A and x.

    Raises:
        DTypeError: an integer or Bool tensor; convert it first.
        ShapeError: shapes that do not fit, or no column axis.
        ArgumentError: bandwidths that are not two ints from 0 on.
        NonFiniteError: NaN or an infinity, with ``operand``, ``batch_index`` and ``element_index``.
        SingularMatrixError: the matrix at ``batch_index`` has an exactly zero pivot.
        PlacementError: the operands live in different places.

    Source: LAPACK xGBSV; Golub and Van Loan, Matrix Computations, 4th ed., §4.3.

    >>> import tensor_runtime as tr
    >>> second_difference = tr.tensor([[0.0, -1.0, -1.0], [2.0, 2.0, 2.0], [-1.0, -1.0, 0.0]])
    >>> solve_banded((1, 1), second_difference, tr.tensor([1.0, 0.0, 1.0])).to_numpy().round(12).tolist()
    [1.0, 1.0, 1.0]
    """
    operation = "solve_banded"
    try:
        lower, upper = (whole(operation, "bandwidths", one) for one in bandwidths)
    except (TypeError, ValueError):
        lower = upper = -1
    if lower < 0 or upper < 0:
        raise ArgumentError(
            f"{operation}: bandwidths is {shortened(bandwidths)}; accepted: two ints from 0 on, (lower, upper)",
            operation=operation,
        )
    return execute_pair(SOLVE_BANDED, ab, b, BandedParams(lower, upper, flag(operation, "check", check)), out)


def solve_toeplitz(c: Tensor, b: Tensor, /, r: Tensor | None = None, *, check: bool = True, out: Out = None) -> Tensor:
    """The x with T x = b for Toeplitz matrices, T[i, j] = c[i - j] or r[j - i], by Levinson's recursion.

    It takes N² operations where :func:`solve` takes N³, all batches at once, and is stable for positive definite
    matrices. For others the error may be larger than the condition number explains, and leading blocks may be singular
    though the matrix is not; then :func:`solve` with the matrix itself does better.

    Args:
        c: first columns [N, B...]; F32, F64, C32 or C64.
        b: shape [N, M, B...] of any of these dtypes, or [N] when ``c`` is [N]. The batch shapes are equal or broadcast
            among themselves, aligned at the last axis.
        r: first rows [N, B...], of which the first element is not read; None is the conjugate of ``c``.
        check: raise when an element is not finite.
        out: where the result is written; see ``tensor_runtime.add``.

    Returns:
        x of the shape of ``b`` with the batch shapes broadcast; owned, compact, of the promoted dtype.

    Raises:
        DTypeError: an integer or Bool tensor; convert it first.
        ShapeError: shapes that do not fit, or no column axis.
        NonFiniteError: NaN or an infinity, with ``operand``, ``batch_index`` and ``element_index``.
        SingularMatrixError: the matrix at ``batch_index`` has a leading block that is exactly singular.
        PlacementError: the operands live in different places.

    Source: Golub and Van Loan, Matrix Computations, 4th ed., §4.7.3 and §4.7.5; SciPy's ``solve_toeplitz``.

    >>> import tensor_runtime as tr
    >>> solve_toeplitz(tr.tensor([2.0, -1.0, 0.0]), tr.tensor([1.0, 0.0, 1.0])).to_numpy().round(12).tolist()
    [1.0, 1.0, 1.0]
    """
    operation = "solve_toeplitz"
    check = flag(operation, "check", check)
    given = (c, b) if r is None else (c, b, r)
    c, b, *rows = promoted(operation, *given)
    for name, one in (("c", c), *(("r", row) for row in rows)):
        if one.rank == 0 or one.shape[0] != c.shape[0]:
            raise ShapeError(
                f"{operation}: {name} of shape {one.shape}; accepted: [N, B...], the same N for c and r",
                operation=operation,
                shape=one.shape,
            )
    size = c.shape[0]
    if b.shape[:1] != (size,) or (b.rank == 1 and c.rank != 1):
        raise ShapeError(
            f"{operation}: c of shape {c.shape} and b of shape {b.shape} do not fit; "
            f"accepted: b of shape {'[N] or ' if c.rank == 1 else ''}[N, M, B...] with N = {size}",
            operation=operation,
            shapes=(c.shape, b.shape),
        )
    row = rows[0] if rows else conj(c)
    columns_batch = b.shape[2:] if b.rank > 1 else ()
    batch = broadcast_batches(operation, broadcast_batches(operation, c.shape[1:], row.shape[1:]), columns_batch)
    if not size:
        return placed(zeros((*b.shape[:2], *batch), dtype=b.dtype, placement=b.placement), out, *given)
    if c.shape != row.shape:
        c, row = with_batch(c, 1, batch), with_batch(row, 1, batch)
    diagonals = concatenate([reverse_view(row[1:], 0), c]) if size > 1 else c
    try:
        return placed(execute_pair(SOLVE_TOEPLITZ, diagonals, b, check), out, *given)
    except NonFiniteError:
        for name, one, rank in (("c", c, 1), ("b", b, min(2, b.rank)), *(("r", own, 1) for own in rows)):
            require_finite(operation, name, one, rank)
        raise
