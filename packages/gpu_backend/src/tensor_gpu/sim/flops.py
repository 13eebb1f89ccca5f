"""How many operations on elements a call takes: nominal counts, by formulas, whatever the device does for it.

An addition, a multiplication or another function of an element counts as one, of complex numbers as of real ones, as
plans of ``tensor_einsum`` count them. Of decompositions the terms of highest order count, as in Golub and Van Loan,
Matrix Computations, 4th edition: Cholesky 4.2, LU 3.2, solutions 3.1, QR 5.2, the first columns of Q by 5.1.6,
singular values with thin factors 8.6 (the row of Golub and Reinsch), eigenvalues with vectors 8.3. Rotations of pairs
of columns count as these do, however many sweeps they take.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, Literal

from tensor_gpu.device.api import Launch, Solver

Kind = Literal["products", "solvers", "elements"]
"""What computes: products and sums of them; solvers and decompositions; functions and folds of elements."""


def _getrf(m: int, n: int) -> int:
    k, more = min(m, n), max(m, n)
    return more * k * k - k**3 // 3


def _geqrf(m: int, n: int) -> int:
    k, more = min(m, n), max(m, n)
    return 2 * k * k * more - 2 * k**3 // 3


def _orgqr(m: int, n: int, k: int) -> int:
    return 4 * m * n * k - 2 * (m + n) * k * k + 4 * k**3 // 3


def _gesvd(m: int, n: int) -> int:
    k, more = min(m, n), max(m, n)
    return 14 * more * k * k + 8 * k**3


_FORMULAS: Final[Mapping[str, Callable[..., int]]] = {
    "potrf": lambda n: n**3 // 3,
    "getrf": _getrf,
    "getrs": lambda n, k: 2 * n * n * k,
    "geqrf": _geqrf,
    "orgqr": _orgqr,
    "gesvd": _gesvd,
    "syev": lambda n: 9 * n**3,
    "trsm": lambda m, k: m * m * k,
}
"""From the sizes of a call, by what the names of routines begin with: drivers of one problem count alike."""
_OF_STACKS: Final[Mapping[str, tuple[int, Callable[..., int]]]] = {
    "cholesky": (1, _FORMULAS["potrf"]),
    "householder": (2, lambda m, n: _geqrf(m, n) + _orgqr(m, min(m, n), min(m, n))),
    "jacobi": (2, _gesvd),
    "lu": (2, _getrf),
    "lu_solve": (2, _FORMULAS["getrs"]),
}
"""Programs that take stacks: how many sizes come last of their arguments, before the number of matrices; from these."""
_PRODUCTS: Final = frozenset({"sum_of_products", "tiled_products"})


def of_solver(call: Solver, /) -> int:
    """Of one routine on every matrix of a stack.

    >>> from tensor_core import F64
    >>> of_solver(Solver("potrf", F64, (30,), (), 0, matrices=2))
    18000
    """
    formula = next(found for name, found in _FORMULAS.items() if call.routine.startswith(name))
    return formula(*call.sizes) * call.matrices


def of_launch(launch: Launch, /) -> tuple[Kind, int]:
    """What computes, and how many; none of what only moves elements, or compares indices.

    >>> from tensor_core import F64
    >>> from tensor_gpu.programs.householder import householder_program
    >>> of_launch(Launch(householder_program(F64), 1, 32, (0, 0, 6, 3, 10)))
    ('solvers', 1800)
    """
    program, arguments = launch.program, launch.arguments
    if program.entry in _OF_STACKS:
        sizes, formula = _OF_STACKS[program.entry]
        *given, count = (int(argument) for argument in arguments[-sizes - 1 :])
        return "solvers", formula(*given) * count
    counted = 0 if program.flops is None else program.flops(arguments)
    return "products" if program.entry in _PRODUCTS else "elements", counted
