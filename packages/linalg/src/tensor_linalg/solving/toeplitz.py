"""Systems of Toeplitz matrices over trailing batch axes, of which first columns and rows are given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, overload

from tensor_core.errors import ShapeError
from tensor_linalg.masking import Check, MaskedResult, asks_for_mask, checks, masked_result, unfailing
from tensor_linalg.operands import promoted, require_finite, with_batch
from tensor_linalg.solving.condition import estimated_one_norm, refuse_with_mask, scale_of, warn_if_ill_conditioned
from tensor_linalg.specs.shapes import broadcast_batches
from tensor_linalg.specs.solving import SOLVE_TOEPLITZ
from tensor_linalg.targets import delivered, placed
from tensor_runtime.dispatch.arguments import flag
from tensor_runtime.dispatch.call import execute_pair
from tensor_runtime.dispatch.out import Out
from tensor_runtime.errors import NonFiniteError
from tensor_runtime.ops.arithmetic import abs, add, conj, divide, multiply
from tensor_runtime.ops.comparison import equal
from tensor_runtime.ops.creation import eye, zeros
from tensor_runtime.ops.joining import concatenate
from tensor_runtime.ops.ranges import arange
from tensor_runtime.ops.reduction import max
from tensor_runtime.ops.scan import cumsum
from tensor_runtime.ops.selection import where
from tensor_runtime.ops.views import expand_dims, reshape, reverse_view, squeeze
from tensor_runtime.tensors.tensor import Tensor


@overload
def solve_toeplitz(
    c: Tensor,
    b: Tensor,
    /,
    r: Tensor | None = None,
    *,
    check: bool = True,
    condition: bool = False,
    out: Out = None,
) -> Tensor: ...
@overload
def solve_toeplitz(
    c: Tensor, b: Tensor, /, r: Tensor | None = None, *, check: Literal["mask"], out: MaskedResult[Tensor] | None = None
) -> MaskedResult[Tensor]: ...
def solve_toeplitz(
    c: Tensor,
    b: Tensor,
    /,
    r: Tensor | None = None,
    *,
    check: Check = True,
    condition: bool = False,
    out: Any = None,
) -> Tensor | MaskedResult[Tensor]:
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
            "mask" raises for no matrix of a batch, and gives a ``MaskedResult``: the result, NaN where a matrix has
            none, and a ``status`` of each, I32 [B...].
        condition: warn where the condition number of a matrix, in the 1-norm, is so large that the result may have no
            correct digit; it is estimated with six vectors.
        out: where the result is written; see ``tensor_runtime.add``.

    Returns:
        x of the shape of ``b`` with the batch shapes broadcast; owned, compact, of the promoted dtype.

    Warns:
        IllConditionedWarning: on request, for the first such matrix.

    Raises:
        DTypeError: an integer or Bool tensor; convert it first.
        ShapeError: shapes that do not fit, or no column axis.
        ArgumentError: both ``condition`` and ``check="mask"``.
        NonFiniteError: NaN or an infinity, with ``operand``, ``batch_index`` and ``element_index``.
        SingularMatrixError: the matrix at ``batch_index`` has a leading block that is exactly singular.
        PlacementError: the operands live in different places.

    Source: Golub and Van Loan, Matrix Computations, 4th ed., §4.7.3 and §4.7.5; SciPy's ``solve_toeplitz``.

    >>> import tensor_runtime as tr
    >>> solve_toeplitz(tr.tensor([2.0, -1.0, 0.0]), tr.tensor([1.0, 0.0, 1.0])).to_numpy().round(12).tolist()
    [1.0, 1.0, 1.0]
    """
    operation = "solve_toeplitz"
    masks = check is not True and asks_for_mask(check)
    checked = check is True or (not masks and checks(operation, check))
    tells = flag(operation, "condition", condition)
    if masks:
        refuse_with_mask(operation, tells)
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
    row = rows[0] if rows else conj(c) if c.dtype.kind == "complex" else c
    of_matrices = c.shape[1:] if c.shape == row.shape else broadcast_batches(operation, c.shape[1:], row.shape[1:])
    batch = broadcast_batches(operation, of_matrices, b.shape[2:] if b.rank > 1 else ())
    if 0 in (size, *of_matrices):
        nothing = zeros((*b.shape[:2], *batch), dtype=b.dtype, placement=b.placement)
        if masks:
            return unfailing(operation, nothing, batch, out, *given)
        if checked:
            _require_finite(operation, c, b, rows)
        return placed(operation, nothing, out, *given)
    if c.shape != row.shape:
        c, row = with_batch(c, 1, of_matrices), with_batch(row, 1, of_matrices)
    diagonals = concatenate([reverse_view(row[1:], 0), c]) if size > 1 else c
    if masks:
        found = masked_result(
            operation,
            lambda x, y: execute_pair(SOLVE_TOEPLITZ, squeeze(x, 1), y, True),  # which refuses what is singular
            expand_dims(diagonals, 1),
            b,
            instead=eye(2 * size - 1, dtype=b.dtype, placement=b.placement)[:, size - 1 : size],
        )
        return delivered(operation, found, out, *given)
    try:
        x = execute_pair(SOLVE_TOEPLITZ, diagonals, b, checked)
    except NonFiniteError:
        _require_finite(operation, c, b, rows)
        raise
    if tells:
        _warn_of_toeplitz(operation, c, row)
    return x if out is None else placed(operation, x, out, *given)


def _require_finite(operation: str, c: Tensor, b: Tensor | None, rows: Sequence[Tensor]) -> None:
    """Raise unless all elements that are read are finite, and so not for the first one of a row."""
    require_finite(operation, "c", c, 1)
    if b is not None:
        require_finite(operation, "b", b, min(2, b.rank))
    for row in rows:
        unread = zeros((min(1, row.shape[0]), *row.shape[1:]), dtype=row.dtype, placement=row.placement)
        require_finite(operation, "r", concatenate([unread, row[1:]]), 1)


def _warn_of_toeplitz(operation: str, c: Tensor, row: Tensor) -> None:
    """Warn where Toeplitz matrices, of one batch shape, are ill-conditioned."""
    size, *batch = c.shape
    first = equal(reshape(arange(size, placement=c.placement), (size, *(1,) * len(batch))), 0)
    sums = add(reverse_view(cumsum(abs(c), 0), 0), cumsum(where(first, 0.0, abs(row)), 0))
    norm = max(sums, 0)
    scale = scale_of(norm)
    inverse = estimated_one_norm(
        lambda x: solve_toeplitz(c, multiply(x, scale), row, check="mask").result,
        lambda x: solve_toeplitz(where(first, conj(c), conj(row)), multiply(x, scale), conj(c), check="mask").result,
        *(size, tuple(batch), c.dtype, c.placement),
    )
    warn_if_ill_conditioned(operation, divide(norm, scale), inverse)
