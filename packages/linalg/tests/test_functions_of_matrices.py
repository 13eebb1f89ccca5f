"""Exponentials, sines, cosines, roots and logarithms of matrices beside SciPy's and series of rational numbers."""

from __future__ import annotations

import warnings
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy.linalg

import tensor_linalg as tl
import tensor_runtime as tr
from tensor_core import ArgumentError, ShapeError
from tensor_runtime.backends.registry import registry
from tensor_runtime.testing.simulated_device import SimulatedBackend

Array = np.ndarray[Any, np.dtype[Any]]
DTYPES = ("float32", "float64", "complex64", "complex128")
EACH = pytest.mark.parametrize("dtype", DTYPES)


def numbers(shape: tuple[int, ...], dtype: str = "float64", seed: int = 0) -> Array:
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape) + (1j * rng.standard_normal(shape) if np.dtype(dtype).kind == "c" else 0)
    return x.astype(dtype)


def error(found: tr.Tensor, expected: Array) -> float:
    """In rounding units of the result's dtype, beside the largest element."""
    array = found.to_numpy()
    assert array.shape == expected.shape
    unit = float(np.finfo(array.dtype).eps)
    return float(np.abs(array - expected).max(initial=0.0) / (unit * max(1e-30, np.abs(expected).max(initial=0.0))))


def exact_exponential(a: list[list[Fraction]]) -> Array:
    """The series of rational numbers, after eight halvings."""
    size, halved = len(a), [[one / 256 for one in row] for row in a]

    def times(x: list[list[Fraction]], y: list[list[Fraction]]) -> list[list[Fraction]]:
        rounded = [
            [sum((x[i][k] * y[k][j] for k in range(size)), Fraction(0)) for j in range(size)] for i in range(size)
        ]
        return [[Fraction(round(one * 2**250), 2**250) for one in row] for row in rounded]

    term = total = [[Fraction(int(i == j)) for j in range(size)] for i in range(size)]
    for k in range(1, 60):
        term = [[one / k for one in row] for row in times(term, halved)]
        total = [[x + y for x, y in zip(*rows, strict=True)] for rows in zip(total, term, strict=True)]
    for _ in range(8):
        total = times(total, total)
    return np.array([[float(one) for one in row] for row in total])


@pytest.mark.parametrize(
    "rows",
    [
        [[1, 2], [3, 4]],
        [[-49, 24], [-64, 31]],  # Moler and Van Loan's, on which series without scaling fail
        [[1, 1000000], [0, -1]],  # far from normal: scaling by the norm loses six digits
        [[0, 6, 0, 0], [-6, 0, 1, 0], [0, -1, 0, 9], [0, 0, -9, 0]],
    ],
)
def test_an_exponential_has_the_digits_of_the_exact_one(rows: list[list[int]]) -> None:
    expected = exact_exponential([[Fraction(one) for one in row] for row in rows])
    a = np.array(rows, float)
    among_others = np.stack([np.eye(len(rows)) * 1e-3, a, 50 * np.eye(len(rows))], -1)

    assert error(tl.expm(tr.asarray(a)), expected) < 300
    found = tl.expm(tr.asarray(among_others)).to_numpy()[..., 1]
    assert np.abs(found - expected).max() <= 300 * 2.0**-52 * np.abs(expected).max()


@EACH
@pytest.mark.parametrize("size", [1e-3, 1.0, 12.0])
def test_exponentials_are_scipys_for_each_matrix_whatever_the_size(dtype: str, size: float) -> None:
    a = (numbers((5, 5, 2, 2), dtype) * np.array([size, 1.0]) / 3).astype(dtype)
    found = tl.expm(tr.asarray(a))
    wide = a.astype("complex128" if np.dtype(dtype).kind == "c" else "float64")
    for k in np.ndindex(2, 2):
        index: tuple[Any, ...] = (..., *k)
        assert error(found[index], scipy.linalg.expm(wide[index])) < (1000 if wide.dtype == a.dtype else 4)


