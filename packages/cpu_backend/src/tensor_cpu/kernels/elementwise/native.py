"""Native elementwise operations, one or a chain of them, as programs of the elementwise machine (csrc/elementwise).

The machine computes what NumPy's loops compute, bit for bit, except for elementary functions (within 4 rounding
units) and products, quotients and magnitudes of complex numbers (within 4 rounding units of the magnitude).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import log
from typing import Any, Final

import numpy as np

from tensor_core.dtypes import FLOATING, Bool, DType
from tensor_core.promotion import promote, promote_scalar
from tensor_cpu.kernel_table import NativeBinder, bind_numpy
from tensor_cpu.kernels.elementwise.fused import PROGRAM, Program
from tensor_cpu.kernels.elementwise.numpy import element_of
from tensor_cpu.kernels.elementwise.registers import OPERATIONS, NoInstructionError, ProgramWriter, Strides, Value
from tensor_cpu.kernels.params import taking_fields
from tensor_cpu.storage import NUMPY_DTYPES
from tensor_cpu.system.errstate import ignoring_fp_errors
from tensor_cpu.system.extension import AVAILABLE, LIBRARY
from tensor_runtime.backends.xp_tables import elementwise
from tensor_runtime.contracts.elementwise import ProgramParams, ProgramStep, Reference
from tensor_runtime.form import Form, Shape, form_of
from tensor_runtime.protocols import Kernel, Operand

TAKES: Final = "from 4096 elements (elementary functions: any number), of the dtypes that its instructions have"
SMALLEST: Final = 1 << 12
"""Elements of a result from which single operations run on the machine, but for those of ``ANY_SIZE``."""
ANY_SIZE: Final = frozenset({
    "acos", "asin", "atan", "atan2", "cos", "cosh", "erf", "erfc", "exp", "expm1", "log", "log1p", "sin", "sinh", "tan",
    "tanh", "maximum", "minimum", "where", "clip", "hypot", "logaddexp", "floor_divide", "remainder", "fmod",
})  # fmt: skip
"""Operations that NumPy's kernels round otherwise, or whose choice between two zeros is another: so that an element has
the same bits in a tensor of any size, and in a fused program. A call of the machine costs less than one of NumPy's, and
much less where operands are numbers."""
_LEAST_COPIED: Final = 1 << 14  # elements
_MOST_COPIED: Final = 1 << 28  # bytes
_SHORT_RUN: Final = 32  # elements

_OF_COMPLEX: Final = frozenset({"abs", "imag", "real", "sqrt"})
"""More of them, if the operand is complex; of parts, NumPy's kernels take two calls."""
_TRUTHS: Final = frozenset({"logical_and", "logical_or", "logical_xor", "logical_not"})
_OF_PARTS: Final = frozenset({"abs", "real", "imag", "isnan", "isinf", "isfinite"})
"""Those whose operand keeps its dtype, whatever the result's is."""


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


def copied_first(form: Form, shape: Shape, /) -> bool:
    """Whether a permuted copy of an operand costs less than reading it in the order of the result.

    So it is when the fastest axis of the result is not that of the operand, or only short runs are common to both. The
    copy goes tile by tile through both, which the blocks of the machine do not.

    >>> from tensor_core import F64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> form = form_of(F64, (200, 300), CPU, (300, 1))
    >>> copied_first(form, (200, 300)), copied_first(form_of(F64, (200, 300), CPU), (200, 300))
    (True, False)
    """
    if form.shape != shape or form.size < _LEAST_COPIED or form.size * form.dtype.itemsize > _MOST_COPIED:
        return False
    runs: list[tuple[int, int]] = []
    for extent, stride in zip(form.shape, form.strides, strict=True):
        if extent == 1:
            continue
        if runs and stride == runs[-1][0] * runs[-1][1]:
            runs[-1] = (runs[-1][0] * extent, runs[-1][1])
        else:
            runs.append((extent, stride))
    if len(runs) < 2 or any(stride == 0 for _, stride in runs):
        return False
    (run, fastest), others = runs[0], runs[1:]
    return run < _SHORT_RUN or any(abs(stride) < abs(fastest) for _, stride in others)


class _Compiler:
    """Turns the steps of a program into instructions."""

    def __init__(self, operands: tuple[Operand, ...], shape: Shape) -> None:
        self.shape = shape
        self.writer = ProgramWriter()
        self.forms = operands
        self.arguments: list[tuple[int, Callable[[Any], Any] | None, DType]] = []
        """For each operand of the machine: the operand it is, and what makes an element of a number."""
        self.values: list[Value | None] = []
        self.numbers: dict[tuple[int, DType, bool], Value] = {}
        for place, form in enumerate(operands):
            if isinstance(form, Form):
                self.values.append(self.writer.operand(strides_along(form, shape), form.dtype))
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
            self.numbers[key] = self.writer.operand((0,) * len(self.shape), dtype)
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

    def kernel(self, result: Form, fallback: Callable[[], Kernel]) -> Kernel | None:
        """The kernel; None where the program is too long."""
        writer, computed = self.writer, self.values[-1]
        assert computed is not None  # the last step's
        constants, program = writer.constants(), writer.program(computed)
        registers = 1 + max(number for instruction in program for number in instruction[2:])
        if (
            len(writer.operands) > LIBRARY.MOST_OPERANDS
            or len(program) > LIBRARY.MOST_INSTRUCTIONS
            or registers > LIBRARY.MOST_REGISTERS
        ):
            return None
        bound = (result.shape[::-1], result.dtype.name, tuple(writer.operands), program, constants)
        # A number that only smaller steps use is no operand of the machine, and is left out of its call.
        if len(self.arguments) == len(self.forms) and all(element is None for _, element, _ in self.arguments):
            return LIBRARY.bind_elementwise(*bound)
        judged = _with_numbers(LIBRARY.bind_elementwise(*bound), self.arguments, fallback)
        given = tuple((place, element is not None) for place, element, _ in self.arguments)
        return LIBRARY.bind_elementwise(*bound, given, len(self.forms), judged)


