"""What tests of native calls compare: everything that a call gives, and tensors of any strides."""

from __future__ import annotations

import gc
import sys
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

import tensor_runtime as tr
from tensor_core.errors import TensorError
from tensor_cpu.call_checks import CHECKED
from tensor_cpu.system.extension import AVAILABLE
from tensor_cpu.system.memory import pool
from tensor_runtime.ops import indexing
from tensor_runtime.tensors.tensor import Tensor

NATIVE = pytest.mark.skipif(
    not AVAILABLE or CHECKED, reason="no native calls: the extension was not built, or every call is checked"
)
DTYPES = ["F32", "F64", "C32", "C64", "I32", "I64", "Bool"]
BORROWED: list[Any] = []
"""What results may share memory with, besides the arguments of calls."""


def outcome(call: Callable[..., Any], /, *arguments: Any, **options: Any) -> Any:
    """What a call gives, to be compared: everything about a tensor or an array, or the error."""
    try:
        result = call(*arguments, **options)
    except (TensorError, TypeError) as error:
        return type(error), str(error)
    if isinstance(result, Tensor):
        held = [one._array if isinstance(one, Tensor) else one for one in (*arguments, *BORROWED)]
        shared = any(isinstance(one, np.ndarray) and np.may_share_memory(one, result._array) for one in held)
        told = result._array.__array_interface__["data"][0] if shared else "fresh"
        elements = repr(np.asarray(result._array).tolist())
        return type(result), result._form, elements, told, result._array.flags.writeable
    if isinstance(result, np.ndarray):
        return result.shape, result.strides, result.tolist(), result.flags.writeable, result.ctypes.data
    return type(result), repr(result)


@st.composite
def tensors(draw: st.DrawFn) -> Tensor:
    """Of any dtype, rank up to 4, extents from 0, and any strides."""
    shape = draw(st.lists(st.integers(0, 4), max_size=4))
    dtype = draw(st.sampled_from(DTYPES))
    x = tr.cast(tr.from_flat(range(int(np.prod(shape, dtype=int))), shape), dtype)
    for step in draw(st.lists(st.sampled_from(("transpose", "reverse", "skip", "repeat", "write")), max_size=3)):
        if step == "transpose":
            x = tr.transpose(x, tuple(draw(st.permutations(range(x.rank)))))
        elif step == "reverse" and x.rank:
            x = tr.reverse_view(x, draw(st.integers(0, x.rank - 1)))
        elif step == "skip" and x.rank:
            x = indexing.getitem(x, slice(draw(st.integers(0, 2)), None, draw(st.sampled_from((2, 3, -1, -2)))))
        elif step == "repeat":
            x = tr.broadcast_to(x, (2, *x.shape))
    return x.mutable_view() if draw(st.booleans()) and 0 not in x.strides else x


def assert_nothing_is_kept(run: Callable[[], None], *held: Any) -> None:
    """Assert that calls, made some hundred times by ``run``, keep neither memory nor references to these objects.

    The interpreter's own cache of attributes keeps some names that messages are made of, fewer each time; what calls
    keep, they keep every time.
    """
    run()
    gc.collect()
    counts = [sys.getrefcount(one) for one in held]
    assert any(_memory_kept(run) < 2000 for _ in range(5))
    after = [sys.getrefcount(one) for one in held]
    assert [abs(one - other) < 20 for one, other in zip(counts, after, strict=True)] == [True] * len(held)


def _memory_kept(run: Callable[[], None]) -> int:
    """In bytes, of what was allocated while ``run`` ran and the pool does not keep for the next arrays."""
    pool.clear()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    run()
    gc.collect()
    pool.clear()
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    return grown
