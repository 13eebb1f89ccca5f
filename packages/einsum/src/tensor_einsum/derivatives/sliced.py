"""Sweeps over sliced plans: one sweep for each slice, whose results are added up where they belong.

An environment of a slice is a part of that of the whole along the sliced labels that it has, and one of the terms of a
sum along those that it has not; so is a marginal. Each slice is a network of its own, with shorter axes. Slices of
equal extents follow one another, and what no cut label reaches is computed once for all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import tensor_runtime as ops
from tensor_core.dtypes import Bool
from tensor_core.shapes import Shape
from tensor_einsum.derivatives.running import BoundSweep
from tensor_einsum.derivatives.sharing import parted, shareable, shared_within
from tensor_einsum.derivatives.sweep import Goal, SweepPlan, result_axes
from tensor_einsum.execution.memory import needs_check, usable_bytes
from tensor_einsum.execution.progress import Repeated
from tensor_einsum.notation.network import Labels
from tensor_runtime.form import Form
from tensor_runtime.ops.indexing import SLICE_VIEW
from tensor_runtime.placement import Placement
from tensor_runtime.tensors.tensor import Tensor

if TYPE_CHECKING:
    from tensor_einsum.plans.plan import Plan

T = TypeVar("T")
Parts = dict[int, slice]
"""By label that is cut: where a slice lies along it."""


def plan_of_slice(plan: Plan, parts: Parts) -> Plan:
    """The network of one slice, contracted along the same path.

    >>> from tensor_einsum import plan
    >>> whole = plan("ij,jk->ik", (2, 9), (9, 4)).with_slices({"j": 3})
    >>> plan_of_slice(whole, {1: slice(6, 9)}).shapes
    ((2, 3), (3, 4))
    """
    shapes = [
        tuple([_length(plan, label, extent, parts) for label, extent in zip(term, shape, strict=True)])
        for term, shape in zip(plan.inputs, plan.shapes, strict=True)
    ]
    return plan.with_slices(()).reuse(*shapes)


class Kind(NamedTuple):
    """Slices of equal extents."""

    labels: Labels
    starts: tuple[range, ...]
    """By label that is cut: where these slices start along it."""
    lengths: Shape

    @property
    def slices(self) -> int:
        """How many slices are of this kind."""
        return prod(map(len, self.starts))

    def parts(self) -> Iterator[Parts]:
        """Where each of them lies, one at a time, as there may be many."""
        for number in range(self.slices):  # product() would list all starts of a label
            starts, rest = [], number
            for along in reversed(self.starts):
                rest, place = divmod(rest, len(along))
                starts.append(along[place])
            places = zip(self.labels, reversed(starts), self.lengths, strict=True)
            yield {label: slice(start, start + length) for label, start, length in places}


def kinds_of(plan: Plan) -> list[Kind]:
    """All slices, by their extents; full ones first.

    >>> from tensor_einsum import plan
    >>> [list(kind.parts()) for kind in kinds_of(plan("i->", (5,)).with_slices({"i": 2}))]
    [[{0: slice(0, 2, None)}, {0: slice(2, 4, None)}], [{0: slice(4, 5, None)}]]
    """
    along: list[list[tuple[range, int]]] = []
    for label, part in plan.sliced:
        extent = plan.extents[label]
        rest = extent % part
        along.append(
            [(range(0, extent - rest, part), part), *([(range(extent - rest, extent, rest), rest)] if rest else [])]
        )
    labels = tuple([label for label, _ in plan.sliced])
    return [
        Kind(labels, tuple([starts for starts, _ in each]), tuple([length for _, length in each]))
        for each in product(*along)
    ]


def cut_slots(plan: Plan, goal: Goal) -> tuple[set[int], list[bool]]:
    """Labels that are cut; of every operand, then of the cotangent, whether it differs from slice to slice.

    >>> from tensor_einsum import plan
    >>> cut_slots(plan("ij,j->i", (2, 3), (3,)).with_slices("i"), Goal((0,), cotangent=True))
    ({0}, [True, False, True])
    """
    cut = {label for label, _ in plan.sliced}
    return cut, [not cut.isdisjoint(term) for term in terms_read(plan, goal)]


class Bound(NamedTuple):
    """The sweep of slices of one kind, bound to forms."""

    kind: Kind
    whole: SweepPlan
    """In one piece; its peak is what these slices need beside the results of all."""
    before: BoundSweep | None
    """Gives what these slices share; None where they share nothing."""
    each: BoundSweep

    @property
    def rounds(self) -> list[Repeated]:
        """Steps, in the order in which they are executed."""
        before = [(self.before.sweep.steps, 1)] if self.before else []
        return [*before, (self.each.sweep.steps, self.kind.slices)]


def bind_kind(
    operation: str,
    plan: Plan,
    goal: Goal,
    kind: Kind,
    given: Sequence[Form],
    limit: int | None,
    of_process: bool,
    bind: Callable[[Plan, Sequence[Form]], BoundSweep],
) -> Bound:
    """Bind the sweep of slices of one kind; as much is shared as a limit allows.

    Args:
        operation: the name for messages.
        plan: sliced.
        goal: what is wanted.
        kind: whose slices are swept.
        given: forms of the operands of the whole, and perhaps of the cotangent.
        limit: bytes that intermediates and results of a slice may take, with what is shared; or None.
        of_process: whether what the process may use is the limit.
        bind: gives the sweep of the plan of one slice.

    Raises:
        MemoryLimitError: not even a sweep that shares nothing keeps the limit.

    >>> from tensor_einsum import plan
    >>> from tensor_einsum.derivatives.planning import try_limit
    >>> from tensor_runtime import ones
    >>> x, goal = [ones((2, 3)), ones((3, 4)), ones((4,))], Goal((0,))
    >>> p = plan("ij,jk,k->", *x).with_slices("i")
    >>> alone = lambda part, forms: BoundSweep("environments", try_limit(part, goal, None).sweep, forms)
    >>> bound = bind_kind("environments", p, goal, kinds_of(p)[0], [one._form for one in x], None, False, alone)
    >>> [(len(steps), times) for steps, times in bound.rounds]
    [(1, 1), (2, 2)]
    """
    first = next(kind.parts())
    forms = [_part_form(form, term, first) for form, term in zip(given, terms_read(plan, goal), strict=True)]
    alone = bind(plan_of_slice(plan, first), forms)
    shared = shareable(alone.sweep, *cut_slots(plan, goal)) if kind.slices > 1 else set()
    aimed = limit
    while shared := shared_within(alone.sweep, shared, aimed):
        two = parted(alone.sweep, shared)
        before = BoundSweep(operation, two.before, forms, converts=False)
        each = BoundSweep(operation, two.each, [*forms, *before.forms])
        needed = max(before.needed_bytes, two.kept_bytes + each.needed_bytes)
        allowed = usable_bytes(alone.home) if of_process and needs_check(needed, alone.home) else limit
        if allowed is None or needed <= allowed:
            return Bound(kind, alone.sweep._replace(peak_bytes=needed, shared=tuple(sorted(shared))), before, each)
        aimed = two.peak_bytes - needed + allowed
    return Bound(kind, alone.sweep._replace(peak_bytes=alone.needed_bytes), None, alone)


def run_slices(
    plan: Plan,
    goal: Goal,
    bound: Sequence[Bound],
    given: Sequence[Tensor],
    done: Callable[[], object] | None,
) -> list[Tensor]:
    """Results of a goal, from those of all slices.

    Args:
        plan: sliced.
        goal: what is wanted.
        bound: the sweep of every kind of slices.
        given: operands of the whole, and perhaps the cotangent.
        done: called after each step.

    >>> from tensor_einsum import plan
    >>> p = plan("ij->", (2, 3)).with_slices("i")
    >>> run_slices(p, Goal((0,)), [], [ops.ones((2, 3))], None)[0].to_numpy().tolist()  # of no slice
    [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
    """
    results = zeros_for(plan, goal, given[0].placement)
    targets = [result.mutable_view() for result in results]
    add, axes = addition_of(plan), result_axes(plan, goal)

    def run(sweep: BoundSweep, arrays: list[Any], kept: list[Tensor]) -> list[Tensor]:
        return sweep([*arrays, *[tensor._array for tensor in kept]], done)

    def take(parts: Parts, found: list[Tensor]) -> None:
        for target, (labels, _) in zip(targets, axes, strict=True):
            add_part(add, part_of(target, labels, parts), found.pop())

    sweep_slices(plan, goal, bound, given, run, take)
    return results


def sweep_slices(
    plan: Plan,
    goal: Goal,
    bound: Sequence[Bound],
    given: Sequence[Tensor],
    run: Callable[[BoundSweep, list[Any], list[T]], list[T]],
    take: Callable[[Parts, list[T]], None],
) -> None:
    """Sweep one slice after the other.

    Args:
        plan, goal, bound, given: as for :func:`run_slices`.
        run: runs a sweep on native arrays, and on what the slices of one kind share, which it gave before.
        take: what becomes of a slice's results, last ones first, so that it lets go of one after another.

    >>> from tensor_einsum import plan
    >>> p = plan("ij->", (2, 3)).with_slices("i")
    >>> sweep_slices(p, Goal((0,)), [], [ops.ones((2, 3))], lambda sweep, arrays, kept: [], print)  # of no slice
    """
    reads = list(zip(given, terms_read(plan, goal), strict=True))
    for kind, _, before, each in bound:
        kept: list[T] | None = None
        for parts in kind.parts():
            arrays = [part_of(tensor, term, parts)._array for tensor, term in reads]
            if kept is None:
                kept = run(before, arrays, []) if before else []
            found = run(each, arrays, kept)
            found.reverse()
            take(parts, found)
            del arrays, found  # so that nothing of this slice is alive beside the next one


def zeros_for(plan: Plan, goal: Goal, home: Placement) -> list[Tensor]:
    """What slices are added to: a result for each of a goal, full of the algebra's zeros.

    >>> from tensor_einsum import plan
    >>> from tensor_runtime.placement import CPU
    >>> zeros_for(plan("ij->", (2, 3)).with_slices("i"), Goal(labels=(1,)), CPU)[0].to_numpy().tolist()
    [0.0, 0.0, 0.0]
    """
    zero = plan.algebra.zero_of(plan.output_dtype)
    return [ops.full(shape, zero, dtype=plan.output_dtype, placement=home) for _, shape in result_axes(plan, goal)]


def addition_of(plan: Plan) -> Callable[..., Any]:
    """The function that adds the parts of a plan's results.

    >>> from tensor_einsum import plan
    >>> from tensor_runtime.algebras import MAX_PLUS
    >>> addition_of(plan("ij->", (2, 3), algebra=MAX_PLUS)).__name__
    'maximum'
    """
    return _ADDITIONS[plan.algebra.addition if plan.output_dtype is not Bool else "logical_or"]


def add_part(add: Callable[..., Any], place: Any, part: Tensor) -> None:
    """Add a result of a slice to its place.

    >>> total = ops.ones((3,))
    >>> add_part(ops.add, total.mutable_view(), ops.ones((3,)))
    >>> total.to_numpy().tolist()
    [2.0, 2.0, 2.0]
    """
    # An axis of extent 1 that broadcasts over a label cut to extent 1 is not told from one that has it.
    add(place, part.reshape(place.shape), out=place)


def terms_read(plan: Plan, goal: Goal) -> list[Labels]:
    """Labels of the operands, and of the cotangent if there is one, as :func:`result_axes` gives them.

    >>> from tensor_einsum import plan
    >>> terms_read(plan("ij,j->i", (2, 1), (3,)), Goal((0,), cotangent=True))
    [(0, -1), (1,), (0,)]
    """
    operands = result_axes(plan, Goal(tuple(range(len(plan.inputs)))))
    return [labels for labels, _ in operands] + [plan.output] * goal.cotangent


_ADDITIONS: dict[str, Callable[..., Any]] = {
    "add": ops.add,
    "maximum": ops.maximum,
    "minimum": ops.minimum,
    "logical_or": ops.logical_or,
}


def part_of(tensor: Tensor, labels: Sequence[int], parts: Parts) -> Tensor:
    """A view of what a slice has of a tensor.

    >>> part_of(ops.tensor([[1.0, 2.0], [3.0, 4.0]]), (0, 1), {1: slice(1, 2)}).to_numpy().tolist()
    [[2.0], [4.0]]
    """
    return tensor[tuple([parts.get(label, slice(None)) for label in labels])] if labels else tensor


def _part_form(form: Form, labels: Sequence[int], parts: Parts) -> Form:
    """The form of that view."""
    cut = [parts.get(label) for label in labels]
    if not any(cut):
        return form
    pattern = [(part.stop - part.start if part else extent, 1) for part, extent in zip(cut, form.shape, strict=True)]
    view: Form = SLICE_VIEW.bindings[form, tuple(pattern)][1]
    return view


def _length(plan: Plan, label: int, extent: int, parts: Parts) -> int:
    if label not in parts or extent != plan.extents[label]:
        return extent
    part = parts[label]
    length: int = part.stop - part.start
    return length
