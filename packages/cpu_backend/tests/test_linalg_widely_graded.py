"""Small values of matrices of up to 16 rows whose elements differ by hundreds of powers of two."""

from __future__ import annotations

from fractions import Fraction
from math import prod

import numpy as np
import pytest

import tensor_linalg as tl
import tensor_runtime as tr
from tensor_core.dtypes import C64, F64, DType
from tensor_cpu.system.extension import AVAILABLE

if not AVAILABLE:
    pytest.skip("the extension module is not in use", allow_module_level=True)
if np.finfo(np.longdouble).maxexp < 16384:
    pytest.skip("long double has the range of double", allow_module_level=True)

pytestmark = pytest.mark.usefixtures("bound_anew")

SIDES = (2, 3, 4, 5, 7, 8, 11, 12, 16)
UNIT = 2.0**-53
TYPES = pytest.mark.parametrize("dtype", [F64, C64])
DRIVERS = pytest.mark.parametrize("driver", ["auto", "jacobi"])


@pytest.fixture
def bound_anew(instruction_set: str) -> str:
    """Without bindings that other instruction sets made."""
    tr.binding_cache.clear()
    return instruction_set


def drawn(rows: int, columns: int, dtype: DType, seed: int = 0) -> np.ndarray:
    """A well-conditioned matrix."""
    parts = np.random.default_rng(seed + 100 * rows + columns).standard_normal((2, rows, columns))
    a = parts[0] + 1j * parts[1] if dtype is C64 else parts[0]
    return np.asarray(a + 4 * np.sqrt(rows) * np.eye(rows, columns))


def scales(count: int, last: int = -2000) -> np.ndarray:
    """Powers of two in long double, from 1 on, so far apart that singular values are those of a triangle."""
    return np.asarray(np.ldexp(np.longdouble(1), np.linspace(0, last, count).astype(int)))


def doubles(a: np.ndarray) -> np.ndarray:
    """The matrix, in which nothing may be lost, as one of doubles."""
    exact = np.asfortranarray(a, complex if a.dtype.kind == "c" else float)
    assert (exact == a).all()
    return exact


def graded(rows: int, columns: int, dtype: DType, kind: str, span: int) -> tuple[np.ndarray, np.ndarray]:
    """A matrix [M, N] and its singular values, which are the diagonal of the triangle of its graded columns.

    Each is some hundred powers of two below the one before, so no other element counts (where fewer than 16 are).
    """
    if rows < columns:
        a, expected = graded(columns, rows, dtype, kind, span)
        return np.asfortranarray(a.conj().T), expected
    b, powers = drawn(rows, columns, dtype), scales(columns, span) * np.longdouble(2.0**1000 if span < -1000 else 1)
    if kind == "rows":
        b = b[:columns].conj().T
    triangle = np.abs(np.linalg.qr(b).R.diagonal())
    a = b * powers
    if kind == "rows":
        a = np.concatenate([a.conj().T, np.zeros((rows - columns, columns))])
    if kind == "reversed":
        a = a[:, ::-1]
    return doubles(a), np.asarray(triangle * powers, float)


@TYPES
@DRIVERS
@pytest.mark.parametrize("kind", ["columns", "rows", "reversed"])
@pytest.mark.parametrize("n", SIDES)
@pytest.mark.parametrize("span", [-900, -1950])
def test_small_singular_values_have_all_digits(n: int, span: int, kind: str, driver: str, dtype: DType) -> None:
    for rows, columns in ((n, n), (16, n), (n, 16)):
        a, expected = graded(rows, columns, dtype, kind, span)
        u, s, vh = (part.to_numpy() for part in tl.svd(tr.asarray(a), driver=driver))
        np.testing.assert_allclose(s, expected, rtol=100 * UNIT)
        np.testing.assert_allclose(tl.svdvals(tr.asarray(a), driver=driver).to_numpy(), expected, rtol=100 * UNIT)
        np.testing.assert_allclose(u.conj().T @ u, np.eye(len(s)), atol=40 * UNIT)
        np.testing.assert_allclose(vh @ vh.conj().T, np.eye(len(s)), atol=40 * UNIT)
        assert np.abs((u * (s / s[0])) @ vh - a / s[0]).max() < 40 * UNIT


@TYPES
@pytest.mark.parametrize("n", SIDES)
@pytest.mark.parametrize("span", [-450, -950])
def test_small_eigenvalues_of_definite_matrices_have_all_digits(n: int, span: int, dtype: DType) -> None:
    b = drawn(n, n, dtype)
    b = np.round(b @ b.conj().T * 64) / 64
    powers = scales(n, span) * (np.longdouble(2.0**500) if span < -500 else 1)
    a = doubles(b * powers * powers[:, None])
    expected = np.asarray((np.abs(np.linalg.cholesky(b).diagonal()) * powers) ** 2, float)[::-1]
    w, v = (part.to_numpy() for part in tl.eigh(tr.asarray(a)))
    np.testing.assert_allclose(w, expected, rtol=100 * UNIT)
    np.testing.assert_allclose(tl.eigvalsh(tr.asarray(a)).to_numpy(), expected, rtol=100 * UNIT)
    np.testing.assert_allclose(v.conj().T @ v, np.eye(n), atol=40 * UNIT)
    assert np.abs((v * (w / w[-1])) @ v.conj().T - a / w[-1]).max() < 40 * UNIT