@EACH
def test_exponentials_of_numbers_are_those_of_the_elements(dtype: str) -> None:
    """By squaring, that of -10.5 would be off by 193 rounding units."""
    x = np.array([-10.5, 0.0, 3.25, 700.0 if dtype.endswith(("64", "128")) and dtype != "complex64" else 80.0])
    x = x.reshape(1, 1, 4).astype(dtype)
    assert error(tl.expm(tr.asarray(x)), np.exp(x)) <= 1
    for place in range(4):
        assert error(tl.expm(tr.asarray(x[..., place])), np.exp(x[..., place])) <= 1


def test_exponentials_of_skew_matrices_are_orthogonal_and_nothing_overflows_on_the_way() -> None:
    x = numbers((4, 4)) * 1000
    found = tl.expm(tr.asarray(x - x.T)).to_numpy()
    assert np.abs(found @ found.T - np.eye(4)).max() < 1e-12
    far = tl.expm(tr.asarray(np.array([[0.0, 1e200], [0.0, 0.0]]))).to_numpy()
    assert far.tolist() == [[1.0, 1e200], [0.0, 1.0]]
    decayed = tl.expm(tr.asarray(np.diag([-1e5, 0.0]))).to_numpy()
    assert decayed.tolist() == [[0.0, 0.0], [0.0, 1.0]]


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_exponentials_of_every_degree_are_scipys_beside_one_another(dtype: str) -> None:
    x = numbers((20, 20), dtype)
    x /= np.abs(x).sum(0).max()
    norms = np.array([1e-3, 0.0149, 0.0151, 0.25, 0.26, 0.49, 0.51, 5.0, 5.5, 40.0])
    a = np.asfortranarray(x[..., None] * norms)
    for part in (slice(None), slice(0, 2), slice(1, 6), slice(3, 5), slice(4, 7), slice(6, 7)):
        found = tl.expm(tr.asarray(a[..., part])).to_numpy()
        for k, norm in enumerate(norms[part]):
            expected = scipy.linalg.expm(x * norm)
            assert np.abs(found[..., k] - expected).max() < 1e-14 * np.abs(expected).max() * max(1, norm)
            alone = tl.expm(tr.asarray(np.asfortranarray(x * norm))).to_numpy()
            np.testing.assert_allclose(found[..., k], alone, rtol=0, atol=1e-14 * np.abs(alone).max() * max(1, norm))


@EACH
def test_sines_and_cosines_are_scipys_and_small_ones_keep_their_digits(dtype: str) -> None:
    a = numbers((4, 4, 2), dtype)
    wide = a.astype("complex128" if np.dtype(dtype).kind == "c" else "float64")
    for k in range(2):
        assert error(tl.cosm(tr.asarray(a))[..., k], scipy.linalg.cosm(wide[..., k])) < 300
        assert error(tl.sinm(tr.asarray(a))[..., k], scipy.linalg.sinm(wide[..., k])) < 300
    small = (a[..., 0] * np.dtype(dtype).type(1e-5)).astype(dtype)
    cube = small.astype(wide.dtype)
    assert error(tl.sinm(tr.asarray(small)), cube - cube @ cube @ cube / 6) < 20


@EACH
def test_roots_and_logarithms_are_scipys(dtype: str) -> None:
    x = numbers((5, 5, 3), dtype)
    a = np.einsum("ijb,kjb->ikb", x, x.conj()) + 2 * x + 8 * np.eye(5)[..., None]
    a = (a * np.array([1e-3, 1.0, 1e4])).astype(dtype)
    wide = a.astype("complex128" if np.dtype(dtype).kind == "c" else "float64")
    roots, logarithms = tl.sqrtm(tr.asarray(a)), tl.logm(tr.asarray(a))

    for k in range(3):
        assert error(roots[..., k], scipy.linalg.sqrtm(wide[..., k])) < 200
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # SciPy estimates its own error to be large
            expected = scipy.linalg.logm(wide[..., k])
        assert error(logarithms[..., k], expected) < 500


