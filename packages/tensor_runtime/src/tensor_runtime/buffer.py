"""Buffers: a tensor's memory, handed out on request.

The pipeline holds the backend's bare array; these two are made when somebody asks for ``x.buffer``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from tensor_runtime.creation import to_numpy
from tensor_runtime.placement import Placement
from tensor_runtime.registry import registry
from tensor_runtime.tensors import Tensor


class HostBuffer(NamedTuple):
    """Memory that this process can read."""

    placement: Placement
    nbytes: int  # of the elements, without gaps
    array: Any  # an object with __array_interface__, axes in the tensor's order


class BackendBuffer(NamedTuple):
    """Memory that only its backend understands."""

    placement: Placement
    nbytes: int  # of the elements, without gaps
    array: Any  # the backend's own array


def buffer_of(x: Tensor, /) -> HostBuffer | BackendBuffer:
    """The memory of a tensor; shares it, copies nothing.

    >>> buffer_of(tensor([1, 2])).nbytes
    16
    """
    if hasattr(registry.backend_for(x.placement), "lend"):
        return HostBuffer(x.placement, x.nbytes, to_numpy(x))
    return BackendBuffer(x.placement, x.nbytes, x._array)
