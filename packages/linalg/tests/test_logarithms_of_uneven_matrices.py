"""Logarithms of triangles with large elements off the diagonal, and of what a scaling makes of other matrices."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import tensor_linalg as tl
import tensor_runtime as tr
from tensor_core.errors import UnsupportedOperationError
from tensor_runtime.backends.registry import registry
from tensor_runtime.testing.simulated_device import SimulatedBackend

Array = np.ndarray[Any, np.dtype[Any]]
DTYPES = ("float32", "float64", "complex64", "complex128")


def exact_logarithm(t: Array) -> Array:
    """Of an upper triangle with different positive numbers on its diagonal, by Parlett's recurrence in 300 digits."""
    size = len(t)
    with localcontext() as context:
        context.prec, context.Emax, context.Emin = 300, 10**6, -(10**6)
        a = [[Decimal(float(one)) for one in row] for row in t]
        f = [[a[i][i].ln() if i == j else Decimal(0) for j in range(size)] for i in range(size)]
        for above in range(1, size):
            for i in range(size - above):
                j = i + above
                rest = sum((f[i][k] * a[k][j] - a[i][k] * f[k][j] for k in range(i + 1, j)), Decimal(0))
                f[i][j] = (a[i][j] * (f[i][i] - f[j][j]) + rest) / (a[i][i] - a[j][j])
        return np.array([[float(one) for one in row] for row in f])


def triangle(size: int, large: float, *, everywhere: bool = False) -> Array:
    rng = np.random.default_rng(size)
    t = np.triu(rng.uniform(0.5, 1.0, (size, size)) * (large if everywhere else 0.1), 1)
    t[size // 2 - 1, size // 2] = large
    return t + np.diag(rng.permutation(np.linspace(1.0, 3.0, size)))


def logarithm(a: Array) -> Array:
    return np.asarray(tl.logm(tr.asarray(np.asfortranarray(a))).to_numpy())


@pytest.mark.parametrize("large", [1e3, 1e5, 1e10, 1e100])
@pytest.mark.parametrize("size", [2, 3, 5, 16, 17, 66])
def test_each_element_of_a_triangle_with_a_large_one_has_its_digits(size: int, large: float) -> None:
    t = triangle(size, large)
    expected, order = exact_logarithm(t), np.random.default_rng(0).permutation(size)
    for function in (lambda x: x, np.transpose, lambda x: x[np.ix_(order, order)]):
        for dtype in ("float64", "complex128"):
            found = logarithm(function(t).astype(dtype))
            assert found.dtype == dtype
            np.testing.assert_allclose(found, function(expected), rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(np.diag(logarithm(t)), np.log(np.diag(t)), rtol=0, atol=4e-16)


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_diagonal_of_the_logarithm_does_not_drown_in_what_is_above_it(dtype: str) -> None:
    found = logarithm(np.array([[1, 1e10, 0], [0, 2, 1e10], [0, 0, 3]], dtype))
    corner = -5e19 * np.log(4 / 3)
    exact = np.array([[0, 1e10 * np.log(2), corner], [0, np.log(2), 1e10 * np.log(1.5)], [0, 0, np.log(3)]])
    assert found.dtype == dtype
    np.testing.assert_allclose(found, exact, rtol=20 * float(np.finfo(dtype).eps), atol=0.0)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("size", [10, 20])
def test_logarithms_of_triangles_with_ones_on_the_diagonal_are_finite_series(size: int, dtype: str) -> None:
    above = np.triu(np.round(1e3 * np.random.default_rng(1).standard_normal((size, size))), 1)
    exact = [[Fraction(0)] * size for _ in range(size)]
    power = [[Fraction(int(i == j)) for j in range(size)] for i in range(size)]
    for k in range(1, size):
        power = [
            [sum((x * int(y) for x, y in zip(row, c, strict=True)), Fraction(0)) for c in above.T] for row in power
        ]
        exact = [[x - (-1) ** k * y / k for x, y in zip(*rows, strict=True)] for rows in zip(exact, power, strict=True)]
    expected = np.array([[float(one) for one in row] for row in exact])
    np.testing.assert_allclose(logarithm((above + np.eye(size)).astype(dtype)), expected, rtol=1e-9)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_neighbours_on_the_diagonal_that_are_close_or_equal_divide_by_no_small_difference(dtype: str) -> None:
    for gap in (0.0, 2.0**-52, 2.0**-30, 0.25, 8.0):
        t = np.array([[1.0, 1e12], [0.0, 1.0 + gap]], dtype)
        slope = np.log1p(gap) / gap if gap else 1.0
        np.testing.assert_allclose(logarithm(t), [[0, 1e12 * slope], [0, np.log1p(gap)]], rtol=1e-15, atol=0)
    beside = np.array([[-1 + 1e-3j, 1e9], [0, -1 - 1e-3j]])  # on the two sides of the cut
    found = logarithm(beside)
    slope = (np.log(beside[1, 1]) - np.log(beside[0, 0])) / -2e-3j
    np.testing.assert_allclose(found, [[np.log(beside[0, 0]), 1e9 * slope], [0, np.log(beside[1, 1])]], rtol=1e-12)


@pytest.mark.parametrize("large", [1e5, 1e50])
def test_real_blocks_that_turn_have_real_logarithms_whatever_couples_them(large: float) -> None:
    def turn(angle: float) -> Array:
        return np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])

    a, j, coupling = np.zeros((4, 4)), turn(np.pi / 2), np.eye(2)
    a[:2, :2], a[2:, 2:], a[:2, 2:] = turn(1.0), turn(2.0), large * coupling  # all commute: complex numbers in truth
    slope = (2j - 1j) / (np.exp(2j) - np.exp(1j))
    expected = np.zeros((4, 4))
    expected[:2, :2], expected[2:, 2:] = j, 2 * j
    expected[:2, 2:] = large * (slope.real * np.eye(2) + slope.imag * j)
    found = logarithm(a)
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("size", [4, 20])
def test_scaling_rows_and_columns_by_powers_of_two_scales_the_logarithm(size: int, dtype: str) -> None:
    rng = np.random.default_rng(size)
    a = (rng.standard_normal((size, size)) / size**0.5 + 3 * np.eye(size)).astype(dtype)
    scales = 2.0 ** rng.integers(-200, 200, size)
    found = logarithm(a * scales[:, None] / scales) * scales / scales[:, None]
    np.testing.assert_allclose(found, logarithm(a), rtol=0, atol=1e-13)


