"""The kernel "triangular_solve": residuals within the bound of substitution, any layout, one triangle read."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

import tensor_runtime as tr
from tensor_runtime.primitives import triangular_solve

DTYPES = ["float32", "float64", "complex64", "complex128"]


def numbers(shape: tuple[int, ...], dtype: str) -> Any:
    rng = np.random.default_rng(7)
    x = rng.normal(size=shape)
    return (x + 1j * rng.normal(size=shape) if dtype.startswith("complex") else x).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("lower", "transpose", "conjugate", "unit"), [*product([False, True], repeat=4)])
def test_each_column_solves_a_system_near_the_given_one(
    dtype: str, lower: bool, transpose: bool, conjugate: bool, unit: bool
) -> None:
    size, columns = 70, 5
    a, b = numbers((size, size), dtype) / 8 + 2 * np.eye(size, dtype=dtype), numbers((size, columns), dtype)
    x = triangular_solve(
        tr.asarray(a), tr.asarray(b), lower=lower, transpose=transpose, conjugate=conjugate, unit_diagonal=unit
    ).to_numpy()

    read = np.tril(a, -1) if lower else np.triu(a, 1)
    read = read + (np.eye(size) if unit else np.diag(np.diag(a)))
    op = read.T if transpose else read
    op = (op.conj() if conjugate else op).astype("complex128")
    bound = 2 * size * np.finfo(dtype).eps * (abs(op) @ abs(x))
    assert (abs(op @ x - b) <= bound).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_views_of_a_batch_give_the_bits_of_their_copies(dtype: str) -> None:
    a = tr.transpose(tr.asarray(numbers((3, 4, 4), dtype) + 4 * np.eye(4, dtype=dtype)))[::-1, ::-1]
    b = tr.transpose(tr.asarray(numbers((3, 6, 4), dtype)))[:, ::2]
    options = {"lower": True, "transpose": False, "conjugate": True, "unit_diagonal": False}

    found = triangular_solve(a, b, **options).to_numpy()

    assert found.shape == (4, 3, 3)
    np.testing.assert_array_equal(found, triangular_solve(tr.copy(a), tr.copy(b), **options).to_numpy(), strict=True)


def test_operands_keep_their_elements() -> None:
    a, b = tr.tensor([[2.0, 1.0], [3.0, 4.0]]), tr.tensor([[2.0], [8.0]])
    triangular_solve(a, b, lower=False, transpose=True, conjugate=False, unit_diagonal=False)

    assert a.to_numpy().tolist() == [[2.0, 1.0], [3.0, 4.0]]
    assert b.to_numpy().tolist() == [[2.0], [8.0]]


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("count", [1, 400])
def test_diagonals_near_either_end_of_the_range_are_divided_by(dtype: str, count: int) -> None:
    limits = np.finfo(dtype)
    for extreme in (limits.max * (0.9 + 0.9j), limits.tiny * (0.25 - 0.125j)):
        a = np.zeros((4, 4, count), dtype)
        a[range(4), range(4)] = 1
        b = np.ones((4, 2, count), dtype)
        a[2, 2, -1] = b[2, :, -1] = extreme
        x = triangular_solve(
            tr.asarray(a), tr.asarray(b), lower=True, transpose=False, conjugate=False, unit_diagonal=False
        )
        np.testing.assert_allclose(x.to_numpy(), 1.0, rtol=1e-6)