def _with_numbers(
    native: Kernel, arguments: list[tuple[int, Callable[[Any], Any] | None, DType]], fallback: Callable[[], Kernel]
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
        return native(*given)

    return ignoring_fp_errors(call)  # a number beyond a narrow dtype becomes an infinity


def bind_program(operands: tuple[Operand, ...], result: Form, program: Program, /) -> Kernel | None:
    """The kernel of a whole program (see ``fused`` beside this); None where a step has no instruction.

    >>> from tensor_core import F64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> form = form_of(F64, (1000,), CPU)
    >>> steps = (("multiply", (0, ("constant", 2.0)), form), ("add", (2, 1), form))
    >>> kernel = bind_program((form, form), form, steps)
    >>> kernel is None or kernel(np.ones(1000), np.ones(1000)).sum().item() == 3000
    True
    """
    if not AVAILABLE or any(form.shape != result.shape for _, _, form in program):
        return None
    copied = [isinstance(form, Form) and copied_first(form, result.shape) for form in operands]
    if any(copied):
        return _after_copies(operands, copied, result, program)
    compiler = _Compiler(operands, result.shape)
    try:
        for name, references, form in program:
            compiler.step(name, references, form)
    except NoInstructionError:
        return None
    name = PROGRAM if len(program) > 1 else program[0][0]
    params = ProgramParams(program) if len(program) > 1 else None
    return compiler.kernel(result, lambda: bind_numpy(name, operands, result, params))


def _after_copies(operands: tuple[Operand, ...], copied: list[bool], result: Form, program: Program) -> Kernel | None:
    """The kernel of the program on compact operands, and copies of those that are none."""
    compact = tuple(
        form_of(form.dtype, form.shape, form.placement) if isinstance(form, Form) and wanted else form
        for form, wanted in zip(operands, copied, strict=True)
    )
    kernel = bind_program(compact, result, program)
    if kernel is None:
        return None
    copies = [
        LIBRARY.bind_copy(form.shape[::-1], form.strides[::-1], form.dtype.name)
        if isinstance(form, Form) and wanted
        else None
        for form, wanted in zip(operands, copied, strict=True)
    ]

    def call(*arrays: Any) -> Any:
        return kernel(*[copy(x) if copy else x for copy, x in zip(copies, arrays, strict=True)])

    return call


def _single(name: str) -> NativeBinder:
    def bind(operands: tuple[Operand, ...], result: Any, params: Any, /) -> Kernel | None:
        anywhere = name in ANY_SIZE or (name in _OF_COMPLEX and operands[0].dtype.kind == "complex")  # type: ignore[union-attr]
        if result.size < (1 if anywhere else SMALLEST) or params is not None:
            return None
        return bind_program(operands, result, (ProgramStep(name, tuple(range(len(operands))), result),))

    return bind


_BY_NUMBER: Final = (2, 3, 0.5, -1)
"""Exponents that ``_Compiler._power_by_number`` knows; of other than real floats the first two."""


def _bind_pow(operands: tuple[Operand, ...], result: Any, params: Any, /) -> Kernel | None:
    """The kernel of a power; of a number as exponent, one that looks which it is."""
    form, exponent = operands
    if exponent not in (int, float) or not isinstance(form, Form) or form.dtype is not result.dtype or not result.size:
        return _single("pow")(operands, result, params)
    programs = {
        number: bind_program((form,), result, (ProgramStep("pow", (0, ("constant", number)), result),))
        for number in _BY_NUMBER
        if number in (2, 3) or result.dtype.kind == "float"
    }
    known = {number: kernel for number, kernel in programs.items() if kernel is not None}
    general = bind_numpy("pow", operands, result, params)

    def power(x: Any, y: Any) -> Any:
        kernel = known.get(y)
        return general(x, y) if kernel is None else kernel(x)

    return power if known else None


_NO_SINGLE: Final = frozenset({"sigmoid", "silu", "gelu_tanh", "cube", "half_power", "near"})
"""Instructions of ``kernels.activations``, which binds them, of powers, and of programs alone."""
SINGLE: Final = (
    *(name for name in OPERATIONS if not name.startswith("to_") and name not in _NO_SINGLE),
    "positive",
    "logaddexp",
)

BINDERS: Final[Mapping[str, NativeBinder]] = {
    **{name: _single(name) for name in SINGLE},
    **{f"{name}_unchecked": _single(name) for name in ("floor_divide", "remainder", "fmod")},  # alike for floats
    "pow": _bind_pow,
    PROGRAM: taking_fields(bind_program),
}