@pytest.mark.parametrize("dtype", DTYPES)
def test_an_uneven_matrix_changes_no_bit_of_others_and_has_those_that_it_has_alone(dtype: str) -> None:
    rng = np.random.default_rng(3)
    batch = (rng.standard_normal((6, 6, 5)) + 6 * np.eye(6)[..., None]).astype(dtype)
    alone, uneven = logarithm(batch), triangle(6, 1e6).astype(dtype)
    batch[..., 2] = uneven
    found = logarithm(batch)
    others = [0, 1, 3, 4]
    assert np.array_equal(found[..., others], alone[..., others])
    assert np.array_equal(found[..., 2], logarithm(uneven))
    batch[0, 1, 4], batch[..., 0] = np.nan, -triangle(6, 1e6) if np.dtype(dtype).kind == "f" else 0
    masked = tl.logm(tr.asarray(batch), check="mask")
    assert masked.status.tolist() == [2, 0, 0, 0, 1]
    assert np.array_equal(masked.result.to_numpy()[..., 1:4], found[..., 1:4])


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_uneven_matrices_without_a_logarithm_are_told(dtype: str) -> None:
    negative = np.array([[1.0, 1e9], [0.0, -2.0]], dtype)
    if dtype == "float64":
        with pytest.raises(tl.NotConvergedError, match="closed negative real axis"):
            logarithm(negative)
    else:
        gap = (np.log(2) + np.pi * 1j) / -3
        np.testing.assert_allclose(logarithm(negative), [[0, 1e9 * gap], [0, np.log(2) + np.pi * 1j]], rtol=1e-14)
    with pytest.raises(tl.NotConvergedError, match=r"closed negative|has no square root"):
        logarithm(np.array([[1.0, 1e9], [0.0, 0.0]], dtype))
    beyond = np.array([[1.0, 1e200, 0.0], [0.0, 2.0, 1e200], [0.0, 0.0, 3.0]], dtype)
    with pytest.raises(
        tl.NotConvergedError, match=r"the matrix at batch index \(1,\) has a logarithm beyond the range"
    ):
        logarithm(np.stack([np.eye(3), beyond], -1))


def test_backends_without_the_decomposition_say_so() -> None:
    poor = SimulatedBackend(tr.backend("cpu"), "poor", {"schur": "no such unit"})
    tr.register_backend("poor", poor)
    try:
        with pytest.raises(UnsupportedOperationError, match="schur: no such unit"):
            tl.logm(tr.to(tr.asarray(triangle(3, 1e10)), poor.placement()))
    finally:
        registry.unregister("poor")
