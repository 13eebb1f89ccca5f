"""Expressions, and how they get to a device: types in which steps compute, walks over operands, launches.

Everything here is planned once for operands of given forms; what it gives submits one launch at each call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import prod
from typing import Any

from tensor_core.dtypes import FLOATING, Bool, DType
from tensor_core.promotion import promote, promote_scalar
from tensor_core.shapes import Shape, compact_strides
from tensor_gpu.device.api import MOST_THREADS
from tensor_gpu.device.arrays import DeviceArray
from tensor_gpu.device.executor import Executor
from tensor_gpu.device.program import Program
from tensor_gpu.kernels.tiling import tiling
from tensor_gpu.kernels.walks import Walk, broadcast_strides, walk
from tensor_gpu.programs.elementwise import Expression, Number, Step, elementwise_program
from tensor_gpu.programs.transposition import transposition_program
from tensor_runtime.backends.shared.value_errors import number_out_of_range
from tensor_runtime.contracts.elementwise import STEP_PARAMS, ProgramParams
from tensor_runtime.form import Form
from tensor_runtime.protocols import Kernel, Operand

Submit = Callable[[DeviceArray, Sequence[Any]], None]
"""Submits one launch that writes an array, given the operands: arrays and Python numbers."""


def computed_in(kernel: str, operands: Sequence[DType | type], result: DType, /) -> tuple[DType, ...]:
    """The type in which each operand of a step is taken.

    >>> from tensor_core import F64, I32
    >>> computed_in("add", (I32, F64), F64), computed_in("where", (Bool, I32, float), F64)
    ((F64, F64), (Bool, F64, F64))
    """
    if kernel == "where":
        return (Bool, result, result)
    if kernel == "clip":
        return (result,) * 3
    if kernel == "complex":
        return (result.component,) * 2
    common = promoted(operands)
    if kernel not in ("convert", "copy", "cast") and result in FLOATING and common not in FLOATING:
        common = result
    return (common,) * len(operands)


def promoted(operands: Sequence[DType | type], /) -> DType:
    """The common type of tensors' types, and of types of Python numbers, which are weak.

    >>> from tensor_core import F32, I32
    >>> promoted((I32, F32)), promoted((F32, int))
    (F64, F32)
    """
    common, *others = [dtype for dtype in operands if isinstance(dtype, DType)]
    for dtype in others:
        common = promote(common, dtype)
    for number in operands:
        if not isinstance(number, DType):
            common = promote_scalar(common, number)
    return common


def one_step(kernel: str, operands: Sequence[DType | type], result: DType, params: Any = None, /) -> Expression:
    """The expression of one elementwise kernel.

    >>> from tensor_core import F64
    >>> one_step("add", (F64, int), F64).operands
    (F64, Number(kind=<class 'int'>, dtype=F64))
    """
    taken = computed_in(kernel, operands, result)
    given = tuple(
        kind if isinstance(kind, DType) else Number(kind, dtype) for kind, dtype in zip(operands, taken, strict=True)
    )
    return Expression(given, (Step(kernel, tuple(range(len(operands))), taken, result, params),))


def chain(operands: Sequence[DType | type], params: ProgramParams, /) -> tuple[Expression, tuple[complex, ...]]:
    """The expression of a chain of elementwise kernels, and its constants, which are its last operands.

    >>> from tensor_core import F64
    >>> from tensor_gpu.sim.bench import Bench
    >>> from tensor_runtime.contracts.elementwise import ProgramStep
    >>> steps = (ProgramStep("multiply", (0, ("constant", 2.0)), Bench().form((3,))),)
    >>> expression, constants = chain((F64,), ProgramParams(steps))
    >>> len(expression.operands), constants
    (2, (2.0,))
    """
    constants = tuple(one[1] for step in params.steps for one in step.operands if isinstance(one, tuple))
    types: list[DType | type] = [*operands, *map(type, constants)]
    first, inputs = len(operands), len(types)
    unused = iter(range(first, inputs))
    taken: dict[int, DType] = {}
    steps: list[Step] = []
    for kernel, references, form in params.steps:
        places = tuple(_place(reference, first, len(constants), unused) for reference in references)
        kinds = [types[place] for place in places]
        computed = computed_in(kernel, kinds, form.dtype)
        for place, kind, dtype in zip(places, kinds, computed, strict=True):
            if not isinstance(kind, DType):
                taken[place] = promote(taken.get(place, dtype), dtype)
        steps.append(Step(kernel, places, computed, form.dtype, STEP_PARAMS.get(kernel)))
        types.append(form.dtype)
    given = tuple(
        kind if isinstance(kind, DType) else Number(kind, taken[place]) for place, kind in enumerate(types[:inputs])
    )
    return Expression(given, tuple(steps)), constants


def _place(reference: int | tuple[str, Any], first: int, constants: int, unused: Iterator[int]) -> int:
    """Where a step finds an operand: operands come first, constants then, results of steps last."""
    if isinstance(reference, tuple):
        return next(unused)
    return reference if reference < first else reference + constants


def bind_expression(
    executor: Executor, expression: Expression, operands: Sequence[Operand], result: Form, name: str, /
) -> Kernel:
    """The kernel that computes an expression of operands that broadcast to the result's shape.

    >>> from tensor_gpu.sim.bench import Bench
    >>> bench = Bench()
    >>> x = bench.put([1.0, 2.0])
    >>> square = one_step("multiply", (x.form.dtype,) * 2, x.form.dtype)
    >>> kernel = bind_expression(bench.executor, square, (x.form, x.form), x.form, "square")
    >>> bench.get((kernel(x.array, x.array), x.form))
    [1.0, 4.0]
    """
    submit = submitter(executor, expression, operands, result.shape, compact_strides(result.shape), name)

    def kernel(*arrays: Any) -> DeviceArray:
        target = executor.empty(result)
        submit(target, arrays)
        return target

    return kernel


def submitter(
    executor: Executor, expression: Expression, operands: Sequence[Operand], shape: Shape, strides: Shape, name: str, /
) -> Submit:
    """What computes an expression into memory of a shape and strides.

    Args:
        executor: of the device.
        expression: what is computed.
        operands: forms that broadcast to the shape, or types of Python numbers.
        shape: of the target.
        strides: of the target, in elements; no element is named twice.
        name: of the operation, for errors.

    >>> from tensor_gpu.sim.bench import Bench
    >>> bench = Bench()
    >>> x, y = bench.put([1.0, 2.0]), bench.put([0.0, 0.0, 0.0])
    >>> copy = one_step("copy", (x.form.dtype,), x.form.dtype)
    >>> submitter(bench.executor, copy, (x.form,), (2,), (2,), "spread")(y.array, [x.array])
    >>> bench.get(y)
    [1.0, 0.0, 2.0]
    """
    given = [broadcast_strides(operand, shape) for operand in operands if isinstance(operand, Form)]
    return walker(executor, expression, shape, [strides, *given], name)


def walker(executor: Executor, expression: Expression, shape: Shape, strides: Sequence[Shape], name: str, /) -> Submit:
    """What computes an expression of elements that lie anywhere.

    Args:
        executor: of the device.
        expression: what is computed.
        shape: of the target.
        strides: of the target, of which no element is named twice, and of each operand that is an array.
        name: of the operation, for errors.

    >>> from tensor_gpu.sim.bench import Bench
    >>> bench = Bench()
    >>> x, y = bench.put([1.0, 2.0]), bench.put([0.0] * 4)
    >>> copy = one_step("copy", (x.form.dtype,), x.form.dtype)
    >>> walker(bench.executor, copy, (2, 2), [(1, 2), (0, 1)], "repeat")(y.array, [x.array])
    >>> bench.get(y)
    [1.0, 1.0, 2.0, 2.0]
    """
    size = prod(shape)
    program, threads, fixed = _planned(expression, size, walk(shape, strides))
    numbers = [checked_number(name, kind) if isinstance(kind, Number) else None for kind in expression.operands]

    def submit(target: DeviceArray, values: Sequence[Any]) -> None:
        arguments: list[int | float] = [target.address]
        read = []
        for value, number in zip(values, numbers, strict=True):
            if number is not None:
                arguments.extend(number(value))
            else:
                arguments.append(value.address)
                read.append(value)
        if size:
            executor.launch(program, threads, (*arguments, *fixed), reads=read, writes=(target,))

    return submit


def _planned(expression: Expression, size: int, walked: Walk) -> tuple[Program, int, tuple[int, ...]]:
    """The program, its threads, and the arguments that follow the addresses: by tiles where both arrays gain."""
    rank, strides = len(walked.extents), tuple(stride for along in walked.strides for stride in along)
    operand = expression.operands[0]
    if len(expression.operands) == 1 and not isinstance(operand, Number):
        itemsize = min(operand.itemsize, expression.result.itemsize)
        written, read = walked.strides
        tiles = tiling(walked.extents, written, read, itemsize)
        if tiles is not None:
            program = transposition_program(expression, rank)
            cuts = (*walked.extents, *tiles.chunks, *tiles.near, *tiles.far)
            return program, tiles.blocks * MOST_THREADS, (tiles.tiles, tiles.volume, *cuts, *strides)
    program = elementwise_program(expression, rank, walked.is_contiguous)
    return program, size, (size,) if walked.is_contiguous else (size, *walked.extents, *strides)


def copier(
    executor: Executor, source: DType, target: DType, shape: Shape, written: Shape, read: Shape, /
) -> Callable[[DeviceArray, DeviceArray], None]:
    """What copies elements of one type to places of the same or another one, which can hold them, given both arrays.

    >>> from tensor_core import F64
    >>> from tensor_gpu.sim.bench import Bench
    >>> bench = Bench()
    >>> x, y = bench.put([1.0, 2.0]), bench.put([0.0, 0.0])
    >>> copier(bench.executor, F64, F64, (2,), (1,), (-1,))(y.array, x.array.moved(1))
    >>> bench.get(y)
    [2.0, 1.0]
    """
    step = "copy" if source is target else "convert"
    submit = walker(executor, one_step(step, (source,), target, STEP_PARAMS.get(step)), shape, [written, read], step)
    return lambda to, of: submit(to, (of,))


def checked_number(name: str, number: Number, /) -> Callable[[complex], tuple[int | float, ...]]:
    """From a Python number to the arguments that stand for it; one that the type does not hold is refused.

    >>> from tensor_core import I32
    >>> checked_number("add", Number(int, I32))(7)
    (7,)
    >>> checked_number("add", Number(int, I32))(2**31)
    Traceback (most recent call last):
    tensor_core.errors.CastRangeError: add: the number 2147483648 does not fit I32; convert the tensor to a wider dtype
    first
    """
    limit = 2 ** (number.dtype.itemsize * 8 - 1)
    whole = number.dtype.kind == "int"

    def arguments(value: complex) -> tuple[int | float, ...]:
        if whole and not -limit <= value.real < limit:
            raise number_out_of_range(name, value, number.dtype)
        try:
            return number.arguments(value)
        except OverflowError as error:
            raise number_out_of_range(name, value, number.dtype) from error

    return arguments
