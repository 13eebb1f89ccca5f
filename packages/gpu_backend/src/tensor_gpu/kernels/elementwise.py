"""Elementwise kernels: expressions of one step, and chains of them that a fused function makes.

A kernel is planned once; a call makes the result's memory and submits one launch.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from tensor_core.errors import CastRangeError
from tensor_gpu.device.arrays import DeviceArray
from tensor_gpu.device.executor import Executor
from tensor_gpu.kernels.expressions import bind_expression, chain, one_step, submitter
from tensor_gpu.kernels.planning import Binder, compact
from tensor_runtime.backends.xp_tables import elementwise as rows
from tensor_runtime.contracts.elementwise import STEP_PARAMS
from tensor_runtime.form import Form
from tensor_runtime.protocols import Kernel, Operand

CHECKED: Final = frozenset({"floor_divide", "remainder", "fmod", "pow"})
"""Rows of the array namespace that refuse values, and are bound elsewhere."""
ACTIVATIONS: Final = frozenset({"relu", "sigmoid", "silu", "softplus"})
UNARY: Final = frozenset(rows.UNARY) | ACTIVATIONS | {"rsqrt", "erf", "erfc", "real", "imag", "convert", "copy"}
BINARY: Final = frozenset(rows.BINARY) - CHECKED | {"complex"}
TERNARY: Final = frozenset({"where", "clip"})


def bind_step(
    executor: Executor, kernel: str, operands: tuple[Operand, ...], result: Form, params: Any, name: str = "", /
) -> Kernel:
    """The kernel of one elementwise operation; its errors name the kernel, or what the user called.

    >>> from tensor_gpu.sim.bench import Bench
    >>> bench = Bench()
    >>> bench.run("maximum", bench.put([1.0, 3.0]), 2.0)
    [2.0, 3.0]
    """
    kinds = [operand.dtype if isinstance(operand, Form) else operand for operand in operands]
    return bind_expression(executor, one_step(kernel, kinds, result.dtype, params), operands, result, name or kernel)


def bind_comparison(
    executor: Executor, kernel: str, operands: tuple[Operand, ...], result: Form, params: Any, /
) -> Kernel:
    """A comparison; every element is nearer to zero than an int that the tensor's type does not hold.

    >>> from tensor_core import Bool, I32
    >>> from tensor_gpu.sim.bench import Bench
    >>> bench = Bench()
    >>> bench.run("less", bench.put([1, 2], I32), 2**40, result=bench.form((2,), Bool))
    [True, True]
    """
    usual = bind_step(executor, kernel, operands, result, params)
    if int not in operands:
        return usual
    kinds = tuple(float if kind is int else kind for kind in operands)

    def compared(*arrays: Any) -> DeviceArray:
        try:
            found: DeviceArray = usual(*arrays)
        except (CastRangeError, OverflowError):
            far = [float("inf" if one > 0 else "-inf") if type(one) is int else one for one in arrays]
            found = bind_step(executor, kernel, kinds, result, params)(*far)
        return found

    return compared


def bind_fused(executor: Executor, operands: tuple[Any, ...], result: Any, params: Any, /) -> Kernel:
    """A chain of elementwise operations in one launch.

    >>> from tensor_gpu.sim.bench import Bench
    >>> from tensor_runtime.contracts.elementwise import ProgramParams, ProgramStep
    >>> bench = Bench()
    >>> x = bench.put([1.0, 2.0])
    >>> steps = (ProgramStep("multiply", (0, 0), x.form), ProgramStep("add", (1, ("constant", 1.0)), x.form))
    >>> bench.run("elementwise_program", x, params=ProgramParams(steps))
    [2.0, 5.0]
    """
    kinds = [operand.dtype if isinstance(operand, Form) else operand for operand in operands]
    expression, constants = chain(kinds, params)
    kernel = bind_expression(executor, expression, (*operands, *map(type, constants)), result, "elementwise_program")
    return lambda *arrays: kernel(*arrays, *constants)


def bind_copy_into(executor: Executor, operands: tuple[Any, ...], result: Any, params: Any, /) -> Kernel:
    """Writes the second array's elements into the first, as if they were copied first where both share memory.

    >>> from tensor_gpu.sim.bench import Bench
    >>> bench = Bench()
    >>> x, y = bench.put([1.0, 2.0]), bench.put([3.0, 4.0])
    >>> bind_copy_into(bench.executor, (x.form, y.form), x.form, None)(x.array, y.array)
    >>> bench.get(x)
    [3.0, 4.0]
    """
    target, source = operands
    expression = one_step("convert", (source.dtype,), target.dtype, STEP_PARAMS["convert"])
    submit = submitter(executor, expression, (source,), target.shape, target.strides, "copy_into")
    copied = compact(source)
    copy = bind_step(executor, "copy", (source,), copied, None)
    submit_copy = submitter(executor, expression, (copied,), target.shape, target.strides, "copy_into")

    def copy_into(written: DeviceArray, read: DeviceArray) -> None:
        if written.allocation is read.allocation:
            submit_copy(written, [copy(read)])
        else:
            submit(written, [read])

    return copy_into


def _step(kernel: str) -> Binder:
    bind = bind_comparison if kernel in rows.COMPARISONS else bind_step
    return lambda executor, operands, result, params: bind(executor, kernel, operands, result, params)


BINDERS: Final[Mapping[str, Binder]] = {
    **{name: _step(name) for name in sorted(UNARY | BINARY | TERNARY)},
    "copy_into": bind_copy_into,
    "elementwise_program": bind_fused,
}
