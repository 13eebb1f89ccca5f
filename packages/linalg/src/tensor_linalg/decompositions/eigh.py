"""Eigenvalues and eigenvectors of Hermitian matrices over trailing batch axes."""

from __future__ import annotations

from typing import Literal, NamedTuple, overload

from tensor_linalg.masking import Check, masked
from tensor_linalg.specs.decompositions import EIGH
from tensor_linalg.specs.shapes import matrix_axes
from tensor_runtime.dispatch.arguments import flag
from tensor_runtime.dispatch.call import execute_many
from tensor_runtime.tensors.tensor import Tensor, unwrap


class EighResult(NamedTuple):
    """Eigenvalues and eigenvectors: A v = v diag(eigenvalues), one eigenvector per column."""

    eigenvalues: Tensor
    eigenvectors: Tensor


class MaskedEighResult(NamedTuple):
    """Eigenvalues and eigenvectors, NaN where the status is not 0: 0 fine, 1 not finite, 2 not converged."""

    eigenvalues: Tensor
    eigenvectors: Tensor
    status: Tensor


@overload
def eigh(a: Tensor, /, *, check: bool = True) -> EighResult: ...
@overload
def eigh(a: Tensor, /, *, check: Literal["mask"]) -> MaskedEighResult: ...
def eigh(a: Tensor, /, *, check: Check = True) -> EighResult | MaskedEighResult:
    """Eigenvalues and eigenvectors of Hermitian (real: symmetric) matrices, A = V diag(w) Vᴴ.

    Only the lower triangle is read, as NumPy does by default; the imaginary part of the diagonal is ignored, as
    LAPACK does. What stands elsewhere need not mirror it, but must be finite unless ``check=False``.

    Args:
        a: shape [N, N, B...]; F32, F64, C32 or C64.
        check: raise when an element is not finite. Without it LAPACK may never return from an infinity.
            "mask" raises for no matrix of a batch, and gives a ``status`` of each, I32 [B...], beside the results.

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
    if check is not True and check == "mask":
        matrix_axes("eigh", unwrap("eigh", a)[0].shape)
        found, status = masked(lambda x: eigh(x, check=False), "eigh", a)
        return MaskedEighResult._make((*found, status))
    return EighResult(*execute_many(EIGH, (a,), flag("eigh", "check", check)))
