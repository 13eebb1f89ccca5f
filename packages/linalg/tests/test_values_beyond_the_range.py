"""Matrices of finite elements whose largest singular value may be beyond the range of the dtype.

Ranks, conditions and unitary factors do not change with a power of two that is taken out; inverses and norms change by
that power alone. So the same matrix, made smaller, is what to compare with.
"""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np
import pytest

import tensor_linalg as tl
import tensor_runtime as tr
from tensor_runtime.tensors.tensor import Tensor

Array = np.ndarray[Any, np.dtype[Any]]
DTYPES = ("float32", "float64", "complex64", "complex128")
SIZES = ((3, ()), (3, (5,)), (9, (4,)), (12, (9,)), (20, ()), (33, (3,)), (70, ()))
"""In lanes by rotations and by QR iteration, one by one, and by LAPACK."""


def drawn(dtype: str, size: int, batch: tuple[int, ...], columns: int = 0) -> Array:
    """Numbers near 1, so that the largest singular value is near the extent; the last row repeats the first."""
    rng = np.random.default_rng([size, *batch, columns])
    shape = (size, columns or size, *batch)
    x = 1 + rng.integers(-3, 4, shape) / 8 + (1j * rng.integers(-3, 4, shape) / 8 if dtype[0] == "c" else 0)
    x[-1] = x[0]
    return np.asarray(x, dtype)


def power_of(x: Array) -> int:
    """Of two, that takes the largest part of an element to the end of the range."""
    return int(np.finfo(x.dtype).maxexp) - int(np.frexp(max(np.abs(x.real).max(), np.abs(x.imag).max()))[1])


def times_power(x: Array, power: int) -> Array:
    half = power // 2
    with np.errstate(over="ignore", invalid="ignore"):
        one, other = (np.asarray(2.0**k, x.real.dtype) for k in (half, power - half))
        return np.asarray(x * one * other)


def tensor(x: Array) -> Tensor:
    return tr.asarray(np.asfortranarray(x))


def unit(dtype: str) -> float:
    return float(np.finfo(dtype).eps)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("size", "batch"), SIZES)
@pytest.mark.parametrize("columns", [0, 2])
def test_ranks_conditions_norms_and_inverses_are_those_of_the_smaller_matrix(
    dtype: str, size: int, batch: tuple[int, ...], columns: int
) -> None:
    x = drawn(dtype, size, batch, columns)
    power = power_of(x)
    small, large = tensor(x), tensor(times_power(x, power))
    bound = 50 * size * unit(dtype)

    rank = min(size - 1, columns or size)
    for check in (True, False):
        assert (tl.matrix_rank(large, check=check).to_numpy() == rank).all()
    found = times_power(tl.pinv(large).to_numpy(), power)
    expected = tl.pinv(small).to_numpy()
    subnormal = float(np.ldexp(np.finfo(dtype).smallest_subnormal.astype(float), power))
    assert np.abs(found - expected).max() <= np.abs(expected).max() ** 2 * bound * size + size * subnormal
    values = tl.svdvals(small).to_numpy()
    if columns:
        np.testing.assert_allclose(tl.cond(large).to_numpy(), values[0] / values[-1], rtol=bound * 10)
        np.testing.assert_allclose(tl.cond(large, -2).to_numpy(), values[-1] / values[0], rtol=bound * 10)
    else:
        assert (tl.cond(large).to_numpy() > 0.01 / unit(dtype)).all()
    least = times_power(tl.norm(large, -2).to_numpy(), -power)
    within = times_power(values[-1], power) < inf
    assert (np.abs(least - values[-1]) <= values[0] * bound)[within].all()
    assert (least[~within] == inf).all()
    assert (tl.norm(large, 2).to_numpy() == inf).all()
    assert (tl.norm(large, "nuc").to_numpy() == inf).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("size", "batch"), SIZES)
def test_hermitian_matrices_have_ranks_and_inverses_as_well(dtype: str, size: int, batch: tuple[int, ...]) -> None:
    half = drawn(dtype, size, batch)
    x = half + half.conj().swapaxes(0, 1)
    x[-1, :] = x[0, :]
    x[:, -1] = x[:, 0]
    power = power_of(x)
    small, large = tensor(x), tensor(times_power(x, power))
    assert (tl.matrix_rank(large, hermitian=True).to_numpy() == size - 1).all()
    found, expected = (tl.pinv(one, hermitian=True).to_numpy() for one in (large, small))
    bound = 50 * size**2 * unit(dtype) * np.abs(expected).max() ** 2
    subnormal = float(np.ldexp(np.finfo(dtype).smallest_subnormal.astype(float), power))
    assert np.abs(times_power(found, power) - expected).max() <= bound + size * subnormal


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("size", "batch"), SIZES)
def test_polar_factors_are_those_of_the_smaller_matrix(
    dtype: str, size: int, batch: tuple[int, ...], side: str
) -> None:
    x = drawn(dtype, size, batch, 2)
    power = power_of(x)
    u, p = (part.to_numpy() for part in tl.polar(tensor(times_power(x, power)), side=side))
    unitary, definite = (part.to_numpy() for part in tl.polar(tensor(x), side=side))
    bound = 100 * size * unit(dtype) * np.linalg.cond(np.moveaxis(x, (0, 1), (-2, -1))).max()
    assert np.abs(u - unitary).max() <= bound
    largest = float(np.finfo(dtype).max)
    near = np.abs(definite) < largest / 2.0**power * 0.99
    assert (np.abs(times_power(p, -power) - definite)[near] <= bound).all()
    assert side == "right" or near.all()  # products of two rows of numbers near 1 are in range again


