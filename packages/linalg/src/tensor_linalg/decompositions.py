"""Matrix decompositions over trailing batch axes: ``svd``, ``qr``, ``eigh``, ``cholesky``.

A tensor ``[M, N, B...]`` is one M x N matrix for every batch index; the result for a batch is the result for each
matrix. Operands may be any view (transposed, reversed, strided, broadcast) and are never written to; results are
owned, compact and column-major.

Dtypes are F32, F64, C32 (two F32) and C64 (two F64). Each function first checks that its operands are finite, which
reads one status word back from the device; ``check=False`` skips that, and then NaN or an infinity may hang LAPACK or
give numbers that mean nothing.

Signs and phases (the *gauge*) are whatever the method gives: they may differ between backends, sizes, thread counts and
versions, and are not continuous in the input. Only what the docstrings promise may be relied on.
"""

from __future__ import annotations

from typing import NamedTuple

from tensor_linalg.specs import CHOLESKY, EIGH, QR, SVD
from tensor_runtime.dispatch.arguments import flag
from tensor_runtime.dispatch.call import execute_many, execute_with_params
from tensor_runtime.tensors.tensor import Tensor


class SVDResult(NamedTuple):
    """Factors of A = u diag(s) vh."""

    u: Tensor
    s: Tensor
    vh: Tensor


class QRResult(NamedTuple):
    """Factors of A = q r."""

    q: Tensor
    r: Tensor


class EighResult(NamedTuple):
    """Eigenvalues and eigenvectors: A v = v diag(eigenvalues), one eigenvector per column."""

    eigenvalues: Tensor
    eigenvectors: Tensor


def svd(a: Tensor, /, *, check: bool = True) -> SVDResult:
    """Thin singular value decomposition, A = u diag(s) vh.

    Args:
        a: shape [M, N, B...]; F32, F64, C32 or C64.
        check: raise when an element is not finite. Without it LAPACK may never return from an infinity.

    Returns:
        u [M, K, B...] with orthonormal columns, s [K, B...] real, non-negative and descending, vh [K, N, B...] with
        orthonormal rows; K is the smaller of M and N. The residual is a few rounding units of the dtype times max(M,
        N) times the norm of A, and orthonormality holds to a few rounding units times max(M, N). Always up to one
        sign or phase per column of u and row of vh, and freely for equal singular values, the vectors are not unique:
        they are what the method gives.

    Raises:
        DTypeError: an integer or Bool tensor; convert it first.
        ShapeError: fewer than two axes.
        NonFiniteError: NaN or an infinity, with ``batch_index`` and ``element_index``.
        NotConvergedError: LAPACK's iteration failed for the matrix at ``batch_index``.
        SizeLimitError: more elements than the LAPACK in use can count.

    Source: LAPACK xGESDD (divide and conquer), and one-sided Jacobi rotations for small matrices on the CPU; Golub and
    Van Loan, Matrix Computations, 4th ed., §8.6.

    >>> import tensor_runtime as tr
    >>> u, s, vh = svd(tr.tensor([[3.0, 0.0], [0.0, 4.0], [0.0, 0.0]]))
    >>> u.shape, s.to_numpy().round(12).tolist(), vh.shape
    ((3, 2), [4.0, 3.0], (2, 2))
    """
    return SVDResult(*execute_many(SVD, (a,), flag("svd", "check", check)))


def qr(a: Tensor, /, *, check: bool = True) -> QRResult:
    """Thin QR decomposition, A = q r, by Householder reflections.

    Args:
        a: shape [M, N, B...]; F32, F64, C32 or C64.
        check: raise when an element is not finite. Without it LAPACK may never return from an infinity.

    Returns:
        q [M, K, B...] with orthonormal columns and r [K, N, B...], zero below its diagonal; K is the smaller of M and
        N. The residual is a few rounding units of the dtype times max(M, N) times the norm of A, and orthonormality
        holds to a few rounding units times max(M, N), whatever the rank of A. The diagonal of r may have any sign or
        phase; nothing is pivoted.

    Raises:
        DTypeError: an integer or Bool tensor; convert it first.
        ShapeError: fewer than two axes.
        NonFiniteError: NaN or an infinity, with ``batch_index`` and ``element_index``.
        SizeLimitError: more elements than the LAPACK in use can count.

    Source: LAPACK xGEQRF and xORGQR / xUNGQR; Golub and Van Loan, Matrix Computations, 4th ed., §5.2.

    >>> import tensor_runtime as tr
    >>> q, r = qr(tr.tensor([[3.0, 1.0], [4.0, 2.0]]))
    >>> abs(r).to_numpy().round(12).tolist()
    [[5.0, 2.2], [0.0, 0.4]]
    """
    return QRResult(*execute_many(QR, (a,), flag("qr", "check", check)))


