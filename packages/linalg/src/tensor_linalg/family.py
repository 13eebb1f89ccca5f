"""What the runtime knows of this family before it is loaded; this module is read alone, and imports nothing heavy."""

from __future__ import annotations

from typing import Final

_KERNELS: Final = ("cholesky", "det", "eigh", "inv", "qr", "solve", "solve_banded", "svd")
_COMPOSED: Final = (
    "cho_solve",
    "lstsq",
    "mH",
    "mT",
    "matmul",
    "matvec",
    "outer",
    "pinv",
    "solve_toeplitz",
    "tensorinv",
    "tensorsolve",
    "triangular_solve",
    "vecdot",
)

FAMILY: Final = {
    "id": "ironstride.linalg/1",
    "operations": {name: f"tensor_linalg:{name}" for name in (*_KERNELS, *_COMPOSED)},
    "kernels": _KERNELS,
    "specs": "tensor_linalg.specs",
    "cases": "tensor_linalg.testing.cases",
}
