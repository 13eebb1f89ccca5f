"""What the CPU backend says of its kernels is what it binds."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import pytest

import tensor_linalg as tl
import tensor_runtime as tr
from tensor_cpu import explanation, kernel_table
from tensor_cpu.system.extension import AVAILABLE
from tensor_runtime import C64, F32, F64, I64, Bool

needs_native = pytest.mark.skipif(not AVAILABLE, reason="compares native kernels")


def words(function: Callable[..., Any], *arguments: Any) -> list[str]:
    return [one.choice.kernel for one in tr.explain(function, *arguments) if one.choice]


@needs_native
@pytest.mark.parametrize(
    ("function", "arguments", "kernel"),
    [
        (tr.add, ((F64, (3,)), (F64, (3,))), "native loop for tiny tensors"),
        (tr.add, ((F64, (300, 30)), (F64, (300, 30))), "native loops in blocks"),
        (tr.sum, ((F64, (300, 30)),), "native reduction"),
        (tr.matmul, ((F64, (1000,)), (F64, (1000, 2000))), "matrix product by BLAS"),
        (tr.matmul, ((F64, (2, 2)), (F64, (2, 2))), "native loop for tiny products"),
        (tl.svd, ((F64, (3, 3, 1000)),), "kernel with a matrix in each lane of a register"),
        (tl.svd, ((F64, (200, 200)),), "native loop over LAPACK calls"),
        (lambda x: x.T, ((F64, (3, 4)),), "a view"),
        (tr.argsort, ((C64, (3,)),), "NumPy"),
        (tr.argsort, ((F64, (3,)),), "native sort"),
        (lambda x: tr.pad(x, 1), ((F64, (3,)),), "native copy"),
    ],
)
def test_the_kernel_that_would_run_is_named(function: Callable[..., Any], arguments: Any, kernel: str) -> None:
    assert words(function, *arguments) == [kernel]


@needs_native
def test_the_module_that_is_named_is_the_one_that_binds(monkeypatch: pytest.MonkeyPatch) -> None:
    requests = [(tr.add, ((d, s), (d, s))) for d in (F32, F64, C64, I64, Bool) for s in ((), (3,), (90, 80))]
    requests += [(tr.exp, ((d, s),)) for d in (F32, F64, C64, I64) for s in ((3,), (90, 80))]
    called: list[str] = []
    numpys = kernel_table.bind_numpy

    def noting(name: str, *rest: Any) -> Any:
        called.append(name)
        return numpys(name, *rest)

    monkeypatch.setattr(kernel_table, "bind_numpy", noting)
    for function, arguments in requests:
        (one,) = tr.explain(function, *arguments)
        called.clear()
        kernel_table.bind(one.operation, one.operands, one.results[0], None)
        assert one.choice is not None
        assert ("NumPy" in one.choice.kernel) == bool(called), (function, arguments)


@needs_native
def test_copies_and_the_cost_of_the_other_way_are_told() -> None:
    repeated = tr.broadcast_to(tr.ones((300, 1)), (300, 400))
    (one,) = tr.explain(tr.matmul, repeated, (F64, (400, 500)))
    assert one.choice is not None
    assert any("operand 0 is copied first" in note for note in one.choice.notes) or one.choice.workspace_bytes == 0
    assert any("estimated" in note for note in one.choice.notes)
    assert one.choice.seconds is not None
    assert 1e-9 < one.choice.seconds < 1


@needs_native
def test_why_a_native_kernel_was_not_taken_is_told() -> None:
    (one,) = tr.explain(tl.svd, (F64, (200, 200)))
    assert one.choice is not None
    assert any("lane" in note and "(200, 200)" in note for note in one.choice.notes)


def test_what_a_kernel_touches_is_counted_in_bytes() -> None:
    (one,) = tr.explain(tr.add, (F64, (30, 10)), (F64, (10,)))
    assert one.bytes == 8 * (300 + 10 + 300)
    (view,) = tr.explain(lambda x: x[1:], (F64, (30,)))
    assert view.bytes == 0


def test_every_native_module_says_what_it_is_and_what_it_takes() -> None:
    modules = {module for row in kernel_table.ROWS.values() for module in row.native}
    assert modules <= explanation._IN_WORDS.keys()
    for module in modules:
        assert import_module(f"tensor_cpu.kernels.{module}").TAKES, module


def test_joins_and_running_sums_are_explained() -> None:
    x = tr.ones((2, 2))
    assert [one.operation for one in tr.explain(tr.concatenate, [x, x])] == ["concatenate"]
    assert [one.operation for one in tr.explain(tr.cumsum, x, 0)] == ["cumsum"]
