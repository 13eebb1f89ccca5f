"""What the runtime knows of this family before it is loaded; this module is read alone, and imports nothing heavy."""

from __future__ import annotations

from typing import Final

_KERNELS: Final = (
    "cholesky",
    "det",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "hessenberg",
    "inv",
    "ldl",
    "lu_factor",
    "qr",
    "qr_pivoted",
    "schur",
    "solve",
    "svd",
    "svdvals",
)
_OPTIONS: Final = ("lu_complete", "qr_complete", "svd_full")
"""Kernels that options of operations ask for."""
_COMPOSED: Final = (
    "cg",
    "eigs",
    "eigsh",
    "expm_multiply",
    "gmres",
    "lq",
    "lsmr",
    "lu",
    "lu_solve",
    "mH",
    "mT",
    "matmul",
    "matvec",
    "minres",
    "outer",
    "polar",
    "ql",
    "qr_append",
    "randomized_eigh",
    "randomized_svd",
    "rq",
    "split",
    "svd_truncated",
    "svds",
    "vecdot",
)

FAMILY: Final = {
    "id": "ironstride.linalg/1",
    "operations": {name: f"tensor_linalg:{name}" for name in (*_KERNELS, *_COMPOSED)},
    "kernels": (*_KERNELS, *_OPTIONS),
    "specs": "tensor_linalg.specs",
    "cases": "tensor_linalg.testing.cases",
}
