"""Arguments at the far end: answered or refused at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensor_runtime as tr
from tensor_core.errors import ShapeError


@pytest.mark.parametrize("function", [tr.max_pool, tr.mean_pool])
def test_pooling_wants_rank_3_and_takes_windows_of_any_extent(function: Callable[..., tr.Tensor]) -> None:
    with pytest.raises(ShapeError):
        function(tr.tensor(1.0), 1)
    with pytest.raises(ShapeError):
        tr.infer(function, (tr.F64, ()), 1)
    assert function(tr.zeros((1, 3, 3)), 10**7).shape == (1, 0, 3)
    assert function(tr.zeros((1, 3, 3, 3)), 2**62).shape == (1, 0, 0, 3)


def test_convolution_wants_rank_3() -> None:
    with pytest.raises(ShapeError):
        tr.conv(tr.tensor(1.0), tr.zeros((2, 2)))
    with pytest.raises(ShapeError):
        tr.infer(tr.conv, (tr.F64, ()), (tr.F64, ()))


@pytest.mark.parametrize(
    "call",
    [
        lambda: tr.split(tr.zeros((0,)), 10**8),
        lambda: tr.split(tr.zeros((0, 0)), 2**62),
        lambda: tr.tabulate(10**400, float),
        lambda: tr.tabulate(2**62, float),
        lambda: tr.from_function(2**62, float),
        lambda: tr.arange(10**400, 10**400 + 2),
        lambda: tr.arange(0.0, 10**400),
        lambda: tr.arange(10**400, 0.5),
    ],
)
def test_what_no_memory_or_dtype_holds_is_refused_at_once(call: Callable[[], Any]) -> None:
    with pytest.raises(tr.TensorError):
        call()


def test_no_element_is_no_work() -> None:
    assert len(tr.split(tr.zeros((0,)), 5)) == 5
    assert tr.from_function((0, 2**40), float, dtype="F64").shape == (0, 2**40)


@pytest.mark.parametrize("name", ["equal", "not_equal", "less", "less_equal", "greater", "greater_equal"])
@pytest.mark.parametrize("dtype", ["I32", "I64", "F64", "Bool"])
@pytest.mark.parametrize("number", [2**31, -(2**31) - 1, 2**63, -(2**63) - 1, 2**200])
def test_a_number_beyond_the_dtype_is_compared_all_the_same(name: str, dtype: str, number: int) -> None:
    a = np.array([0, 1, 1]).astype(tr.zeros((), dtype=dtype).to_numpy().dtype)
    x = tr.asarray(a)

    assert getattr(tr, name)(x, number).to_numpy().tolist() == getattr(np, name)(a.astype(object), number).tolist()
    assert getattr(tr, name)(number, x).to_numpy().tolist() == getattr(np, name)(number, a.astype(object)).tolist()
    assert number not in x
