"""Determinants in vector lanes: of any size of number, exact where formulas cancel, zero where rows are equal."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest

from lane_cases import EACH_DTYPE, Array, draw, product, run, wide
from tensor_cpu.system.extension import AVAILABLE

pytestmark = pytest.mark.usefixtures("instruction_set")

if not AVAILABLE:
    pytest.skip("the extension module is not in use", allow_module_level=True)


@EACH_DTYPE
def test_determinants_leave_the_range_only_at_the_end(dtype: str) -> None:
    large, small = (1e30, 1e-30) if dtype in ("float32", "complex64") else (1e300, 1e-300)
    diagonals = np.array([[large] * 4 + [small] * 4, [small] * 8, [large] * 8, [0.0] + [large] * 7, [1.0] * 8])
    a = np.asfortranarray((diagonals[:, :, None] * np.eye(8)).transpose(1, 2, 0).astype(dtype))
    found = run("det", a)[0]

    assert np.abs(found[0] - 1.0) < 1e-5
    assert found[1:].real.tolist() == [0.0, np.inf, 0.0, 1.0]


@pytest.mark.parametrize("side", [4, 5, 8, 13, 16, 20])
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_determinants_far_from_one_are_those_of_scaled_matrices(dtype: str, side: int) -> None:
    """Pivots whose product may leave the range are multiplied otherwise: with the same bits, and beside others."""
    a = draw(dtype, side, side, 27)
    expected, powers = run("det", a)[0], np.zeros(27)
    powers[[0, 9, 20]], powers[[3, 26]] = 950 // side, -(950 // side)
    found = run("det", np.asfortranarray(a * 2.0**powers))[0]

    assert found.tolist() == (expected * 2.0 ** (powers * side)).tolist()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_determinant_of_equal_rows_is_zero(dtype: str) -> None:
    a = draw(dtype, 3, 3, 10)
    a[1] = a[0]

    assert (run("det", a)[0] == 0).all()


def exact_determinant(a: Array) -> complex:
    """By permutations, in rational numbers, rounded once."""
    parts = [[(Fraction(x.real), Fraction(x.imag)) for x in row] for row in a.tolist()]
    sums = [Fraction(0), Fraction(0)]
    for order in permutations(range(len(parts))):
        real, imaginary = Fraction(np.linalg.det(np.eye(len(parts))[list(order)]).round()), Fraction(0)
        for row, column in enumerate(order):
            x, y = parts[row][column]
            real, imaginary = real * x - imaginary * y, real * y + imaginary * x
        sums = [sums[0] + real, sums[1] + imaginary]
    return complex(float(sums[0]), float(sums[1]))


@EACH_DTYPE
@pytest.mark.parametrize("side", [2, 3])
def test_determinants_of_formulas_keep_the_digits_that_cancel(dtype: str, side: int) -> None:
    """Matrices of rank one but for their last digits, some far from 1, between others: each as it is alone."""
    rows, columns = wide(draw(dtype, side, 1, 27)), wide(draw(dtype, 1, side, 27, seed=1))
    a = product(rows, columns) + 2.0**-20 * wide(draw(dtype, side, side, 27, seed=2))
    scales = np.ones(27)
    if dtype in ("float64", "complex128"):
        scales[[3, 17, 26]] = 2.0**320, 2.0**-330, 2.0**-301
    a = np.asfortranarray((a * scales).astype(dtype))
    found = run("det", a)[0]

    for k in range(27):
        alone = np.asfortranarray(a[..., k])
        assert run("det", np.asfortranarray(a[..., k : k + 1]))[0][0] == found[k]
        exact = exact_determinant(wide(alone) / scales[k]) * scales[k] ** side
        minors = 2.0**-20 if side == 3 else 0.0  # an error of each element changes the determinant by its minor
        unit = float(np.finfo(dtype).eps)
        small = 2.0**-53 * np.abs(alone).max() ** side * max(minors, 2.0**-50)
        far = 2.0**-53 * np.abs(alone).max() ** side * (scales[k] != 1)
        assert abs(found[k] - exact) <= 2 * unit * abs(exact) + 16 * (small + far)


def test_determinants_of_whole_numbers_are_whole() -> None:
    a = np.asfortranarray(np.random.default_rng(0).integers(-1000, 1000, (3, 3, 50)).astype(float))
    expected = [round(exact_determinant(a[..., k]).real) for k in range(50)]

    assert run("det", a)[0].tolist() == expected
    assert run("det", np.asfortranarray(a[:2, :2]))[0].tolist() == (a[0, 0] * a[1, 1] - a[0, 1] * a[1, 0]).tolist()
