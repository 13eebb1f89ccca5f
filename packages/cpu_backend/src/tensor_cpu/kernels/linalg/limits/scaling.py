"""Decompositions and solutions of matrices that have been scaled by powers of two where they lie near the limits.

Each takes the function that computes, of a stack of transposed matrices.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from tensor_cpu.kernels.linalg.limits.powers import (
    NOTHING,
    excess,
    exponents,
    minute_powers,
    powers_of,
    scaled,
    side_powers,
    whole_powers,
)
from tensor_cpu.storage import Array

Compute = Callable[..., tuple[Array, ...]]

_TINY: Final = -300  # the exponent below which eigenvectors may not have norm 1
_LN2: Final = 0.6931471805599453


def safe_inv(compute: Compute, a: Array) -> tuple[Array, ...]:
    """Inverses by a function, of matrices whose rows and columns have been scaled where that is needed.

    >>> safe_inv(lambda a: (np.linalg.inv(a),), np.array([[2.0**-1022, 0.0], [0.0, 2.0**1000]]))[0].tolist()
    [[4.49423283715579e+307, 0.0], [0.0, 9.332636185032189e-302]]
    """
    found = _balanced(a)
    if found is None:
        return compute(a)
    balanced, rows, columns = found
    return (scaled(compute(balanced)[0], -rows[..., :, None] - columns[..., None, :]),)


def safe_eig(compute: Compute, a: Array) -> tuple[Array, ...]:
    """Eigenvalues, and vectors, by a function, of matrices that have been enlarged where they are tiny.

    LAPACK's xGEEV enlarges them less, and makes eigenvectors of any norm where squares of what rounding leaves vanish.

    >>> safe_eig(lambda a: (np.linalg.eigvals(a),), np.array([[2.0**-1040]]))[0].tolist() == [2.0**-1040]
    True
    """
    powers = minute_powers(a, _TINY) if a.size else None
    if powers is None:
        return compute(a)
    values, *vectors = compute(scaled(a, -powers))
    return (scaled(values, powers[..., 0]), *vectors)


def safe_qr(compute: Compute, a: Array) -> tuple[Array, ...]:
    """Factors by a function, of matrices that have been scaled where they lie near the limits.

    LAPACK's reflectors take the sum of an element and the norm of its column, which may be beyond the range.

    >>> q, r = safe_qr(lambda a: tuple(np.linalg.qr(a)), np.array([[2.0**1023, 0.0], [2.0, 1.0]]))
    >>> r[0, 0] == -(2.0**1023), bool(np.isfinite(q).all())
    (np.True_, True)
    """
    powers = powers_of(a) if a.size else None
    if powers is None or not powers.any():
        return compute(a)
    q, r = compute(scaled(a, -powers))
    return q, scaled(r, powers)


def safe_det(compute: Compute, a: Array) -> tuple[Array, ...]:
    """Determinants, as :func:`safe_inv`; where they are beyond the range then, of matrices whose rows are all near 1.

    >>> (safe_det(lambda a: (np.linalg.det(a),), np.diag([2.0**-1040, 2.0**1000]))[0] * 2.0**40).round(9).item()
    1.0
    """
    found = _balanced(a)
    if found is None:
        return compute(a)
    balanced, rows, columns = found
    determinants = compute(balanced)[0]
    again = ~np.isfinite(determinants) & (rows.any(axis=-1) | columns.any(axis=-1))
    if again.any():
        of_rows = exponents(balanced).max(axis=-2)
        of_rows = np.where(again[..., None] & (of_rows != NOTHING), of_rows, 0)
        nearer = compute(scaled(balanced, -of_rows[..., None, :]))[0]
        determinants, rows = np.where(again, nearer, determinants), rows + of_rows
    return (scaled(determinants, rows.sum(axis=-1) + columns.sum(axis=-1)),)


def safe_slogdet(compute: Compute, a: Array) -> tuple[Array, ...]:
    """Signs and logarithms of determinants, as :func:`safe_inv`.

    >>> float(safe_slogdet(lambda a: tuple(np.linalg.slogdet(a)), np.array([[2.0**-1040]]))[1].round(9))
    -720.873067782
    """
    found = _balanced(a)
    if found is None:
        return compute(a)
    balanced, rows, columns = found
    sign, logarithm = compute(balanced)
    return sign, logarithm + (rows.sum(axis=-1) + columns.sum(axis=-1)) * _LN2


def safe_solve(compute: Compute, a: Array, b: Array) -> tuple[Array, ...]:
    """Solutions, as :func:`safe_inv`; batches of one rank, or a single matrix.

    >>> a, b = np.array([[2.0**-1060]]), np.array([[2.0**-1061]])
    >>> safe_solve(lambda a, b: (np.linalg.solve(a.swapaxes(-1, -2), b),), a, b)[0].tolist()
    [[0.5]]
    """
    found = _balanced(a)
    if found is None:
        return _with_moderate_sides(compute, a, b)
    balanced, rows, columns = found
    if b.ndim > 1 and a.ndim > 2:
        rank = max(a.ndim, b.ndim)
        shape = (*a.shape[:-2], *(1,) * (rank - a.ndim), 1, a.shape[-1])
        rows, columns = rows.reshape(shape), columns.reshape(shape)
        b = b.reshape(*b.shape[:-2], *(1,) * (rank - b.ndim), *b.shape[-2:])
    of_b = exponents(b) - rows
    largest = of_b.max(axis=-1, keepdims=True)
    largest = np.where(largest < NOTHING // 2, 0, largest)
    wide = np.asarray(b, np.result_type(b.dtype, np.float64))
    side = scaled(wide, -rows - largest)
    return (scaled(compute(balanced, side)[0], largest - columns),)


def _with_moderate_sides(compute: Compute, a: Array, b: Array) -> tuple[Array, ...]:
    """Solutions; those that are not finite once more of right-hand sides that are no longer large."""
    (x,) = compute(a, b)
    return (x if np.isfinite(x).all() else of_moderate_sides(lambda *given: compute(*given)[0], x, a, b),)


def of_moderate_sides(compute: Callable[[Array, Array], Array], x: Array, a: Array, b: Array) -> Array:
    """Solutions x of which one is not finite; of large right-hand sides these are computed again, of smaller ones.

    Args:
        compute: gives solutions (..., M, N) of matrices and transposed right-hand sides, or those of a vector.
        x: what it gave, in memory of its own.
        a: what it takes for the matrices.
        b: right-hand sides, of which the batch axes may be fewer.

    >>> a, b, x = np.array([4.0]), np.array([2.0**1023]), np.array([np.inf])
    >>> of_moderate_sides(lambda a, b: b * 3.0 / a, x, a, b).tolist() == [0.75 * 2.0**1023]
    True
    """
    if b.ndim > 1 and x.ndim > b.ndim:
        b = b.reshape(*b.shape[:-2], *(1,) * (x.ndim - b.ndim), *b.shape[-2:])
    powers = np.where(np.isfinite(b).all(axis=-1, keepdims=True), side_powers(b, np.zeros(1, int)), 0)
    again = (powers != 0) & ~np.isfinite(x).all(axis=-1, keepdims=True)
    if again.any():
        np.copyto(x, scaled(compute(a, scaled(b, -powers)), powers), where=again)
    return x


def _balanced(a: Array) -> tuple[Array, Array, Array] | None:
    """Transposed matrices (..., N, M), and the exponents of rows [..., M] and columns [..., N] that were taken out.

    None where no row and no column of any lies near the limits. Nothing is taken out of matrices that are not finite.
    Where one power is enough for a matrix, all rows have it, so that the pivots are those of the matrix.
    """
    sizes = np.where(np.isfinite(a).all(axis=(-2, -1), keepdims=True), exponents(a), 0)
    rows, columns = (excess(sizes.max(axis=axis, initial=NOTHING)) for axis in (-2, -1))
    if not (rows.any() or columns.any()):
        return None
    whole = whole_powers(sizes)[..., 0]
    rows = np.where(whole == 0, rows, whole)
    left = np.where(sizes == NOTHING, NOTHING, sizes - rows[..., None, :])
    columns = excess(left.max(axis=-1))
    return scaled(a, -rows[..., None, :] - columns[..., :, None]), rows, columns
