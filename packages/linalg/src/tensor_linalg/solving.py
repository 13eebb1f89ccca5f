"""Linear systems, inverses and determinants over trailing batch axes, all by LU decomposition."""

from __future__ import annotations

from tensor_linalg.specs import DET, INV, SOLVE
from tensor_runtime.dispatch.arguments import flag
from tensor_runtime.dispatch.call import execute_pair, execute_with_params
from tensor_runtime.tensors.tensor import Tensor


def solve(a: Tensor, b: Tensor, /, *, check: bool = True) -> Tensor:
    """The x with A x = b, by LU decomposition with partial pivoting.

    ``b`` has a column axis, so that a batch of vectors is never taken for a matrix: [N, M, B...] holds M right-hand
    sides for each matrix. The one exception is a vector [N] for a single matrix [N, N].

    Args:
        a: shape [N, N, B...]; F32, F64, C32 or C64.
        b: shape [N, M, B...] of any of these dtypes, or [N] when ``a`` is [N, N]. The batch shapes are equal or
            broadcast among themselves, aligned at the last axis; a single [N, N] is factored once for all batches of
            ``b``.
        check: raise when an element is not finite.

    Returns:
        x [N, M, B...], or [N]; owned, compact, of the promoted dtype. The residual b - A x is a few rounding units of
        the dtype times N times the norms of A and x (backward stable in practice); the error of x grows with the
        condition number of A. Values beyond the dtype's range become infinite, as in all floating-point arithmetic.

    Raises:
        DTypeError: an integer or Bool tensor; convert it first.
        ShapeError: matrices that are not square, shapes that do not fit, or no column axis.
        NonFiniteError: NaN or an infinity, with ``operand``, ``batch_index`` and ``element_index``.
        SingularMatrixError: the matrix at ``batch_index`` (of ``a``, the first such in column-major order) has an
            exactly zero pivot, which is what is looked for, not the rank: see :func:`det`. A nearly singular matrix
            raises nothing.
        PlacementError: the operands live in different places.
        SizeLimitError: more elements than the LAPACK in use can count.

    Source: LAPACK xGESV; Golub and Van Loan, Matrix Computations, 4th ed., §3.4.

    >>> import tensor_runtime as tr
    >>> solve(tr.tensor([[2.0, 0.0], [0.0, 4.0]]), tr.tensor([2.0, 2.0])).to_numpy().tolist()
    [1.0, 0.5]
    """
    return execute_pair(SOLVE, a, b, flag("solve", "check", check))


def inv(a: Tensor, /, *, check: bool = True) -> Tensor:
    """Inverses of square matrices, by LU decomposition with partial pivoting.

    To solve a system, :func:`solve` is faster and its residual is smaller.

    Args:
        a: shape [N, N, B...]; F32, F64, C32 or C64.
        check: raise when an element is not finite.

    Returns:
        X [N, N, B...] with A X ≈ X A ≈ 1; owned, compact. Of A X - 1 and X A - 1 at least one is a few rounding units
        of the dtype times N times the norms of A and X; which one, LAPACK decides. The error of X grows with the
        condition number of A. Values beyond the dtype's range become infinite. The inverse of a 0 x 0 matrix is empty.

    Raises:
        DTypeError: an integer or Bool tensor; convert it first.
        ShapeError: fewer than two axes, or matrices that are not square.
        NonFiniteError: NaN or an infinity, with ``batch_index`` and ``element_index``.
        SingularMatrixError: the matrix at ``batch_index``, the first such in column-major order, has an exactly zero
            pivot, which is what is looked for, not the rank: see :func:`det`. A nearly singular matrix raises nothing.
        SizeLimitError: more elements than the LAPACK in use can count.

    Source: LAPACK xGETRF with xGETRI, or xGESV with the identity; Higham, Accuracy and Stability of Numerical
    Algorithms, 2nd ed., §14.3.

    >>> import tensor_runtime as tr
    >>> inv(tr.tensor([[1.0, 1.0], [1.0, 2.0]])).to_numpy().tolist()
    [[2.0, -1.0], [-1.0, 1.0]]
    """
    return execute_with_params(INV, a, flag("inv", "check", check))


def det(a: Tensor, /, *, check: bool = True) -> Tensor:
    """Determinants of square matrices, by LU decomposition with partial pivoting.

    Args:
        a: shape [N, N, B...]; F32, F64, C32 or C64.
        check: raise when an element is not finite.

    Returns:
        One number for each matrix, shape [B...]; owned, compact. It is the determinant of a matrix that differs from A
        by a few rounding units of the dtype times N times its norm, times 1 plus rounding units times N and times the
        logarithm of the result. Exactly 0 where a pivot is exactly zero; 1 for a 0 x 0 matrix; values beyond the
        dtype's range become infinite or zero, the factors on the way do not.

        A matrix that is singular on paper need not have a pivot of zero once multipliers are rounded: [[0.1, 0.3],
        [0.2, 0.6]] may have one, or one of about a rounding unit. What the CPU backend eliminates itself (small
        matrices; all of side 2 to 4) it rounds step by step, without fused products, so that the answer depends neither
        on the processor nor on the batch; larger or fewer matrices go to LAPACK, whose answer is its own. For the rank,
        look at the singular values.

    Raises:
        DTypeError: an integer or Bool tensor; convert it first.
        ShapeError: fewer than two axes, or matrices that are not square.
        NonFiniteError: NaN or an infinity, with ``batch_index`` and ``element_index``.
        SizeLimitError: more elements than the LAPACK in use can count.

    Source: LAPACK xGETRF; Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., §14.6.

    >>> import tensor_runtime as tr
    >>> det(tr.tensor([[2.0, 0.0], [0.0, 4.0]])).to_numpy().round(12).tolist()
    8.0
    """
    return execute_with_params(DET, a, flag("det", "check", check))
