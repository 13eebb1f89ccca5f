"""An element has the same bits whatever the size of its tensor, its layout, and the program that it is computed in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensor_runtime as tr
from tensor_cpu.system.extension import AVAILABLE

if not AVAILABLE:
    pytest.skip("NumPy's kernels alone are not the same for every layout", allow_module_level=True)

pytestmark = pytest.mark.usefixtures("instruction_set")

FUNCTIONS = (
    "acos", "asin", "atan", "cos", "cosh", "erf", "erfc", "exp", "expm1", "log", "log1p", "sin", "sinh", "tan", "tanh",
    "sqrt", "abs",
)  # fmt: skip


def bits(x: tr.Tensor) -> bytes:
    return np.asfortranarray(x.to_numpy()).tobytes("F")


@pytest.mark.parametrize("dtype", ["F32", "F64"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_of_some_elements_is_some_of_the_function_of_all(name: str, dtype: str) -> None:
    function: Callable[[tr.Tensor], tr.Tensor] = getattr(tr, name)
    # forms differ between instruction sets only by their tensors' shapes, so bindings made earlier are dropped
    tr.binding_cache.clear()
    x = tr.cast(tr.uniform(9001, seed=1), dtype)
    whole = function(x)
    for count in (1, 2, 3, 7, 16, 17, 33, 1000, 4095, 4096, 4097):
        assert bits(function(x[:count])) == bits(whole[:count])
        assert bits(function(x[count:])) == bits(whole[count:])
    assert bits(function(x[0])) == bits(whole[0])
    assert bits(function(x[::-3])) == bits(whole[::-3])
    assert bits(function(tr.broadcast_to(x[:5], (3, 5)))) == bits(tr.broadcast_to(whole[:5], (3, 5)))
    tr.binding_cache.clear()


@pytest.mark.parametrize("dtype", ["F32", "F64"])
@pytest.mark.parametrize("count", [5, 100, 5000])
def test_a_fused_function_has_the_bits_of_its_operations(count: int, dtype: str) -> None:
    def layer(x: tr.Tensor, y: tr.Tensor) -> tr.Tensor:
        z = tr.exp(tr.negative(x * x)) + tr.sin(y) / tr.cosh(x)
        return tr.maximum(tr.erf(z), tr.log1p(y)) * tr.atan2(x, y)

    tr.binding_cache.clear()
    x, y = (tr.cast(tr.uniform(count, seed=1, stream=stream), dtype) for stream in (0, 1))
    assert bits(tr.fuse(layer)(x, y)) == bits(layer(x, y))
    tr.binding_cache.clear()


@pytest.mark.parametrize("dtype", ["F32", "F64"])
@pytest.mark.parametrize("count", [1, 2, 9, 100, 4096, 4097, 9000])
def test_of_two_equal_elements_the_extremes_are_the_second(count: int, dtype: str) -> None:
    tr.binding_cache.clear()
    zero = tr.zeros(count, dtype=dtype)
    minus = tr.negative(zero)
    for function in (tr.maximum, tr.minimum):
        for first, second in ((zero, minus), (minus, zero), (zero[::-1], minus), (minus[:1], zero)):
            chosen: Any = np.signbit(function(first, second).to_numpy())
            assert (chosen == np.signbit(second.to_numpy())).all()
    tr.binding_cache.clear()
