"""Planning a sweep: down the tree of a plan, from the result to the operands.

A node of the tree is a slot of the plan; its environment is the derivative of the result with respect to its value.
The environment of the root is the cotangent, or one. From a node's environment E follow those of the two it was
contracted from: that of A is the contraction of E with B, and that of B the contraction of E with A. So each step of a
plan is followed by two of its size, and by none where a whole branch is not asked for.

An environment never has an axis that it does not depend on: labels that only A has are left out, and written only
when the environment of an operand is given to the user, as are diagonals and the axes of extent 1 that broadcast.

Source: reverse accumulation; on networks, the "environments" of R. Orús, "A practical introduction to tensor networks",
Annals of Physics 349 (2014), and on graphical models the two passes of belief propagation on a junction tree.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from tensor_einsum.derivatives.store import OverLimit, Store
from tensor_einsum.derivatives.sweep import Goal, SweepPlan
from tensor_einsum.derivatives.tree import Tree
from tensor_einsum.notation.network import Labels

if TYPE_CHECKING:
    from tensor_einsum.plans.plan import Plan


class Tried(NamedTuple):
    """What became of a limit."""

    sweep: SweepPlan | None
    """None where nothing was left to drop, and a step did not fit."""
    steps: int
    """How many were decided."""
    beyond: int | None
    """The lowest limit in bytes above this one under which something else is done; None if there is none."""


def try_limit(plan: Plan, goal: Goal, limit: int | None) -> Tried:
    """Decide the steps of a sweep.

    Args:
        plan: of the network.
        goal: what is wanted.
        limit: bytes of intermediates and results that may be alive at once, or None. Values are computed again where
            that keeps it.

    >>> from tensor_einsum import plan
    >>> p = plan("i,ij->j", (2,), (2, 3))
    >>> [step.subscripts for step in try_limit(p, Goal((0,), keeps_output=True), None).sweep.steps]
    ['ij->ij']
    >>> try_limit(p, Goal((0,), keeps_output=True), 40)
    Tried(sweep=None, steps=0, beyond=48)
    """
    making = _Sweep(plan, goal, limit, strict=True)
    try:
        sweep = making.run()
    except OverLimit:
        sweep = None
    return Tried(sweep, len(making.store.steps), making.store.beyond)


def frugal_sweep(plan: Plan, goal: Goal) -> SweepPlan:
    """The sweep that drops whatever it can, always; others may take less all the same.

    >>> from tensor_einsum import plan
    >>> frugal_sweep(plan("i,ij->j", (2,), (2, 3)), Goal((0,), keeps_output=True)).peak_bytes
    48
    """
    return _Sweep(plan, goal, 0, strict=False).run()


class _Environment(NamedTuple):
    """Where the environment of a node is, held once; no slot means one everywhere."""

    slot: int | None
    labels: Labels  # one for each axis of the slot, distinct
    own: bool  # whether the slot is an environment alone, and not a value too
    conjugated: bool = False  # whether its elements stand for their conjugates


class _Sweep:
    """The nodes in order, the environments on the way, and the store that takes the steps."""

    def __init__(self, plan: Plan, goal: Goal, limit: int | None, strict: bool) -> None:
        self.plan, self.goal = plan, goal
        self.operands = len(plan.inputs)
        self.output = tuple(dict.fromkeys(plan.output))
        self.kept: Labels = self.output if goal.keeps_output else ()
        self.tree = Tree(plan, goal)
        self.results: dict[int, int] = {}  # operand -> slot
        self.marginals: dict[int, int] = {}  # label -> slot
        first_slot = self.operands + goal.cotangent
        self.store = Store(plan, first_slot, self.tree.needed_at, limit, strict)

    def run(self) -> SweepPlan:
        store = self.store
        environments = {self.tree.root: self._cotangent()} if self.tree.order else {}
        for store.turn, node in enumerate(self.tree.order):
            environment = environments.pop(node)
            if node < self.operands:
                self.results[node] = self._finished(node, environment)
                continue
            below = self.plan.steps[node - self.operands].operands
            if len(below) == 2:
                environments.update(self._split(below[0], below[1], environment))
            else:
                environments.update(self._passed(below[0], environment))
        slots = (
            *(self.results[operand] for operand in self.goal.operands),
            *(self.marginals[label] for label in self.goal.labels),
        )
        steps, dropped = tuple(store.steps), tuple(map(tuple, store.dropped))
        return SweepPlan(self.plan, self.goal, store.first_slot, steps, dropped, slots, store.peak, store.repeated)

    def _cotangent(self) -> _Environment:
        """The environment of the root."""
        if not self.goal.cotangent:
            return _Environment(None, (), True)
        slot = self.operands
        if self.output == self.plan.output:
            return _Environment(slot, self.output, False)
        return _Environment(self.store.exchange(slot, "unary_einsum", self.plan.output, self.output), self.output, True)

    def _split(self, a: int, b: int, environment: _Environment) -> dict[int, _Environment]:
        """Environments of the two that a step contracts; that of the smaller first, so that its partner can go."""
        store, found = self.store, {}
        reads = self.tree.reads(a, b)  # by the one whose environment is made, the values that it takes
        store.demand({slot for slots in reads.values() for slot in slots})
        waiting = list(reads)
        for node, slots in reads.items():
            made = self._environment_of(node, b if node == a else a, environment)
            waiting.remove(node)
            if not waiting:
                store.release(environment.slot)
            found.update(self._with_marginals(node, made))
            for slot in slots:
                if not any(slot in reads[other] for other in waiting):
                    store.done(slot)
        return found

    def _passed(self, child: int, environment: _Environment) -> dict[int, _Environment]:
        """The environment of the one that a step of one operand reads: the same, as labels say which axis is which."""
        measured = child in self.tree.measured
        if measured:
            self.store.demand([child])
        found = self._with_marginals(child, environment)
        if measured:
            self.store.done(child)
        return found

    def _environment_of(self, node: int, other: int, environment: _Environment) -> _Environment:
        store = self.store
        wanted = {*self.tree.terms[node], *self.kept}
        labels, value, conjugated = self.tree.terms[other], store.values[other], other in self.tree.conjugated
        if environment.slot is None and wanted.issuperset(labels):
            return _Environment(store.hold(value), labels, False, conjugated)
        kept = self._arranged(node, [label for label in (*environment.labels, *labels) if label in wanted])
        if environment.slot is None:
            slot = store.emit("unary_einsum", (value,), (labels,), kept)
            return _Environment(slot, kept, True, conjugated)
        return self._product(environment, _Environment(value, labels, False, conjugated), kept)

    def _product(self, a: _Environment, b: _Environment, output: Labels) -> _Environment:
        """The contraction of two; where one of them alone stands for its conjugate, a step that reads it so."""
        kind, one_is = "contract", a.conjugated is not b.conjugated
        if one_is:
            kind, (a, b) = "conj_contract", (a, b) if a.conjugated else (b, a)
        assert a.slot is not None and b.slot is not None
        slot = self.store.emit(kind, (a.slot, b.slot), (a.labels, b.labels), output)
        return _Environment(slot, output, True, a.conjugated and not one_is)

    def _arranged(self, node: int, labels: Iterable[int]) -> Labels:
        """The order of an environment's axes: that of the value it belongs to, then those of the output."""
        places = {label: place for place, label in enumerate(dict.fromkeys((*self.tree.terms[node], *self.kept)))}
        return tuple(sorted(set(labels), key=places.__getitem__))

    def _with_marginals(self, node: int, environment: _Environment) -> dict[int, _Environment]:
        """Take the marginals that are taken here; the environment, if nodes below need it."""
        store, labels = self.store, self.tree.terms[node]
        for label in self.tree.measured.get(node, ()):
            value = _Environment(store.values[node], labels, False, node in self.tree.conjugated)
            if environment.slot is None:
                slot = store.emit("unary_einsum", (store.values[node],), (labels,), (label,))
                marginal = value._replace(slot=slot)
            elif len(distinct := tuple(dict.fromkeys(labels))) < len(labels):
                slot = store.emit("unary_einsum", (store.values[node],), (labels,), distinct)
                marginal = self._product(value._replace(slot=slot, labels=distinct), environment, (label,))
                store.release(slot)
            else:
                marginal = self._product(value, environment, (label,))
            self.marginals[label] = self._plain(marginal.slot, (label,), marginal.conjugated)
        if self.tree.goes_on[node]:
            return {node: environment}
        store.release(environment.slot)
        return {}

    def _plain(self, slot: int | None, labels: Labels, conjugated: bool) -> int:
        """What is given to the user, conjugated at last."""
        assert slot is not None
        return self.store.exchange(slot, "conj", labels, labels) if conjugated else slot

    def _finished(self, operand: int, environment: _Environment) -> int:
        """The environment of an operand as the user gets it: with all axes of the operand, in order."""
        store, plan = self.store, self.plan
        shape, extents = plan.shapes[operand], plan.extents
        axes = zip(plan.inputs[operand], shape, strict=True)
        own = tuple([label for label, extent in axes if extent == extents[label]])  # the others broadcast
        result = (*own, *[label for label in self.kept if label not in own])
        slot, labels, free, conjugated = environment
        if slot is None:
            slot = store.emit("one", (), (), ())
        missing = tuple([label for label in dict.fromkeys(result) if label not in labels])
        if missing:
            view = store.emit("broadcast", (slot,), (labels,), (*missing, *labels))
            made = store.exchange(view, "unary_einsum", (*missing, *labels), result)
            store.release(slot)
            slot = made
        elif labels != result or not free:
            slot = store.exchange(slot, "unary_einsum", labels, result)
        slot = self._plain(slot, result, conjugated)
        if len(own) == len(shape):
            return slot
        return store.reshape(slot, result, (*shape, *[extents[label] for label in result[len(own) :]]))
