"""Iterative eigenvalues and singular values beside SciPy, and on Heisenberg chains as functions on tensors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse.linalg

import tensor_linalg as tl
import tensor_runtime as tr
from tensor_core.errors import ArgumentError, ShapeError

DTYPES = (tr.F32, tr.F64, tr.C32, tr.C64)


def heisenberg(x: tr.Tensor) -> tr.Tensor:
    """Σ S_j · S_(j+1) of an open chain: S · S exchanges the spins, halved, less a quarter."""
    axes = range(x.rank)
    result = x * (-0.25 * (x.rank - 1))
    for j in axes[:-1]:
        exchanged = [*axes[:j], j + 1, j, *axes[j + 2 :]]
        result = result + 0.5 * tr.permute_axes(x, exchanged)
    return result


def dense(sites: int) -> Any:
    """The same as a matrix."""
    identity = tr.eye(2**sites).reshape((2,) * sites + (2**sites,))
    columns = [heisenberg(identity[..., k]).reshape((2**sites,)).to_numpy() for k in range(2**sites)]
    return np.stack(columns, axis=1)


def hermitian(n: int, dtype: Any, seed: int = 1) -> tr.Tensor:
    a = tr.normal((n, n), seed=seed, dtype=dtype)
    return a + tl.mH(a)


def test_the_ground_state_of_a_chain_of_ten_spins_has_the_exact_energy() -> None:
    found = tl.eigsh(heisenberg, tr.normal((2,) * 10, seed=1))
    assert found.converged and found.eigenvectors.shape == (2,) * 10 + (1,)
    assert float(found.eigenvalues) == pytest.approx(-4.258035207282883, abs=1e-12)
    psi = found.eigenvectors[..., 0]
    assert float(tr.norm(heisenberg(psi) - psi * found.eigenvalues[0])) < 1e-10


def test_all_of_a_triplet_is_found_between_singlets() -> None:
    exact = np.linalg.eigvalsh(dense(8))
    found = tl.eigsh(heisenberg, tr.normal((2,) * 8, seed=2), k=6)
    assert found.converged
    np.testing.assert_allclose(found.eigenvalues.to_numpy(), exact[:6], atol=1e-10)
    vectors = found.eigenvectors.reshape((256, 6)).to_numpy()
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(6), atol=1e-10)
    largest = tl.eigsh(heisenberg, tr.normal((2,) * 8, seed=2), k=2, which="LA")
    np.testing.assert_allclose(largest.eigenvalues.to_numpy(), exact[-2:], atol=1e-10)


def test_near_a_shift_by_a_solver() -> None:
    exact = np.linalg.eigvalsh(dense(6))
    sigma = -1.3

    def solve(b: tr.Tensor) -> tr.Tensor:
        return tl.minres(heisenberg, b, shift=sigma, tol=1e-13).x

    found = tl.eigsh(heisenberg, tr.normal((2,) * 6, seed=3), sigma=sigma, solve=solve, tol=1e-9)
    nearest = exact[np.argmin(abs(exact - sigma))]
    assert found.converged and float(found.eigenvalues) == pytest.approx(nearest, abs=1e-9)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize(("which", "k"), [("SA", 1), ("LA", 3), ("LM", 4)])
def test_pairs_of_a_matrix_are_those_that_scipy_finds(dtype: Any, which: str, k: int) -> None:
    a = hermitian(60, dtype)
    found = tl.eigsh(a, k=k, which=which)
    wanted = np.sort(scipy.sparse.linalg.eigsh(a.to_numpy().astype(complex), k=k, which=which)[0])
    single = dtype in (tr.F32, tr.C32)
    assert found.converged and found.eigenvalues.dtype is dtype.component and found.eigenvectors.dtype is dtype
    np.testing.assert_allclose(found.eigenvalues.to_numpy(), wanted, rtol=1e-5 if single else 1e-12)
    x, w = found.eigenvectors.to_numpy(), found.eigenvalues.to_numpy()
    assert abs(a.to_numpy() @ x - x * w).max() <= (2e-4 if single else 1e-9)
    np.testing.assert_allclose(x.conj().T @ x, np.eye(k), atol=2e-5 if single else 1e-12)


def test_a_matrix_is_inverted_beside_a_shift() -> None:
    a = hermitian(40, tr.C64)
    exact = np.linalg.eigvalsh(a.to_numpy())
    found = tl.eigsh(a, k=3, sigma=0.4)
    np.testing.assert_allclose(found.eigenvalues.to_numpy(), np.sort(exact[np.argsort(abs(exact - 0.4))[:3]]))


@pytest.mark.parametrize(
    "values", [[1.0] * 6, [0.0] * 4, [1.0, 1.0, 1.0, 2.0, 2.0, 3.0], [0.0, 0.0, 0.0, 5.0], [3.0], [2.0, -1.0]]
)
def test_every_pair_of_a_small_or_degenerate_matrix_is_found(values: list[float]) -> None:
    n = len(values)
    q = np.linalg.qr(np.random.default_rng(5).normal(size=(n, n)))[0]
    a = (q * values) @ q.T
    for k in range(1, n + 1):
        found = tl.eigsh(tr.tensor(a), k=k)
        assert found.converged
        np.testing.assert_allclose(found.eigenvalues.to_numpy(), np.sort(values)[:k], atol=1e-12)
        x = found.eigenvectors.to_numpy()
        np.testing.assert_allclose(x.T @ x, np.eye(k), atol=1e-12)


def test_without_multiplets_a_krylov_space_holds_one_vector_of_each() -> None:
    a = tr.tensor(np.diag([1.0, 1.0, 5.0, *np.linspace(20, 30, 40)]))
    found = tl.eigsh(a, tr.ones((43,)), k=2, multiplets=False)
    np.testing.assert_allclose(found.eigenvalues.to_numpy(), [1.0, 5.0], atol=1e-12)
    assert tl.eigsh(a, tr.ones((43,)), k=2).eigenvalues.to_numpy() == pytest.approx([1.0, 1.0], abs=1e-12)


def test_a_start_that_is_an_eigenvector_or_zero_is_no_trap() -> None:
    a = tr.tensor(np.diag([3.0, 2.0, 1.0]))
    found = tl.eigsh(a, tr.tensor([1.0, 0.0, 0.0]), k=3)
    np.testing.assert_allclose(found.eigenvalues.to_numpy(), [1.0, 2.0, 3.0], atol=1e-14)
    assert float(tl.eigsh(a, tr.zeros((3,))).eigenvalues) == pytest.approx(1.0, abs=1e-14)


def test_the_same_start_gives_the_same_bits() -> None:
    a = hermitian(50, tr.F64)
    first, second = (tl.eigsh(a, k=2, seed=7) for _ in range(2))
    assert first.eigenvectors.to_numpy().tobytes() == second.eigenvectors.to_numpy().tobytes()


def test_ctrl_c_gives_the_best_pairs_so_far() -> None:
    a = hermitian(120, tr.F64)
    seen: list[tl.Progress] = []

    def interrupting(progress: tl.Progress) -> None:
        seen.append(progress)
        if len(seen) == 9:
            raise KeyboardInterrupt

    found = tl.eigsh(a, k=2, callback=interrupting)
    assert found.interrupted and not found.converged and found.eigenvalues.shape == (2,)
    assert seen[-1].values is not None and seen[0].values is not None
    assert float(seen[-1].values[0]) < float(seen[0].values[0])
    x = found.eigenvectors.to_numpy()
    rayleigh = np.diag(x.T @ a.to_numpy() @ x)
    np.testing.assert_allclose(found.eigenvalues.to_numpy(), rayleigh, rtol=1e-10)
    residuals = np.linalg.norm(a.to_numpy() @ x - x * rayleigh, axis=0)
    np.testing.assert_allclose(found.residuals.to_numpy(), residuals, rtol=1e-6)
    stopped = tl.eigsh(a, maxiter=12)
    assert not stopped.converged and not stopped.interrupted and stopped.iterations == 12


def test_residuals_bound_the_errors_of_eigenvalues() -> None:
    a = hermitian(120, tr.C64)
    exact = np.linalg.eigvalsh(a.to_numpy())
    for tol in (1e-2, 1e-4, 1e-8):
        found = tl.eigsh(a, tol=tol)
        error = abs(float(found.eigenvalues) - exact[0])
        assert error <= float(found.residuals) <= tol * abs(exact).max()


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("which", ["LM", "LR", "SR", "LI", "SI"])
def test_eigenvalues_of_any_matrix_are_those_that_lapack_finds(dtype: Any, which: str) -> None:
    a = tr.normal((60, 60), seed=8, dtype=dtype)
    found = tl.eigs(a, k=4, which=which)
    m = a.to_numpy().astype(complex)
    every = np.linalg.eigvals(m)
    rank = {"LM": -abs(every), "LR": -every.real, "SR": every.real, "LI": -every.imag, "SI": every.imag}[which]
    wanted = np.sort(rank)[:4]
    single = dtype in (tr.F32, tr.C32)
    w, x = found.eigenvalues.to_numpy(), found.eigenvectors.to_numpy()
    ranks = {"LM": -abs(w), "LR": -w.real, "SR": w.real, "LI": -w.imag, "SI": w.imag}[which]
    assert found.converged and found.eigenvalues.dtype is tr.promote(dtype, tr.C32)
    np.testing.assert_allclose(ranks, wanted, rtol=1e-3 if single else 1e-8)
    assert abs(m @ x - x * w).max() <= (1e-3 if single else 1e-9)
    np.testing.assert_allclose(np.linalg.norm(x, axis=0), 1, rtol=1e-5)


def test_the_fixed_point_of_a_channel_on_matrices_is_found_as_a_matrix() -> None:
    kraus = tr.normal((3, 4, 4), seed=9, dtype="C64")

    def channel(x: tr.Tensor) -> tr.Tensor:
        parts = [kraus[k] @ x @ tl.mH(kraus[k]) for k in range(3)]
        return parts[0] + parts[1] + parts[2]

    found = tl.eigs(channel, tr.eye(4), k=1)
    matrix = found.eigenvectors[..., 0].to_numpy()
    value = found.eigenvalues.to_numpy()[0]
    assert found.converged and abs(value.imag) < 1e-9
    np.testing.assert_allclose(channel(found.eigenvectors[..., 0]).to_numpy(), value * matrix, atol=1e-8 * abs(value))
    hermitian_form = matrix / np.trace(matrix)
    np.testing.assert_allclose(hermitian_form, hermitian_form.conj().T, atol=1e-8)  # positive, as Perron says


def test_arnoldi_leaves_invariant_spaces_and_stops_with_the_best_so_far() -> None:
    a = tr.tensor(np.diag([1.0, 2.0, 3.0]) + np.diag([1.0, 1.0], 1))
    found = tl.eigs(a, tr.tensor([1.0, 0.0, 0.0]), k=3)
    np.testing.assert_allclose(np.sort(found.eigenvalues.to_numpy().real), [1, 2, 3], atol=1e-12)
    large = tr.normal((100, 100), seed=10)
    seen: list[int] = []

    def interrupting(progress: tl.Progress) -> None:
        seen.append(progress.iterations)
        if len(seen) == 12:
            raise KeyboardInterrupt

    stopped = tl.eigs(large, k=2, callback=interrupting)
    x, w = stopped.eigenvectors.to_numpy(), stopped.eigenvalues.to_numpy()
    assert stopped.interrupted and not stopped.converged
    residuals = np.linalg.norm(large.to_numpy() @ x - x * w, axis=0)
    np.testing.assert_allclose(stopped.residuals.to_numpy(), residuals, rtol=1e-6)
    with pytest.raises(ArgumentError, match="k is 4"):
        tl.eigs(tr.eye(3), k=4)


@pytest.mark.parametrize("which", ["LM", "SM"])
def test_singular_values_and_vectors_of_a_map_between_tensors(which: str) -> None:
    a = tr.normal((4, 5, 3, 6), seed=6, dtype="C64")  # [4, 5] of [3, 6]
    m = a.to_numpy().reshape((20, 18), order="F")
    wanted = np.linalg.svd(m, compute_uv=False)
    turned = tr.conj(tr.permute_axes(a, (2, 3, 0, 1)))
    functions = {"adjoint": lambda y: tr.tensordot(turned, y, axes=2)}
    start = tr.normal((3, 6), seed=1)
    for found in (
        tl.svds(a, k=3, which=which),
        tl.svds(lambda x: tr.tensordot(a, x, axes=2), start, k=3, which=which, **functions),  # type: ignore[arg-type]
    ):
        assert found.converged and found.u.shape == (4, 5, 3) and found.vh.shape == (3, 3, 6)
        np.testing.assert_allclose(found.s.to_numpy(), wanted[:3] if which == "LM" else wanted[-3:], atol=1e-10)
        u, vh = found.u.reshape((20, 3)).to_numpy(), found.vh.reshape((3, 18)).to_numpy()
        np.testing.assert_allclose(m @ vh.conj().T, u * found.s.to_numpy(), atol=1e-9)
        np.testing.assert_allclose(u.conj().T @ u, np.eye(3), atol=1e-12)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k": 0}, "k is 0; accepted: 1 to 3"),
        ({"k": 4}, "k is 4; accepted: 1 to 3"),
        ({"which": "SM"}, "which is 'SM'; accepted: 'SA', 'LA', 'LM', and sigma=0.0 for those nearest to 0$"),
        ({"basis": 2}, "basis is 2"),
        ({"tol": -1.0}, "tol is -1.0"),
        ({"sigma": 1j}, "sigma is 1j"),
    ],
)
def test_options_that_mean_nothing_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        tl.eigsh(tr.eye(3), **options)


def test_a_function_needs_a_start_and_a_solver_for_its_shift() -> None:
    with pytest.raises(ArgumentError, match="x0 is needed"):
        tl.eigsh(lambda x: x)
    with pytest.raises(ArgumentError, match="needs solve="):
        tl.eigsh(lambda x: x, tr.ones((3,)), sigma=1.0)
    with pytest.raises(ShapeError, match=r"for vectors of shape \(4,\)"):
        tl.eigsh(tr.eye(3), tr.ones((4,)))


@pytest.mark.parametrize("multiplets", [True, False])
@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize(("which", "first"), [("SA", 0), ("LA", 97), ("LM", 97)])
@pytest.mark.parametrize("places", [[9], [9, 12], [50, 51, 52]])
def test_a_start_within_an_invariant_space_does_not_bound_the_search(
    places: list[int], which: str, first: int, k: int, multiplets: bool
) -> None:
    d, start = np.arange(1.0, 101.0), np.zeros(100)
    start[places] = 1.0
    a, x0 = tr.tensor(np.diag(d)), tr.tensor(start)
    wanted = d[:k] if first == 0 else d[100 - k :]
    found = tl.eigsh(a, x0, k=k, which=which, multiplets=multiplets)
    assert found.converged
    np.testing.assert_allclose(found.eigenvalues.to_numpy(), wanted, atol=1e-9)
    general = tl.eigs(a, x0, k=k, which={"SA": "SR", "LA": "LR", "LM": "LM"}[which])
    assert general.converged
    np.testing.assert_allclose(np.sort(general.eigenvalues.to_numpy().real), wanted, atol=1e-8)
    block = tr.stack([x0, tr.eye(100)[places[0]]], axis=1)
    found = tl.eigsh(a, block, k=k, which=which, multiplets=multiplets)
    np.testing.assert_allclose(found.eigenvalues.to_numpy(), wanted, atol=1e-9)
    general = tl.eigs(a, block, k=k, which={"SA": "SR", "LA": "LR", "LM": "LM"}[which])
    np.testing.assert_allclose(np.sort(general.eigenvalues.to_numpy().real), wanted, atol=1e-8)


def test_a_copy_of_which_the_second_start_has_little_is_found() -> None:
    d = [3.5, -3.0, -3.0, 1.5, 2.5, 3.5]
    found = tl.eigsh(tr.tensor(np.diag(d)), tr.normal((6,), seed=35), k=2, which="LA")
    np.testing.assert_allclose(found.eigenvalues.to_numpy(), [3.5, 3.5], atol=1e-12)


@pytest.mark.parametrize("dtype", ["F64", "C64"])
@pytest.mark.parametrize("shape", [(100,), (100, 2)])
def test_a_start_of_subnormal_numbers_has_a_direction_like_any_other(shape: tuple[int, ...], dtype: str) -> None:
    a = tr.tensor(np.diag(np.arange(1.0, 101.0)))
    start = tr.normal(shape, seed=1, dtype=dtype) * 2.0**-1000 * 2.0**-60
    found = tl.eigsh(a, start, which="LA")
    assert found.converged
    np.testing.assert_allclose(found.eigenvalues.to_numpy(), [100.0], atol=1e-10)
    np.testing.assert_allclose(tl.eigs(a, start).eigenvalues.to_numpy(), [100.0], atol=1e-10)
    np.testing.assert_allclose(tl.svds(a, start).s.to_numpy(), [100.0], atol=1e-10)


def test_a_callback_that_stops_where_a_search_has_converged_stops_nothing_but_one_for_copies() -> None:
    a = hermitian(24, tr.F64)
    for k, multiplets in ((1, True), (2, False), (2, True)):
        found = tl.eigsh(a, k=k, multiplets=multiplets)
        ended = found.iterations
        alone = tl.eigsh(a, k=k, multiplets=False).iterations

        def at_the_end(progress: tl.Progress, last: int = alone) -> bool:
            return progress.iterations == last

        stopped = tl.eigsh(a, k=k, multiplets=multiplets, callback=at_the_end)
        assert found.converged and stopped.iterations == alone <= ended
        assert stopped.converged == (alone == ended)


@pytest.mark.parametrize("dtype", ["F64", "C64"])
@pytest.mark.parametrize("width", [0, 2])
@pytest.mark.parametrize("start", ["drawn", "ones", "in the null space"])
@pytest.mark.parametrize("k", [1, 3])
def test_singular_values_of_zero_are_found_of_wide_maps_as_of_tall_ones(
    k: int, start: str, width: int, dtype: str
) -> None:
    a = np.zeros((60, 80))
    a[np.arange(59), np.arange(59)] = np.arange(1.0, 60.0)
    shape = (80, width) if width else (80,)
    alone = tr.where(tr.arange(80).reshape((80,) + (1,) * (len(shape) - 1)) == 79, tr.ones(shape), 0.0)
    x0 = {"drawn": tr.normal(shape, seed=3), "ones": tr.ones(shape), "in the null space": alone}[start]
    wide = tl.svds(tr.tensor(a, dtype=dtype), tr.cast(x0, dtype), k=k, which="SM", batch_rank=len(shape) - 1)
    assert wide.converged
    np.testing.assert_allclose(wide.s.to_numpy(), np.arange(k - 1.0, -1, -1), atol=1e-6)
    u, v = wide.u.to_numpy(), wide.vh.to_numpy().conj().T
    np.testing.assert_allclose(a.T @ u, v * wide.s.to_numpy(), atol=1e-6)
    np.testing.assert_allclose(u.conj().T @ u, np.eye(k), atol=1e-9)


@pytest.mark.parametrize("batch", [(), (2,)])
@pytest.mark.parametrize("given", [2, 3, 7])
def test_an_adjoint_that_does_not_lead_back_is_refused(given: int, batch: tuple[int, ...]) -> None:
    message = rf"svds: adjoint gave F64 of shape \({given},.* for a tensor of shape \(4,.*tensor of shape \(5,"
    with pytest.raises(ShapeError, match=message):
        tl.svds(
            lambda x: x[:-1],
            tr.ones((5, *batch)),
            adjoint=lambda y: tr.concatenate([y, y])[:given],
            batch_rank=len(batch),
        )
