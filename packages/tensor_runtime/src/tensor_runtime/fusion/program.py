"""Programs: elementwise steps that were traced, and the kernels that run them.

A program is bound as one kernel, ``elementwise_program``, where the backend has it; its steps are the kernel's
parameters, ``tensor_runtime.contracts.elementwise.ProgramParams``.

A program runs step by step, each with the kernel that it has outside of a program, where the backend lacks that
kernel, where a step may refuse values (so that the errors are the same ones), and where the one kernel refused a value.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any, Final

from tensor_core.errors import UnsupportedOperationError
from tensor_runtime.backends.error_translation import fail
from tensor_runtime.backends.kernel_facts import ELEMENTWISE, facts_of, state
from tensor_runtime.backends.registry import registry
from tensor_runtime.backends.tracing import Reference, Step
from tensor_runtime.contracts.elementwise import ProgramParams, ProgramStep
from tensor_runtime.form import Form
from tensor_runtime.placement import Placement
from tensor_runtime.protocols import Kernel, Operand

KERNEL: Final = state("elementwise_program", ELEMENTWISE)
_LARGEST_CONSTANT: Final = 2**31 - 1  # a Python int up to here fits every dtype that it adopts


class Program:
    """What a fused function does for operands of certain forms.

    Args:
        operands: forms, and types of Python numbers.
        steps: in the order in which they were traced, at the operands' placement.
        results: numbers of operands or steps.
        pack: from the results to what the function returns: a tuple of them, or the only one.

    >>> form = tensor([1, 2])._form
    >>> Program((form, int), (Step("negative", (0,), form), Step("floor_divide", (2, 1), form)), (3,), None)
    program on cpu: step by step, because floor_divide of integers refuses a zero divisor
      0  operand             I64 (2,)
      1  operand             Python int
      2  negative(0)         I64 (2,)
      3  floor_divide(2, 1)  I64 (2,)
    result: 3
    """

    __slots__ = ("_stepwise", "form", "kernel", "operands", "pack", "results", "stepwise_because", "steps")

    def __init__(
        self,
        operands: tuple[Operand, ...],
        steps: tuple[Step, ...],
        results: tuple[int, ...],
        pack: Callable[[tuple[Any, ...]], Any] | None,
    ) -> None:
        self.operands = operands
        self.steps = steps
        self.results = results
        self.pack = pack
        self._stepwise: Stepwise | None = None
        self.stepwise_because = next(filter(None, (_obstacle(operands, steps, step) for step in steps)), None)
        # Of the one array that the kernel returns; None where it returns a tuple of arrays, one for each result.
        self.form: Form | None = self.form_of(results[0]) if pack is None and results[0] >= len(operands) else None
        self.kernel = self._bind()

    def form_of(self, number: int, /) -> Any:
        """Form of an operand or of a step's result."""
        first = len(self.operands)
        return self.operands[number] if number < first else self.steps[number - first].form

    @property
    def placement(self) -> Placement:
        """Where all operands and results are."""
        return next(operand.placement for operand in self.operands if isinstance(operand, Form))

    @property
    def made(self) -> tuple[Form, ...]:
        """Forms of the results that are computed, each once."""
        return tuple(self.form_of(number) for number in {*self.results} if number >= len(self.operands))

    @property
    def stepwise(self) -> Stepwise:
        """The kernel that runs the steps one by one; it returns a tuple of arrays, one for each result."""
        if self._stepwise is None:
            self._stepwise = Stepwise(self.operands, self.steps, self.results)
        return self._stepwise

    def _bind(self) -> Kernel:
        kernels = []
        if self.stepwise_because is None:
            self.stepwise_because = self._brought()
        if self.stepwise_because is None:
            try:
                kernels = [self._bind_one(number) for number in self.results]
            except UnsupportedOperationError as reason:
                self.stepwise_because = str(reason)
        if self.stepwise_because is not None:
            stepwise = self.stepwise
            return stepwise if self.form is None else lambda *arrays: stepwise(*arrays)[0]
        if self.form is not None:
            return kernels[0]
        return lambda *arrays: tuple([kernel(*arrays) for kernel in kernels])

    def _brought(self) -> str | None:
        """Why no kernel of the backend can hold all steps: others bring the kernel of one, and the backend lacks it."""
        backend = registry.backend_for(self.placement)
        brought = registry.kernels.operations(backend.name)
        other = next((step.name for step in self.steps if step.name in brought), None)
        return other and f"the {backend.name} backend itself has no kernel {other}"

    def _bind_one(self, number: int) -> Kernel:
        if number < len(self.operands):
            return lambda *arrays: arrays[number]
        taken, steps = needed(len(self.operands), self.steps, number)
        params = ProgramParams(tuple(ProgramStep(step.name, step.operands, step.form) for step in steps))
        kernel = registry.bind(KERNEL, tuple(self.operands[one] for one in taken), self.form_of(number), params)
        if len(taken) == len(self.operands):
            return kernel
        return lambda *arrays: kernel(*[arrays[one] for one in taken])

    def __repr__(self) -> str:
        how = "one kernel" if self.stepwise_because is None else f"step by step, because {self.stepwise_because}"
        calls = ["operand"] * len(self.operands)
        calls += [f"{step.name}({', '.join(map(_reference_text, step.operands))})" for step in self.steps]
        forms = [self.form_of(number) for number in range(len(calls))]
        indent, width = len(str(len(calls) - 1)), max(map(len, calls))
        lines = [
            f"  {number:{indent}}  {call:{width}}  {_form_text(form)}"
            for number, (call, form) in enumerate(zip(calls, forms, strict=True))
        ]
        results = ", ".join(map(str, self.results))
        return "\n".join([f"program on {self.placement}: {how}", *lines, f"result: {results}"])


