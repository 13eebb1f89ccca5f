"""Steps of elementwise operations compiled to programs of the elementwise machine (csrc/elementwise).

What a program does is known from dtypes alone; the shapes of its operands come in when it is bound.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from math import log
from typing import Any, Final, NamedTuple

import numpy as np

from tensor_core.dtypes import F64, FLOATING, Bool, DType
from tensor_core.promotion import promote, promote_scalar
from tensor_core.shapes import Shape
from tensor_cpu.kernels.elementwise.fused import Program
from tensor_cpu.kernels.elementwise.numpy import element_of
from tensor_cpu.kernels.elementwise.registers import OPERATIONS, NoInstructionError, ProgramWriter, Value
from tensor_cpu.storage import NUMPY_DTYPES
from tensor_cpu.system.errstate import ignoring_fp_errors
from tensor_cpu.system.extension import LIBRARY
from tensor_runtime.backends.xp_tables import elementwise
from tensor_runtime.contracts.elementwise import ProgramStep, Reference
from tensor_runtime.form import Form, form_of
from tensor_runtime.placement import CPU
from tensor_runtime.protocols import Kernel, Operand

_TRUTHS: Final = frozenset({"logical_and", "logical_or", "logical_xor", "logical_not"})
_OF_PARTS: Final = frozenset({"abs", "real", "imag", "isnan", "isinf", "isfinite"})
"""Those whose operand keeps its dtype, whatever the result's is."""
Strides = tuple[int, ...]


def strides_along(form: Form, shape: Shape, /) -> Strides:
    """Strides, in elements, of the transposed array of ``form`` broadcast to the transposed array of ``shape``.

    >>> from tensor_core import F64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> strides_along(form_of(F64, (3,), CPU), (2, 3)), strides_along(form_of(F64, (2, 1), CPU), (2, 3))
    ((1, 0), (0, 1))
    """
    strides = [stride if extent != 1 else 0 for extent, stride in zip(form.shape, form.strides, strict=True)]
    return (*reversed(strides), *[0] * (len(shape) - form.rank))


Argument = tuple[int, Callable[[Any], Any] | None, DType]
"""Of an operand of the machine: which operand it is, what makes an element of a number, and the dtype."""


