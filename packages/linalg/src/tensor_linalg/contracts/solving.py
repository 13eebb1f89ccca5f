"""Contracts of the kernels of solvers."""

from __future__ import annotations

from typing import Final

from tensor_linalg.contracts.common import OWNED, SQUARE, CheckParams
from tensor_runtime.contracts.contract import Contract, declare

KERNELS: Final = declare(
    [
        Contract(
            "solve",
            "The x with A x = b; raises SingularMatrixError where a pivot is exactly 0.",
            {**SQUARE, "b": "[N, M, B...] of such a dtype, batch axes that broadcast; or [N] for one matrix"},
            "of the promoted dtype, [N, M, B...] with the batch shapes broadcast, or [N]; owned, compact",
            CheckParams,
        ),
        Contract(
            "inv",
            "Inverses; raises SingularMatrixError where a pivot is exactly 0.",
            SQUARE,
            f"[N, N, B...]; {OWNED}",
            CheckParams,
        ),
    ]
)
