"""PyTorch on the CPU: eager functions without gradients."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from benchmarks.contenders.base import (
    MATRIX_OPERATIONS,
    Operations,
    Prepared,
    as_function,
    as_parts,
    decomposition,
    spelled,
)
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


def elementwise(arguments: Mapping[str, Any], arrays: list[Array]) -> Prepared:
    """The expression as it is written, one eager function after the other."""
    tensors = [torch.from_numpy(array) for array in arrays]
    for position in arguments.get("reversed", ()):
        tensors[position] = tensors[position].permute(tuple(reversed(range(tensors[position].ndim))))
    function = as_function(arguments["expression"], {"exp": torch.exp, "sin": torch.sin}, len(tensors))
    return prepared(lambda: function(*tensors))


def reduction(arguments: Mapping[str, Any], arrays: list[Array]) -> Prepared:
    """A sum, mean, spread or norm along one axis or all."""
    tensor, name = torch.from_numpy(arrays[0]), arguments["function"]
    axes = tuple(range(tensor.ndim)) if arguments["axis"] is None else (arguments["axis"],)
    if name in ("var", "std"):
        return prepared(lambda: getattr(torch, name)(tensor, dim=axes, correction=0))
    function = {"norm": torch.linalg.vector_norm, "max": torch.amax}.get(name) or getattr(torch, name)
    return prepared(lambda: function(tensor, dim=axes))


def everyday(arguments: Mapping[str, Any], arrays: list[Array]) -> Prepared:
    """What users type."""
    tensors = [torch.from_numpy(array) for array in arrays]
    function = spelled(arguments, "torch", vars(torch), len(arrays))
    return prepared(lambda: function(*tensors))


def max_plus(arguments: Mapping[str, Any], arrays: list[Array]) -> Prepared:
    """By broadcasting."""
    x, y = torch.from_numpy(arrays[0]), torch.from_numpy(arrays[1]).T.contiguous()
    return prepared(lambda: (x[:, None, :] + y[None, :, :]).amax(dim=2))


def matrices(operation: str) -> Callable[[Mapping[str, Any], list[Array]], Prepared]:
    """A function of ``torch.linalg``, batch axes first."""
    options = {"svd": {"full_matrices": False}, "triangular_solve": {"upper": False}}.get(operation, {})
    name = {"triangular_solve": "solve_triangular"}.get(operation, operation)

    def prepare(arguments: Mapping[str, Any], arrays: list[Array]) -> Prepared:
        function, tensors = getattr(torch.linalg, name), [torch.from_numpy(array) for array in arrays]
        run = prepared(lambda: function(*tensors, **options)).run
        return decomposition(operation, run, as_parts)

    return prepare


OPERATIONS: Operations = {
    "permute": permute,
    "elementwise": elementwise,
    "reduction": reduction,
    "everyday": everyday,
    "max-plus": max_plus,
    **{name: matrices(name) for name in MATRIX_OPERATIONS},
}
