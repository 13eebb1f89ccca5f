"""Contracts of the kernels of functions of matrices."""

from __future__ import annotations

from typing import Final

from tensor_linalg.contracts.common import OWNED, SQUARE, CheckParams
from tensor_runtime.contracts.contract import Contract, declare

KERNELS: Final = declare(
    [
        Contract("det", "Determinants, exactly 0 where a pivot is.", SQUARE, f"[B...]; {OWNED}", CheckParams),
        Contract(
            "slogdet",
            "Signs of determinants, exactly 0 where a pivot is, and logarithms of their sizes.",
            SQUARE,
            "sign [B...], and logabsdet [B...] real; each owned and compact",
            CheckParams,
        ),
        Contract("expm", "Exponentials.", SQUARE, f"[N, N, B...]; {OWNED}", CheckParams),
        Contract(
            "sqrtm_iterated",
            "Principal square roots, where an iteration finds them.",
            SQUARE,
            f"[N, N, B...], {OWNED}; and I32 [B...], 0 where the square of the root is the matrix to nearly all "
            "digits, 2 where the root may be anything",
            CheckParams,
        ),
    ]
)