def eigh(a: Tensor, /, *, check: bool = True) -> EighResult:
    """Eigenvalues and eigenvectors of Hermitian (real: symmetric) matrices, A = V diag(w) Vᴴ.

    Only the lower triangle is read, as NumPy does by default; the imaginary part of the diagonal is ignored, as
    LAPACK does. What stands elsewhere need not mirror it, but must be finite unless ``check=False``.

    Args:
        a: shape [N, N, B...]; F32, F64, C32 or C64.
        check: raise when an element is not finite. Without it LAPACK may never return from an infinity.

    Returns:
        eigenvalues [N, B...] real and ascending, eigenvectors [N, N, B...], one per column and orthonormal. The
        residual is a few rounding units of the dtype times N times the norm of A, and orthonormality holds to a few
        rounding units times N. Always up to one sign or phase per column, and freely for equal eigenvalues, the
        vectors are not unique: they are what the method gives.

    Raises:
        DTypeError: an integer or Bool tensor; convert it first.
        ShapeError: fewer than two axes, or matrices that are not square.
        NonFiniteError: NaN or an infinity anywhere, with ``batch_index`` and ``element_index``.
        NotConvergedError: LAPACK's iteration failed for the matrix at ``batch_index``.
        SizeLimitError: more elements than the LAPACK in use can count.

    Source: LAPACK xSYEVD / xHEEVD (divide and conquer), and Jacobi rotations for small matrices on the CPU; Golub and
    Van Loan, Matrix Computations, 4th ed., §8.4 and §8.5.

    >>> import tensor_runtime as tr
    >>> w, v = eigh(tr.tensor([[2.0, 99.0], [1.0, 2.0]]))
    >>> w.to_numpy().round(12).tolist()
    [1.0, 3.0]
    """
    return EighResult(*execute_many(EIGH, (a,), flag("eigh", "check", check)))


def cholesky(a: Tensor, /, *, check: bool = True) -> Tensor:
    """Lower Cholesky factor of Hermitian (real: symmetric) positive definite matrices, A = L Lᴴ.

    Only the lower triangle is read, and the imaginary part of the diagonal is ignored, as LAPACK does. What stands
    elsewhere need not mirror it, but must be finite unless ``check=False``.

    Args:
        a: shape [N, N, B...]; F32, F64, C32 or C64.
        check: raise when an element is not finite. Without it LAPACK may never return from an infinity.

    Returns:
        L [N, N, B...] with a real, positive diagonal and exact zeros above it. The residual is a few rounding units
        of the dtype times N times the norm of A.

    Raises:
        DTypeError: an integer or Bool tensor; convert it first.
        ShapeError: fewer than two axes, or matrices that are not square.
        NonFiniteError: NaN or an infinity anywhere, with ``batch_index`` and ``element_index``.
        NotPositiveDefiniteError: the matrix at ``batch_index``, the first such in column-major order, is not positive
            definite to working precision; ``element_index`` is the last diagonal element of its smallest bad leading
            block.
        SizeLimitError: more elements than the LAPACK in use can count.

    Source: LAPACK xPOTRF; Golub and Van Loan, Matrix Computations, 4th ed., §4.2.

    >>> import tensor_runtime as tr
    >>> cholesky(tr.tensor([[4.0, 99.0], [2.0, 5.0]])).to_numpy().tolist()
    [[2.0, 0.0], [1.0, 2.0]]
    """
    return execute_with_params(CHOLESKY, a, flag("cholesky", "check", check))
