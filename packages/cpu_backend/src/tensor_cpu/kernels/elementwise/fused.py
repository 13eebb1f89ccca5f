"""Chains of elementwise operations as one kernel, step by step with the ordinary kernels.

What a program is says ``tensor_runtime.contracts.elementwise.ProgramParams``. Intermediate results are dropped as soon
as no later step needs them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from tensor_cpu import kernel_table
from tensor_cpu.call_checks import checked
from tensor_cpu.kernel_table import Binder
from tensor_cpu.kernels.params import taking_fields
from tensor_runtime.contracts.elementwise import STEP_PARAMS, ProgramParams, ProgramStep, Reference
from tensor_runtime.form import Form
from tensor_runtime.protocols import Kernel, Operand

Program = tuple[ProgramStep, ...]

PROGRAM: Final = "elementwise_program"


def bind_program(operands: tuple[Operand, ...], result: Form, program: Program, /) -> Kernel:
    """The kernel of a program.

    Steps smaller than the result, whose results are broadcast later, are computed once and by themselves; the others
    then are a program of their own, for which there may be a native kernel.

    Args:
        operands: forms, or types of Python numbers.
        result: form of the last step.
        program: the steps.

    >>> from tensor_core import F64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> import numpy as np
    >>> form = form_of(F64, (2,), CPU)
    >>> steps = (("multiply", (0, ("constant", 2.0)), form), ("add", (2, 1), form))
    >>> bind_program((form, form), form, steps)(np.array([1.0, 2.0]), np.array([5.0, 6.0])).tolist()
    [7.0, 10.0]
    """
    small, large = split(len(operands), program)
    if small and large:
        first = _step_by_step(operands, small, keep=len(small))
        forms = (*operands, *[form for _, _, form in small])
        last = _bind(PROGRAM, forms, result, ProgramParams(large))
        return lambda *arrays: last(*arrays, *first(*arrays))
    run = _step_by_step(operands, program, keep=1)
    return lambda *arrays: run(*arrays)[0]


def split(count: int, program: Program, /) -> tuple[Program, Program]:
    """The steps whose shape is not the last one's, and the others as a program that takes their results as operands.

    No small step needs a large one, because broadcasting only enlarges.

    >>> from tensor_core import F64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> row, matrix = form_of(F64, (3,), CPU), form_of(F64, (2, 3), CPU)
    >>> program = (("exp", (1,), row), ("exp", (0,), matrix), ("add", (3, 2), matrix))
    >>> tuple(step[:2] for step in split(2, program)[1])
    (('exp', (0,)), ('add', (3, 2)))
    """
    shape = program[-1][2].shape
    places = sorted(range(len(program)), key=lambda k: program[k][2].shape == shape)
    new_number = {**{k: k for k in range(count)}, **{count + old: count + new for new, old in enumerate(places)}}
    renumbered = tuple(
        ProgramStep(name, tuple(new_number[ref] if isinstance(ref, int) else ref for ref in references), form)
        for name, references, form in (program[k] for k in places)
    )
    small = sum(form.shape != shape for _, _, form in program)
    return renumbered[:small], renumbered[small:]


def _step_by_step(operands: tuple[Operand, ...], program: Program, keep: int) -> Callable[..., list[Any]]:
    """What computes every step with its own kernel and returns the results of the last ``keep`` steps."""
    count = len(operands)
    forms: list[Operand] = [*operands, *[form for _, _, form in program]]
    last_use = {
        reference: k
        for k, (_, references, _) in enumerate(program)
        for reference in references
        if type(reference) is int
    }
    stages: list[tuple[Kernel, tuple[Reference, ...], list[int]]] = []
    for k, (name, references, form) in enumerate(program):
        taken = tuple(forms[ref] if isinstance(ref, int) else type(ref[1]) for ref in references)
        dropped = [
            number for number in range(count, count + len(program) - keep) if last_use.get(number, number - count) == k
        ]
        stages.append((_bind(name, taken, form, STEP_PARAMS.get(name)), references, dropped))

    def run(*arrays: Any) -> list[Any]:
        values: list[Any] = list(arrays)
        for kernel, references, dropped in stages:
            values.append(kernel(*[values[ref] if isinstance(ref, int) else ref[1] for ref in references]))
            for number in dropped:
                values[number] = None
        return values[-keep:]

    return run


def _bind(name: str, operands: tuple[Operand, ...], result: Any, params: Any) -> Kernel:
    return checked(name, kernel_table.bind(name, operands, result, params), operands)


BINDERS: Final[Mapping[str, Binder]] = {PROGRAM: taking_fields(bind_program)}
