"""Where iterative solvers start, and whether what they call converged is: residuals computed from x, never told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensor_linalg as tl
import tensor_runtime as tr
from tensor_core import ArgumentError

A = np.array([[4.0, 1.0], [1.0, 3.0]])
B = np.array([1.0, 2.0])
SOLVERS: dict[str, Callable[..., Any]] = {"cg": tl.cg, "minres": tl.minres, "gmres": tl.gmres}


@pytest.mark.parametrize("factor", [1e5, 1e20, -1e20, 1e40, 1e100])
@pytest.mark.parametrize("name", SOLVERS)
def test_a_start_far_away_is_no_matter_but_of_products(name: str, factor: float) -> None:
    found = SOLVERS[name](tr.asarray(A), tr.asarray(B), tr.asarray(B * factor))
    assert found.converged
    np.testing.assert_allclose(found.x.to_numpy(), np.linalg.solve(A, B), rtol=1e-7)


@pytest.mark.parametrize("name", SOLVERS)
def test_columns_that_start_far_away_are_iterated_longer_than_others(name: str) -> None:
    factors = np.array([[0.0, 1e20, 1.0], [1e-3, -1e50, 1e9]])
    calls: list[int] = []

    def product(x: tr.Tensor) -> tr.Tensor:
        calls.append(1)
        return tr.tensordot(tr.asarray(A), x, axes=1)

    right = np.broadcast_to(B[:, None, None], (2, 2, 3))
    told: list[int] = []
    options: dict[str, Any] = {"callback": lambda progress: told.append(progress.iterations)}
    found = SOLVERS[name](product, tr.asarray(right), tr.asarray(right * factors), batch_rank=2, **options)

    assert found.converged and found.iterations == len(calls)
    assert told == sorted(told) and (name == "gmres" or set(told) >= {*range(2, len(calls))})
    wanted = np.broadcast_to(np.linalg.solve(A, B)[:, None, None], (2, 2, 3))
    np.testing.assert_allclose(found.x.to_numpy(), wanted, rtol=1e-6)


@pytest.mark.parametrize("maxiter", range(1, 24))
@pytest.mark.parametrize("name", SOLVERS)
def test_nothing_counts_as_converged_whose_residual_is_above_the_tolerance(name: str, maxiter: int) -> None:
    found = SOLVERS[name](tr.asarray(A), tr.asarray(B), tr.asarray(B * 1e20), maxiter=maxiter)
    missed = np.linalg.norm(B - A @ found.x.to_numpy())
    assert found.iterations <= maxiter
    assert found.converged == (missed <= 2.0**-26 * np.linalg.norm(B)) or maxiter < 10


@pytest.mark.parametrize("seed", range(60))
def test_random_starts_and_tolerances_are_answered_truly_and_soon(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, columns, tol = int(rng.integers(1, 9)), int(rng.integers(1, 4)), 10.0 ** rng.uniform(-15, -3)
    q = np.linalg.qr(rng.standard_normal((n, n)))[0]
    values = 10.0 ** rng.uniform(-4, 0, n) * (rng.choice([-1, 1], n) if seed % 2 else 1)
    values[0] *= seed % 5 > 0
    a = (q * values) @ q.T
    a = (a + a.T) / 2
    b, x0 = a @ rng.standard_normal((n, columns)), rng.standard_normal((n, columns)) * 10.0 ** rng.uniform(-5, 25)
    for name in ("minres",) if seed % 2 or not seed % 5 else SOLVERS:
        found = SOLVERS[name](tr.asarray(a), tr.asarray(b), tr.asarray(x0), tol=tol, batch_rank=1, maxiter=400)
        x = found.x.to_numpy()
        missed = np.linalg.norm(b - a @ x, axis=0)
        rounding = 1e-15 * np.abs(a).sum() * np.abs(x).max()
        assert found.iterations < 400 or values[0] == 0
        assert (missed <= 1.001 * np.linalg.norm(b - a @ x0, axis=0)).all()
        if found.converged:
            assert (missed <= 1.001 * tol * np.linalg.norm(b, axis=0) + rounding).all()


def stopping(at: int) -> Callable[[Any], bool]:
    return lambda told: told.iterations >= at


def test_a_callback_that_stops_before_the_last_look_leaves_nothing_that_counts_as_converged() -> None:
    for solver in (tl.cg, tl.minres):
        whole = solver(tr.asarray(A), tr.asarray(B))
        before = whole.iterations - 1
        found = solver(tr.asarray(A), tr.asarray(B), callback=stopping(before))
        assert whole.converged and not found.converged and found.iterations == before
        np.testing.assert_allclose(found.x.to_numpy(), whole.x.to_numpy(), rtol=1e-12)


SEARCHES: dict[str, Callable[..., Any]] = {
    "eigsh": tl.eigsh,
    "eigs": tl.eigs,
    "svds": tl.svds,
    "eigsh of a map": lambda a, x0, **options: tl.eigsh(lambda x: tr.tensordot(a, x, axes=1), x0, **options),
    "eigs of a map": lambda a, x0, **options: tl.eigs(lambda x: tr.tensordot(a, x, axes=1), x0, **options),
}


@pytest.mark.parametrize("bad", [np.inf, -np.inf, np.nan])
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
@pytest.mark.parametrize("name", SEARCHES)
def test_a_search_starts_from_finite_vectors(name: str, dtype: str, bad: float) -> None:
    a, search = tr.asarray(A.astype(dtype)), SEARCHES[name]
    operation = name.split()[0]
    with pytest.raises(tl.NonFiniteError, match=f"^{operation}: the operator or the start holds NaN or an infinity"):
        search(a, x0=tr.asarray(np.array([1.0, bad], dtype)))
    with pytest.raises(tl.NonFiniteError, match=f"^{operation}: the operator or the start holds") as caught:
        search(a, x0=tr.asarray(np.array([[1.0, 1.0], [0.0, bad]], dtype)), batch_rank=1)
    assert caught.value.batch_index == (1,)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", SEARCHES)
def test_a_search_may_start_from_a_vector_whose_norm_is_beyond_the_range(name: str, dtype: str) -> None:
    a, x0 = tr.asarray(A.astype(dtype)), np.full(2, np.finfo(dtype).max, dtype)
    found, block = (SEARCHES[name](a, x0=tr.asarray(x0)), SEARCHES[name](a, x0=tr.asarray(x0[:, None]), batch_rank=1))
    for one in (found, block):
        vector = (one.vh if name == "svds" else one.eigenvectors).to_numpy().ravel()
        value = (one.s if name == "svds" else one.eigenvalues).to_numpy().real.item()
        assert abs(np.linalg.norm(vector) - 1) < 1e-5 and abs(np.linalg.norm(A @ vector) - abs(value)) < 1e-4


EMPTY = r"the space, of shape \(0,\), has no elements"
NOWHERE: list[tuple[str, Callable[[], object]]] = [
    (f"eigsh: {EMPTY}", lambda: tl.eigsh(tr.zeros((0, 0)))),
    (f"eigsh: {EMPTY}", lambda: tl.eigsh(tr.zeros((0, 0)), x0=tr.zeros((0, 2)))),
    (r"eigsh: the space, of shape \(2, 0\), has no elements", lambda: tl.eigsh(tr.copy, x0=tr.zeros((2, 0)))),
    (f"eigs: {EMPTY}", lambda: tl.eigs(tr.zeros((0, 0)))),
    (f"svds: {EMPTY}", lambda: tl.svds(tr.zeros((3, 0)))),
    (r"svds: the range, of shape \(0,\), has no elements", lambda: tl.svds(tr.zeros((0, 3)))),
]


@pytest.mark.parametrize(("message", "call"), NOWHERE)
def test_spaces_without_elements_are_refused_as_such(message: str, call: Callable[[], object]) -> None:
    with pytest.raises(ArgumentError, match=message):
        call()
