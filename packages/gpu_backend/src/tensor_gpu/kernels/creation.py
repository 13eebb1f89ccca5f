"""Arrays that are made from numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from tensor_core.dtypes import DType
from tensor_gpu.device.arrays import DeviceArray
from tensor_gpu.device.executor import Executor
from tensor_gpu.kernels.expressions import checked_number
from tensor_gpu.kernels.planning import Binder
from tensor_gpu.programs.creation import full_program
from tensor_gpu.programs.elementwise import Number
from tensor_runtime.form import Form
from tensor_runtime.protocols import Kernel

KINDS: Final[Mapping[str, type]] = {"bool": bool, "int": int, "float": float, "complex": complex}
"""The Python number of each kind of element."""


def number_of(dtype: DType, /) -> Number:
    """A number that is given as an element of a type.

    >>> from tensor_core import C32
    >>> number_of(C32).kind
    <class 'complex'>
    """
    return Number(KINDS[dtype.kind], dtype)


def bind_empty(executor: Executor, operands: tuple[Any, ...], result: Form, params: Any, /) -> Kernel:
    """Memory as it comes."""
    return lambda: executor.empty(result)


def bind_full(executor: Executor, operands: tuple[Any, ...], result: Form, params: Any, /) -> Kernel:
    """One number everywhere.

    >>> from tensor_gpu.sim.bench import Bench
    >>> bench = Bench()
    >>> form = bench.form((2,))
    >>> bench.get((bind_full(bench.executor, (), form, None)(3.0), form))
    [3.0, 3.0]
    """
    number = number_of(result.dtype)
    arguments = checked_number("full", number)
    program, size = full_program(result.dtype), result.size

    def full(value: complex) -> DeviceArray:
        target = executor.empty(result)
        if size:
            given = arguments(number.kind(value))
            executor.launch(program, size, (target.address, *given, size), reads=(), writes=(target,))
        return target

    return full


BINDERS: Final[Mapping[str, Binder]] = {"empty": bind_empty, "full": bind_full}
