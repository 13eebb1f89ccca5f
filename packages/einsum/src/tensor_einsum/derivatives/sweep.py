"""Sweeps as data: the steps that give environments or marginals, what they cost, and when memory is given back.

Slots hold the operands, then the cotangent if there is one, then the result of every step. Other than in a plan a slot
may be read by several steps, so a sweep says after which step each is dropped.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, NamedTuple

from tensor_core.formatting import readable_bytes
from tensor_core.shapes import Shape
from tensor_einsum.notation.label_names import written
from tensor_einsum.notation.network import Labels
from tensor_einsum.steps.report import as_html, as_text, report_of_sweep, rounded
from tensor_einsum.steps.steps import VIEWS, Step, flops_of

if TYPE_CHECKING:
    from tensor_einsum.plans.plan import Plan


class Goal(NamedTuple):
    """What is asked of a sweep."""

    operands: tuple[int, ...] = ()
    """Whose environments are wanted; positions, distinct."""
    labels: tuple[int, ...] = ()
    """Whose marginals are wanted; numbers of labels, distinct."""
    cotangent: bool = False
    """Whether the result is weighted by a tensor of its shape and summed."""
    keeps_output: bool = False
    """Whether environments keep the labels of the output, rather than sum over them."""


def result_axes(plan: Plan, goal: Goal) -> list[tuple[Labels, Shape]]:
    """Labels and shape of every result of a goal; a label of -1 is an axis of extent 1 that broadcasts.

    >>> from tensor_einsum import plan
    >>> result_axes(plan("ij,j->i", (2, 1), (3,)), Goal((0, 1), keeps_output=True))
    [((0, -1), (2, 1)), ((1, 0), (3, 2))]
    """
    kept = tuple(dict.fromkeys(plan.output)) if goal.keeps_output else ()
    found: list[tuple[Labels, Shape]] = []
    for operand in goal.operands:
        axes = zip(plan.inputs[operand], plan.shapes[operand], strict=True)
        labels = tuple([label if extent == plan.extents[label] else -1 for label, extent in axes])
        rest = tuple([label for label in kept if label not in labels])
        found.append(((*labels, *rest), (*plan.shapes[operand], *[plan.extents[label] for label in rest])))
    return found + [((label,), (plan.extents[label],)) for label in goal.labels]


def result_bytes(plan: Plan, goal: Goal) -> int:
    """Bytes of all results of a goal.

    >>> from tensor_einsum import plan
    >>> result_bytes(plan("ij,j->", (2, 3), (3,)), Goal((0, 1)))
    72
    """
    return sum(prod(shape) for _, shape in result_axes(plan, goal)) * plan.output_dtype.itemsize


class SweepPlan(NamedTuple):
    """What a sweep does, decided before any data is touched. Immutable; it holds no form and no kernel.

    >>> from tensor_einsum import plan
    >>> sweep = plan("ij,jk,ki->", (2, 3), (3, 4), (4, 2)).environments_plan()
    >>> [step.subscripts for step in sweep.steps]
    ['jk,ki->ji', 'ij,jk->ki', 'ij,ki->jk', 'ji->ij']
    >>> sweep.results, sweep.flops, sweep.peak_bytes
    ((6, 5, 4), 144, 256)
    """

    plan: Plan
    goal: Goal
    first_slot: int
    """The slot of the first step's result."""
    steps: tuple[Step, ...]
    dropped: tuple[tuple[int, ...], ...]
    """Slots that nothing reads any more after each step."""
    results: tuple[int, ...]
    """Slots of the environments, then of the marginals, in the order of the goal."""
    peak_bytes: int
    """The most bytes alive at once beside operands and cotangent: intermediates, results, and the workspaces that
    kernels take for the operands that the plan was made for. Without those of kernels where none are known."""
    repeated: int = 0
    """How many steps are done again, because what they gave was dropped to keep a memory limit."""

    slices: int = 1
    """How often the steps are done, once for each slice of a sliced plan; they are those of a full slice."""

    shared: tuple[int, ...] = ()
    """Slots of the steps of a slice that are done once, for all slices of equal extents."""

    @property
    def flops(self) -> int:
        """Additions and multiplications of all steps, counted as in a plan; slices count as if all were full."""
        once = sum([self.steps[slot - self.first_slot].flops for slot in self.shared])
        return (sum([step.flops for step in self.steps]) - once) * self.slices + once

    def peak_with(self, workspaces: Sequence[int]) -> int:
        """The peak where every step takes so many bytes besides, while it runs."""
        alive: dict[int, int] = {}
        now = peak = 0
        for slot, (step, dropped, takes) in enumerate(
            zip(self.steps, self.dropped, workspaces, strict=True), self.first_slot
        ):
            alive[slot] = step.bytes
            now += step.bytes
            peak = max(peak, now + takes)
            if step.kind == "reshape":  # it keeps the memory of what it shows
                alive[slot] = alive.pop(step.operands[0])
            now -= sum(alive.pop(one, 0) for one in dropped)
        return peak

    def table(self, max_steps: int | None = None) -> str:
        """The sweep as text: totals, then one line per step; ``max_steps`` leaves out the middle of a long one."""
        return as_text(report_of_sweep(self, max_steps))

    def __str__(self) -> str:
        return self.table(40)

    def _repr_html_(self) -> str:
        return as_html(report_of_sweep(self, 40))

    def __repr__(self) -> str:
        slices = f"{self.slices} slices, " if self.slices > 1 else ""
        again = f", {self.repeated} of them done again" if self.repeated else ""
        return (
            f"<SweepPlan of {len(self.results)} results: {slices}{len(self.steps)} steps{again}, "
            f"{rounded(self.flops)} flops, peak {readable_bytes(self.peak_bytes)}>"
        )


def step_of(
    kind: str,
    operands: tuple[int, ...],
    inputs: tuple[Labels, ...],
    output: Labels,
    plan: Plan,
) -> Step:
    """A step with its costs.

    >>> from tensor_einsum import plan
    >>> step = step_of("contract", (0, 1), ((0, 1), (1, 2)), (0, 2), plan("ij,jk", (2, 3), (3, 4)))
    >>> step.subscripts, step.shape, step.flops, step.bytes
    ('ij,jk->ik', (2, 4), 48, 64)
    """
    extents, names = plan.extents, plan.names
    flops, counted = _costs(kind, inputs, output, extents)
    text = f"{','.join(written(term, names) for term in inputs)}->{written(output, names)}"
    shape = tuple(map(extents.__getitem__, output))
    size = 0 if kind in VIEWS else prod(shape) * plan.output_dtype.itemsize
    return Step(kind, operands, inputs, output, text, shape, flops, counted, size)


def _costs(kind: str, inputs: Sequence[Labels], output: Labels, extents: Sequence[int]) -> tuple[int, int]:
    """Operations as a plan counts them, and as opt_einsum does."""
    if kind == "one" or kind in VIEWS:
        return 0, 0
    flops, counted = flops_of(inputs, output, extents)
    return (counted, counted) if kind == "conj" else (flops, counted)
