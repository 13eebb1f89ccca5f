"""JAX on the CPU: compiled beforehand, in double precision; the time of compiling is reported apart."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.contenders.base import Operations, Prepared
from benchmarks.drawing import Array

jax: Any = import_module("jax")
jax.config.update("jax_enable_x64", True)
jnp: Any = import_module("jax.numpy")


def read(result: Any) -> list[Any]:
    """The result as an array."""
    return [np.asarray(result)]


def compiled(
    function: Callable[..., Any], arrays: Sequence[Array], read: Callable[[Any], list[Any]] = read
) -> Prepared:
    """The function compiled for these operands."""
    operands = [jnp.array(array) for array in arrays]
    arrays = []
    start = perf_counter()
    program = jax.jit(function).lower(*operands).compile()
    seconds = perf_counter() - start
    return Prepared(lambda: jax.block_until_ready(program(*operands)), read, seconds)


def permute(arguments: Mapping[str, Any], arrays: list[Array]) -> Prepared:
    """A transposition; without one, a copy, since a compiled function hands its argument back."""
    axes = tuple(arguments["axes"])
    if axes == tuple(range(len(axes))):
        operand = jnp.array(arrays[0])
        return Prepared(lambda: operand.copy().block_until_ready(), read)
    return compiled(lambda x: jnp.transpose(x, axes), arrays)


OPERATIONS: Operations = {"permute": permute}
