"""The tree of a plan as a sweep sees it: which nodes it visits, in which order, and which values it reads where."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from tensor_einsum.derivatives.sweep import Goal
from tensor_einsum.notation.network import Labels
from tensor_einsum.steps.steps import KEEPS_CONJ

if TYPE_CHECKING:
    from tensor_einsum.plans.plan import Plan


class Tree:
    """Slots of a plan, and what a goal asks of each.

    Attributes:
        root: the slot of the plan's result.
        terms: labels of each slot, one per axis.
        conjugated: slots whose elements stand for their conjugates, as operands that are taken so do, and products of
            two such.
        measured: by slot, the labels whose marginals are taken from its value and its environment.
        goes_on: by slot, whether its environment is taken further: to the user, or to the slots that it was made of.
        order: the slots that ``goes_on`` tells, each after the one that reads it; large branches first.
        needed_at: by slot, the place in the order at which its value is read.

    >>> from tensor_einsum import plan
    >>> chain = plan("ij,jk,kl->", (2, 3), (3, 4), (4, 5), optimize=[(0, 1), (0, 1)])
    >>> tree = Tree(chain, Goal((0,)))
    >>> tree.root, tree.terms[3:], tree.order
    (4, [(2,), ()], [4, 3, 0])
    """

    def __init__(self, plan: Plan, goal: Goal) -> None:
        self.plan = plan
        self.operands = len(plan.inputs)
        self.terms: list[Labels] = [*plan.inputs, *[step.output for step in plan.steps]]
        self.root = len(self.terms) - 1  # a network of one operand has a step, too
        self.conjugated = {*plan.conj}
        for slot, step in enumerate(plan.steps, self.operands):
            if step.kind in KEEPS_CONJ and step.operands[0] in self.conjugated:
                self.conjugated.add(slot)
        self.measured: dict[int, list[int]] = {}
        ends = {*goal.operands}
        if goal.labels:
            leaders = {self._last_with(label) for label in goal.labels}
            self._follow(ends | leaders)
            for label in goal.labels:
                self.measured.setdefault(self._smallest_with(label), []).append(label)
        self._follow(ends | {*self.measured})
        self.goes_on = [slot in ends for slot in range(self.operands)]
        for step in plan.steps:
            self.goes_on.append(any(self.needed[slot] for slot in step.operands))
        self.order = self._ordered()
        self.needed_at = {
            slot: turn for turn, node in enumerate(self.order) for slots in self._read_at(node) for slot in slots
        }

    def reads(self, a: int, b: int) -> dict[int, tuple[int, ...]]:
        """Of two slots that a step contracts: whose environment is made, smaller ones first, and what that reads."""
        pairs = ((a, b), (b, a)) if self.size(a) <= self.size(b) else ((b, a), (a, b))
        return {
            node: (other, node) if node in self.measured else (other,) for node, other in pairs if self.needed[node]
        }

    def size(self, slot: int) -> int:
        """Elements of a slot's value."""
        return prod(map(self.plan.extents.__getitem__, self.terms[slot]))

    def _follow(self, ends: set[int]) -> None:
        """Note which slots' environments must be known for those of ``ends``: all that they are part of."""
        self.needed = [slot in ends for slot in range(len(self.terms))]
        for slot, step in enumerate(self.plan.steps, self.operands):
            self.needed[slot] |= any(self.needed[other] for other in step.operands)

    def _last_with(self, label: int) -> int:
        """The smallest of the slots whose step sums a label, or of those that give it to the result."""
        steps = self.plan.steps
        for slot in range(self.root, self.operands - 1, -1):
            step = steps[slot - self.operands]
            holding = [other for other in step.operands if label in self.terms[other]]
            if holding:
                return min(holding, key=self.size)
        raise AssertionError(label)  # every label is in an operand, and every operand is read by a step

    def _smallest_with(self, label: int) -> int:
        """The smallest slot with a label among those whose environments are known anyway."""
        found = [slot for slot in range(self.root) if self.needed[slot] and label in self.terms[slot]]
        squeezed = {step.operands[0] for step in self.plan.steps if step.kind == "squeeze"}
        # Of many labels of extent 1 there are axes nowhere else.
        return min([slot for slot in found if slot not in squeezed] or found, key=self.size)

    def _ordered(self) -> list[int]:
        order, waiting = [], [self.root] if self.goes_on[self.root] else []
        weights = [0] * self.operands
        for step in self.plan.steps:
            weights.append(step.bytes + sum(weights[slot] for slot in step.operands))
        while waiting:
            node = waiting.pop()
            order.append(node)
            if node >= self.operands:
                below = [slot for slot in self.plan.steps[node - self.operands].operands if self.goes_on[slot]]
                waiting += sorted(below, key=weights.__getitem__)
        return order

    def _read_at(self, node: int) -> list[tuple[int, ...]]:
        if node < self.operands:
            return []
        slots = self.plan.steps[node - self.operands].operands
        if len(slots) == 2:
            return list(self.reads(*slots).values())
        return [slots] if slots[0] in self.measured else []
