"""Linear algebra for runtime tensors, matrix axes first and batch axes last: ``[M, N, B...]``.

``svd qr eigh cholesky svd_truncated split solve inv det`` take F32, F64, C32 (two F32) and C64 (two F64) on any
backend that binds them; ``matmul matvec vecdot outer mT mH`` take every dtype. Every error names the batch index of the
matrix that caused it; the classes live in ``tensor_runtime.errors`` and are offered here too.
"""

from __future__ import annotations

from tensor_linalg.decompositions import EighResult, QRResult, SVDResult, cholesky, eigh, qr, svd
from tensor_linalg.functions import det
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
    "EighResult",
    "LinalgError",
    "NonFiniteError",
    "NotConvergedError",
    "NotPositiveDefiniteError",
    "QRResult",
    "SVDResult",
    "SingularMatrixError",
    "SplitResult",
    "TruncatedSVDResult",
    "cholesky",
    "det",
    "eigh",
    "inv",
    "mH",
    "mT",
    "matmul",
    "matvec",
    "outer",
    "qr",
    "solve",
    "split",
    "svd",
    "svd_truncated",
    "vecdot",
]
