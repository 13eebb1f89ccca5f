"""Numbers of other libraries as parameters, and errors that name the operation."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import tensor_linalg as tl
import tensor_runtime as tr
from tensor_core import ArgumentError, ShapeError, TensorError
from tensor_linalg.quimb_table import QUIMB
from tensor_runtime.errors import ForeignOperandError

A = tr.asarray(np.diag([4.0, 3.0, 2.0, 1.0]) + 0.125)
B = tr.asarray(np.array([1.0, 2.0, 3.0, 4.0]))
HALVES = (np.float32(0.5), np.float64(0.5), np.array(0.5), tr.tensor(0.5), Fraction(1, 2))
TWOS = (np.int64(2), np.int32(2), np.array(2), tr.tensor(2))
NUMBERS: dict[str, Callable[[Any], Any]] = {
    "cutoff": lambda x: tl.svd_truncated(A, cutoff=x).s,
    "split's cutoff": lambda x: tl.split(A, 0, cutoff=x, norm=1).left,
    "rtol of pinv": lambda x: tl.pinv(A, rtol=x),
    "rtol of matrix_rank": lambda x: tl.matrix_rank(A, rtol=x),
    "rtol of lstsq": lambda x: tl.lstsq(A, B, rtol=x).solution,
    "rtol of qr_pivoted": lambda x: tl.qr_pivoted(A, rtol=x).rank,
    "tol": lambda x: tl.cg(A, B, tol=x).x,
    "shift": lambda x: tl.minres(A, B, shift=x).x,
    "damp": lambda x: tl.lsmr(A, B, damp=x).x,
    "sigma": lambda x: tl.eigsh(A, B, k=1, sigma=x).eigenvalues,
    "t": lambda x: tl.expm_multiply(A, B, x).x,
    "subset_by_value": lambda x: tl.eigh(A, subset_by_value=(x, 3.5)).eigenvalues,
}
COUNTS: dict[str, Callable[[Any], Any]] = {
    "max_rank": lambda x: tl.svd_truncated(A, max_rank=x).s,
    "k": lambda x: tl.eigsh(A, B, k=x).eigenvalues,
    "rank": lambda x: tl.randomized_svd(A, x, seed=0).s,
    "n": lambda x: tl.matrix_power(A, x),
    "columns": lambda x: tl.vander(B, x),
    "restart": lambda x: tl.gmres(A, B, restart=x).x,
    "order": lambda x: tl.matrix_norm(A, x),
    "order of vectors": lambda x: tl.vector_norm(B, x),
    "p": lambda x: tl.cond(A, x),
    "norm": lambda x: tl.svd_truncated(A, cutoff=0.5, norm=x).s,
    "subset_by_index": lambda x: tl.eigh(A, subset_by_index=(x, 3)).eigenvalues,
    "offset": lambda x: tl.trace(A, x),
}


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("value", HALVES, ids=repr)
def test_a_number_of_another_library_counts_as_the_one_that_it_equals(name: str, value: Any) -> None:
    assert NUMBERS[name](value).to_numpy().tolist() == NUMBERS[name](0.5).to_numpy().tolist()


@pytest.mark.parametrize("name", COUNTS)
@pytest.mark.parametrize("value", TWOS, ids=repr)
def test_so_does_a_whole_one(name: str, value: Any) -> None:
    assert COUNTS[name](value).to_numpy().tolist() == COUNTS[name](2).to_numpy().tolist()


def test_complex_times_come_from_other_libraries_too() -> None:
    expected = tl.expm_multiply(A, B, 0.5j).x.to_numpy().tolist()
    assert tl.expm_multiply(A, B, np.complex128(0.5j)).x.to_numpy().tolist() == expected


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("value", ["0.5", np.array([0.5]), np.bool_(True), float("nan"), object()], ids=repr)
def test_what_is_no_number_is_refused_with_the_name_of_the_operation(name: str, value: Any) -> None:
    with pytest.raises(TensorError) as refusal:
        NUMBERS[name](value)
    operation = str(refusal.value).partition(":")[0]
    assert getattr(tl, operation)
    assert vars(refusal.value).get("operation", operation) == operation


@pytest.mark.parametrize(
    ("operation", "call"),
    [
        ("split", lambda: tl.split(A, 0, absorb="middle")),
        ("split", lambda: tl.split(A, 0, method="qr", max_rank=2)),
        ("split", lambda: tl.split(A, 0, positive=True)),
        ("split", lambda: tl.split(A, None)),
        ("split", lambda: tl.split(A, 0, 0)),
        ("split", lambda: tl.split(A, 0, max_rank=0)),
        ("svd_truncated", lambda: tl.svd_truncated(A, max_rank=0)),
        ("svd_truncated", lambda: tl.svd_truncated(A, norm=3)),
        ("eigh", lambda: tl.eigh(A, subset_by_index=(0, 1), subset_by_value=(0.0, 1.0))),
        ("cg", lambda: tl.cg(A, B, callback=3)),  # type: ignore[arg-type]
        ("lsmr", lambda: tl.lsmr(lambda x: x, B)),
        ("rsvd", lambda: QUIMB["rsvd"](A, cutoff_mode=9)),
        ("svd_via_eig_truncated", lambda: QUIMB["svd_via_eig_truncated"](A, absorb=9)),
    ],
)
def test_a_refused_argument_names_its_operation(operation: str, call: Callable[[], Any]) -> None:
    try:
        call()
    except TypeError as error:
        if not isinstance(error, TensorError):
            raise
    except ArgumentError as error:
        assert vars(error)["operation"] == operation
        assert str(error).startswith(f"{operation}: ")
        assert "accepted" in str(error)
        return
    pytest.fail("nothing was refused")


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("cho_solve", lambda: tl.cho_solve(tr.zeros((0, 0)), tr.ones(2))),
        ("cho_solve", lambda: tl.cho_solve(tr.eye(2), tr.ones(2, dtype="Bool"))),
        ("svd_truncated", lambda: tl.svd_truncated(tr.ones((2, 2), dtype="Bool"), max_rank=1)),
        ("svd_truncated", lambda: tl.svd_truncated(tr.ones(2), max_rank=1)),
        ("eigh", lambda: tl.eigh(tr.zeros((2, 2, 2)), tr.zeros((2, 2, 3)))),
        ("vector_norm", lambda: tl.vector_norm(tr.ones(2), "")),  # type: ignore[call-overload]
        ("split", lambda: tl.split(tr.ones((2, 2)), [0], batch_axes=None)),  # type: ignore[arg-type]
        ("vander", lambda: tl.vander(tr.tensor([True]))),
        ("matrix_power", lambda: tl.matrix_power(tr.eye(2, dtype="I64"), -1)),
        ("randomized_svd", lambda: tl.randomized_svd(A, 1, seed=-1)),
        ("randomized_eigh", lambda: tl.randomized_eigh(A, 1, seed=None)),  # type: ignore[call-overload]
        ("eigsh", lambda: tl.eigsh(A, seed=2**64)),
        ("svds", lambda: tl.svds(A, B, seed=0.5)),  # type: ignore[arg-type]
        ("eigs", lambda: tl.eigs(A, B, seed="1")),  # type: ignore[arg-type]
        ("vector_norm", lambda: tl.vector_norm(B, 1j)),  # type: ignore[arg-type]
        ("norm", lambda: tl.norm(B, float("nan"))),
        ("norm", lambda: tl.norm(B, 10**400)),
        ("norm", lambda: tl.norm(A, 3)),
        ("norm", lambda: tl.norm(A, 3, check="mask")),
        ("norm", lambda: tl.norm(tr.tensor(1.0))),
        ("norm", lambda: tl.norm(tr.tensor(1.0), 2, check="mask")),
        ("norm", lambda: tl.norm(tr.eye(2, dtype="I64"), "nuc")),
        ("norm", lambda: tl.norm(tr.eye(2, dtype="I64"), "nuc", check="mask")),
        ("norm", lambda: tl.norm(A, out=B)),
        ("norm", lambda: tl.norm(A, 1, out=B)),
        ("norm", lambda: tl.norm(B, 1, out=B)),
        ("norm", lambda: tl.norm(B[:0], -float("inf"))),
        ("matrix_norm", lambda: tl.matrix_norm(A, out=B)),
        ("vector_norm", lambda: tl.vector_norm(tr.ones((0, 2)), -float("inf"))),
        ("diagonal", lambda: tl.diagonal(A, 1.5)),  # type: ignore[arg-type]
        ("svds", lambda: tl.svds(A, adjoint=B)),
        ("solve_banded", lambda: tl.solve_banded(tr.tensor(1), A, B)),  # type: ignore[arg-type]
        ("eigh", lambda: tl.eigh(A, subset_by_value=tr.tensor(1.0))),  # type: ignore[call-overload]
    ],
)
def test_errors_bear_the_name_of_what_was_called_and_not_of_what_it_calls(name: str, call: Any) -> None:
    with pytest.raises(TensorError, match=f"^{name}: ") as caught:
        call()
    assert vars(caught.value)["operation"] == name


NANS = tr.full((2, 2), float("nan"))


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("sqrtm", lambda: tl.sqrtm(tr.convert(NANS, "C64"), check=False)),
        ("orth", lambda: tl.orth(NANS, check=False)),
        ("null_space", lambda: tl.null_space(NANS, check=False)),
        ("matrix_norm", lambda: tl.matrix_norm(NANS, "nuc", check=False)),
        ("norm", lambda: tl.norm(NANS, "nuc", check=False)),
        ("norm", lambda: tl.norm(NANS, 2)),
        ("eigsh", lambda: tl.eigsh(NANS, tr.ones(2), k=1, sigma=0.5)),
    ],
)
def test_errors_of_values_bear_the_name_of_what_was_called(name: str, call: Any) -> None:
    with pytest.raises(tl.LinalgError, match=f"^{name}: ") as caught:
        call()
    assert vars(caught.value)["operation"] == name


def test_a_scalar_is_told_that_norms_take_vectors_too() -> None:
    with pytest.raises(ShapeError, match=r"^norm: a scalar; accepted: a vector \[N\], or matrices \[M, N, B...\]$"):
        tl.norm(tr.tensor(1.0))


@pytest.mark.parametrize("wrong", [np.eye(4), [[1.0, 0.0], [0.0, 1.0]], "A"], ids=["array", "lists", "text"])
@pytest.mark.parametrize("name", ["eigsh", "eigs", "svds"])
def test_an_operator_that_is_an_array_is_told_to_become_a_tensor(name: str, wrong: Any) -> None:
    kinds = f"{name}: the operator is a {type(wrong).__name__}; accepted: a function .*, or a tensor .*asarray"
    error = ForeignOperandError if isinstance(wrong, np.ndarray) else ArgumentError
    for call in (lambda f: f(wrong), lambda f: f(wrong, B)):
        with pytest.raises(error, match=kinds):
            call(getattr(tl, name))
    with pytest.raises(error, match="eigsh: the operator is a"):
        tl.eigsh(wrong, B, sigma=0.5)


@pytest.mark.parametrize("name", ["eig", "eigvals", "schur"])
@pytest.mark.parametrize("size", [3, 70])
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
def test_what_is_not_finite_ends_no_process_and_keeps_no_iteration_going(
    name: str, size: int, dtype: str, value: float
) -> None:
    one = np.eye(size, dtype=dtype)
    one[0, 1] = value
    for matrix in (one, np.full((size, size), value, dtype)):
        for given in (matrix, np.stack([np.eye(size, dtype=dtype), matrix], -1)):
            with pytest.raises(tl.NotConvergedError, match=f"^{name}: "):
                getattr(tl, name)(tr.asarray(np.asfortranarray(given)), check=False)