def test_a_rotation_has_its_principal_root_and_logarithm() -> None:
    turn = np.array([[np.cos(3), -np.sin(3)], [np.sin(3), np.cos(3)]])

    half = tl.sqrtm(tr.asarray(turn)).to_numpy()
    assert np.allclose(half, [[np.cos(1.5), -np.sin(1.5)], [np.sin(1.5), np.cos(1.5)]], rtol=0, atol=1e-14)
    assert np.allclose(tl.logm(tr.asarray(turn)).to_numpy(), [[0, -3], [3, 0]], rtol=0, atol=1e-13)


@EACH
def test_hermitian_roots_and_logarithms_take_what_is_singular_and_refuse_what_is_negative(dtype: str) -> None:
    x = numbers((4, 2), dtype)
    a = (x @ x.conj().T).astype(dtype)
    root = tl.sqrtm(tr.asarray(a), hermitian=True).to_numpy()
    assert np.abs(root @ root - a).max() < 200 * np.finfo(dtype).eps * np.abs(a).max()
    bad = np.stack([np.eye(4), np.diag([1.0, 1.0, -2.0, 1.0])], -1).astype(dtype)
    for function in (tl.sqrtm, tl.logm):
        with pytest.raises(tl.NotPositiveDefiniteError, match=r"index \(1,\) has the eigenvalue -2") as info:
            function(tr.asarray(bad), hermitian=True)
        assert info.value.batch_index == (1,)


@pytest.mark.parametrize("dtype", ["F32", "F64", "C32", "C64"])
@pytest.mark.parametrize("shape", ["full", "triangular", "far from normal", "large"])
def test_an_exponential_has_the_bits_that_it_has_beside_another(shape: str, dtype: str) -> None:
    for size in (1e-3, 0.1, 0.4, 3.0, 60.0):
        a = tr.normal((19, 19), seed=7, dtype=dtype) * (size / 19)
        if shape == "triangular":
            a = tr.triu(a)
        if shape == "far from normal":
            a = tr.triu(a, 1) * 30.0 + a * 0.01
        if shape == "large":
            a = a - tr.eye(19, dtype=dtype) * 2.0**21
        beside = tr.stack([a, a * 0.25, a * 2.0], axis=2)
        alone, among = tl.expm(a), tl.expm(beside)[:, :, 0]
        assert alone.to_numpy().tobytes() == tr.copy(among).to_numpy().tobytes()


@pytest.mark.parametrize("bad", [np.diag([-1.0, 1.0]), np.zeros((2, 2)), np.array([[0.0, 1.0], [0.0, 0.0]])])
def test_a_matrix_without_a_principal_root_is_named(bad: Array) -> None:
    batch = np.stack([np.eye(2), np.eye(2), bad], -1)
    for function in (tl.sqrtm, tl.logm):
        with pytest.raises(tl.NotConvergedError, match="closed negative real axis") as info:
            function(tr.asarray(batch))
        assert info.value.batch_index == (2,)


@EACH
def test_a_function_of_hermitian_matrices_is_made_of_its_eigenvalues(dtype: str) -> None:
    x = numbers((4, 4, 3), dtype)
    a = (x + np.conj(np.swapaxes(x, 0, 1))).astype(dtype)
    found = tl.funm(tr.asarray(a), tr.exp)
    turned = tl.funm(tr.asarray(a), lambda w: tr.exp(1j * w)).to_numpy()

    assert error(found, tl.expm(tr.asarray(a)).to_numpy()) < 200
    assert turned.dtype.kind == "c"
    assert np.abs(np.einsum("ijb,kjb->ikb", turned, turned.conj()) - np.eye(4)[..., None]).max() < 1e-5
    with pytest.raises(ShapeError, match=r"the function gave shape \(3,\)"):
        tl.funm(tr.asarray(a), lambda w: w[0])
    with pytest.raises(ArgumentError, match="the function gave a float"):
        tl.funm(tr.asarray(a), lambda w: 1.0)  # type: ignore[arg-type, return-value]


