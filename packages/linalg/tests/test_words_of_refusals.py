"""What is not finite is told in the same words, whoever looked: a kernel, or a function that is composed of others."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

import tensor_linalg as tl
import tensor_runtime as tr

BAD = tr.tensor([[1.0, float("nan")], [0.0, 1.0]])
CALLS: dict[str, Callable[[], Any]] = {
    "svd": lambda: tl.svd(BAD),
    "cholesky": lambda: tl.cholesky(BAD),
    "lq": lambda: tl.lq(BAD),
    "pinv": lambda: tl.pinv(BAD),
    "funm": lambda: tl.funm(BAD, tr.exp),
    "tensorinv": lambda: tl.tensorinv(BAD, 1),
    "cho_solve": lambda: tl.cho_solve(BAD, tr.ones(2), lower=False),
    "lu_solve": lambda: tl.lu_solve(tl.lu_factor(tr.eye(2))._replace(lu=BAD), tr.ones(2)),
}


def rest(name: str) -> str:
    """What is said of what is accepted."""
    with pytest.raises(tl.NonFiniteError, match=rf"^{name}: operand .* holds .* at element \(0, 1\)") as caught:
        CALLS[name]()
    return str(caught.value).partition("; ")[2]


@pytest.mark.parametrize("name", CALLS)
def test_what_is_not_finite_is_told_in_the_same_words(name: str) -> None:
    assert rest(name) == rest("svd")


@pytest.mark.parametrize("place", ["cpu", "sim:0"])
def test_so_it_is_wherever_it_lies(place: str) -> None:
    x = BAD if place == "cpu" else BAD.to(place)
    with pytest.raises(tl.NonFiniteError, match=r"^svd: operand a holds .*; accepted: finite") as caught:
        tl.svd(x)
    assert str(caught.value).partition("; ")[2] == rest("svd")


@pytest.mark.parametrize("dtype", [tr.F32, tr.F64, tr.C32, tr.C64])
@pytest.mark.parametrize("name", ["triangular_solve", "cho_solve"])
def test_the_value_that_is_not_finite_is_told_with_its_place(name: str, dtype: tr.DType) -> None:
    bad = tr.cast(tr.stack([tr.eye(2), tr.tensor([[1.0, 7.0], [float("-inf"), 1.0]])], axis=-1), dtype)
    value = re.escape(repr(bad[1, 0, 1].item()))
    solve: Any = getattr(tl, name)
    operand = "a" if name == "triangular_solve" else "factor"
    place = r"at element \(1, 0\) of the matrix at batch index \(1,\)"
    with pytest.raises(tl.NonFiniteError, match=f"{name}: operand {operand} holds {value} {place}"):
        solve(bad, tr.ones((2, 1)), lower=True)
    with pytest.raises(tl.NonFiniteError, match=f"{name}: operand b holds {value} {place}"):
        solve(tr.eye(2), bad, lower=True)


def test_of_a_matrix_that_was_turned_no_conjugate_is_told() -> None:
    bad = tr.tensor([[1.0, complex(0.0, float("inf"))], [0.0, 1.0]])
    with pytest.raises(tl.NonFiniteError, match=r"cholesky: operand a holds NaN or an infinity at element \(0, 1\)"):
        tl.cholesky(bad, upper=True)
    with pytest.raises(tl.NonFiniteError, match=r"cholesky: operand a holds nan at element \(0, 1\)"):
        tl.cholesky(BAD, upper=True)
