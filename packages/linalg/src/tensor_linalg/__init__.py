"""Linear algebra for runtime tensors, matrix axes first and batch axes last: ``[M, N, B...]``.

Decompositions, solvers and functions take F32, F64, C32 (two F32) and C64 (two F64) on any backend that binds them;
``cg minres gmres lsmr eigsh eigs svds expm_multiply`` take a function of yours as well. ``matmul matvec vecdot outer mT
mH`` take every dtype. Every error names the batch index of the matrix that caused it; the classes live in
``tensor_runtime.errors`` and are offered here too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING as _TYPE_CHECKING

import tensor_runtime as _tensor_runtime  # noqa: F401  # before its modules: threads wait in one order then
from tensor_linalg.bridges import (
    batch_first,
    batch_last,
)
from tensor_linalg.decompositions import (
    CompleteLUResult,
    EighResult,
    EigResult,
    HessenbergResult,
    LDLResult,
    LQResult,
    LUFactors,
    LUResult,
    PivotedQRResult,
    PolarResult,
    QLResult,
    QRResult,
    RQResult,
    SchurResult,
    SVDResult,
    cholesky,
    eig,
    eigh,
    eigvals,
    eigvalsh,
    hessenberg,
    ldl,
    lq,
    lu,
    lu_factor,
    polar,
    ql,
    qr,
    qr_append,
    qr_pivoted,
    randomized_eigh,
    randomized_svd,
    rq,
    schur,
    svd,
    svdvals,
)
from tensor_linalg.decompositions.eigh import (
    MaskedEighResult,
)
from tensor_linalg.decompositions.qr import (
    MaskedQRResult,
)
from tensor_linalg.decompositions.svd import (
    MaskedSVDResult,
)
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
from tensor_linalg.iterative import (
    EigenResult,
    ExponentialResult,
    Progress,
    SingularResult,
    SolverResult,
    cg,
    eigs,
    eigsh,
    expm_multiply,
    gmres,
    lsmr,
    minres,
    svds,
)
from tensor_linalg.masking import (
    MaskedResult,
)
from tensor_linalg.networks import (
    SplitResult,
    TruncatedSVDResult,
    split,
    svd_truncated,
)
from tensor_linalg.products import (
    matmul,
    matvec,
    mH,
    mT,
    outer,
    vecdot,
)
from tensor_linalg.solving import (
    IllConditionedWarning,
    LstsqResult,
    cho_solve,
    inv,
    lstsq,
    lu_solve,
    pinv,
    solve,
    solve_banded,
    solve_toeplitz,
    tensorinv,
    tensorsolve,
    triangular_solve,
)
from tensor_linalg.version import (
    __version__ as __version__,
)
from tensor_runtime.errors import (
    LinalgError,
    NonFiniteError,
    NotConvergedError,
    NotPositiveDefiniteError,
    SingularMatrixError,
)
from tensor_runtime.ops.numpy_names import missing_in_family as _missing_in_family

__all__ = [
    "CompleteLUResult",
    "EigResult",
    "EigenResult",
    "EighResult",
    "ExponentialResult",
    "HessenbergResult",
    "IllConditionedWarning",
    "LDLResult",
    "LQResult",
    "LUFactors",
    "LUResult",
    "LinalgError",
    "LstsqResult",
    "MaskedEighResult",
    "MaskedQRResult",
    "MaskedResult",
    "MaskedSVDResult",
    "NonFiniteError",
    "NotConvergedError",
    "NotPositiveDefiniteError",
    "PivotedQRResult",
    "PolarResult",
    "Progress",
    "QLResult",
    "QRResult",
    "RQResult",
    "SVDResult",
    "SchurResult",
    "SingularMatrixError",
    "SingularResult",
    "SlogdetResult",
    "SolverResult",
    "SplitResult",
    "TruncatedSVDResult",
    "batch_first",
    "batch_last",
    "block_diag",
    "cg",
    "cho_solve",
    "cholesky",
    "cond",
    "cosm",
    "cross",
    "det",
    "diagonal",
    "eig",
    "eigh",
    "eigs",
    "eigsh",
    "eigvals",
    "eigvalsh",
    "expm",
    "expm_multiply",
    "funm",
    "gmres",
    "hessenberg",
    "inv",
    "kron",
    "ldl",
    "logm",
    "lq",
    "lsmr",
    "lstsq",
    "lu",
    "lu_factor",
    "lu_solve",
    "mH",
    "mT",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matvec",
    "minres",
    "multi_dot",
    "norm",
    "null_space",
    "orth",
    "outer",
    "pinv",
    "polar",
    "ql",
    "qr",
    "qr_append",
    "qr_pivoted",
    "randomized_eigh",
    "randomized_svd",
    "rq",
    "schur",
    "sinm",
    "slogdet",
    "solve",
    "solve_banded",
    "solve_toeplitz",
    "split",
    "sqrtm",
    "svd",
    "svd_truncated",
    "svds",
    "svdvals",
    "tensorinv",
    "tensorsolve",
    "trace",
    "triangular_solve",
    "vander",
    "vecdot",
    "vector_norm",
]


def __dir__() -> list[str]:
    """The public names: modules and helpers are none."""
    return sorted((*__all__, "__version__"))


if not _TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        _missing_in_family("tensor_linalg", name)
