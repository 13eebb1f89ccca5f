"""What functions do with the vectors that iterations give them: those that write into them or move them are refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensor_linalg as tl
import tensor_runtime as tr
from tensor_core.errors import PlacementError, ReadOnlyError

Function = Callable[[tr.Tensor], tr.Tensor]
SIZE = 40
DIAGONAL = np.arange(1.0, SIZE + 1.0)


def start() -> tr.Tensor:
    return tr.normal((SIZE,), seed=0)


def plain(x: tr.Tensor) -> tr.Tensor:
    return tr.asarray(DIAGONAL * x.to_numpy())


def in_place(x: tr.Tensor) -> tr.Tensor:
    y = x.to_numpy()
    y *= DIAGONAL
    return tr.asarray(y)


def clearing(x: tr.Tensor) -> tr.Tensor:
    y = plain(x)
    tr.mutable_view(x)[...] = 0.0
    return y


def first_only(x: tr.Tensor) -> tr.Tensor:
    """Writes into all but a multiple of the first unit vector."""
    y = plain(x)
    tr.mutable_view(x)[1:] = 0.0
    return y


def elsewhere(x: tr.Tensor) -> tr.Tensor:
    return plain(x).to("sim:0")


METHODS: dict[str, tuple[str, Callable[[Function, tr.Tensor], Any]]] = {
    "cg": ("cg: the operator", lambda f, v: tl.cg(f, v)),
    "preconditioner": ("cg: the preconditioner", lambda f, v: tl.cg(plain, v, preconditioner=f)),
    "minres": ("minres: the operator", lambda f, v: tl.minres(f, v)),
    "gmres": ("gmres: the operator", lambda f, v: tl.gmres(f, v)),
    "lsmr": ("lsmr: the operator", lambda f, v: tl.lsmr(f, v, adjoint=plain)),
    "adjoint": ("lsmr: adjoint", lambda f, v: tl.lsmr(plain, v, adjoint=f)),
    "eigsh": ("eigsh: the operator", lambda f, v: tl.eigsh(f, v)),
    "solve": ("eigsh: solve", lambda f, v: tl.eigsh(plain, v, sigma=0.5, solve=f)),
    "eigs": ("eigs: the operator", lambda f, v: tl.eigs(f, v)),
    "svds": ("svds: the operator", lambda f, v: tl.svds(f, v, adjoint=plain)),
    "expm_multiply": ("expm_multiply: the operator", lambda f, v: tl.expm_multiply(f, v)),
}


@pytest.mark.parametrize("function", [in_place, clearing, first_only])
@pytest.mark.parametrize("method", METHODS)
def test_a_function_that_writes_into_its_argument_is_refused(method: str, function: Function) -> None:
    name, run = METHODS[method]
    v = start()
    with pytest.raises(ReadOnlyError, match=f"^{name} wrote into the tensor that it was given"):
        run(function, v)
    assert v.tolist() == start().tolist()


@pytest.mark.parametrize("method", METHODS)
def test_an_image_elsewhere_is_refused_by_the_name_of_the_method(method: str) -> None:
    name, run = METHODS[method]
    with pytest.raises(PlacementError, match=f"^{name} gave a tensor on sim:0 for one on cpu"):
        run(elsewhere, start())


@pytest.mark.parametrize("method", METHODS)
def test_functions_that_give_their_argument_back_are_taken(method: str) -> None:
    v = start()
    METHODS[method][1](lambda x: x, v)
    assert v.tolist() == start().tolist()


def test_adjoints_elsewhere_are_refused_by_the_name_of_the_method() -> None:
    with pytest.raises(PlacementError, match=r"^svds: adjoint gave a tensor on sim:0"):
        tl.svds(plain, start(), adjoint=elsewhere)


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("cg", lambda a, far: tl.cg(a, far[:, 0])),
        ("gmres", lambda a, far: tl.gmres(a, far[:, 0])),
        ("lsmr", lambda a, far: tl.lsmr(a, far[:, 0])),
        ("eigsh", lambda a, far: tl.eigsh(a, far[:, 0])),
        ("eigs", lambda a, far: tl.eigs(a, far[:, 0])),
        ("expm_multiply", lambda a, far: tl.expm_multiply(a, far[:, 0])),
        ("svd", lambda a, far: tl.svd(a, gauge=far)),
        ("eigh", lambda a, far: tl.eigh(a, gauge=far)),
        ("eig", lambda a, far: tl.eig(a, gauge=tr.cast(far, "C64"))),
        ("schur", lambda a, far: tl.schur(a, gauge=far)),
        ("qr_append", lambda a, far: tl.qr_append(a[:, :2], a[:2, :2], far[:, 2:])),
    ],
)
def test_tensors_in_different_places_are_refused_by_the_name_of_the_function(
    name: str, call: Callable[[tr.Tensor, tr.Tensor], Any]
) -> None:
    a = tr.eye(3) * 2.0
    with pytest.raises(PlacementError, match=f"^{name}: operands live in different places") as found:
        call(a, tr.eye(3).to("sim:0"))
    placements: Any = found.value.placements
    assert {*map(str, placements)} == {"cpu", "sim:0"}
