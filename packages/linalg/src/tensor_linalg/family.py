"""What the runtime knows of this family before it is loaded; this module is read alone, and imports nothing heavy."""

from __future__ import annotations

from typing import Final

_KERNELS: Final = ("cholesky", "det", "eigh", "inv", "qr", "solve", "svd")
_COMPOSED: Final = (
    "cg",
    "eigsh",
    "expm_multiply",
    "gmres",
    "lsmr",
    "mH",
    "mT",
    "matmul",
    "matvec",
    "minres",
    "outer",
    "split",
    "svd_truncated",
    "svds",
    "vecdot",
)

FAMILY: Final = {
    "id": "ironstride.linalg/1",
    "operations": {name: f"tensor_linalg:{name}" for name in (*_KERNELS, *_COMPOSED)},
    "kernels": _KERNELS,
    "specs": "tensor_linalg.specs",
    "cases": "tensor_linalg.testing.cases",
}
