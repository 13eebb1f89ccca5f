"""What backends are given that make native functions for calls (``protocols.CallingBackend``)."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, NamedTuple

from tensor_core.dtypes import DType
from tensor_runtime.form import Form
from tensor_runtime.placement import Placement


class CallParts(NamedTuple):
    """What native calls are made of."""

    tensor: type
    """The class of tensors; its slots ``_form`` and ``_array`` are all that a tensor has."""
    mutable_view: type
    """Its one subclass."""
    form: type
    """The class of forms; ``placement`` is one of its slots."""
    spec: type
    """The class of specs; its slots ``found`` and ``name`` are the dictionary of bindings, and the operation."""
    placement: Placement
    """Of the tensors that the calls are for."""
    found: dict[bytes, tuple[Any, Form]]
    """Forms of results: by what was asked, the object that was asked for, which lives as long, and the form."""
    insert: Callable[[bytes, tuple[Any, Form]], object]
    """Puts an entry into that table, which may drop any of them at any time."""
    fail: Callable[[str, Exception, Any], object]
    """Raises what stands for a kernel's error: name of the operation, error, form of the result."""
    transfers: ContextVar[Any]
    """None unless transfers are recorded."""
    dtypes: tuple[DType, ...]
    """F32, F64, C32, C64, I32, I64, Bool."""
