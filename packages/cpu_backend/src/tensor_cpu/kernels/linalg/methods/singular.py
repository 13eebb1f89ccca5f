"""Singular values and vectors of one matrix by QR iteration, and by Jacobi's rotations for any size.

Arrays are those of ``tensor_cpu.kernels.linalg.factors``: the matrix, which may be destroyed, and transposed factors.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from tensor_cpu.kernels.linalg.limits.powers import scale_away_from_limits, scaled
from tensor_cpu.storage import Array
from tensor_cpu.system import lapack


def gesvd(a: Array, u: Array, s: Array, vh: Array) -> int:
    """By reduction to two diagonals and QR iteration.

    >>> s = np.empty(1)
    >>> gesvd(np.array([[3.0, 4.0]]), np.empty((1, 2)), s, np.empty((1, 1))), s.tolist()
    (0, [5.0])
    """
    return _gesvd(a, s, "S", (u, a.shape[1], vh, len(s)))


def gesvd_values(a: Array, s: Array) -> int:
    """The values alone.

    >>> s = np.empty(1)
    >>> gesvd_values(np.array([[3.0, 4.0]]), s), s.tolist()
    (0, [5.0])
    """
    nothing = np.empty(1, a.dtype)
    return _gesvd(a, s, "N", (nothing, 1, nothing, 1))


def _gesvd(a: Array, s: Array, job: str, factors: tuple[Any, ...]) -> int:
    columns, rows = a.shape
    short, is_complex = len(s), a.dtype.kind == "c"
    routine = "zgesvd" if is_complex else "dgesvd"
    rest = (np.empty(5 * short),) if is_complex else ()
    power = scale_away_from_limits(a)
    call = partial(lapack.call, routine, job, job, rows, columns, a, rows, s, *factors)
    asked = np.zeros(1, a.dtype)
    call(asked, -1, *rest)
    size = max(int(asked[0].real), 1)
    info = call(np.empty(size, a.dtype), size, *rest)
    s[...] = scaled(s, power)
    return info


def jacobi(a: Array, u: Array, s: Array, vh: Array) -> int:
    """By one-sided rotations after two pivoted QR decompositions.

    >>> s = np.empty(1)
    >>> jacobi(np.array([[3.0, 4.0]]), np.empty((1, 2)), s, np.empty((1, 1))), s.tolist()
    (0, [5.0])
    """
    columns, rows = a.shape
    if rows >= columns:
        v = np.empty((columns, columns), a.dtype)
        info = _tall(a, u, s, v)
        vh[...] = v.T.conj()
        return info
    left, v = np.empty((rows, columns), a.dtype), np.empty((rows, rows), a.dtype)
    info = _tall(np.ascontiguousarray(a.T.conj()), left, s, v)  # of the adjoint
    u[...] = v
    vh[...] = left.T.conj()
    return info


def jacobi_values(a: Array, s: Array) -> int:
    """The values alone.

    >>> s = np.empty(1)
    >>> jacobi_values(np.array([[3.0, 4.0]]), s), s.tolist()
    (0, [5.0])
    """
    nothing = np.empty((1, 1), a.dtype)
    tall = a if a.shape[1] >= a.shape[0] else np.ascontiguousarray(a.T.conj())
    return _tall(tall, nothing, s, nothing, "N", "N")


def _tall(a: Array, u: Array, s: Array, v: Array, left: str = "U", right: str = "V") -> int:
    columns, rows = a.shape
    power = scale_away_from_limits(a)
    integers = lapack.integers(2 * rows + 4 * columns + 8)
    size = 2 * rows + 7 * columns + 2 * columns * columns + 64 * columns + 8
    jobs = ("F", left, right, "N", "N", "N")
    given = (*jobs, rows, columns, a, rows, s, u, rows, v, columns)
    if a.dtype.kind == "c":
        reals = np.empty(2 * rows + 8 * columns + 8)
        info = lapack.call("zgejsv", *given, np.empty(size, a.dtype), size, reals, len(reals), integers)
        scale = reals[:2]
    else:
        work = np.empty(size)
        info = lapack.call("dgejsv", *given, work, size, integers)
        scale = work[:2]
    s[...] = scaled(s * (scale[0] / scale[1]), power)
    return info
