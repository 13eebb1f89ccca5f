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
    ]
)
