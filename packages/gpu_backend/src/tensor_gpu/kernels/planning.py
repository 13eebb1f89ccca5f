"""What binders are given, and what they give: the link between names of operations and modules here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensor_gpu.device.executor import Executor
from tensor_runtime.form import Form, form_of
from tensor_runtime.protocols import Kernel

Binder = Callable[[Executor, tuple[Any, ...], Any, Any], Kernel]
"""From the device's executor, the forms of the operands, the form of the result and the params to a kernel."""


def compact(form: Form, /) -> Form:
    """The form of a compact tensor of the same shape.

    >>> from tensor_core import F64
    >>> from tensor_runtime.placement import CPU
    >>> compact(form_of(F64, (3,), CPU, (-1,))).strides
    (1,)
    """
    return form if form.is_compact else form_of(form.dtype, form.shape, form.placement)
