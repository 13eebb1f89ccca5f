"""Contracts of the kernels of decompositions."""

from __future__ import annotations

from typing import Final

from tensor_linalg.contracts.common import MATRICES, OWNED, SQUARE, CheckParams
from tensor_runtime.contracts.contract import Contract, declare

KERNELS: Final = declare(
    [
        Contract(
            "svd",
            "Thin singular value decompositions, A = u diag(s) vh.",
            MATRICES,
            "u [M, K, B...], s [K, B...] real and descending, vh [K, N, B...]; each owned and compact",
            CheckParams,
        ),
        Contract(
            "qr",
            "Thin QR decompositions, A = q r.",
            MATRICES,
            "q [M, K, B...] and r [K, N, B...]; each owned and compact",
            CheckParams,
        ),
        Contract(
            "eigh",
            "Eigenvalues and eigenvectors of Hermitian matrices, of which the lower triangle is read.",
            SQUARE,
            "eigenvalues [N, B...] real and ascending, eigenvectors [N, N, B...]; each owned and compact",
            CheckParams,
        ),
        Contract(
            "cholesky",
            "Lower Cholesky factors of Hermitian positive definite matrices, of which the lower triangle is read.",
            SQUARE,
            f"[N, N, B...], zero above the diagonal; {OWNED}",
            CheckParams,
        ),
    ]
)
