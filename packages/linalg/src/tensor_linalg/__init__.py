"""Linear algebra for runtime tensors, matrix axes first and batch axes last: ``[M, N, B...]``.

``svd qr eigh cholesky solve inv det`` take F32, F64, C32 (two F32) and C64 (two F64) on any backend that binds
them; ``matmul matvec vecdot outer mT mH`` take every dtype. Every error names the batch index of the matrix that
caused it; the classes live in ``tensor_runtime.errors`` and are offered here too.
"""

from __future__ import annotations

from tensor_linalg.decompositions import EighResult, QRResult, SVDResult, cholesky, eigh, qr, svd
from tensor_linalg.functions import det
from tensor_linalg.products import matmul, matvec, mH, mT, outer, vecdot
from tensor_linalg.solving import (
    IllConditionedWarning,
    LstsqResult,
    cho_solve,
    inv,
    lstsq,
    pinv,
    solve,
    solve_banded,
    solve_toeplitz,
    tensorinv,
    tensorsolve,
    triangular_solve,
)
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
    "IllConditionedWarning",
    "LinalgError",
    "LstsqResult",
    "NonFiniteError",
    "NotConvergedError",
    "NotPositiveDefiniteError",
    "QRResult",
    "SVDResult",
    "SingularMatrixError",
    "cho_solve",
    "cholesky",
    "det",
    "eigh",
    "inv",
    "lstsq",
    "mH",
    "mT",
    "matmul",
    "matvec",
    "outer",
    "pinv",
    "qr",
    "solve",
    "solve_banded",
    "solve_toeplitz",
    "svd",
    "tensorinv",
    "tensorsolve",
    "triangular_solve",
    "vecdot",
]
