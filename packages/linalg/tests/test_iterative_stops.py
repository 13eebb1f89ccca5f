"""Where iterations stop: Ctrl-C within any product, limits on products, and arguments that are refused by name."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from types import FrameType
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
            with pytest.raises(tl.NonFiniteError, match=f"{name}: the operator, b or the start holds NaN") as caught:
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

    with pytest.raises(tl.NonFiniteError, match=f"{name}: the operator, b or the start holds NaN"):
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
    with pytest.raises(ArgumentError, match="svds: the operator gave a NoneType"):
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


@pytest.mark.parametrize("hermitian", [True, False])
@pytest.mark.parametrize("t", [2.0**70, 1e300])
def test_a_time_of_which_no_part_is_short_enough_is_refused(hermitian: bool, t: float) -> None:
    a = tr.tensor(np.diag(np.arange(1.0, 6.0)))
    with pytest.raises(ArgumentError, match=r"expm_multiply: t times the operator has a norm of .* at most 4\.5e\+15"):
        tl.expm_multiply(a, tr.ones(5), t, hermitian=hermitian)


@pytest.mark.parametrize("hermitian", [True, False])
@pytest.mark.parametrize("t", [1e16j, 1e17j, 1e14j, 1j])
def test_an_exponential_has_converged_only_where_its_errors_leave_a_digit(hermitian: bool, t: complex) -> None:
    d = np.arange(1.0, 6.0)
    found = tl.expm_multiply(tr.tensor(np.diag(d)), tr.ones(5), t, hermitian=hermitian)
    assert found.reached == 1 and found.converged == (abs(t) < 1e15)
    errors, missed = float(found.errors), np.linalg.norm(found.x.to_numpy() - np.exp(t * d))
    assert missed <= errors + 1e-14 and found.converged == (errors <= max(5**0.5, float(tr.norm(found.x))))


def test_the_dtype_of_an_exponential_is_that_of_vectors_and_map_however_far_it_came() -> None:
    a = tr.tensor([[2.0, 1j], [-1j, 3.0]]) * 1e4
    v = tr.ones(2, dtype="F32")
    for operator in (a, lambda x: tl.matvec(a, x)):
        stopped = tl.expm_multiply(operator, v, maxiter=1, basis=2)
        assert stopped.x.dtype is tr.C64 and not stopped.converged
    assert tl.expm_multiply(a, tr.zeros((2, 0)), batch_rank=1).x.dtype is tr.C64


def test_a_subnormal_vector_is_moved_as_any_other() -> None:
    a, v = tr.tensor([[2.0, 1j], [-1j, 3.0]]), tr.tensor([1.0, 1j])
    found = tl.expm_multiply(a, v * 2.0**-1040, 0.5).x.to_numpy() * 2.0**1000 * 2.0**40
    np.testing.assert_allclose(found, tl.expm_multiply(a, v, 0.5).x.to_numpy(), rtol=1e-9)


def answering(value: Any) -> Callable[[tl.Progress], Any]:
    return lambda progress: value


@pytest.mark.parametrize("true", [True, np.True_, np.array(True), tr.tensor(True)])
def test_a_callback_that_answers_anything_true_stops(true: Any) -> None:
    assert tl.cg(A, B, callback=answering(true)).iterations == 0
    assert tl.minres(A, B, callback=lambda progress: progress.residuals < np.inf).iterations == 0
    for false in (None, False, np.False_, tr.tensor(False)):
        assert tl.cg(A, B, callback=answering(false)).converged


@pytest.mark.parametrize("search", [tl.eigsh, tl.eigs, tl.svds])
def test_a_callback_is_told_how_a_search_ended(search: Callable[..., Any]) -> None:
    for a, start in ((tr.tensor([[2.0, 1.0], [1.0, 3.0]]), tr.tensor([1.0, 0.3])), (A, B)):
        told: list[tl.Progress] = []
        found = search(a, start, callback=told.append)
        values = found.s**2 if search is tl.svds else found.eigenvalues
        assert found.converged and told[-1].iterations == found.iterations and told[-1].values is not None
        np.testing.assert_allclose(told[-1].values.to_numpy(), values.to_numpy(), rtol=1e-9)
        np.testing.assert_allclose(told[-1].residuals.to_numpy(), found.residuals.to_numpy(), rtol=1e-9, atol=1e-13)


@pytest.mark.parametrize("answer", ["stop", 1, [True], tr.tensor([True]), tr.tensor(1.0)])
def test_a_callback_that_answers_what_is_no_truth_value_is_refused(answer: Any) -> None:
    for solver in (tl.cg, tl.eigsh):
        with pytest.raises(ArgumentError, match=rf"{solver.__name__}: the callback answered .*; accepted: None, False"):
            solver(A, B, callback=answering(answer))


Line = tuple[str, int]


class Interrupting:
    """Ctrl-C at one line of the iterations' modules, when it has come so often; notes how often each comes."""

    def __init__(self, line: Line | None = None, occurrence: int = 0) -> None:
        self.seen: Counter[Line] = Counter()
        self._line, self._occurrence = line, occurrence

    def __enter__(self) -> Interrupting:
        self._before = sys.gettrace()
        sys.settrace(self._called)
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(self._before)

    def _called(self, frame: FrameType, event: str, argument: Any) -> Any:
        return self._looked if frame.f_globals.get("__name__", "").startswith("tensor_linalg.iterative.") else None

    def _looked(self, frame: FrameType, event: str, argument: Any) -> Any:
        if event == "line":
            line = (frame.f_code.co_filename, frame.f_lineno)
            self.seen[line] += 1
            if line == self._line and self.seen[line] == self._occurrence:
                raise KeyboardInterrupt
        return self._looked


