"""Drivers of ``svdvals``, ``eigh``, ``split`` and ``pinv``; gauges of ``split``, ``svd_truncated`` and ``schur``."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensor_linalg as tl
import tensor_runtime as tr
from tensor_core.errors import ArgumentError, DTypeError, ShapeError, UnsupportedOperationError
from tensor_cpu.kernel_table import bind_numpy
from tensor_cpu.kernels.linalg.methods import hermitian
from tensor_cpu.system import lapack
from tensor_linalg.contracts import EighParams, SVDParams
from tensor_runtime.form import form_of

Array = np.ndarray[Any, np.dtype[Any]]
EACH_DTYPE = pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
SVD_DRIVERS = ("auto", "gesdd", "gesvd", "jacobi")
EIGH_DRIVERS = ("auto", "evd", "ev", "evr", "jacobi")


def numbers(dtype: str, *shape: int) -> Array:
    rng = np.random.default_rng(shape)
    x = rng.standard_normal(shape) + 1j * rng.standard_normal(shape)
    return np.asarray((x if "complex" in dtype else x.real).astype(dtype))


def unit(dtype: str) -> float:
    return float(np.finfo(dtype).eps)


def phased(x: Array, dtype: str) -> Array:
    """Columns times signs or phases."""
    turns = np.exp(2j * np.arange(1, x.shape[1] + 1)) if "complex" in dtype else (-1.0) ** np.arange(x.shape[1])
    return np.asarray(x * turns.reshape(1, -1, *[1] * (x.ndim - 2)), x.dtype)


@EACH_DTYPE
@pytest.mark.parametrize("driver", SVD_DRIVERS)
def test_values_alone_are_those_of_every_driver(dtype: str, driver: str) -> None:
    for shape in ((5, 3), (3, 5), (30, 20), (20, 30), (2, 3, 4), (0, 2), (2, 0, 3), (1, 1), (2, 2, 0)):
        x = numbers(dtype, *shape)
        found = tl.svdvals(tr.asarray(x), driver=driver)
        expected = np.moveaxis(np.linalg.svd(np.moveaxis(x, (0, 1), (-2, -1)), compute_uv=False), -1, 0)
        assert found.is_compact and found.shape == expected.shape and found.dtype is tl.svdvals(tr.asarray(x)).dtype
        np.testing.assert_allclose(found.to_numpy(), expected, atol=60 * unit(dtype))


def test_jacobi_finds_small_values_alone_where_divide_and_conquer_has_no_digit() -> None:
    scales = 10.0 ** -np.arange(0, 200, 10.0)
    x = np.linalg.qr(numbers("float64", 20, 20))[0] * scales
    for matrix in (x, x.T):
        found = tl.svdvals(tr.asarray(np.asfortranarray(matrix)), driver="jacobi").to_numpy()
        np.testing.assert_allclose(found, scales, rtol=1e-13)


@EACH_DTYPE
@pytest.mark.parametrize("driver", EIGH_DRIVERS)
@pytest.mark.parametrize(
    "shape", [(1, 1), (2, 2), (5, 5), (17, 17), (40, 40), (3, 3, 4), (20, 20, 3), (0, 0), (2, 2, 0)]
)
def test_every_driver_finds_the_pairs_of_the_lower_triangle(dtype: str, driver: str, shape: tuple[int, ...]) -> None:
    x = numbers(dtype, *shape)
    values, vectors = (one.to_numpy() for one in tl.eigh(tr.asarray(x), driver=driver))
    lower = np.moveaxis(x, (0, 1), (-2, -1))
    expected = np.moveaxis(np.linalg.eigvalsh(lower, UPLO="L"), -1, 0)
    assert values.dtype == expected.dtype and vectors.dtype == x.dtype and vectors.shape == shape
    bound = 20 * unit(dtype) * max(shape[0], 1) * max(1.0, float(abs(expected).max(initial=0)))
    np.testing.assert_allclose(values, expected, atol=bound)
    below = np.moveaxis(np.tril(lower, -1), (-2, -1), (0, 1))
    whole = below + below.swapaxes(0, 1).conj()
    whole += np.eye(shape[0]).reshape(*shape[:2], *[1] * (len(shape) - 2)) * x.real
    back = np.einsum("ik...,k...,jk...->ij...", vectors, values, vectors.conj())
    np.testing.assert_allclose(back, whole, atol=bound)
    gram = np.einsum("ki...,kj...->ij...", vectors.conj(), vectors)
    one = np.eye(shape[0]).reshape(*shape[:2], *[1] * (len(shape) - 2))
    np.testing.assert_allclose(gram, np.broadcast_to(one, gram.shape), atol=20 * unit(dtype) * max(shape[0], 1))


@pytest.mark.parametrize("scale", [1e-300, 1.0, 1e300])
@pytest.mark.parametrize("driver", EIGH_DRIVERS)
def test_pairs_at_the_ends_of_the_range_are_those_of_the_middle(driver: str, scale: float) -> None:
    x = numbers("float64", 20, 20)
    x = x + x.T
    values, vectors = tl.eigh(tr.asarray(np.tril(x) * scale + np.triu(np.ones((20, 20)), 1)), driver=driver)
    np.testing.assert_allclose(values.to_numpy() / scale, np.linalg.eigvalsh(x), atol=1e-13)
    np.testing.assert_allclose(x @ vectors.to_numpy(), vectors.to_numpy() * np.linalg.eigvalsh(x), atol=1e-12)


def test_rotations_find_small_eigenvalues_of_graded_definite_matrices() -> None:
    size = 24
    scales = np.random.default_rng(7).permutation(10.0 ** -np.linspace(0, 60, size))
    well = numbers("float64", size, size)
    well = np.eye(size) + 0.02 * (well + well.T)
    columns = np.asfortranarray(np.linalg.cholesky(well).T * scales)  # whose small singular values rotations find
    expected = np.sort(tl.svdvals(tr.asarray(columns), driver="jacobi").to_numpy() ** 2)
    graded = tr.asarray(scales[:, None] * well * scales)
    found = tl.eigh(graded, driver="jacobi").eigenvalues.to_numpy()
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert abs(tl.eigh(graded, driver="evd").eigenvalues.to_numpy()[0] / expected[0] - 1) > 1


def test_awkward_matrices_are_rotated_to_the_end() -> None:
    for x in (np.zeros((20, 20)), np.ones((20, 20)), np.eye(20), np.diag(np.arange(20.0)), np.eye(20)[::-1]):
        values, vectors = (one.to_numpy() for one in tl.eigh(tr.asarray(np.asfortranarray(x)), driver="jacobi"))
        np.testing.assert_allclose(values, np.linalg.eigvalsh(x), atol=1e-13)
        np.testing.assert_allclose(vectors.T @ vectors, np.eye(20), atol=1e-13)
    assert np.isnan(tl.eigh(tr.full((20, 20), float("nan")), driver="jacobi", check=False).eigenvalues.to_numpy()).all()


def test_where_the_usual_method_fails_another_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*arguments: Any, **options: Any) -> Any:
        raise np.linalg.LinAlgError

    form, values = form_of(tr.F64, (3, 3, 2), tr.CPU), form_of(tr.F64, (3, 2), tr.CPU)
    x = numbers("float64", 2, 3, 3)
    x = x + x.swapaxes(1, 2)
    singular, levels = np.linalg.svd(x, compute_uv=False), np.linalg.eigvalsh(x)
    monkeypatch.setattr(np.linalg, "svd", fails)
    monkeypatch.setattr(np.linalg, "eigh", fails)
    svdvals, eigh = SVDParams(True, "auto"), EighParams(True, "auto")
    np.testing.assert_allclose(bind_numpy("svdvals", (form,), values, svdvals)(x), singular, atol=1e-14)
    np.testing.assert_allclose(bind_numpy("eigh", (form,), (values, form), eigh)(x)[0], levels, atol=1e-14)
    for name, result, params in (
        ("svdvals", values, SVDParams(True, "gesdd")),
        ("eigh", (values, form), EighParams(True, "evd")),
    ):
        with pytest.raises(tl.NotConvergedError, match=rf"^{name}: the iteration .* at batch index \(0,\) did not"):
            bind_numpy(name, (form,), result, params)(x)
    monkeypatch.setattr(lapack, "call", lambda *arguments: 1)
    for name, result, params in (("svdvals", values, svdvals), ("eigh", (values, form), eigh)):
        with pytest.raises(tl.NotConvergedError, match=rf"^{name}: the iteration .* at batch index \(0,\) did not"):
            bind_numpy(name, (form,), result, params)(x)
    monkeypatch.setattr(hermitian, "_SWEEPS", 0)
    with pytest.raises(tl.NotConvergedError, match=r"^eigh: the iteration"):
        bind_numpy("eigh", (form,), (values, form), EighParams(True, "jacobi"))(x)


@EACH_DTYPE
@pytest.mark.parametrize("hermitian", [False, True])
def test_pseudo_inverses_are_those_of_every_driver(dtype: str, hermitian: bool) -> None:
    x = numbers(dtype, 20, 20)
    x = x @ x.conj().T if hermitian else x[:, :12]
    expected = np.linalg.pinv(x.astype(complex))
    for driver in EIGH_DRIVERS if hermitian else SVD_DRIVERS:
        found = tl.pinv(tr.asarray(np.asfortranarray(x)), hermitian=hermitian, driver=driver, rtol=1e-12)
        np.testing.assert_allclose(found.to_numpy(), expected, atol=3e3 * unit(dtype) * abs(expected).max())
        masked = tl.pinv(tr.asarray(np.asfortranarray(x)), hermitian=hermitian, driver=driver, rtol=1e-12, check="mask")
        np.testing.assert_array_equal(masked.result.to_numpy(), found.to_numpy())


def test_drivers_of_a_split_are_those_of_its_method() -> None:
    x = tr.normal((3, 4, 5), seed=1, dtype="C64")
    for method, drivers in (("svd", SVD_DRIVERS), ("eigh", EIGH_DRIVERS)):
        for driver in drivers:
            left, s, right, _ = tl.split(x, 1, method=method, driver=driver)
            whole = np.tensordot(left.to_numpy() * s.to_numpy(), right.to_numpy(), 1)
            np.testing.assert_allclose(whole, x.to_numpy().transpose(1, 0, 2), atol=1e-13)


def test_drivers_and_gauges_that_there_are_not_are_refused() -> None:
    x = tr.eye(3)
    calls: list[tuple[str, Any]] = [
        ("svdvals: driver is 'fast'; accepted: 'auto', 'gesdd'", lambda: tl.svdvals(x, driver="fast")),
        ("eigh: driver is 'gesvd'; accepted: 'auto', 'evd', 'ev', 'evr'", lambda: tl.eigh(x, driver="gesvd")),
        ("eigh: driver is 'ev' beside a subset", lambda: tl.eigh(x, driver="ev", subset_by_index=(0, 1))),
        ("pinv: driver is 'evd'; accepted: 'auto', 'gesdd'", lambda: tl.pinv(x, driver="evd")),
        ("pinv: driver is 'gesdd'; accepted: 'auto', 'evd'", lambda: tl.pinv(x, driver="gesdd", hermitian=True)),
        ("split: driver is 'evd'; accepted: 'auto', 'gesdd'", lambda: tl.split(x, 0, driver="evd")),
        ("split: driver is 'gesdd'; accepted: 'auto'$", lambda: tl.split(x, 0, method="qr", driver="gesdd")),
        ("split: gauge is 'first'; accepted: 'raw', 'canonical'", lambda: tl.split(x, 0, gauge="first")),
        ("split: gauge beside method 'qr'", lambda: tl.split(x, 0, method="qr", gauge="canonical")),
        ("schur: gauge is 'first'; accepted", lambda: tl.schur(x, gauge="first")),
        ("svd_truncated: gauge is 'first'; accepted", lambda: tl.svd_truncated(x, gauge="first")),
    ]
    for message, call in calls:
        with pytest.raises(ArgumentError, match=message):
            call()
    wrong = tr.eye(2)
    for name, call in (
        ("split", lambda: tl.split(x, 0, gauge=wrong)),
        ("schur", lambda: tl.schur(x, gauge=wrong)),
        ("svd_truncated", lambda: tl.svd_truncated(x, max_rank=2, gauge=x)),
    ):
        with pytest.raises(ShapeError, match=f"^{name}: gauge of shape"):
            call()
    there = tr.to(x, "sim:0")
    with pytest.raises(UnsupportedOperationError, match=r"^eigh\.ev: "):
        tl.eigh(there, driver="ev")
    for driver in ("evd", "jacobi"):
        assert tr.to(tl.eigh(there, driver=driver).eigenvalues, "cpu").to_numpy().tolist() == [1.0, 1.0, 1.0]
    assert tr.to(tl.svdvals(there, driver="gesvd"), "cpu").to_numpy().tolist() == [1.0, 1.0, 1.0]


@EACH_DTYPE
@pytest.mark.parametrize("method", ["svd", "eigh"])
@pytest.mark.parametrize("absorb", [None, "left", "right", "both"])
@pytest.mark.parametrize("axes", [((0, 1), (2,)), ((0,), (2, 1))])
def test_canonical_splits_do_not_depend_on_the_method_or_its_signs(
    dtype: str, method: str, absorb: str | None, axes: Any
) -> None:
    x = numbers(dtype, 2, 4, 3, 2)
    options: dict[str, Any] = {"batch_axes": 3, "absorb": absorb, "gauge": "canonical"}
    found = tl.split(tr.asarray(x), *axes, method=method, **options)
    other = tl.split(tr.asarray(x), *axes, driver="gesvd", **options)
    tolerance = 2e3 * unit(dtype)
    for ours, theirs in zip(found, other, strict=True):
        np.testing.assert_allclose(
            ours.to_numpy(), theirs.to_numpy(), atol=tolerance * abs(theirs.to_numpy()).max(initial=1)
        )
    left = found.left.to_numpy().reshape(-1, *found.left.shape[-2:], order="F")
    sizes = abs(left)
    first = (sizes >= (1 - 1e-3) * sizes.max(0)).argmax(0)
    chosen = np.take_along_axis(left, first[None], 0)
    assert (chosen.real > 0).all() and (chosen.imag == 0).all()
    raw = tl.split(tr.asarray(x), *axes, method=method, batch_axes=3, absorb=absorb)
    for ours, theirs in ((found, raw),):
        whole = [np.einsum("akb,kcb->acb", _matrix(one.left, -2), _weighted(one, absorb)) for one in (ours, theirs)]
        np.testing.assert_allclose(whole[0], whole[1], atol=tolerance)


def _matrix(left: tr.Tensor, keep: int) -> Array:
    return left.to_numpy().reshape(-1, *left.shape[keep:], order="F")


def _weighted(found: tl.SplitResult, absorb: str | None) -> Array:
    right = found.right.to_numpy()
    rows = right.reshape(right.shape[0], -1, right.shape[-1], order="F")
    return rows if absorb else rows * found.s.to_numpy()[:, None]


@EACH_DTYPE
@pytest.mark.parametrize("method", ["svd", "eigh"])
def test_a_split_follows_one_of_a_tensor_nearby(dtype: str, method: str) -> None:
    x, y = numbers(dtype, 3, 2, 4, 3), numbers(dtype, 4, 3, 2, 3)
    first = tl.split(tr.asarray(x), (0, 1), 2, batch_axes=3, max_rank=2)
    turned = phased(_matrix(first.left, -2), dtype)
    reference = tr.asarray(np.asfortranarray(turned.reshape(first.left.shape, order="F")))
    near = tr.asarray((x + 1e-4 * y.transpose(1, 2, 0, 3)).astype(dtype))
    moved = tl.split(near, (0, 1), 2, batch_axes=3, max_rank=2, method=method, gauge=reference)
    overlaps = (turned.conj() * _matrix(moved.left, -2)).sum(0)
    assert (overlaps.real > 0.99).all()
    np.testing.assert_allclose(overlaps.imag, 0, atol=100 * unit(dtype))
    masked = tl.split(near, (0, 1), 2, batch_axes=3, max_rank=2, method=method, gauge=reference, check="mask")
    np.testing.assert_array_equal(masked.result.left.to_numpy(), moved.left.to_numpy())
    truncated = tl.svd_truncated(near[:, 0], max_rank=2)
    followed = tl.svd_truncated(near[:, 0], max_rank=2, gauge=tr.multiply(truncated.u, -1.0))
    np.testing.assert_allclose(followed.u.to_numpy(), -truncated.u.to_numpy(), atol=10 * unit(dtype))
    np.testing.assert_allclose(followed.vh.to_numpy(), -truncated.vh.to_numpy(), atol=10 * unit(dtype))


@EACH_DTYPE
@pytest.mark.parametrize("form", ["real", "complex"])
def test_schur_vectors_have_a_gauge_and_leave_the_eigenvalues(dtype: str, form: str) -> None:
    x = tr.asarray(numbers(dtype, 6, 6, 4))
    raw, canonical = tl.schur(x, form=form), tl.schur(x, form=form, gauge="canonical")
    t, z = canonical.t.to_numpy(), canonical.z.to_numpy()
    sizes = abs(z)
    chosen = np.take_along_axis(z, (sizes >= (1 - 1e-3) * sizes.max(0)).argmax(0)[None], 0)
    assert (chosen.real > 0).all() and (chosen.imag == 0).all()
    np.testing.assert_array_equal(np.einsum("iib->ib", t), np.einsum("iib->ib", raw.t.to_numpy()))
    assert (t[np.tril_indices(6, -2)] == 0).all()
    back = np.einsum("ikb,klb,jlb->ijb", z, t, z.conj())
    np.testing.assert_allclose(back, x.to_numpy(), atol=200 * unit(dtype))
    reference = tr.asarray(phased(raw.z.to_numpy(), raw.z.to_numpy().dtype.name))
    followed = tl.schur(x, form=form, gauge=reference)
    np.testing.assert_allclose(followed.z.to_numpy(), reference.to_numpy(), atol=20 * unit(dtype))
    spoilt = np.array(x.to_numpy(), order="F")
    spoilt[0, 0, 1] = np.nan
    masked = tl.schur(tr.asarray(spoilt), form=form, gauge="canonical", check="mask")
    assert masked.status.to_numpy().tolist() == [0, 1, 0, 0]
    np.testing.assert_allclose(masked.result.z.to_numpy()[..., [0, 2, 3]], z[..., [0, 2, 3]], atol=20 * unit(dtype))
    assert np.isnan(masked.result.t.to_numpy()[..., 1]).all() and np.isnan(masked.result.z.to_numpy()[..., 1]).all()
    assert tl.schur(tr.zeros((0, 0, 2)), gauge="canonical").z.shape == (0, 0, 2)


def test_references_are_taken_beside_a_mask() -> None:
    x = numbers("complex128", 4, 4, 3)
    x = x + x.swapaxes(0, 1).conj()
    spoilt = x.copy()
    spoilt[1, 1, 2] = np.inf
    good = tr.asarray(np.asfortranarray(x))
    for function, vectors in ((tl.eigh, "eigenvectors"), (tl.eig, "eigenvectors"), (tl.svd, "u")):
        reference = tr.multiply(getattr(function(good), vectors), 1j)
        found: Any = function(tr.asarray(np.asfortranarray(spoilt)), gauge=reference, check="mask")
        kept = getattr(found.result if hasattr(found, "result") else found, vectors).to_numpy()
        assert found.status.to_numpy().tolist() == [0, 0, 1]
        np.testing.assert_allclose(kept[..., :2], reference.to_numpy()[..., :2], atol=1e-14)
        assert np.isnan(kept[..., 2]).all()


@EACH_DTYPE
@pytest.mark.parametrize("method", ["svd", "eigh"])
@pytest.mark.parametrize("end", [-1, 0, 1])
def test_a_reference_gauge_holds_at_the_ends_of_the_range(dtype: str, method: str, end: int) -> None:
    size = 10.0 ** (end * (25 if dtype in ("float32", "complex64") else 200))
    x = tr.asarray((numbers(dtype, 4, 3) * size).astype(dtype))
    turn = tr.asarray(np.asarray(np.exp(2j) if "complex" in dtype else -1.0).astype(dtype))
    reference = split_left(x, method, "raw") * turn
    found = split_left(x, method, reference)
    assert np.allclose(found.to_numpy() / size, reference.to_numpy() / size, rtol=1e-5, atol=1e-5)


def split_left(x: tr.Tensor, method: str, gauge: Any) -> tr.Tensor:
    return tl.split(x, 0, 1, method=method, absorb="left", gauge=gauge).left


@EACH_DTYPE
def test_a_reference_gauge_may_have_another_dtype(dtype: str) -> None:
    x = tr.asarray(numbers(dtype, 4, 4))
    raw = tl.svd(x)
    wider = tr.cast(-raw.u, tr.C64 if "complex" in dtype else tr.F64)
    found = tl.svd(x, gauge=wider)
    assert found.u.dtype is raw.u.dtype and found.vh.dtype is raw.vh.dtype
    assert np.allclose(found.u.to_numpy(), -raw.u.to_numpy(), atol=1e-5)
    whole = tr.asarray(np.eye(4, dtype=np.int64))
    diagonal = np.diagonal(tl.svd(x, gauge=whole).u.to_numpy())
    assert np.all(diagonal.real > 0) and np.allclose(diagonal.imag, 0.0, atol=1e-6)


def test_a_reference_gauge_of_real_vectors_is_real() -> None:
    with pytest.raises(DTypeError, match=r"^svd: gauge is C64 for vectors of F64; accepted: a real one$"):
        tl.svd(tr.eye(2), gauge=tr.eye(2, dtype=tr.C64))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_column_of_a_reference_gauge_that_is_not_finite_turns_nothing(bad: float) -> None:
    x = tr.asarray(numbers("complex128", 3, 3))
    raw = tl.svd(x).u.to_numpy()
    reference = -raw
    reference[1, 0] = bad
    found = tl.svd(x, gauge=tr.asarray(reference)).u.to_numpy()
    assert np.array_equal(found[:, 0], raw[:, 0])
    assert np.allclose(found[:, 1:], -raw[:, 1:], rtol=1e-14)