class _Compiler:
    """Turns the steps of a program into instructions."""

    def __init__(self, operands: tuple[Operand, ...]) -> None:
        self.writer = ProgramWriter()
        self.forms = operands
        self.arguments: list[Argument] = []
        """For each operand of the machine: the operand it is, and what makes an element of a number."""
        self.values: list[Value | None] = []
        self.numbers: dict[tuple[int, DType, bool], Value] = {}
        for place, form in enumerate(operands):
            if isinstance(form, Form):
                self.values.append(self.writer.operand(form.dtype))
                self.arguments.append((place, None, form.dtype))
            else:
                self.values.append(None)

    def number_type(self, reference: Reference) -> type | None:
        """The Python type of an operand that is a number; None for one that has elements."""
        if isinstance(reference, tuple):
            return type(reference[1])
        operand = self.forms[reference] if reference < len(self.forms) else None
        return operand if isinstance(operand, type) and not isinstance(operand, DType) else None

    def value(self, reference: Reference, name: str, dtype: DType) -> Value:
        """An operand of a step, in the dtype it is computed in."""
        if isinstance(reference, tuple):
            try:
                return self.writer.constant(reference[1], dtype)
            except OverflowError:
                raise NoInstructionError(name) from None
        known = self.values[reference]
        if known is not None:
            return self.writer.converted(known, dtype)
        key = (reference, dtype, name in elementwise.COMPARISONS)
        if key not in self.numbers:
            self.numbers[key] = self.writer.operand(dtype)
            self.arguments.append((reference, element_of(name, dtype), dtype))
        return self.numbers[key]

    def common_dtype(self, references: tuple[Reference, ...], result: DType) -> DType:
        """The dtype in which NumPy's kernels compute."""
        types = [self.number_type(reference) for reference in references]
        known = [self.values[ref] for ref, number in zip(references, types, strict=True) if number is None]  # type: ignore[index]
        if not known:
            raise NoInstructionError
        common = promote(*[value.dtype for value in known if value is not None])
        for number in types:
            if number is not None:
                common = promote_scalar(common, number)
        return result if result in FLOATING and common not in FLOATING else common

    def step(self, name: str, references: tuple[Reference, ...], form: Form) -> None:
        """Append one step."""
        self.values.append(self._computed(name, references, form.dtype))

    def _computed(self, name: str, references: tuple[Reference, ...], result: DType) -> Value:
        writer = self.writer
        if name in ("convert", "positive"):
            value = self.value(references[0], name, self.common_dtype(references, result))
            return writer.instruction(f"to_{result.name}", value.dtype, (value,), result)
        if name == "cast":  # of the pairs that lose no integer; what is imaginary is dropped
            value = self.value(references[0], name, self.common_dtype(references, Bool))
            if value.dtype.kind == "complex" and result.kind != "complex":
                if result is Bool:
                    return writer.converted(value, Bool)
                value = writer.instruction("real", value.dtype, (value,), value.dtype.component)
            return writer.instruction(f"to_{result.name}", value.dtype, (value,), result)
        if name == "where":
            chosen = [self.value(reference, name, result) for reference in references[1:]]
            condition = self.value(references[0], name, Bool)
            return writer.instruction("where", result, (condition, *chosen), result)
        if name == "complex":
            parts = [self.value(reference, name, result.component) for reference in references]
            return writer.instruction("complex", result.component, tuple(parts), result)
        if name == "clip":  # in this order of operands, so that equal zeros are chosen as NumPy does
            x, low, high = (self.value(reference, name, result) for reference in references)
            if result is not Bool:
                return writer.instruction("clip", result, (x, low, high), result)
            above = writer.instruction("maximum", result, (x, low), result)
            return writer.instruction("minimum", result, (above, high), result)
        if name == "pow":
            return self._power(references, result)
        if name == "logaddexp":
            return self._sum_of_exponentials(references, result)
        if name == "rsqrt":
            return self._inverse_root(self.value(references[0], name, self.common_dtype(references, result)), result)
        if name not in OPERATIONS:
            raise NoInstructionError(name)
        if name in _TRUTHS and any(map(self.number_type, references)):
            raise NoInstructionError(name)  # the number is one of the other operand's dtype first, and true then
        dtype = Bool if name in _TRUTHS else self.common_dtype(references, Bool if name in _OF_PARTS else result)
        values = tuple(self.value(reference, name, dtype) for reference in references)
        near = self._near(*values) if name == "logical_or" else None
        return near or writer.instruction(name, dtype, values, result)

    def _near(self, within: Value, alike: Value) -> Value | None:
        """``abs(x - y) <= abs(y) * relative + absolute and isfinite(y), or x == y`` of real numbers as one instruction.

        None where the two operands of ``or`` are anything else.
        """
        source = self.writer.source
        pair = source(alike, "equal")
        less, finite = source(within, "logical_and") or (None, None)
        if not pair or less is None or finite is None or pair[0].dtype.kind != "float":
            return None
        distance, bound = source(less, "less_equal") or (None, None)
        if distance is None or bound is None or source(finite, "isfinite") != pair[1:]:
            return None
        apart = source(distance, "abs")
        scaled, absolute = source(bound, "add") or (None, None)
        if not apart or source(apart[0], "subtract") != pair or scaled is None or absolute is None:
            return None
        size, relative = source(scaled, "multiply") or (None, None)
        if size is None or relative is None or source(size, "abs") != pair[1:]:
            return None
        return self.writer.instruction("near", pair[0].dtype, (*pair, relative, absolute), Bool)

    def _inverse_root(self, x: Value, dtype: DType) -> Value:
        """The quotient of 1 and the root, of real floats, as NumPy computes them."""
        if dtype.kind != "float" or x.dtype is not dtype:
            raise NoInstructionError("rsqrt")
        root = self.writer.instruction("sqrt", dtype, (x,), dtype)
        return self.writer.instruction("divide", dtype, (self.writer.constant(1.0, dtype), root), dtype)

    def _power(self, references: tuple[Reference, ...], result: DType) -> Value:
        """The exponents 2 and 3 are products, 1/2 of reals is a root and -1 a quotient, as of NumPy's operator."""
        writer, exponent = self.writer, references[1]
        dtype = self.common_dtype(references, result)
        base = self.value(references[0], "pow", dtype)
        if self.number_type(exponent) in (int, float):
            if not isinstance(exponent, tuple):
                raise NoInstructionError("pow")  # which of several ways is known with the number
            source = None if self.number_type(references[0]) else self.values[references[0]]  # type: ignore[index]
            if source is not None and source.dtype is result:
                found = self._power_by_number(base, exponent[1], result)
                if found is not None:
                    return found
        if dtype is F64:
            raise NoInstructionError("pow")  # NumPy's errs less, and takes less time with AVX-512
        return writer.instruction("pow", dtype, (base, self.value(exponent, "pow", dtype)), result)

    def _power_by_number(self, base: Value, exponent: float, dtype: DType) -> Value | None:
        """What stands for a power with such an exponent; None where nothing does."""
        writer = self.writer

        def value(name: str, *values: Value) -> Value:
            return writer.instruction(name, dtype, values, dtype)

        if exponent == 3 and dtype.kind == "float":
            return value("cube", base)
        if exponent in (2, 3):
            square = value("multiply", base, base)
            return square if exponent == 2 else value("multiply", square, base)
        if dtype.kind != "float":
            return None
        if exponent == -1:
            return value("divide", writer.constant(1.0, dtype), base)
        return value("half_power", base) if exponent == 0.5 else None

    def _sum_of_exponentials(self, references: tuple[Reference, ...], result: DType) -> Value:
        """Their logarithm: of the larger one, and of 1 plus the share of the other, which is 1 where both are equal."""

        def value(name: str, *values: Value) -> Value:
            return self.writer.instruction(name, values[0].dtype, values, result)

        x, y = (self.value(reference, "logaddexp", result) for reference in references)
        difference = value("subtract", x, y)
        share = value("exp", value("negative", value("abs", difference)))
        apart = value("add", value("maximum", x, y), value("log1p", share))
        alike = self.writer.instruction("equal", result, (x, y), Bool)  # infinities too
        doubled = value("add", x, self.writer.constant(log(2), result))
        return self.writer.instruction("where", result, (alike, doubled, apart), result)

    def end(self) -> Compiled | None:
        """What computes the last step; None where the program is too long."""
        writer, computed = self.writer, self.values[-1]
        assert computed is not None
        constants, program = writer.constants(), writer.program(computed)
        registers = 1 + max(number for instruction in program for number in instruction[2:])
        if (
            len(self.arguments) > LIBRARY.MOST_OPERANDS
            or len(program) > LIBRARY.MOST_INSTRUCTIONS
            or registers > LIBRARY.MOST_REGISTERS
        ):
            return None
        return Compiled(program, constants, tuple(self.arguments))


