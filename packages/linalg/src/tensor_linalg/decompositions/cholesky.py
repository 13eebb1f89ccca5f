"""Cholesky factors over trailing batch axes."""

from __future__ import annotations

from typing import Literal, overload

from tensor_linalg.masking import Check, MaskedResult, masked
from tensor_linalg.specs.decompositions import CHOLESKY
from tensor_linalg.specs.shapes import matrix_axes
from tensor_runtime.dispatch.arguments import flag
from tensor_runtime.dispatch.call import execute_with_params
from tensor_runtime.tensors.tensor import Tensor, unwrap


@overload
def cholesky(a: Tensor, /, *, check: bool = True) -> Tensor: ...
@overload
def cholesky(a: Tensor, /, *, check: Literal["mask"]) -> MaskedResult: ...
def cholesky(a: Tensor, /, *, check: Check = True) -> Tensor | MaskedResult:
    """Lower Cholesky factor of Hermitian (real: symmetric) positive definite matrices, A = L Lᴴ.

    Only the lower triangle is read, and the imaginary part of the diagonal is ignored, as LAPACK does. What stands
    elsewhere need not mirror it, but must be finite unless ``check=False``.

    Args:
        a: shape [N, N, B...]; F32, F64, C32 or C64.
        check: raise when an element is not finite. Without it LAPACK may never return from an infinity.
            "mask" raises for no matrix of a batch, and gives a ``status`` of each, I32 [B...], beside the results.

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
    if check is not True and check == "mask":
        matrix_axes("cholesky", unwrap("cholesky", a)[0].shape)
        (factor,), status = masked(lambda x: (cholesky(x, check=False),), "cholesky", a)
        return MaskedResult(factor, status)
    return execute_with_params(CHOLESKY, a, flag("cholesky", "check", check))
