"""Strict primitives: one shape, one dtype, nothing implicit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensor_runtime as tr
from tensor_core import DTYPES, Bool
from tensor_core.dtypes import FLOATING
from tensor_core.errors import ArgumentError, DTypeError, ShapeError
from tensor_runtime import primitives


@pytest.mark.parametrize("name", ["add", "sub", "mul", "div"])
def test_a_strict_primitive_takes_one_shape_and_one_dtype(name: str) -> None:
    function = getattr(primitives, name)
    x = tr.ones((2, 3))
    with pytest.raises(ShapeError, match="shapes \\(2, 3\\) and \\(3,\\) differ; accepted: equal shapes"):
        function(x, tr.ones((3,)))
    with pytest.raises(DTypeError, match="operands are F64, F32; accepted: tensors of one dtype"):
        function(x, tr.ones((2, 3), dtype="F32"))
    with pytest.raises(DTypeError, match="Python float"):
        function(x, 1.0)
    with pytest.raises(DTypeError):
        function(tr.ones((2,), dtype=Bool), tr.ones((2,), dtype=Bool))
    with pytest.raises(DTypeError):
        function([1], x)


def truncated(a: Any, b: Any) -> Any:
    return np.trunc(a / b).astype(a.dtype)


@pytest.mark.parametrize(
    ("name", "oracle"), [("add", np.add), ("sub", np.subtract), ("mul", np.multiply), ("div", np.divide)]
)
@pytest.mark.parametrize("dtype", [dtype for dtype in DTYPES if dtype is not Bool], ids=str)
def test_a_strict_primitive_equals_numpys(name: str, oracle: Any, dtype: Any) -> None:
    a = np.array([[1, -2, 3], [4, 5, -6]]).astype(dtype.numpy_name, order="F")
    b = np.array([[2, 2, 4], [4, -1, 2]]).astype(dtype.numpy_name, order="F")
    if name == "div" and dtype not in FLOATING:
        oracle = truncated
    result = getattr(primitives, name)(tr.asarray(a), tr.asarray(b))
    assert result.dtype is dtype
    np.testing.assert_array_equal(result.to_numpy(), oracle(a, b))


def test_reductions_of_the_strict_layer_read_empty_axes_as_all_axes() -> None:
    x = tr.tensor([[1, 2], [3, 4]])

    assert primitives.reduce_sum(x).shape == ()
    assert primitives.reduce_sum(x, ()).item() == 10
    assert tr.sum(x, axis=()).shape == (2, 2)
    assert primitives.reduce_max(x, (1,), keepdims=True).to_numpy().tolist() == [[2], [4]]


def test_strict_sums_stay_in_the_operands_dtype() -> None:
    x = tr.full((2,), 2**31 - 1, dtype="I32")

    assert primitives.reduce_sum(x).dtype.name == "I32"
    assert primitives.reduce_sum(x).item() == -2
    assert tr.sum(x).item() == 2**32 - 2


@pytest.mark.parametrize("direction", ["equal", "not_equal", "less", "less_equal", "greater", "greater_equal"])
def test_compare_takes_the_direction_as_a_word(direction: str) -> None:
    a, b = np.array([1.0, 2.0, np.nan]), np.array([2.0, 2.0, np.nan])

    result = primitives.compare(tr.asarray(a), tr.asarray(b), direction)
    assert result.to_numpy().tolist() == getattr(np, direction)(a, b).tolist()
    with pytest.raises(ArgumentError, match="direction is 'lt'"):
        primitives.compare(tr.asarray(a), tr.asarray(b), "lt")
