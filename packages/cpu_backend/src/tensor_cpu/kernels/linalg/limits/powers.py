"""Powers of two that take matrices away from the limits of binary64, and back: exact but for results beyond them.

There LAPACK multiplies by reciprocals of pivots that are infinite, or leaves columns as they are; products vanish, and
sums overflow on the way to results that do not. Arrays are transposed, as in :mod:`tensor_cpu.kernels.linalg.checks`.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from tensor_cpu.storage import Array

_LOW: Final = -900
_HIGH: Final = 1010
_LARGE: Final = 1000
"""Binary exponents within which sizes are far from the limits, and to which larger sizes are brought: further down,
what is far smaller would vanish."""
NOTHING: Final = -(2**20)  # that of zero, below every other one


def scale_away_from_limits(a: Array) -> int:
    """Scale a matrix by a power of two where it lies near the limits of binary64; the power that takes it back.

    >>> a = np.array([[2.0**-1040]])
    >>> scale_away_from_limits(a), a.tolist(), scale_away_from_limits(a)
    (-1039, [[0.5]], 0)
    """
    power = int(excess(largest_exponent(a)))
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
    found = np.empty(np.broadcast_shapes(a.shape, np.shape(power)), a.dtype)
    found.real = np.ldexp(a.real, power)  # a product with 1j would make NaN of infinities, and +0 of -0
    found.imag = np.ldexp(a.imag, power)
    return found


def minute_powers(a: Array, low: int = _LOW) -> Array | None:
    """The exponents [..., 1, 1] of stacked matrices whose largest element is below 2^low; 0 for others, None for all.

    >>> minute_powers(np.array([[2.0**-1040, 0.0]])).tolist(), minute_powers(np.ones((1, 1)))
    ([[-1039]], None)
    """
    some = low >= 0 or ((a != 0) & (np.abs(a) < 2.0 ** (low + 1))).any()
    powers = largest_exponent(a, (-2, -1)) if some else np.zeros(1)  # the largest of each takes longer
    powers = np.where((powers > NOTHING) & (powers <= low), powers, 0)
    return powers if powers.any() else None


def reaches_the_limit(a: Array) -> bool:
    """Whether an element of a compact array without gaps is not finite or so large that a sum of a few may be infinite.

    >>> reaches_the_limit(np.array([[2.0**1020]])), reaches_the_limit(np.array([[2.0**1000]]))
    (True, False)
    """
    parts = a.view(a.real.dtype)
    return not np.maximum.reduce(np.abs(parts), axis=None) < 2.0**_HIGH


def has_extreme_pivots(a: Array) -> bool:
    """Whether a pivot of transposed factors (N, M) is so small that LAPACK's elimination with it may be wrong.

    OpenBLAS neither exchanges rows for a subnormal one nor divides by it, so that one of zero may have others below it.

    >>> matrices = np.diag([1.0, 2.0**-1040]), np.diag([1.0, 0.0]), np.array([[0.0, 2.0**-1040], [1.0, 0.0]])
    >>> [has_extreme_pivots(a) for a in matrices]
    [True, False, True]
    """
    sizes = exponents(a.diagonal())
    missed = any(a[step, step + 1 :].any() for step in np.flatnonzero(sizes == NOTHING))
    return missed or bool(((sizes <= _LOW) & (sizes > NOTHING)).any())


def powers_of(a: Array) -> Any:
    """The exponents [..., 1, 1] that are taken out of stacked matrices near the limits; 0 for others.

    >>> powers_of(np.array([[2.0**-1040, 0.0]])).tolist(), powers_of(np.ones((1, 1))).tolist()
    ([[-1039]], [[0]])
    """
    return excess(largest_exponent(a, (-2, -1)))


def whole_powers(sizes: Any) -> Any:
    """The same of matrices with elements of these exponents, where one power serves all of a matrix.

    It is 0 for large ones of which a row or a column would come near the other limit: rows want powers of their own.

    >>> whole_powers(np.array([[1020, 5], [-890, -990]])).tolist(), whole_powers(np.array([[1020]])).tolist()
    ([[0]], [[20]])
    """
    powers = excess(sizes.max(axis=(-2, -1), keepdims=True, initial=NOTHING))
    large = powers > 0
    if not large.any():
        return powers
    left = sizes - np.where(large, powers, 0)
    spread = [_are_tiny(left.max(axis=axis, keepdims=True)).any(axis=(-2, -1), keepdims=True) for axis in (-2, -1)]
    return np.where(large & (spread[0] | spread[1]), 0, powers)


def powers_for_lanes(a: Array) -> Array | None:
    """The exponents [..., 1, 1] that are taken out of stacked finite matrices before they are eliminated in lanes.

    0 for those that are fine, and for large ones whose sizes differ too much; None for all.

    >>> powers_for_lanes(np.array([[2.0**1020, 1.0], [1.0, 0.0]])).tolist(), powers_for_lanes(np.ones((1, 1)))
    ([[21]], None)
    """
    if a.real.dtype != np.float64:  # floats are far from the limits
        return None
    sizes = np.abs(a)
    if not (((sizes > 0) & (sizes < 2.0 ** (_LOW + 1))).any() or sizes.max(initial=0.0) >= 2.0 ** (_HIGH - 1)):
        return None  # the largest of each takes longer
    powers: Array = whole_powers(exponents(a))
    return powers if powers.any() else None


def are_spread(a: Array, powers: Array | None) -> Array:
    """Which of stacked finite matrices are large, [...], but have no power that is taken out before an elimination.

    >>> a = np.diag([2.0**1020, 2.0**-1000])
    >>> are_spread(a, powers_for_lanes(a)).item(), are_spread(np.eye(2), None).item()
    (True, False)
    """
    large = excess(largest_exponent(a, (-2, -1))) > 0
    return np.asarray((large & ((0 if powers is None else powers) == 0))[..., 0, 0])


def side_powers(b: Array, powers: Any) -> Any:
    """The exponents that are taken out of right-hand sides, of a vector or [..., M, 1] of each column.

    Beside small matrices all, beside large ones what makes them as large, else what is beyond the limit.

    >>> [side_powers(np.array([2.0**1020, 0.0]), np.array([power])).tolist() for power in (-1039, 20, 0)]
    [[1021], [21], [21]]
    """
    largest = largest_exponent(b, (-1,))
    taken = np.where(powers < 0, largest, np.where(powers > 0, largest - _LARGE, np.maximum(excess(largest), 0)))
    return np.where(largest > NOTHING, taken, 0)


def excess(sizes: Any) -> Any:
    """What is taken out of numbers with these exponents.

    >>> excess(np.array([-1039, -900, 0, 1010, 1011])).tolist()
    [-1039, -900, 0, 0, 11]
    """
    return np.where(_are_tiny(sizes), sizes, np.where(sizes > _HIGH, sizes - _LARGE, 0))


def _are_tiny(sizes: Any) -> Any:
    return (sizes <= _LOW) & (sizes > NOTHING)


def exponents(a: Array) -> Any:
    """The e of each element, 2^(e - 1) <= size < 2^e, of the larger part where it is complex.

    >>> exponents(np.array([0.5, 3 + 4j])).tolist(), exponents(np.zeros(1)).item() == NOTHING
    ([0, 3], True)
    """
    sizes = np.maximum(np.abs(a.real), np.abs(a.imag)) if a.dtype.kind == "c" else np.abs(a)
    return np.where(sizes == 0, NOTHING, np.frexp(sizes)[1])


def largest_exponent(a: Array, axes: tuple[int, ...] | None = None) -> Any:
    """The largest of them, of all or along axes that stay with extent 1.

    >>> largest_exponent(np.array([[0.5, 3.0], [1.0, 0.0]]), (-1,)).tolist()
    [[2], [1]]
    """
    parts = (a.real, a.imag) if a.dtype.kind == "c" else (a,)
    ends = [end(part, axes, keepdims=bool(axes)) for part in parts for end in (np.max, np.min)]
    return exponents(np.max(np.abs(ends), axis=0))
