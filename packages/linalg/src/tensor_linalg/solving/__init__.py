"""Linear systems, and what is had by solving some."""

from __future__ import annotations

from tensor_linalg.solving.banded import solve_banded, solveh_banded
from tensor_linalg.solving.condition import IllConditionedWarning
from tensor_linalg.solving.factored import lu_solve
from tensor_linalg.solving.inverses import inv
from tensor_linalg.solving.least_squares import LstsqResult, lstsq, pinv
from tensor_linalg.solving.systems import solve
from tensor_linalg.solving.tensors import tensorinv, tensorsolve
from tensor_linalg.solving.toeplitz import solve_toeplitz
from tensor_linalg.solving.triangular import cho_solve, triangular_solve

__all__ = [
    "IllConditionedWarning",
    "LstsqResult",
    "cho_solve",
    "inv",
    "lstsq",
    "lu_solve",
    "pinv",
    "solve",
    "solve_banded",
    "solve_toeplitz",
    "solveh_banded",
    "tensorinv",
    "tensorsolve",
    "triangular_solve",
]
