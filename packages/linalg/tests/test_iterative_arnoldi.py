"""Arnoldi in real arithmetic: as few products as ARPACK, conjugate pairs, and maps whose images become complex."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse.linalg

import tensor_linalg as tl
import tensor_runtime as tr

RANKS: dict[str, Callable[[Any], Any]] = {
    "LM": lambda z: -abs(z),
    "SM": abs,
    "LR": lambda z: -z.real,
    "SR": lambda z: z.real,
    "LI": lambda z: -z.imag,
    "SI": lambda z: z.imag,
}


def normal(n: int, seed: int) -> Any:
    return np.random.default_rng(seed).standard_normal((n, n))


def walk(n: int, seed: int) -> Any:
    """Probabilities of a walk on a directed graph in which a ring leads everywhere."""
    edges = (np.random.default_rng(seed).random((n, n)) < 6 / n) + np.roll(np.eye(n), 1, 0)
    return edges / edges.sum(axis=0)


def flow(n: int) -> Any:
    return np.diag(np.linspace(0, 1, n)) + 0.3 * np.diag(np.ones(n - 1), 1) - 0.3 * np.diag(np.ones(n - 1), -1)


PROBLEMS = {
    "normal, 200": (normal(200, 7), 4, "SR"),
    "normal, 300": (normal(300, 9), 2, "LM"),
    "normal, 350": (normal(350, 5), 1, "LR"),
    "numbers": (np.diag(np.arange(1.0, 401.0)), 3, "SR"),
    "cubes": (np.diag(np.linspace(-1, 1.2, 300) ** 3), 4, "LR"),
    "flow": (flow(300), 3, "LR"),
    "walk": (walk(300, 2), 1, "LM"),
}


def check(a: Any, found: Any, k: int, which: str, tol: float = 1e-8) -> None:
    """The pairs are such, and the wanted ones as a decomposition has them."""
    w, x = found.eigenvalues.to_numpy(), found.eigenvectors.to_numpy()
    scale = abs(np.linalg.eigvals(a)).max()
    assert found.converged and w.shape == (k,)
    assert np.linalg.norm(a @ x - x * w, axis=0).max() <= 1e2 * tol * scale
    wanted = np.sort(RANKS[which](np.linalg.eigvals(a)))[:k]
    np.testing.assert_allclose(np.sort(RANKS[which](w)), wanted, atol=tol * scale)


@pytest.mark.parametrize("name", PROBLEMS)
def test_products_are_no_more_than_those_of_arpack(name: str) -> None:
    a, k, which = PROBLEMS[name]
    n, products = a.shape[0], 0
    start = np.random.default_rng(1).standard_normal(n)

    def product(x: Any) -> Any:
        nonlocal products
        products += 1
        return a @ x

    operator = scipy.sparse.linalg.LinearOperator((n, n), matvec=product, dtype=float)
    scipy.sparse.linalg.eigs(operator, k=k, which=which, v0=start)
    found = tl.eigs(tr.tensor(a), tr.tensor(start), k=k, which=which)
    assert found.iterations <= 1.2 * products
    check(a, found, k, which)


@pytest.mark.parametrize("basis", [None, 10, 12])
@pytest.mark.parametrize("which", ["LM", "LR", "SR", "LI", "SI"])
@pytest.mark.parametrize("k", [1, 2, 3, 6])
def test_pairs_of_conjugates_stay_together_wherever_k_cuts_them(k: int, which: str, basis: int | None) -> None:
    turns = [np.array([[r, s], [-s, r]]) for r, s in [(9, 3), (7, 8), (-8, 2), (5, 9), (-3, 6), (6, 1)]]
    a = np.diag(np.linspace(-2, 2, 80))
    for position, turn in enumerate(turns):
        a[2 * position : 2 * position + 2, 2 * position : 2 * position + 2] = turn
    q = np.linalg.qr(normal(80, 1))[0]
    a = q @ a @ q.T
    check(a, tl.eigs(tr.tensor(a), k=k, which=which, basis=basis), k, which)


@pytest.mark.parametrize("width", [0, 2])
@pytest.mark.parametrize("dtype", ["F32", "F64"])
def test_a_real_start_is_given_real_tensors_and_a_complex_one_complex(dtype: str, width: int) -> None:
    a = tr.cast(tr.tensor(normal(40, 3)), dtype)
    given: set[str] = set()

    def product(x: tr.Tensor) -> tr.Tensor:
        given.add(x.dtype.name)
        return tl.matmul(a, x) if width else tl.matvec(a, x)

    start = tr.normal((40, width) if width else (40,), seed=1, dtype=dtype)
    found = tl.eigs(product, start, k=3, batch_rank=bool(width) + 0)
    assert given == {dtype} and found.eigenvectors.dtype is tr.promote(start.dtype, tr.C32)
    check(a.to_numpy(), found, 3, "LM", 1e-8 if dtype == "F64" else 1e-4)
    given.clear()
    tl.eigs(product, tr.convert(start, tr.promote(start.dtype, tr.C32)), k=3, batch_rank=bool(width) + 0)
    assert len(given) == 1 and given.pop().startswith("C")


@pytest.mark.parametrize("width", [0, 2])
@pytest.mark.parametrize("at", [1, 2, 5, 19, 30])
def test_a_function_whose_images_are_complex_later_leaves_the_reals(at: int, width: int) -> None:
    a, calls = normal(60, 4), 0

    def product(x: tr.Tensor) -> tr.Tensor:
        nonlocal calls
        calls += 1
        y = tl.matmul(tr.tensor(a), x) if width else tl.matvec(tr.tensor(a), x)
        return tr.convert(y, "C64") if calls >= at else y

    found = tl.eigs(product, tr.normal((60, width) if width else (60,), seed=1), k=2, batch_rank=bool(width) + 0)
    check(a, found, 2, "LM")


def test_a_complex_matrix_is_met_from_a_real_start() -> None:
    a = normal(50, 5) + 1j * normal(50, 6)
    check(a, tl.eigs(tr.tensor(a), tr.normal((50,), seed=1), k=3), 3, "LM")


def test_a_matrix_without_enough_eigenvectors_is_searched_all_the_same() -> None:
    a = np.diag(np.linspace(0, 1, 100))
    a[-3:, -3:] = [[2.0, 1.0, 0.0], [0.0, 2.0, 1.0], [0.0, 0.0, 2.0]]
    found = tl.eigs(tr.tensor(a), k=1, tol=1e-8)
    assert found.converged and abs(found.eigenvalues.to_numpy()[0] - 2) < 1e-2


@pytest.mark.parametrize("dtype", ["F32", "F64", "C32", "C64"])
@pytest.mark.parametrize("n", [1, 7, 30, 64])
@pytest.mark.parametrize("width", [0, 3])
def test_the_smallest_eigenvalues_of_a_small_space_are_never_others(n: int, width: int, dtype: str) -> None:
    near = 1e-3 if dtype[1:] == "32" else 1e-9
    for seed in range(6):
        part = 1j * normal(n, seed + 100) if dtype[0] == "C" else 0.0
        a = tr.cast(tr.tensor(normal(n, seed) + part), dtype)
        k, calls = min(n, 5), list[int]()
        width = min(width, n)
        start = tr.normal((n, width) if width else (n,), seed=seed, dtype=dtype)

        def product(x: tr.Tensor, a: tr.Tensor = a, calls: list[int] = calls) -> tr.Tensor:
            calls.append(1)
            return tl.matmul(a, x) if x.rank == 2 else tl.matvec(a, x)

        found = tl.eigs(product, start, k=k, which="SM", batch_rank=bool(width) + 0)
        assert found.iterations == len(calls) == -(-n // max(width, 1))
        values, w = np.linalg.eigvals(a.to_numpy()), found.eigenvalues.to_numpy()
        assert found.converged and w.shape == (k,)
        np.testing.assert_allclose(abs(w), np.sort(abs(values))[:k], atol=near * abs(values).max())


def test_the_smallest_eigenvalues_from_an_eigenvector_and_within_a_limit() -> None:
    a, start = tr.tensor(np.diag(np.arange(40.0, 0.0, -1.0))), tr.eye(40)[:, 7]
    found = tl.eigs(a, start, k=3, which="SM")
    assert found.converged and found.iterations == 40
    np.testing.assert_allclose(found.eigenvalues.to_numpy().real, [1, 2, 3], rtol=1e-9)
    assert not tl.eigs(a, start, k=3, which="SM", maxiter=39).converged
    told: list[int] = []
    tl.eigs(a, start, k=3, which="SM", callback=lambda progress: told.append(progress.iterations))
    assert told == [40]


def test_the_smallest_eigenvalues_of_a_larger_space_are_the_largest_of_its_inverse() -> None:
    a = normal(200, 3)
    factors = tl.lu_factor(tr.tensor(a))
    found = tl.eigs(lambda x: tl.lu_solve(factors, x), tr.normal((200,), seed=1), k=4)
    wanted = np.sort(abs(np.linalg.eigvals(a)))[:4]
    assert found.converged and found.iterations < 100
    np.testing.assert_allclose(np.sort(1 / abs(found.eigenvalues.to_numpy())), wanted, rtol=1e-6)
