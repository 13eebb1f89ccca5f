"""Linear algebra for runtime tensors, matrix axes first and batch axes last: ``[M, N, B...]``.

``svd qr eigh cholesky svd_truncated split solve inv det`` take F32, F64, C32 (two F32) and C64 (two F64) on any
backend that binds them, ``cg minres gmres lsmr eigsh svds expm_multiply`` a function of yours as well; ``matmul matvec
vecdot outer mT mH`` take every dtype. Every error names the batch index of the matrix that caused it; the classes live
in ``tensor_runtime.errors`` and are offered here too.
"""

from __future__ import annotations

from tensor_linalg.decompositions import EighResult, QRResult, SVDResult, cholesky, eigh, qr, svd
from tensor_linalg.functions import det
from tensor_linalg.iterative import (
    EigenResult,
    ExponentialResult,
    Progress,
    SingularResult,
    SolverResult,
    cg,
    eigsh,
    expm_multiply,
    gmres,
    lsmr,
    minres,
    svds,
)
from tensor_linalg.networks import SplitResult, TruncatedSVDResult, split, svd_truncated
from tensor_linalg.products import matmul, matvec, mH, mT, outer, vecdot
from tensor_linalg.solving import inv, solve
from tensor_linalg.version import __version__ as __version__
from tensor_runtime.errors import (
    LinalgError,
    NonFiniteError,
    NotConvergedError,
    NotPositiveDefiniteError,
    SingularMatrixError,
)

__all__ = [
    "EigenResult",
    "EighResult",
    "ExponentialResult",
    "LinalgError",
    "NonFiniteError",
    "NotConvergedError",
    "NotPositiveDefiniteError",
    "Progress",
    "QRResult",
    "SVDResult",
    "SingularMatrixError",
    "SingularResult",
    "SolverResult",
    "SplitResult",
    "TruncatedSVDResult",
    "cg",
    "cholesky",
    "det",
    "eigh",
    "eigsh",
    "expm_multiply",
    "gmres",
    "inv",
    "lsmr",
    "mH",
    "mT",
    "matmul",
    "matvec",
    "minres",
    "outer",
    "qr",
    "solve",
    "split",
    "svd",
    "svd_truncated",
    "svds",
    "vecdot",
]
