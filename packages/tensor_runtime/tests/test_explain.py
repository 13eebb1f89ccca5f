"""``explain``: kernels of a call in order, how often, and errors as those of the call."""

from __future__ import annotations

import pytest

import tensor_runtime as tr
from tensor_core.errors import ShapeError, UnsupportedOperationError
from tensor_runtime import F64


def test_kernels_come_in_order_and_repeated_ones_are_counted() -> None:
    def work(x: tr.Tensor) -> tr.Tensor:
        for _ in range(3):
            x = tr.exp(x)
        return tr.sum(x)

    found = tr.explain(work, (F64, (10,)))
    assert [(one.operation, one.times) for one in found] == [("exp", 3), ("sum", 1)]
    assert found[0].operands[0] == tr.ones(10)._form
    assert {one.backend for one in found} == {"cpu"}


def test_nothing_is_computed() -> None:
    huge = tr.explain(tr.matmul, (F64, (10**6, 10**6)), (F64, (10**6, 10**6)))
    assert huge[0].bytes == 3 * 8 * 10**12


def test_a_table_has_a_line_for_each_kernel() -> None:
    found = tr.explain(lambda x: tr.exp(x) + x, (F64, (10,)))
    lines = repr(found).splitlines()
    assert lines[0].startswith("kernel") and lines[1].startswith("1 exp") and lines[2].startswith("2 add")
    assert repr(tr.explain(lambda: 1)) == "no kernel runs"


def test_errors_are_those_of_the_call() -> None:
    with pytest.raises(ShapeError):
        tr.explain(tr.add, (F64, (2,)), (F64, (3,)))
    with pytest.raises(UnsupportedOperationError):
        tr.explain(tr.nonzero, (F64, (2,)))


def test_a_backend_that_cannot_say_is_named_all_the_same() -> None:
    (one,) = tr.explain(tr.exp, tr.zeros((2,), placement="meta"))
    assert one.backend == "meta" and one.choice is None
