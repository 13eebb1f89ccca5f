"""Linear algebra for runtime tensors, matrix axes first and batch axes last: ``[M, N, B...]``.

``svd qr eigh cholesky solve inv det`` take F32, F64, C32 (two F32) and C64 (two F64) on any backend that binds
them; ``matmul matvec vecdot outer mT mH`` take every dtype. Every error names the batch index of the matrix that
caused it; the classes live in ``tensor_runtime.errors`` and are offered here too.
"""

from __future__ import annotations

from tensor_linalg.bridges import batch_first, batch_last
from tensor_linalg.decompositions import EighResult, QRResult, SVDResult, cholesky, eigh, qr, svd
from tensor_linalg.decompositions.eigh import MaskedEighResult
from tensor_linalg.decompositions.qr import MaskedQRResult
from tensor_linalg.decompositions.svd import MaskedSVDResult
from tensor_linalg.functions import (
    SlogdetResult,
    block_diag,
    cond,
    cosm,
    cross,
    det,
    diagonal,
    expm,
    funm,
    kron,
    logm,
    matrix_norm,
    matrix_power,
    matrix_rank,
    multi_dot,
    norm,
    null_space,
    orth,
    sinm,
    slogdet,
    sqrtm,
    trace,
    vander,
    vector_norm,
)
from tensor_linalg.masking import MaskedResult
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
    "MaskedEighResult",
    "MaskedQRResult",
    "MaskedResult",
    "MaskedSVDResult",
    "NonFiniteError",
    "NotConvergedError",
    "NotPositiveDefiniteError",
    "QRResult",
    "SVDResult",
    "SingularMatrixError",
    "SlogdetResult",
    "batch_first",
    "batch_last",
    "block_diag",
    "cho_solve",
    "cholesky",
    "cond",
    "cosm",
    "cross",
    "det",
    "diagonal",
    "eigh",
    "expm",
    "funm",
    "inv",
    "kron",
    "logm",
    "lstsq",
    "mH",
    "mT",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matvec",
    "multi_dot",
    "norm",
    "null_space",
    "orth",
    "outer",
    "pinv",
    "qr",
    "sinm",
    "slogdet",
    "solve",
    "solve_banded",
    "solve_toeplitz",
    "sqrtm",
    "svd",
    "tensorinv",
    "tensorsolve",
    "trace",
    "triangular_solve",
    "vander",
    "vecdot",
    "vector_norm",
]