class Stepwise:
    """The kernel that runs a program's steps one by one, each with the kernel of its own operation.

    >>> form = zeros(2)._form
    >>> Stepwise((form,), (Step("add", (0, ("constant", 1.0)), form),), (1,))(tensor([1.0, 2.0])._array)[0].tolist()
    [2.0, 3.0]
    """

    __slots__ = ("_constants", "_plan", "_results", "_steps")

    def __init__(self, operands: tuple[Operand, ...], steps: Sequence[Step], results: tuple[int, ...]) -> None:
        forms: list[Operand] = [*operands]
        self._constants = [one[1] for step in steps for one in step.operands if not isinstance(one, int)]
        first, shift = len(operands), len(self._constants)  # values: operands, constants, results of the steps
        places = iter(range(first, first + shift))
        last_use: dict[int, int] = {}
        plan: list[tuple[Kernel, Callable[[Any], Any], list[int]]] = []
        for number, step in enumerate(steps):
            kinds = tuple(forms[one] if isinstance(one, int) else type(one[1]) for one in step.operands)
            forms.append(step.form)
            taken = [_place(one, first, shift) if isinstance(one, int) else next(places) for one in step.operands]
            last_use[first + shift + number] = number
            last_use.update((place, number) for place in taken if place >= first + shift)
            take = itemgetter(*taken) if len(taken) > 1 else itemgetter(slice(taken[0], taken[0] + 1))
            plan.append((registry.bind(step.name, kinds, step.form, step.params), take, []))
        kept = [_place(number, first, shift) for number in results]
        for place, number in last_use.items():  # an array that nothing needs any more makes room
            if place not in kept:
                plan[number][-1].append(place)
        self._plan = plan
        self._steps = steps
        self._results = kept

    def __call__(self, *arrays: Any) -> tuple[Any, ...]:
        values = [*arrays, *self._constants]
        first = len(values)
        try:
            for kernel, take, finished in self._plan:
                values.append(kernel(*take(values)))
                for place in finished:
                    values[place] = None
        except Exception as failure:
            step = self._steps[len(values) - first]
            fail(step.name, failure, step.form)
        return tuple([values[place] for place in self._results])


def _place(number: int, first: int, shift: int) -> int:
    return number if number < first else number + shift


def needed(operands: int, steps: Sequence[Step], result: int, /) -> tuple[tuple[int, ...], tuple[Step, ...]]:
    """The operands and the steps that a result depends on, the steps renumbered; the last one gives the result.

    >>> form = zeros(2)._form
    >>> steps = [Step("exp", (0,), form), Step("sin", (1,), form), Step("cos", (3,), form)]
    >>> taken, kept = needed(2, steps, 4)
    >>> taken, [(step.name, step.operands) for step in kept]
    ((1,), [('sin', (0,)), ('cos', (1,))])
    """
    wanted = {result}
    for number in range(result, operands - 1, -1):
        if number in wanted:
            wanted.update(one for one in steps[number - operands].operands if isinstance(one, int))
    kept = sorted(wanted)
    places = {number: place for place, number in enumerate(kept)}
    renumbered = tuple(
        step._replace(operands=tuple(places[one] if isinstance(one, int) else one for one in step.operands))
        for step in (steps[number - operands] for number in kept if number >= operands)
    )
    return tuple(number for number in kept if number < operands), renumbered


def _obstacle(operands: tuple[Operand, ...], steps: Sequence[Step], step: Step) -> str | None:
    """Why a step is left to its own kernel: its values may be refused, or an option is not in a program's params."""
    constants = [one[1] for one in step.operands if not isinstance(one, int)]
    large = [one for one in constants if type(one) is int and abs(one) > _LARGEST_CONSTANT]
    if large:
        return f"the int beside {step.name} may not fit its dtype"
    facts = facts_of(step.name)
    if facts.option is None and step.params is not None:
        return f"{step.name} has the option {', '.join(map(repr, step.params))}"
    rules = [rule for rule in (facts.refuses, facts.option) if rule is not None]
    if not rules:
        return None
    taken = tuple(_known(operands, steps, one) for one in step.operands)
    return next(filter(None, (rule(step.name, taken, step.form, step.params) for rule in rules)), None)


def _known(operands: tuple[Operand, ...], steps: Sequence[Step], reference: Reference) -> Any:
    """The form of an operand of a step, the type of a Python number that differs from call to call, or a constant."""
    if not isinstance(reference, int):
        return reference[1]
    return operands[reference] if reference < len(operands) else steps[reference - len(operands)].form


def _reference_text(reference: Reference) -> str:
    return str(reference) if isinstance(reference, int) else repr(reference[1])


def _form_text(form: Operand) -> str:
    if not isinstance(form, Form):
        return f"Python {form.__name__}"
    layout = "" if form.is_compact else f", strides {form.strides}"
    return f"{form.dtype.name} {form.shape}{layout}"
