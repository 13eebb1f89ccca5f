"""Where iterations stop: Ctrl-C within any product, limits on products, and arguments that are refused by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensor_linalg as tl
import tensor_runtime as tr
from tensor_core.errors import ArgumentError, DTypeError, ShapeError

N = 24
G = np.random.default_rng(3).normal(size=(N, N))
A = tr.tensor(G @ G.T / N + np.diag(np.linspace(1, 40, N)))  # Hermitian and positive definite: every method takes it
B = tr.normal((N,), seed=4)
BLOCK = tr.normal((N, 2), seed=4)
Map = Callable[[tr.Tensor], tr.Tensor]


class Counted:
    """The matrix as a function that counts its calls and is interrupted within one of them."""

    def __init__(self, interrupted_at: int = 0) -> None:
        self.calls, self._at = 0, interrupted_at

    def __call__(self, x: tr.Tensor) -> tr.Tensor:
        self.calls += 1
        if self.calls == self._at:
            raise KeyboardInterrupt
        return tl.matvec(A, x)


def product(x: tr.Tensor) -> tr.Tensor:
    return tl.matvec(A, x)


METHODS: dict[str, Callable[..., Any]] = {
    "cg": lambda a, **options: tl.cg(a, B, tol=1e-14, **options),
    "cg, x0": lambda a, **options: tl.cg(a, B, B, tol=1e-14, **options),
    "minres": lambda a, **options: tl.minres(a, B, tol=1e-14, **options),
    "minres, x0": lambda a, **options: tl.minres(a, B, B, tol=1e-14, **options),
    "gmres": lambda a, **options: tl.gmres(a, B, tol=1e-14, restart=2, **options),
    "gmres, x0": lambda a, **options: tl.gmres(a, B, B, tol=1e-14, restart=3, **options),
    "lsmr": lambda a, **options: tl.lsmr(a, B, adjoint=product, tol=1e-14, **options),
    "eigsh": lambda a, **options: tl.eigsh(a, B, k=2, basis=8, tol=1e-14, **options),
    "eigsh, no start": lambda a, **options: tl.eigsh(a, tr.zeros((N,)), k=2, basis=8, tol=1e-14, **options),
    "eigs": lambda a, **options: tl.eigs(a, B, k=2, basis=8, tol=1e-14, **options),
    "svds": lambda a, **options: tl.svds(a, B, adjoint=product, k=2, basis=8, tol=1e-14, **options),
    "eigsh, block": lambda a, **options: tl.eigsh(a, BLOCK, k=2, basis=8, batch_rank=1, tol=1e-14, **options),
    "eigs, block": lambda a, **options: tl.eigs(a, BLOCK, k=2, basis=8, batch_rank=1, tol=1e-14, **options),
    "expm_multiply": lambda a, **options: tl.expm_multiply(a, B, 1.0, basis=3, **options),
}


def check(name: str, found: Any) -> None:
    """What was found is what it says it is."""
    m = A.to_numpy()
    if name == "svds":
        s, count = found.s.to_numpy(), found.s.size
        assert found.u.shape == (N, count) and found.vh.shape == (count, N) and found.residuals.shape == (count,)
        np.testing.assert_allclose(m @ found.vh.to_numpy().T, found.u.to_numpy() * s, atol=1e-10)
    elif name.startswith("eig"):
        x, w = found.eigenvectors.to_numpy(), found.eigenvalues.to_numpy()
        assert x.shape == (N, w.size) and w.size == min(2, found.iterations * (1 + ("block" in name)))
        residuals = np.linalg.norm(m @ x - x * w, axis=0)
        np.testing.assert_allclose(found.residuals.to_numpy(), residuals, rtol=1e-6, atol=1e-9)
    elif name == "expm_multiply":
        w, v = np.linalg.eigh(m)
        wanted = v @ (np.exp(found.reached * w) * (v.T @ B.to_numpy()))
        np.testing.assert_allclose(found.x.to_numpy(), wanted, atol=1e-9 * float(np.linalg.norm(wanted)))
    else:
        rest = B.to_numpy() - m @ found.x.to_numpy()
        length = float(np.linalg.norm(m @ rest if name == "lsmr" else rest))
        assert float(found.residuals) == pytest.approx(length, rel=1e-6)


@pytest.mark.parametrize("at", range(1, 7))
@pytest.mark.parametrize("name", METHODS)
def test_ctrl_c_within_any_product_but_the_first_gives_the_best_so_far(name: str, at: int) -> None:
    a = Counted(at)
    if at == 1:
        with pytest.raises(KeyboardInterrupt):
            METHODS[name](a)
        return
    found = METHODS[name](a)
    assert found.interrupted and not found.converged and a.calls >= at
    assert found.iterations == at - 1
    check(name, found)


@pytest.mark.parametrize("at", [1, 2, 3, 4])
def test_ctrl_c_within_a_product_of_the_adjoint_or_of_a_preconditioner_is_no_different(at: int) -> None:
    solvers: dict[str, Callable[[Map], Any]] = {
        "lsmr": lambda a: tl.lsmr(product, B, adjoint=a, tol=1e-14),
        "svds": lambda a: tl.svds(product, B, adjoint=a, k=2, tol=1e-14),
        "cg": lambda a: tl.cg(product, B, B, preconditioner=a, tol=1e-14),
        "gmres": lambda a: tl.gmres(product, B, preconditioner=a, restart=2, tol=1e-14),
    }
    for name, solve in solvers.items():
        if at == 1 and name != "cg":  # which has the product for the residual of its start
            with pytest.raises(KeyboardInterrupt):
                solve(Counted(at))
        else:
            found = solve(Counted(at))
            assert found.interrupted and not found.converged
            check(name, found)


@pytest.mark.parametrize("which", ["LM", "SM"])
def test_ctrl_c_among_the_left_vectors_leaves_those_that_are_wanted_first(which: str) -> None:
    full = Counted()
    wanted = tl.svds(full, B, adjoint=product, k=3, which=which)
    for missing in (1, 2, 3):
        found = tl.svds(Counted(full.calls + 1 - missing), B, adjoint=product, k=3, which=which)
        count = 3 - missing
        assert found.interrupted and not found.converged and found.s.shape == (count,)
        kept = wanted.s.to_numpy()[:count] if which == "LM" else wanted.s.to_numpy()[3 - count :]
        np.testing.assert_allclose(found.s.to_numpy(), kept, rtol=1e-10)
        check("svds", found)


@pytest.mark.parametrize("maxiter", [1, 2, 3, 4, 5, 7])
@pytest.mark.parametrize("name", METHODS)
def test_as_many_products_as_allowed_are_made_and_no_more(name: str, maxiter: int) -> None:
    a = Counted()
    found = METHODS[name](a, maxiter=maxiter)
    assert found.iterations == maxiter and not found.converged and not found.interrupted
    left = min(2, maxiter) if name == "svds" else 0  # products for left vectors
    assert a.calls == maxiter + left
    check(name, found)


@pytest.mark.parametrize("k", [1, 2])
def test_a_limit_within_an_invariant_space_does_not_pass_for_convergence(k: int) -> None:
    a, start = tr.tensor(np.diag([3.0, 2.0, 1.0, 0.5])), tr.tensor([1.0, 0.0, 0.0, 0.0])
    assert not tl.eigsh(a, start, k=k, maxiter=1).converged
    assert not tl.eigs(a, start, k=k, which="SR", maxiter=1).converged


SYSTEMS: dict[str, Callable[..., Any]] = {
    "cg": tl.cg,
    "minres": tl.minres,
    "gmres": tl.gmres,
    "lsmr": lambda a, b, **options: tl.lsmr(a, b, adjoint=lambda x: x, **options),
}


@pytest.mark.parametrize("name", SYSTEMS)
def test_a_right_hand_side_that_is_not_finite_is_an_error_that_names_its_column(name: str) -> None:
    for value in (np.nan, np.inf):
        for b, column in (([1.0, value, 0.0], ()), ([[1.0, 1.0], [1.0, value], [0.0, 2.0]], (1,))):
            with pytest.raises(tl.NonFiniteError, match=f"{name}: the operator or the start holds NaN") as caught:
                SYSTEMS[name](lambda x: x * 1.0, tr.tensor(b), batch_rank=len(column))
            assert caught.value.batch_index == column


@pytest.mark.parametrize("name", SYSTEMS)
def test_a_right_hand_side_whose_norm_is_beyond_the_range_is_an_error_and_not_solved(name: str) -> None:
    far = np.full(4, 0.9 * np.finfo(np.float64).max)
    a = tr.tensor(np.diag([1.0, 2.0, 3.0, 4.0]))
    for b, column in ((far, ()), (np.stack([np.ones(4), far], axis=1), (1,))):
        with pytest.raises(tl.NonFiniteError, match=f"{name}: .* overflow") as caught:
            SYSTEMS[name](lambda x: tr.dot_general(a, x, contracting=([1], [0])), tr.tensor(b), batch_rank=len(column))
        assert caught.value.batch_index == column


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("name", SYSTEMS)
def test_an_image_that_is_not_finite_is_an_error_after_a_product(name: str, value: float) -> None:
    products = 0

    def function(x: tr.Tensor) -> tr.Tensor:
        nonlocal products
        products += 1
        return x * value

    with pytest.raises(tl.NonFiniteError, match=f"{name}: the operator or the start holds NaN"):
        SYSTEMS[name](function, tr.ones((3,)))
    assert products <= 2


def test_singular_values_are_refused_under_their_own_name() -> None:
    with pytest.raises(ArgumentError, match="svds: the operator is a int"):
        tl.svds(3, B, adjoint=product)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="svds: k is 25"):
        tl.svds(A, k=25)
    with pytest.raises(ArgumentError, match="svds: basis is 2"):
        tl.svds(A, basis=2)
    with pytest.raises(ArgumentError, match=r"svds: tol is -1\.0"):
        tl.svds(A, tol=-1.0)
    with pytest.raises(ArgumentError, match="svds: maxiter is 0"):
        tl.svds(A, maxiter=0)
    with pytest.raises(ShapeError, match="svds: the operator gave a NoneType"):
        tl.svds(lambda x: None, B, adjoint=product)  # type: ignore[arg-type, return-value]
    with pytest.raises(ShapeError, match=r"svds: the operator has shape \(24, 24\), for a vector of shape \(3,\)"):
        tl.svds(A, tr.ones((3,)))
    with pytest.raises(ShapeError, match="svds: the operator gave F64"):
        tl.svds(product, B, adjoint=lambda y: y[:3])


@pytest.mark.parametrize("solve", [tl.eigsh, tl.eigs, tl.svds])
def test_a_matrix_of_integers_is_refused_as_an_operator(solve: Callable[..., Any]) -> None:
    with pytest.raises(DTypeError, match=f"{solve.__name__}: the operator is I64; accepted: C32, C64, F32, F64"):
        solve(tr.tensor([[1, 0], [0, 2]]))


@pytest.mark.parametrize("hermitian", [True, False])
@pytest.mark.parametrize(
    ("dtype", "t", "tol", "error"),
    [
        ("F64", -30.0, None, 1e-20),
        ("F64", -30.0, 1e-6, 1e-15),
        ("F32", -30.0, None, 1e-12),
        ("F32", -10j, None, 1e-3),
        ("F64", -10j, None, 1e-11),
    ],
)
def test_exponentials_of_stiff_maps_are_gone_through_in_many_short_parts(
    hermitian: bool, dtype: str, t: complex, tol: float | None, error: float
) -> None:
    d = tr.arange(1, 200, dtype=dtype)
    found = tl.expm_multiply(
        lambda x: x * d, tr.ones(199, dtype=dtype), t, hermitian=hermitian, tol=tol, maxiter=10_000
    )
    assert found.converged
    assert np.abs(found.x.to_numpy() - np.exp(t * np.arange(1.0, 200.0))).max() < error


@pytest.mark.parametrize("hermitian", [True, False])
def test_an_exponential_beyond_the_range_is_an_error(hermitian: bool) -> None:
    a = tr.tensor([[2.0, 1.0], [1.0, 3.0]])
    with pytest.raises(tl.NonFiniteError, match=r"expm_multiply: .* overflow"):
        tl.expm_multiply(a, tr.ones(2), 200.0, hermitian=hermitian)


def answering(value: Any) -> Callable[[tl.Progress], Any]:
    return lambda progress: value


@pytest.mark.parametrize("true", [True, np.True_, np.array(True), tr.tensor(True)])
def test_a_callback_that_answers_anything_true_stops(true: Any) -> None:
    assert tl.cg(A, B, callback=answering(true)).iterations == 0
    assert tl.minres(A, B, callback=lambda progress: progress.residuals < np.inf).iterations == 0
    for false in (None, False, np.False_, tr.tensor(False)):
        assert tl.cg(A, B, callback=answering(false)).converged


@pytest.mark.parametrize("answer", ["stop", 1, [True], tr.tensor([True]), tr.tensor(1.0)])
def test_a_callback_that_answers_what_is_no_truth_value_is_refused(answer: Any) -> None:
    for solver in (tl.cg, tl.eigsh):
        with pytest.raises(ArgumentError, match=rf"{solver.__name__}: the callback answered .*; accepted: None, False"):
            solver(A, B, callback=answering(answer))