@pytest.mark.parametrize("function", [tl.expm, tl.cosm, tl.sinm, tl.sqrtm, tl.logm, lambda a: tl.funm(a, tr.exp)])
def test_forms_are_inferred_and_elements_checked(function: Any) -> None:
    found = tr.infer(function, (tr.C32, (3, 3, 7)))
    assert (found.dtype, found.shape) == (tr.C32, (3, 3, 7))
    with pytest.raises(tl.NonFiniteError, match=r"operand a holds inf at element \(1, 0\)"):
        function(tr.asarray(np.array([[1.0, 0.0], [np.inf, 1.0]])))


NEGATIVE = {
    "diagonal": np.diag([-1.0, -4.0, 9.0]),
    "general": np.random.default_rng(3).standard_normal((6, 6)) - 2 * np.eye(6),
    "defective": -np.eye(3) + np.eye(3, k=1),
    "one number": np.array([[-2.0]]),
}


@pytest.mark.parametrize("name", NEGATIVE)
def test_complex_matrices_with_negative_eigenvalues_have_scipys_roots_and_logarithms(name: str) -> None:
    a = NEGATIVE[name].astype(complex)
    assert np.allclose(tl.sqrtm(tr.tensor(a)).to_numpy(), scipy.linalg.sqrtm(a), atol=1e-12)
    assert np.allclose(tl.logm(tr.tensor(a)).to_numpy(), scipy.linalg.logm(a), atol=1e-11)


def test_roots_by_triangles_are_each_matrix_its_own() -> None:
    a = np.stack([NEGATIVE["diagonal"], NEGATIVE["defective"], np.diag([0.0, 1.0, -2.0])], axis=-1).astype(complex)
    root = tl.sqrtm(tr.tensor(a)).to_numpy()
    assert np.allclose(np.einsum("ijb,jkb->ikb", root, root), a, atol=1e-14)
    with pytest.raises(tl.NotConvergedError, match=r"logm: the matrix at batch index \(2,\) has no square root"):
        tl.logm(tr.tensor(a))


@pytest.mark.parametrize("size", [5, 17, 40])
def test_roots_by_triangles_of_any_size_are_scipys(size: int) -> None:
    a = numbers((size, size, 2), "complex128") / size**0.5 + np.triu(np.full((size, size), 0.3))[..., None]
    values = np.linspace(-2.0, 1.0, size)
    a = np.stack([x @ np.diag(values) @ np.linalg.inv(x) for x in np.moveaxis(a + np.eye(size)[..., None], -1, 0)], -1)
    root = tl.sqrtm(tr.asarray(np.asfortranarray(a))).to_numpy()
    for k in range(2):
        residual = np.abs(root[..., k] @ root[..., k] - a[..., k]).max()
        scipys = scipy.linalg.sqrtm(a[..., k])
        assert residual <= 4 * np.abs(scipys @ scipys - a[..., k]).max() + 1e-12


