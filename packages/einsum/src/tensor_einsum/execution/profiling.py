"""How long each step of a plan takes, beside what the cost model expects of it."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tensor_core.errors import ArgumentError, shortened
from tensor_einsum.execution.executor import Instruction, bind_plan, check_forms
from tensor_einsum.search.cost_model import CostModel
from tensor_runtime.backends.error_translation import call_translated
from tensor_runtime.backends.registry import registry
from tensor_runtime.tensors.tensor import Tensor, unwrap

if TYPE_CHECKING:
    from tensor_einsum.plans.plan import Plan

_MOST_ROUNDS: Final = 1001


class StepProfile(NamedTuple):
    """One step of a plan: what it computes, and the seconds that are expected and were measured.

    Attributes:
        subscripts: of the step.
        shape: of its result.
        flops: multiplications and additions.
        predicted: seconds by the cost model.
        measured: seconds, the median of the rounds.
    """

    subscripts: str
    shape: tuple[int, ...]
    flops: int
    predicted: float
    measured: float


class Profile(NamedTuple):
    """The steps of a plan in their order, and how often they were timed; prints as a table.

    Attributes:
        steps: of one slice, where the plan has slices.
        rounds: how many runs the medians are of.
        slices: how often the steps run in a call.
    """

    steps: tuple[StepProfile, ...]
    rounds: int
    slices: int

    @property
    def predicted(self) -> float:
        """Seconds of all steps by the cost model, in all slices."""
        return self.slices * sum(step.predicted for step in self.steps)

    @property
    def measured(self) -> float:
        """Seconds of all steps as they were measured, in all slices."""
        return self.slices * sum(step.measured for step in self.steps)

    def __str__(self) -> str:
        of = f" in each of {self.slices} slices" if self.slices > 1 else ""
        lines = [
            f"{len(self.steps)} steps{of}, median of {self.rounds} runs: predicted {self.predicted:.3g} s, "
            f"measured {self.measured:.3g} s",
            "  step   predicted    measured   ratio       flops  subscripts",
        ]
        for number, step in enumerate(self.steps):
            ratio = step.measured / step.predicted
            lines.append(
                f"{number:6d}  {step.predicted * 1e6:8.3g} µs {step.measured * 1e6:8.3g} µs  {ratio:6.2f}  "
                f"{step.flops:10.3g}  {step.subscripts}"
            )
        return "\n".join(lines)


def profile(plan: Plan, operands: Sequence[Tensor], seconds: float, model: CostModel) -> Profile:
    """Run the steps of a plan one by one, with a look at the clock between them.

    >>> from tensor_einsum import plan
    >>> from tensor_einsum.search.cost_model import SHIPPED
    >>> from tensor_runtime import ones
    >>> found = profile(plan("ij,jk->ik", (2, 3), (3, 4)), [ones((2, 3)), ones((3, 4))], 0.01, SHIPPED)
    >>> [step.shape for step in found.steps], found.slices
    ([(2, 4)], 1)
    """
    if type(seconds) not in (int, float) or not seconds > 0:
        raise ArgumentError(f"profile: seconds is {shortened(seconds)}; accepted: a positive number", value=seconds)
    check_forms(plan, [unwrap("profile", operand)[0] for operand in operands], "profile")
    parts = dict(plan.sliced)
    first = [  # a label of which a slice has one index is no axis of its steps
        operand[tuple(0 if parts.get(label) == 1 else slice(parts.get(label)) for label in labels)]
        if parts
        else operand
        for operand, labels in zip(operands, plan.inputs, strict=True)
    ]
    forms, arrays = [operand._form for operand in first], [operand._array for operand in first]
    instructions = bind_plan(plan, forms)[0].instructions
    times, rounds = _times(instructions, arrays, seconds, registry.backend_for(forms[0].placement))
    rates = model.of(plan.output_dtype)
    shapes = [form.shape for form in forms]
    steps = []
    for step, measured in zip(plan.steps, times, strict=True):
        moved = step.size + sum(prod(shapes[operand]) for operand in step.operands)
        shapes.append(step.shape)
        predicted = step.flops / rates.flop_rate + moved / rates.element_rate + rates.step_seconds
        steps.append(StepProfile(step.subscripts, step.shape, step.flops, predicted, measured))
    return Profile(tuple(steps), rounds, plan.slices.count if plan.sliced else 1)


def _times(
    instructions: Sequence[Instruction], arrays: Sequence[Any], seconds: float, backend: Any
) -> tuple[list[float], int]:
    """The median seconds of every instruction, and of how many runs; the first one, on fresh memory, is left out."""
    samples: list[list[float]] = [[] for _ in instructions]
    began = perf_counter()
    rounds = 0
    while rounds < 2 or (rounds < _MOST_ROUNDS and perf_counter() - began < seconds):
        slots = list(arrays)
        for number, (kernel, first, second) in enumerate(instructions):
            operands = (slots[first],) if second < 0 else (slots[first], slots[second])
            start = perf_counter()
            result = call_translated("einsum", None, kernel, *operands)
            backend.synchronize()
            samples[number].append(perf_counter() - start)
            slots.append(result)
            slots[first] = None  # intermediates go when they are read, as in a call
            if second >= 0:
                slots[second] = None
        rounds += 1
    return [median(values[1:]) for values in samples], rounds - 1
