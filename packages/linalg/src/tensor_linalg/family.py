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
    "lstsq",
    "lu_factor",
    "qr",
    "qr_pivoted",
    "schur",
    "slogdet",
    "solve",
    "solve_banded",
    "solve_toeplitz",
    "svd",
    "svdvals",
)
_OPTIONS: Final = ("eigh_range", "lu_complete", "qr_complete", "svd_full", "triangular_solve_checked")
"""Kernels that options of operations ask for."""
_FAILING: Final = ("cholesky", "inv", "solve")
"""Operations that have a kernel which tells for which matrices they have no result."""
_OVERWRITING: Final = (*_FAILING, "eigh", "lu_factor", "qr", "svd", "triangular_solve")
"""Operations that have a kernel which may use the memory of its operands."""
_COMPOSED: Final = (
    "batch_first",
    "batch_last",
    "block_diag",
    "cg",
    "cho_solve",
    "cond",
    "cosm",
    "cross",
    "diagonal",
    "eigs",
    "eigsh",
    "expm",
    "expm_multiply",
    "funm",
    "gmres",
    "kron",
    "logm",
    "lq",
    "lsmr",
    "lu",
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
    "qr_append",
    "randomized_eigh",
    "randomized_svd",
    "rq",
    "sinm",
    "split",
    "sqrtm",
    "svd_truncated",
    "svds",
    "tensorinv",
    "tensorsolve",
    "trace",
    "triangular_solve",
    "vander",
    "vecdot",
    "vector_norm",
)

FAMILY: Final = {
    "id": "ironstride.linalg/1",
    "operations": {name: f"tensor_linalg:{name}" for name in (*_KERNELS, *_COMPOSED)},
    "kernels": (
        *_KERNELS,
        *_OPTIONS,
        *(f"{name}_status" for name in _FAILING),
        *(f"{name}_overwriting" for name in _OVERWRITING),
    ),
    "specs": "tensor_linalg.specs",
    "cases": "tensor_linalg.testing.cases",
    "autoray": "tensor_linalg.quimb_table:QUIMB",
}
