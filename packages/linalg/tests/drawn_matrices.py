"""Matrices for tests of iterative methods."""

from __future__ import annotations

from typing import Final

import tensor_linalg as tl
import tensor_runtime as tr

DTYPES: Final = (tr.F32, tr.F64, tr.C32, tr.C64)


def matrix(kind: str, n: int, dtype: tr.DType, seed: int = 1) -> tr.Tensor:
    """Positive definite, Hermitian indefinite, or general, none of them close to singular."""
    g = tr.normal((n, n), seed=seed, dtype=dtype)
    if kind == "definite":
        return tl.matmul(g, tl.mH(g)) / n + tr.eye(n, dtype=dtype)
    if kind == "indefinite":
        sign = tr.tensor([(-1.0) ** k for k in range(n)], dtype=dtype)
        return (g + tl.mH(g)) * 0.05 + tr.embed_diagonal(sign)
    return g * 0.1 + tr.eye(n, dtype=dtype) * 2.0
