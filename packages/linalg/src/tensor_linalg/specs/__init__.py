"""What each operation of the family accepts and the shapes it gives, by the rooms of its functions; no data."""

from __future__ import annotations

from tensor_linalg import contracts as contracts  # declares them before anything is bound
from tensor_linalg.specs.decompositions import (
    CHOLESKY,
    EIG,
    EIGH,
    EIGH_RANGE,
    EIGVALS,
    EIGVALSH,
    HESSENBERG,
    LDL,
    LU_COMPLETE,
    LU_FACTOR,
    QR,
    QR_COMPLETE,
    QR_PIVOTED,
    SCHUR,
    SVD,
    SVD_FULL,
    SVDVALS,
)
from tensor_linalg.specs.functions import DET, EXPM, SLOGDET, SQRTM_ITERATED
from tensor_linalg.specs.overwriting import (
    CHOLESKY_OVERWRITING,
    EIGH_OVERWRITING,
    INV_OVERWRITING,
    LU_FACTOR_OVERWRITING,
    QR_OVERWRITING,
    SOLVE_OVERWRITING,
    SVD_OVERWRITING,
    TRIANGULAR_SOLVE_OVERWRITING,
)
from tensor_linalg.specs.solving import INV, LSTSQ, SOLVE, SOLVE_BANDED, SOLVE_TOEPLITZ, TRIANGULAR_SOLVE_CHECKED
from tensor_linalg.specs.status import CHOLESKY_STATUS, INV_STATUS, SOLVE_STATUS

__all__ = [
    "CHOLESKY",
    "CHOLESKY_OVERWRITING",
    "CHOLESKY_STATUS",
    "DET",
    "EIG",
    "EIGH",
    "EIGH_OVERWRITING",
    "EIGH_RANGE",
    "EIGVALS",
    "EIGVALSH",
    "EXPM",
    "HESSENBERG",
    "INV",
    "INV_OVERWRITING",
    "INV_STATUS",
    "LDL",
    "LSTSQ",
    "LU_COMPLETE",
    "LU_FACTOR",
    "LU_FACTOR_OVERWRITING",
    "QR",
    "QR_OVERWRITING",
    "QR_COMPLETE",
    "QR_PIVOTED",
    "SCHUR",
    "SLOGDET",
    "SQRTM_ITERATED",
    "SOLVE",
    "SOLVE_OVERWRITING",
    "SOLVE_BANDED",
    "SOLVE_STATUS",
    "SOLVE_TOEPLITZ",
    "SVD",
    "SVD_OVERWRITING",
    "SVDVALS",
    "SVD_FULL",
    "TRIANGULAR_SOLVE_CHECKED",
    "TRIANGULAR_SOLVE_OVERWRITING",
]
