"""Contracts of the kernels of decompositions."""

from __future__ import annotations

from typing import Final

from tensor_linalg.contracts.common import (
    MATRICES,
    OWNED,
    SQUARE,
    STATUS,
    CheckParams,
    EighParams,
    EighRangeParams,
    SVDParams,
    overwriting,
)
from tensor_runtime.contracts.contract import Contract, declare

_KEEPING: Final = declare(
    [
        Contract(
            "svd",
            "Thin singular value decompositions, A = u diag(s) vh.",
            MATRICES,
            "u [M, K, B...], s [K, B...] real and descending, vh [K, N, B...]; each owned and compact",
            SVDParams,
        ),
        Contract(
            "svd_full",
            "Singular value decompositions with square factors, A = u diag(s) vh.",
            MATRICES,
            "u [M, M, B...], s [K, B...] real and descending, vh [N, N, B...]; each owned and compact",
            CheckParams,
        ),
        Contract(
            "svdvals",
            "Singular values alone.",
            MATRICES,
            "[K, B...], real and descending; owned, compact",
            SVDParams,
        ),
        Contract(
            "qr",
            "Thin QR decompositions, A = q r.",
            MATRICES,
            "q [M, K, B...] and r [K, N, B...]; each owned and compact",
            CheckParams,
        ),
        Contract(
            "qr_complete",
            "QR decompositions with a square q, A = q r.",
            MATRICES,
            "q [M, M, B...] and r [M, N, B...]; each owned and compact",
            CheckParams,
        ),
        Contract(
            "eigh",
            "Eigenvalues and eigenvectors of Hermitian matrices, of which the lower triangle is read.",
            SQUARE,
            "eigenvalues [N, B...] real and ascending, eigenvectors [N, N, B...]; each owned and compact",
            EighParams,
        ),
        Contract(
            "eigh_range",
            "Some eigenvalues, by their indices, and their eigenvectors, of Hermitian matrices given as for eigh.",
            SQUARE,
            "eigenvalues [K, B...] real and ascending, eigenvectors [N, K, B...], K = last - first + 1; each owned and "
            "compact",
            EighRangeParams,
        ),
        Contract(
            "qr_pivoted",
            "Thin QR decompositions with the longest remaining column first, A[:, permutation] = q r.",
            MATRICES,
            "q [M, K, B...], r [K, N, B...], permutation [N, B...] I64; each owned and compact",
            CheckParams,
        ),
        Contract(
            "lu_factor",
            "LU decompositions with partial pivoting, A[permutation] = l u; a pivot of 0 is no error.",
            MATRICES,
            "[M, N, B...], u on and above the diagonal, l without its ones below; permutation [M, B...] I64; each "
            "owned and compact",
            CheckParams,
        ),
        Contract(
            "lu_complete",
            "LU decompositions with complete pivoting, A[rows][:, columns] = l u; a pivot of 0 is no error.",
            MATRICES,
            "packed as by lu_factor, rows [M, B...] and columns [N, B...] I64; each owned and compact",
            CheckParams,
        ),
        Contract(
            "ldl",
            "LDL decompositions of Hermitian matrices, of which the lower triangle is read, with diagonal pivoting.",
            SQUARE,
            "unit lower l [N, N, B...], d [N, N, B...] Hermitian with diagonal blocks of 1 and 2, permutation "
            "[N, B...] I64, A[permutation][:, permutation] = l d lᴴ; each owned and compact",
            CheckParams,
        ),
        Contract(
            "eig",
            "Eigenvalues and right eigenvectors of any matrices.",
            SQUARE,
            "eigenvalues [N, B...] and eigenvectors [N, N, B...], complex of the operand's precision; each owned and "
            "compact",
            CheckParams,
        ),
        Contract(
            "eigvals",
            "Eigenvalues of any matrices.",
            SQUARE,
            "[N, B...], complex of the operand's precision; owned, compact",
            CheckParams,
        ),
        Contract(
            "schur",
            "Schur decompositions A = z t zᴴ; of real matrices the real form.",
            SQUARE,
            "t [N, N, B...] upper triangular, of real matrices with diagonal blocks of 2, and unitary z [N, N, B...]; "
            "each owned and compact",
            CheckParams,
        ),
        Contract(
            "hessenberg",
            "Hessenberg decompositions A = q h qᴴ.",
            SQUARE,
            "h [N, N, B...], zero below its first subdiagonal, and unitary q [N, N, B...]; each owned and compact",
            CheckParams,
        ),
        Contract(
            "eigvalsh",
            "Eigenvalues of Hermitian matrices, of which the lower triangle is read.",
            SQUARE,
            "[N, B...], real and ascending; owned, compact",
            CheckParams,
        ),
        Contract(
            "cholesky",
            "Lower Cholesky factors of Hermitian positive definite matrices, of which the lower triangle is read.",
            SQUARE,
            f"[N, N, B...], zero above the diagonal; {OWNED}",
            CheckParams,
        ),
        Contract(
            "cholesky_status",
            "Which matrices cholesky refuses, as not positive definite.",
            SQUARE,
            STATUS,
        ),
    ]
)
KERNELS: Final = (*_KEEPING, *declare(overwriting(_KEEPING, "cholesky", "eigh", "lu_factor", "qr", "svd")))
