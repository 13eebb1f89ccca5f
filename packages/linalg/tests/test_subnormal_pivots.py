"""Systems, factors and determinants of matrices with a subnormal pivot, or whose elements are minute throughout."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensor_linalg as tl
import tensor_runtime as tr

DTYPES = ["float32", "float64", "complex64", "complex128"]


def exchanged(dtype: str, size: int) -> tuple[Any, float]:
    """An identity of which two rows are exchanged and one of them is tiny, a power of two; OpenBLAS passes over it."""
    tiny = 2.0**-1030 if dtype in ("float64", "complex128") else 2.0**-130
    a = np.eye(size, dtype=dtype)
    a[:2, :2] = [[0, 1], [tiny, 0]]
    return a, tiny


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", [17, 33, 65, 100])
def test_a_subnormal_pivot_below_zeros_is_exchanged_and_divided_by(dtype: str, size: int) -> None:
    a, tiny = exchanged(dtype, size)
    x = np.arange(1, size + 1).astype(dtype)
    matrix, b = tr.asarray(a), tr.asarray(a @ x)

    np.testing.assert_array_equal(tl.solve(matrix, b).to_numpy(), x)
    shared = tl.solve(matrix, tr.asarray(np.stack([a @ x] * 6, 1).reshape(size, 2, 3))).to_numpy()
    np.testing.assert_array_equal(shared, np.broadcast_to(x[:, None, None], shared.shape))
    np.testing.assert_array_equal(tl.lu_solve(tl.lu_factor(matrix), b).to_numpy(), x)
    np.testing.assert_array_equal(tl.lu_solve(tl.lu_factor(tr.asarray(a), overwrite=True), b).to_numpy(), x)
    sign, logarithm = tl.slogdet(matrix)
    assert sign.item() == -1
    assert logarithm.item() == pytest.approx(np.log(tiny), rel=1e-6)
    assert tl.det(matrix).item() == -tiny


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(17, 17), (40, 20), (20, 40), (66, 66)])
def test_factors_of_subnormal_columns_have_their_product(dtype: str, shape: tuple[int, int]) -> None:
    a = np.zeros(shape, dtype)
    a[-1, 0] = exchanged(dtype, 2)[1]
    order, lower, upper = (part.to_numpy() for part in tl.lu(tr.asarray(a)))
    assert upper[0, 0] == a[-1, 0]
    np.testing.assert_array_equal(lower @ upper, a[order])


@pytest.mark.parametrize("size", [17, 65])
def test_a_singular_matrix_stays_singular(size: int) -> None:
    a = np.eye(size)
    a[0, 0] = 0.0
    matrix = tr.asarray(a)
    assert tl.det(matrix).item() == 0
    assert tl.slogdet(matrix)[1].item() == -np.inf
    with pytest.raises(tl.SingularMatrixError):
        tl.solve(matrix, tr.ones(size))
    with pytest.raises(tl.SingularMatrixError):
        tl.lu_solve(tl.lu_factor(matrix), tr.ones(size))
    with pytest.raises(tl.SingularMatrixError):
        tl.inv(matrix)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("size", [1, 2, 3, 17, 64, 65])
@pytest.mark.parametrize("exponent", [-900, -930, -1030])
def test_a_minute_matrix_is_regular_beside_a_singular_one(exponent: int, size: int, dtype: str) -> None:
    minute, drawn = np.eye(size), np.random.default_rng(size).standard_normal((size, size))
    a = tr.asarray(np.stack([minute * 2.0**exponent, np.zeros_like(minute), drawn], -1).astype(dtype))
    b = tr.ones((size, 1), dtype=a.dtype)

    inverse, solved = tl.inv(a, check="mask"), tl.solve(a, b, check="mask")

    assert inverse.status.tolist() == solved.status.tolist() == [0, 2, 0]
    good = a[..., ::2]
    np.testing.assert_array_equal(inverse.result[..., ::2].to_numpy(), tl.inv(good).to_numpy())
    np.testing.assert_array_equal(solved.result[..., ::2].to_numpy(), tl.solve(good, b).to_numpy())
    assert tl.cond(a, 1)[:2].tolist() == [1, np.inf]
