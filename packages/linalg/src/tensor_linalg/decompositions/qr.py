"""QR decompositions over trailing batch axes."""

from __future__ import annotations

from typing import Literal, NamedTuple, overload

from tensor_linalg.masking import Check, masked
from tensor_linalg.specs.decompositions import QR
from tensor_linalg.specs.shapes import matrix_axes
from tensor_runtime.dispatch.arguments import flag
from tensor_runtime.dispatch.call import execute_many
from tensor_runtime.tensors.tensor import Tensor, unwrap


class QRResult(NamedTuple):
    """Factors of A = q r."""

    q: Tensor
    r: Tensor


class MaskedQRResult(NamedTuple):
    """Factors of A = q r, NaN where the status is not 0: 0 fine, 1 not finite."""

    q: Tensor
    r: Tensor
    status: Tensor


@overload
def qr(a: Tensor, /, *, check: bool = True) -> QRResult: ...
@overload
def qr(a: Tensor, /, *, check: Literal["mask"]) -> MaskedQRResult: ...
def qr(a: Tensor, /, *, check: Check = True) -> QRResult | MaskedQRResult:
    """Thin QR decomposition, A = q r, by Householder reflections.

    Args:
        a: shape [M, N, B...]; F32, F64, C32 or C64.
        check: raise when an element is not finite. Without it LAPACK may never return from an infinity.
            "mask" raises for no matrix of a batch, and gives a ``status`` of each, I32 [B...], beside the results.

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
    if check is not True and check == "mask":
        matrix_axes("qr", unwrap("qr", a)[0].shape)
        found, status = masked(lambda x: qr(x, check=False), "qr", a)
        return MaskedQRResult._make((*found, status))
    return QRResult(*execute_many(QR, (a,), flag("qr", "check", check)))
