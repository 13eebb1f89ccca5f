"""Exponentials of maps times vectors beside SciPy's dense ones: dtypes, long times, stops, errors told."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.linalg

import tensor_linalg as tl
import tensor_runtime as tr
from drawn_matrices import DTYPES, matrix


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("t", [0.3, -2.0, -1.5j, 0.5 + 0.5j, 0.0])
@pytest.mark.parametrize("hermitian", [True, False])
def test_an_exponential_times_vectors_is_what_the_dense_one_gives(dtype: Any, t: complex, hermitian: bool) -> None:
    a = matrix("indefinite" if hermitian else "general", 24, dtype)
    v = tr.normal((24, 2), seed=13, dtype=dtype)
    found = tl.expm_multiply(a, v, t, hermitian=hermitian)
    wanted = scipy.linalg.expm(t * a.to_numpy().astype(complex)) @ v.to_numpy()
    eps = 1.2e-7 if dtype in (tr.F32, tr.C32) else 2.3e-16
    assert found.converged and found.reached == 1 and found.errors.shape == (2,)
    assert np.linalg.norm(found.x.to_numpy() - wanted) <= 4 * eps**0.75 * max(np.linalg.norm(wanted), float(tr.norm(v)))
    assert found.x.dtype is (tr.promote(dtype, tr.C32) if isinstance(t, complex) else dtype)  # type: ignore[redundant-expr]


def test_long_times_are_gone_through_in_parts_and_keep_the_norm() -> None:
    a, v = matrix("indefinite", 60, tr.F64) * 10.0, tr.normal((3, 20), seed=14)

    def function(x: tr.Tensor) -> tr.Tensor:
        assert x.shape == (3, 20)
        return tr.tensordot(a, x.reshape((60,)), axes=1).reshape(x.shape)

    parts: list[float] = []
    found = tl.expm_multiply(
        function, v, -6j, hermitian=True, callback=lambda progress: parts.append(progress.iterations)
    )
    wanted = scipy.linalg.expm(-6j * a.to_numpy()) @ v.to_numpy().reshape(60, order="F")
    assert len(parts) > 1 and found.converged
    np.testing.assert_allclose(found.x.to_numpy().reshape(60, order="F"), wanted, atol=1e-10)
    assert float(tr.norm(found.x)) == pytest.approx(float(tr.norm(v)), rel=1e-12)
    assert np.linalg.norm(found.x.to_numpy().ravel(order="F") - wanted) <= 10 * float(found.errors) + 1e-11


def test_an_exponential_that_is_interrupted_says_how_far_it_came() -> None:
    a, v = matrix("indefinite", 60, tr.F64) * 10.0, tr.normal((60,), seed=14)

    def interrupting(progress: tl.Progress) -> None:
        raise KeyboardInterrupt

    found = tl.expm_multiply(a, v, 6.0, callback=interrupting)
    assert found.interrupted and not found.converged and 0 < found.reached < 1
    wanted = scipy.linalg.expm(6.0 * found.reached * a.to_numpy()) @ v.to_numpy()
    np.testing.assert_allclose(found.x.to_numpy(), wanted, rtol=1e-9, atol=1e-9 * float(np.linalg.norm(wanted)))


@pytest.mark.parametrize("link", [1e1, 1e2, 1e3, 1e6])
def test_the_error_of_an_exponential_counts_what_rounding_does_to_a_map_far_from_normal(link: float) -> None:
    """The exponential of [[1, c], [0, 1]] is e times it; a rounding unit of c moves its eigenvalues far."""
    v = np.array([1.0, 0.3])
    found = tl.expm_multiply(tr.tensor([[1.0, link], [0.0, 1.0]]), tr.tensor(v.tolist()))
    missed = np.linalg.norm(found.x.to_numpy() - np.e * np.array([v[0] + link * v[1], v[1]]))
    if link <= 1e3:
        assert missed <= float(found.errors) <= 1e-8 * link
    else:  # no digit is sure, and the error says so, though what the space leaves out is nothing
        assert float(found.errors) > 1e-5 * float(tr.norm(found.x))


@pytest.mark.parametrize("dtype", [tr.F32, tr.F64], ids=str)
@pytest.mark.parametrize("hermitian", [True, False])
def test_an_exponential_without_tolerance_is_exact_to_rounding_or_says_that_it_is_not(
    hermitian: bool, dtype: Any
) -> None:
    a, v = matrix("indefinite" if hermitian else "general", 60, tr.F64), tr.normal((60,), seed=15)
    found = tl.expm_multiply(
        tr.cast(a, dtype), tr.cast(v, dtype), 2.0, hermitian=hermitian, tol=0.0, basis=10, maxiter=400
    )
    wanted = scipy.linalg.expm(2.0 * found.reached * a.to_numpy()) @ v.to_numpy()
    error = np.linalg.norm(found.x.to_numpy() - wanted) / np.linalg.norm(wanted)
    assert error <= (1e-4 if dtype is tr.F32 else 1e-12)
    assert found.converged == (found.reached == 1)
    assert found.converged or hermitian or dtype is tr.F32


@pytest.mark.parametrize("dtype", [tr.F32, tr.C32], ids=str)
@pytest.mark.parametrize("hermitian", [True, False])
def test_growth_near_the_end_of_the_range_is_told_with_a_finite_error(dtype: Any, hermitian: bool) -> None:
    a = tr.embed_diagonal(tr.tensor([1.0, 2.0, 29.5], dtype=dtype))
    found = tl.expm_multiply(a, tr.full(3, 1e-20, dtype=dtype), 3.0, hermitian=hermitian)

    largest = 1e-20 * np.exp(88.5)
    assert found.converged
    assert abs(found.x.to_numpy()[2] - largest) <= float(found.errors) <= 1e-4 * largest
