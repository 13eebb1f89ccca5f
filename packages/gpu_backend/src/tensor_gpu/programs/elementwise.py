"""Programs that compute each element of a result from the operands' elements at its own index.

The source is written from the steps of an expression: a loop over elements, in which each step calls one function of
``cuda`` on numbers of the type that it computes in. Arguments of a launch are the address of the result,
those of the operands (or numbers: one argument for each component), the number of elements, and unless all arrays are
walked from one element to the next, the extents and each array's strides.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import numpy as np

from tensor_core.dtypes import INTEGER, DType
from tensor_gpu.device.program import Argument, HostMemory, Program, made_once
from tensor_gpu.programs.loops import loop_over, offsets, walk_parameters, walked
from tensor_gpu.programs.meaning import Elements, compute
from tensor_gpu.programs.source import TYPES, header, loaded, stored
from tensor_runtime.contracts.elementwise import ProgramParams, ProgramStep
from tensor_runtime.form import form_of
from tensor_runtime.placement import CPU

MOVES: Final = frozenset({"cast", "convert", "copy", "where"})
"""Steps that compute nothing, as counts of operations have it."""


class Number(NamedTuple):
    """An operand that is a Python number, given at each launch in the components of the type that it is computed in."""

    kind: type
    dtype: DType

    @property
    def width(self) -> int:
        """Arguments that it takes."""
        return 2 if self.dtype.kind == "complex" else 1

    def arguments(self, value: complex, /) -> tuple[Argument, ...]:
        """The arguments for a value that the type holds.

        >>> from tensor_core import C64, I32
        >>> Number(float, C64).arguments(2.5), Number(bool, I32).arguments(True)
        ((2.5, 0.0), (1,))
        """
        if self.dtype.kind == "complex":
            return float(value.real), float(value.imag)
        assert not isinstance(value, complex)
        return (float(value) if self.dtype.kind == "float" else int(value),)

    def value(self, arguments: tuple[Argument, ...], /) -> complex:
        """The number again, as a number of its Python type.

        >>> from tensor_core import F32
        >>> Number(int, F32).value((3.0,))
        3
        """
        given = complex(*arguments) if self.width == 2 else arguments[0]
        number: complex = given if self.kind is complex else self.kind(given.real)
        return number


class Step(NamedTuple):
    """One function of an expression."""

    kernel: str
    operands: tuple[int, ...]  # operand k of the expression for k below their number n, the result of step k - n beyond
    computed: tuple[DType, ...]  # the type in which each operand is taken
    result: DType
    params: Any = None


class Expression(NamedTuple):
    """Steps that follow one another; the last one gives the result."""

    operands: tuple[DType | Number, ...]
    steps: tuple[Step, ...]

    @property
    def result(self) -> DType:
        """Of the last step."""
        return self.steps[-1].result


class ElementwiseArguments(NamedTuple):
    """The arguments of a launch, by what they are."""

    target: int
    operands: tuple[int | complex, ...]  # addresses and numbers
    shape: tuple[int, ...]
    strides: tuple[tuple[int, ...], ...]  # of the target, and of each operand that is no number


@made_once
def elementwise_program(expression: Expression, rank: int, contiguous: bool, /) -> Program:
    """The program of an expression over so many axes.

    >>> from tensor_core import F64
    >>> square = Expression((F64,), (Step("multiply", (0, 0), (F64, F64), F64),))
    >>> program = elementwise_program(square, 1, True)
    >>> print(program.source.partition("extern")[2])
     "C" __global__ void elementwise(double* target, const double* x0, long long size) {
        const long long stride = (long long)gridDim.x * blockDim.x;
        for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < size; i += stride) {
            const double v0 = x0[i];
            const double v1 = f_multiply(to<double>(v0), to<double>(v0));
            target[i] = to<double>(v1);
        }
    }
    <BLANKLINE>
    """

    def meaning(memory: HostMemory, arguments: tuple[Argument, ...]) -> None:
        given = decoded(expression, rank, contiguous, arguments)
        compute_expression(memory, expression, given)

    steps = counted_steps(expression)

    def flops(arguments: tuple[Argument, ...]) -> int:
        return steps * target_size(decoded(expression, rank, contiguous, arguments).shape) if steps else 0

    return Program("elementwise", _source(expression, rank, contiguous), meaning, flops)


def decoded(
    expression: Expression, rank: int, contiguous: bool, arguments: tuple[Argument, ...], /
) -> ElementwiseArguments:
    """What the arguments of a launch are.

    >>> from tensor_core import F64
    >>> twice = Expression((F64, Number(float, F64)), (Step("multiply", (0, 1), (F64, F64), F64),))
    >>> decoded(twice, 1, False, (4096, 8192, 2.0, 10, 10, 1, -1))
    ElementwiseArguments(target=4096, operands=(8192, 2.0), shape=(10,), strides=((1,), (-1,)))
    """
    position = 1
    operands: list[int | complex] = []
    for operand in expression.operands:
        if isinstance(operand, Number):
            operands.append(operand.value(arguments[position : position + operand.width]))
            position += operand.width
        else:
            operands.append(int(arguments[position].real))
            position += 1
    arrays = 1 + sum(not isinstance(operand, Number) for operand in expression.operands)
    whole = [int(argument) for argument in arguments[position:]]
    size, rest = whole[0], whole[1:]
    if contiguous:
        return ElementwiseArguments(int(arguments[0]), tuple(operands), (size,), ((1,),) * arrays)
    shape, strides = walked(rank, arrays, rest)
    return ElementwiseArguments(int(arguments[0]), tuple(operands), shape, strides)


def counted_steps(expression: Expression, /) -> int:
    """How many steps compute something, for counts of operations.

    >>> from tensor_core import F64
    >>> counted_steps(Expression((F64,), (Step("copy", (0,), (F64,), F64), Step("exp", (1,), (F64,), F64))))
    1
    """
    return sum(step.kernel not in MOVES for step in expression.steps)


def compute_expression(memory: HostMemory, expression: Expression, given: ElementwiseArguments, /) -> None:
    """What a launch means: the expression, by kernels of the CPU backend.

    >>> from tensor_core import F64
    >>> from tensor_gpu.sim.memory import SimulatedMemory
    >>> memory = SimulatedMemory(0, 1 << 12)
    >>> x, y = (Elements(memory.allocate(16), F64, (2,), (1,)) for _ in range(2))
    >>> x.of(memory)[...] = [1.0, 2.0]
    >>> twice = Expression((F64,), (Step("add", (0, 0), (F64, F64), F64),))
    >>> compute_expression(memory, twice, ElementwiseArguments(y.address, (x.address,), (2,), ((1,), (1,))))
    >>> y.of(memory).tolist()
    [2.0, 4.0]
    """
    target = Elements(given.target, expression.result, given.shape, given.strides[0])
    if not target_size(given.shape):
        return
    strides = iter(given.strides[1:])
    operands: list[Elements | complex] = [
        value if isinstance(kind, Number) else Elements(int(value.real), kind, given.shape, next(strides))
        for kind, value in zip(expression.operands, given.operands, strict=True)
    ]
    if len(expression.steps) == 1:
        (step,) = expression.steps
        given_to_step = [operands[place] for place in step.operands]
        if step.kernel == "pow" and step.result in INTEGER:
            _power_of_integers(memory, target, *given_to_step)
        else:
            compute(memory, step.kernel, step.params, target, given_to_step)
        return
    numbers = {place: value for place, value in enumerate(operands) if not isinstance(value, Elements)}
    places = {place: new for new, place in enumerate(sorted(set(range(len(operands))) - numbers.keys()))}
    moved = len(numbers)
    steps = tuple(
        ProgramStep(
            step.kernel,
            tuple(
                ("constant", numbers[place]) if place in numbers else places.get(place, place - moved)
                for place in step.operands
            ),
            form_of(step.result, given.shape, CPU),
        )
        for step in expression.steps
    )
    elements = [operand for operand in operands if isinstance(operand, Elements)]
    compute(memory, "elementwise_program", ProgramParams(steps), target, elements)


def _power_of_integers(
    memory: HostMemory, target: Elements, base: Elements | complex, exponent: Elements | complex
) -> None:
    """A negative exponent gives 0, where the CPU backend's kernel refuses: here a launch of its own has looked."""
    x, n = (one.of(memory) if isinstance(one, Elements) else one for one in (base, exponent))
    powers = np.power(x, np.maximum(n, 0), dtype=target.dtype.numpy_name)
    target.of(memory)[...] = powers * np.greater_equal(n, 0)


