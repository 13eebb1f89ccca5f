"""PyTorch on the CPU: eager functions without gradients."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from benchmarks.contenders.base import Operations, Prepared
from benchmarks.drawing import Array

torch: Any = import_module("torch")
torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))


def read(result: Any) -> list[Any]:
    """The result as an array."""
    return [result.numpy()]


def prepared(run: Callable[[], Any], read: Callable[[Any], list[Any]] = read) -> Prepared:
    """The operation without gradients, as its users run it."""

    def without_gradients() -> Any:
        with torch.inference_mode():
            return run()

    return Prepared(without_gradients, read)


def permute(arguments: Mapping[str, Any], arrays: list[Array]) -> Prepared:
    """``permute`` and a contiguous copy; ``contiguous`` alone would return a view of an unpermuted tensor."""
    source, axes = torch.from_numpy(arrays[0]), tuple(arguments["axes"])
    return prepared(lambda: source.permute(axes).clone(memory_format=torch.contiguous_format))


OPERATIONS: Operations = {"permute": permute}
