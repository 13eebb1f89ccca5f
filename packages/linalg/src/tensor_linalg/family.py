"""What the runtime knows of this family before it is loaded; this module is read alone, and imports nothing heavy."""

from __future__ import annotations

from typing import Final

_KERNELS: Final = ("cholesky", "det", "eigh", "inv", "qr", "slogdet", "solve", "solve_banded", "svd")
_COMPOSED: Final = (
    "batch_first",
    "batch_last",
    "block_diag",
    "cho_solve",
    "cond",
    "cosm",
    "cross",
    "diagonal",
    "expm",
    "funm",
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
    "sinm",
    "solve_toeplitz",
    "sqrtm",
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
    "kernels": _KERNELS,
    "specs": "tensor_linalg.specs",
    "cases": "tensor_linalg.testing.cases",
}