def test_examples_that_one_can_check_by_hand() -> None:
    a = tr.full((3, 3), 1e308)
    assert tl.matrix_rank(a).item() == 1
    assert tl.pinv(a).to_numpy() * 1e308 == pytest.approx(np.full((3, 3), 1 / 9))
    assert tl.norm(a, 2).item() == tl.norm(a, "nuc").item() == inf
    np.testing.assert_allclose(tl.polar(a).p.to_numpy(), np.full((3, 3), 1e308))
    b = tr.tensor([[1.0, 1.0], [1.0, -1.0]]) * 1.6e308
    assert tl.cond(b).item() == pytest.approx(1.0)
    np.testing.assert_allclose(tl.polar(b).u.to_numpy() * 2**0.5, [[1, 1], [1, -1]])
    assert tl.polar(b).p.to_numpy()[0, 0] == inf  # 1.6e308 times the root of 2
    c = tr.embed_diagonal(tr.tensor([1.2e308, 1e300]))
    assert tl.norm(c, 2).item() == pytest.approx(1.2e308)
    assert tl.cond(c).item() == pytest.approx(1.2e8)


@pytest.mark.parametrize("size", [3, 12, 20])
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_large_matrix_changes_no_bit_of_its_neighbours(dtype: str, size: int) -> None:
    x = drawn(dtype, size, (9,), 2)
    large = x.copy()
    large[..., 4] = times_power(large[..., 4], power_of(large[..., 4]))
    others = np.arange(9) != 4

    def results(one: Array) -> list[Array]:
        a = tensor(one)
        u, p = tl.polar(a)
        found = tl.pinv(a), tl.matrix_rank(a), tl.cond(a), tl.norm(a, -2), tl.norm(a, 2), tl.norm(a, "nuc"), u, p
        return [part.to_numpy() for part in found]

    for beside, alone in zip(results(large), results(x), strict=True):
        np.testing.assert_array_equal(beside[..., others], alone[..., others])


@pytest.mark.parametrize("dtype", ["float64", "complex64"])
def test_a_mask_tells_what_is_not_finite_and_finds_the_others(dtype: str) -> None:
    x = drawn(dtype, 4, (4,), 2)
    large = times_power(x, power_of(x))
    large[1, 1, 2] = np.nan
    large[0, 0, 3] = np.inf
    a, finite = tensor(large), tensor(large[..., :2])
    calls: dict[str, Any] = {
        "pinv": tl.pinv,
        "rank": tl.matrix_rank,
        "cond": tl.cond,
        "norm": lambda a, **check: tl.norm(a, -2, **check),
        "polar": lambda a, **check: tl.polar(a, **check),
    }
    for name, call in calls.items():
        masked = call(a, check="mask")
        assert masked.status.tolist() == [0, 0, 1, 1], name
        found, expected = (x.u if name == "polar" else x for x in (masked.result, call(finite)))
        np.testing.assert_array_equal(found.to_numpy()[..., :2], expected.to_numpy(), name)
        with pytest.raises(tl.NonFiniteError):
            call(a)


@pytest.mark.parametrize("rtol", [1e-3, 0.9, 2.0])
def test_tolerances_mean_shares_of_the_largest_value(rtol: float) -> None:
    x = drawn("float64", 4, (6,), 2)
    small, large = tensor(x), tensor(times_power(x, power_of(x)))
    for tolerance in (rtol, tr.full(6, rtol)):
        assert tl.matrix_rank(large, rtol=tolerance).tolist() == tl.matrix_rank(small, rtol=tolerance).tolist()
        found = times_power(tl.pinv(large, rtol=tolerance).to_numpy(), power_of(x))
        np.testing.assert_allclose(found, tl.pinv(small, rtol=tolerance).to_numpy(), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("size", "batch"), SIZES)
def test_least_squares_with_a_tolerance_of_each_have_the_solution_of_the_smaller_matrix(
    dtype: str, size: int, batch: tuple[int, ...]
) -> None:
    x = drawn(dtype, size, batch, 2)
    b = drawn(dtype, size, batch, 3)
    power = power_of(x)
    tolerance = tr.full(batch, 1e-4)
    found = tl.lstsq(tensor(times_power(x, power)), tensor(times_power(b, power - 10)), rtol=tolerance)
    expected = tl.lstsq(tensor(x), tensor(b), rtol=tolerance)
    solution = times_power(found.solution.to_numpy(), 10)
    bound = 1000 * size * unit(dtype)
    np.testing.assert_allclose(solution, expected.solution.to_numpy(), rtol=bound, atol=bound)
    assert (found.rank.to_numpy() == 2).all()
    assert found.singular_values is not None
    assert (found.singular_values[0].to_numpy() == inf).all()


def test_empty_batches_and_matrices_stay_empty() -> None:
    a = tr.ones((3, 3, 0))
    assert tl.pinv(a).shape == (3, 3, 0)
    assert [x.shape for x in (tl.matrix_rank(a), tl.cond(a), tl.norm(a, 2), tl.norm(a, "nuc"))] == [(0,)] * 4
    assert [x.shape for x in tl.polar(a)] == [(3, 3, 0)] * 2


@pytest.mark.parametrize("name", ["pinv", "matrix_rank", "cond", "polar"])
def test_so_it_is_on_a_device(name: str) -> None:
    a = tr.full((3, 3), 1e308) + tr.eye(3) * 5e307
    here, there = getattr(tl, name)(a), getattr(tl, name)(a.to("sim:0"))
    one, other = (x.u if name == "polar" else x for x in (here, there))
    np.testing.assert_allclose(
        other.to("cpu").to_numpy(), one.to_numpy(), rtol=1e-10, atol=1e-14 if name == "polar" else 0.0
    )
