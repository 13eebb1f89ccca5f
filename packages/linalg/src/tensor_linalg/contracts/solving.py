"""Contracts of the kernels of solvers."""

from __future__ import annotations

from typing import Final, NamedTuple

from tensor_linalg.contracts.common import MATRICES, OWNED, SQUARE, STATUS, CheckParams, overwriting
from tensor_runtime.contracts.contract import Contract, declare
from tensor_runtime.contracts.linalg import KERNELS as SUBSTITUTING
from tensor_runtime.contracts.linalg import TriangularSolveParams


class BandedParams(NamedTuple):
    """Which diagonals are given, and what is looked for before anything is computed."""

    lower: int
    """Diagonals below the main one."""
    upper: int
    """Diagonals above the main one."""
    check: bool
    """Whether elements that are not finite are refused with ``NonFiniteError``."""


class HermitianBandParams(NamedTuple):
    """Which diagonals are given, and what is looked for before anything is computed."""

    lower: bool
    """Whether they are the main one and those below it; otherwise those above it, and the main one last."""
    check: bool
    """Whether elements that are not finite are refused with ``NonFiniteError``."""


class LstsqParams(NamedTuple):
    """Which singular values count, and what is looked for before anything is computed."""

    rtol: float
    """Those up to this times the largest one of the same matrix count as zero."""
    check: bool
    """Whether elements that are not finite are refused with ``NonFiniteError``."""


_KEEPING: Final = declare(
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
        Contract(
            "solve_status",
            "Which systems solve refuses, for a pivot that is exactly 0.",
            {**SQUARE, "b": "[N, M, B...] of such a dtype, batch axes that broadcast; or [N] for one matrix"},
            STATUS,
        ),
        Contract(
            "lstsq",
            "The x of smallest norm among those that minimise the norm of b - A x, by singular values.",
            {**MATRICES, "b": "[M, K, B...] of the same dtype, batch axes that broadcast"},
            "x [N, K, B...] of this dtype; [K, B...], real, the sums of |b - A x|² of each column; and with the batch "
            "axes of A, its rank, I64, and singular values [min(M, N), ...], real, descending; each owned and compact",
            LstsqParams,
        ),
        Contract("inv_status", "Which matrices inv refuses, for a pivot that is exactly 0.", SQUARE, STATUS),
        Contract(
            "solve_banded",
            "The x with A x = b of banded matrices; raises SingularMatrixError where a pivot is exactly 0.",
            {
                "ab": "[l + u + 1, N, B...], ab[u + i - j, j] = A[i, j]; F32, F64, C32 or C64, any layout",
                "b": "[N, M, B...] of such a dtype, batch axes that broadcast; or [N] for one matrix",
            },
            "of the promoted dtype, [N, M, B...] with the batch shapes broadcast, or [N]; owned, compact",
            BandedParams,
        ),
        Contract(
            "solve_toeplitz",
            "The x with T x = b of Toeplitz matrices; raises SingularMatrixError, if it checks, where a leading block "
            "is exactly singular.",
            {
                "diagonals": "[2N - 1, B...], diagonals[N - 1 + i - j] = T[i, j]; F32, F64, C32 or C64, any layout",
                "b": "[N, M, B...] of such a dtype, batch axes that broadcast; or [N] for one matrix",
            },
            "of the promoted dtype, [N, M, B...] with the batch shapes broadcast, or [N]; owned, compact",
            CheckParams,
        ),
        Contract(
            "solveh_banded",
            "The x with A x = b of banded Hermitian positive definite matrices; raises NotPositiveDefiniteError for "
            "others, of which it looks at real parts of the main diagonal.",
            {
                "ab": "[u + 1, N, B...], ab[i - j, j] = A[i, j] if lower, else ab[u + i - j, j] = A[i, j]; F32, F64, "
                "C32 or C64, any layout",
                "b": "[N, M, B...] of such a dtype, batch axes that broadcast; or [N] for one matrix",
            },
            "of the promoted dtype, [N, M, B...] with the batch shapes broadcast, or [N]; owned, compact",
            HermitianBandParams,
        ),
        Contract(
            "triangular_solve_checked",
            "X in op(A) X = B by substitution; raises NonFiniteError where an element that is read is not finite, and "
            "SingularMatrixError where the diagonal that is read has a zero.",
            {**SQUARE, "b": "[N, M, B...] of such a dtype, batch axes that broadcast; or [N] for one matrix"},
            "of the promoted dtype, [N, M, B...] with the batch shapes broadcast, or [N]; owned, compact",
            TriangularSolveParams,
        ),
    ]
)
_SUBSTITUTING: Final = declare(
    one._replace(
        kernel=f"{one.kernel}_overwriting",
        computes=f"As {one.kernel}; b may be changed, and be the memory of the result.",
    )
    for one in SUBSTITUTING
)
KERNELS: Final = (*_KEEPING, *declare(overwriting(_KEEPING, "inv", "solve")), *_SUBSTITUTING)
