"""What cannot fit is refused with an error of our tree that says how many bytes, also while a kernel is bound."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest

import tensor_linalg
import tensor_runtime as tr
from tensor_core.errors import BackendError, OutOfMemoryError
from tensor_cpu.system.extension import AVAILABLE
from tensor_einsum import einsum, plan
from tensor_runtime.backends.registry import registry
from tensor_runtime.testing.simulated_device import SimulatedBackend

CALLS: dict[str, Callable[[tr.Tensor], Any]] = {
    "copy": tr.copy,
    "to_contiguous": tr.to_contiguous,
    "cast": lambda x: tr.cast(x, tr.I64),
    "tensor": tr.tensor,
    "negative": tr.negative,
    "add": lambda x: x + x,
    "number": lambda x: x * 2.0,
    "slice": lambda x: tr.copy(x[1:, ::2]),
    "tril": tr.tril,
    "triu": tr.triu,
    "cumsum": lambda x: tr.cumsum(x, axis=0),
    "sort": tr.sort,
    "roll": lambda x: tr.roll(x, 1),
    "pad": lambda x: tr.pad(x, 1),
    "einsum of one": lambda x: einsum("ij->ji", x),
    "einsum of two": lambda x: einsum("ij,jk->ik", x, x),
    "plan": lambda x: plan("ij,jk->ik", x, x)(x, x),
    "matmul": lambda x: x @ x,
    "svd": tensor_linalg.svd,
    "inv": tensor_linalg.inv,
    "deepcopy": copy.deepcopy,
    "pickle": pickle.dumps,
    "download": tr.download,
    "ones": lambda x: tr.ones(x.shape),
    "uniform": lambda x: tr.uniform(x.shape, seed=1),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("extent", [10**7, 10**8, 10**9])
def test_a_result_that_no_memory_holds_is_refused_in_bytes(name: str, extent: int) -> None:
    x = tr.broadcast_to(tr.tensor(1.0), (extent, extent))
    with pytest.raises(OutOfMemoryError, match=r"\d+ bytes|[\d.]+ [TPE]iB"):
        CALLS[name](x)


def test_whatever_fails_while_a_kernel_is_bound_is_an_error_of_our_tree() -> None:
    class Unbinding(SimulatedBackend):
        def bind(self, name: str, *rest: Any) -> Any:
            raise error

    registry.register("unbinding", Unbinding(tr.backend("cpu"), "unbinding"))
    try:
        x = tr.to(tr.ones((3, 2)), "unbinding:0")
        error: Exception = MemoryError()
        for call in (tr.negative, lambda x: x + 1.0, lambda x: x.T, lambda x: tr.cast(x, tr.F32)):
            with pytest.raises(OutOfMemoryError, match=r"not enough memory for the result of (48|24) bytes"):
                call(x)
        error = RuntimeError("no power")
        with pytest.raises(BackendError, match="negative: the backend failed: RuntimeError: no power") as caught:
            tr.negative(x)
        assert caught.value.__cause__ is error
    finally:
        registry.unregister("unbinding")


def test_binding_again_works_after_a_failure() -> None:
    x = tr.broadcast_to(tr.tensor(1.0), (10**9, 10**9))
    before = tr.binding_cache.stats().entries
    for _ in range(3):
        with pytest.raises(OutOfMemoryError):
            tr.copy(x)
    of_numpy = not AVAILABLE  # whose kernel is bound, and fails when it runs
    assert tr.binding_cache.stats().entries <= before + of_numpy
    assert tr.copy(x[:2, :2]).to_numpy().tolist() == [[1.0, 1.0]] * 2
