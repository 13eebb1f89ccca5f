"""Refusals of values that may come late: what kernels read when they are called; public in ``protocols``."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Final

from tensor_core.errors import TensorError

DEFERRED: Final[ContextVar[bool]] = ContextVar("tensor_runtime_checks_deferred", default=False)
"""Whether refusals of values may come late: True inside ``tensor_runtime.checks("deferred")``.

A kernel whose facts state that it refuses values may read this whenever it is called. Where it is True, the kernel may
note operation and index on its device instead of raising, at the least its stream's first such note, and return at
once: with a result of any elements, and with no operand changed. ``synchronize``, ``wait_for``, ``download``,
``Underway.result`` and ``DeviceStream.synchronize``, each for what it waits for, then raise the first note as the error
that the call would have raised, with its fields, and forget it and what was noted after it. Whatever else a kernel
raises it raises at once, and a backend that computes at once need not read this.
"""

RETOLD: Final[ContextVar[Callable[[TensorError], TensorError]]] = ContextVar(
    "tensor_runtime_refusals_retold", default=lambda error: error
)
"""From a refusal to what is raised in its place: an operation that calls another one says here what the user called.

A kernel that notes a refusal reads this when it does, and gives it the error when that is raised.
"""
