"""Banded and Toeplitz systems of moderate matrices with right-hand sides near the largest number of their dtype.

Times a power of two a system has the same solution times that power, bit for bit, as far as it is representable.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensor_linalg as tl
import tensor_runtime as tr
from tensor_runtime.tensors.tensor import Tensor

Array = np.ndarray[Any, np.dtype[Any]]
DTYPES = ("float32", "float64", "complex64", "complex128")
DRAWS = 40
"""Of which a tenth overflow on the way in F64, and a fifth in C64."""


def largest_power(x: Array) -> int:
    """The power of two that takes the largest part of an element as far as its dtype has numbers."""
    largest = max(np.abs(x.real).max(), np.abs(x.imag).max())
    return int(np.finfo(x.dtype).maxexp) - int(np.frexp(largest)[1])


def times_power(x: Array, power: Any) -> Array:
    with np.errstate(over="ignore"):
        if x.dtype.kind != "c":
            return np.asarray(np.ldexp(x, power))
        found = np.empty(np.broadcast_shapes(x.shape, np.shape(power)), x.dtype)
        found.real, found.imag = np.ldexp(x.real, power), np.ldexp(x.imag, power)
        return found


def numbers(rng: np.random.Generator, dtype: str, shape: tuple[int, ...]) -> Array:
    x = rng.integers(-8, 9, shape) / 16
    return np.asarray(x + 1j * rng.integers(-8, 9, shape) / 16 if "complex" in dtype else x, dtype)


def systems(dtype: str, size: int, lower: int, upper: int) -> tuple[Array, Array]:
    """Diagonals [l + u + 1, N, draws] of regular matrices, and right-hand sides of integers [N, 2, draws]."""
    rng = np.random.default_rng([size, lower, upper])
    drawn = list[Array]()
    while len(drawn) < DRAWS:
        bands = numbers(rng, dtype, (lower + upper + 1, size)) * 8
        bands[upper] += rng.choice([0, 1, 8], size)
        inside = {k: bands[upper - k, max(k, 0) : size + min(k, 0)] for k in range(-lower, upper + 1)}
        if np.linalg.cond(sum(np.diag(line, k) for k, line in inside.items())) < 100 * size:
            drawn.append(bands)
    return np.stack(drawn, -1), numbers(rng, dtype, (size, 2, DRAWS)) * 16


def representable(x: Array, b: Array) -> tuple[Array, Array]:
    """Which solutions [N, M, draws] are within the range beside sides at its end; and the powers of each."""
    powers = np.array([largest_power(b[:, :, k]) for k in range(b.shape[-1])])
    parts = [np.where(np.isfinite(x), part, 0) for part in (x.real, x.imag)]
    sizes = np.frexp(np.maximum(*np.abs(parts)).max((0, 1)))[1]
    fits = np.isfinite(x).all((0, 1)) & (sizes + powers <= np.finfo(x.dtype).maxexp)
    return fits, powers


def checked(solve: Callable[[Tensor, Tensor], Any], diagonals: Array, b: Array) -> None:
    """Every system alone, all as a batch, and all beside others of which the right-hand sides are moderate."""
    x = solve(tr.asarray(diagonals), tr.asarray(b)).to_numpy()
    fits, powers = representable(x, b)
    assert fits.sum() > DRAWS / 4
    large = times_power(b, powers)
    expected = times_power(x, powers)
    every_other = np.where(np.arange(DRAWS) % 2 == 0, powers, 0)
    for exponents in (powers, every_other):
        found = solve(tr.asarray(diagonals), tr.asarray(times_power(b, exponents))).to_numpy()
        np.testing.assert_array_equal(found[..., fits], times_power(x, exponents)[..., fits])
    for k in np.flatnonzero(fits)[:8]:
        one = tr.asarray(np.asfortranarray(diagonals[..., k]))
        np.testing.assert_array_equal(solve(one, tr.asarray(large[..., k])).to_numpy(), expected[..., k])
        vector = solve(one, tr.asarray(large[:, 1, k])).to_numpy()
        alone = solve(one, tr.asarray(b[:, 1, k])).to_numpy()
        np.testing.assert_array_equal(vector, times_power(alone, powers[k]))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("size", "lower", "upper"), [(2, 1, 1), (3, 1, 1), (5, 2, 1), (9, 0, 2), (20, 3, 3)])
def test_banded_systems_have_the_solution_of_smaller_sides(dtype: str, size: int, lower: int, upper: int) -> None:
    checked(lambda ab, b: tl.solve_banded((lower, upper), ab, b, check=False), *systems(dtype, size, lower, upper))


@pytest.mark.parametrize("dtype", ["float64", "complex128"])  # others overflow in floats, and go on in doubles
def test_banded_systems_of_many_rows_and_diagonals_do(dtype: str) -> None:
    checked(lambda ab, b: tl.solve_banded((9, 9), ab, b), *systems(dtype, 40, 9, 9))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", [2, 3, 8, 20])
def test_toeplitz_systems_have_the_solution_of_smaller_sides(dtype: str, size: int) -> None:
    rng = np.random.default_rng(size)
    c, b = numbers(rng, dtype, (size, DRAWS)), numbers(rng, dtype, (size, 2, DRAWS)) * 16
    c[0] = rng.integers(1, 4, DRAWS) * 4
    checked(lambda columns, sides: tl.solve_toeplitz(columns, sides, columns * 0.5), c, b)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_a_matrix_that_sides_share_solves_large_ones(dtype: str) -> None:
    bands = np.array([[0.0, 3.0, 3.0], [2.0, 1.0, 2.0], [-3.0, 3.0, 0.0]]).astype(dtype)
    b = (np.arange(1, 25).reshape(3, 2, 4) % 5 - 2).astype(dtype)
    power = largest_power(b)
    for sides in (b, b[:, :, ::-1]):  # a view, too
        small, large = (
            tl.solve_banded((1, 1), tr.asarray(bands), tr.asarray(x)).to_numpy()
            for x in (sides, times_power(sides, power))
        )
        np.testing.assert_array_equal(large, times_power(small, power))


def test_solutions_beyond_the_range_are_infinite_and_no_failure() -> None:
    quarter, b = tr.tensor([[0.25, 0.25]]), tr.tensor([2.0**1023, 1.0])
    for found in (tl.solve_banded((0, 0), quarter, b), tl.solve_toeplitz(tr.tensor([0.25, 0.0]), b)):
        assert found[0].item() == np.inf
    masked = tl.solve_banded((0, 0), quarter, b, check="mask")
    assert (masked.status.item(), masked.result[0].item()) == (0, np.inf)


def test_under_a_mask_large_sides_have_their_solutions_beside_what_is_not_finite() -> None:
    bands = np.array([[0.0, 3.0], [1.0, 1.0], [3.0, 0.0]])[..., None] * np.ones(3)
    b = np.array([[4.0], [4.0]])[..., None] * np.ones(3)
    large = b * [2.0**1021, np.nan, 1.0]
    found = tl.solve_banded((1, 1), tr.asarray(bands), tr.asarray(large), check="mask")
    alone = tl.solve_banded((1, 1), tr.asarray(bands), tr.asarray(b)).to_numpy()
    assert found.status.tolist() == [0, 1, 0]
    np.testing.assert_array_equal(found.result.to_numpy(), alone * [2.0**1021, np.nan, 1.0])
    unchecked = tl.solve_banded((1, 1), tr.asarray(bands), tr.asarray(large), check=False).to_numpy()
    assert np.isnan(unchecked[..., 1]).all()
    np.testing.assert_array_equal(unchecked[..., [0, 2]], (alone * [2.0**1021, 1.0, 1.0])[..., [0, 2]])


@pytest.mark.parametrize("batch", [(0,), (3, 0)])
def test_empty_batches_stay_empty(batch: tuple[int, ...]) -> None:
    assert tl.solve_banded((1, 1), tr.ones((3, 2, *batch)), tr.ones((2, 1, *batch))).shape == (2, 1, *batch)
    assert tl.solve_toeplitz(tr.ones((2, *batch)), tr.ones((2, 1, *batch))).shape == (2, 1, *batch)
