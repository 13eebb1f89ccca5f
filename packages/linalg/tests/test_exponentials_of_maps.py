"""Exponentials of maps times vectors beside SciPy's dense ones: dtypes, long times, stops, errors told."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.linalg

import tensor_linalg as tl
import tensor_runtime as tr
from drawn_matrices import DTYPES, matrix
from tensor_core.errors import ArgumentError


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


def of_triangle(a: list[list[float]], v: list[float], dtype: Any) -> tuple[Any, Any]:
    """What is found for [[p, x], [0, q]], and the exponential by its closed form; None where it is refused."""
    m, start = tr.cast(tr.tensor(a), dtype), tr.cast(tr.tensor(v), dtype)
    (p, x), (_, q) = m.to_numpy().astype(float).tolist()
    first, second = start.to_numpy().astype(float).tolist()
    slope = np.exp(q) * (np.expm1(p - q) / (p - q) if p != q else 1.0)
    wanted = np.array([np.exp(p) * first + x * slope * second, np.exp(q) * second])
    try:
        return tl.expm_multiply(m, start), wanted
    except ArgumentError as error:
        assert "no digit of the exponential is sure" in str(error)
        return None, wanted


@pytest.mark.parametrize(
    ("a", "dtype"),
    [
        ([[0.0, 1e12], [0.0, 0.0]], tr.F64),
        ([[-1.0, 1e100], [0.0, -2.0]], tr.F64),
        ([[-1e17, 0.0], [0.0, -1.0]], tr.F64),
        ([[-1e10, 0.0], [0.0, -1.0]], tr.F32),
        ([[0.0, 1e4], [0.0, 0.0]], tr.F32),
    ],
)
def test_an_exponential_that_rounding_has_spoiled_has_not_converged(a: list[list[float]], dtype: Any) -> None:
    found, _ = of_triangle(a, [1.0, 2.0], dtype)
    assert found is None or (not found.converged and float(found.errors) == np.inf)


@pytest.mark.parametrize(("dtype", "lengths"), [(tr.F64, (1e3, 1e15)), (tr.F32, (1e1, 1e7))], ids=["F64", "F32"])
def test_an_exponential_far_from_normal_is_right_where_it_has_converged(
    dtype: Any, lengths: tuple[float, float]
) -> None:
    rng, converged = np.random.default_rng(21), 0
    for link in np.geomspace(*lengths, 100):
        for p, q in ((0.0, 0.0), -3.0 * rng.random(2)):
            found, wanted = of_triangle([[p, float(link)], [0.0, q]], rng.normal(size=2).tolist(), dtype)
            if found is not None and found.converged:
                missed = float(np.linalg.norm(found.x.to_numpy() - wanted))
                assert missed <= 3 * float(found.errors) and missed <= 0.5 * np.linalg.norm(wanted), link
                converged += 1
    assert converged > 40


@pytest.mark.parametrize("link", [1e3, 1e6, 1e8])
def test_a_space_that_rounding_would_spoil_goes_through_shorter_parts(link: float) -> None:
    a = np.kron(np.eye(20), [[-1.0, link], [0.0, -2.0]]) + np.diag(np.linspace(0.0, 1.0, 40))
    v = tr.normal((40,), seed=16)
    found = tl.expm_multiply(tr.tensor(a), v, basis=12)
    wanted = scipy.linalg.expm(a) @ v.to_numpy()
    missed = float(np.linalg.norm(found.x.to_numpy() - wanted))
    assert found.reached == 1 and missed <= 0.5 * np.linalg.norm(wanted) and missed <= 3 * float(found.errors)
    assert found.converged == (link < 1e8) and (found.iterations > 12) == (link == 1e8)


@pytest.mark.parametrize("dtype", [tr.F32, tr.C32], ids=str)
def test_long_times_of_low_precision_leave_out_no_large_share(dtype: Any) -> None:
    """So long that a few rounding units of t A are much of a vector."""
    a, v = tr.cast(matrix("indefinite", 12, tr.F64) * 1e6, dtype), tr.cast(tr.normal((12,), seed=17), dtype)
    found = tl.expm_multiply(a, v, -1j, hermitian=True)
    values, vectors = np.linalg.eigh(a.to_numpy().astype(complex))
    wanted = vectors @ (np.exp(-1j * values) * (vectors.conj().T @ v.to_numpy()))
    assert not found.converged or np.linalg.norm(found.x.to_numpy() - wanted) <= 0.5 * np.linalg.norm(wanted)


def test_a_stiff_exponential_keeps_what_its_norm_leaves() -> None:
    found, wanted = of_triangle([[-1e10, 0.0], [0.0, -1.0]], [1.0, 2.0], tr.F64)
    assert found.converged
    np.testing.assert_allclose(found.x.to_numpy(), wanted, atol=float(found.errors))


def test_a_space_that_is_the_whole_one_is_told_to_the_callback_too() -> None:
    told: list[tl.Progress] = []
    found = tl.expm_multiply(tr.tensor([[0.0, 1.0], [-1.0, 0.0]]), tr.tensor([1.0, 0.0]), callback=told.append)
    assert found.converged and [one.iterations for one in told] == [found.iterations]
    assert float(told[0].residuals) == float(found.errors)
    parts: list[tl.Progress] = []
    a, v = matrix("indefinite", 60, tr.F64) * 10.0, tr.normal((60,), seed=14)
    found = tl.expm_multiply(a, v, -6j, hermitian=True, callback=parts.append)
    assert parts[-1].iterations == found.iterations and float(parts[-1].residuals) == float(found.errors)


def test_a_time_that_is_too_long_for_low_precision_is_refused_by_the_units_of_that() -> None:
    a = tr.tensor(np.diag(np.arange(1.0, 6.0, dtype=np.float32)))
    with pytest.raises(ArgumentError, match=r"t times the operator has a norm of .* at most 8\.39e\+06"):
        tl.expm_multiply(a, tr.ones(5, dtype="F32"), 2.0**70, hermitian=True)


@pytest.mark.parametrize("hermitian", [False, True])
@pytest.mark.parametrize("t", [1.0, 1j, 0.5 - 2j])
@pytest.mark.parametrize(
    ("dtype", "scale"), [("F64", 1e-306), ("C64", 1e-310), ("C64", 5e-324), ("C32", 1e-38), ("F32", 1e-42)]
)
def test_a_map_of_the_least_numbers_moves_nothing(dtype: str, scale: float, t: complex, hermitian: bool) -> None:
    for n, columns in ((1, ()), (2, ()), (9, (3,))):
        a = tr.cast(tr.tensor(np.diag(np.linspace(1.0, 2.0, n)) * scale + (np.ones((n, n)) - np.eye(n)) * scale), dtype)
        v = tr.normal((n, *columns), seed=1)
        found = tl.expm_multiply(a, v, t, hermitian=hermitian)
        assert found.converged and found.iterations <= n
        np.testing.assert_allclose(found.x.to_numpy(), v.to_numpy(), atol=1e-14 if dtype[1:] == "64" else 1e-5)


def test_long_times_of_a_map_of_the_least_numbers_move_as_much_as_any() -> None:
    a = np.array([[1.0, 2.0], [2.0, -1.0]])
    for t in (1e300, 1e300j):
        found = tl.expm_multiply(tr.tensor(a * 1e-300), tr.ones(2), t, hermitian=True)
        w, q = np.linalg.eigh(a)
        wanted = q @ (np.exp(w * (t / 1e300)) * (q.T @ np.ones(2)))
        assert found.converged
        np.testing.assert_allclose(found.x.to_numpy(), wanted, rtol=1e-12)
