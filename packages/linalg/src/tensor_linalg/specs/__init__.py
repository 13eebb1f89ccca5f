"""What each operation of the family accepts and the shapes it gives, by the rooms of its functions; no data."""

from __future__ import annotations

from tensor_linalg import contracts as contracts  # declares them before anything is bound
from tensor_linalg.specs.decompositions import (
    CHOLESKY,
    EIG,
    EIGH,
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
from tensor_linalg.specs.functions import DET, SLOGDET
from tensor_linalg.specs.solving import INV, SOLVE, SOLVE_BANDED
from tensor_linalg.specs.status import CHOLESKY_STATUS, INV_STATUS, SOLVE_STATUS

__all__ = [
    "CHOLESKY",
    "CHOLESKY_STATUS",
    "DET",
    "EIG",
    "EIGH",
    "EIGVALS",
    "EIGVALSH",
    "HESSENBERG",
    "INV",
    "INV_STATUS",
    "LDL",
    "LU_COMPLETE",
    "LU_FACTOR",
    "QR",
    "QR_COMPLETE",
    "QR_PIVOTED",
    "SCHUR",
    "SLOGDET",
    "SOLVE",
    "SOLVE_BANDED",
    "SOLVE_STATUS",
    "SVD",
    "SVDVALS",
    "SVD_FULL",
]
