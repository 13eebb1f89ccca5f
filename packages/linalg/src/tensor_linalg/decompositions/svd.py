"""Singular value decompositions over trailing batch axes."""

from __future__ import annotations

from typing import Literal, NamedTuple, overload

from tensor_linalg.masking import Check, masked
from tensor_linalg.specs.decompositions import SVD
from tensor_linalg.specs.shapes import matrix_axes
from tensor_runtime.dispatch.arguments import flag
from tensor_runtime.dispatch.call import execute_many
from tensor_runtime.tensors.tensor import Tensor, unwrap


class SVDResult(NamedTuple):
    """Factors of A = u diag(s) vh."""

    u: Tensor
    s: Tensor
    vh: Tensor


class MaskedSVDResult(NamedTuple):
    """Factors of A = u diag(s) vh, NaN where the status is not 0: 0 fine, 1 not finite, 2 not converged."""

    u: Tensor
    s: Tensor
    vh: Tensor
    status: Tensor


@overload
def svd(a: Tensor, /, *, check: bool = True) -> SVDResult: ...
@overload
def svd(a: Tensor, /, *, check: Literal["mask"]) -> MaskedSVDResult: ...
def svd(a: Tensor, /, *, check: Check = True) -> SVDResult | MaskedSVDResult:
    """Thin singular value decomposition, A = u diag(s) vh.

    Args:
        a: shape [M, N, B...]; F32, F64, C32 or C64.
        check: raise when an element is not finite. Without it LAPACK may never return from an infinity.
            "mask" raises for no matrix of a batch, and gives a ``status`` of each, I32 [B...], beside the results.

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
    if check is not True and check == "mask":
        matrix_axes("svd", unwrap("svd", a)[0].shape)
        found, status = masked(lambda x: svd(x, check=False), "svd", a)
        return MaskedSVDResult._make((*found, status))
    return SVDResult(*execute_many(SVD, (a,), flag("svd", "check", check)))
