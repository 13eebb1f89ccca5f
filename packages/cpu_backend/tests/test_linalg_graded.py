"""Small values of matrices whose columns, or rows and columns, are graded from the first on."""

from __future__ import annotations

import numpy as np
import pytest

import tensor_linalg as tl
import tensor_runtime as tr
from tensor_core.dtypes import C64, F32, F64, DType
from tensor_cpu.system.extension import AVAILABLE

if not AVAILABLE:
    pytest.skip("the extension module is not in use", allow_module_level=True)

pytestmark = pytest.mark.usefixtures("bound_anew")

SIZES = (17, 24, 33, 48, 64)
TOLERANCE = 1e-10  # the largest values are 10^13 and 10^26 times the smallest


@pytest.fixture
def bound_anew(instruction_set: str) -> str:
    """Without bindings that other instruction sets made."""
    tr.binding_cache.clear()
    return instruction_set


def graded(n: int, batch: int, dtype: DType) -> np.ndarray:
    """Well-conditioned columns times powers of two down to 2^-44 [N, N, batch]."""
    drawn = np.random.default_rng(n).standard_normal((2, n, n, batch))
    a = drawn[0] + 1j * drawn[1] if dtype is C64 else drawn[0]
    a[np.arange(n), np.arange(n)] += 3 * n**0.5
    scales = np.exp2(-np.round(np.linspace(0, 44, n)))
    return np.asfortranarray(a * scales[:, None])


def by_rotations(a: np.ndarray) -> np.ndarray:
    """Singular values by Jacobi's method, which finds small ones as well as large ones."""
    return tl.svd(tr.asarray(a), driver="jacobi").s.to_numpy()


@pytest.mark.parametrize("dtype", [F64, C64])
@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("batch", [1, 9])
def test_small_singular_values_of_graded_columns_are_found(n: int, batch: int, dtype: DType) -> None:
    a = graded(n, batch, dtype)
    found = tl.svd(tr.asarray(a)).s.to_numpy()
    np.testing.assert_allclose(found, by_rotations(a), rtol=TOLERANCE)
    rows = np.asfortranarray(a.swapaxes(0, 1))
    np.testing.assert_allclose(tl.svd(tr.asarray(rows)).s.to_numpy()[: n // 2], found[: n // 2], rtol=TOLERANCE)


@pytest.mark.parametrize("dtype", [F64, C64])
@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("batch", [1, 9])
def test_small_eigenvalues_of_graded_definite_matrices_are_found(n: int, batch: int, dtype: DType) -> None:
    a = graded(n, batch, dtype)
    gram = np.asfortranarray(np.einsum("kib,kjb->ijb", a.conj(), a))
    found = tl.eigh(tr.asarray(gram)).eigenvalues.to_numpy()
    np.testing.assert_allclose(found[::-1], by_rotations(a) ** 2, rtol=TOLERANCE)


@pytest.mark.parametrize("n", [12, 13, 16])
@pytest.mark.parametrize("batch", [1, 9])
def test_small_values_of_single_precision_are_right_to_its_rounding_however_they_are_graded(n: int, batch: int) -> None:
    unit = 2.0**-23
    a = graded(n, batch, C64)[:, ::-1]  # small columns first
    a = np.asfortranarray(a * np.exp2(np.round(np.linspace(24, 0, n)))[:, None], np.complex64)  # to 2^-20
    expected = np.stack([np.linalg.svd(one.astype(complex), compute_uv=False) for one in np.moveaxis(a, -1, 0)], -1)
    assert expected.min() < 2.0**-16 * expected.max()
    for found in (tl.svd(tr.asarray(a)).s, tl.svdvals(tr.asarray(a)), tl.svdvals(tr.asarray(a), driver="jacobi")):
        assert found.dtype is F32
        np.testing.assert_allclose(found.to_numpy(), expected, rtol=unit)
    gram = np.asfortranarray(a + a.conj().swapaxes(0, 1))
    values = np.stack([np.linalg.eigvalsh(one.astype(complex)) for one in np.moveaxis(gram, -1, 0)], -1)
    for found in (tl.eigh(tr.asarray(gram)).eigenvalues, tl.eigvalsh(tr.asarray(gram))):
        np.testing.assert_allclose(found.to_numpy(), values, rtol=unit, atol=1e-14)


@pytest.mark.parametrize("batch", [1, 9])
def test_zero_and_minute_diagonals_end(batch: int) -> None:
    n = 20
    a = np.zeros((n, n, batch), order="F")
    a[np.arange(n - 1), np.arange(1, n)] = np.exp2(-60.0 * np.arange(n - 1))[:, None]  # no diagonal, links to 2^-1080
    s = tl.svd(tr.asarray(a)).s.to_numpy()
    np.testing.assert_allclose(s[:3], np.exp2(-60.0 * np.arange(3))[:, None].repeat(batch, 1), rtol=1e-12)
    w = tl.eigh(tr.asarray(np.asfortranarray(a + a.swapaxes(0, 1)))).eigenvalues.to_numpy()
    assert np.isfinite(w).all() and abs(np.abs(w).max() - 1) < 1e-12
