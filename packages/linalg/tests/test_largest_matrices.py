"""Matrices of the largest numbers: what numbers on the way to a result do not reach is given as of smaller ones.

Elements lie between a half and one times 2^1024, so that sums and differences of two are beyond the range. A power of
two changes no bit of a result, nor, taken out of subnormal ones, more than their last rounding.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensor_linalg as tl
import tensor_runtime as tr
from tensor_linalg import MaskedResult
from tensor_runtime.errors import SingularMatrixError
from tensor_runtime.tensors.tensor import Tensor

Array = np.ndarray[Any, np.dtype[Any]]
TOP = 1024
SHAPES: tuple[tuple[int, tuple[int, ...]], ...] = (
    *((1, ()), (2, ()), (2, (9,)), (3, ()), (3, (9,)), (4, (2,)), (5, ()), (8, (9,)), (16, ()), (16, (5,)), (17, ())),
    *((17, (9,)), (32, (5,)), (33, ()), (64, (5,)), (65, ()), (70, (2,))),
)
"""Rows and batches: in lanes, one by one, by LAPACK."""
DTYPES = ("float64", "complex128")
LARGEST_IN_LANES = 64
"""Rows up to which the same routine solves before and after scaling, so that results are the same to the bit."""


def matrices(dtype: str, size: int, batch: tuple[int, ...], columns: int = 0) -> Array:
    """Numbers of sizes up to one, often above a half; square matrices are well-conditioned, with rows out of order."""
    rng = np.random.default_rng([size, *batch, columns])
    shape = (size, columns or size, *batch)
    turn = np.exp(2j * np.pi * rng.random(shape)) if dtype == "complex128" else rng.choice([-1.0, 1.0], shape)
    x: Array = (rng.uniform(0.55, 0.95, shape) * turn).astype(dtype)
    if not columns:  # I - 2 v vᴴ / vᴴ v of a vector of signs has rows of the length 1
        signs = np.where(rng.random(size) < 0.5, -1.0, 1.0)
        reflected = np.eye(size) - 2 * np.outer(signs, signs) / size
        x = x * 0.1 / size + (0.85 * reflected / np.abs(reflected).max())[(..., *(None,) * len(batch))]
        x = np.asarray(x.astype(dtype)[::-1])
    return x


def times_power(x: Array, power: int) -> Array:
    if x.dtype.kind != "c":
        return np.asarray(np.ldexp(x, power))
    found = np.empty_like(x)
    found.real, found.imag = np.ldexp(x.real, power), np.ldexp(x.imag, power)
    return found


def tensor(x: Array) -> Tensor:
    return tr.asarray(np.asfortranarray(x))


def assert_alike(found: Array, expected: Array, size: int) -> None:
    """The same to the bit where one routine has found both, and none of its numbers is subnormal; else nearly so."""
    most = np.abs(expected).max()
    if size <= LARGEST_IN_LANES and not most < 2.0**-900:
        np.testing.assert_array_equal(found, expected)
    else:
        least = 8 * size * np.finfo(float).smallest_subnormal
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 * most + least)


@pytest.mark.parametrize(("size", "batch"), SHAPES)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("power", [1011, 1018, TOP])
def test_inverses_are_those_of_smaller_matrices_in_every_way_of_calling(
    dtype: str, size: int, batch: tuple[int, ...], power: int
) -> None:
    a = matrices(dtype, size, batch)
    expected = times_power(tl.inv(tensor(a)).to_numpy(), -power)
    large = tensor(times_power(a, power))
    out = tr.zeros(large.shape, dtype=large.dtype)
    tl.inv(large, out=out)
    masked = tl.inv(large, check="mask")

    assert not masked.status.to_numpy().any()
    for found in (tl.inv(large), tl.inv(large, check=False), tl.inv(tr.copy(large), overwrite=True), masked[0], out):
        assert_alike(found.to_numpy(), expected, size)


@pytest.mark.parametrize("columns", [1, 3, 20])
@pytest.mark.parametrize(("size", "batch"), SHAPES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_solutions_are_those_of_smaller_systems_in_every_way_of_calling(
    dtype: str, size: int, batch: tuple[int, ...], columns: int
) -> None:
    a, b = matrices(dtype, size, batch), matrices(dtype, size, batch, columns) / size
    x = tl.solve(tensor(a), tensor(b)).to_numpy()
    for powers in ((TOP, TOP), (TOP, 0), (1012, 1000), (1012, -40), (0, TOP), (-100, 920)):
        large, sides = tensor(times_power(a, powers[0])), tensor(times_power(b, powers[1]))
        expected = times_power(x, powers[1] - powers[0])
        out = tr.zeros(sides.shape, dtype=sides.dtype)
        tl.solve(large, sides, out=out)
        masked = tl.solve(large, sides, check="mask")
        given_up = tl.solve(tr.copy(large), tr.copy(sides), overwrite=True)

        assert not masked.status.to_numpy().any()
        for found in (tl.solve(large, sides), tl.solve(large, sides, check=False), given_up, masked.result, out):
            assert_alike(found.to_numpy(), expected, size)


@pytest.mark.parametrize("size", [1, 2, 4, 8, 17, 40, 65])
@pytest.mark.parametrize("dtype", DTYPES)
def test_one_large_matrix_serves_vectors_and_batches_of_right_hand_sides(dtype: str, size: int) -> None:
    a, b = matrices(dtype, size, ()), matrices(dtype, size, (4,), 2) / size
    for power in (0, TOP):
        large, sides = tensor(times_power(a, power)), tensor(times_power(b, TOP))
        expected = times_power(tl.solve(tensor(a), tensor(b)).to_numpy(), TOP - power)
        assert_alike(tl.solve(large, sides).to_numpy(), expected, size)
        one = tl.solve(large, sides[:, 0, 1]).to_numpy()
        np.testing.assert_allclose(one * 2.0**-500, expected[:, 0, 1] * 2.0**-500, rtol=1e-12)


@pytest.mark.parametrize("size", [2, 3, 5, 8, 16, 17, 40])
@pytest.mark.parametrize("dtype", DTYPES)
def test_large_matrices_change_no_bit_of_their_neighbours_and_are_none_of_the_singular_ones(
    dtype: str, size: int
) -> None:
    a, b = matrices(dtype, size, (9,)), matrices(dtype, size, (9,), 2)
    alone = [tl.inv(tensor(a)).to_numpy(), tl.solve(tensor(a), tensor(b)).to_numpy()]
    a[..., 1], a[..., 6] = times_power(a[..., 1], TOP), times_power(a[..., 6], -1060)
    b[..., 1], b[..., 6] = times_power(b[..., 1], TOP - 7), times_power(b[..., 6], -1060)
    large, sides = tensor(a), tensor(b)
    others = np.array([0, 2, 3, 4, 5, 7, 8])
    for found, one in zip((tl.inv(large), tl.solve(large, sides)), alone, strict=True):
        np.testing.assert_array_equal(found.to_numpy()[..., others], one[..., others])
    assert_alike(tl.inv(large).to_numpy()[..., 1], times_power(alone[0][..., 1], -TOP), size)
    assert_alike(tl.solve(large, sides).to_numpy()[..., 1], times_power(alone[1][..., 1], -7), size)

    a[..., 3], a[..., 5], a[0, 0, 8] = 0.75, times_power(np.full_like(a[..., 5], 0.75), TOP), np.nan
    large = tensor(a)
    for masked in (tl.inv(large, check="mask"), tl.solve(large, sides, check="mask")):
        assert masked.status.tolist() == [0, 0, 0, 2, 0, 2, 0, 0, 1]
    np.testing.assert_array_equal(tl.inv(large, check="mask").result.to_numpy()[..., 0], alone[0][..., 0])
    a[..., 8] = np.eye(size)
    for call in (tl.inv, lambda x: tl.solve(x, sides)):
        with pytest.raises(SingularMatrixError) as caught:
            call(tensor(a))
        assert caught.value.batch_index == (3,)


@pytest.mark.parametrize("size", [1, 2, 3, 8, 17, 40])
@pytest.mark.parametrize("dtype", DTYPES)
def test_large_matrices_have_the_bits_that_they_have_alone(dtype: str, size: int) -> None:
    a = matrices(dtype, size, (9,))
    for place, power in ((1, TOP), (4, 1012), (5, 1011), (7, -1040)):
        a[..., place] = times_power(a[..., place], power)
    b = np.asarray(a[:, :1].copy())
    inverses, solutions = tl.inv(tensor(a)).to_numpy(), tl.solve(tensor(a), tensor(b)).to_numpy()
    for place in range(9):
        np.testing.assert_array_equal(inverses[..., place], tl.inv(tensor(a[..., place])).to_numpy())
        alone = tl.solve(tensor(a[..., place]), tensor(b[..., place]))
        np.testing.assert_array_equal(solutions[..., place], alone.to_numpy())


@pytest.mark.parametrize(("size", "batch"), SHAPES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_determinants_are_infinite_and_their_logarithms_found(dtype: str, size: int, batch: tuple[int, ...]) -> None:
    a = matrices(dtype, size, batch)
    sign, logarithm = (part.to_numpy() for part in tl.slogdet(tensor(a)))
    found = tl.slogdet(tensor(times_power(a, TOP)))
    np.testing.assert_allclose(found.sign.to_numpy(), sign, rtol=1e-12)
    np.testing.assert_allclose(found.logabsdet.to_numpy(), logarithm + size * TOP * np.log(2), rtol=1e-13)
    determinant, large = tl.det(tensor(a)).to_numpy(), tl.det(tensor(times_power(a, TOP))).to_numpy()
    if size == 1:
        np.testing.assert_allclose(large, times_power(determinant, TOP), rtol=1e-12)
    elif dtype == "float64":
        np.testing.assert_array_equal(large, np.inf * determinant)
    else:
        assert np.isinf(large).all()


@pytest.mark.parametrize("size", [2, 3, 4, 8, 17, 65])
@pytest.mark.parametrize("count", [1, 9])
def test_what_is_beyond_the_range_is_infinite_and_no_failure(size: int, count: int) -> None:
    ones = np.stack([np.eye(size)] * count, -1)
    sides = np.ones((size, 1, count))
    sides[0, 0, 0] = 2.0**600
    masked = tl.solve(tensor(ones * 2.0**-500), tensor(sides), check="mask")
    assert not masked.status.to_numpy().any()
    for found in (masked.result, tl.solve(tensor(ones * 2.0**-500), tensor(sides))):
        expected = np.full(sides.shape, 2.0**500)
        expected[0, 0, 0] = np.inf
        np.testing.assert_array_equal(found.to_numpy(), expected)


@pytest.mark.parametrize("size", [2, 3, 8, 17])
@pytest.mark.parametrize("count", [1, 9])
def test_numbers_of_all_sizes_in_one_matrix_keep_their_inverses(size: int, count: int) -> None:
    diagonal = np.ones(size)
    diagonal[0], diagonal[-1] = 1.5 * 2.0**1023, 1.5 * 2.0**-1000
    a = tensor(np.stack([np.diag(diagonal)] * count, -1))
    expected = np.stack([np.diag(1 / diagonal)] * count, -1)
    np.testing.assert_array_equal(tl.inv(a).to_numpy(), expected)
    np.testing.assert_array_equal(tl.inv(a, check="mask").status.to_numpy(), np.zeros(count))
    sides = np.stack([diagonal[:, None]] * count, -1)
    np.testing.assert_array_equal(tl.solve(a, tensor(sides)).to_numpy(), np.ones((size, 1, count)))


@pytest.mark.parametrize("options", [{"lower": True}, {}, {"adjoint": True}, {"lower": True, "transpose": True}])
@pytest.mark.parametrize(("size", "batch"), SHAPES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_triangular_systems_of_the_largest_right_hand_sides_are_solved(
    dtype: str, size: int, batch: tuple[int, ...], options: dict[str, Any]
) -> None:
    rng = np.random.default_rng([size, *batch])
    a = np.asarray(rng.uniform(-0.5, 0.5, (size, size, *batch)) / size, dtype)
    a[np.arange(size), np.arange(size)] = 0.9
    b = np.where(rng.random((size, 3, *batch)) < 0.5, -0.9, 0.9).astype(dtype)
    x = tl.triangular_solve(tensor(a), tensor(b / 2), **options).to_numpy()
    found = tl.triangular_solve(tensor(times_power(a, TOP)), tensor(times_power(b, TOP)), **options).to_numpy()
    np.testing.assert_allclose(found / 2, x, rtol=1e-12)


@pytest.mark.parametrize("size", [5, 16, 33])
def test_systems_with_cholesky_factors_are_solved_for_the_largest_right_hand_sides(size: int) -> None:
    factor = np.tril(matrices("float64", size, ())) / size + 0.9 * np.eye(size)
    b = np.where(np.arange(size) % 2 == 0, 0.95, -0.95)[:, None]
    x = tl.cho_solve(tensor(factor), tensor(b * 2.0**-3)).to_numpy()
    found = tl.cho_solve(tensor(times_power(factor, 4)), tensor(times_power(b, TOP))).to_numpy()
    np.testing.assert_allclose(found * 2.0**-1000, times_power(x, 19), rtol=1e-12)


@pytest.mark.parametrize(("size", "batch"), [(2, ()), (5, (3,)), (17, ()), (17, (9,)), (33, ())])
@pytest.mark.parametrize("dtype", DTYPES)
def test_ranks_bases_and_least_squares_are_those_of_smaller_matrices(
    dtype: str, size: int, batch: tuple[int, ...]
) -> None:
    a, b = matrices(dtype, size, batch), matrices(dtype, size, batch, 2)
    large = times_power(a, TOP)
    x, _, rank, _ = tl.lstsq(tensor(large), tensor(times_power(b, TOP)))
    np.testing.assert_allclose(x.to_numpy(), tl.lstsq(tensor(a), tensor(b))[0].to_numpy(), rtol=1e-9, atol=1e-12)
    assert (rank.to_numpy() == size).all()
    one = tensor(np.ascontiguousarray(large[..., 0] if batch else large))
    assert tl.orth(one).shape == (size, size)
    assert tl.null_space(one).shape == (size, 0)
    assert tl.null_space(one[: size - 1]).shape == (size, 1)


def test_what_stands_on_inverses_takes_the_largest_matrices() -> None:
    a, b = matrices("float64", 4, ()), matrices("float64", 4, (), 1)[:, 0]
    expected = times_power(tl.inv(tensor(a)).to_numpy(), -TOP)
    large = tensor(times_power(a, TOP))
    assert_alike(tl.matrix_power(large, -1).to_numpy(), expected, 4)
    assert_alike(tl.tensorinv(large, ind=1).to_numpy(), expected, 4)
    x = tl.solve(tensor(a), tensor(b)).to_numpy()
    np.testing.assert_array_equal(tl.tensorsolve(large, tensor(times_power(b, TOP))).to_numpy(), x)


@pytest.mark.parametrize("dtype", ["float32", "complex64"])
@pytest.mark.parametrize(("size", "batch"), [(2, ()), (8, (9,)), (33, ()), (65, ()), (70, (2,))])
def test_floats_near_the_end_of_their_range_are_computed_as_smaller_ones(
    dtype: str, size: int, batch: tuple[int, ...]
) -> None:
    wide = "complex128" if dtype == "complex64" else "float64"
    a, b = matrices(wide, size, batch).astype(dtype), (matrices(wide, size, batch, 2) / size).astype(dtype)
    x, inverse = tl.solve(tensor(a), tensor(b)).to_numpy(), tl.inv(tensor(a)).to_numpy()
    large, sides = tensor(times_power(a, 128)), tensor(times_power(b, 128))
    np.testing.assert_allclose(tl.solve(large, sides).to_numpy(), x, rtol=0, atol=1e-4 * np.abs(x).max())
    masked = tl.inv(large, check="mask")
    assert isinstance(masked, MaskedResult)
    assert not masked.status.to_numpy().any()
    found = masked.result.to_numpy().astype(wide) * 2.0**128
    np.testing.assert_allclose(found, inverse, rtol=0, atol=1e-4 * np.abs(inverse).max())
