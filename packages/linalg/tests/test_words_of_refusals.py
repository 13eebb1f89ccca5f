"""What is not finite is told in the same words, whoever looked: a kernel, or a function that is composed of others."""

from __future__ import annotations

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
