"""Sharing between slices: the steps of a sweep that no cut label reaches are done once, before all slices.

What slices read of them is kept until the last one, beside what a slice takes. Where a limit does not allow that, the
values that are cheapest to compute again for their size are left to the slices.

Everything is pure data of steps.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from tensor_einsum.derivatives.sweep import Goal, SweepPlan
from tensor_einsum.steps.steps import VIEWS, Step

if TYPE_CHECKING:
    from tensor_einsum.plans.plan import Plan


class Parted(NamedTuple):
    """A sweep in two: what is done once, and what every slice does."""

    before: SweepPlan
    """Its results are the values that slices read."""
    each: SweepPlan
    """Reads the slots before the first step, and then those values."""
    kept_bytes: int

    @property
    def peak_bytes(self) -> int:
        """The most bytes at once beside the operands."""
        return max(self.before.peak_bytes, self.kept_bytes + self.each.peak_bytes)


def section(
    plan: Plan,
    goal: Goal,
    first: int,
    chosen: Mapping[int, Step],
    results: Sequence[int],
    given: Sequence[int] = (),
) -> SweepPlan:
    """Some steps as a sweep of their own, which reads values of other steps that are given.

    Args:
        plan, goal: of the sweep.
        first: slots before the first step; all may be read.
        chosen: the steps by their slots, in order.
        results: slots whose values are wanted.
        given: slots of other steps; they follow the first ones.

    >>> from tensor_einsum import plan
    >>> p = plan("ij,jk,kl->il", (2, 3), (3, 4), (4, 5), optimize=[(0, 1), (0, 1)])
    >>> found = section(p, Goal(), 3, {4: p.steps[1]}, [4], [3])
    >>> found.steps[0].operands, found.results, found.peak_bytes
    ((2, 3), (4,), 80)
    """
    start = first + len(given)
    slots = {slot: slot for slot in range(first)}
    slots.update({slot: first + place for place, slot in enumerate(given)})
    slots.update({slot: start + place for place, slot in enumerate(chosen)})
    last: dict[int, int] = {}  # by slot: the step after which nothing reads it, also through views
    for slot in reversed(list(chosen)):
        step = chosen[slot]
        until = last.setdefault(slot, slot) if step.kind in VIEWS else slot
        for operand in step.operands:
            last[operand] = max(last.get(operand, until), until)
    dropped: dict[int, list[int]] = {slot: [] for slot in chosen}
    for slot in chosen:
        if slot not in results:
            dropped[last.get(slot, slot)].append(slots[slot])
    steps = tuple([step._replace(operands=tuple(map(slots.__getitem__, step.operands))) for step in chosen.values()])
    found = SweepPlan(
        plan, goal, start, steps, tuple(map(tuple, dropped.values())), tuple(map(slots.__getitem__, results)), 0
    )
    return found._replace(peak_bytes=found.peak_with([0] * len(steps)))


def parted(sweep: SweepPlan, shared: Collection[int]) -> Parted:
    """A sweep in two.

    Args:
        sweep: of one slice.
        shared: slots of steps that are done once; those that they read are among them.

    >>> from tensor_einsum import plan
    >>> found = parted(plan("ij,jk,kl->", (2, 3), (3, 4), (4, 5), optimize=False).environments_plan(which=2), {3})
    >>> [step.subscripts for step in found.before.steps], [step.subscripts for step in found.each.steps]
    (['ij,jk->k'], ['k->lk', 'lk->kl'])
    """
    steps = dict(enumerate(sweep.steps, sweep.first_slot))
    before = {slot: step for slot, step in steps.items() if slot in shared}
    each = {slot: step for slot, step in steps.items() if slot not in shared}
    read = {operand for step in each.values() for operand in step.operands}
    kept = [slot for slot in before if slot in read]
    return Parted(
        section(sweep.plan, Goal(), sweep.first_slot, before, kept),
        section(sweep.plan, sweep.goal, sweep.first_slot, each, sweep.results, kept),
        sum([steps[slot].bytes for slot in kept]),
    )


def shareable(sweep: SweepPlan, cut: set[int], varies: Sequence[bool]) -> set[int]:
    """Slots of steps that give the same in every slice; neither results, which are added up, nor views that are read.

    Args:
        sweep: of one slice.
        cut: labels that are cut.
        varies: of every slot before the first step, whether it differs from slice to slice.

    >>> from tensor_einsum import plan
    >>> sweep = plan("ij,jk,kl->", (2, 3), (3, 4), (4, 5), optimize=False).environments_plan(which=0)
    >>> [step.subscripts for step in sweep.steps], shareable(sweep, {0}, [True, False, False])
    (['kl->k', 'k,jk->j', 'j->ij', 'ij->ij'], {3, 4})
    """
    steps = dict(enumerate(sweep.steps, sweep.first_slot))
    fixed = {slot for slot, differs in enumerate(varies) if not differs}
    for slot, step in steps.items():
        touched = any(not cut.isdisjoint(term) for term in (step.output, *step.inputs))
        if not touched and slot not in sweep.results and fixed.issuperset(step.operands):
            fixed.add(slot)
    return _closed(steps, fixed & steps.keys())


def shared_within(sweep: SweepPlan, shared: set[int], limit: int | None) -> set[int]:
    """Those of the slots whose values may be kept, so that the peak of slices stays within a limit in bytes.

    >>> from tensor_einsum import plan
    >>> sweep = plan("ij,jk,kl->", (2, 3), (3, 4), (4, 5), optimize=False).environments_plan(which=2)
    >>> shared_within(sweep, {3}, 1000), shared_within(sweep, {3}, 100)
    ({3}, set())
    """
    while shared:
        found = parted(sweep, shared)
        if limit is None or found.peak_bytes <= limit:
            break
        steps = dict(enumerate(sweep.steps, sweep.first_slot))
        read = {operand for slot, step in steps.items() if slot not in shared for operand in step.operands}
        kept = sorted(shared & read, key=lambda slot: steps[slot].flops / max(steps[slot].bytes, 1))
        shared = _closed(steps, shared - {*kept[: 1 + len(kept) // 8]})
    return shared


def _closed(steps: Mapping[int, Step], shared: Collection[int]) -> set[int]:
    """The most of some slots that read one another alone, and whose views nobody else reads."""
    found, before = {*shared}, 0
    while len(found) != before:
        before = len(found)
        for slot, step in steps.items():
            if slot in found and any(operand in steps and operand not in found for operand in step.operands):
                found.discard(slot)
        for slot, step in steps.items():
            if slot not in found:
                found -= {operand for operand in step.operands if operand in found and steps[operand].kind in VIEWS}
    return found
