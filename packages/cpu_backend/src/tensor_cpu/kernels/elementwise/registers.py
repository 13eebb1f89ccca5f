"""Programs of the elementwise machine: values, instructions, and which register each value gets.

A value is computed once, however often it is asked for. Registers of values that nobody needs any more are used again,
by the very instruction that needs them last where elements have the same size.
"""

from __future__ import annotations

from typing import Final

from tensor_core.dtypes import DType
from tensor_cpu.storage import NUMPY_DTYPES
from tensor_cpu.system.errstate import IGNORING_FP_ERRORS
from tensor_cpu.system.extension import AVAILABLE, LIBRARY

OPERATIONS: Final[dict[str, list[str]]] = LIBRARY.elementwise_operations() if AVAILABLE else {}
"""Names of the dtypes that each operation of the machine has instructions for."""

Instruction = tuple[str, str, int, int, int, int, int]


class Value:
    """Elements that the program reads or computes; compares by identity."""

    __slots__ = ("dtype",)

    def __init__(self, dtype: DType) -> None:
        self.dtype = dtype


class NoInstructionError(Exception):
    """The machine has nothing for this operation and dtype."""


class ProgramWriter:
    """Collects the constants and instructions of one program.

    >>> from tensor_core import F64
    >>> writer = ProgramWriter()
    >>> x = writer.operand(F64)
    >>> square = writer.instruction("multiply", F64, (x, x), F64)
    >>> writer.instruction("multiply", F64, (x, x), F64) is square
    True
    >>> more = writer.instruction("add", F64, (square, writer.constant(1.0, F64)), F64)
    >>> writer.program(more)
    (('multiply', 'F64', 2, 0, 0, 2, 2), ('add', 'F64', 2, 2, 1, 2, 2))
    >>> writer.program(square)
    (('multiply', 'F64', 2, 0, 0, 2, 2),)
    """

    def __init__(self) -> None:
        self._operand_values: list[Value] = []
        self._constants: dict[tuple[bytes, DType], Value] = {}
        self._computed: dict[tuple[str, DType, tuple[Value, ...]], Value] = {}

    def operand(self, dtype: DType, /) -> Value:
        """The value of the next operand of the kernel."""
        value = Value(dtype)
        self._operand_values.append(value)
        return value

    def constant(self, number: object, dtype: DType, /) -> Value:
        """A value that is one number everywhere; an OverflowError where the dtype cannot hold it."""
        element = IGNORING_FP_ERRORS.copy().run(NUMPY_DTYPES[dtype].type, number).tobytes()
        return self._constants.setdefault((element, dtype), Value(dtype))

    def instruction(self, operation: str, dtype: DType, values: tuple[Value, ...], result: DType, /) -> Value:
        """The value that an operation on operands of ``dtype`` computes.

        Raises:
            NoInstructionError: the machine lacks it.
        """
        if AVAILABLE and dtype.name not in OPERATIONS.get(operation, ()):
            raise NoInstructionError(operation)
        return self._computed.setdefault((operation, dtype, values), Value(result))

    def source(self, value: Value, operation: str, /) -> tuple[Value, ...]:
        """What the instruction of this name takes that computes a value; empty of another value."""
        found = next((key for key, computed in self._computed.items() if computed is value), None)
        return found[2] if found is not None and found[0] == operation else ()

    def converted(self, value: Value, dtype: DType, /) -> Value:
        """The same numbers in another dtype."""
        if value.dtype is dtype:
            return value
        return self.instruction(f"to_{dtype.name}", value.dtype, (value,), dtype)

    def constants(self) -> tuple[bytes, ...]:
        """The constants as the machine takes them."""
        return tuple(element for element, _ in self._constants)

    def program(self, result: Value, /) -> tuple[Instruction, ...]:
        """The instructions as the machine takes them; the last one computes ``result``, and each is needed for it."""
        steps = self._needed(result)
        last_use = {value: k for k, (_, _, values, _) in enumerate(steps) for value in values}
        given = [*self._operand_values, *self._constants.values()]
        register = {value: number for number, value in enumerate(given)}
        free: list[int] = []
        used = len(register)
        written: list[Instruction] = []
        for k, (operation, dtype, values, computed) in enumerate(steps):
            done = {value for value in values if last_use[value] == k and value not in given}
            alike = [value for value in done if value.dtype.itemsize == computed.dtype.itemsize]
            if alike:
                target = register[alike[0]]
                done.remove(alike[0])
            elif free:
                target = free.pop()
            else:
                target, used = used, used + 1
            free += [register[value] for value in done]
            register[computed] = target
            first, second, third, fourth = (*[register[value] for value in values], *[target] * (4 - len(values)))
            written.append((operation, dtype.name, target, first, second, third, fourth))
        return tuple(written)

    def _needed(self, result: Value) -> list[tuple[str, DType, tuple[Value, ...], Value]]:
        """The steps that ``result`` is made of, in order, with what each computes; nothing needs a later step."""
        wanted, steps = {result}, []
        for (operation, dtype, values), computed in reversed(self._computed.items()):
            if computed in wanted:
                wanted.update(values)
                steps.append((operation, dtype, values, computed))
        return steps[::-1]
