"""Eigenvalues and eigenvectors of one Hermitian matrix by methods that NumPy lacks.

They are QR iteration, relatively robust representations, and Jacobi's rotations for any size.

Arrays are those of ``tensor_cpu.kernels.linalg.factors``: the matrix, which may be destroyed and of which the lower
triangle is read, its eigenvalues, and its eigenvectors as a transposed array.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

import numpy as np

from tensor_cpu.kernels.linalg.limits.powers import scale_away_from_limits, scaled
from tensor_cpu.storage import Array
from tensor_cpu.system import lapack

_SWEEPS: Final = 60
"""After so many, rotations have not converged: ten are many."""
_SMALLEST: Final = 2.0**-900
"""What is smaller than this part of the largest element is zero."""


def elements(rows: int, columns: int) -> int:
    """Of the largest array.

    >>> elements(2, 2)
    188
    """
    return 2 * rows * columns + 90 * rows


def ev(a: Array, values: Array, vectors: Array) -> int:
    """By reduction to a tridiagonal matrix and QR iteration.

    >>> values, vectors = np.empty(2), np.empty((2, 2))
    >>> ev(np.array([[2.0, 0.0], [0.0, 1.0]]), values, vectors), values.tolist()
    (0, [1.0, 2.0])
    """
    size, power = len(a), _prepared(a)
    is_complex = a.dtype.kind == "c"
    rest = (np.empty(3 * size),) if is_complex else ()
    work = np.empty(66 * size, a.dtype)
    info = lapack.call("zheev" if is_complex else "dsyev", "V", "L", size, a, size, values, work, len(work), *rest)
    vectors[...] = a
    values[...] = scaled(values, power)
    return info


def evr(a: Array, values: Array, vectors: Array) -> int:
    """By reduction to a tridiagonal matrix and relatively robust representations.

    >>> values, vectors = np.empty(2), np.empty((2, 2))
    >>> evr(np.array([[2.0, 0.0], [0.0, 1.0]]), values, vectors), values.tolist()
    (0, [1.0, 2.0])
    """
    size, power = len(a), _prepared(a)
    found, support, indices = lapack.integers(1), lapack.integers(2 * size), lapack.integers(10 * size)
    given = ("V", "A", "L", size, a, size, 0.0, 0.0, 0, 0, 0.0, found, values, vectors, size, support)
    work = np.empty(90 * size, a.dtype)
    if a.dtype.kind == "c":
        reals = np.empty(24 * size)
        info = lapack.call("zheevr", *given, work, len(work), reals, len(reals), indices, len(indices))
    else:
        info = lapack.call("dsyevr", *given, work, len(work), indices, len(indices))
    values[...] = scaled(values, power)
    return info or int(found[0] != size)


def jacobi(a: Array, values: Array, vectors: Array) -> int:
    """By rotations of pairs of rows and columns, as many at once as have none in common, until none is needed.

    A pair is rotated as long as its element is more than a rounding unit of the root of the product of both diagonal
    ones, so that small eigenvalues of definite matrices are found to as many digits as the matrix determines: J. Demmel
    and K. Veselić, SIAM J. Matrix Anal. Appl. 13, 1204 (1992).

    >>> values, vectors = np.empty(2), np.empty((2, 2))
    >>> jacobi(np.array([[2.0, 1.0], [1.0, 2.0]]), values, vectors), values.round(12).tolist()
    (0, [1.0, 3.0])
    """
    power = _prepared(a)
    h, size = a.T.copy(), len(a)
    least = _SMALLEST * float(np.abs(h).max())
    v: Array = np.eye(size, dtype=a.dtype)
    for _ in range(_SWEEPS):
        if not sum(_rotated(h, v, p, q, least) for p, q in _rounds(size)):
            break
    else:
        return 1
    diagonal = h.diagonal().real
    order = np.argsort(diagonal, kind="stable")
    values[...] = scaled(diagonal[order], power)
    vectors[...] = v.T[order]
    return 0


def _prepared(a: Array) -> int:
    """Make the matrix Hermitian by its lower triangle, and no element near the limits; the power that takes it back."""
    lower = np.tril(a.T, -1)
    a.T[...] = lower + lower.conj().T + np.diag(a.diagonal().real)
    return scale_away_from_limits(a)


@lru_cache(maxsize=64)
def _rounds(size: int) -> tuple[tuple[Any, Any], ...]:
    """Every pair of so many rows once, in rounds of pairs that have no row in common."""
    seats = list(range(size + size % 2))
    rounds = []
    for _ in range(len(seats) - 1):
        half = len(seats) // 2
        pairs = [sorted(pair) for pair in zip(seats[:half], seats[: half - 1 : -1], strict=True) if max(pair) < size]
        rounds.append((np.array([p for p, _ in pairs], int), np.array([q for _, q in pairs], int)))
        seats = [seats[0], seats[-1], *seats[1:-1]]
    return tuple(rounds)


def _rotated(h: Array, v: Array, p: Array, q: Array, least: float) -> bool:
    """Make the elements of these pairs zero; whether any was not as good as that."""
    beside = h[p, q]
    sizes = np.abs(beside)
    first, second = h[p, p].real, h[q, q].real
    needed = (sizes > 2.0**-53 * np.sqrt(np.abs(first)) * np.sqrt(np.abs(second))) & (sizes > least)
    if not needed.any():
        return False
    p, q, beside, sizes, first, second = (x[needed] for x in (p, q, beside, sizes, first, second))
    theta = (second - first) / (2 * sizes)
    t = np.copysign(1.0, theta) / (np.abs(theta) + np.hypot(theta, 1.0))
    c = 1 / np.hypot(t, 1.0)
    s, turn = t * c, (beside / sizes).conj()
    for x in (h, v):
        left, right = x[:, p], x[:, q] * turn
        x[:, p], x[:, q] = c * left - s * right, s * left + c * right
    above, below = h[p], h[q] * turn.conj()[:, None]
    h[p], h[q] = c[:, None] * above - s[:, None] * below, s[:, None] * above + c[:, None] * below
    h[p, q] = h[q, p] = 0.0
    h[p, p], h[q, q] = first - t * sizes, second + t * sizes
    return True
