"""Systems whose operator and right-hand side are of very different sizes: solved, or said to have no solution here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensor_linalg as tl
import tensor_runtime as tr

SOLVERS: dict[str, Callable[..., Any]] = {"cg": tl.cg, "minres": tl.minres, "gmres": tl.gmres, "lsmr": tl.lsmr}
DTYPES = ("float32", "float64", "complex64", "complex128")
Long = np.longdouble


def system(seed: int, dtype: str) -> tuple[Any, Any]:
    """A matrix of a condition of at most 4, and right-hand sides, of drawn sizes from subnormal to the largest."""
    rng = np.random.default_rng(seed)
    n, columns = int(rng.integers(1, 7)), int(rng.integers(1, 4))
    most = 36 if dtype in ("float32", "complex64") else 306
    q = np.linalg.qr(rng.normal(size=(n, n)))[0]
    sizes = Long(10) ** rng.uniform(-most - 6, most, columns + 1).astype(Long)
    a = ((q * rng.uniform(1, 4, n)) @ q.T).astype(Long) * sizes[0]
    return ((a + a.T) / 2).astype(dtype), (rng.normal(size=(n, columns)).astype(Long) * sizes[1:]).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", SOLVERS)
def test_solutions_within_the_range_are_found_and_others_are_not_said_to_be(name: str, dtype: str) -> None:
    info, answers = np.finfo(dtype), set[bool]()
    for seed in range(60):
        a, b = system(seed, dtype)
        size, length = abs(a).max(), np.linalg.norm(b.real.astype(Long), axis=0)
        if size < 1e6 * info.smallest_subnormal or 1e3 * size > info.max or (1e3 * length > info.max).any():
            continue  # few digits, or products beyond the range
        wanted = np.linalg.inv((a.real / size).astype(float)) @ (b.real.astype(Long) / size)
        found = SOLVERS[name](tr.asarray(np.asfortranarray(a)), tr.asarray(np.asfortranarray(b)), maxiter=200)
        x = found.x.to_numpy()
        assert np.isfinite(x).all()
        norm = np.linalg.norm(wanted, axis=0)
        missed = np.linalg.norm(x.real.astype(Long) - wanted, axis=0)
        digits = 300 * info.smallest_subnormal / np.maximum(length, info.smallest_subnormal)
        right = (missed <= norm * (20 * info.eps**0.5 + digits)).all()
        inside = (norm < info.max / 2).all() and ((norm > info.tiny / info.eps) | (length == 0)).all()
        assert right or not found.converged, seed
        assert found.converged or not inside, seed
        answers.add(found.converged)
    assert answers == {True, False}


@pytest.mark.parametrize("power", [150, -150])
@pytest.mark.parametrize("name", SOLVERS)
def test_a_column_whose_solution_is_beyond_the_range_stays_at_its_start_beside_others(name: str, power: int) -> None:
    a = tr.tensor(np.diag([1.0, 2.0]) * 10.0 ** (-power * 4 // 3))
    b = tr.tensor([[1.0, 10.0**power, 2.0], [4.0, 10.0**power, 2.0]])
    alone, found = SOLVERS[name](a, b[:, ::2]), SOLVERS[name](a, b)
    assert alone.converged and not found.converged
    assert found.x[:, ::2].to_numpy() == pytest.approx(alone.x.to_numpy(), rel=1e-14)
    assert not found.x[:, 1].to_numpy().any()
    rest = a.to_numpy() @ b[:, 1].to_numpy() if name == "lsmr" else b[:, 1].to_numpy()
    assert float(found.residuals[1]) == pytest.approx(float(np.linalg.norm(rest)))
    if name != "lsmr":
        start = tr.tensor([[0.0, 3.0, 0.0], [0.0, 3.0, 0.0]])
        assert power < 0 or SOLVERS[name](a, b, start).x[:, 1].to_numpy().tolist() == [3.0, 3.0]


@pytest.mark.parametrize("name", SOLVERS)
def test_a_solution_that_is_lost_as_its_power_of_two_is_taken_off_has_not_converged(name: str) -> None:
    """The right-hand side is so small that it is iterated times a power of two."""
    a, b = tr.tensor(np.diag([1.0, 2.0])), tr.ones((2,)) * 1e-300
    lost = SOLVERS[name](a * 1e20, b)
    assert not lost.converged and float(lost.residuals) > 1e-6 * float(tr.norm(b))
    kept = SOLVERS[name](a * 1e5, b)
    assert kept.converged and kept.x.to_numpy() == pytest.approx([1e-305, 5e-306], rel=1e-6, abs=0)
    assert SOLVERS[name](a, b * 1e-20).converged  # of few digits, as its right-hand side


def test_residuals_told_of_a_limit_count_as_converged_nowhere() -> None:
    a, b = tr.tensor([[4.0, 1.0], [2.0, 3.0]]), tr.tensor([1.0, 2.0])
    for maxiter in range(1, 4):
        found = tl.gmres(a, b, maxiter=maxiter)
        assert found.iterations == maxiter and found.converged == (maxiter == 3)


def test_damped_least_squares_of_a_tiny_operator_are_looked_at_with_their_damping() -> None:
    a = np.diag([1.0, 2.0]) * 1e-200
    b, scale = np.array([1e-115, 2e-115]), 1e-200
    found = tl.lsmr(tr.tensor(a), tr.tensor(b), damp=3 * scale)
    wanted = np.linalg.solve(np.diag([1.0, 4.0]) + 9 * np.eye(2), np.array([1.0, 4.0])) * 1e85
    assert found.converged and found.x.to_numpy() == pytest.approx(wanted, rel=1e-7)
    huge = tl.lsmr(tr.tensor(np.diag([1e150, 2e150])), tr.tensor([1e-170, 2e-170]), damp=3e150)
    assert not huge.converged and float(huge.residuals) > 0


@pytest.mark.parametrize(
    ("dtype", "scale", "damp"),
    [("F32", 1e-22, 1.0), ("F32", 1e-20, 1e3), ("F32", 1.0, 1e25), ("F64", 1e-170, 1.0), ("F64", 1.0, 1e162)],
)
def test_a_solution_that_damping_makes_subnormal_on_the_way_has_not_converged(
    dtype: str, scale: float, damp: float
) -> None:
    a = tr.tensor([[scale, 0.0], [0.0, 2 * scale]], dtype=dtype)
    found = tl.lsmr(a, tr.tensor([3.0, 4.0], dtype=dtype), damp=damp)
    assert not found.converged
    assert 0 < float(found.residuals) <= 10 * scale
    assert tl.lsmr(a, tr.tensor([0.0, 0.0], dtype=dtype), damp=damp).converged


@pytest.mark.parametrize("width", [0, 2])
@pytest.mark.parametrize(("dtype", "power"), [("F64", -1040), ("C64", -1040), ("F32", -136), ("C32", -136)])
def test_vectors_of_a_subnormal_map_are_as_orthonormal_as_any(dtype: str, power: int, width: int) -> None:
    """Its elements are small multiples of a subnormal number, so that it is the multiple of a map of whole numbers."""
    n, k, half = 24, 3, 2.0 ** (power // 2)
    near = 1e-5 if dtype[1:] == "32" else 1e-12
    whole = np.rint(np.random.default_rng(3).normal(size=(n, n)) * 8)
    start = tr.normal((n, width) if width else (n,), seed=1, dtype=dtype)
    options: dict[str, Any] = {"k": k, "batch_rank": bool(width) + 0}
    told: list[tl.Progress] = []

    def tiny(a: Any) -> tr.Tensor:
        return tr.cast(tr.tensor(a) * half * half, dtype)

    def size(x: tr.Tensor) -> Any:
        return x.to_numpy().astype(complex) / half / half

    a = whole + whole.T
    found = tl.eigsh(tiny(a), start, callback=told.append, **options)
    x, w = found.eigenvectors.to_numpy(), size(found.eigenvalues)
    assert found.converged
    np.testing.assert_allclose(x.conj().T @ x, np.eye(k), atol=near)
    np.testing.assert_allclose(np.sort(w.real), np.linalg.eigvalsh(a)[:k], atol=1.0)  # the least number, or near it
    np.testing.assert_allclose(a @ x, x * np.sum(x.conj() * (a @ x), axis=0), atol=200 * near * abs(a).max())
    assert told[-1].values is not None and abs(size(told[-1].values)).max() <= 2 * abs(w).max()

    pairs = tl.eigs(tiny(whole), start, **options)
    x, w = pairs.eigenvectors.to_numpy(), size(pairs.eigenvalues)
    assert pairs.converged
    np.testing.assert_allclose(np.linalg.norm(x, axis=0), 1, atol=near)
    wanted = np.sort(abs(np.linalg.eigvals(whole)))[::-1][:k]
    np.testing.assert_allclose(np.sort(abs(w))[::-1], wanted, atol=2.0)

    for one in (whole, whole[: n // 2]):
        triplets = tl.svds(tiny(one), start, **options)
        assert triplets.converged
        vh = triplets.vh.to_numpy()
        np.testing.assert_allclose(vh @ vh.conj().T, np.eye(k), atol=near)
        np.testing.assert_allclose(size(triplets.s).real, np.linalg.svd(one)[1][:k], atol=1.0)


def test_a_subnormal_map_is_searched_with_one_product_and_without_a_second_one() -> None:
    a = tr.tensor(np.diag(np.linspace(1.0, 2.0, 9)) * 1e-312)
    for search in (tl.eigsh, tl.eigs):
        found = search(a, tr.ones(9), maxiter=1)
        assert found.iterations == 1 and not found.converged and found.eigenvalues.shape == (1,)
        assert abs(found.eigenvalues.to_numpy()[0]) == pytest.approx(1.5e-312, rel=1e-10)
