"""Ours, through the public interface: the memory of the row-major operands, read column-major."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tensor_runtime as tr
from benchmarks.contenders.base import Operations, Prepared
from benchmarks.drawing import Array


def read(result: Any) -> list[Any]:
    """The result as the peers number its axes."""
    return [result.to_numpy().T]


def permute(arguments: Mapping[str, Any], arrays: list[Array]) -> Prepared:
    """A view by explicit axes, made and materialised within the timing; the source may be a view, too."""
    source = tr.transpose_view(tr.asarray(arrays[0].T), tuple(arguments["source_axes"]))
    axes = tuple(arguments["axes_colmajor"])
    return Prepared(lambda: tr.copy(tr.transpose_view(source, axes)), read)


OPERATIONS: Operations = {"permute": permute}
