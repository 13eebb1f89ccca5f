"""Exponentials, sines and cosines of matrices with elements far larger than their eigenvalues."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensor_linalg as tl
import tensor_runtime as tr
from tensor_runtime.backends.registry import registry
from tensor_runtime.testing.simulated_device import SimulatedBackend

Array = np.ndarray[Any, np.dtype[Any]]
DTYPES = ("float32", "float64", "complex64", "complex128")
LARGE = pytest.mark.parametrize("large", [1e7, 1e40, 1e46, 1e60, 1e100, 1e300])


def applied(function: Any, a: Array) -> Array:
    return np.asarray(function(tr.asarray(np.asfortranarray(a))).to_numpy())


def between(size: int, a: Array, expected: Array) -> tuple[Array, Array]:
    """Two rows as the first and last of a matrix of so many, with a diagonal of zeros between them."""
    found, whole = np.zeros((size, size), a.dtype), np.eye(size, dtype=expected.dtype)
    corners = np.ix_([0, -1], [0, -1])
    found[corners], whole[corners] = a, expected
    return found, whole


@LARGE
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("size", [2, 3, 9, 17, 40])
def test_a_large_element_off_the_diagonal_of_a_triangle_costs_no_digits(size: int, dtype: str, large: float) -> None:
    a = np.array([[1.0, large], [0.0, -1.0]], dtype)
    cases = (
        (tl.expm, [[np.e, large * np.sinh(1)], [0, 1 / np.e]], np.eye(size)),
        (tl.cosm, [[np.cos(1), 0], [0, np.cos(1)]], np.eye(size)),
        (tl.sinm, [[np.sin(1), large * np.sin(1)], [0, -np.sin(1)]], np.zeros((size, size))),
    )
    for function, rows, rest in cases:
        whole, expected = between(size, a, np.array(rows))
        expected[range(1, size - 1), range(1, size - 1)] = np.diag(rest)[1:-1]
        for turned in (lambda x: x, np.transpose):
            found = applied(function, turned(whole))
            zeros = turned(expected) == 0
            np.testing.assert_allclose(found[~zeros], turned(expected)[~zeros], rtol=1e-14)
            assert np.abs(found[zeros]).max() < 1e-15 * large


@LARGE
@pytest.mark.parametrize("size", [2, 17])
def test_elements_whose_products_are_moderate_have_each_its_digits(size: int, large: float) -> None:
    a, exact = np.array([[0.0, large], [1 / large, 0.0]]), np.array([[1, large], [1 / large, 1]])
    whole, expected = between(size, a, exact * [[np.cosh(1), np.sinh(1)], [np.sinh(1), np.cosh(1)]])
    np.testing.assert_allclose(applied(tl.expm, whole), expected, rtol=1e-14, atol=0)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("size", [3, 8, 16, 30])
def test_scaling_rows_and_columns_by_powers_of_two_scales_the_exponential(size: int, dtype: str) -> None:
    rng = np.random.default_rng(size)
    a = rng.standard_normal((size, size)) + (1j * rng.standard_normal((size, size)) if dtype == "complex128" else 0)
    scales = 2.0 ** rng.integers(-200, 200, size)
    for function in (tl.expm, tl.cosm, tl.sinm):
        expected = applied(function, a)
        found = applied(function, a * scales[:, None] / scales) * scales / scales[:, None]
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 * np.abs(expected).max())


@pytest.mark.parametrize("size", [3, 16, 20])
def test_what_lies_beyond_the_range_is_infinite_and_nothing_else(size: int) -> None:
    a, _ = between(size, np.array([[1.0, 0.0], [0.0, -1.0]]), np.eye(2))
    a[0, 1] = a[1, -1] = 1e200
    found = applied(tl.expm, a)
    assert found[0, -1] == np.inf
    np.testing.assert_allclose(np.diag(found), np.exp(np.diag(a)), rtol=1e-14)
    np.testing.assert_allclose([found[0, 1], found[1, -1]], [1e200 * np.expm1(1), -1e200 * np.expm1(-1)], rtol=1e-14)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", [2, 5, 9, 16, 20])
def test_a_large_matrix_changes_no_bit_of_others_and_has_those_that_it_has_alone(size: int, dtype: str) -> None:
    rng = np.random.default_rng(size)
    batch = rng.standard_normal((size, size, 19)).astype(dtype)
    alone, uneven = applied(tl.expm, batch), (np.triu(np.full((size, size), 1e7)) - 1e7 * np.eye(size)).astype(dtype)
    batch[..., 7] = uneven
    found = applied(tl.expm, batch)
    others = [k for k in range(19) if k != 7]
    if size <= 16:  # of larger ones products have other bits in other batches
        assert np.array_equal(found[..., others], alone[..., others])
        assert np.array_equal(found[..., 7], applied(tl.expm, uneven))
    np.testing.assert_allclose(found[..., others], alone[..., others], rtol=1e-12, atol=1e-12)
    batch[0, -1, 11] = np.nan
    masked = tl.expm(tr.asarray(batch), check="mask")
    assert masked.status.tolist() == [int(k == 11) for k in range(19)]
    assert np.array_equal(masked.result.to_numpy()[..., :11], found[..., :11])


@pytest.mark.parametrize("size", [4, 12, 24])
def test_large_matrices_that_no_scaling_makes_smaller_are_exponentials_as_before(size: int) -> None:
    rng = np.random.default_rng(size)
    q = np.linalg.qr(rng.standard_normal((size, size)))[0]
    values = -(2.0 ** np.linspace(0, 24, size))
    found = applied(tl.expm, (q * values) @ q.T)
    np.testing.assert_allclose(found, (q * np.exp(values)) @ q.T, rtol=0, atol=1e-7)  # the matrix is rounded at 2^-29


@LARGE
def test_backends_without_a_kernel_have_them_as_well(large: float) -> None:
    poor = SimulatedBackend(tr.backend("cpu"), "poor", {"expm": "no such unit"})
    tr.register_backend("poor", poor)
    try:
        for a in ([[1.0, large], [0.0, -1.0]], [[1.0, 0.0], [large, -1.0]]):
            found = tr.to(tl.expm(tr.to(tr.tensor(a), poor.placement())), tr.CPU).to_numpy()
            np.testing.assert_allclose(np.diag(found), [np.e, 1 / np.e], rtol=1e-14)
            np.testing.assert_allclose(np.abs(found).max(), large * np.sinh(1), rtol=1e-14)
    finally:
        registry.unregister("poor")
