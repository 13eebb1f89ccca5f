"""Iterative solvers beside NumPy and SciPy: dtypes, shapes, batches, stops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse.linalg

import tensor_linalg as tl
import tensor_runtime as tr
from drawn_matrices import DTYPES, matrix
from tensor_core.errors import ArgumentError, ShapeError
from tensor_linalg import NotPositiveDefiniteError
from tensor_runtime.errors import ForeignOperandError

TIGHT: dict[tr.DType, float] = {tr.F32: 2e-6, tr.F64: 1e-12, tr.C32: 2e-6, tr.C64: 1e-12}
SOLVERS: dict[str, Callable[..., Any]] = {"cg": tl.cg, "minres": tl.minres, "gmres": tl.gmres, "lsmr": tl.lsmr}


KINDS = {"cg": "definite", "minres": "indefinite", "gmres": "general", "lsmr": "general"}


def given(name: str, a: tr.Tensor, shape: tuple[int, ...], batch: tuple[int, ...]) -> tuple[Any, dict[str, Any]]:
    """The matrix as a function of tensors of that shape, with its adjoint where one is needed."""

    def function_of(m: tr.Tensor) -> Callable[[tr.Tensor], tr.Tensor]:
        def apply(x: tr.Tensor) -> tr.Tensor:
            assert x.shape == (*shape, *batch)
            return tr.tensordot(m, x.reshape((m.shape[1], *batch)), axes=1).reshape(x.shape)

        return apply

    return function_of(a), {"adjoint": function_of(tl.mH(a))} if name == "lsmr" else {}


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", SOLVERS)
def test_a_matrix_and_a_function_on_tensors_of_any_rank_give_the_solution(name: str, dtype: Any) -> None:
    a = matrix(KINDS[name], 24, dtype)
    wanted = tr.normal((2, 3, 4), seed=3, dtype=dtype)
    b = tr.tensordot(a, wanted.reshape((24,)), axes=1).reshape((2, 3, 4))
    function, options = given(name, a, (2, 3, 4), ())
    for operator, more in ((function, options), (a.reshape((2, 3, 4, 2, 3, 4)), {})):
        found = SOLVERS[name](operator, b, tol=TIGHT[dtype], **more)
        assert found.converged and not found.interrupted and found.x.shape == (2, 3, 4) and found.x.dtype is dtype
        assert found.iterations <= 40
        assert float(tr.norm(found.x - wanted)) <= 60 * TIGHT[dtype] * float(tr.norm(wanted))


@pytest.mark.parametrize("name", SOLVERS)
def test_each_column_is_solved_with_numbers_of_its_own(name: str) -> None:
    a = matrix(KINDS[name], 12, tr.C64)
    scales = tr.tensor([1.0, 1e-9, 0.0, 1e9]).reshape((2, 2))
    b = tr.normal((3, 4, 2, 2), seed=4, dtype="C64") * scales
    function, options = given(name, a, (3, 4), (2, 2))
    found = SOLVERS[name](function, b, tol=1e-11, batch_rank=2, **options)
    assert found.converged and found.residuals.shape == (2, 2)
    for i in range(2):
        for j in range(2):
            alone = SOLVERS[name](a.reshape((3, 4, 3, 4)), b[..., i, j], tol=1e-11)
            scale = max(float(tr.norm(alone.x)), 1e-300)
            assert float(tr.norm(found.x[..., i, j] - alone.x)) <= 1e-9 * scale
            assert alone.converged and alone.iterations <= found.iterations


@pytest.mark.parametrize("name", ["cg", "minres", "gmres"])
def test_a_start_near_the_solution_needs_fewer_products(name: str) -> None:
    a = matrix(KINDS[name], 30, tr.F64)
    wanted = tr.normal((30,), seed=5)
    b = tl.matvec(a, wanted)
    cold = SOLVERS[name](a, b, tol=1e-8)
    warm = SOLVERS[name](a, b, wanted + 1e-6 * tr.normal((30,), seed=6), tol=1e-8)
    assert cold.converged and warm.converged and warm.iterations < cold.iterations
    np.testing.assert_allclose(warm.x.to_numpy(), wanted.to_numpy(), atol=1e-6)


@pytest.mark.parametrize("name", ["cg", "gmres"])
def test_a_preconditioner_saves_products(name: str) -> None:
    graded = tr.tensor([10.0 ** (k / 8) for k in range(40)])
    a = tr.embed_diagonal(graded) + matrix("definite", 40, tr.F64) * 0.1
    b = tr.normal((40,), seed=7)
    plain = SOLVERS[name](a, b, tol=1e-9)
    better = SOLVERS[name](a, b, tol=1e-9, preconditioner=lambda x: x / graded)
    assert plain.converged and better.converged and 2 * better.iterations < plain.iterations
    np.testing.assert_allclose(better.x.to_numpy(), np.linalg.solve(a.to_numpy(), b.to_numpy()), rtol=1e-5, atol=1e-9)


@pytest.mark.parametrize("name", ["cg", "minres", "gmres"])
def test_as_many_products_are_made_as_scipy_makes(name: str) -> None:
    a, b = matrix("definite", 60, tr.F64), tr.normal((60,), seed=8)
    calls = 0

    def product(x: Any) -> Any:
        nonlocal calls
        calls += 1
        return a.to_numpy() @ x

    operator = scipy.sparse.linalg.LinearOperator((60, 60), matvec=product, dtype=float)
    theirs = getattr(scipy.sparse.linalg, name)(operator, b.to_numpy(), rtol=1e-8)[0]
    ours = SOLVERS[name](a, b, tol=1e-8)
    assert ours.iterations <= calls + 3  # of which one makes sure of the residual
    assert float(tr.norm(b - tl.matvec(a, ours.x))) <= 1.01e-8 * float(tr.norm(b))
    np.testing.assert_allclose(ours.x.to_numpy(), theirs, atol=1e-6)


def test_minres_shifts_and_gmres_restarts() -> None:
    a, b = matrix("indefinite", 30, tr.C64), tr.normal((30,), seed=9)
    shifted = a.to_numpy() - 0.3 * np.eye(30)
    found = tl.minres(a, b, tr.ones((30,)), shift=0.3, tol=1e-11)
    np.testing.assert_allclose(found.x.to_numpy(), np.linalg.solve(shifted, b.to_numpy()), atol=1e-8)
    general = matrix("general", 30, tr.F64)
    restarted = tl.gmres(general, b, restart=4, tol=1e-10)
    whole = tl.gmres(general, b, restart=30, tol=1e-10)
    assert restarted.converged and whole.converged and whole.iterations < restarted.iterations
    np.testing.assert_allclose(restarted.x.to_numpy(), np.linalg.solve(general.to_numpy(), b.to_numpy()), atol=1e-8)


@pytest.mark.parametrize("shape", [(15, 6), (6, 15)])
@pytest.mark.parametrize("damp", [0.0, 0.7])
def test_lsmr_finds_the_shortest_least_squares_solution(shape: tuple[int, int], damp: float) -> None:
    a, b = tr.normal(shape, seed=10, dtype="C64"), tr.normal((shape[0],), seed=11, dtype="C64")
    found = tl.lsmr(a, b, damp=damp, tol=1e-13)
    m = a.to_numpy()
    stacked = np.vstack([m, damp * np.eye(shape[1])]) if damp else m
    right = np.concatenate([b.to_numpy(), np.zeros(shape[1])]) if damp else b.to_numpy()
    np.testing.assert_allclose(found.x.to_numpy(), np.linalg.lstsq(stacked, right)[0], atol=1e-10)


@pytest.mark.parametrize("name", SOLVERS)
def test_a_zero_right_hand_side_needs_no_iteration_and_an_empty_one_no_elements(name: str) -> None:
    found = SOLVERS[name](tr.eye(3), tr.zeros((3,)))
    assert found.converged and not found.x.to_numpy().any() and float(found.residuals) == 0
    assert SOLVERS[name](tr.zeros((0, 0)), tr.zeros((0,))).x.shape == (0,)
    assert SOLVERS[name](tr.eye(3), tr.zeros((3, 0))).x.shape == (3, 0)


@pytest.mark.parametrize("name", ["cg", "minres", "gmres"])
def test_a_zero_right_hand_side_is_solved_by_zero_wherever_the_others_start(name: str) -> None:
    a, start = matrix(KINDS[name], 20, tr.F64), tr.normal((20, 2), seed=13)
    b = tr.normal((20, 2), seed=14) * tr.tensor([0.0, 1.0])
    found = SOLVERS[name](a, b, start, tol=1e-9, batch_rank=1)
    assert found.converged and found.iterations <= 30
    assert not found.x[:, 0].to_numpy().any() and float(found.residuals[0]) == 0.0
    np.testing.assert_allclose(found.x[:, 1].to_numpy(), np.linalg.solve(a.to_numpy(), b[:, 1].to_numpy()), atol=1e-7)
    assert SOLVERS[name](a, b[:, 0], start[:, 0]).iterations == 1  # the residual of the start
    with pytest.raises(tl.NonFiniteError):
        SOLVERS[name](a, b[:, 0] + float("nan"), start[:, 0])


@pytest.mark.parametrize("name", SOLVERS)
def test_ctrl_c_gives_the_best_so_far_and_a_callback_stops(name: str) -> None:
    a, wanted = matrix(KINDS[name], 40, tr.F64), tr.normal((40,), seed=12)
    b = tl.matvec(a, wanted)
    seen: list[float] = []

    def interrupting(progress: tl.Progress) -> None:
        seen.append(float(progress.residuals))
        if len(seen) == 6:
            raise KeyboardInterrupt

    found = SOLVERS[name](a, b, tol=1e-14, callback=interrupting)
    assert found.interrupted and not found.converged and len(seen) == 6 and seen[-1] < seen[0]
    assert float(tr.norm(found.x - wanted)) < 0.9 * float(tr.norm(wanted))
    stopped = SOLVERS[name](a, b, tol=1e-14, callback=lambda progress: progress.iterations >= 4)
    assert not stopped.interrupted and not stopped.converged and stopped.iterations in (4, 5)
    limited = SOLVERS[name](a, b, tol=1e-14, maxiter=3)
    assert not limited.converged and limited.iterations in (3, 4)


@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.parametrize(
    ("dtype", "scale"), [(tr.F64, 1e-200), (tr.F64, 1e200), (tr.F32, 1e-24), (tr.F32, 1e20), (tr.F32, 1e24)], ids=str
)
def test_the_sizes_of_a_matrix_and_of_a_right_hand_side_do_not_matter(name: str, dtype: Any, scale: float) -> None:
    m, b = np.array([[2.0, 1.0, 0.0], [1.0, 3.0, 1.0], [0.0, 1.0, 4.0]]), np.array([1.0, -2.0, 3.0])
    wanted = np.linalg.solve(m, b)
    for of_matrix, of_right in ((scale, 1.0), (1.0, scale), (scale, scale)):
        operator, right = (tr.cast(tr.tensor(one), dtype) for one in (m * of_matrix, b * of_right))
        found = SOLVERS[name](operator, right, tol=1e-6)
        assert found.converged
        np.testing.assert_allclose(found.x.to_numpy() * (of_matrix / of_right), wanted, rtol=2e-5)


@pytest.mark.parametrize("dtype", [tr.F32, tr.F64], ids=str)
def test_conjugate_gradients_go_on_to_rounding_without_calling_it_indefinite(dtype: Any) -> None:
    a, b = tr.cast(tr.tensor(np.diag([1.0, 2.0, 3.0])), dtype), tr.ones((3,), dtype=dtype)
    found = tl.cg(a, b, tol=0.0, maxiter=200)
    np.testing.assert_allclose(found.x.to_numpy(), [1, 1 / 2, 1 / 3], rtol=1e-6)


@pytest.mark.parametrize("seed", [4, 11, 20, 33])
def test_conjugate_gradients_rest_where_squares_of_residuals_would_vanish(seed: int) -> None:
    rng = np.random.default_rng(seed)
    q = np.linalg.qr(rng.normal(size=(30, 30)))[0]
    a = ((q * np.logspace(0, -2, 30)) @ q.T).astype("float32")
    a, b = (a + a.T) / 2, rng.normal(size=30).astype("float32")
    found = tl.cg(tr.asarray(a), tr.asarray(b), tol=0.0)
    assert not found.converged and found.iterations < 500
    assert np.linalg.norm(a @ found.x.to_numpy() - b) <= 1e-5 * np.linalg.norm(b)


def test_squares_that_are_rounding_alone_do_not_show_an_operator_indefinite() -> None:
    hilbert = tr.tensor([[1 / (i + j + 1) for j in range(12)] for i in range(12)])  # of condition 1e16
    found = tl.cg(hilbert, tr.ones(12))
    assert not found.converged
    assert np.linalg.norm(hilbert.to_numpy() @ found.x.to_numpy() - 1) <= 0.01
    nearly = [[0.5479125380516052, 0.4976990818977356], [0.4976990818977356, 0.4520874619483948]]  # 1 and 1e-8
    a, b = (tr.asarray(np.array(part, "float32")) for part in (nearly, [0, -3]))
    assert not tl.cg(a, b).converged  # p · A p is exactly zero


def test_conjugate_gradients_tell_which_map_is_not_positive_definite_and_for_which_column() -> None:
    a, indefinite = tr.eye(2), tr.tensor([[1.0, 0.0], [0.0, -1.0]])
    b = tr.tensor([[1.0, 1.0], [0.0, 2.0]])
    with pytest.raises(NotPositiveDefiniteError, match=r"operator .* batch index \(1,\) shows; minres") as caught:
        tl.cg(indefinite, b)
    assert caught.value.operation == "cg" and caught.value.batch_index == (1,)
    with pytest.raises(NotPositiveDefiniteError, match=r"preconditioner .* leave it out") as caught:
        tl.cg(a * 2.0, b[:, 1], preconditioner=indefinite)
    assert caught.value.operation == "cg" and caught.value.batch_index == ()
    with pytest.raises(NotPositiveDefiniteError, match="operator"):  # p · A p is exactly zero
        tl.cg(tr.tensor([[0.0, 1.0], [1.0, 0.0]]), tr.tensor([1.0, 0.0]))
    with pytest.raises(NotPositiveDefiniteError, match="operator"):  # so is it here, of terms that are not
        tl.cg(indefinite, tr.ones(2))
    with pytest.raises(NotPositiveDefiniteError, match="operator"):
        tl.cg(tr.zeros((2, 2)), tr.ones(2))


def test_what_a_function_gives_is_checked() -> None:
    with pytest.raises(ShapeError, match=r"cg: the operator gave F64 of shape \(3,\) for a tensor of shape \(2,\)"):
        tl.cg(lambda x: tr.zeros((3,)), tr.ones((2,)))
    with pytest.raises(ArgumentError, match="gave a NoneType"):
        tl.gmres(lambda x: None, tr.ones((2,)))  # type: ignore[arg-type, return-value]
    with pytest.raises(ArgumentError, match="the operator is a str"):
        tl.minres("a", tr.ones((2,)))  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="accepted: adjoint="):
        tl.lsmr(lambda x: x, tr.ones((2,)))
    with pytest.raises(ShapeError, match="x0 is"):
        tl.cg(tr.eye(2), tr.ones((2,)), tr.ones((3,)))
    with pytest.raises(ArgumentError, match="batch_rank is 2"):
        tl.cg(lambda x: x, tr.ones((2,)), batch_rank=2 + 0)


@pytest.mark.parametrize("name", ["cg", "minres", "gmres"])
def test_no_solver_says_that_it_solved_a_singular_system_that_has_no_solution(name: str) -> None:
    rng = np.random.default_rng(0)
    said = {True: 0, False: 0}
    for _ in range(300):
        size = int(rng.integers(2, 6))
        a = rng.integers(-2, 3, (size, size)).astype(float)
        a = a @ a.T if name == "cg" else a + a.T
        b = rng.standard_normal(size)
        try:
            found = SOLVERS[name](tr.asarray(a), tr.asarray(b))
        except NotPositiveDefiniteError:
            said[False] += 1
            continue
        said[found.converged] += 1
        if found.converged:
            assert np.linalg.norm(a @ found.x.to_numpy() - b) <= 1e-6 * np.linalg.norm(b)
    assert min(said.values()) > 10


@pytest.mark.parametrize("part", [4e-3, 1e-6, 1e-9])
def test_minimal_residuals_of_a_singular_map_do_not_run_away_and_are_told_truly(part: float) -> None:
    g = np.random.default_rng(1).standard_normal((3, 3))
    q = np.linalg.qr(g)[0]
    a = (q * [0.0, -1.0, -1.0]) @ q.T
    b = q @ np.array([[part, 0.0], [1.0, 0.5], [0.3, 2.0]])
    found = tl.minres(tr.asarray(np.asfortranarray(a)), tr.asarray(np.asfortranarray(b)), batch_rank=1, tol=1e-12)
    missed = np.linalg.norm(b - a @ found.x.to_numpy(), axis=0)
    assert not found.converged
    assert missed[0] <= 2.0 * np.linalg.norm(b[:, 0]) and missed[1] <= 1e-11
    np.testing.assert_allclose(found.residuals.to_numpy(), missed, rtol=1e-3, atol=1e-11)


def test_minimal_residuals_of_a_system_without_solution_keep_two_products_for_the_last_look() -> None:
    n = 20
    neumann = 2 * np.eye(n) - np.eye(n, k=1) - np.eye(n, k=-1)
    neumann[0, 0] = neumann[-1, -1] = 1
    b = np.zeros(n)
    b[0], b[n // 3] = 1, 0.5
    for maxiter in (20, 21, 22, 50, 1000):
        found = tl.minres(tr.asarray(neumann), tr.asarray(b), maxiter=maxiter)
        x = found.x.to_numpy()
        assert not found.converged and found.iterations <= maxiter and abs(x).max() < 1e3
        missed = np.linalg.norm(b - neumann @ x)
        assert missed <= np.linalg.norm(b) and float(found.residuals) == pytest.approx(missed, rel=1e-6)
        assert missed >= 0.999 * abs(b.sum()) / n**0.5  # what of b no image has


@pytest.mark.parametrize("seed", range(40))
def test_minimal_residuals_of_random_singular_maps_are_told_truly(seed: int) -> None:
    rng = np.random.default_rng(seed)
    q = np.linalg.qr(rng.standard_normal((6, 6)))[0]
    a = (q * [0.0, *rng.standard_normal(5)]) @ q.T
    a, b = a + a.T, rng.standard_normal(6)
    for maxiter in (5, 6, 7, 8, 1000):
        found = tl.minres(tr.asarray(a), tr.asarray(b), maxiter=maxiter)
        missed = np.linalg.norm(b - a @ found.x.to_numpy())
        assert not found.converged and missed <= 1.001 * np.linalg.norm(b)
        assert float(found.residuals) == pytest.approx(missed, rel=1e-2)


@pytest.mark.parametrize("dtype", ["F32", "F64", "C32", "C64"])
def test_minimal_residuals_of_larger_singular_maps_stay_the_least(dtype: str) -> None:
    rng, accuracy = np.random.default_rng(3), 1e-2 if dtype in ("F32", "C32") else 1e-6
    drawn = rng.standard_normal((40, 40)) + (1j * rng.standard_normal((40, 40)) if dtype[0] == "C" else 0.0)
    q = np.linalg.qr(drawn)[0]
    a = (q * np.r_[np.zeros(6), rng.uniform(0.1, 1.0, 34)]) @ q.conj().T
    b = drawn @ rng.standard_normal((40, 3)) / 40
    b[:, 1] = a @ b[:, 1]  # beside two that have no solution
    of_a, of_b = (tr.cast(tr.tensor(x), getattr(tr, dtype)) for x in (a, b))
    least = np.linalg.norm(q[:, :6].conj().T @ b, axis=0)
    for maxiter in (60, 1000):
        found = tl.minres(of_a, of_b, batch_rank=1, maxiter=maxiter)
        missed = np.linalg.norm(b - a @ found.x.to_numpy(), axis=0)
        assert not found.converged and found.iterations <= min(maxiter, 600)
        np.testing.assert_allclose(missed, least, rtol=accuracy, atol=accuracy)
        np.testing.assert_allclose(found.residuals.to_numpy(), missed, rtol=accuracy, atol=accuracy)


def test_minimal_residuals_of_a_grid_that_keeps_its_mean() -> None:
    """The second difference without values at the border: constants are its kernel, and b has a part there."""

    def apply(x: tr.Tensor) -> tr.Tensor:
        wider = np.pad(x.to_numpy(), 1, mode="edge")
        around = wider[2:, 1:-1] + wider[:-2, 1:-1] + wider[1:-1, 2:] + wider[1:-1, :-2]
        return tr.tensor(4 * x.to_numpy() - around)

    b = tr.normal((8, 8), seed=1)
    found = tl.minres(apply, b)
    missed = tr.norm(b - apply(found.x)).item()
    assert not found.converged and found.iterations < 600
    assert missed == pytest.approx(abs(tr.sum(b).item()) / 8, rel=1e-6) == found.residuals.item()


def test_an_x_that_only_rounding_makes_better_is_not_taken() -> None:
    q = np.linalg.qr(np.random.default_rng(24).standard_normal((5, 5)))[0]
    a = (q * [0.0, 1.0, 2.0, 3.0, 4.0]) @ q.T
    found = tl.minres(tr.asarray(a), tr.ones(5))
    assert not found.converged and abs(found.x.to_numpy()).max() < 1e6
    assert float(found.residuals) >= 0.999 * abs(q[:, 0].sum())  # what of b no image has


def test_the_first_residual_of_a_shifted_system_is_computed_in_its_own_precision() -> None:
    a, b, shift = np.array([[2.0, 1.0], [1.0, -3.0]]), np.array([1.0, 2.0]), 0.3
    start = tr.tensor([0.1, 0.7], dtype="F32")
    found = tl.minres(tr.asarray(a), tr.asarray(b), start, shift=shift, tol=1e-14)
    assert found.converged
    assert np.linalg.norm(b - (a - shift * np.eye(2)) @ found.x.to_numpy()) <= 1e-14


@pytest.mark.parametrize("name", SOLVERS)
def test_the_dtype_of_a_solution_is_that_of_the_map_and_the_right_hand_side_whatever_their_values(name: str) -> None:
    a = tr.tensor([[2.0, 1j], [-1j, 3.0]])
    for b in (tr.zeros(2), tr.tensor([1.0, 0.0]), tr.zeros(2, dtype="F32")):
        found = SOLVERS[name](a, b)
        assert found.x.dtype is tr.C64 and found.residuals.dtype is tr.F64
    if name != "lsmr":
        zero = tr.zeros(2)
        assert SOLVERS[name](tr.eye(2) * 2.0, zero, tr.ones(2, dtype="F32")).x.dtype is tr.F64
        assert SOLVERS[name](tr.eye(2) * 2.0, zero, tr.ones(2, dtype="C32")).x.dtype is tr.C64
    if name in ("cg", "gmres"):
        assert SOLVERS[name](tr.eye(2), tr.zeros(2), preconditioner=tr.eye(2, dtype="C64")).x.dtype is tr.C64


@pytest.mark.parametrize(
    ("dtype", "power"), [("F64", -1030), ("F64", -1060), ("C64", -1030), ("C64", -1060), ("F32", -140), ("C32", -140)]
)
@pytest.mark.parametrize("name", SOLVERS)
def test_a_subnormal_right_hand_side_is_solved_to_its_own_digits(name: str, dtype: str, power: int) -> None:
    """In the first of two columns, beside one of ordinary size."""
    a = matrix("definite", 6, tr.F64)
    half, near = 2.0 ** (power // 2), 1e-3 if dtype[1:] == "32" else 1e-7
    wide = tr.normal((6, 2), seed=4, dtype="C64" if dtype[0] == "C" else "F64")
    b = tr.cast(wide * tr.tensor([half, 1.0]) * tr.tensor([half, 1.0]), dtype)
    seen: list[float] = []
    options: dict[str, Any] = {"maxiter": 40, "callback": lambda told: seen.append(float(told.residuals[0]))}
    found = SOLVERS[name](tr.cast(a, dtype), b, **options)
    assert found.converged and found.iterations < 20
    x, right = (one.to_numpy().astype(complex) * [1 / half, 1] * [1 / half, 1] for one in (found.x, b))
    missed = abs(x - np.linalg.solve(a.to_numpy(), right)).max(axis=0)
    quantum = 2.0 ** ((-149 if dtype[1:] == "32" else -1074) - power)
    assert missed[0] <= near + 2 * quantum and missed[1] <= near
    assert max(seen) <= 1e3 * half * half


@pytest.mark.parametrize("name", ["cg", "minres", "gmres"])
def test_a_start_that_is_no_tensor_is_named(name: str) -> None:
    start: Any = np.ones(2)
    with pytest.raises(ForeignOperandError, match=f"{name}: x0 is a ndarray; accepted: a tensor"):
        SOLVERS[name](tr.eye(2), tr.ones(2), start)
    with pytest.raises(ShapeError, match=rf"{name}: x0 is of shape \(3,\); accepted: a tensor of shape \(2,\)"):
        SOLVERS[name](tr.eye(2), tr.ones(2), tr.ones(3))
