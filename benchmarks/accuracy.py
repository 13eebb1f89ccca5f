"""How far decompositions and solutions are off, in rounding units of their dtype, beside what extended precision says.

Only the first matrices of a batch are looked at, and some columns of a large one: products in extended precision are
made without BLAS.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from benchmarks.drawing import Array

WORK: Final = 3_000_000
"""Multiplications for one of the products of a row."""
LARGEST: Final = 32
"""Rows of the largest matrices whose small values are found."""
LARGEST_DETERMINANT: Final = 100
SWEEPS: Final = 30
"""Of rotations, at most."""


def errors(operation: str, operands: Sequence[Array], parts: Sequence[Array]) -> dict[str, float]:
    """The largest errors of a result, relative to the norms of what was multiplied.

    Args:
        operation: its name.
        operands: stacks of matrices [batch, N, N].
        parts: its results, batch first.

    Returns:
        ``residual``, of a determinant its relative error; for orthonormal factors ``orthogonality``, too.

    >>> errors("inv", [np.full((1, 1, 1), 3.0)], [np.full((1, 1, 1), 1 / 3)])["residual"] <= 1
    True
    """
    unit = float(np.finfo(operands[0].dtype).eps) / 2
    extent = operands[0].shape[-1]
    count = max(1, min(len(operands[0]), WORK // extent**3))
    columns = max(1, min(extent, WORK // extent**2))
    a, *rest = (extended(array[:count]) for array in (*operands, *parts))
    found = {}
    if operation == "svd":
        u, s, vh = rest
        difference, size = a[..., :columns] - (u * s[:, None, :]) @ vh[..., :columns], norm(a)
        found["orthogonality"] = max(off_unit(u, columns), off_unit(adjoint(vh), columns)) / unit
    elif operation == "qr":
        q, r = rest
        difference, size = a[..., :columns] - q @ r[..., :columns], norm(a)
        found["orthogonality"] = off_unit(q, columns) / unit
    elif operation == "eigh":
        values, vectors = rest
        some = vectors[..., :columns]
        difference, size = a @ some - some * values[:, None, :columns], norm(a)
        found["orthogonality"] = off_unit(vectors, columns) / unit
    elif operation == "cholesky":
        difference, size = a[..., :columns] - rest[0] @ adjoint(rest[0])[..., :columns], norm(a)
    elif operation == "inv":
        difference = a @ rest[0][..., :columns] - np.eye(extent)[:, :columns]
        size = norm(a) * norm(rest[0])
    elif operation == "det":
        if extent > LARGEST_DETERMINANT:
            return {}
        right = determinants(a)
        difference, size = (rest[0] - right)[:, None, None], np.abs(right)
    else:
        b, x = rest
        difference, size = b - a @ x, norm(a) * norm(x)
    return {"residual": float((norm(difference) / size).max() / unit), **found}


def small_values(operation: str, matrices: Array, parts: Sequence[Array]) -> dict[str, float]:
    """The largest relative error of any singular value or eigenvalue of graded matrices.

    >>> a = np.diag([1.0, 2.0**-40])[None]
    >>> small_values("svd", a, np.linalg.svd(a))
    {'small values': 0.0}
    """
    count, extent = len(matrices), matrices.shape[-1]
    count = max(1, min(count, 200_000 // extent**3))
    if extent > LARGEST:
        return {}
    a = extended(matrices[:count])
    if operation == "svd":
        exact, found = singular_values(a), np.sort(extended(parts[1][:count]))
    else:
        exact, found = singular_values(cholesky(a)) ** 2, np.sort(extended(parts[0][:count]))
    unit = float(np.finfo(matrices.dtype).eps) / 2
    return {"small values": float(np.abs(found / exact - 1).max() / unit)}


def extended(array: Array) -> Any:
    """In the widest binary format that NumPy has here."""
    return np.asarray(array).astype(np.clongdouble if array.dtype.kind == "c" else np.longdouble)


def adjoint(a: Any) -> Any:
    """Of each matrix."""
    return a.swapaxes(-1, -2).conj()


def norm(a: Any) -> Any:
    """Frobenius, of each matrix."""
    return np.sqrt((np.abs(a) ** 2).sum(axis=(-1, -2)))


def off_unit(q: Any, columns: int) -> float:
    """How far columns are from orthonormal."""
    return float(norm(adjoint(q) @ q[..., :columns] - np.eye(q.shape[-1])[:, :columns]).max())


def determinants(a: Any) -> Any:
    """By elimination with exchanges.

    >>> determinants(np.array([[[0.0, 2.0], [3.0, 1.0]]])).tolist()
    [-6.0]
    """
    a, each = a.copy(), np.arange(len(a))
    result = np.ones(len(a), a.dtype)
    for j in range(a.shape[-1]):
        row = j + np.abs(a[:, j:, j]).argmax(axis=1)
        upper = a[each, row].copy()
        a[each, row] = a[:, j]
        a[:, j] = upper
        result *= np.where(row == j, 1, -1) * upper[:, j]
        a[:, j + 1 :] -= (a[:, j + 1 :, j] / upper[:, j, None])[:, :, None] * upper[:, None]
    return result


def cholesky(a: Any) -> Any:
    """Lower factors of positive definite matrices.

    >>> cholesky(np.array([[[4.0, 2.0], [2.0, 5.0]]])).tolist()
    [[[2.0, 0.0], [1.0, 2.0]]]
    """
    a = a.copy()
    for j in range(a.shape[-1]):
        a[:, j:, j] /= np.sqrt(a[:, j, j].real)[:, None]
        a[:, j + 1 :, j + 1 :] -= a[:, j + 1 :, j, None] * a[:, None, j + 1 :, j].conj()
    return np.tril(a)


def singular_values(a: Any) -> Any:
    """In ascending order, small ones as precise as large ones: by rotations of columns (Demmel and Veselic, 1992).

    >>> singular_values(np.array([[[3.0, 0.0], [4.0, 5.0]]])).round(9).tolist()
    [[2.236067977, 6.708203932]]
    """
    extent = a.shape[-1]
    a = np.concatenate([a, np.zeros((*a.shape[:2], extent % 2), a.dtype)], axis=2)
    order = np.arange(a.shape[-1])
    half, tiny = len(order) // 2, np.finfo(a.dtype).tiny
    for _ in range(SWEEPS):
        worst = 0.0
        for _ in range(len(order) - 1):
            left, right = order[:half], order[half:][::-1]
            x, y = a[:, :, left], a[:, :, right]
            of_x, of_y = ((np.abs(z) ** 2).sum(axis=1) for z in (x, y))
            both = (x.conj() * y).sum(axis=1)
            size = np.abs(both)
            worst = max(worst, float((size / np.sqrt(np.maximum(of_x * of_y, tiny))).max()))
            apart = of_y - of_x
            tangent = np.where(apart < 0, -2, 2) * size / np.maximum(np.abs(apart) + np.hypot(apart, 2 * size), tiny)
            cosine = 1 / np.hypot(tangent, 1)
            sine, turned = cosine * tangent, y * np.where(size > tiny, both.conj() / np.maximum(size, tiny), 1)[:, None]
            a[:, :, left] = cosine[:, None] * x - sine[:, None] * turned
            a[:, :, right] = sine[:, None] * x + cosine[:, None] * turned
            order = np.concatenate([order[:1], order[-1:], order[1:-1]])
        if worst < np.finfo(a.dtype).eps:
            break
    return np.sort(np.sqrt((np.abs(a) ** 2).sum(axis=1)))[:, -extent:]
