"""Matrices from which powers of two are taken because they lie near the limits: what is given back is what is due."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import tensor_linalg as tl
import tensor_runtime as tr

MINUTE = 2.0**-1000


@pytest.mark.parametrize(
    ("dtype", "of_sides"), [("float64", "float64"), ("complex128", "float64"), ("float64", "float32")]
)
@pytest.mark.parametrize("size", [1, 7, 65])
@pytest.mark.parametrize("shape", [(2, 2), (2, 3), (1, 3)])
def test_fewer_batch_axes_of_the_right_hand_sides_align_at_the_last_one(
    dtype: str, of_sides: str, size: int, shape: tuple[int, int]
) -> None:
    factors = 2.0 ** np.arange(np.prod(shape)).reshape(shape)
    a = (np.eye(size)[..., None, None] * factors).astype(dtype)
    a[0, 0, 0, 0] = 2.0**-950
    b = (np.arange(1.0, 1 + size)[:, None, None] * np.arange(1, 1 + shape[1])).astype(of_sides)
    found = tl.solve(tr.asarray(a), tr.asarray(b)).to_numpy()
    expected = b[..., None, :] / np.diagonal(a).transpose(2, 0, 1)[:, None]
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("size", [1, 2, 40])
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_the_logarithm_of_one_minute_determinant_is_a_tensor_like_any_other(size: int, dtype: str) -> None:
    found = tl.slogdet(tr.asarray((np.eye(size) * MINUTE).astype(dtype)))
    assert (-found.logabsdet).item() == pytest.approx(1000 * size * np.log(2), rel=1e-15)
    assert found.sign.item() == 1
    out = tl.SlogdetResult(tr.zeros((), dtype=found.sign.dtype), tr.zeros(()))
    tl.slogdet(tr.asarray((np.eye(size) * MINUTE).astype(dtype)), out=out)
    assert out.logabsdet.item() == found.logabsdet.item()


def test_the_square_root_of_a_minute_matrix_is_found() -> None:
    power = 2.0**-1030
    found = tl.sqrtm(tr.asarray(np.diag([4 * power, 9 * power]).astype(complex)))
    np.testing.assert_allclose(found.to_numpy(), np.diag([2.0**-514, 1.5 * 2.0**-514]), rtol=1e-14)


@pytest.mark.parametrize("size", [2, 40, 65])
def test_complex_numbers_beyond_the_range_are_infinite_in_both_parts(size: int) -> None:
    a = tr.asarray(np.eye(size) * (1 + 1j) * 2.0**-1060)
    expected = complex(np.inf, -np.inf)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = [
            tl.inv(a)[0, 0],
            tl.solve(a, tr.ones(size))[0],
            tl.solve_banded((0, 0), tl.diagonal(a)[None], tr.ones(size))[0],
            tl.solve_banded((0, 0), tl.diagonal(a)[None], tr.ones(size, dtype="C64"))[0],
        ]
    assert [one.item() for one in found] == [expected] * 4


def test_a_minute_neighbour_changes_neither_infinities_nor_signs_of_zeros() -> None:
    large = np.array([[2 + 1j, 3 - 1j], [1 - 2j, 1 + 1j]]) * 2.0**1000
    zero = np.array([[-1, 1e-200], [0, 1]]) * (2.0**-700 + 0j)
    for a in (large, zero):
        alone, beside = (
            tl.det(tr.asarray(np.stack([a, other], -1))).to_numpy() for other in (np.eye(2), np.eye(2) * MINUTE)
        )
        assert alone[:1].view(np.int64).tolist() == beside[:1].view(np.int64).tolist()


def test_numpys_warnings_about_results_beyond_the_range_stay_inside() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        bands: Any = tr.full((1, 2), 2.0**-1060)
        found = tl.solve_banded((0, 0), bands, tr.ones(2, dtype="F32"))
    assert found.tolist() == [np.inf, np.inf]


@pytest.mark.parametrize("options", [{}, {"check": False}, {"overwrite": True}, {"mode": "complete"}])
@pytest.mark.parametrize(("rows", "columns"), [(3, 3), (65, 65), (90, 70), (70, 90)])
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_orthogonal_factors_of_the_largest_matrices_are_finite(
    dtype: str, rows: int, columns: int, options: dict[str, Any]
) -> None:
    a = np.random.default_rng(rows).standard_normal((rows, columns, 2)).astype(dtype)
    if dtype == "complex128":
        a += 1j * np.random.default_rng(columns).standard_normal(a.shape)
    a[..., 0] = np.eye(rows, columns)
    a[1:, 0, 0], a[0, 0, 0] = 0.5, np.finfo(float).max
    q, r = (part.to_numpy() for part in tl.qr(tr.copy(tr.asarray(a)), **options))
    assert np.abs(np.einsum("ij...,ik...->jk...", q.conj(), q) - np.eye(q.shape[1])[..., None]).max() < 1e-13
    found = np.einsum("ij...,jk...->ik...", q, r * [2.0**-1000, 1.0])
    np.testing.assert_allclose(found, a * [2.0**-1000, 1.0], rtol=1e-13, atol=1e-12)
    assert np.abs(r[0, 0, 0]) == np.finfo(float).max


@pytest.mark.parametrize("dtype", ["float32", "complex64"])
@pytest.mark.parametrize("size", [32, 33, 70])
@pytest.mark.parametrize("width", [1, 20])
def test_solutions_in_the_range_of_floats_are_found_where_numbers_on_the_way_are_not(
    width: int, size: int, dtype: str
) -> None:
    large = 2.0**110
    bands = np.zeros((1 + width, size, 3), dtype)
    bands[0], bands[1, 0] = large, large
    bands[0, 0, 1] = large * 2.0**-26
    sides = np.full((size, 2, 3), large, dtype)
    found = tl.solve_banded((width, 0), tr.asarray(bands), tr.asarray(sides)).to_numpy()
    expected = np.ones((size, 2, 3), dtype)
    expected[1] = 0
    expected[:2, :, 1] = [[2.0**26], [1 - 2.0**26]]
    np.testing.assert_array_equal(found, expected.astype(dtype))
    for one, right in ((0, sides), (1, sides[..., 1]), (1, sides[:, 0, 1])):
        alone = tl.solve_banded((width, 0), tr.asarray(bands[..., one]), tr.asarray(right)).to_numpy()
        whole = np.broadcast_to(expected[:, 0, one][(..., *(None,) * (right.ndim - 1))], right.shape)
        np.testing.assert_array_equal(alone, whole)


@pytest.mark.parametrize("dtype", ["float32", "complex64"])
@pytest.mark.parametrize("size", [3, 33])
@pytest.mark.parametrize("power", [-140, 120])
def test_systems_of_floats_near_the_limits_have_the_integers_solution(power: int, size: int, dtype: str) -> None:
    x = np.arange(1, 1 + size) % 5 - 2.0
    bands = np.array([[1.0], [4.0], [-1.0]]) * np.ones(size)
    matrix = np.diag(bands[1]) + np.diag(bands[0, 1:], 1) + np.diag(bands[2, 1:], -1)
    a, b = ((one * 2.0**power).astype(dtype) for one in (bands, matrix @ x))
    found = tl.solve_banded((1, 1), tr.asarray(a), tr.asarray(b)).to_numpy()
    np.testing.assert_allclose(found, x, atol=1e-6)
