"""opt_einsum and cotengra: expressions prepared once, along the path that everybody follows or one of their own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from benchmarks.contenders.base import Operations, Prepared
from benchmarks.contenders.numpy_scipy import read
from benchmarks.drawing import Array

MANY: Final = 10**6
"""Repeats of a search that ends by the clock."""


def _expression(arguments: Mapping[str, Any], arrays: list[Array]) -> Any:
    import opt_einsum

    optimize: Any
    if "path" in arguments:
        optimize = [tuple(step) for step in arguments["path"]]
    else:
        optimize = opt_einsum.RandomGreedy(max_repeats=MANY, max_time=arguments["search_seconds"])
    shapes = [array.shape for array in arrays]
    return opt_einsum.contract_expression(arguments["subscripts"], *shapes, optimize=optimize)


def on_numpy(arguments: Mapping[str, Any], arrays: list[Array]) -> Prepared:
    """opt_einsum's expression on NumPy, which is also the reference."""
    expression = _expression(arguments, arrays)
    return Prepared(lambda: expression(*arrays), read)


def on_torch(arguments: Mapping[str, Any], arrays: list[Array]) -> Prepared:
    """opt_einsum's expression on PyTorch, without gradients."""
    from benchmarks.contenders import torch_cpu

    expression, tensors = _expression(arguments, arrays), [torch_cpu.torch.from_numpy(array) for array in arrays]
    return torch_cpu.prepared(lambda: expression(*tensors, backend="torch"))


def on_jax(arguments: Mapping[str, Any], arrays: list[Array]) -> Prepared:
    """opt_einsum's expression, compiled as a whole by JAX."""
    from benchmarks.contenders import jax_cpu

    expression = _expression(arguments, arrays)
    return jax_cpu.compiled(lambda *operands: expression(*operands, backend="jax"), arrays)


def by_cotengra(arguments: Mapping[str, Any], arrays: list[Array]) -> Prepared:
    """cotengra's expression on NumPy."""
    import cotengra

    optimize: Any
    if "path" in arguments:
        optimize = [tuple(step) for step in arguments["path"]]
    else:
        optimize = cotengra.HyperOptimizer(max_time=arguments["search_seconds"], reconf_opts={}, parallel=False)
    shapes = [array.shape for array in arrays]
    expression = cotengra.einsum_expression(arguments["subscripts"], *shapes, optimize=optimize)
    return Prepared(lambda: expression(*arrays), read)


NUMPY: Operations = {"einsum": on_numpy}
TORCH: Operations = {"einsum": on_torch}
JAX: Operations = {"einsum": on_jax}
COTENGRA: Operations = {"einsum": by_cotengra}
