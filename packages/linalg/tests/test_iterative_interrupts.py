"""Ctrl-C in an iteration that makes the products of another one: both stop."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
import pytest

import tensor_linalg as tl
import tensor_runtime as tr
from tensor_linalg.iterative.operators import LinearMap

N = 6
A = tr.asarray(np.diag(np.arange(1.0, N + 1)) + 0.1)
B = tr.ones(N)


class Interrupted:
    """The product with A, within one of which Ctrl-C comes."""

    def __init__(self, at: int) -> None:
        self.calls, self._at = 0, at

    def __call__(self, x: tr.Tensor) -> tr.Tensor:
        self.calls += 1
        if self.calls == self._at:
            raise KeyboardInterrupt
        return tr.dot_general(A, x, contracting=((1,), (0,)))


INNER: dict[str, Callable[[Interrupted, tr.Tensor], tr.Tensor]] = {
    "cg": lambda a, b: tl.cg(a, b).x,
    "minres": lambda a, b: tl.minres(a, b).x,
    "gmres": lambda a, b: tl.gmres(a, b, restart=3).x,
    "lsmr": lambda a, b: tl.lsmr(a, b, adjoint=A).x,
    "expm_multiply": lambda a, b: tl.expm_multiply(a, b, -0.1, hermitian=True).x,
    "eigsh": lambda a, b: tl.eigsh(a, b, k=2, tol=1e-12).eigenvectors[:, 0] * 1e-3 + b,
    "eigs": lambda a, b: tl.eigs(a, b, tol=1e-12).eigenvectors[:, 0] * 1e-3 + b,
    "svds": lambda a, b: tl.svds(a, b, adjoint=A, tol=1e-12).vh[0] * 1e-3 + b,
}


@pytest.mark.parametrize("at", [1, 2, 4, 7])
@pytest.mark.parametrize("name", INNER)
def test_ctrl_c_within_an_inner_iteration_stops_the_outer_one(name: str, at: int) -> None:
    first = Interrupted(0)
    INNER[name](first, B)
    after = 2 * first.calls + at  # about the products of two outer ones
    if at == 1:  # nothing is there to be returned
        with pytest.raises(KeyboardInterrupt):
            tl.gmres(lambda x: INNER[name](Interrupted(2), x), B)
    a = Interrupted(after)
    outer = 0

    def product(x: tr.Tensor) -> tr.Tensor:
        nonlocal outer
        outer += 1
        return INNER[name](a, x)

    found = tl.gmres(product, B, tol=0.0, maxiter=30)

    assert found.interrupted and not found.converged
    assert a.calls == after or a.calls == after + (name == "svds")  # which makes left vectors of what it has
    assert found.iterations == outer - 1


def test_shifted_inverses_by_minres_stop_with_the_best_so_far_and_the_next_call_is_like_any_other() -> None:
    sigma = 3.2

    def pairs(a: Interrupted) -> Any:
        return tl.eigsh(A, B, k=2, sigma=sigma, solve=lambda b: tl.minres(a, b, shift=sigma, tol=1e-13).x)

    whole = Interrupted(0)
    wanted = pairs(whole)
    assert wanted.converged and not wanted.interrupted
    for at in range(2, whole.calls, 5):
        a = Interrupted(at)
        try:
            found = pairs(a)
        except KeyboardInterrupt:
            assert at <= 2 * N
        else:
            assert found.interrupted and not found.converged and a.calls == at
    np.testing.assert_array_equal(pairs(Interrupted(0)).eigenvalues.to_numpy(), wanted.eigenvalues.to_numpy())


def test_three_iterations_within_each_other_all_stop() -> None:
    a = Interrupted(40)

    def middle(x: tr.Tensor) -> tr.Tensor:
        return tl.cg(lambda y: tl.minres(a, y).x, x, maxiter=3).x

    found = tl.eigs(middle, B, tol=1e-12)
    assert found.interrupted and a.calls == 40


SEARCHES: dict[str, Callable[..., Any]] = {
    "svds": lambda **options: tl.svds(A, B, k=3, **options),
    "smallest": lambda **options: tl.svds(A, B, k=3, which="SM", **options),
    "to a smaller space": lambda **options: tl.svds(A[:4], B, k=3, **options),
    "eigsh": lambda **options: tl.eigsh(A, B, k=3, **options),
    "eigs": lambda **options: tl.eigs(A, B, k=3, **options),
}


@pytest.mark.parametrize("step", ["svd", "matmul", "owned", "mH", "from_numbers", "LinearMap.images"])
@pytest.mark.parametrize("name", SEARCHES)
def test_ctrl_c_after_the_last_product_leaves_what_was_found(
    name: str, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = import_module(f"tensor_linalg.iterative.{name if name.startswith('eig') else 'svds'}")
    holder, attribute = (module, step) if "." not in step else (LinearMap, "images")
    if not hasattr(module, step.split(".")[0]) or (step == "LinearMap.images" and name.startswith("eig")):
        return
    wanted, original = SEARCHES[name](), getattr(holder, attribute)
    for at in range(1, 4):
        calls: list[int] = []

        def interrupting(*arguments: Any, calls: list[int] = calls, at: int = at, **options: Any) -> Any:
            calls.append(1)
            if len(calls) == at:
                raise KeyboardInterrupt
            return original(*arguments, **options)

        monkeypatch.setattr(holder, attribute, interrupting)
        found = SEARCHES[name]()
        monkeypatch.undo()
        assert found.interrupted == (len(calls) >= at) and found.converged != found.interrupted
        if "images" in step and found.interrupted:
            assert found.s.shape == (0,)
        elif step in ("svd", "owned"):
            for one, other in zip(found, wanted, strict=True):
                if isinstance(one, tr.Tensor):
                    np.testing.assert_array_equal(one.to_numpy(), other.to_numpy())