def size_of_determinant(a: np.ndarray) -> Fraction:
    """The exact one of a matrix of doubles, by elimination."""
    rows = [[Fraction(float(x)) for x in row] for row in a]
    size = Fraction(1)
    while rows:
        first = max(rows, key=lambda row: abs(row[0]))
        rows.remove(first)
        size *= abs(first[0])
        rows = [[x - row[0] / first[0] * y for x, y in zip(row[1:], first[1:], strict=True)] for row in rows]
    return size


@DRIVERS
@pytest.mark.parametrize("n", [2, 3, 4, 5, 6, 8])
def test_products_of_values_of_matrices_graded_by_rows_and_columns_are_determinants(n: int, driver: str) -> None:
    rng = np.random.default_rng(n)
    for _ in range(5):
        powers = np.exp2(-rng.integers(0, 450, (2, n)).astype(float))
        a = np.asfortranarray(powers[0][:, None] * drawn(n, n, F64) * powers[1])
        s = tl.svd(tr.asarray(a), driver=driver).s.to_numpy()
        ratio = prod(map(Fraction, s.tolist())) / size_of_determinant(a)
        assert abs(ratio - 1) < 400 * UNIT


def test_a_matrix_whose_columns_have_one_direction_but_for_minute_parts_keeps_its_small_value() -> None:
    for a, small in (
        ([[1.0, 0.3e-160], [0.5, 1e-160]], 0.85e-160 / 1.25**0.5),
        ([[1.0, 1.0], [1e-200, -1e-200]], 2e-200 / 2**0.5),
        ([[1.0, 2.0**-500], [2.0**-500, 0.0]], 2.0**-1000),
    ):
        for given in (a, np.transpose(a)):
            found = tl.svd(tr.asarray(np.asfortranarray(given)), driver="jacobi").s.to_numpy()
            np.testing.assert_allclose(found[1], small, rtol=4 * UNIT)


@TYPES
@pytest.mark.parametrize("n", [2, 4, 5, 8, 13])
@pytest.mark.parametrize("batch", [2, 5, 17])
def test_one_graded_matrix_changes_no_other_and_is_the_same_in_every_batch(n: int, batch: int, dtype: DType) -> None:
    place = batch // 2
    ordinary = np.stack([drawn(n, n, dtype, seed) for seed in range(batch)], -1)
    ordinary = np.asfortranarray(ordinary + ordinary.conj().swapaxes(0, 1))
    one, mixed = np.diag(np.asarray(scales(n, -900), ordinary.dtype)), ordinary.copy(order="F")
    mixed[..., place] = one
    others = np.arange(batch) != place
    for function in (tl.svd, tl.eigh, lambda a: (tl.svdvals(a), tl.eigvalsh(a))):
        alone = function(tr.asarray(np.asfortranarray(one)))
        for found, before, single in zip(
            function(tr.asarray(mixed)), function(tr.asarray(ordinary)), alone, strict=True
        ):
            np.testing.assert_array_equal(found.to_numpy()[..., others], before.to_numpy()[..., others])
            np.testing.assert_array_equal(found.to_numpy()[..., place], single.to_numpy())


@TYPES
@pytest.mark.parametrize("n", [2, 4, 5, 8, 13])
def test_graded_matrices_without_full_rank_have_zeros_and_complete_bases(n: int, dtype: DType) -> None:
    a = np.asfortranarray(drawn(n, n, dtype) * np.asarray(scales(n, -900), float))
    a[:, n // 2] = 0
    u, s, vh = (part.to_numpy() for part in tl.svd(tr.asarray(a)))
    assert s[-1] == 0 and (s[:-1] > 0).all()
    np.testing.assert_allclose(u.conj().T @ u, np.eye(n), atol=40 * UNIT)
    np.testing.assert_allclose(vh @ vh.conj().T, np.eye(n), atol=40 * UNIT)


def test_what_asks_for_small_values_gets_them() -> None:
    a = tr.asarray(np.diag([1.0, 1e-250]))
    assert np.isclose(tl.cond(a).to_numpy(), 1e250, rtol=4 * UNIT)
    assert tl.matrix_rank(a, rtol=0.0).to_numpy() == 2
    np.testing.assert_allclose(tl.pinv(a, rtol=0.0).to_numpy(), np.diag([1.0, 1e250]), rtol=4 * UNIT)
    wide = tr.asarray(np.diag([1e-300, 1e300]))
    found = tl.logm(wide, hermitian=True).to_numpy()
    np.testing.assert_allclose(found.diagonal(), np.log([1e-300, 1e300]), rtol=4 * UNIT)


@pytest.mark.parametrize("batch", [(), (3,), (2, 9)])
def test_least_squares_in_which_every_value_counts_take_those_of_graded_matrices(batch: tuple[int, ...]) -> None:
    rng = np.random.default_rng(1)
    ordinary = np.asfortranarray(rng.standard_normal((5, 3, *batch)))
    b = np.asfortranarray(rng.standard_normal((5, 2, *batch)))
    mixed = ordinary.copy(order="F")
    last: tuple[slice | int, ...] = (slice(None), slice(None), *[-1] * len(batch))
    mixed[last] = np.eye(5, 3) * [1.0, 1e-250, 2.0]
    found = tl.lstsq(tr.asarray(mixed), tr.asarray(b), rtol=0.0)
    before = tl.lstsq(tr.asarray(ordinary), tr.asarray(b), rtol=0.0)
    x = found.solution.to_numpy()
    np.testing.assert_allclose(x[last], b[last][:3] / [[1.0], [1e-250], [2.0]], rtol=8 * UNIT)
    assert (found.rank.to_numpy() == 3).all()
    others = np.ones(x.shape, bool)
    others[last] = False
    np.testing.assert_array_equal(x[others], before.solution.to_numpy()[others])
