"""Roots and logarithms of matrices of more than 64 rows, of which triangles and Hermitian ones are told apart."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.linalg

import tensor_linalg as tl
import tensor_runtime as tr

Array = np.ndarray[Any, np.dtype[Any]]


def _large(kind: str, dtype: str, size: int = 70) -> Array:
    rng = np.random.default_rng(7)
    a = rng.normal(size=(size, size)) + (1j * rng.normal(size=(size, size)) if dtype == "complex128" else 0.0)
    if kind == "triangle":
        return np.triu(a) / size + np.diag(rng.uniform(1, 3, size))
    q = np.linalg.qr(a)[0]
    values = {"hermitian": np.linspace(1, 3, size), "of poor condition": np.logspace(0, -10, size)}
    found = q * values.get(kind, 1 + np.linspace(-1e-3, 1e-3, size)) @ q.conj().T
    return (found + found.conj().T) / 2  # type: ignore[no-any-return]


LARGE = "triangle", "hermitian", "of poor condition", "near the identity"


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("kind", LARGE)
def test_large_triangles_and_hermitian_matrices_have_scipys_roots_and_logarithms(kind: str, dtype: str) -> None:
    a = _large(kind, dtype)
    error = 1e-5 if kind == "of poor condition" else 1e-11  # the condition is 1e10
    for function, theirs in ((tl.sqrtm, scipy.linalg.sqrtm), (tl.logm, scipy.linalg.logm)):
        found = function(tr.asarray(a)).to_numpy()
        assert found.dtype == a.dtype
        np.testing.assert_allclose(found, theirs(a), rtol=0, atol=error)
        if kind == "triangle":
            assert not np.tril(found, -1).any()


@pytest.mark.parametrize("power", [1, 3, 7])
def test_logarithms_of_large_graded_matrices_keep_their_digits(power: int) -> None:
    size, half = 66, 33
    diagonal = np.logspace(0, power, size)
    a, expected = np.diag(diagonal), np.zeros((size, size))
    for i in range(half):  # blocks of two rows, whose logarithms have a closed form
        j = i + half
        a[i, j] = a[j, i] = 0.3 * np.sqrt(diagonal[i] * diagonal[j])
        block = a[np.ix_([i, j], [i, j])].astype(np.longdouble)
        middle, apart = (block[0, 0] + block[1, 1]) / 2, (block[1, 1] - block[0, 0]) / 2
        radius = np.sqrt(apart * apart + block[0, 1] ** 2)
        above = middle + radius
        below = (block[0, 0] * block[1, 1] - block[0, 1] ** 2) / above
        slope = (np.log(above) - np.log(below)) / (above - below)
        expected[np.ix_([i, j], [i, j])] = np.log(below) * np.eye(2) + slope * (block - below * np.eye(2))
    assert np.abs(tl.logm(tr.asarray(a)).to_numpy() - expected).max() < 1e-12


@pytest.mark.parametrize("kind", LARGE[:2])
def test_what_a_large_matrix_is_changes_no_bit_of_another(kind: str) -> None:
    a, general = _large(kind, "float64"), np.random.default_rng(1).normal(size=(70, 70)) / 70 + 2 * np.eye(70)
    for function in (tl.sqrtm, tl.logm) if kind == "triangle" else (tl.logm,):
        alone = function(tr.asarray(a)).to_numpy()
        for batch in ([a, general], [general, a], [general, a, a, general, a]):
            found = function(tr.asarray(np.stack(batch, -1))).to_numpy()
            for k, one in enumerate(batch):
                if one is a:
                    assert np.array_equal(found[..., k], alone)
                else:
                    np.testing.assert_allclose(found[..., k], function(tr.asarray(general)).to_numpy(), atol=1e-12)


def test_large_matrices_without_roots_are_named_beside_those_that_have_them() -> None:
    a, negative = _large("hermitian", "float64"), _large("hermitian", "float64") - 2 * np.eye(70)
    below, flat = _large("triangle", "float64"), np.triu(np.ones((70, 70)))
    below[3, 3] = -1.0
    batch = tr.asarray(np.stack([a, below, _large("triangle", "float64"), negative], -1))
    for function in (tl.sqrtm, tl.logm):
        with pytest.raises(tl.NotConvergedError, match=r"the matrix at batch index \([13],\)"):
            function(batch)
        assert function(batch, check="mask").status.tolist() == [0, 2, 0, 2]
    turned = tl.logm(tr.asarray(negative.astype(complex))).to_numpy()  # the imaginary part is π on negative eigenvalues
    assert abs(np.trace(turned).imag / np.pi - (np.linalg.eigvalsh(negative) < 0).sum()) < 1e-9
    root = tl.sqrtm(tr.asarray(flat)).to_numpy()
    assert np.allclose(root @ root, flat, rtol=0, atol=1e-12)
