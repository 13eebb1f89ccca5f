"""What decompositions promise, over matrix families known to break them.

Bounds are a multiple of eps * max(M, N)**2 relative to the largest element, checked in wide arithmetic on data
scaled to 1, so that they hold for matrices of size 1e300 too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensor_linalg as tl
import tensor_runtime as tr

Array = np.ndarray[Any, np.dtype[Any]]
Draw = Callable[[int, int], Array]
Family = Callable[[int, int, Draw], Array]
DTYPES = ("float32", "float64", "complex64", "complex128")
SHAPES = ((1, 1), (1, 5), (5, 1), (2, 2), (7, 4), (4, 7), (6, 6), (33, 33))


def real_noise(rows: int, columns: int) -> Array:
    return np.random.default_rng(97 * rows + columns).standard_normal((rows, columns))


def complex_noise(rows: int, columns: int) -> Array:
    return real_noise(rows, columns) + 1j * real_noise(columns, rows).T


def spectrum(values: Callable[[int], Any]) -> Family:
    """Matrices with the singular values given and random orthonormal factors."""

    def build(rows: int, columns: int, draw: Draw) -> Array:
        short = min(rows, columns)
        left, right = np.linalg.qr(draw(rows, short))[0], np.linalg.qr(draw(columns, short))[0]
        return np.asarray((left * np.asarray(values(short), float)) @ right.conj().T)

    return build


def single_entry(rows: int, columns: int, draw: Draw) -> Array:
    matrix = np.zeros((rows, columns))
    matrix[rows // 2, columns // 2] = -3.0
    return matrix


FAMILIES: dict[str, Family] = {
    "random": lambda m, n, draw: draw(m, n),
    "zero": lambda m, n, draw: np.zeros((m, n)),
    "negative zero": lambda m, n, draw: -np.zeros((m, n)),
    "identity": lambda m, n, draw: np.eye(m, n),
    "ones": lambda m, n, draw: np.ones((m, n)),
    "one entry": single_entry,
    "shift": lambda m, n, draw: np.eye(m, n, 1),
    "upper triangle of ones": lambda m, n, draw: np.triu(np.ones((m, n))),
    "alternating signs": lambda m, n, draw: (-1.0) ** np.add.outer(np.arange(m), np.arange(n)),
    "Hilbert": lambda m, n, draw: 1.0 / (1.0 + np.add.outer(np.arange(m), np.arange(n))),
    "rank one": lambda m, n, draw: draw(m, 1) @ draw(1, n),
    "rank deficient": spectrum(lambda k: np.arange(k) % 2),
    "repeated": spectrum(np.ones),
    "two clusters": spectrum(lambda k: 1.0 + (np.arange(k) > k // 2) + 1e-13 * np.arange(k)),
    "one large": spectrum(lambda k: np.where(np.arange(k) == 0, 1.0, 1e-9)),
    "one small": spectrum(lambda k: np.where(np.arange(k) == k - 1, 1e-9, 1.0)),
    "geometric": spectrum(lambda k: 10.0 ** -np.linspace(0.0, 12.0, k)),
    "graded rows": lambda m, n, draw: draw(m, n) * 10.0 ** -np.linspace(0.0, 12.0, m)[:, None],
    "graded columns": lambda m, n, draw: draw(m, n) * 10.0 ** -np.linspace(0.0, 12.0, n),
    "zero row and column": lambda m, n, draw: draw(m, n) * np.outer(np.arange(m) != 0, np.arange(n) != n - 1),
    "cyclic shift": lambda m, n, draw: np.roll(np.eye(m, n), 1, 0),
    "reversal": lambda m, n, draw: np.fliplr(np.eye(m, n)),
    "Jordan block": lambda m, n, draw: 2.0 * np.eye(m, n) + np.eye(m, n, 1),
    "second difference": lambda m, n, draw: 2.0 * np.eye(m, n) - np.eye(m, n, 1) - np.eye(m, n, -1),
    "Wilkinson": lambda m, n, draw: (
        np.eye(m, n) * np.abs(np.arange(n) - (n - 1) / 2) + np.eye(m, n, 1) + np.eye(m, n, -1)
    ),
    "Clement": lambda m, n, draw: np.eye(m, n, 1) * np.arange(n) + np.eye(m, n, -1) * (n - np.arange(n)),
    "Kahan": lambda m, n, draw: 0.8 ** np.arange(m)[:, None] * (np.eye(m, n) - 0.6 * np.triu(np.ones((m, n)), 1)),
    "Frank": lambda m, n, draw: np.triu(n - np.maximum.outer(np.arange(m), np.arange(n)), -1).astype(float),
    "Lehmer": lambda m, n, draw: (
        np.minimum.outer(np.arange(m) + 1.0, np.arange(n) + 1.0)
        / np.maximum.outer(np.arange(m) + 1.0, np.arange(n) + 1.0)
    ),
    "Vandermonde": lambda m, n, draw: np.linspace(-1.0, 1.0, m)[:, None] ** np.arange(n),
    "cosines": lambda m, n, draw: np.cos(np.pi * np.multiply.outer(np.arange(m), np.arange(n) + 0.5) / max(n, 1)),
    "arrowhead": lambda m, n, draw: np.eye(m, n) + np.eye(m, 1) * np.ones(n) + np.eye(1, n) * np.ones((m, 1)),
    "chessboard": lambda m, n, draw: draw(m, n) * (np.add.outer(np.arange(m), np.arange(n)) % 2),
    "reflector": lambda m, n, draw: np.eye(m, n) - 2.0 / max(m, n) * np.ones((m, n)),
    "skew": lambda m, n, draw: np.sign(np.subtract.outer(np.arange(m), np.arange(n))).astype(float),
    "nearly ones": lambda m, n, draw: 1.0 + 1e-10 * draw(m, n),
    "huge": lambda m, n, draw: draw(m, n),  # these four: see SCALES
    "tiny": lambda m, n, draw: draw(m, n),
    "subnormal": lambda m, n, draw: draw(m, n),
    "huge and tiny": lambda m, n, draw: draw(m, n) * np.where(np.arange(n) % 2, 1.0, 1e-30),
}
SCALES: dict[str, tuple[float, float]] = {  # of F64 and C64, of F32 and C32
    "huge": (1e300, 1e36),
    "tiny": (1e-300, 1e-36),
    "subnormal": (1e-310, 1e-40),
    "huge and tiny": (1e300, 1e30),
}


def member(family: str, dtype: str, rows: int, columns: int) -> Array:
    """The matrix of a family with these extents, in the dtype."""
    narrow = dtype in ("float32", "complex64")
    matrix = FAMILIES[family](rows, columns, complex_noise if "complex" in dtype else real_noise)
    return np.asarray((matrix * SCALES.get(family, (1.0, 1.0))[narrow]).astype(dtype))


def scaled(matrix: Array) -> tuple[Array, float]:
    """The matrix in wide arithmetic divided by its largest part, and that part."""
    wide = matrix.astype(np.result_type(matrix.dtype, np.float64))
    scale = float(max(np.abs(wide.real).max(), np.abs(wide.imag).max())) or 1.0
    return divided(wide, scale), scale


def divided(x: Array, scale: float) -> Array:
    """x / scale part by part, because a complex division overflows for a subnormal scale."""
    return np.asarray(x.real / scale + 1j * (x.imag / scale) if np.iscomplexobj(x) else x / scale)


def bound(dtype: str, *extents: int) -> float:
    return float(np.finfo(dtype).eps) * 8 * max(extents) ** 2


def subnormal_slack(dtype: str, scale: float) -> float:
    """Spacing of the smallest numbers, which does not shrink with the data."""
    return 64 * float(np.finfo(dtype).smallest_subnormal) / scale


def relative(x: tr.Tensor, scale: float) -> Array:
    """A factor divided by the scale of its matrix."""
    return divided(numbers(x)[0], scale)


def numbers(*tensors: tr.Tensor) -> tuple[Array, ...]:
    arrays = tuple(tensor.to_numpy() for tensor in tensors)
    return tuple(array.astype(np.result_type(array.dtype, np.float64)) for array in arrays)


def departure(columns: Array) -> float:
    """How far the columns are from orthonormal."""
    return float(np.abs(columns.conj().T @ columns - np.eye(columns.shape[1])).max())


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("family", FAMILIES)
def test_svd_reconstructs_and_its_factors_are_orthonormal(family: str, dtype: str) -> None:
    for rows, columns in SHAPES:
        matrix = member(family, dtype, rows, columns)
        reference, scale = scaled(matrix)
        u, s, vh = numbers(*tl.svd(tr.asarray(matrix)))
        tolerance = bound(dtype, rows, columns)

        assert np.abs((u * (s / scale)) @ vh - reference).max() <= tolerance + subnormal_slack(dtype, scale)
        assert departure(u) <= tolerance
        assert departure(vh.conj().T) <= tolerance
        assert (s >= 0).all()
        assert (np.diff(s) <= 0).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("family", FAMILIES)
def test_qr_reconstructs_with_orthonormal_columns_and_a_triangle(family: str, dtype: str) -> None:
    for rows, columns in SHAPES:
        matrix = member(family, dtype, rows, columns)
        reference, scale = scaled(matrix)
        q, r = numbers(*tl.qr(tr.asarray(matrix)))
        tolerance = bound(dtype, rows, columns)

        assert np.abs(q @ divided(r, scale) - reference).max() <= tolerance + subnormal_slack(dtype, scale)
        assert departure(q) <= tolerance
        assert (np.tril(r, -1) == 0).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("family", FAMILIES)
def test_eigh_reconstructs_with_ascending_eigenvalues(family: str, dtype: str) -> None:
    for size in (1, 2, 6, 33):
        square = member(family, dtype, size, size)
        matrix = square / 2 + square.conj().T / 2
        reference, scale = scaled(matrix)
        w, v = numbers(*tl.eigh(tr.asarray(matrix)))
        tolerance = bound(dtype, size)

        assert np.abs((v * (w / scale)) @ v.conj().T - reference).max() <= tolerance + subnormal_slack(dtype, scale)
        assert departure(v) <= tolerance
        assert (np.diff(w) >= 0).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("family", FAMILIES)
def test_cholesky_reconstructs_with_a_real_positive_diagonal(family: str, dtype: str) -> None:
    for size in (1, 2, 6, 33):
        half, scale = scaled(member(family, dtype, size, size))
        matrix = ((half @ half.conj().T / size**2 + np.eye(size)) * scale).astype(dtype)
        reference, scale = scaled(matrix)
        (factor,) = numbers(tl.cholesky(tr.asarray(matrix)))
        factor = divided(factor, np.sqrt(scale))
        slack = subnormal_slack(dtype, np.sqrt(scale))

        assert np.abs(factor @ factor.conj().T - reference).max() <= bound(dtype, size) + slack
        assert (np.triu(factor, 1) == 0).all()
        assert (np.diagonal(factor).imag == 0).all()
        assert (np.diagonal(factor).real > 0).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("family", FAMILIES)
def test_solve_leaves_a_residual_of_a_few_rounding_units(family: str, dtype: str) -> None:
    for size in (1, 2, 6, 33):
        half, _ = scaled(member(family, dtype, size, size))
        matrix = (half + 2 * size * np.eye(size)).astype(dtype)
        right = member("random", dtype, size, 3)
        (x,) = numbers(tl.solve(tr.asarray(matrix), tr.asarray(right)))

        assert np.abs(matrix @ x - right).max() <= bound(dtype, size) * max(1.0, np.abs(x).max())


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("family", FAMILIES)
def test_inv_times_the_matrix_is_the_identity(family: str, dtype: str) -> None:
    for size in (1, 2, 6, 33):
        half, _ = scaled(member(family, dtype, size, size))
        matrix = (half + 2 * size * np.eye(size)).astype(dtype)
        (x,) = numbers(tl.inv(tr.asarray(matrix)))

        assert np.abs(x @ matrix - np.eye(size)).max() <= bound(dtype, size)
        assert np.abs(matrix @ x - np.eye(size)).max() <= bound(dtype, size)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("family", FAMILIES)
def test_det_of_a_triangle_is_the_product_of_its_diagonal(family: str, dtype: str) -> None:
    for size in (1, 2, 6, 33):
        half, _ = scaled(member(family, dtype, size, size))
        matrix = (np.tril(half, -1) / 4 / size + np.diag(1 + np.abs(np.diagonal(half)) / 4)).astype(dtype)
        expected = np.prod(np.diagonal(matrix).astype(np.result_type(dtype, np.float64)))
        (found,) = numbers(tl.det(tr.asarray(matrix)))

        assert np.abs(found - expected) <= bound(dtype, size) * np.abs(expected)


@pytest.mark.parametrize(
    ("dtype", "scale"), [("float32", 2**100), ("float64", 2**1000), ("complex64", 2**-100), ("complex128", 2**-1000)]
)
def test_solve_is_exact_for_diagonal_systems_of_any_scale(dtype: str, scale: float) -> None:
    diagonal = np.array([1.0, 2.0, -4.0], dtype) * np.dtype(dtype).type(scale)

    x = tl.solve(tr.asarray(np.diag(diagonal)), tr.asarray(diagonal * np.dtype(dtype).type(3)))

    assert x.to_numpy().tolist() == [3.0, 3.0, 3.0]


@pytest.mark.parametrize("dtype", DTYPES)
def test_matrices_without_elements_have_factors_without_elements(dtype: str) -> None:
    for rows, columns in ((0, 0), (0, 4), (4, 0)):
        matrix = tr.zeros((rows, columns, 3), dtype=dtype)
        assert [part.shape for part in tl.svd(matrix)] == [(rows, 0, 3), (0, 3), (0, columns, 3)]
        assert [part.shape for part in tl.qr(matrix)] == [(rows, 0, 3), (0, columns, 3)]
    empty = tr.zeros((0, 0), dtype=dtype)
    assert [part.shape for part in tl.eigh(empty)] == [(0,), (0, 0)]
    assert tl.cholesky(empty).shape == (0, 0)
    assert tl.solve(empty, tr.zeros((0,), dtype=dtype)).shape == (0,)
    assert tl.solve(empty, tr.zeros((0, 4), dtype=dtype)).shape == (0, 4)


EACH_FAMILY = pytest.mark.parametrize("family", FAMILIES)  # for tests that go through the dtypes themselves


@EACH_FAMILY
def test_lu_and_pivoted_qr_reconstruct_with_rows_and_columns_in_another_order(family: str) -> None:
    for dtype in DTYPES:
        for rows, columns in SHAPES:
            matrix = member(family, dtype, rows, columns)
            reference, scale = scaled(matrix)
            tolerance, slack = bound(dtype, rows, columns), subnormal_slack(dtype, scale)
            order, lower, upper = tl.lu(tr.asarray(matrix))
            low, up = lower.to_numpy(), relative(upper, scale)
            growth = max(1.0, float(np.abs(up).max()))
            assert np.abs(low @ up - reference[order.to_numpy()]).max() <= tolerance * growth + slack * rows

            of_rows, of_columns, lower, upper = tl.lu(tr.asarray(matrix), pivoting="complete")
            whole = lower.to_numpy() @ relative(upper, scale)
            wanted = reference[of_rows.to_numpy()][:, of_columns.to_numpy()]
            assert np.abs(whole - wanted).max() <= tolerance + slack * rows

            q, r, order, rank = tl.qr_pivoted(tr.asarray(matrix))
            whole = q.to_numpy() @ relative(r, scale)
            assert np.abs(whole - reference[:, order.to_numpy()]).max() <= tolerance + slack
            assert departure(*numbers(q)) <= tolerance
            assert 0 <= int(rank) <= min(rows, columns)


@EACH_FAMILY
def test_ldl_schur_and_hessenberg_reconstruct(family: str) -> None:
    for dtype in DTYPES:
        for size in (1, 2, 6, 33):
            matrix = member(family, dtype, size, size)
            reference, scale = scaled(matrix)
            tolerance, slack = bound(dtype, size), subnormal_slack(dtype, scale) * size
            for middle, outer in (tl.schur(tr.asarray(matrix)), tl.hessenberg(tr.asarray(matrix))):
                (z,) = numbers(outer)
                assert np.abs(z @ relative(middle, scale) @ z.conj().T - reference).max() <= tolerance + slack
                assert departure(z) <= tolerance
            hermitian = matrix / 2 + matrix.conj().T / 2
            reference, scale = scaled(hermitian)
            lower, d, order = tl.ldl(tr.asarray(hermitian))
            (low,) = numbers(lower)
            rows = order.to_numpy()
            growth = max(1.0, float(np.abs(low).max()) ** 2)
            whole = low @ relative(d, scale) @ low.conj().T
            assert np.abs(whole - reference[rows][:, rows]).max() <= (tolerance + slack) * growth


@EACH_FAMILY
def test_values_alone_are_those_that_come_with_vectors(family: str) -> None:
    for dtype in DTYPES:
        for rows, columns in SHAPES:
            matrix = member(family, dtype, rows, columns)
            (alone,), (beside,) = numbers(tl.svdvals(tr.asarray(matrix))), numbers(tl.svd(tr.asarray(matrix)).s)
            assert np.abs(alone - beside).max() <= bound(dtype, rows, columns) * beside.max() + 1e-307
            assert (np.diff(alone) <= 0).all()
            if rows == columns:
                hermitian = tr.asarray(matrix / 2 + matrix.conj().T / 2)
                (alone,), (beside,) = numbers(tl.eigvalsh(hermitian)), numbers(tl.eigh(hermitian).eigenvalues)
                assert np.abs(alone - beside).max() <= bound(dtype, rows) * np.abs(beside).max() + 1e-307


@EACH_FAMILY
@pytest.mark.parametrize("driver", ["gesvd", "jacobi"])
def test_svd_by_a_chosen_driver_reconstructs(family: str, driver: str) -> None:
    for dtype in DTYPES:
        for rows, columns in SHAPES:
            matrix = member(family, dtype, rows, columns)
            reference, scale = scaled(matrix)
            u, s, vh = numbers(*tl.svd(tr.asarray(matrix), driver=driver))
            tolerance = bound(dtype, rows, columns)
            assert np.abs((u * (s / scale)) @ vh - reference).max() <= tolerance + subnormal_slack(dtype, scale)
            assert max(departure(u), departure(vh.conj().T)) <= tolerance
            assert (np.diff(s) <= 0).all()


# LAPACK balances first, which makes another matrix of one with huge and tiny columns.
@pytest.mark.parametrize("family", sorted(FAMILIES.keys() - {"huge and tiny"}))
def test_eig_leaves_a_residual_of_a_few_rounding_units(family: str) -> None:
    for dtype in DTYPES:
        for size in (1, 2, 6, 33):
            matrix = member(family, dtype, size, size)
            reference, scale = scaled(matrix)
            w, v = numbers(*tl.eig(tr.asarray(matrix)))
            residual = reference @ v - v * divided(w, scale)
            assert np.abs(residual).max() <= bound(dtype, size) + subnormal_slack(dtype, scale) * size


@pytest.mark.parametrize("driver", ["auto", "gesdd", "gesvd"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_singular_values_of_zero_are_positive_zeros(dtype: str, driver: Any) -> None:
    rng = np.random.default_rng(2)
    for side in (3, 17, 20, 40, 120):
        for seed in range(4):
            x = rng.standard_normal((side, side)).astype(dtype)
            x[:, : 1 + seed] = 0
            a = tr.asarray(x)
            for values in (tl.svd(a, driver=driver).s, tl.svdvals(a, driver=driver)):
                assert not np.signbit(values.to_numpy()).any()
