"""Eigenvalues nearest to a shift, which may lie so near one of them that its pair dwarfs all others of the inverse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse.linalg

import tensor_linalg as tl
import tensor_runtime as tr

DISTANCES = [1e-15, 1e-14, 1e-12, -1e-12, 1e-10, 1e-8, 1e-4]
Q = np.linalg.qr(np.random.default_rng(0).normal(size=(60, 60)))[0]


def ring(n: int) -> Any:
    """The second difference on a ring: each eigenvalue but the first, and the last of even n, is there twice."""
    return 2 * np.eye(n) - np.roll(np.eye(n), 1, 0) - np.roll(np.eye(n), -1, 0)


def symmetric(values: Any) -> Any:
    a = (Q * values) @ Q.T
    return (a + a.T) / 2


MATRICES = {
    "steps": np.diag(np.arange(1.0, 41.0)),
    "turned": symmetric(np.arange(1.0, 61.0)),
    "ring": ring(50),
    "copies": symmetric(np.r_[5.0, 5, 5, 6, 6, np.linspace(8, 40, 55)]),
    "close": symmetric(np.r_[1, 1 + 1e-6, 1 + 3e-6, 3:60]),
    "of few rows": np.diag(np.arange(1.0, 8.0)),
}


def check(a: Any, found: Any, sigma: float, k: int, tol: float) -> None:
    """The pairs found are the nearest, as a decomposition has them, up to ``tol`` and rounding."""
    every, w, x = np.linalg.eigvalsh(a), found.eigenvalues.to_numpy(), found.eigenvectors.to_numpy()
    nearest = np.sort(abs(every - sigma))[:k]
    unit = 1e-15 if w.dtype == np.float64 else 5e-7
    assert found.converged
    assert (abs(np.sort(abs(w - sigma)) - nearest) <= tol * nearest + 20 * unit * abs(every).max()).all()
    np.testing.assert_allclose(x.conj().T @ x, np.eye(k), atol=100 * unit)
    assert np.linalg.norm(a @ x - x * w, axis=0).max() <= 1e3 * tol * abs(every).max()


@pytest.mark.parametrize("distance", DISTANCES)
@pytest.mark.parametrize("name", MATRICES)
def test_a_shift_very_near_an_eigenvalue_hides_no_other(name: str, distance: float) -> None:
    a = MATRICES[name]
    every = np.linalg.eigvalsh(a)
    for near in (every[0], every[4]):
        sigma = float(near + distance)
        for k in (1, 3, 5):
            check(a, tl.eigsh(tr.tensor(a), k=k, sigma=sigma), sigma, k, 1e-11)


@pytest.mark.parametrize("distance", DISTANCES)
@pytest.mark.parametrize(("dtype", "width"), [("F32", 0), ("C32", 0), ("C64", 0), ("F64", 1), ("F64", 2), ("C64", 3)])
def test_every_dtype_and_blocks_find_what_is_beside_the_nearest(dtype: str, width: int, distance: float) -> None:
    for name in ("turned", "ring", "copies"):
        a = tr.cast(tr.tensor(MATRICES[name]), dtype)
        m = a.to_numpy().astype(complex)
        sigma = float(np.linalg.eigvalsh(m)[2] + distance)
        start = tr.normal((m.shape[0], width) if width else (m.shape[0],), seed=1, dtype=dtype)
        try:
            found = tl.eigsh(a, start, k=3, sigma=sigma)
        except tl.SingularMatrixError:  # F32 and C32 hold no number so near
            assert dtype in ("F32", "C32")
        else:
            check(m, found, sigma, 3, 1e-4 if dtype in ("F32", "C32") else 1e-11)


@pytest.mark.parametrize("sigma", [5 + 1e-12, 5 + 1e-8, 5 + 1e-4, 5.3])
def test_pairs_beside_a_shift_are_those_that_scipy_finds(sigma: float) -> None:
    a = MATRICES["steps"]
    wanted = np.sort(scipy.sparse.linalg.eigsh(a, k=4, sigma=sigma)[0])
    np.testing.assert_allclose(tl.eigsh(tr.tensor(a), k=4, sigma=sigma).eigenvalues.to_numpy(), wanted, atol=1e-11)


def test_a_shift_on_an_eigenvalue_that_rounding_keeps_from_being_singular() -> None:
    found = tl.eigsh(tr.tensor(ring(50)), k=3, sigma=0.0)
    second = 2 - 2 * np.cos(2 * np.pi / 50)
    np.testing.assert_allclose(found.eigenvalues.to_numpy(), [0, second, second], atol=1e-13)


@pytest.mark.parametrize("width", [0, 2])
@pytest.mark.parametrize("copies", [2, 3])
@pytest.mark.parametrize("dtype", ["F64", "C64"])
def test_a_shift_on_a_multiple_eigenvalue_leaves_the_others_as_they_are(dtype: str, copies: int, width: int) -> None:
    values = np.array([0.0] * copies + [-0.5, 0.5, 1.1, 1.3, 1.7, 2.0, 2.2, 2.6])
    n, seen = len(values), 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        drawn = rng.standard_normal((n, n)) + (1j * rng.standard_normal((n, n)) if dtype == "C64" else 0.0)
        q = np.linalg.qr(drawn)[0]
        a = (q * values) @ q.conj().T
        a = (a + a.conj().T) / 2
        start = tr.normal((n, width), seed=seed, dtype=getattr(tr, dtype)) if width else None
        try:
            found = tl.eigsh(tr.tensor(a), start, k=4, sigma=0.0, batch_rank=bool(width) + 0)
        except tl.SingularMatrixError:  # rounding left a pivot of zero
            continue
        seen += 1
        check(a, found, 0.0, 4, 1e-11)
    assert seen >= 8


@pytest.mark.parametrize("width", [0, 2])
def test_a_solver_that_is_a_function_hides_no_other_either(width: int) -> None:
    a, sigma = MATRICES["turned"], 5 + 1e-6
    shifted = tr.tensor(a - sigma * np.eye(60))
    shape = (60, width) if width else (60,)
    found = tl.eigsh(
        lambda x: tl.matmul(tr.tensor(a), x),
        tr.normal(shape, seed=1),
        k=3,
        sigma=sigma,
        solve=lambda b: tl.solve(shifted, b),
        batch_rank=bool(width) + 0,
    )
    check(a, found, sigma, 3, 1e-11)


@pytest.mark.parametrize("maxiter", range(1, 40))
def test_what_is_called_converged_beside_a_shift_is_right_wherever_products_end(maxiter: int) -> None:
    found = tl.eigsh(tr.tensor(MATRICES["steps"]), k=3, sigma=5 + 1e-12, maxiter=maxiter)
    assert found.iterations <= maxiter
    if found.converged:
        np.testing.assert_allclose(found.eigenvalues.to_numpy(), [4, 5, 6], atol=1e-11)
    assert found.converged or maxiter < 35
