"""Triangular systems over trailing batch axes, by substitution."""

from __future__ import annotations

from tensor_core.errors import ArgumentError, ShapeError
from tensor_linalg.operands import promoted, require_finite, require_regular, with_batch
from tensor_linalg.products import mT
from tensor_linalg.specs.solving import solve_shape
from tensor_runtime.dispatch.arguments import choice, flag
from tensor_runtime.ops.comparison import equal
from tensor_runtime.ops.diagonals import extract_diagonal
from tensor_runtime.ops.reduction import any
from tensor_runtime.ops.views import copy, expand_dims, squeeze
from tensor_runtime.primitives.linalg import triangular_solve as substitute
from tensor_runtime.tensors.tensor import Tensor, unwrap


def triangular_solve(
    a: Tensor,
    b: Tensor,
    /,
    *,
    lower: bool = False,
    transpose: bool = False,
    adjoint: bool = False,
    unit_diagonal: bool = False,
    side: str = "left",
    check: bool = True,
) -> Tensor:
    """The x with op(A) x = b, or x op(A) = b, where A is triangular; by substitution.

    Only one triangle of A is read: what stands elsewhere may be anything finite, such as the other factor of a
    decomposition that is kept in one matrix.

    Args:
        a: shape [N, N, B...]; F32, F64, C32 or C64.
        b: shape [N, M, B...] of any of these dtypes, or [N] when ``a`` is [N, N]; [M, N, B...] for ``side="right"``.
            The batch shapes are equal or broadcast among themselves, aligned at the last axis.
        lower: whether A is lower triangular; else it is upper triangular.
        transpose: op(A) is Aᵀ; ``lower`` describes A itself.
        adjoint: op(A) is Aᴴ; at most one of the two.
        unit_diagonal: take the diagonal to be ones, and do not read it.
        side: "left" for op(A) x = b, "right" for x op(A) = b.
        check: raise when an element is not finite, or a diagonal element is exactly zero. Without it a zero gives
            infinities or NaN.

    Returns:
        x of the shape of ``b`` with the batch shapes broadcast; owned, compact, of the promoted dtype. Each column
        solves a system whose matrix differs from A by at most N rounding units of each of its elements.

    Raises:
        DTypeError: an integer or Bool tensor; convert it first.
        ShapeError: matrices that are not square, shapes that do not fit, or no column axis.
        ArgumentError: another side, or both ``transpose`` and ``adjoint``.
        NonFiniteError: NaN or an infinity, with ``operand``, ``batch_index`` and ``element_index``.
        SingularMatrixError: the matrix at ``batch_index`` (of ``a``) has a zero on its diagonal.
        PlacementError: the operands live in different places.

    Source: BLAS xTRSM; Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., theorem 8.5.

    >>> import tensor_runtime as tr
    >>> triangular_solve(tr.tensor([[2.0, 1.0], [0.0, 4.0]]), tr.tensor([4.0, 8.0])).to_numpy().tolist()
    [1.0, 2.0]
    """
    operation = "triangular_solve"
    lower, transpose, adjoint, unit_diagonal, check = (
        flag(operation, name, value)
        for name, value in (
            ("lower", lower),
            ("transpose", transpose),
            ("adjoint", adjoint),
            ("unit_diagonal", unit_diagonal),
            ("check", check),
        )
    )
    if transpose and adjoint:
        raise ArgumentError(f"{operation}: both transpose and adjoint; accepted: one of them", operation=operation)
    if choice(operation, "side", side, ("left", "right")) == "left":
        return substituted(operation, a, b, lower, transpose or adjoint, adjoint, unit_diagonal, check)
    if unwrap(operation, b)[0].rank < 2:
        raise ShapeError(
            f"{operation}: b of shape {b.shape} has no rows; accepted: [M, N, B...] for side='right'",
            operation=operation,
            shapes=(a.shape, b.shape),
        )
    # x op(A) = b is op(A)ᵀ xᵀ = bᵀ; the transpose of Aᴴ is the conjugate of A
    plain = not (transpose or adjoint)
    return copy(mT(substituted(operation, a, mT(b), lower, plain, adjoint, unit_diagonal, check)))


def cho_solve(factor: Tensor, b: Tensor, /, *, lower: bool = True, check: bool = True) -> Tensor:
    """The x with A x = b, given the Cholesky factor of A.

    Args:
        factor: L [N, N, B...] with A = L Lᴴ, of which the lower triangle is read; see :func:`cholesky`.
        b: shape [N, M, B...], or [N] when ``factor`` is [N, N]. The batch shapes are equal or broadcast among
            themselves, aligned at the last axis.
        lower: whether the factor is lower triangular; else it is U with A = Uᴴ U, and its upper triangle is read.
        check: raise when an element is not finite, or a diagonal element is exactly zero.

    Returns:
        x of the shape of ``b`` with the batch shapes broadcast; owned, compact, of the promoted dtype. The residual
        b - A x is a few rounding units of the dtype times N times the norms of A and x.

    Raises:
        DTypeError: an integer or Bool tensor; convert it first.
        ShapeError: matrices that are not square, shapes that do not fit, or no column axis.
        NonFiniteError: NaN or an infinity, with ``operand``, ``batch_index`` and ``element_index``.
        SingularMatrixError: the factor at ``batch_index`` has a zero on its diagonal.
        PlacementError: the operands live in different places.

    Source: LAPACK xPOTRS; Golub and Van Loan, Matrix Computations, 4th ed., §4.2.

    >>> import tensor_runtime as tr
    >>> from tensor_linalg import cholesky
    >>> cho_solve(cholesky(tr.tensor([[4.0, 2.0], [2.0, 5.0]])), tr.tensor([8.0, 12.0])).to_numpy().tolist()
    [1.0, 2.0]
    """
    operation = "cho_solve"
    lower, check = flag(operation, "lower", lower), flag(operation, "check", check)
    half = substituted(operation, factor, b, lower, not lower, not lower, False, check)
    return substituted(operation, factor, half, lower, lower, lower, False, False)


def substituted(
    operation: str,
    a: Tensor,
    b: Tensor,
    lower: bool,
    transpose: bool,
    conjugate: bool,
    unit_diagonal: bool,
    check: bool,
) -> Tensor:
    """The x with op(A) x = b for the shapes and batches that ``solve`` accepts, and with its errors.

    >>> import tensor_runtime as tr
    >>> a, b = tr.tensor([[2.0]]), tr.tensor([4.0])
    >>> substituted("cho_solve", a, b, True, False, False, False, True).to_numpy().tolist()
    [2.0]
    """
    a, b = promoted(operation, a, b)
    shape = solve_shape(operation, a.shape, b.shape, check)
    if check:
        require_finite(operation, "a", a)
        require_finite(operation, "b", b, min(2, b.rank))
        if not unit_diagonal:
            zero = any(equal(extract_diagonal(a), 0.0), -1)
            require_regular(operation, zero, "has a zero on its diagonal", "pinv() and lstsq() solve without")
    if b.rank == 1:
        b = expand_dims(b, 1)
    batch = shape[2:]
    found = substitute(
        with_batch(a, 2, batch),
        with_batch(b, 2, batch),
        lower=lower,
        transpose=transpose,
        conjugate=conjugate,
        unit_diagonal=unit_diagonal,
    )
    return squeeze(found, 1) if len(shape) == 1 else found
