"""Condition numbers by estimate: bounds, warnings on request alone, and what they are asked of."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.linalg

import tensor_linalg as tl
import tensor_runtime as tr
from tensor_core import ArgumentError
from tensor_linalg.solving import condition as estimates
from tensor_linalg.solving.condition import estimated_one_norm

HILBERT = 1 / (np.arange(14)[:, None] + np.arange(14) + 1)
STEEP = np.diag(10.0 ** -np.arange(11))
FINE = np.diag(np.arange(1.0, 12.0)) + 0.01


def column(a: np.ndarray[Any, Any]) -> tr.Tensor:
    return tr.ones((a.shape[0], 1))


def bands(a: np.ndarray[Any, Any]) -> tr.Tensor:
    """The diagonals of a matrix, and what is not to be read beside them."""
    size = len(a)
    found = np.full((27, size), 1e9)
    for (i, j), element in np.ndenumerate(a):
        found[13 + i - j, j] = element
    return tr.asarray(found)


def definite(a: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """A matrix that is as hopeless as the Hilbert matrix, of which rounding leaves no definite one, for that one."""
    return np.diag(10.0 ** -np.linspace(0, 19, len(a))) if a is HILBERT else a


def toeplitz(a: np.ndarray[Any, Any]) -> tuple[tr.Tensor, tr.Tensor, tr.Tensor]:
    """A system that is as hopeless as the Hilbert matrix, for that one, and a good one for others."""
    size = 20
    c = np.r_[1.0, np.zeros(size - 1)]
    r = np.r_[7.0, np.full(size - 1, -9.0 if a is HILBERT else -0.01)]  # no zero on its diagonal, and a huge inverse
    return tr.asarray(c), tr.ones((size, 1)), tr.asarray(r)


SOLVERS: dict[str, Callable[..., tr.Tensor]] = {
    "solve": lambda a, **o: tl.solve(tr.asarray(a), column(a), **o),
    "inv": lambda a, **o: tl.inv(tr.asarray(a), **o),
    "lu_solve": lambda a, **o: tl.lu_solve(tl.lu_factor(tr.asarray(a)), column(a), **o),
    "transposed lu_solve": lambda a, **o: tl.lu_solve(tl.lu_factor(tr.asarray(a)), column(a), transpose=True, **o),
    "triangular_solve": lambda a, **o: tl.triangular_solve(tl.qr(tr.asarray(a)).r, column(a), **o),
    "lower triangular_solve": lambda a, **o: tl.triangular_solve(
        tl.lq(tr.asarray(a)).l, column(a), lower=True, adjoint=True, **o
    ),
    "solve_banded": lambda a, **o: tl.solve_banded((13, 13), bands(a), column(a), **o),
    "solve_toeplitz": lambda a, **o: tl.solve_toeplitz(*toeplitz(a), **o),
    "solveh_banded": lambda a, **o: tl.solveh_banded(bands(definite(a))[:14], column(a), **o),
    "lower solveh_banded": lambda a, **o: tl.solveh_banded(bands(definite(a))[13:], column(a), lower=True, **o),
    "tensorsolve": lambda a, **o: tl.tensorsolve(tr.asarray(a), tr.ones(len(a)), **o),
    "tensorinv": lambda a, **o: tl.tensorinv(tr.asarray(a), 1, **o),
    "cho_solve": lambda a, **o: tl.cho_solve(tl.qr(tr.asarray(a)).r, column(a), lower=False, **o),
}


@pytest.mark.parametrize("name", SOLVERS)
def test_a_hopeless_system_is_told_on_request_and_never_by_default(name: str) -> None:
    operation = name.split()[-1]
    SOLVERS[name](HILBERT)  # warnings are errors here
    with pytest.warns(tl.IllConditionedWarning, match=f"{operation}: the matrix has a condition number") as told:
        found = SOLVERS[name](HILBERT, condition=True)
    assert told[0].filename == __file__
    assert found.to_numpy().tolist() == SOLVERS[name](HILBERT).to_numpy().tolist()
    SOLVERS[name](FINE, condition=True)


def test_the_square_of_a_factor_is_what_counts() -> None:
    tl.triangular_solve(tr.asarray(STEEP), column(STEEP), condition=True)
    with pytest.warns(tl.IllConditionedWarning, match=r"about 1\.0e\+20"):
        tl.cho_solve(tr.asarray(STEEP), column(STEEP), condition=True)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("size", [1, 2, 3, 10])
def test_estimates_are_lower_bounds_of_the_right_size(size: int, dtype: str) -> None:
    rng = np.random.default_rng(size)
    a = rng.standard_normal((size, size, 5)) + (1j * rng.standard_normal((size, size, 5)) if dtype[0] == "c" else 0)
    t = tr.asarray(np.asfortranarray(a.astype(dtype)))
    found = estimated_one_norm(
        lambda x: tl.matmul(t, x), lambda x: tl.matmul(tl.mH(t), x), size, (5,), t.dtype, t.placement
    )
    exact = np.abs(a).sum(axis=0).max(axis=0)
    assert found.dtype is t.dtype.component
    assert (found.to_numpy() <= exact * 1.0001).all()
    assert (found.to_numpy() >= exact / 5).all()
    assert np.median(found.to_numpy() / exact) > 0.6


def test_the_matrix_of_a_batch_is_named_and_no_inverse_is_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    columns: list[int] = []

    def counted(apply: Callable[[tr.Tensor], tr.Tensor], adjoint: Any, *facts: Any) -> Any:
        def noted(x: tr.Tensor) -> tr.Tensor:
            columns.append(x.shape[1])
            return apply(x)

        return estimated_one_norm(noted, adjoint, *facts)

    monkeypatch.setattr("tensor_linalg.solving.factored.estimated_one_norm", counted)
    a = np.stack([HILBERT + 3 * np.eye(14), HILBERT, HILBERT + np.eye(14)], -1)
    with pytest.warns(tl.IllConditionedWarning, match=r"solve: the matrix at batch index \(1,\) has a condition"):
        tl.solve(tr.asarray(np.asfortranarray(a)), tr.ones((14, 1, 3)), condition=True)
    assert sum(columns) <= 4  # images of four vectors, and two of adjoints


def test_empty_matrices_have_no_condition() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        empty = tr.zeros((0, 0, 2))
        tl.solve(empty, tr.zeros((0, 1, 2)), condition=True)
        tl.inv(tr.zeros((2, 2, 0)), condition=True)
        tl.triangular_solve(empty, tr.zeros((0, 1, 2)), condition=True)
        tl.lu_solve(tl.lu_factor(empty), tr.zeros((0, 1, 2)), condition=True)


def test_an_inverse_that_overflows_is_told() -> None:
    tiny = tr.asarray(np.diag([1.0, 1e-310]))
    with pytest.warns(tl.IllConditionedWarning):
        tl.triangular_solve(tiny, tr.ones(2), condition=True)
    assert estimates.one_norm(tiny).item() == 1.0


@pytest.mark.parametrize(("dtype", "scale"), [("float64", 1e-310), ("float64", 1e305), ("float32", 1e-40)])
def test_matrices_near_the_limits_of_the_range_are_well_conditioned(dtype: str, scale: float) -> None:
    a, b = tr.asarray((np.eye(3) * scale).astype(dtype)), tr.ones(3, dtype=tr.asarray(np.ones(1, dtype)).dtype)
    half = tr.asarray((np.eye(3) * float(np.sqrt(scale))).astype(dtype))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tl.solve(a, b, condition=True)
        tl.triangular_solve(a, b, condition=True)
        tl.lu_solve(tl.lu_factor(a), b, condition=True)
        tl.cho_solve(half * (0.1 if scale < 1 else 10.0), b, condition=True)
        tl.solve_banded((0, 0), tr.full((1, 3), scale, dtype=a.dtype), b, condition=True)
        tl.solve_toeplitz(a[:, 0], b, condition=True)


def test_a_condition_is_a_flag() -> None:
    for name in ("triangular_solve", "cho_solve", "lu_solve"):
        with pytest.raises(ArgumentError, match=f"{name}: condition is 2"):
            SOLVERS[name](FINE, condition=2)


@pytest.mark.parametrize("dtype", ["float64", "complex64"])
@pytest.mark.parametrize(("lower", "upper", "size"), [(1, 1, 6), (0, 2, 5), (3, 0, 5), (2, 4, 3), (0, 0, 1)])
def test_structured_matrices_have_the_condition_of_what_they_stand_for(
    dtype: str, lower: int, upper: int, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(size)

    def draw(*shape: int) -> Any:
        x = rng.standard_normal(shape) + (1j * rng.standard_normal(shape) if dtype[0] == "c" else 0)
        return np.asfortranarray(x.astype(dtype))

    told: list[np.ndarray[Any, Any]] = []
    for module in ("banded", "toeplitz"):
        monkeypatch.setattr(
            f"tensor_linalg.solving.{module}.warn_if_ill_conditioned",
            lambda operation, norm, inverse: told.append((norm * inverse).to_numpy()),
        )
    ab, c, r = draw(lower + upper + 1, size, 2), draw(size, 2), draw(size, 2)
    ab[upper] += 9
    c[0] += 9
    sides = tr.ones((size, 1, 2), dtype=tr.asarray(c).dtype)
    tl.solve_banded((lower, upper), tr.asarray(ab), sides, condition=True)
    tl.solve_toeplitz(tr.asarray(c), sides, tr.asarray(r), condition=True)
    for place in range(2):
        banded = np.zeros((size, size), dtype)
        for i, j in np.ndindex(size, size):
            if -lower <= j - i <= upper:
                banded[i, j] = ab[upper + i - j, j, place]
        for found, matrix in zip(told, (banded, scipy.linalg.toeplitz(c[:, place], r[:, place])), strict=True):
            exact = np.linalg.cond(matrix, 1)
            assert exact / 3 <= found[place] <= exact * 1.001


def test_structured_systems_tell_a_condition_or_a_status() -> None:
    for call in (
        lambda: tl.solve_banded((0, 0), tr.ones((1, 2)), tr.ones(2), check="mask", condition=True),  # type: ignore[call-overload]
        lambda: tl.solve_toeplitz(tr.ones(1), tr.ones(1), check="mask", condition=True),  # type: ignore[call-overload]
    ):
        with pytest.raises(ArgumentError, match=r"condition=True and check='mask'"):
            call()
