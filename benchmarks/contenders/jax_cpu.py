"""JAX on the CPU: compiled beforehand, in double precision; the time of compiling is reported apart."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from time import perf_counter
from typing import Any

import numpy as np

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


def elementwise(arguments: Mapping[str, Any], arrays: list[Array]) -> Prepared:
    """The expression, fused by the compiler; axes are reversed inside, since an array of JAX has no strides."""
    backwards = arguments.get("reversed", ())
    function = as_function(arguments["expression"], {"exp": jnp.exp, "sin": jnp.sin}, len(arrays))
    return compiled(lambda *xs: function(*[x.T if k in backwards else x for k, x in enumerate(xs)]), arrays)


def reduction(arguments: Mapping[str, Any], arrays: list[Array]) -> Prepared:
    """A sum, mean, spread or norm along one axis or all."""
    name = arguments["function"]
    function = jnp.linalg.vector_norm if name == "norm" else getattr(jnp, name)
    return compiled(lambda x: function(x, axis=arguments["axis"]), arrays)


def everyday(arguments: Mapping[str, Any], arrays: list[Array]) -> Prepared:
    """What users type, compiled."""
    return compiled(spelled(arguments, "jax", {**vars(jnp), "jax": jax}, len(arrays)), arrays)


def max_plus(arguments: Mapping[str, Any], arrays: list[Array]) -> Prepared:
    """By broadcasting, which the compiler may fuse."""
    return compiled(lambda x, y: (x[:, :, None] + y[None, :, :]).max(axis=1), arrays)


def matrices(operation: str) -> Callable[[Mapping[str, Any], list[Array]], Prepared]:
    """A function of ``jax.numpy.linalg``, batch axes first."""
    options = {"svd": {"full_matrices": False}, "triangular_solve": {"lower": True}}.get(operation, {})

    def prepare(arguments: Mapping[str, Any], arrays: list[Array]) -> Prepared:
        if operation == "triangular_solve":
            function: Any = import_module("jax.scipy.linalg").solve_triangular
        else:
            function = getattr(jnp.linalg, operation)
        program = compiled(lambda *xs: function(*xs, **options), arrays)
        return decomposition(operation, program.run, as_parts, program.compile_seconds)

    return prepare


OPERATIONS: Operations = {
    "permute": permute,
    "elementwise": elementwise,
    "reduction": reduction,
    "everyday": everyday,
    "max-plus": max_plus,
    **{name: matrices(name) for name in MATRIX_OPERATIONS},
}
