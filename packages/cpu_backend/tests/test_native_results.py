"""Calls of operations with several results: the same tuples and errors from native ones as from those in Python."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

import tensor_runtime as tr
from tensor_core import F64, I64
from tensor_core.errors import OutOfMemoryError
from tensor_runtime.backends.registry import registry
from tensor_runtime.dispatch import call
from tensor_runtime.dispatch.spec import OpSpec
from tensor_runtime.tensors.tensor import Tensor


class Values(NamedTuple):
    """As the result of a decomposition."""

    largest: Tensor
    places: Tensor


@pytest.mark.parametrize("name", ["execute_parts", "execute_many"])
def test_several_results_come_in_a_tuple_or_a_named_tuple_as_in_python(name: str) -> None:
    spec = OpSpec(
        "extremes",
        result_dtype=lambda dtype: (dtype, I64),
        result_shape=lambda name, a, params: (a[1:], a[1:]),
        takes_params=True,
    )
    native, x = getattr(call, name), tr.tensor([[1.0, 5.0], [4.0, 2.0]])
    operand = x if name == "execute_parts" else [x]
    tr.register_kernel("cpu", "extremes", lambda operands, result, params: lambda x: (x.max(-1), x.argmax(-1)))
    try:
        for run in (native, inspect.unwrap(native)):
            for _ in range(2):
                plain, named = run(spec, operand, None), run(spec, operand, None, Values)
                assert type(plain) is tuple
                assert [one.tolist() for one in plain] == [[4.0, 5.0], [1, 0]]
                assert type(named) is Values
                assert (named.largest.tolist(), named.places.tolist()) == ([4.0, 5.0], [1, 0])
                assert [one.dtype for one in named] == [F64, I64]
                with pytest.raises(TypeError):
                    hash(named)
        for wrong in ((), (spec,), (spec, operand), (spec, operand, None, Values, 1), (spec, operand, None, list)):
            with pytest.raises((TypeError, AttributeError)):
                native(*wrong)
    finally:
        registry.unregister_kernel("cpu", "extremes")


@pytest.mark.parametrize("name", ["execute_parts", "execute_many"])
def test_what_fails_in_a_kernel_of_several_results_is_the_error_that_python_makes(name: str) -> None:
    def failing(operands: Any, result: Any, params: Any) -> Callable[..., Any]:
        def kernel(x: Any) -> Any:
            raise MemoryError

        return kernel

    spec = OpSpec("failing", result_dtype=lambda dtype: (dtype,), result_shape=lambda *_: ((),), takes_params=True)
    native, x = getattr(call, name), tr.tensor([1.0])
    operand = x if name == "execute_parts" else [x]
    tr.register_kernel("cpu", "failing", failing)
    try:
        messages = []
        for run in (native, native, inspect.unwrap(native)):
            with pytest.raises(OutOfMemoryError, match="failing: ") as raised:
                run(spec, operand, None)
            messages.append(str(raised.value))
        assert messages[0] == messages[1] == messages[2]
    finally:
        registry.unregister_kernel("cpu", "failing")
