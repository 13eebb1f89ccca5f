"""Numbers and matrices that are functions of a matrix."""

from __future__ import annotations

from tensor_linalg.functions.arrangements import block_diag, cross, diagonal, kron, trace, vander
from tensor_linalg.functions.determinants import SlogdetResult, det, slogdet
from tensor_linalg.functions.exponentials import cosm, expm, sinm
from tensor_linalg.functions.norms import cond, matrix_norm, norm, vector_norm
from tensor_linalg.functions.powers import matrix_power, multi_dot
from tensor_linalg.functions.ranks import matrix_rank, null_space, orth
from tensor_linalg.functions.roots import funm, logm, sqrtm

__all__ = [
    "SlogdetResult",
    "block_diag",
    "cond",
    "cosm",
    "cross",
    "det",
    "diagonal",
    "expm",
    "funm",
    "kron",
    "logm",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "multi_dot",
    "norm",
    "null_space",
    "orth",
    "sinm",
    "slogdet",
    "sqrtm",
    "trace",
    "vander",
    "vector_norm",
]
