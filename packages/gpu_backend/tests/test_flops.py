"""Counts of operations on simulated devices, beside the formulas of textbooks and the plans of einsum."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import prod
from typing import Any

import numpy as np
import pytest

import tensor_linalg as tl
import tensor_runtime as tr
from tensor_core.dtypes import F64
from tensor_einsum import einsum, plan
from tensor_gpu.backend import DeviceBackend
from tensor_gpu.device.api import ROUTINES, Solver
from tensor_gpu.sim.api import SimulatedApi
from tensor_gpu.sim.flops import of_solver
from tensor_runtime.backends.registry import registry
from tensor_runtime.placement import DeviceKind

PLACE = "flops:0"


@pytest.fixture(scope="module")
def api() -> Iterator[SimulatedApi]:
    api = SimulatedApi(devices=1, memory_bytes=1 << 26)
    tr.register_backend("flops", DeviceBackend(api, DeviceKind.other("flops")))
    yield api
    registry.unregister("flops")


def flops(api: SimulatedApi, call: Callable[[], Any]) -> dict[Any, int]:
    api.flops.clear()
    call()
    return {**api.flops}


def drawn(*shape: int) -> tr.Tensor:
    return tr.to(tr.tensor(np.random.default_rng(1).standard_normal(shape) + 1.0), PLACE)


def reflected(m: int, n: int) -> int:
    """Multiplications and additions of a QR decomposition by reflectors, step by step, without terms of lower order."""
    return sum(4 * (m - j) * (n - j) for j in range(min(m, n)))


def eliminated(m: int, n: int) -> int:
    return sum(2 * (m - j) * (n - j) for j in range(min(m, n)))


@pytest.mark.parametrize(("m", "n"), [(600, 600), (900, 300), (300, 900)])
def test_formulas_are_what_the_steps_take_but_for_lower_orders(m: int, n: int) -> None:
    def count(routine: str, *sizes: int) -> int:
        return of_solver(Solver(routine, F64, sizes, (), 0, matrices=1))

    assert count("geqrf", m, n) == pytest.approx(reflected(m, n), rel=0.01)
    assert count("getrf", m, n) == pytest.approx(eliminated(m, n), rel=0.01)
    assert count("potrf", n) == pytest.approx(sum((n - j) ** 2 for j in range(n)), rel=0.01)
    k = min(m, n)
    assert count("orgqr", m, k, k) == pytest.approx(sum(4 * (m - j) * (k - j) for j in range(k)), rel=0.01)
    assert count("trsm", m, n) == pytest.approx(sum(2 * j * n for j in range(m)), rel=0.01)
    assert count("getrs", m, n) == 2 * count("trsm", m, n)


SIZES = {"potrf": 1, "getrf": 2, "getrs": 2, "geqrf": 2, "orgqr": 3, "trsm": 2}


@pytest.mark.parametrize("routine", ROUTINES)
def test_every_routine_has_a_formula(routine: str) -> None:
    sizes = (4,) * SIZES.get(routine, 1 if routine.startswith("syev") else 2)
    assert of_solver(Solver(routine, F64, sizes, (), 0, matrices=3)) == 3 * of_solver(
        Solver(routine, F64, sizes, (), 0, matrices=1)
    )
    assert of_solver(Solver(routine, F64, sizes, (), 0, matrices=1)) > 0


def test_decompositions_and_solutions_are_counted_whatever_computes_them(api: SimulatedApi) -> None:
    a = drawn(12, 12, 5)
    square = einsum("ijb,kjb->ikb", a, a)
    n = 12
    assert flops(api, lambda: tl.cholesky(square))["solvers"] == 5 * (n**3 // 3)
    assert flops(api, lambda: tl.eigh(square))["solvers"] == 5 * 9 * n**3
    assert flops(api, lambda: tl.svd(a))["solvers"] == 5 * 22 * n**3
    by_programs, by_library = (drawn(m, m) for m in (12, 300))
    for x in (by_programs, by_library):
        m = x.shape[0]
        assert flops(api, lambda x=x: tl.qr(x))["solvers"] == pytest.approx(8 * m**3 / 3, rel=0.01)  # type: ignore[misc]
    solved = flops(api, lambda: tl.solve(a, a[:, :2]))["solvers"]
    assert solved == 5 * (n**3 - n**3 // 3 + 2 * n * n * 2)


@pytest.mark.parametrize(
    "notation", ["ij,jk->ik", "ijb,jkb->ikb", "ij,ij->i", "i,j->ij", "ij,jk,kl->il", "iji,jk->ik", "abc,cbd->ad"]
)
@pytest.mark.parametrize("dtype", ["F64", "I64", "C64"])
def test_contractions_are_counted_as_their_plans_count_them(api: SimulatedApi, notation: str, dtype: str) -> None:
    extents = dict(zip("ijkblacd", (3, 4, 5, 2, 6, 3, 4, 5), strict=True))
    if "iji" in notation:
        extents["j"] = 4
    operands = [
        tr.cast(drawn(*(extents[label] for label in term)), dtype) for term in notation.split("->")[0].split(",")
    ]
    planned = plan(notation, *operands)
    counted = flops(api, lambda: einsum(notation, *operands, optimize=planned.path))
    kind = "elements" if notation == "i,j->ij" else "products"  # where nothing is summed, elements are multiplied
    assert counted == {kind: planned.flops}


def test_functions_of_elements_are_counted_by_their_steps_and_what_only_moves_is_not(api: SimulatedApi) -> None:
    x, y = drawn(4, 5, 6), drawn(4, 5, 6)
    size = prod(x.shape)
    counted = {"elements": size}
    for call in (lambda: x + y, lambda: x[::-1].T * 2.0, lambda: tr.exp(x), lambda: tr.greater(x, y)):
        assert flops(api, call) == counted
    assert flops(api, lambda: tr.fuse(lambda a, b: tr.sqrt(a * b) - a)(x, y)) == {"elements": 3 * size}
    assert flops(api, lambda: tr.sum(x, axis=1)) == counted
    assert flops(api, lambda: tr.max(x)) == counted
    for call in (lambda: tr.copy(x.T), lambda: tr.cast(x, "F32"), lambda: tr.where(True, x, y), lambda: x[::-1]):
        assert flops(api, call) == {}
