"""Similarities by powers of two that bring the elements of square matrices nearer to one another, exactly.

D⁻¹ A D, with a diagonal D; csrc/linalg/simd/linalg_balance.h does the same to small matrices.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from tensor_cpu.kernels.linalg.limits.powers import scaled
from tensor_cpu.storage import Array

_ABSENT: Final = -(2.0**36)
"""The power of two of 0, so far down that one of it in a cycle tells in the mean."""


def balancing_powers(a: Array, /) -> Array:
    """Whole numbers p of matrices (..., N, N): D of 2^p brings A down to the largest mean of a cycle, or to 1.

    Source: Karp, A characterization of the minimum cycle mean in a digraph, Discrete Math. 23 (1978), 309-311, for the
    mean; longest paths for the powers.

    >>> balancing_powers(np.array([[1.0, 2.0**60], [0.0, -1.0]])).tolist()
    [60, 0]
    """
    size, count = np.abs(a), a.shape[-1]
    weights = np.where(size > 0, np.where(np.isfinite(size), np.frexp(size)[1], 1024.0), _ABSENT)
    walks = [np.zeros(a.shape[:-1])]
    for _ in range(count):
        walks.append(_longer(weights, walks[-1]))
    means = [(walks[-1] - walk) / (count - k) for k, walk in enumerate(walks[:-1])]
    target = np.ceil(np.minimum.reduce(means).max(axis=-1, initial=0.0))
    weights -= target[..., None, None]
    found = walks[0]
    for _ in range(count):
        longer = np.maximum(found, _longer(weights, found))
        if np.array_equal(longer, found):
            break
        found = longer
    return found.astype(int)


def _longer(weights: Array, walks: Array) -> Array:
    return np.asarray((weights + walks[..., None, :]).max(axis=-1))


def similar(a: Array, powers: Array, /) -> Array:
    """D⁻¹ A D with D of the powers (..., N) of two.

    >>> similar(np.array([[1.0, 8.0], [0.5, 1.0]]), np.array([2, 0])).tolist()
    [[1.0, 2.0], [2.0, 1.0]]
    """
    return scaled(a, powers[..., None, :] - powers[..., :, None])