def target_size(shape: tuple[int, ...], /) -> int:
    """Number of elements of a shape.

    >>> target_size((2, 3)), target_size(())
    (6, 1)
    """
    size = 1
    for extent in shape:
        size *= extent
    return size


def _source(expression: Expression, rank: int, contiguous: bool) -> str:
    return header() + "\n".join(_lines(expression, rank, contiguous)) + "\n"


def _lines(expression: Expression, rank: int, contiguous: bool) -> Iterator[str]:
    arrays = ["t", *(f"{k}" for k, operand in enumerate(expression.operands) if not isinstance(operand, Number))]
    yield f'extern "C" __global__ void elementwise({", ".join(_parameters(expression, arrays, rank, contiguous))}) {{'
    yield from loop_over("size")
    if not contiguous:
        yield from offsets("i", rank, arrays, "        ")
    for k, operand in enumerate(expression.operands):
        if isinstance(operand, Number):
            parts = ", ".join(f"x{k}_{part}" for part in range(operand.width))
            yield f"        const {TYPES[operand.dtype]} v{k} = number<{TYPES[operand.dtype]}>({parts});"
        else:
            element = f"x{k}[{'i' if contiguous else f'o{k}'}]"
            yield f"        const {TYPES[operand]} v{k} = {loaded(element, operand)};"
    yield from step_lines(expression, "        ")
    last = len(expression.operands) + len(expression.steps) - 1
    result = TYPES[expression.result]
    yield f"        target[{'i' if contiguous else 'ot'}] = to<{result}>(v{last});"
    yield "    }"
    yield "}"


