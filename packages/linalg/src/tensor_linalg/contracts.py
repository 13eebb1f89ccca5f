"""Contracts of the family's kernels, as ``tensor_runtime.contracts`` has those of the runtime.

Matrix axes come first, batch axes last: [M, N, B...]; K is the smaller of M and N. What the results guarantee stands
with the public function of the same name. A kernel names the batch index of the matrix in every error that it raises.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from tensor_runtime.contracts.contract import Contract, declare


class CheckParams(NamedTuple):
    """What is looked for before anything is computed."""

    check: bool
    """Whether elements that are not finite are refused with ``NonFiniteError``."""


_A = {"a": "[M, N, B...], F32, F64, C32 or C64, any layout"}
_SQUARE = {"a": "[N, N, B...], F32, F64, C32 or C64, any layout"}
_OWNED = "owned, compact, of the operand's dtype"

KERNELS: Final = declare(
    [
        Contract(
            "svd",
            "Thin singular value decompositions, A = u diag(s) vh.",
            _A,
            "u [M, K, B...], s [K, B...] real and descending, vh [K, N, B...]; each owned and compact",
            CheckParams,
        ),
        Contract(
            "qr",
            "Thin QR decompositions, A = q r.",
            _A,
            "q [M, K, B...] and r [K, N, B...]; each owned and compact",
            CheckParams,
        ),
        Contract(
            "eigh",
            "Eigenvalues and eigenvectors of Hermitian matrices, of which the lower triangle is read.",
            _SQUARE,
            "eigenvalues [N, B...] real and ascending, eigenvectors [N, N, B...]; each owned and compact",
            CheckParams,
        ),
        Contract(
            "cholesky",
            "Lower Cholesky factors of Hermitian positive definite matrices, of which the lower triangle is read.",
            _SQUARE,
            f"[N, N, B...], zero above the diagonal; {_OWNED}",
            CheckParams,
        ),
        Contract(
            "solve",
            "The x with A x = b; raises SingularMatrixError where a pivot is exactly 0.",
            {**_SQUARE, "b": "[N, M, B...] of such a dtype, batch axes that broadcast; or [N] for one matrix"},
            "of the promoted dtype, [N, M, B...] with the batch shapes broadcast, or [N]; owned, compact",
            CheckParams,
        ),
        Contract(
            "inv",
            "Inverses; raises SingularMatrixError where a pivot is exactly 0.",
            _SQUARE,
            f"[N, N, B...]; {_OWNED}",
            CheckParams,
        ),
        Contract("det", "Determinants, exactly 0 where a pivot is.", _SQUARE, f"[B...]; {_OWNED}", CheckParams),
    ]
)
"""The contracts of this family, in the order of ``docs/kernels.md``."""
