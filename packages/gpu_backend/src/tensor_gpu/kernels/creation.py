"""Arrays that are made from numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from tensor_core.dtypes import FLOATING, DType
from tensor_gpu.device.arrays import DeviceArray
from tensor_gpu.device.executor import Executor
from tensor_gpu.device.program import Argument, Program
from tensor_gpu.kernels.expressions import checked_number
from tensor_gpu.kernels.planning import Binder
from tensor_gpu.programs.creation import arange_program, eye_program, full_program, linspace_program
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


def bind_eye(executor: Executor, operands: tuple[Any, ...], result: Form, params: Any, /) -> Kernel:
    """Ones on the main diagonal.

    >>> from tensor_gpu.sim.bench import Bench
    >>> bench = Bench()
    >>> bench.run("eye", result=bench.form((2, 3)))
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    """
    return _written(executor, result, eye_program(result.dtype), lambda: (result.shape[0],))


def bind_arange(executor: Executor, operands: tuple[Any, ...], result: Form, params: Any, /) -> Kernel:
    """Numbers at equal distances.

    >>> from tensor_gpu.sim.bench import Bench
    >>> bench = Bench()
    >>> form = bench.form((3,))
    >>> bench.get((bind_arange(bench.executor, (), form, None)(0.5, 0.25), form))
    [0.5, 0.75, 1.0]
    """
    dtype = result.dtype
    of_integers = _written(executor, result, arange_program(dtype, True), lambda *numbers: map(int, numbers))
    of_floats = _written(executor, result, arange_program(dtype, False), lambda *numbers: map(float, numbers))
    floating = dtype in FLOATING

    def spaced(start: float, step: float) -> DeviceArray:
        whole = not floating and isinstance(start, int) and isinstance(step, int)
        made: DeviceArray = (of_integers if whole else of_floats)(start, step)
        return made

    return spaced


def bind_linspace(executor: Executor, operands: tuple[Any, ...], result: Form, params: Any, /) -> Kernel:
    """Numbers that part an interval into equal pieces.

    >>> from tensor_gpu.sim.bench import Bench
    >>> bench = Bench()
    >>> form = bench.form((3,))
    >>> bench.get((bind_linspace(bench.executor, (), form, None)(0.0, 1.0, True), form))
    [0.0, 0.5, 1.0]
    """
    number = Number(KINDS[result.dtype.kind], result.dtype)

    def arguments(start: complex, stop: complex, endpoint: bool) -> Iterable[Argument]:
        return (*number.arguments(start), *number.arguments(stop), int(endpoint))

    return _written(executor, result, linspace_program(result.dtype), arguments)


def _written(
    executor: Executor, result: Form, program: Program, arguments: Callable[..., Iterable[Argument]], /
) -> Kernel:
    """A program with the arguments target, those of the call, number of elements."""
    size = result.size

    def written(*given: Any) -> DeviceArray:
        target = executor.empty(result)
        if size:
            executor.launch(program, size, (target.address, *arguments(*given), size), reads=(), writes=(target,))
        return target

    return written


BINDERS: Final[Mapping[str, Binder]] = {
    "empty": bind_empty,
    "full": bind_full,
    "eye": bind_eye,
    "arange": bind_arange,
    "linspace": bind_linspace,
}
