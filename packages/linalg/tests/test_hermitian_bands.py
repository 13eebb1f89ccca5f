"""Systems of banded Hermitian positive definite matrices beside whole ones, SciPy's, and exact solutions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.linalg

import tensor_linalg as tl
import tensor_runtime as tr
from tensor_core.errors import ShapeError
from tensor_linalg.contracts.solving import HermitianBandParams
from tensor_linalg.rules.lower.solving import solveh_banded as by_the_whole_matrix

Array = np.ndarray[Any, np.dtype[Any]]
DTYPES = ("float32", "float64", "complex64", "complex128")


def whole_numbers(dtype: str, *shape: int, seed: int = 0) -> Array:
    drawn = np.random.default_rng(seed).integers(-3, 4, (2, *shape))
    return (drawn[0] + 1j * drawn[1] if dtype[0] == "c" else drawn[0]).astype(dtype)


def halves(dtype: str, width: int, size: int, *batch: int) -> tuple[Array, Array, Array]:
    """Diagonals from the main one down, those that end with it, and the whole matrices, all of integers."""
    lower = whole_numbers(dtype, width + 1, size, *batch)
    lower[0] += 7 * (width + 1)  # with imaginary parts, which count for nothing
    upper = whole_numbers(dtype, width + 1, size, *batch, seed=1)
    dense = np.zeros((size, size, *batch), dtype)
    for k in range(min(width + 1, size)):
        for j in range(size - k):
            dense[j + k, j] = lower[k, j]
            dense[j, j + k] = upper[width - k, j + k] = lower[k, j].conj()
    diagonal = np.arange(size)
    dense[diagonal, diagonal] = dense[diagonal, diagonal].real
    return lower, upper, dense


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("width", "size"), [(0, 3), (1, 1), (1, 6), (2, 5), (4, 9), (7, 5), (3, 40), (30, 70)])
def test_solutions_of_either_half_are_those_of_the_whole_matrices(dtype: str, width: int, size: int) -> None:
    lower, upper, dense = halves(dtype, width, size, 2, 3)
    x = whole_numbers(dtype, size, 2, 3, seed=2)[:, :, None, :]
    b = np.einsum("ij...,jk...->ik...", dense, np.broadcast_to(x, (size, 2, 2, 3)))
    near = 30 * float(np.finfo(dtype).eps) * (width + 1)
    found = tl.solveh_banded(tr.asarray(lower), tr.asarray(b), lower=True)

    assert found.to_numpy().dtype == dtype
    assert np.abs(found.to_numpy() - x).max() < near
    turned = tl.solveh_banded(tr.asarray(upper[::-1])[::-1], tr.asarray(b[:, ::-1])[:, ::-1])
    np.testing.assert_array_equal(turned.to_numpy(), found.to_numpy())
    shared = tl.solveh_banded(tr.asarray(lower[..., :1, :]), tr.asarray(b), lower=True)
    np.testing.assert_array_equal(shared[..., 0, :].to_numpy(), found[..., 0, :].to_numpy())
    alone = tl.solveh_banded(tr.asarray(lower[..., 1, 2]), tr.asarray(b[:, 1, 1, 2]), lower=True).to_numpy()
    np.testing.assert_array_equal(alone, found[:, 1, 1, 2].to_numpy())
    if width < size > 1:  # which SciPy's takes
        peer = scipy.linalg.solveh_banded(upper[..., 1, 2].astype("complex128"), b[:, 1, 1, 2].astype("complex128"))
        assert np.abs(alone - peer).max() < near


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("lower", [True, False])
def test_a_rule_solves_them_by_whole_matrices(dtype: str, lower: bool) -> None:
    half = halves(dtype, 2, 6, 2)[0 if lower else 1]
    b = tr.asarray(whole_numbers(dtype, 6, 3, 2, seed=2))
    expected = tl.solveh_banded(tr.asarray(half), b, lower=lower).to_numpy()
    found = by_the_whole_matrix(tr.asarray(half), b, HermitianBandParams(lower, True)).to_numpy()
    assert np.abs(found - expected).max() < 30 * float(np.finfo(dtype).eps)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("lower", [True, False])
def test_a_matrix_that_is_not_positive_definite_is_named(dtype: str, lower: bool) -> None:
    half = np.array(halves(dtype, 1, 5, 2, 3)[0 if lower else 1])
    half[0 if lower else 1, 3, 1, 2] = 0.0
    ab, b = tr.asarray(half), tr.ones((5, 1, 4, 2, 1), dtype="F32")
    with pytest.raises(
        tl.NotPositiveDefiniteError, match=r"^solveh_banded: the leading 4x4 block of the matrix"
    ) as caught:
        tl.solveh_banded(ab, b[:, :, 0], lower=lower)
    assert (caught.value.batch_index, caught.value.element_index) == ((1, 2), (3, 3))
    x, status = tl.solveh_banded(ab, b[:, :, 0], lower=lower, check="mask")
    assert status.tolist() == [[0, 0, 0], [0, 0, 2]]
    good = half.copy()
    good[..., 1, 2] = half[..., 0, 0]
    expected = tl.solveh_banded(tr.asarray(good), b[:, :, 0], lower=lower).to_numpy()
    expected[..., 1, 2] = np.nan
    np.testing.assert_array_equal(x.to_numpy(), expected)
    with pytest.raises(tl.NotPositiveDefiniteError, match="leading 4x4 block"):  # without sides, too
        tl.solveh_banded(ab, tr.zeros((5, 0, 2, 3)), lower=lower)


def test_what_is_no_element_must_be_finite_and_is_not_read() -> None:
    half = np.array([[2.0, 2.0, 2.0], [0.0, 0.0, 7.0], [1.0, -3.0, 1e300]])
    clean = np.array([[2.0, 2.0, 2.0], [0.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    x = tl.solveh_banded(tr.asarray(half), tr.ones(3), lower=True).to_numpy()
    np.testing.assert_array_equal(x, tl.solveh_banded(tr.asarray(clean), tr.ones(3), lower=True).to_numpy())
    half[2, 2] = np.inf
    with pytest.raises(tl.NonFiniteError, match=r"^solveh_banded: operand ab holds inf at element \(2, 2\)"):
        tl.solveh_banded(tr.asarray(half), tr.ones(3), lower=True)
    with pytest.raises(tl.NonFiniteError, match=r"^solveh_banded: operand b holds nan at element \(1,\)"):
        tl.solveh_banded(tr.asarray(clean), tr.tensor([1.0, np.nan, 1.0]), lower=True)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("power", [-1060, 1000])
def test_systems_of_scaled_integers_have_the_integers_solution(dtype: str, power: int) -> None:
    lower, upper, dense = halves(dtype, 2, 20)
    x = whole_numbers(dtype, 20, 2, seed=3)
    b = dense @ x
    scaled = [np.ldexp(one.view("float64"), power).view(dtype) for one in (lower, upper, b)]
    for half, is_lower in ((scaled[0], True), (scaled[1], False)):
        found = tl.solveh_banded(tr.asarray(half), tr.asarray(scaled[2]), lower=is_lower).to_numpy()
        assert np.abs(found - x).max() < 1e-12
    large = np.ldexp(x.view("float64"), 1015).view(dtype)  # and sides near the end of the range
    found = tl.solveh_banded(
        tr.asarray(lower / 64), tr.asarray(np.ldexp(b.view("float64"), 1009).view(dtype)), lower=True
    )
    assert np.abs(found.to_numpy() / 2.0**1015 - large / 2.0**1015).max() < 1e-12


def test_shapes_that_do_not_fit_are_told() -> None:
    for ab, b, said in (
        (tr.ones((0, 3)), tr.ones(3), "has no diagonal"),
        (tr.ones((1, 3)), tr.ones(4), "do not fit"),
        (tr.ones((1, 3, 2)), tr.ones(3), "do not fit"),
        (tr.ones(3), tr.ones(3), "holds no matrices"),
    ):
        for check in (True, False, "mask"):
            with pytest.raises(ShapeError, match=said):
                tl.solveh_banded(ab, b, check=check)  # type: ignore[call-overload]
    assert tl.solveh_banded(tr.ones((1, 0)), tr.ones((0, 2))).shape == (0, 2)
    assert tl.solveh_banded(tr.ones((2, 3, 0)), tr.ones((3, 1, 1))).shape == (3, 1, 0)
