"""What drivers give, to be compared: matrices of a stack, and the product of their factors."""

from __future__ import annotations

from typing import Any

import numpy as np

import tensor_linalg as tl
import tensor_runtime as tr

Array = np.ndarray[Any, Any]


def first(x: Any) -> Array:
    found = tr.to(x, "cpu").to_numpy()
    return np.moveaxis(found, -1, 0).astype(np.result_type(found, np.float64))


def decomposed(operation: str, x: tr.Tensor) -> tuple[Array, list[Array]]:
    """The product of what a decomposition gives, and what has orthonormal columns."""
    if operation == "svd":
        u, s, vh = map(first, tl.svd(x))
        assert (np.diff(s) <= 0).all()
        return (u * s[:, None, :]) @ vh, [u, vh.conj().swapaxes(1, 2)]
    if operation == "eigh":
        w, v = map(first, tl.eigh(x))
        return (v * w[:, None, :]) @ v.conj().swapaxes(1, 2), [v]
    if operation == "cholesky":
        lower = first(tl.cholesky(x))
        return lower @ lower.conj().swapaxes(1, 2), []
    if operation == "lu":
        factors, order = map(first, tl.lu_factor(x))
        steps = min(factors.shape[1:])
        lower, upper = np.tril(factors[:, :, :steps], -1) + np.eye(factors.shape[1], steps), np.triu(factors[:, :steps])
        return np.take_along_axis(lower @ upper, np.argsort(order, axis=1)[:, :, None], 1), []
    q, r = map(first, tl.qr(x))
    return q @ r, [q]
