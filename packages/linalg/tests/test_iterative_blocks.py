"""Blocks of starting vectors for ``eigsh``, ``eigs`` and ``svds``, beside SciPy and dense decompositions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse.linalg

import tensor_linalg as tl
import tensor_runtime as tr
from tensor_core.errors import ArgumentError, ShapeError

DTYPES = (tr.F32, tr.F64, tr.C32, tr.C64)


def hermitian(n: int, dtype: Any, seed: int = 1) -> tr.Tensor:
    a = tr.normal((n, n), seed=seed, dtype=dtype)
    return a + tl.mH(a)


class Chain:
    """Σ S_j · S_(j+1) of an open chain, for states with trailing axes; notes the shapes that it is given."""

    def __init__(self, sites: int) -> None:
        self.sites = sites
        self.given: list[tuple[int, ...]] = []

    def __call__(self, x: tr.Tensor) -> tr.Tensor:
        self.given.append(x.shape)
        result = x * (-0.25 * (self.sites - 1))
        for j in range(self.sites - 1):
            order = [*range(j), j + 1, j, *range(j + 2, x.rank)]
            result = result + 0.5 * tr.permute_axes(x, order)
        return result

    def levels(self) -> Any:
        """All eigenvalues, by NumPy."""
        size = 2**self.sites
        one = tr.eye(size).reshape((2,) * self.sites + (size,))
        return np.linalg.eigvalsh(self(one).reshape((size, size)).to_numpy())


@pytest.mark.parametrize("width", [1, 2, 3, 4, 7])
@pytest.mark.parametrize("k", [1, 4, 9])
def test_levels_of_a_chain_and_all_their_copies_are_found(width: int, k: int) -> None:
    chain = Chain(8)
    exact = chain.levels()
    chain.given.clear()
    found = tl.eigsh(chain, tr.normal((2,) * 8 + (width,), seed=2), k=k, batch_rank=1)
    assert found.converged and found.eigenvectors.shape == (2,) * 8 + (k,)
    np.testing.assert_allclose(found.eigenvalues.to_numpy(), exact[:k], atol=1e-11)
    x = found.eigenvectors.reshape((256, k)).to_numpy()
    np.testing.assert_allclose(x.T @ x, np.eye(k), atol=1e-11)
    assert set(chain.given) == {(2,) * 8 + (width,)} and len(chain.given) == found.iterations


def test_a_block_holds_the_copies_that_a_single_vector_lacks() -> None:
    chain = Chain(8)  # a singlet, and a triplet above it
    exact = chain.levels()
    options: dict[str, Any] = {"k": 4, "multiplets": False}
    of_no_spin = tr.asarray(np.indices((2,) * 8).sum(axis=0) == 4)  # rounding leads to no state of another spin
    alone = tl.eigsh(chain, tr.where(of_no_spin, tr.normal((2,) * 8, seed=2), 0.0), **options)
    block = tl.eigsh(chain, tr.normal((2,) * 8 + (3,), seed=2), batch_rank=1, **options)
    assert alone.eigenvalues.to_numpy()[3] > exact[3] + 0.1
    np.testing.assert_allclose(block.eigenvalues.to_numpy(), exact[:4], atol=1e-12)
    searched = tl.eigsh(chain, tr.normal((2,) * 8, seed=2), k=4)
    assert block.iterations < searched.iterations / 2


def test_axes_that_count_vectors_may_be_several() -> None:
    chain = Chain(6)
    chain_of_blocks = tl.eigsh(chain, tr.normal((2,) * 6 + (2, 3), seed=5), k=3, batch_rank=2)
    assert set(chain.given) == {(2,) * 6 + (2, 3)}
    np.testing.assert_allclose(chain_of_blocks.eigenvalues.to_numpy(), chain.levels()[:3], atol=1e-11)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize(("which", "k"), [("SA", 1), ("LA", 3), ("LM", 4)])
def test_pairs_are_those_that_scipy_finds(dtype: Any, which: str, k: int) -> None:
    a = hermitian(70, dtype)
    found = tl.eigsh(a, tr.normal((70, 3), seed=3, dtype=dtype), k=k, which=which)
    wanted = np.sort(scipy.sparse.linalg.eigsh(a.to_numpy().astype(complex), k=k, which=which)[0])
    single = dtype in (tr.F32, tr.C32)
    assert found.converged and found.eigenvalues.dtype is dtype.component and found.eigenvectors.dtype is dtype
    np.testing.assert_allclose(found.eigenvalues.to_numpy(), wanted, rtol=1e-5 if single else 1e-12)
    x, w = found.eigenvectors.to_numpy(), found.eigenvalues.to_numpy()
    lengths = np.linalg.norm(a.to_numpy() @ x - x * w, axis=0)
    assert lengths.max() <= (2e-4 if single else 1e-9)
    if not single:
        np.testing.assert_allclose(found.residuals.to_numpy(), lengths, rtol=1e-3, atol=1e-12)
    np.testing.assert_allclose(x.conj().T @ x, np.eye(k), atol=2e-5 if single else 1e-12)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("which", ["LM", "LR", "SR", "LI"])
def test_eigenvalues_of_any_matrix_are_those_that_lapack_finds(dtype: Any, which: str) -> None:
    a = tr.normal((60, 60), seed=8, dtype=dtype)
    found = tl.eigs(a, tr.normal((60, 2), seed=3, dtype=dtype), k=4, which=which)
    m = a.to_numpy().astype(complex)
    every = np.linalg.eigvals(m)
    w, x = found.eigenvalues.to_numpy(), found.eigenvectors.to_numpy()

    def ranks(z: Any) -> Any:
        return {"LM": -abs(z), "LR": -z.real, "SR": z.real, "LI": -z.imag}[which]

    single = dtype in (tr.F32, tr.C32)
    assert found.converged
    np.testing.assert_allclose(ranks(w), np.sort(ranks(every))[:4], rtol=1e-3 if single else 1e-8)
    assert abs(m @ x - x * w).max() <= (1e-3 if single else 1e-9)
    np.testing.assert_allclose(np.linalg.norm(x, axis=0), 1, rtol=1e-5)


def test_arnoldi_finds_as_many_vectors_of_an_eigenvalue_as_the_block_has() -> None:
    a = tr.tensor(np.diag([9.0, 9.0, 5.0, *np.linspace(0, 0.5, 37)]))
    alone = tl.eigs(a, tr.normal((40,), seed=1), k=2)
    block = tl.eigs(a, tr.normal((40, 2), seed=1), k=2)
    assert abs(alone.eigenvalues.to_numpy()[1] - 9) > 1
    np.testing.assert_allclose(block.eigenvalues.to_numpy(), [9, 9], atol=1e-8)
    assert np.linalg.matrix_rank(block.eigenvectors.to_numpy(), tol=1e-6) == 2


@pytest.mark.parametrize("which", ["LM", "SM"])
@pytest.mark.parametrize("width", [1, 2, 4])
def test_singular_values_of_a_map_between_tensors(which: str, width: int) -> None:
    a = tr.normal((4, 5, 3, 6), seed=6, dtype="C64")  # [4, 5] of [3, 6]
    turned = tr.conj(tr.permute_axes(a, (2, 3, 0, 1)))
    m = a.to_numpy().reshape((20, 18), order="F")
    wanted = np.linalg.svd(m, compute_uv=False)
    shapes: list[tuple[int, ...]] = []

    def product(x: tr.Tensor) -> tr.Tensor:
        shapes.append(x.shape)
        return tr.tensordot(a, x, axes=2)

    start = tr.normal((3, 6, width), seed=1)
    for found in (
        tl.svds(a, start, k=3, which=which),
        tl.svds(product, start, k=3, which=which, batch_rank=1, adjoint=lambda y: tr.tensordot(turned, y, axes=2)),
    ):
        assert found.converged and found.u.shape == (4, 5, 3) and found.vh.shape == (3, 3, 6)
        np.testing.assert_allclose(found.s.to_numpy(), wanted[:3] if which == "LM" else wanted[-3:], atol=1e-10)
        u, vh = found.u.reshape((20, 3)).to_numpy(), found.vh.reshape((3, 18)).to_numpy()
        np.testing.assert_allclose(m @ vh.conj().T, u * found.s.to_numpy(), atol=1e-9)
        np.testing.assert_allclose(u.conj().T @ u, np.eye(3), atol=1e-12)
    assert set(shapes) == {(3, 6, width)}


@pytest.mark.parametrize("scale", [1e-160, 1e160])
def test_singular_values_at_the_ends_of_the_range_have_one_scale_for_the_block(scale: float) -> None:
    a = tr.normal((12, 10), seed=6)
    start = tr.normal((10, 3), seed=1) * tr.tensor([1.0, 1e-3, 1e3])
    found = tl.svds(a * scale, start, k=2)
    np.testing.assert_allclose(found.s.to_numpy() / scale, np.linalg.svd(a.to_numpy(), compute_uv=False)[:2])


@pytest.mark.parametrize(("n", "width"), [(1, 1), (3, 3), (5, 2), (5, 4), (30, 7)])
@pytest.mark.parametrize("start", ["drawn", "zero", "equal", "unit"])
def test_starts_that_span_little_and_spaces_that_end_are_no_trap(n: int, width: int, start: str) -> None:
    x0 = {
        "drawn": tr.normal((n, width), seed=1),
        "zero": tr.zeros((n, width)),
        "equal": tr.ones((n, width)),
        "unit": tr.eye(n, width),
    }[start]
    a = hermitian(n, tr.C64, 3)
    exact = np.linalg.eigvalsh(a.to_numpy())
    for k in range(1, min(n, 6) + 1):
        found = tl.eigsh(a, x0, k=k)
        assert found.converged
        np.testing.assert_allclose(found.eigenvalues.to_numpy(), exact[:k], atol=1e-11)
        largest = np.sort(abs(exact))[::-1][:k]
        np.testing.assert_allclose(abs(tl.eigs(a, x0, k=k).eigenvalues.to_numpy()), largest, atol=1e-9)
        np.testing.assert_allclose(tl.svds(a, x0, k=k).s.to_numpy(), largest, atol=1e-9)


@pytest.mark.parametrize("values", [[1.0] * 6, [0.0] * 4, [1.0, 1.0, 1.0, 2.0, 2.0, 3.0], [0.0, 0.0, 0.0, 5.0]])
def test_every_pair_of_a_degenerate_matrix_is_found(values: list[float]) -> None:
    n = len(values)
    q = np.linalg.qr(np.random.default_rng(5).normal(size=(n, n)))[0]
    a = tr.tensor((q * values) @ q.T)
    for width in range(1, n + 1):
        for k in range(1, n + 1):
            found = tl.eigsh(a, tr.normal((n, width), seed=4), k=k)
            np.testing.assert_allclose(found.eigenvalues.to_numpy(), np.sort(values)[:k], atol=1e-12)
            x = found.eigenvectors.to_numpy()
            np.testing.assert_allclose(x.T @ x, np.eye(k), atol=1e-12)


def test_small_bases_begin_anew_and_copies_beyond_the_block_are_searched_for() -> None:
    values = [1.0] * 5 + list(np.linspace(2, 30, 95))
    q = np.linalg.qr(np.random.default_rng(2).normal(size=(100, 100)))[0]
    a = tr.tensor((q * values) @ q.T)
    found = tl.eigsh(a, tr.normal((100, 2), seed=1), k=6, basis=6 + 2 * 2 + 1)
    assert found.converged
    np.testing.assert_allclose(found.eigenvalues.to_numpy(), values[:6], atol=1e-10)


def test_the_nearest_to_a_shift_by_a_matrix_and_by_a_solver_of_blocks() -> None:
    a = hermitian(40, tr.C64)
    exact = np.linalg.eigvalsh(a.to_numpy())
    nearest = np.sort(exact[np.argsort(abs(exact - 0.4))[:3]])
    start = tr.normal((40, 2), seed=1, dtype="C64")
    np.testing.assert_allclose(tl.eigsh(a, start, k=3, sigma=0.4).eigenvalues.to_numpy(), nearest)
    shifted = a - 0.4 * tr.eye(40)
    found = tl.eigsh(
        lambda x: tl.matmul(a, x), start, k=3, sigma=0.4, batch_rank=1, solve=lambda x: tl.solve(shifted, x)
    )
    np.testing.assert_allclose(found.eigenvalues.to_numpy(), nearest)


def test_the_same_start_gives_the_same_bits() -> None:
    a, start = hermitian(50, tr.F64), tr.normal((50, 3), seed=4)
    for function in (tl.eigsh, tl.eigs):
        first, second = (function(a, start, k=2) for _ in range(2))
        assert first.eigenvectors.to_numpy().tobytes() == second.eigenvectors.to_numpy().tobytes()
    first_svd, second_svd = (tl.svds(a, start, k=2) for _ in range(2))
    assert first_svd.u.to_numpy().tobytes() == second_svd.u.to_numpy().tobytes()


@pytest.mark.parametrize("shape", [(60,), (60, 3)])
def test_a_start_of_less_precision_than_its_images_costs_none(shape: tuple[int, ...]) -> None:
    a = hermitian(60, tr.F64)
    exact = np.linalg.eigvalsh(a.to_numpy())
    start = tr.normal(shape, seed=2, dtype="F32")
    for operator in (a, lambda x: tl.matvec(a, x)):
        found = tl.eigsh(operator, start, k=3, tol=1e-13, batch_rank=len(shape) - 1)
        np.testing.assert_allclose(found.eigenvalues.to_numpy(), exact[:3], atol=1e-12)
        largest = tl.eigs(operator, start, k=2, tol=1e-13, batch_rank=len(shape) - 1)
        assert largest.eigenvalues.dtype is tr.C64
        np.testing.assert_allclose(abs(largest.eigenvalues.to_numpy()), np.sort(abs(exact))[::-1][:2], atol=1e-12)


def test_residuals_of_a_search_that_is_stopped_right_after_it_began_anew_are_those_of_the_pairs() -> None:
    a = hermitian(120, tr.F64)
    for width in (0, 2):
        start = tr.normal((120, width) if width else (120,), seed=1)
        for stop in range(16, 30):
            calls = 0

            def product(x: tr.Tensor) -> tr.Tensor:
                nonlocal calls
                calls += 1
                if calls == stop:  # noqa: B023
                    raise KeyboardInterrupt
                return tl.matvec(a, x)

            found = tl.eigsh(product, start, k=2, basis=12, batch_rank=bool(width) + 0)
            x, w = found.eigenvectors.to_numpy(), found.eigenvalues.to_numpy()
            assert found.interrupted
            residuals = np.linalg.norm(a.to_numpy() @ x - x * w, axis=0)
            np.testing.assert_allclose(found.residuals.to_numpy(), residuals, rtol=1e-8)


def test_blocks_that_mean_nothing_are_refused() -> None:
    a = tr.eye(5)
    with pytest.raises(ArgumentError, match="eigsh: batch_rank is 1 without x0"):
        tl.eigsh(a, batch_rank=1)
    with pytest.raises(ArgumentError, match=r"eigs: x0 of shape \(5, 6\) is a block of 6 vectors; accepted: 1 to 5"):
        tl.eigs(a, tr.ones((5, 6)))
    with pytest.raises(ArgumentError, match="is a block of 0 vectors; accepted: 1 to 5"):
        tl.svds(a, tr.ones((5, 0)))
    with pytest.raises(ArgumentError, match="eigsh: batch_rank is 2 for x0 of rank 1"):
        tl.eigsh(lambda x: x, tr.ones((3,)), batch_rank=2)
    with pytest.raises(ArgumentError, match=r"eigsh: basis is 6; accepted: at least k \+ 5, with blocks of 2"):
        tl.eigsh(tr.eye(9), tr.ones((9, 2)), k=2, basis=6)
    with pytest.raises(
        ShapeError, match=r"eigsh: the operator gave F64 of shape \(5,\) for a tensor of shape \(5, 2\)"
    ):
        tl.eigsh(lambda x: x[:, 0], tr.ones((5, 2)), batch_rank=1)
    with pytest.raises(ShapeError, match=r"svds: the operator gave F64 of shape \(5,\) .* whose last axes are \(2,\)"):
        tl.svds(lambda x: x[:, 0], tr.ones((5, 2)), batch_rank=1, adjoint=lambda x: x)
    with pytest.raises(tl.NonFiniteError, match="eigsh: the operator or the start holds NaN"):
        tl.eigsh(a, tr.full((5, 2), float("nan")))


def test_blocks_on_a_device_are_what_they_are_on_the_host() -> None:
    a = hermitian(30, tr.F64)
    exact = np.linalg.eigvalsh(a.to_numpy())
    there, start = tr.to(a, "sim:0"), tr.to(tr.normal((30, 2), seed=1), "sim:0")
    found = tl.eigsh(there, start, k=3)
    assert str(found.eigenvectors.placement) == "sim:0"
    np.testing.assert_allclose(tr.to(found.eigenvalues, "cpu").to_numpy(), exact[:3], atol=1e-12)
    values = tr.to(tl.svds(there, start, k=2).s, "cpu").to_numpy()
    np.testing.assert_allclose(values, np.sort(abs(exact))[::-1][:2], atol=1e-10)


@pytest.mark.parametrize(("n", "width", "basis"), [(37, 2, None), (20, 2, 19), (20, 3, 18), (20, 3, 19), (24, 4, 22)])
@pytest.mark.parametrize("seed", [0, 1])
def test_blocks_that_nearly_fill_the_space_find_what_a_decomposition_finds(
    n: int, width: int, basis: int | None, seed: int
) -> None:
    a, start = tr.normal((n, n), seed=seed), tr.normal((n, width), seed=seed + 100)
    options: dict[str, Any] = {"k": 3, "basis": basis, "batch_rank": 1, "maxiter": 300}
    whole = tl.eigs(a, start, **options)
    assert whole.converged
    missed = tl.matmul(tr.convert(a, "C64"), whole.eigenvectors) - whole.eigenvectors * whole.eigenvalues
    assert float(tr.max(abs(missed))) <= 1e-9
    largest = np.sort(abs(np.linalg.eigvals(a.to_numpy())))[::-1][:3]
    np.testing.assert_allclose(np.sort(abs(whole.eigenvalues.to_numpy()))[::-1], largest, atol=1e-9)
    symmetric = tl.eigsh(a + a.T, start, **options)
    assert symmetric.converged
    np.testing.assert_allclose(
        symmetric.eigenvalues.to_numpy(), np.linalg.eigvalsh((a + a.T).to_numpy())[:3], atol=1e-9
    )
    singular = tl.svds(a, start, **options)
    assert singular.converged
    np.testing.assert_allclose(singular.s.to_numpy(), np.linalg.svd(a.to_numpy())[1][:3], atol=1e-9)


@pytest.mark.parametrize("seed", [8, 30, 136])
def test_images_of_a_block_that_nearly_agree_cost_no_orthogonality(seed: int) -> None:
    d = np.r_[1e3 * np.ones(14), 1 + 0.1 * np.arange(15)]
    found = tl.eigsh(tr.tensor(np.diag(d)), tr.normal((29, 2), seed=seed), k=9, batch_rank=1)
    x, w = found.eigenvectors.to_numpy(), found.eigenvalues.to_numpy()
    assert found.converged
    np.testing.assert_allclose(w, d[14:23], atol=1e-10)
    np.testing.assert_allclose(x.T @ x, np.eye(9), atol=1e-12)
    assert np.linalg.norm(d[:, None] * x - x * w, axis=0).max() <= 2.0**-39.75 * 1e3


@pytest.mark.parametrize("solve", [tl.eigsh, tl.eigs])
def test_a_first_block_of_an_eigenspace_that_it_cannot_miss_is_not_the_whole_answer(solve: Any) -> None:
    a = tr.tensor(np.diag([-2.0, -2.0, 3.0]))
    for seed in range(60):
        found = solve(a, tr.normal((3, 2), seed=seed), which="LM", batch_rank=1)
        np.testing.assert_allclose(found.eigenvalues.to_numpy(), [3.0], atol=1e-12)
