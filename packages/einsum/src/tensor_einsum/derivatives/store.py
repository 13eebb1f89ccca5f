"""The store of a sweep in the making: steps emitted so far, what is alive, and what is dropped to stay within a limit.

Values of the plan's own steps may be dropped before they are needed again, and are then computed a second time. Which
goes first: the one whose computation costs least for each byte and each node of the tree that passes until it is
needed (the rule of dynamic tensor rematerialization, with the known future in the place of the past).

Source: M. Kirisame and others, "Dynamic Tensor Rematerialization", ICLR 2021, arXiv:2006.09616.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from tensor_core.shapes import Shape
from tensor_einsum.derivatives.sweep import step_of
from tensor_einsum.notation.network import Labels
from tensor_einsum.steps.steps import Step

if TYPE_CHECKING:
    from tensor_einsum.plans.plan import Plan


class OverLimit(Exception):  # noqa: N818 - a signal inside this package
    """Nothing is left to drop, and the next step does not fit."""


class Store:
    """Slots of a sweep, with their holders.

    Args:
        plan: whose network is swept.
        first_slot: the number of slots that exist before the first step.
        needed_at: by slot of the plan, the turn of the sweep at which its value is read; none for values that only
            other values need.
        limit: bytes that may be alive at once, or None.
        strict: whether a step beyond the limit is an error; if not, it is taken, and ``peak`` says how much it takes.

    Attributes:
        beyond: the fewest bytes that did not fit: the lowest limit under which something else is done. None if all fit.

    >>> from tensor_einsum import plan
    >>> store = Store(plan("ij,jk,kl->", (2, 3), (3, 4), (4, 5), optimize=False), 3, {3: 0}, None)
    >>> store.demand([3])
    >>> store.now, store.steps[0].subscripts
    (32, 'ij,jk->k')
    >>> store.done(3)
    >>> store.now, store.peak, store.dropped
    (0, 32, [[3]])
    """

    def __init__(
        self, plan: Plan, first_slot: int, needed_at: dict[int, int], limit: int | None, strict: bool = True
    ) -> None:
        self.plan = plan
        self.limit = limit
        self.strict = strict
        self.needed_at = needed_at
        self.first_slot = first_slot
        self.steps: list[Step] = []
        self.dropped: list[list[int]] = []
        self.holders: dict[int, int] = {}  # slot of the sweep -> how many hold it
        self.bytes: dict[int, int] = {}  # of what is alive
        self.values: dict[int, int] = {slot: slot for slot in range(len(plan.inputs))}  # of the plan -> of the sweep
        self.turn = self.now = self.peak = self.repeated = 0
        self.beyond: int | None = None
        self._idle: set[int] = set()  # slots of the plan whose values nobody reads just now
        self._slots: dict[int, int] = {}  # of the sweep, those that hold values -> of the plan
        self._again: dict[int, int] = {}  # operations to compute a value of the plan once more
        self._computed: set[int] = set()

    def emit(self, kind: str, operands: tuple[int, ...], inputs: tuple[Labels, ...], output: Labels) -> int:
        """Add a step; its slot has one holder, the caller."""
        return self._add(step_of(kind, operands, inputs, output, self.plan))

    def hold(self, slot: int) -> int:
        """One holder more."""
        if slot in self.holders:
            self.holders[slot] += 1
            self._idle.discard(self._slots.get(slot, -1))
        return slot

    def release(self, slot: int | None) -> None:
        """One holder less; without any, the slot is dropped. Operands stay with the caller of the sweep."""
        if slot is None or slot not in self.holders:
            return
        self.holders[slot] -= 1
        if self.holders[slot]:
            value_of = self._slots.get(slot, -1)
            if self.holders[slot] == 1 and self.bytes[slot] and self.values.get(value_of) == slot:
                self._idle.add(value_of)
        else:
            del self.holders[slot]
            self.now -= self.bytes.pop(slot)
            self.dropped[-1].append(slot)

    def exchange(self, slot: int | None, kind: str, labels: Labels, output: Labels) -> int:
        """Add a step that reads one slot, and release that."""
        made = self.emit(kind, () if slot is None else (slot,), () if slot is None else (labels,), output)
        self.release(slot)
        return made

    def reshape(self, slot: int, labels: Labels, shape: Shape) -> int:
        """A view of a slot with another shape, which keeps its memory; the slot itself is released."""
        view = self._add(step_of("reshape", (slot,), (labels,), labels, self.plan)._replace(shape=shape))
        self.bytes[view], self.bytes[slot] = self.bytes[slot], 0
        self.release(slot)
        return view

    def demand(self, slots: Collection[int]) -> None:
        """Make the values of distinct slots of the plan live; each gets a holder, whom :meth:`done` releases."""
        steps, operands = self.plan.steps, len(self.plan.inputs)
        missing: set[int] = set()
        waiting = [slot for slot in slots if slot not in self.values]
        while waiting:
            slot = waiting.pop()
            missing.add(slot)
            waiting += [other for other in steps[slot - operands].operands if other not in self.values]
        inputs = [other for slot in missing for other in steps[slot - operands].operands if other not in missing]
        for slot in (*slots, *inputs):  # those that are there must not be dropped on the way
            if slot not in missing:
                self.hold(self.values[slot])
        for slot in sorted(missing):
            step = steps[slot - operands]
            places = tuple(self.values[other] for other in step.operands)
            self._add(step._replace(operands=places), slot)
            for other, place in zip(step.operands, places, strict=True):
                self.release(place)  # every value that is made or found here has a holder for the one who reads it
                if self.needed_at.get(other, -1) < self.turn:
                    self._forget(other)

    def done(self, slot: int) -> None:
        """The value of a slot of the plan, demanded before, is not read any more."""
        place = self.values[slot]
        self._forget(slot)
        self.release(place)

    def _forget(self, slot: int) -> None:
        """Keep a value no longer; who needs it again computes it again."""
        if slot >= len(self.plan.inputs):
            self._note_cost(slot)
            self._idle.discard(slot)
            self.release(self.values.pop(slot))

    def _add(self, step: Step, value_of: int | None = None) -> int:
        self._make_room(step.bytes)
        slot = self.first_slot + len(self.steps)
        self.steps.append(step)
        self.dropped.append([])
        self.holders[slot] = 1
        self.bytes[slot] = step.bytes
        self.now += step.bytes
        self.peak = max(self.peak, self.now)
        if value_of is not None:
            self.holders[slot] += 1  # as a value
            self.values[value_of], self._slots[slot] = slot, value_of
            self.repeated += value_of in self._computed
            self._computed.add(value_of)
        return slot

    def _make_room(self, wanted: int) -> None:
        if self.limit is None:
            return
        while self.now + wanted > self.limit:
            self.beyond = min(self.beyond or self.now + wanted, self.now + wanted)
            if self._idle:
                self._forget(min(self._idle, key=self._price))
            elif self.strict:
                raise OverLimit
            else:
                return

    def _price(self, slot: int) -> float:
        self._note_cost(slot)
        distance = max(self.needed_at.get(slot, self.turn) - self.turn, 0) + 1
        return self._again[slot] / (self.bytes[self.values[slot]] * distance)

    def _note_cost(self, slot: int) -> None:
        step = self.plan.steps[slot - len(self.plan.inputs)]
        self._again[slot] = (
            step.flops + 1 + sum(self._again.get(other, 0) for other in step.operands if other not in self.values)
        )
