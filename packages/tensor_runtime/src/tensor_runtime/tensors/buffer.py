"""Buffers: a tensor's memory, handed out on request.

The pipeline holds the backend's bare array; these two are made when somebody asks for ``x.buffer``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from tensor_runtime.placement import Placement


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
