"""Native elementwise operations, one or a chain of them, as programs of the elementwise machine (csrc/elementwise).

The machine computes what NumPy's loops compute, bit for bit, except for elementary functions (within 4 rounding
units) and products, quotients and magnitudes of complex numbers (within 4 rounding units of the magnitude).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from tensor_core.dtypes import F32, F64, FLOATING
from tensor_core.shapes import Shape
from tensor_cpu.kernel_table import NativeBinder, bind_numpy
from tensor_cpu.kernels.elementwise.compiled import compiled, compiled_step
from tensor_cpu.kernels.elementwise.fused import PROGRAM, Program
from tensor_cpu.kernels.elementwise.registers import OPERATIONS
from tensor_cpu.kernels.params import taking_fields
from tensor_cpu.system.extension import AVAILABLE, LIBRARY
from tensor_runtime.contracts.elementwise import ProgramParams, ProgramStep
from tensor_runtime.form import Form, form_of
from tensor_runtime.protocols import Kernel, Operand

TAKES: Final = "tensors with elements, of the dtypes that its instructions have"
_LEAST_COPIED: Final = 1 << 14  # elements
_MOST_COPIED: Final = 1 << 28  # bytes
_SHORT_RUN: Final = 32  # elements
_TURNED: Final = {**dict.fromkeys(("add", "subtract", "multiply"), FLOATING), "divide": (F32, F64)}
_LEAST_TURNED: Final = 16  # elements of either side


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


def turned_in_place(name: str, operands: tuple[Operand, ...], result: Form, /) -> bool:
    """Whether a loop turns the one operand that would be copied first while it computes, tile by tile.

    What is beyond the caches is copied: past them, as the result is then.

    >>> from tensor_core import F64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> result = form_of(F64, (200, 300), CPU)
    >>> form = form_of(F64, (200, 300), CPU, (300, 1))
    >>> turned_in_place("add", (form, int), result), turned_in_place("add", (form, form), result)
    (True, False)
    """
    if result.dtype not in _TURNED.get(name, ()):
        return False
    forms = [form for form in operands if isinstance(form, Form)]
    turned = [form for form in forms if copied_first(form, result.shape)]
    if len(turned) != 1 or any(form.dtype is not result.dtype for form in forms):
        return False
    first = next(axis for axis, extent in enumerate(result.shape) if extent > 1)
    fastest = [extent for extent, stride in zip(result.shape, turned[0].strides, strict=True) if stride == 1]
    others = [form for form in forms if form is not turned[0] and form.rank > first and form.shape[first] > 1]
    return (
        min(result.shape[first], max(fastest, default=0)) >= _LEAST_TURNED
        and turned[0].strides[first] != 1
        and all(form.strides[first] in (0, 1) for form in others)
        and sum(form.nbytes for form in (*forms, result)) < LIBRARY.far_bytes()
    )


def bind_program(operands: tuple[Operand, ...], result: Form, program: Program, /) -> Kernel | None:
    """The kernel of a whole program (see ``fused`` beside this); None where a step has no instruction.

    >>> from tensor_core import F64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> form = form_of(F64, (1000,), CPU)
    >>> import numpy as np
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
    found = compiled(operands, program)
    if found is None:
        return None
    name = PROGRAM if len(program) > 1 else program[0][0]
    params = ProgramParams(program) if len(program) > 1 else None
    return found.kernel(operands, result, lambda: bind_numpy(name, operands, result, params))


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
    """Of any size: a call of the machine takes less than half the time of NumPy's, and bits are the same in all."""

    def bind(operands: tuple[Operand, ...], result: Any, params: Any, /) -> Kernel | None:
        if not AVAILABLE or result.size == 0 or params is not None:
            return None
        copied = any(isinstance(form, Form) and copied_first(form, result.shape) for form in operands)
        if copied and not turned_in_place(name, operands, result):
            return bind_program(operands, result, (ProgramStep(name, tuple(range(len(operands))), result),))
        dtypes = tuple(each.dtype if isinstance(each, Form) else each for each in operands)
        found = compiled_step(name, dtypes, result.dtype)
        if found is None:
            return None
        return found.kernel(operands, result, lambda: bind_numpy(name, operands, result, None))

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
    "rsqrt",
)

BINDERS: Final[Mapping[str, NativeBinder]] = {
    **{name: _single(name) for name in SINGLE},
    **{f"{name}_unchecked": _single(name) for name in ("floor_divide", "remainder", "fmod")},  # alike for floats
    "pow": _bind_pow,
    PROGRAM: taking_fields(bind_program),
}
