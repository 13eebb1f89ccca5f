"""The array API standard's linear algebra, with batch axes first, beside NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensor_runtime as tr
from tensor_runtime.array_api import linalg

rng = np.random.default_rng(7)
SQUARE = rng.standard_normal((2, 3, 4, 4))
TALL = rng.standard_normal((3, 5, 2)) + 1j * rng.standard_normal((3, 5, 2))
POSITIVE = SQUARE @ SQUARE.swapaxes(-1, -2) + np.eye(4)


def ours(x: Any) -> Any:
    return tr.asarray(x) if isinstance(x, np.ndarray) else x


@pytest.mark.parametrize(
    ("name", "arguments", "options"),
    [
        ("cholesky", (POSITIVE,), {"upper": True}),
        ("cross", (TALL[..., :3, 0], TALL[..., 1:4, 1]), {}),
        ("cross", (rng.standard_normal((3, 2)), rng.standard_normal((3, 2))), {"axis": 0}),
        ("det", (SQUARE,), {}),
        ("diagonal", (SQUARE,), {"offset": 1}),
        ("eigvalsh", (POSITIVE,), {}),
        ("inv", (SQUARE,), {}),
        ("matrix_norm", (TALL,), {"ord": 2, "keepdims": True}),
        ("matrix_norm", (TALL,), {"ord": "nuc"}),
        ("matrix_power", (SQUARE, -3), {}),
        ("matrix_rank", (SQUARE,), {}),
        ("outer", (SQUARE[0, 0, 0], SQUARE[0, 1, 0, :2]), {}),
        ("pinv", (TALL,), {}),
        ("slogdet", (SQUARE,), {}),
        ("solve", (SQUARE, SQUARE[0]), {}),
        ("solve", (SQUARE, SQUARE[0, 0, 0]), {}),
        ("svdvals", (TALL,), {}),
        ("trace", (SQUARE,), {"offset": -1}),
        ("vector_norm", (TALL,), {"axis": (0, 2), "keepdims": True}),
        ("vector_norm", (TALL,), {"ord": 1}),
        ("matrix_transpose", (TALL,), {}),
        ("tensordot", (SQUARE, SQUARE[0, 0]), {"axes": 2}),
    ],
)
def test_answers_are_those_of_numpy(name: str, arguments: Any, options: Any) -> None:
    found = getattr(linalg, name)(*map(ours, arguments), **options)
    expected = getattr(np.linalg, name)(*arguments, **options)
    for one, other in zip(found, expected, strict=True) if isinstance(found, tuple) else [(found, expected)]:
        assert one.shape == other.shape
        np.testing.assert_allclose(np.asarray(one), other, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("full", [True, False])
@pytest.mark.parametrize("x", [SQUARE, TALL, TALL[:0], TALL[0]])
def test_decompositions_multiply_back(x: Any, full: bool) -> None:
    u, s, vh = map(np.asarray, linalg.svd(ours(x), full_matrices=full))
    q, r = map(np.asarray, linalg.qr(ours(x), mode="complete" if full else "reduced"))
    k = s.shape[-1]
    np.testing.assert_allclose(u[..., :k] * s[..., None, :] @ vh[..., :k, :], x, atol=1e-12)
    np.testing.assert_allclose(q @ r, x, atol=1e-12)
    assert u.shape[-1] == (x.shape[-2] if full else k)
    assert q.shape[-1] == (x.shape[-2] if full else k)


def test_eigenvectors_belong_to_eigenvalues() -> None:
    found = linalg.eigh(ours(POSITIVE))
    values, vectors = np.asarray(found.eigenvalues), np.asarray(found.eigenvectors)
    np.testing.assert_allclose(POSITIVE @ vectors, vectors * values[..., None, :], atol=1e-11)