def step_lines(expression: Expression, indent: str, /) -> Iterator[str]:
    r"""Declares the result of each step, ``v2`` and so on, given the operands ``v0``, ``v1``.

    >>> from tensor_core import F64
    >>> print("\n".join(step_lines(Expression((F64,), (Step("exp", (0,), (F64,), F64),)), "")))
    const double v1 = f_exp(to<double>(v0));
    """
    for k, step in enumerate(expression.steps, len(expression.operands)):
        given = ", ".join(
            f"to<{TYPES[dtype]}>(v{place})" for place, dtype in zip(step.operands, step.computed, strict=True)
        )
        yield f"{indent}const {TYPES[step.result]} v{k} = {_function(step)}({given});"


def _parameters(expression: Expression, arrays: list[str], rank: int, contiguous: bool) -> Iterator[str]:
    yield f"{stored(expression.result)}* target"
    for k, operand in enumerate(expression.operands):
        if isinstance(operand, Number):
            kind = "double" if operand.dtype.kind in ("float", "complex") else "long long"
            yield from (f"{kind} x{k}_{part}" for part in range(operand.width))
        else:
            yield f"const {stored(operand)}* x{k}"
    yield "long long size"
    if not contiguous:
        yield from walk_parameters(rank, arrays)


def _function(step: Step) -> str:
    """The function of ``cuda`` that a step calls."""
    if step.kernel == "cast":
        (overflow,) = step.params
        return f"f_cast_{overflow}<{TYPES[step.result]}>"
    if step.kernel in ("convert", "copy"):
        return f"to<{TYPES[step.result]}>"
    return f"f_{step.kernel.removesuffix('_unchecked')}"
