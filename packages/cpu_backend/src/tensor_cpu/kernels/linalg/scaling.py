"""Powers of two that take matrices away from the limits of binary64, and back: exact but for results beyond them.

LAPACK's eliminations multiply by the reciprocals of pivots, and leave columns as they are, or make infinities, where
those are infinite; and products of numbers near 1e-300 vanish.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from tensor_cpu.storage import Array

_LOW: Final = -900
_HIGH: Final = 1010
_LARGE: Final = 1000
"""Binary exponents within which sizes are far from the limits, and to which larger sizes are brought: further down,
what is far smaller would vanish."""
_NOTHING: Final = -(2**20)
"""The exponent of zero, below every other one."""
_LN2: Final = 0.6931471805599453

Compute = Callable[..., tuple[Array, ...]]


def scale_away_from_limits(a: Array) -> int:
    """Scale a matrix by a power of two where it lies near the limits of binary64; the power that takes it back.

    >>> a = np.array([[2.0**-1040]])
    >>> scale_away_from_limits(a), a.tolist(), scale_away_from_limits(a)
    (-1039, [[0.5]], 0)
    """
    power = int(_excess(_exponents(a).max()))
    if power == 0 or not np.isfinite(a).all():
        return 0
    a[...] = scaled(a, -power)
    return power


def scaled(a: Array, power: Any) -> Array:
    """A times a power of two, or each matrix (..., N, M) of a stack times its own.

    >>> scaled(np.array([3.0]), 2).tolist(), scaled(np.array([1j]), -1).tolist()
    ([12.0], [0.5j])
    """
    if a.dtype.kind != "c":
        return np.asarray(np.ldexp(a, power))
    return np.asarray(np.ldexp(a.real, power) + 1j * np.ldexp(a.imag, power))


def minute_powers(a: Array) -> Array | None:
    """The exponents [..., 1, 1] of stacked matrices whose largest element is below 2⁻⁹⁰⁰; 0 for others, None for all.

    >>> minute_powers(np.array([[2.0**-1040, 0.0]])).tolist(), minute_powers(np.ones((1, 1)))
    ([[-1039]], None)
    """
    powers = _exponents(a).max(axis=(-2, -1), keepdims=True)
    powers = np.where((powers > _NOTHING) & (powers < _LOW), powers, 0)
    return powers if powers.any() else None


def has_extreme_pivots(a: Array) -> bool:
    """Whether a pivot on the diagonal is so small that LAPACK's elimination with it may be wrong.

    >>> has_extreme_pivots(np.diag([1.0, 2.0**-1040])), has_extreme_pivots(np.diag([1.0, 0.0]))
    (True, False)
    """
    exponents = _exponents(a.diagonal())
    return bool(((exponents < _LOW) & (exponents > _NOTHING)).any())


def powers_of(a: Array) -> Any:
    """The exponents [..., 1, 1] that are taken out of stacked matrices near the limits; 0 for others.

    >>> powers_of(np.array([[2.0**-1040, 0.0]])).tolist(), powers_of(np.ones((1, 1))).tolist()
    ([[-1039]], [[0]])
    """
    return _excess(_exponents(a).max(axis=(-2, -1), keepdims=True))


def side_powers(b: Array, powers: Any) -> Any:
    """The exponents of right-hand sides, of a vector or [..., 1, 1] of each matrix, where powers are not 0.

    >>> side_powers(np.array([2.0**-1040, 0.0]), np.array([-1039])).tolist()
    [-1039]
    """
    largest = _exponents(b).max(axis=(-2, -1) if b.ndim > 1 else -1, keepdims=True)
    return np.where((powers != 0) & (largest > _NOTHING), largest, 0)


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


def safe_det(compute: Compute, a: Array) -> tuple[Array, ...]:
    """Determinants, as :func:`safe_inv`.

    >>> (safe_det(lambda a: (np.linalg.det(a),), np.diag([2.0**-1040, 2.0**1000]))[0] * 2.0**40).round(9).item()
    1.0
    """
    found = _balanced(a)
    if found is None:
        return compute(a)
    balanced, rows, columns = found
    return (scaled(compute(balanced)[0], rows.sum(axis=-1) + columns.sum(axis=-1)),)


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
        return compute(a, b)
    balanced, rows, columns = found
    if b.ndim > 1 and a.ndim > 2:
        shape = (*a.shape[:-2], *(1,) * (max(a.ndim, b.ndim) - a.ndim), 1, a.shape[-1])
        rows, columns = rows.reshape(shape), columns.reshape(shape)
    of_b = np.where(b == 0, _NOTHING, _exponents(b)) - rows
    largest = of_b.max(axis=-1, keepdims=True)
    largest = np.where(largest < _NOTHING // 2, 0, largest)
    side = scaled(b + np.zeros(of_b.shape), -rows - largest)
    return (scaled(compute(balanced, side)[0], largest - columns),)


def _balanced(a: Array) -> tuple[Array, Array, Array] | None:
    """Transposed matrices (..., N, M), and the exponents of rows [..., M] and columns [..., N] that were taken out.

    None where no row and no column of any lies near the limits.
    """
    exponents = _exponents(a)
    rows, columns = (_excess(exponents.max(axis=axis, initial=_NOTHING)) for axis in (-2, -1))
    if not (rows.any() or columns.any()) or not np.isfinite(a).all():
        return None
    left = np.where(exponents == _NOTHING, _NOTHING, exponents - rows[..., None, :])
    columns = _excess(left.max(axis=-1))
    return scaled(a, -rows[..., None, :] - columns[..., :, None]), rows, columns


def _excess(exponents: Any) -> Any:
    """What is taken out of sizes with these exponents."""
    tiny = (exponents < _LOW) & (exponents > _NOTHING)
    return np.where(tiny, exponents, np.where(exponents > _HIGH, exponents - _LARGE, 0))


def _exponents(a: Array) -> Any:
    """The e of each element, 2^(e - 1) <= size < 2^e, of the larger part where it is complex."""
    sizes = np.maximum(np.abs(a.real), np.abs(a.imag)) if a.dtype.kind == "c" else np.abs(a)
    return np.where(sizes == 0, _NOTHING, np.frexp(sizes)[1])
