"""Matrix decompositions over trailing batch axes.

A tensor ``[M, N, B...]`` is one M x N matrix for every batch index; the result for a batch is the result for each
matrix. Operands may be any view (transposed, reversed, strided, broadcast) and are never written to; results are
owned, compact and column-major.

Dtypes are F32, F64, C32 (two F32) and C64 (two F64). Each function first checks that its operands are finite, which
reads one status word back from the device; ``check=False`` skips that, and then NaN or an infinity may hang LAPACK or
give numbers that mean nothing.

Signs and phases (the *gauge*) are whatever the method gives, unless an option fixes them: they may differ between
backends, sizes, thread counts and versions, and are not continuous in the input. Only what the docstrings promise may
be relied on.
"""

from __future__ import annotations

from tensor_linalg.decompositions.cholesky import cholesky
from tensor_linalg.decompositions.eig import EigResult, eig, eigvals
from tensor_linalg.decompositions.eigh import EighResult, eigh, eigvalsh
from tensor_linalg.decompositions.ldl import LDLResult, ldl
from tensor_linalg.decompositions.lu import CompleteLUResult, LUFactors, LUResult, lu, lu_factor
from tensor_linalg.decompositions.qr import QRResult, qr
from tensor_linalg.decompositions.qr_columns import PivotedQRResult, qr_append, qr_pivoted
from tensor_linalg.decompositions.randomized import randomized_eigh, randomized_svd
from tensor_linalg.decompositions.rq import LQResult, QLResult, RQResult, lq, ql, rq
from tensor_linalg.decompositions.schur import HessenbergResult, SchurResult, hessenberg, schur
from tensor_linalg.decompositions.svd import PolarResult, SVDResult, polar, svd, svdvals

__all__ = [
    "CompleteLUResult",
    "EigResult",
    "EighResult",
    "HessenbergResult",
    "LDLResult",
    "LQResult",
    "LUFactors",
    "LUResult",
    "PivotedQRResult",
    "PolarResult",
    "QLResult",
    "QRResult",
    "RQResult",
    "SVDResult",
    "SchurResult",
    "cholesky",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "hessenberg",
    "ldl",
    "lq",
    "lu",
    "lu_factor",
    "polar",
    "ql",
    "qr",
    "qr_append",
    "qr_pivoted",
    "randomized_eigh",
    "randomized_svd",
    "rq",
    "schur",
    "svd",
    "svdvals",
]
