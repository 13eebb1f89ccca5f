"""Arrays that are made from numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
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
    submit, kind = submit_full(executor, result), KINDS[result.dtype.kind]

    def full(value: complex) -> DeviceArray:
        target = executor.empty(result)
        submit(target, kind(value))
        return target

    return full


def submit_full(executor: Executor, form: Form, /) -> Callable[[DeviceArray, complex], None]:
    """What writes one number everywhere into a compact array.

    >>> from tensor_gpu.sim.bench import Bench
    >>> bench = Bench()
    >>> x = bench.put([1.0, 2.0])
    >>> submit_full(bench.executor, x.form)(x.array, 7.0)
    >>> bench.get(x)
    [7.0, 7.0]
    """
    arguments = checked_number("full", number_of(form.dtype))
    program, size = full_program(form.dtype), form.size

    def submit(target: DeviceArray, value: complex) -> None:
        if size:
            executor.launch(program, size, (target.address, *arguments(value), size), reads=(), writes=(target,))

    return submit


BINDERS: Final[Mapping[str, Binder]] = {"empty": bind_empty, "full": bind_full}
