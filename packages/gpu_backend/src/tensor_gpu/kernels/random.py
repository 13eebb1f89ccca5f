"""Random numbers, of the bits that ``tensor_runtime.ops.random`` fixes: one launch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from tensor_gpu.device.arrays import DeviceArray
from tensor_gpu.device.executor import Executor
from tensor_gpu.kernels.planning import Binder
from tensor_gpu.programs.random import random_program
from tensor_runtime.form import Form
from tensor_runtime.protocols import Kernel


def bind_random(executor: Executor, name: str, result: Form, /) -> Kernel:
    """From seed and stream, and for integers the smallest one and how many there are, to an array.

    >>> from tensor_core import I32
    >>> from tensor_gpu.sim.bench import Bench
    >>> bench = Bench()
    >>> form = bench.form((3,), I32)
    >>> bench.get((bind_random(bench.executor, "integers", form)(1, 0, -5, 1), form))
    [-5, -5, -5]
    """
    program = random_program(name, result.dtype.component)
    parts = result.size * (2 if result.dtype.kind == "complex" else 1)
    blocks = -(-parts // 4)

    def drawn(*numbers: int) -> DeviceArray:
        target = executor.empty(result)
        if parts:
            given = (target.address, *map(_signed, numbers), parts)
            executor.launch(program, blocks, given, reads=(), writes=(target,))
        return target

    return drawn


def _signed(number: int) -> int:
    """The number with the same 64 bits that a ``long long`` holds; 2**64 is 0."""
    return (number + 2**63) % 2**64 - 2**63


def _random(name: str) -> Binder:
    def bind(executor: Executor, operands: tuple[Any, ...], result: Form, params: Any) -> Kernel:
        return bind_random(executor, name, result)

    return bind


BINDERS: Final[Mapping[str, Binder]] = {name: _random(name) for name in ("uniform", "integers", "normal")}
