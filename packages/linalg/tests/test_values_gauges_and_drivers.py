"""Values alone, full factors, signs and phases, drivers, subsets, and rules for backends that have fewer kernels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

import numpy as np
import pytest
import scipy.linalg as sl

import tensor_linalg as tl
import tensor_runtime as tr
from tensor_core.errors import ArgumentError, DTypeError, ShapeError
from tensor_cpu.system import lapack
from tensor_linalg.testing.cases import cases
from tensor_runtime.backends.registry import registry
from tensor_runtime.placement import Placement
from tensor_runtime.testing.conformance import check_case
from tensor_runtime.testing.simulated_device import SimulatedBackend

Array = np.ndarray[Any, np.dtype[Any]]
EACH_DTYPE = pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
LOWERED = ("eigh_range", "eigvals", "eigvalsh", "qr_complete", "solve_toeplitz", "svd_full", "svdvals")


def numbers(dtype: str, *shape: int) -> Array:
    rng = np.random.default_rng(shape)
    x = rng.standard_normal(shape) + 1j * rng.standard_normal(shape)
    return np.asarray((x if "complex" in dtype else x.real).astype(dtype))


def near(found: Array, expected: Array, dtype: str, times: float = 60.0) -> bool:
    scale = max(1.0, float(np.abs(expected).max(initial=0.0)))
    return found.shape == expected.shape and bool(
        (np.abs(found - expected) <= times * float(np.finfo(dtype).eps) * scale).all()
    )


def orthonormal(columns: Array, dtype: str) -> bool:
    gram = np.einsum("ki...,kj...->ij...", columns.conj(), columns)
    one = np.eye(columns.shape[1]).reshape(gram.shape[:2] + (1,) * (gram.ndim - 2))
    return near(gram, np.broadcast_to(one, gram.shape), dtype)


@EACH_DTYPE
@pytest.mark.parametrize("shape", [(5, 3), (3, 5), (4, 4, 3), (3, 2, 40), (40, 30), (0, 2), (2, 2, 0), (1, 1)])
def test_values_alone_are_numpys(dtype: str, shape: tuple[int, ...]) -> None:
    x = numbers(dtype, *shape)
    found = tl.svdvals(tr.asarray(x))
    expected = np.moveaxis(np.linalg.svd(np.moveaxis(x, (0, 1), (-2, -1)), compute_uv=False), -1, 0)
    assert found.is_compact
    assert near(found.to_numpy(), expected, dtype)
    if shape[0] == shape[1]:
        values = np.moveaxis(np.linalg.eigvalsh(np.moveaxis(x, (0, 1), (-2, -1)), UPLO="L"), -1, 0)
        assert near(tl.eigvalsh(tr.asarray(x)).to_numpy(), values, dtype)


@EACH_DTYPE
@pytest.mark.parametrize("driver", ["auto", "gesdd", "gesvd", "jacobi"])
def test_every_driver_decomposes_thin_and_full(dtype: str, driver: str) -> None:
    for shape in ((5, 3), (3, 5), (30, 20), (2, 3, 4), (0, 2), (2, 0, 3)):
        x = numbers(dtype, *shape)
        for full in (False, True):
            u, s, vh = (part.to_numpy() for part in tl.svd(tr.asarray(x), driver=driver, full=full))
            short = min(shape[:2])
            assert u.shape[:2] == (shape[0], shape[0] if full else short)
            assert vh.shape[:2] == (shape[1] if full else short, shape[1])
            assert near(np.einsum("ik...,k...,kj...->ij...", u[:, :short], s, vh[:short]), x, dtype)
            assert orthonormal(u, dtype)
            assert orthonormal(vh.swapaxes(0, 1), dtype)


def test_jacobi_finds_small_values_of_a_graded_matrix_where_divide_and_conquer_has_no_digit() -> None:
    scales = 10.0 ** -np.arange(0, 200, 10.0)
    x = np.linalg.qr(numbers("float64", 20, 20))[0] * scales
    found = tl.svd(tr.asarray(x), driver="jacobi").s.to_numpy()

    assert (np.abs(found / scales - 1) < 1e-13).all()


def test_where_divide_and_conquer_fails_another_driver_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    from tensor_cpu.kernel_table import bind_numpy
    from tensor_linalg.contracts import SVDParams
    from tensor_runtime.form import form_of

    def fails(*arguments: Any, **options: Any) -> Any:
        raise np.linalg.LinAlgError

    form, values = form_of(tr.F64, (3, 3, 2), tr.CPU), form_of(tr.F64, (3, 2), tr.CPU)
    x = numbers("float64", 2, 3, 3)
    expected = np.linalg.svd(x, compute_uv=False)
    monkeypatch.setattr(np.linalg, "svd", fails)

    assert near(bind_numpy("svd", (form,), (form, values, form), SVDParams(True, "auto"))(x)[1], expected, "float64")
    with pytest.raises(tl.NotConvergedError, match=r"svd: the iteration .* at batch index \(0,\) did not converge"):
        bind_numpy("svd", (form,), (form, values, form), SVDParams(True, "gesdd"))(x)
    monkeypatch.setattr(lapack, "call", lambda *arguments: 1)
    with pytest.raises(tl.NotConvergedError, match=r"svd: the iteration .* at batch index \(0,\) did not converge"):
        bind_numpy("svd", (form,), (form, values, form), SVDParams(True, "auto"))(x)


def test_an_unknown_driver_mode_side_form_or_gauge_is_refused() -> None:
    x = tr.eye(3)
    with pytest.raises(ArgumentError, match="svd: driver is 'fast'; accepted: 'auto', 'gesdd', 'gesvd', 'jacobi'"):
        tl.svd(x, driver="fast")
    with pytest.raises(ArgumentError, match="rq: mode is 'full'; accepted: 'thin', 'complete'"):
        tl.rq(x, mode="full")
    with pytest.raises(ArgumentError, match="polar: side is 'up'"):
        tl.polar(x, side="up")
    with pytest.raises(ArgumentError, match="schur: form is 'quasi'"):
        tl.schur(x, form="quasi")
    with pytest.raises(ArgumentError, match="eigh: gauge is 'positive'; accepted: 'raw', 'canonical'"):
        tl.eigh(x, gauge="positive")
    with pytest.raises(ShapeError, match="svd: gauge of shape"):
        tl.svd(x, gauge=tr.eye(2))


@EACH_DTYPE
@pytest.mark.parametrize("full", [False, True])
def test_the_canonical_gauge_is_the_same_for_every_driver_and_phase(dtype: str, full: bool) -> None:
    x = numbers(dtype, 5, 3)
    turned = x * (np.exp(1j * np.arange(3)) if "complex" in dtype else np.array([1, -1, 1]))
    first = tl.svd(tr.asarray(x), gauge="canonical", full=full)
    second = tl.svd(tr.asarray(x), gauge="canonical", driver="gesvd", full=full)
    third = tl.svd(tr.asarray(turned.astype(dtype)), gauge="canonical", full=full)
    largest = np.take_along_axis(first.u.to_numpy(), np.abs(first.u.to_numpy()).argmax(0)[None], 0)

    assert (largest.real > 0).all()
    assert (largest.imag == 0).all()
    for other in (second, third):
        assert near(other.u.to_numpy()[:, :3], first.u.to_numpy()[:, :3], dtype, 500)
    assert near(second.vh.to_numpy()[:3], first.vh.to_numpy()[:3], dtype, 500)
    whole = first.u.to_numpy()[:, :3] * first.s.to_numpy() @ first.vh.to_numpy()[:3]
    assert near(whole, x, dtype)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_canonical_eigenvectors_have_one_element_that_is_exactly_real(dtype: str) -> None:
    x = numbers(dtype, 6, 6, 40)
    vectors = tl.eigh(tr.asarray(x + x.swapaxes(0, 1).conj()), gauge="canonical").eigenvectors.to_numpy()
    exactly_real = (vectors.imag == 0) & (vectors.real > 0)

    assert exactly_real.any(0).all()
    assert (np.where(exactly_real, np.abs(vectors), 0).max(0) >= (1 - 1e-3) * np.abs(vectors).max(0)).all()


@EACH_DTYPE
def test_a_reference_keeps_vectors_continuous_along_a_path(dtype: str) -> None:
    x, y = numbers(dtype, 4, 4, 3), numbers(dtype, 4, 4, 3)
    x, y = x + x.swapaxes(0, 1).conj(), y + y.swapaxes(0, 1).conj()
    reference = tl.eigh(tr.asarray(x)).eigenvectors
    turned = reference * tr.asarray(np.array([1, -1, 1, -1], dtype)[None, :, None])
    moved = tl.eigh(tr.asarray((x + 1e-4 * y).astype(dtype)), gauge=turned).eigenvectors.to_numpy()
    overlaps = (turned.to_numpy().conj() * moved).sum(0)

    assert (overlaps.real > 0.9).all()
    assert near(overlaps.imag, np.zeros_like(overlaps.real), dtype)


@EACH_DTYPE
@pytest.mark.parametrize("name", ["qr", "rq", "lq", "ql"])
def test_a_positive_diagonal_makes_triangular_factors_unique(dtype: str, name: str) -> None:
    for mode, shape in product(("thin", "complete"), ((5, 3), (3, 5), (3, 3, 2), (0, 2), (2, 0))):
        x = numbers(dtype, *shape)
        left, right = (part.to_numpy() for part in getattr(tl, name)(tr.asarray(x), mode=mode, positive=True))
        triangle, columns = (left, right.swapaxes(0, 1)) if name in ("rq", "lq") else (right, left)
        corner = triangle.shape[1] - triangle.shape[0] if name in ("rq", "ql") else 0
        matrices = np.moveaxis(triangle, (0, 1), (-2, -1))
        diagonal = np.diagonal(matrices, corner, -2, -1)
        outside = np.tril(matrices, corner - 1) if name in ("qr", "rq") else np.triu(matrices, corner + 1)

        assert near(np.einsum("ik...,kj...->ij...", left, right), x, dtype)
        assert orthonormal(columns, dtype)
        assert (outside == 0).all()
        assert (diagonal.real >= 0).all()
        assert (diagonal.imag == 0).all()


@EACH_DTYPE
def test_generalized_eigenvalues_are_scipys_and_vectors_are_orthonormal_in_b(dtype: str) -> None:
    x, y = numbers(dtype, 4, 4, 3), numbers(dtype, 4, 4)
    positive = (y @ y.conj().T + 4 * np.eye(4)).astype(dtype)
    w, v = (part.to_numpy() for part in tl.eigh(tr.asarray(x), tr.asarray(positive)))

    for k in range(3):
        lower = np.tril(x[..., k], -1)
        full = lower + lower.conj().T + np.diag(np.diag(x[..., k]).real)
        assert near(w[:, k], sl.eigh(full, positive, eigvals_only=True), dtype, 200)
        assert near(full @ v[..., k], positive @ v[..., k] * w[:, k], dtype, 200)
        assert near(v[..., k].conj().T @ positive @ v[..., k], np.eye(4), dtype, 200)


def test_generalized_problems_name_the_operand_that_is_wrong() -> None:
    x = tr.eye(3)
    with pytest.raises(tl.NotPositiveDefiniteError, match="eigh: of operand b, the leading 1x1 block"):
        tl.eigh(x, -x)
    with pytest.raises(tl.NonFiniteError, match=r"eigh: operand b holds (nan|inf) at element \(0, 0\)"):
        tl.eigh(x, tr.full((3, 3), float("nan")))
    with pytest.raises(ShapeError, match="eigh: a of shape"):
        tl.eigh(x, tr.eye(2))
    with pytest.raises(DTypeError, match="eigh: operand b is I64"):
        tl.eigh(x, tr.ones((3, 3), dtype="I64"))


def test_a_subset_of_eigenvalues_is_taken_by_index_or_by_value() -> None:
    x = numbers("float64", 6, 6)
    x = x + x.T
    every = np.linalg.eigvalsh(x)
    w, v = (part.to_numpy() for part in tl.eigh(tr.asarray(x), subset_by_index=(1, 3)))
    assert near(w, every[1:4], "float64")
    assert near(x @ v, v * w, "float64")
    batched = tl.eigh(tr.asarray(np.stack([x, -x], axis=-1)), subset_by_index=(5, 5))
    assert near(batched.eigenvalues.to_numpy(), np.array([[every[5], -every[0]]]), "float64")
    low, high = (every[1] + every[2]) / 2, (every[3] + every[4]) / 2
    w, v = (part.to_numpy() for part in tl.eigh(tr.asarray(x), subset_by_value=(low, high)))
    assert near(w, every[2:4], "float64")
    assert near(x @ v, v * w, "float64")
    assert tl.eigh(tr.asarray(x), subset_by_value=(1e6, 2e6)).eigenvectors.shape == (6, 0)


def test_a_subset_that_is_none_is_refused() -> None:
    x = tr.eye(3)
    for ends in ((2, 1), (0, 3), (-1, 1), (1,)):
        with pytest.raises(ArgumentError, match=r"eigh: subset_by_index is .* with 0 <= first <= last < 3"):
            tl.eigh(x, subset_by_index=ends)  # type: ignore[arg-type]
    for interval in ((2.0, 1.0), (0.0,), (0.0, float("nan")), 3):
        with pytest.raises(ArgumentError, match="eigh: subset_by_value is"):
            tl.eigh(x, subset_by_value=interval)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="accepted: one of them"):
        tl.eigh(x, subset_by_index=(0, 1), subset_by_value=(0.0, 1.0))
    with pytest.raises(ShapeError, match="eigh: subset_by_value of a batch"):
        tl.eigh(tr.zeros((3, 3, 2)), subset_by_value=(0.0, 1.0))


@EACH_DTYPE
def test_the_upper_cholesky_factor_reads_the_upper_triangle(dtype: str) -> None:
    x = numbers(dtype, 4, 4, 3)
    positive = np.einsum("ik...,jk...->ij...", x, x.conj()) + 4 * np.eye(4, dtype=dtype)[..., None]
    junk = np.moveaxis(np.triu(np.moveaxis(positive, -1, 0)), 0, -1) + 99 * np.tri(4, k=-1, dtype=dtype)[..., None]
    found = tl.cholesky(tr.asarray(junk), upper=True)

    assert found.is_compact
    for k in range(3):
        assert near(found.to_numpy()[..., k], np.linalg.cholesky(positive[..., k]).conj().T, dtype)
    with pytest.raises(tl.NotPositiveDefiniteError, match="cholesky: the leading 1x1 block"):
        tl.cholesky(-tr.eye(2), upper=True)


def test_the_text_of_a_result_has_one_field_after_the_other_and_few_lines() -> None:
    text = repr(tl.qr(tr.ones((20, 20))))
    assert text.splitlines()[:2] == ["QRResult:", "  q: Tensor(F64, (20, 20), column-major, cpu)"]
    assert len(text.splitlines()) < 20
    assert "  r: Tensor(F64, (20, 20), column-major, cpu)" in text.splitlines()


class Bare(SimulatedBackend):
    """Lacks the kernels that have rules, without listing them."""

    def unsupported(self) -> Mapping[str, str]:
        return {}


@EACH_DTYPE
def test_a_subset_of_a_large_matrix_is_that_of_all_pairs(dtype: str) -> None:
    size = 70
    x = numbers(dtype, size, size)
    x = np.asarray(x + x.conj().T)
    b = np.asarray(x @ x.conj().T / size + 2 * np.eye(size)).astype(dtype)
    whole = np.linalg.eigvalsh(x.astype(complex))
    middle = float(whole[9] + whole[10]) / 2
    for options, chosen in (
        ({"subset_by_index": (3, 9)}, whole[3:10]),
        ({"subset_by_index": (0, 60)}, whole[:61]),
        ({"subset_by_value": (-1e3, middle)}, whole[:10]),
    ):
        given: Any = options
        w, v = (part.to_numpy() for part in tl.eigh(tr.asarray(x), **given))
        assert near(w, chosen, dtype, 600)
        assert near(v.conj().T @ v, np.eye(len(w)), dtype, 3 * size)
        assert near(x @ v, v * w, dtype, 600)
    w, v = (part.to_numpy() for part in tl.eigh(tr.asarray(x), tr.asarray(b), subset_by_index=(0, 4)))
    assert near(x @ v, b @ v * w, dtype, 3000)
    x[40, 3] = np.nan
    for given in ({"subset_by_index": (3, 9)}, {"subset_by_value": (0.0, 1.0)}):
        with pytest.raises(tl.NonFiniteError, match=r"^eigh: operand a holds") as caught:
            tl.eigh(tr.asarray(x), **given)
        assert caught.value.element_index == (40, 3)


@pytest.fixture(scope="module")
def bare() -> Iterator[Placement]:
    device = Bare(tr.backend("cpu"), "bare-linalg", dict.fromkeys(LOWERED, "no such unit"))
    tr.register_backend("bare-linalg", device)
    yield device.placement()
    registry.unregister("bare-linalg")


def test_a_device_without_kernels_that_have_rules_gives_what_every_backend_must(bare: Placement) -> None:
    names = {"linalg.eigvals", "linalg.eigvalsh", "linalg.solve_toeplitz", "linalg.svdvals"}
    labels = ("full", "complete", "subset")
    chosen = [case for case in cases() if case.operation in names or any(label in case.label for label in labels)]
    for case in chosen:
        if "pivoting" not in case.label and case.operation != "linalg.lu":
            check_case(case, bare)
    assert len(chosen) > 60


def test_rules_name_what_was_called(bare: Placement) -> None:
    x = tr.to(tr.full((2, 2), float("nan")), bare)
    for function in (tl.svdvals, tl.eigvalsh, tl.eigvals):
        with pytest.raises(tl.NonFiniteError, match=rf"^{function.__name__}: operand a holds"):
            function(x)


def test_eigenvectors_of_any_matrix_take_a_gauge() -> None:
    a = tr.normal((5, 5, 3), seed=8)
    raw, canonical = tl.eig(a), tl.eig(a, gauge="canonical")
    vectors = canonical.eigenvectors.to_numpy()
    largest = np.take_along_axis(vectors, np.abs(vectors).argmax(axis=0)[None], 0)
    assert (canonical.eigenvalues.to_numpy() == raw.eigenvalues.to_numpy()).all()
    assert np.abs(largest.imag).max() < 0.05  # real, but where another is as large to a thousandth
    residual = tl.matmul(a, canonical.eigenvectors) - canonical.eigenvectors * tr.expand_dims(canonical.eigenvalues, 0)
    assert np.abs(residual.to_numpy()).max() < 1e-13
    back = tl.eig(a, gauge=raw.eigenvectors * 1j)
    assert np.abs(back.eigenvectors.to_numpy() - raw.eigenvectors.to_numpy() * 1j).max() < 1e-14
    assert (tl.eig(a, gauge="canonical", check="mask").result.eigenvectors.to_numpy() == vectors).all()
    with pytest.raises(ArgumentError, match="eig: gauge is 'other'"):
        tl.eig(a, gauge="other")
