"""A matrix is refused in a batch where it is refused alone, whatever the others are, and has the same factor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensor_linalg as tl
import tensor_runtime as tr
from tensor_runtime.errors import LinalgError

Array = np.ndarray[Any, np.dtype[Any]]
Operation = Callable[..., Any]

COUNT = 12


def solve(a: tr.Tensor, **options: Any) -> Any:
    right = tr.ones((a.shape[0], 2, *a.shape[2:]), dtype=a.dtype)
    return tl.solve(a, right, **options)


def squared_inverse(a: tr.Tensor, **options: Any) -> Any:
    return tl.matrix_power(a, -2, **options)


def nearly_singular(operation: Operation, n: int, dtype: str) -> list[Array]:
    """Matrices of small integers that lack a rank: rounding decides whether a pivot is 0, or is not above 0."""
    rng = np.random.default_rng(n)
    found = []
    for _ in range(COUNT):
        if operation is tl.cholesky:
            factor = rng.integers(-2, 3, (n, n - 1)) + (1j * rng.integers(-2, 3, (n, n - 1)) if dtype[0] == "C" else 0)
            found.append(factor @ factor.conj().T)
        else:
            matrix = rng.integers(-2, 3, (n, n)) * 1.0
            matrix[:, 1] = 2 * matrix[:, 0] - matrix[:, -1]
            found.append(matrix)
    return found


def is_refused(operation: Operation, matrix: Array, dtype: str) -> bool:
    try:
        operation(tr.tensor(matrix.tolist(), dtype=dtype))
    except LinalgError:
        return True
    return False


@pytest.mark.parametrize("dtype", ["F32", "F64", "C32", "C64"])
@pytest.mark.parametrize("n", [3, 4, 9, 17, 40, 64, 66, 80])
@pytest.mark.parametrize("operation", [tl.cholesky, tl.inv, solve, squared_inverse])
def test_what_is_refused_does_not_depend_on_the_others(operation: Operation, n: int, dtype: str) -> None:
    matrices = nearly_singular(operation, n, dtype)
    alone = [is_refused(operation, matrix, dtype) for matrix in matrices]
    bad = -np.eye(n) if operation is tl.cholesky else np.zeros((n, n))
    batch = tr.tensor(np.stack([*matrices, bad], axis=-1).tolist(), dtype=dtype)
    assert operation(batch, check="mask").status.tolist() == [2 * refused for refused in (*alone, True)]
    with pytest.raises(LinalgError) as raised:
        operation(batch)
    assert raised.value.batch_index == ([*alone, True].index(True),)


@pytest.mark.parametrize("n", [7, 12, 30, 64])
@pytest.mark.parametrize("dtype", ["F64", "C64"])
def test_zeros_of_a_factor_have_the_same_sign_alone_and_in_a_batch(n: int, dtype: str) -> None:
    rng = np.random.default_rng(n)
    a = np.eye(n)
    a[3, 3], a[4, 4] = 1.5e277, 1.5e274
    a[4:, 3] = a[3, 4:] = -rng.random(n - 4)
    if dtype == "C64":
        a = a + 0j
    alone = tl.cholesky(tr.asarray(a)).to_numpy()
    assert np.signbit(alone.real[6, 4])
    for others in (1, 2, 5):
        batch = tr.asarray(np.stack([a, *[np.eye(n) + 0 * a] * others], axis=-1))
        assert tl.cholesky(batch).to_numpy()[..., 0].tobytes() == alone.tobytes()


@pytest.mark.parametrize("n", [60, 66])
@pytest.mark.parametrize(
    ("of_a", "of_b", "bad", "index"),
    [
        ((2,), (3, 2), (1,), (1,)),
        ((2,), (2, 2), (0,), (0,)),
        ((2, 1), (1, 3), (1, 0), (1, 0)),
        ((2, 3), (3,), (1, 2), (1, 2)),
        ((1, 3), (2, 1), (0, 2), (0, 2)),
    ],
)
def test_the_matrix_of_a_broadcast_batch_is_named_where_it_is(
    n: int, of_a: tuple[int, ...], of_b: tuple[int, ...], bad: tuple[int, ...], index: tuple[int, ...]
) -> None:
    rng = np.random.default_rng(n)
    a, b = rng.standard_normal((n, n, *of_a)), rng.standard_normal((n, 2, *of_b))
    a[(slice(None), slice(None), *bad)] = 0.0
    with pytest.raises(tl.SingularMatrixError) as raised:
        tl.solve(tr.asarray(a), tr.asarray(b))
    assert raised.value.batch_index == index
