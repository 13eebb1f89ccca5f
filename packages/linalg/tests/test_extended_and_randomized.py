"""QR decompositions extended by columns, and leading values and vectors from products with random vectors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensor_linalg as tl
import tensor_runtime as tr
from tensor_core.errors import ArgumentError, DTypeError, ShapeError

Array = np.ndarray[Any, np.dtype[Any]]
EACH_DTYPE = pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])


def numbers(dtype: str, *shape: int) -> Array:
    rng = np.random.default_rng(shape)
    x = rng.standard_normal(shape) + 1j * rng.standard_normal(shape)
    return np.asarray((x if "complex" in dtype else x.real).astype(dtype))


def product(a: Array, b: Array) -> Array:
    return np.asarray(np.einsum("ij...,jk...->ik...", a, b))


def check_extended(x: Array, rank: int, dtype: str) -> Array:
    """The factors of the first columns, extended by the others; the triangle."""
    first = tl.qr(tr.asarray(x[:, :rank]))
    q, r = tl.qr_append(*first, tr.asarray(x[:, rank:]))
    assert q.is_compact
    assert r.is_compact
    found, triangle = q.to_numpy(), r.to_numpy()
    unit = float(np.finfo(dtype).eps)
    width = min(x.shape[0], min(x.shape[0], rank) + x.shape[1] - rank)
    gram = product(found.conj().swapaxes(0, 1), found) - np.eye(width).reshape(width, width, *[1] * (x.ndim - 2))

    assert found.shape == (x.shape[0], width, *x.shape[2:])
    assert triangle.shape == (width, *x.shape[1:])
    assert (np.abs(product(found, triangle) - x) <= 60 * unit * max(1.0, np.abs(x).max(initial=0))).all()
    assert (np.abs(gram) <= 60 * unit).all()
    assert (np.moveaxis(np.tril(np.moveaxis(triangle, (0, 1), (-2, -1)), -1), (-2, -1), (0, 1)) == 0).all()
    assert (found[:, :rank] == first.q.to_numpy()[:, :rank]).all()
    return triangle


@EACH_DTYPE
@pytest.mark.parametrize("shape", [(6, 4), (3, 5), (5, 4, 3), (4, 3, 2, 2), (4, 3, 0)])
@pytest.mark.parametrize("rank", [0, 1, 2])
def test_appended_columns_extend_the_factors(dtype: str, shape: tuple[int, ...], rank: int) -> None:
    check_extended(numbers(dtype, *shape), rank, dtype)


@EACH_DTYPE
def test_columns_that_depend_on_others_leave_q_orthonormal_and_a_zero_in_r(dtype: str) -> None:
    x = numbers(dtype, 6, 2, 3)
    repeated = np.concatenate([x, x[:, :1] * 2, x[:, 1:] - x[:, :1], np.zeros_like(x[:, :1])], axis=1)
    triangle = check_extended(repeated, 2, dtype)
    assert (np.einsum("ii...->i...", triangle[2:, 2:]) == 0).all()

    unit_vectors = np.eye(4, 2, dtype=dtype)
    check_extended(np.concatenate([unit_vectors, np.zeros((4, 2), dtype), unit_vectors], axis=1), 2, dtype)


def test_qr_append_refuses_what_does_not_fit() -> None:
    q, r = tr.eye(4, 2), tr.eye(2)
    for wrong in (tr.ones((3, 1)), tr.ones(4), tr.ones((4, 1, 2))):
        with pytest.raises(ShapeError, match="qr_append: q of shape"):
            tl.qr_append(q, r, wrong)
    with pytest.raises(ShapeError, match="qr_append: q of shape"):
        tl.qr_append(q, tr.eye(3), tr.ones((4, 1)))
    with pytest.raises(DTypeError, match="accepted: one dtype"):
        tl.qr_append(q, r, tr.ones((4, 1), dtype="F32"))
    with pytest.raises(DTypeError, match="qr_append: columns is I64"):
        tl.qr_append(q, r, tr.ones((4, 1), dtype="I64"))


@EACH_DTYPE
def test_randomized_svd_is_exact_for_matrices_of_low_rank(dtype: str) -> None:
    x = product(numbers(dtype, 30, 3, 2), numbers(dtype, 3, 20, 2))
    u, s, vh = (part.to_numpy() for part in tl.randomized_svd(tr.asarray(x), 3, seed=5))
    unit = float(np.finfo(dtype).eps)

    assert (u.shape, s.shape, vh.shape) == ((30, 3, 2), (3, 2), (3, 20, 2))
    assert (np.abs(product(u * s[None], vh) - x) <= 200 * unit * np.abs(x).max()).all()
    assert (np.diff(s, axis=0) <= 0).all()


def test_randomized_values_approach_the_exact_ones_and_follow_from_the_seed() -> None:
    left, right = (np.linalg.qr(numbers("float64", 60, side))[0] for side in (40, 41))
    x = tr.asarray(left @ np.diag(0.7 ** np.arange(40)) @ right[:, :40].T)
    first, again = tl.randomized_svd(x, 4, seed=3), tl.randomized_svd(x, 4, seed=3)
    other = tl.randomized_svd(x, 4, seed=4, oversampling=2, iterations=0)

    assert (first.s.to_numpy() == again.s.to_numpy()).all()
    assert (first.u.to_numpy() == again.u.to_numpy()).all()
    assert np.allclose(first.s.to_numpy(), 0.7 ** np.arange(4), rtol=1e-6)
    assert not np.allclose(other.s.to_numpy(), 0.7 ** np.arange(4), rtol=1e-6)
    assert np.allclose(other.s.to_numpy(), 0.7 ** np.arange(4), rtol=0.5)


@EACH_DTYPE
def test_randomized_eigh_takes_the_largest_magnitudes_in_ascending_order(dtype: str) -> None:
    q = np.linalg.qr(numbers(dtype, 12, 12))[0]
    values = np.array([-9, 8, -7, *([1e-3] * 9)])
    x = (q * values) @ q.conj().T
    w, v = (part.to_numpy() for part in tl.randomized_eigh(tr.asarray(x.astype(dtype)), 3, seed=1))
    unit = float(np.finfo(dtype).eps)

    assert np.allclose(w, [-9, -7, 8], rtol=100 * unit)
    assert np.abs(x @ v - v * w).max() <= 500 * unit
    lower = np.tril(x) + 99 * np.triu(np.ones((12, 12)), 1)
    assert np.allclose(tl.randomized_eigh(tr.asarray(lower.astype(dtype)), 3, seed=1).eigenvalues.to_numpy(), w)


def test_ranks_and_numbers_that_are_none_are_refused() -> None:
    x = tr.ones((3, 2))
    for options in ({"rank": 3}, {"rank": -1}, {"rank": 1, "oversampling": -1}, {"rank": 1, "iterations": -1}):
        with pytest.raises(ArgumentError, match="randomized_svd: rank is"):
            tl.randomized_svd(x, seed=1, **options)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="seed"):
        tl.randomized_svd(x, 1, seed=-1)
    assert tl.randomized_svd(x, 0, seed=1).u.shape == (3, 0)
    assert tl.randomized_svd(tr.zeros((0, 3)), 0, seed=1).vh.shape == (0, 3)
    assert tl.randomized_eigh(tr.zeros((0, 0, 2)), 0, seed=1).eigenvectors.shape == (0, 0, 2)