GENERAL = tr.tensor(G)
SMALL: dict[str, Callable[[], Any]] = {
    "cg": lambda: tl.cg(A, BLOCK, maxiter=8),
    "minres": lambda: tl.minres(A - 20.0 * tr.eye(N), BLOCK, maxiter=8),
    "gmres": lambda: tl.gmres(A, BLOCK, restart=3, maxiter=8),
    "lsmr": lambda: tl.lsmr(A, BLOCK, maxiter=8),
    "eigsh": lambda: tl.eigsh(A, B, k=2, basis=7, tol=1e-3),
    "eigsh, block": lambda: tl.eigsh(A, BLOCK, k=2, basis=9, batch_rank=1, tol=1e-3),
    "eigs": lambda: tl.eigs(GENERAL, B, k=2, basis=7, tol=1e-2),
    "eigs, block": lambda: tl.eigs(GENERAL, BLOCK, k=2, basis=11, batch_rank=1, tol=1e-2),
    "eigs, from an eigenvector": lambda: tl.eigs(
        tr.tensor(np.diag(np.arange(9.0))), tr.eye(9)[0], k=2, basis=6, tol=1e-2
    ),
}


@pytest.mark.parametrize("name", SMALL)
def test_ctrl_c_at_any_line_leaves_residuals_that_belong_to_what_is_returned(name: str) -> None:
    with Interrupting() as lines:
        whole = SMALL[name]()
    assert not whole.interrupted
    matrices = {"minres": A - 20.0 * tr.eye(N), "eigs": GENERAL, "eigs, block": GENERAL}
    m = tr.tensor(np.diag(np.arange(9.0))) if name.endswith("eigenvector") else matrices.get(name, A)
    returned = 0
    for line, count in lines.seen.items():
        for occurrence in {count // 2 + 1, count}:
            with Interrupting(line, occurrence):
                try:
                    found = SMALL[name]()
                except KeyboardInterrupt:
                    continue  # before there is anything to return, or after the search
            assert found.interrupted and not found.converged, line
            returned += 1
            if name.startswith("eig"):
                x, w = found.eigenvectors.to_numpy(), found.eigenvalues.to_numpy()
                residuals = np.linalg.norm(m.to_numpy() @ x - x * w, axis=0)
                np.testing.assert_allclose(np.linalg.norm(x, axis=0), 1, atol=1e-8, err_msg=str(line))
            else:
                residuals = BLOCK.to_numpy() - m.to_numpy() @ found.x.to_numpy()
                residuals = np.linalg.norm(m.to_numpy() @ residuals if name == "lsmr" else residuals, axis=0)
            np.testing.assert_allclose(found.residuals.to_numpy(), residuals, rtol=1e-5, atol=1e-8, err_msg=str(line))
    assert returned > 20


@pytest.mark.parametrize("function", [False, True])
def test_more_singular_values_than_the_range_has_are_refused(function: bool) -> None:
    a = tr.normal((2, 5), seed=1)
    operator: Any = (lambda x: tl.matvec(a, x)) if function else a
    options: dict[str, Any] = {"adjoint": lambda y: tl.matvec(a.T, y)} if function else {}
    with pytest.raises(ArgumentError, match="svds: k is 4; accepted: 1 to 2, the extent of the range"):
        tl.svds(operator, tr.ones(5), k=4, **options)
    assert tl.svds(operator, tr.ones(5), k=2, **options).s.shape == (2,)


def test_a_solver_without_its_shift_is_refused() -> None:
    with pytest.raises(ArgumentError, match=r"eigsh: solve= without sigma; accepted: both, or neither"):
        tl.eigsh(A, B, solve=product)
