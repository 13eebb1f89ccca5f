"""Native calls stand where functions in Python did: which, until when, and what they keep."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

import tensor_runtime as tr
from native_call_cases import NATIVE, assert_nothing_is_kept
from tensor_core.errors import TensorError
from tensor_runtime.backends.registry import registry
from tensor_runtime.ops import creation, indexing, methods, native_calls
from tensor_runtime.placement import CPU
from tensor_runtime.tensors.tensor import Tensor, blank

pytestmark = pytest.mark.usefixtures("cpu_serves")

NAMES = ["reversed_axes", "transposed", "reshape", "item", "getitem", "setitem", "bool", "int", "float", "complex"]
NAMES += ["to_numpy", "tensor", "asarray", "zeros", "ones", "full", "empty", "array_equal", "eye", "arange", "linspace"]
NAMES += ["uniform", "normal", "integers", "isin", "length", "iterate", "unstack", "tolist", "matrices_transposed"]
NAMES += ["squeeze", "expand_dims", "reverse", "count_nonzero", "nonzero", "dtype", "shape", "strides", "placement"]
NAMES += ["rank", "size"]
NAMES += ["unary_into", "binary_into", "ternary_into", "params_into", "several_into", "bound_into", "is_free"]
NAMES += [f"execute_{kind}" for kind in ("unary", "binary", "mixed", "ternary", "with_params", "pair", "several")]
NAMES += ["execute_parts", "execute_many"]


def test_what_is_read_while_transfers_are_recorded_is_recorded() -> None:
    x = tr.tensor([2.5])
    for _ in range(2):
        with tr.trace_transfers() as log:
            assert (float(x), x.item(), tr.tensor([[1.0]]).shape) == (2.5, 2.5, (1, 1))
        assert [one.operation for one in log] == ["download", "download", "upload"]


@NATIVE
def test_every_call_has_its_native_one_in_its_place() -> None:
    assert {name for name, _, _ in native_calls._PLACES} == set(NAMES)
    for name in ("__getitem__", "reshape", "item", "to_numpy", "__float__", "__bool__"):
        method = getattr(Tensor, name)
        assert type(method).__name__ == "Call"
        assert inspect.isroutine(method)
        assert method.__name__ == getattr(methods.METHODS[name], "__name__", name)
    assert str(inspect.signature(Tensor.reshape)) == str(inspect.signature(methods._reshape))
    assert type(creation._zeros_call).__name__ == "Call"


@NATIVE
def test_functions_in_python_come_back_while_nobody_serves_the_host() -> None:
    x = tr.tensor([[1.0, 2.0]])
    try:
        native_calls.serve(CPU, None)
        assert Tensor.__getitem__ is indexing.getitem
        assert creation._zeros_call is creation._zeros
        assert x[0, 1].item() == 2.0
    finally:
        native_calls.serve(CPU, registry.backend_for(CPU))
    assert Tensor.__getitem__ is not indexing.getitem
    assert x[0, 1].item() == 2.0


@NATIVE
def test_calls_made_wrongly_are_pythons_errors() -> None:
    x = tr.tensor([[1.0, 2.0]])
    getitem: Any = Tensor.__getitem__
    for arguments in ((), (x,), (x, 0, 0), (3, 0), (np.zeros(2), 0)):
        with pytest.raises((TypeError, AttributeError)):
            getitem(*arguments)
    broken = blank(Tensor)
    for call in (lambda: broken[0], lambda: broken.T, broken.item, lambda: broken.reshape(1), broken.to_numpy):
        with pytest.raises(AttributeError):
            call()


@NATIVE
def test_a_cleared_cache_is_filled_again() -> None:
    x = tr.tensor([[1.0, 2.0], [3.0, 4.0]])
    for _ in range(3):
        assert (x[1, 0].item(), x.T[0, 1].item(), x.reshape(4)[1].item()) == (3.0, 3.0, 3.0)
        assert tr.zeros((2, 3)).shape == (2, 3)
        tr.binding_cache.clear()
        assert not native_calls._TABLE.found


@NATIVE
def test_an_entry_that_cannot_be_put_is_an_error_and_the_table_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*arguments: Any) -> None:
        raise MemoryError

    parts = native_calls._PARTS._replace(insert=full, found={})
    backend: Any = registry.backend_for(CPU)
    call = backend.native_call("getitem", indexing.getitem, parts)
    with pytest.raises(MemoryError):
        call(tr.tensor([1.0, 2.0]), 0)


@NATIVE
def test_nothing_is_kept_of_a_call() -> None:
    x, y, data = tr.tensor([[1.0, 2.0], [3.0, 4.0]]), np.zeros((2, 3), order="F"), [[1.0, 2.0], [3.0, 4.0]]
    index = (0, slice(None), None)

    def run() -> None:
        for _ in range(200):
            x[index], x[1:], x[..., -1], x.T, x.reshape(4), x.reshape((1, -1)), x.to_numpy()
            float(x[0, 0]), x[1, 1].item(), bool(x[0, 0]), int(x[0, 1]), complex(x[0, 0])
            tr.zeros((2, 3)), tr.ones(4), tr.full((2,), 1.5), tr.tensor(data), tr.asarray(data), tr.asarray(y)
            for bad in (5, "x", (0, 0, 0)):
                try:
                    x[bad]
                except TensorError:
                    pass

    assert_nothing_is_kept(run, x._form, x._array, y, data, index, tr.F64, CPU, None)