@pytest.mark.parametrize("size", [2, 20])
@pytest.mark.parametrize("distance", [1e-3, 1e-6])
def test_real_matrices_beside_the_negative_axis_have_their_real_root(size: int, distance: float) -> None:
    c, s = np.cos(np.pi - distance), np.sin(np.pi - distance)
    a = np.kron(np.eye(size // 2), np.array([[c, -s], [s, c]]))
    root = tl.sqrtm(tr.asarray(a)).to_numpy()
    half = (np.pi - distance) / 2
    assert np.allclose(root[:2, :2], [[np.cos(half), -np.sin(half)], [np.sin(half), np.cos(half)]], atol=1e-9)
    assert np.allclose(root @ root, a, atol=1e-13)


def test_a_nilpotent_matrix_has_no_root_and_a_real_one_no_real_root() -> None:
    with pytest.raises(tl.NotConvergedError, match="sqrtm: the matrix has no square root that can be found"):
        tl.sqrtm(tr.tensor(np.eye(3, k=1).astype(complex)))
    with pytest.raises(tl.NotConvergedError, match="converted to C64"):
        tl.sqrtm(tr.tensor(NEGATIVE["diagonal"]))


def test_roots_whose_iteration_drifts_away_are_taken_from_schurs_triangle() -> None:
    turn = np.linalg.qr(np.random.default_rng(4).standard_normal((6, 6)))[0]
    nearly_singular = turn @ (np.diag([1e-12, 1, 2, 3, 4, 5]) + np.eye(6, k=1)) @ turn.T
    ring = 2 * np.eye(10, dtype=complex) - np.roll(np.eye(10), 1, 0) - np.roll(np.eye(10), -1, 0)
    v = np.arange(1.0, 6.0)
    reflection = np.eye(5) - np.outer(v, v) * (2 / 55)
    for a in (nearly_singular, ring, reflection.astype(complex)):
        root = tl.sqrtm(tr.tensor(a)).to_numpy()
        assert root.dtype == a.dtype
        assert np.abs(root @ root - a).max() < 1e-13
    logarithm = tl.logm(tr.tensor(reflection.astype(complex)))
    assert np.abs(tl.expm(logarithm).to_numpy() - reflection).max() < 1e-13


def test_real_matrices_with_a_negative_eigenvalue_are_refused_though_the_iteration_seems_to_end() -> None:
    v = np.arange(1.0, 6.0)
    reflection = np.eye(5) - np.outer(v, v) * (2 / 55)
    batch = tr.tensor(np.stack([np.eye(5), reflection], -1))
    for function in (tl.sqrtm, tl.logm):
        with pytest.raises(tl.NotConvergedError, match=r"batch index \(1,\).*closed negative real axis"):
            function(batch)
        assert function(batch, check="mask").status.to_numpy().tolist() == [0, 2]


@EACH
def test_backends_without_kernels_of_exponentials_and_roots_compute_them_by_others(dtype: str) -> None:
    poor = SimulatedBackend(tr.backend("cpu"), "poor", {"expm": "no such unit", "sqrtm_iterated": "no such unit"})
    tr.register_backend("poor", poor)
    a = numbers((4, 4, 3), dtype)
    square = (np.einsum("ijb,kjb->ikb", a, a.conj()) + np.eye(4)[..., None]).astype(dtype)
    unit = float(np.finfo(dtype).eps)
    try:
        for function, x in ((tl.expm, a), (tl.sqrtm, square)):
            there = tr.to(tr.asarray(np.asfortranarray(x)), poor.placement())
            found, expected = tr.to(function(there), tr.CPU).to_numpy(), function(tr.asarray(x)).to_numpy()
            assert np.abs(found - expected).max() < 100 * unit * np.abs(expected).max()
        with pytest.raises(tl.NotConvergedError, match="closed negative real axis"):
            tl.sqrtm(tr.to(tr.tensor(NEGATIVE["diagonal"]), poor.placement()))
    finally:
        registry.unregister("poor")


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("size", [10, 20])
def test_a_root_that_is_too_large_beside_its_matrix_is_told_from_eigenvalues_that_have_none(
    size: int, dtype: str
) -> None:
    triangle = (np.triu(1e3 * numbers((size, size)), 1) + np.eye(size)).astype(dtype)  # whose eigenvalues are all 1
    batch = tr.tensor(np.stack([np.eye(size, dtype=dtype), triangle], -1))
    with pytest.raises(tl.NotConvergedError, match=r"matrix at batch index \(1,\) has a square root so large"):
        tl.sqrtm(batch)
    assert tl.sqrtm(batch, check="mask").status.tolist() == [0, 2]
    assert not tl.logm(batch)[..., 1].to_numpy().diagonal().any()


@pytest.mark.parametrize("size", [2, 20])
def test_roots_of_singular_matrices_need_no_determinant_that_is_exactly_zero(size: int) -> None:
    lacking = dict.fromkeys(("slogdet", "sqrtm_iterated"), "no such unit")
    poor = SimulatedBackend(tr.backend("cpu"), "poor", lacking)  # whose determinants are of QR decompositions
    tr.register_backend("poor", poor)
    whole = scipy.linalg.block_diag(np.ones((2, 2)), 4.0 * np.eye(size - 2))
    batch = tr.to(tr.tensor(np.stack([4.0 * np.eye(size), whole], -1)), poor.placement())
    try:
        for one, index in ((batch[..., 1], ()), (batch, (1,))):
            with pytest.raises(tl.NotConvergedError, match=r"^sqrtm: .* closed negative real axis") as caught:
                tl.sqrtm(one)
            assert vars(caught.value)["batch_index"] == index
        assert tr.to(tl.sqrtm(batch, check="mask").status, tr.CPU).tolist() == [0, 2]
        root = tr.to(tl.sqrtm(tr.convert(batch, "C64")), tr.CPU).to_numpy()
        np.testing.assert_allclose(root[..., 0], 2.0 * np.eye(size), atol=1e-12)
        np.testing.assert_allclose(root[..., 1] @ root[..., 1], whole, atol=1e-7)
    finally:
        registry.unregister("poor")


@pytest.mark.parametrize("size", [1, 3, 20])
def test_roots_of_negative_numbers_lie_on_the_positive_imaginary_axis_whatever_the_sign_of_zero(size: int) -> None:
    a = np.diag(np.full(size, complex(-4.0, -0.0)))
    a.imag = -0.0
    root, logarithm = tl.sqrtm(tr.asarray(a)).to_numpy(), tl.logm(tr.asarray(a)).to_numpy()
    np.testing.assert_allclose(root, np.eye(size) * 2j, atol=1e-12)
    np.testing.assert_allclose(logarithm, np.eye(size) * (np.log(4.0) + np.pi * 1j), atol=1e-12)


# Eliminated without rounding, in whatever order kernels add.
SINGULAR = [[[1, 2], [2, 4]], [[1, 1], [1, 1]], [[0, 0], [0, 3]], [[2, 2, 4], [1, 3, 4], [0, 1, 1]]]


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("size", [0, 40], ids=["alone", "in a large matrix"])
@pytest.mark.parametrize("rows", SINGULAR)
def test_singular_matrices_have_no_logarithm(rows: list[list[int]], size: int, dtype: str) -> None:
    a = scipy.linalg.block_diag(rows, np.eye(size)).astype(dtype)
    with pytest.raises(tl.NotConvergedError, match=r"logm: the iteration|logm: the matrix has no square root"):
        tl.logm(tr.tensor(a))
    batch = np.stack([np.eye(len(a), dtype=dtype), a], -1)
    assert tl.logm(tr.tensor(batch), check="mask").status.to_numpy().tolist() == [0, 2]


@pytest.mark.parametrize("power", range(0, 16, 3))
@pytest.mark.parametrize("size", [2, 5, 20])
def test_matrices_that_are_merely_ill_conditioned_have_their_logarithms(size: int, power: int) -> None:
    scales = np.logspace(0, -power, size)
    q, _ = np.linalg.qr(numbers((size, size), "float64"))
    graded = np.diag(scales) + np.triu(np.ones((size, size)), 1) * scales
    for a, accuracy in ((graded, 1e-10), ((q * scales) @ q.T, size * 2.0**-50 * 10.0**power)):
        if accuracy < 0.1:  # else rounding of the matrix itself may make an eigenvalue negative
            values = np.exp(np.linalg.eigvals(tl.logm(tr.tensor(a)).to_numpy()).real)
            np.testing.assert_allclose(np.sort(values), np.sort(scales), rtol=accuracy + 1e-12)
