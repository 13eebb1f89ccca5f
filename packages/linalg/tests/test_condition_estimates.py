"""Condition numbers by estimate: bounds, warnings on request alone, and what they are asked of."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

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


SOLVERS: dict[str, Callable[..., tr.Tensor]] = {
    "solve": lambda a, **o: tl.solve(tr.asarray(a), column(a), **o),
    "inv": lambda a, **o: tl.inv(tr.asarray(a), **o),
    "lu_solve": lambda a, **o: tl.lu_solve(tl.lu_factor(tr.asarray(a)), column(a), **o),
    "transposed lu_solve": lambda a, **o: tl.lu_solve(tl.lu_factor(tr.asarray(a)), column(a), transpose=True, **o),
    "triangular_solve": lambda a, **o: tl.triangular_solve(tl.qr(tr.asarray(a)).r, column(a), **o),
    "lower triangular_solve": lambda a, **o: tl.triangular_solve(
        tl.lq(tr.asarray(a)).l, column(a), lower=True, adjoint=True, **o
    ),
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


def test_a_condition_is_a_flag() -> None:
    for name in ("triangular_solve", "cho_solve", "lu_solve"):
        with pytest.raises(ArgumentError, match=f"{name}: condition is 2"):
            SOLVERS[name](FINE, condition=2)
