"""Calls under a memory limit: bound for the threads that are set, and planned and bound anew once others are.

Kernels say what they take with the threads that are set when they are bound. With more of them they may take more, and
then other slices keep the limit. What was found for each number of threads is kept.
"""

from __future__ import annotations

from functools import partial
from typing import Final, NamedTuple

from tensor_core.dtypes import DType
from tensor_core.shapes import Shape
from tensor_einsum.execution.memory import ThreadedKernel
from tensor_einsum.notation.interleaved import LabelLists
from tensor_einsum.plans.calls import bind_any
from tensor_einsum.plans.plan import cached_plan
from tensor_einsum.search.options import SearchOptions
from tensor_einsum.slices.needs import needed_bytes
from tensor_einsum.steps.arithmetic import Arithmetic
from tensor_runtime.backends.bindings import Binding, binding_cache
from tensor_runtime.backends.bounded_cache import CacheTable
from tensor_runtime.backends.workspaces import threads_in_force
from tensor_runtime.form import Form
from tensor_runtime.protocols import Kernel


class LimitedCall(NamedTuple):
    """What is planned: the arguments of ``cached_plan``."""

    operation: str
    source: str | LabelLists
    shapes: tuple[Shape, ...]
    dtypes: tuple[DType, ...]
    options: SearchOptions
    arithmetic: Arithmetic
    forms: tuple[Form, ...]


def bind_limited(call: LimitedCall, /) -> Binding:
    """The kernel of a call that keeps its limit whatever threads are set, and the form of its result.

    Raises:
        MemoryLimitError: no slices keep the limit; from the kernel as well, where it is called with other threads set.

    >>> from tensor_core import F64
    >>> from tensor_einsum.search.options import read_options
    >>> from tensor_einsum.steps.arithmetic import SUMS_OF_PRODUCTS
    >>> from tensor_runtime import ones
    >>> x, options = ones((20, 30)), read_options("einsum", {"memory_limit": 1000})
    >>> call = LimitedCall("einsum", "ij->i", ((20, 30),), (F64,), options, SUMS_OF_PRODUCTS, (x._form,))
    >>> kernel, form = bind_limited(call)
    >>> form, kernel(x._array)[0].item()
    (Form(F64, (20,), cpu), 30.0)
    """
    threads = threads_in_force.value
    found = cached_plan(*call)
    kernel, form = bind_any(found, call.forms)
    if found.sliced or needed_bytes(found, call.forms) > found.intermediate_bytes:
        kernel = ThreadedKernel(kernel, threads, partial(_bind_again, call))
    return kernel, form


def _bind_again(call: LimitedCall) -> Kernel:
    key = threads_in_force.value, call
    known = _calls.get(key)
    return (_calls.insert(key, bind_limited(call)) if known is None else known)[0]


_calls: Final[CacheTable[Binding]] = CacheTable(binding_cache)
"""What is called with other threads set than at first."""
