"""What all functions do alike with arguments: arrays of other libraries, names of parameters, which have no place."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensor_linalg as tl
import tensor_runtime as tr
from tensor_core import ArgumentError, DTypeError, TensorError
from tensor_runtime.errors import ForeignOperandError

A: Any = np.eye(3)
B: Any = np.ones(3)
T, V = tr.eye(3), tr.ones(3)
FOREIGN: dict[str, Callable[[], Any]] = {
    "svd": lambda: tl.svd(A),
    "svd, mask": lambda: tl.svd(A, check="mask"),
    "eigh": lambda: tl.eigh(T, A),
    "solve": lambda: tl.solve(T, B),
    "split": lambda: tl.split(A, 0, 1),
    **{
        f"{name}, {what}": call
        for name in ("cg", "gmres", "minres")
        for what, call in {
            "a": lambda name=name: getattr(tl, name)(A, V),
            "b": lambda name=name: getattr(tl, name)(T, B),
            "x0": lambda name=name: getattr(tl, name)(T, V, B),
            "image": lambda name=name: getattr(tl, name)(lambda x: x.to_numpy(), V),
        }.items()
    },
    "cg, preconditioner": lambda: tl.cg(T, V, preconditioner=A),
    "lsmr, a": lambda: tl.lsmr(A, V),
    "lsmr, b": lambda: tl.lsmr(T, B),
    "lsmr, adjoint": lambda: tl.lsmr(T, V, adjoint=A),
    "lsmr, image": lambda: tl.lsmr(T, V, adjoint=lambda x: x.to_numpy()),  # type: ignore[arg-type,return-value]
    **{
        f"{name}, {what}": call
        for name in ("eigsh", "eigs", "svds")
        for what, call in {
            "a": lambda name=name: getattr(tl, name)(A),
            "x0": lambda name=name: getattr(tl, name)(T, B),
        }.items()
    },
    "eigsh, solve": lambda: tl.eigsh(lambda x: x, V, sigma=0.5, solve=A),
    "svds, image": lambda: tl.svds(lambda x: x.to_numpy(), V, adjoint=T),  # type: ignore[arg-type,return-value]
    "expm_multiply, a": lambda: tl.expm_multiply(A, V),
    "expm_multiply, v": lambda: tl.expm_multiply(T, B),
    "funm, values": lambda: tl.funm(T, lambda x: x.to_numpy()),  # type: ignore[arg-type,return-value]
}


@pytest.mark.parametrize("name", FOREIGN)
def test_an_array_of_another_library_is_refused_as_such(name: str) -> None:
    with pytest.raises(ForeignOperandError, match=f"^{name.partition(',')[0]}: .*a?ndarray"):
        FOREIGN[name]()


def test_what_is_neither_tensor_nor_function_nor_array_is_a_wrong_argument() -> None:
    wrong: Any = [[1.0]]
    with pytest.raises(ArgumentError, match="cg: the operator is a list"):
        tl.cg(wrong, V)
    with pytest.raises(ArgumentError, match="lsmr: adjoint is a list"):
        tl.lsmr(T, V, adjoint=wrong)


@pytest.mark.parametrize(
    ("call", "kind", "said"),
    [
        (lambda: tl.expm_multiply(T, tr.ones(3, dtype="I64")), DTypeError, "expm_multiply: v is I64"),
        (lambda: tl.expm_multiply(T, V, batch_rank=5), ArgumentError, "batch_rank is 5 for v of rank 1"),
        (lambda: tl.cond(T, 3), ArgumentError, "cond: p is 3"),
        (lambda: tl.matrix_norm(T, 3), ArgumentError, "matrix_norm: ord is 3"),
        (lambda: tl.cg(T, tr.ones(3, dtype="I64")), DTypeError, "cg: b is I64"),
        (lambda: tl.eigsh(T, tr.ones(3, dtype="I64")), DTypeError, "eigsh: x0 is I64"),
    ],
)
def test_errors_name_parameters_that_there_are(call: Callable[[], Any], kind: type[TensorError], said: str) -> None:
    with pytest.raises(kind, match=said):
        call()


@pytest.mark.parametrize("name", ["cg", "gmres", "minres"])
def test_a_start_of_a_solver_has_a_name(name: str) -> None:
    assert getattr(tl, name)(T, V, x0=V).iterations == getattr(tl, name)(T, V, V).iterations == 1


@pytest.mark.parametrize("name", ["eigsh", "eigs", "svds"])
def test_so_has_that_of_a_search(name: str) -> None:
    named, placed = getattr(tl, name)(T, x0=V), getattr(tl, name)(T, V)

    assert [str(one) for one in named] == [str(one) for one in placed]


def test_targets_have_no_place_among_the_operands_of_any_function() -> None:
    for name in tl.__all__:
        function = getattr(tl, name)
        if inspect.isfunction(function) and "out" in inspect.signature(function).parameters:
            out = inspect.signature(function).parameters["out"]
            assert out.kind is inspect.Parameter.KEYWORD_ONLY, name