class Compiled(NamedTuple):
    """A program of the machine, for operands of any shapes."""

    program: tuple[Any, ...]
    constants: tuple[bytes, ...]
    arguments: tuple[Argument, ...]

    def kernel(self, operands: tuple[Operand, ...], result: Form, fallback: Callable[[], Kernel]) -> Kernel:
        """The kernel for these forms."""
        shape = result.shape
        strides = [
            ((0,) * len(shape) if element else strides_along(operands[place], shape), dtype.name)  # type: ignore[arg-type]
            for place, element, dtype in self.arguments
        ]
        bound = (shape[::-1], result.dtype.name, tuple(strides), self.program, self.constants)
        # A number that only smaller steps use is no operand of the machine, and is left out of its call.
        if len(self.arguments) == len(operands) and all(element is None for _, element, _ in self.arguments):
            return LIBRARY.bind_elementwise(*bound)
        judged = _with_numbers(cache(lambda: LIBRARY.bind_elementwise(*bound)), self.arguments, fallback)
        given = tuple((place, element is not None) for place, element, _ in self.arguments)
        return LIBRARY.bind_elementwise(*bound, given, len(operands), judged)


def _with_numbers(
    native: Callable[[], Kernel], arguments: tuple[Argument, ...], fallback: Callable[[], Kernel]
) -> Kernel:
    """The kernel for numbers that are no plain elements; they become arrays of one element."""
    readers = [(place, element, NUMPY_DTYPES[dtype]) for place, element, dtype in arguments]

    def call(*operands: Any) -> Any:
        given = []
        for place, element, dtype in readers:
            if element is None:
                given.append(operands[place])
                continue
            number = np.asarray(element(operands[place]))
            if number.dtype != dtype:  # one that is compared although the dtype cannot hold it
                return fallback()(*operands)
            given.append(number)
        return native()(*given)

    return ignoring_fp_errors(call)  # a number beyond a narrow dtype becomes an infinity


def compiled(operands: tuple[Operand, ...], program: Program) -> Compiled | None:
    """The program for operands of these dtypes, or types of numbers; None where a step has no instruction.

    >>> form = form_of(Bool, (3,), CPU)
    >>> compiled((form,), (ProgramStep("logical_not", (0,), form),)).program
    (('logical_not', 'Bool', 1, 0, 1, 1, 1),)
    """
    compiler = _Compiler(operands)
    try:
        for name, references, form in program:
            compiler.step(name, references, form)
    except NoInstructionError:
        return None
    return compiler.end()


@cache
def compiled_step(name: str, operands: tuple[DType | type, ...], result: DType) -> Compiled | None:
    """The program of one operation on operands of these dtypes, or types of numbers; None without an instruction.

    >>> compiled_step("logical_not", (Bool,), Bool).arguments
    ((0, None, Bool),)
    """
    forms = tuple(form_of(each, (), CPU) if isinstance(each, DType) else each for each in operands)
    return compiled(forms, (ProgramStep(name, tuple(range(len(forms))), form_of(result, (), CPU)),))
