"""Batches in programs: Kalman filters beside NumPy's one by one, and bridges to leading batch axes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensor_linalg as tl
import tensor_runtime as tr
from tensor_core import ArgumentError, ShapeError

Array = np.ndarray[Any, np.dtype[Any]]
FILTERS = 40


def model() -> dict[str, Array]:
    rng = np.random.default_rng(0)
    step = 0.1
    return {
        "f": np.kron(np.array([[1, step, step * step / 2], [0, 1, step], [0, 0, 1]]), np.eye(2)),
        "q": 0.01 * np.eye(6),
        "h": np.eye(2, 6),
        "r": np.array([[0.5, 0.1], [0.1, 0.4]]),
        "x": rng.standard_normal((6, FILTERS)),
        "p": np.stack([np.eye(6) * (1 + k / 10) for k in range(FILTERS)], -1),
        "z": rng.standard_normal((2, FILTERS)),
    }


def one_by_one(f: Array, q: Array, h: Array, r: Array, x: Array, p: Array, z: Array) -> tuple[Array, Array, Array]:
    states, spreads, likelihoods = [], [], []
    for k in range(FILTERS):
        state, spread = f @ x[:, k], f @ p[..., k] @ f.T + q
        innovation, s = z[:, k] - h @ state, h @ spread @ h.T + r
        gain = np.linalg.solve(s, h @ spread).T
        states.append(state + gain @ innovation)
        spreads.append(spread - gain @ h @ spread)
        logarithm = np.linalg.slogdet(2 * np.pi * s).logabsdet
        likelihoods.append(-0.5 * (logarithm + innovation @ np.linalg.solve(s, innovation)))
    return np.stack(states, -1), np.stack(spreads, -1), np.array(likelihoods)


def test_kalman_filters_are_written_without_einsum_and_agree_with_numpys_one_by_one() -> None:
    given = model()
    f, q, h, r, x, p, z = (tr.asarray(one) for one in given.values())

    x, p = tl.matvec(f, x), tl.matmul(tl.matmul(f, p), tl.mT(f)) + q[..., None]
    innovation, hp = z - tl.matvec(h, x), tl.matmul(h, p)
    factor = tl.cholesky(tl.matmul(hp, tl.mT(h)) + r[..., None])
    gain = tl.mT(tl.cho_solve(factor, hp))
    x, p = x + tl.matvec(gain, innovation), p - tl.matmul(gain, hp)
    white = tl.triangular_solve(factor, innovation[:, None], lower=True)[:, 0]
    logarithm = 2.0 * tr.sum(tr.log(tl.diagonal(factor)), 0) + 2.0 * float(np.log(2 * np.pi))
    likelihood = -0.5 * (logarithm + tl.vecdot(white, white))

    for found, expected in zip((x, p, likelihood), one_by_one(**given), strict=True):
        assert found.shape == expected.shape
        assert np.abs(found.to_numpy() - expected).max() < 1e-13 * max(1.0, np.abs(expected).max())


def test_one_filter_that_broke_down_leaves_the_others() -> None:
    s = np.stack([np.eye(2)] * FILTERS, -1)
    s[..., 7] = -1.0
    factor, status = tl.cholesky(tr.asarray(s), check="mask")
    assert np.flatnonzero(status.to_numpy()).tolist() == [7]
    solved = tl.cho_solve(factor, tr.ones((2, 1)), check=False).to_numpy()
    assert np.isnan(solved[..., 7]).all()
    assert np.array_equal(np.delete(solved, 7, -1), np.ones((2, 1, FILTERS - 1)))


@pytest.mark.parametrize("n", [0, 1, 2, 3, 4])
def test_bridges_move_batch_axes_in_their_order_and_copy_nothing(n: int) -> None:
    array = np.arange(2 * 3 * 4 * 5).reshape(2, 3, 4, 5)
    x = tr.asarray(array)
    first = tl.batch_first(x, n)

    assert np.array_equal(first.to_numpy(), np.moveaxis(array, range(4 - n, 4), range(n)))
    assert np.array_equal(tl.batch_last(first, n).to_numpy(), array)
    assert np.shares_memory(first.to_numpy(), x.to_numpy())


def test_a_bridge_refuses_more_batch_axes_than_there_are() -> None:
    for bridge in (tl.batch_first, tl.batch_last):
        with pytest.raises(ShapeError, match=r"3 batch axes of shape \(2, 2\); accepted: 0 to 2"):
            bridge(tr.ones((2, 2)), 3)
        with pytest.raises(ShapeError, match="-1 batch axes"):
            bridge(tr.ones((2, 2)), -1)
        with pytest.raises(ArgumentError, match=r"n is 1\.5"):
            bridge(tr.ones((2, 2)), 1.5)  # type: ignore[arg-type]
