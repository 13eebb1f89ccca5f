"""Batches: one network for many values of some of its operands, along a batch axis.

The batch axis is one more label, which the operands that vary have, and the result has it last; the path stays. Steps
that no varying operand reaches do not have the label, so they run once. Where all at once takes too much memory the
batch is cut into parts: what is shared is computed first and kept, and each part goes through the other steps.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tensor_core.errors import ArgumentError, shortened
from tensor_core.shapes import Shape
from tensor_einsum.derivatives.running import BoundSweep
from tensor_einsum.derivatives.sharing import section
from tensor_einsum.derivatives.sweep import Goal, SweepPlan
from tensor_einsum.errors import ExtentError, limit_error
from tensor_einsum.execution.executor import check_forms
from tensor_einsum.execution.memory import needs_check, usable_bytes
from tensor_einsum.execution.progress import Repeated, counted, reporting
from tensor_einsum.notation.label_names import written
from tensor_einsum.plans.remaking import remade
from tensor_einsum.search.options import bytes_of
from tensor_einsum.slices.cutting import parted_steps
from tensor_einsum.slices.needs import copying_within, needed_bytes
from tensor_einsum.steps.steps import Step, build_steps
from tensor_runtime.backends.bindings import binding_cache
from tensor_runtime.backends.bounded_cache import CacheTable
from tensor_runtime.dispatch.arguments import whole
from tensor_runtime.errors import ForeignOperandError
from tensor_runtime.ops.creation import zeros
from tensor_runtime.tensors.tensor import Tensor, unwrap

if TYPE_CHECKING:
    from tensor_einsum.plans.plan import Plan


_plans: Final[CacheTable[Plan]] = CacheTable(binding_cache)


class Batch(NamedTuple):
    """Which operands vary along which axis, and how many values there are."""

    axes: Mapping[int, int]  # position of the operand -> axis, from 0
    extent: int


def batch_of(plan: Plan, operands: Sequence[Tensor], axis: Any) -> Batch:
    """Read what a user says of the batch.

    Args:
        plan: of one of the networks.
        operands: tensors; those that vary have one axis more than the plan says.
        axis: which one that is: an int for all of them, or a mapping from positions of operands to ints.

    Raises:
        ArgumentError: no such operand or axis.
        ExtentError: another number of operands; no operand varies, one has other axes beside the batch axis than the
            plan, or their batch axes differ in extent.

    >>> from tensor_einsum import plan
    >>> from tensor_runtime import ones
    >>> batch_of(plan("i,i->", (3,), (3,)), [ones((3,)), ones((5, 3))], {1: 0})
    Batch(axes={1: 0}, extent=5)
    """
    count = len(plan.inputs)
    ranks = [unwrap("map", operand)[0].rank for operand in operands]
    if len(ranks) != count:
        raise ExtentError(
            f"map: found {len(ranks)} operands; this plan was made for {count}",
            operands=tuple(range(len(ranks))),
            shapes=tuple([operand.shape for operand in operands]),
        )
    if isinstance(axis, Mapping):
        asked = {}
        for one, place in axis.items():
            at = whole("map", "axis", one)
            if not -count <= at < count or at % count in asked:
                raise ArgumentError(
                    f"map: axis names operand {at}; accepted: positions of the {count} operands, each once",
                    operation="map",
                )
            asked[at % count] = whole("map", "axis", place)
    else:
        place = whole("map", "axis", axis)
        pairs = zip(ranks, plan.shapes, strict=True)
        varying = [at for at, (rank, shape) in enumerate(pairs) if rank == len(shape) + 1]
        asked = dict.fromkeys(varying, place)
    for at, place in asked.items():
        if ranks[at] != len(plan.shapes[at]) + 1:
            raise ExtentError(
                f"map: axis names operand {at}, of shape {operands[at].shape}; accepted: one axis more than in "
                f"{plan.shapes[at]}, as this plan was made for",
                operands=(at,),
                shapes=(operands[at].shape,),
            )
        if not -ranks[at] <= place < ranks[at]:
            raise ArgumentError(
                f"map: the batch axis of operand {at} is {place}, but its shape is {operands[at].shape}",
                operation="map",
            )
    axes = {at: place % ranks[at] for at, place in sorted(asked.items())}
    for at, place in axes.items():
        _check_rest(at, place, operands[at].shape, plan.shapes[at])
    extents = {operands[at].shape[place] for at, place in axes.items()}
    if len(extents) != 1:
        found = ", ".join(f"{operands[at].shape[place]} in operand {at}" for at, place in axes.items())
        raise ExtentError(
            f"map: batch axes have extents {found}; accepted: equal ones"
            if found
            else "map: no operand has a batch axis; call the plan itself, or say with axis= which axis it is",
            operands=tuple(axes),
            shapes=tuple([operands[at].shape for at in axes]),
        )
    return Batch(axes, extents.pop())


def _check_rest(operand: int, axis: int, shape: Shape, expected: Shape) -> None:
    """Refuse a batch axis beside which an operand has another shape than the plan expects."""
    rest = [shape[:place] + shape[place + 1 :] for place in range(len(shape))]
    if rest[axis] == expected:
        return
    instead = f"give axis={rest.index(expected)}" if expected in rest else "plan again"
    raise ExtentError(
        f"map: axis={axis} leaves {rest[axis]} of operand {operand}, of shape {shape}, but this plan was made for "
        f"{expected} there; {instead}",
        operands=(operand,),
        shapes=(shape,),
    )


def batched_plan(plan: Plan, batch: Batch) -> Plan:
    """The network with the batch as a label, contracted along the same path.

    >>> from tensor_einsum import plan
    >>> batched_plan(plan("ij,j->i", (2, 3), (3,)), Batch({1: 0}, 5)).output_shape
    (2, 5)
    """
    known = _plans.get((plan, tuple(batch.axes.items()), batch.extent))
    if known is not None:
        return known
    label, names = len(plan.names), (*plan.names, _fresh_name(plan.names))
    inputs, shapes = list(plan.inputs), list(plan.shapes)
    for at, place in batch.axes.items():
        inputs[at] = (*inputs[at][:place], label, *inputs[at][place:])
        shapes[at] = (*shapes[at][:place], batch.extent, *shapes[at][place:])
    output = (*plan.output, label)
    text = f"{','.join(written(term, names) for term in inputs)}->{written(output, names)}"
    made = remade("map", plan, text, tuple(inputs), output, names, shapes, plan.dtypes, plan.sliced)
    return _plans.insert((plan, tuple(batch.axes.items()), batch.extent), made, 2000 + 700 * len(made.steps))


def _fresh_name(names: Sequence[str]) -> str:
    """A letter that no label has; a word where labels are words."""
    if any(len(name) > 1 for name in names):
        return next(name for name in ("batch" + "'" * count for count in range(len(names) + 1)) if name not in names)
    return next(letter for letter in map(chr, (*range(97, 123), *range(192, 0xD800))) if letter not in names)


def run_map(plan: Plan, operands: Sequence[Tensor], axis: Any, memory_limit: Any, progress: Any = None) -> Tensor:
    """Contract a batch; see ``Plan.map``.

    >>> from tensor_einsum import plan
    >>> from tensor_runtime import ones
    >>> run_map(plan("ij,j->i", (2, 3), (3,)), [ones((2, 3)), ones((3, 5))], -1, None).shape
    (2, 5)
    """
    limit = None if memory_limit is None else bytes_of("map", memory_limit)
    if not isinstance(operands, Sequence):
        raise ForeignOperandError(
            f"map: operands are {shortened(operands)}; accepted: a sequence of tensors", operation="map"
        )
    batch = batch_of(plan, operands, axis)
    at_once = batched_plan(plan, batch)
    forms = [unwrap("map", operand)[0] for operand in operands]
    check_forms(at_once, forms, "map")
    of_process = limit is None
    if limit is None and needs_check(at_once.intermediate_bytes, forms[0].placement):
        limit = usable_bytes(forms[0].placement)
    needed = 0 if limit is None else needed_bytes(at_once, forms)
    if limit is not None and needed > limit:
        at_once = copying_within(at_once, limit)
        needed = needed_bytes(at_once, forms)
    if limit is None or needed <= limit:
        return at_once(*operands) if progress is None or progress is False else at_once(*operands, progress=progress)
    parts = _Parts(plan, batch, operands, limit, needed, of_process)
    rounds = parts.rounds()
    with reporting("map", rounds, progress) as on_step:
        return parts.run(counted(on_step, sum([len(steps) * times for steps, times in rounds])))


class _Parts:
    """A batch in parts: the steps that are shared, those of a part, and how large parts are.

    Steps and orders of labels are those of the whole batch, for parts of any extent: by themselves, plans of parts may
    take factors elsewhere and lay intermediates out otherwise, and then what is shared would be none of their values.
    A part lies beside the result of the whole batch, so that a few values may take less all at once.
    """

    def __init__(
        self,
        plan: Plan,
        batch: Batch,
        operands: Sequence[Tensor],
        limit: int,
        at_once: int,  # bytes that the whole batch needs, more than the limit
        of_process: bool = False,
    ) -> None:
        self.plan, self.batch, self.operands = plan, batch, operands
        self.whole = batched_plan(plan, batch)
        self.held = prod(plan.output_shape) * batch.extent * plan.output_dtype.itemsize
        self.bound: dict[int, BoundSweep] = {}  # by the extent of a part
        self.shared: BoundSweep | None = None  # slices share nothing with one another here
        first = 0 if plan.sliced else self._share()
        one = self.needed(min(batch.extent, 1))
        least = max(first, one)
        if least > limit:
            way = "even one value at a time" if least <= at_once else "all at once, and more one value at a time"
            takes = f"the batch of {batch.extent} takes {{}} beside the operands {way}"
            raise limit_error("map", takes, limit, min(least, at_once), ("a plan in slices",), of_process)
        part = 1
        if batch.extent > 1:
            each = max(self.needed(2) - one, 1)  # it grows linearly, but for views and the order of labels
            part = min(batch.extent, 1 + (limit - one) // each)
        while part > 1 and self.needed(part) > limit:
            part = part * 9 // 10
        parts = -(-batch.extent // part)
        self.part = -(-batch.extent // parts) if parts else 1  # of about equal extent

    def _share(self) -> int:
        """Bind the steps that no operand of the batch reaches; gives the bytes that they need."""
        steps, operands = self.whole.steps, len(self.operands)
        self.varying = varying = [at in self.batch.axes for at in range(operands)]
        for step in steps:
            varying.append(any(varying[slot] for slot in step.operands))
        readers = {slot: at for at, step in enumerate(steps, operands) for slot in step.operands}
        common = [slot for slot in range(operands, len(varying)) if not varying[slot]]
        self.kept = [slot for slot in common if varying[readers[slot]]]
        self.held += sum(steps[slot - operands].bytes for slot in self.kept)
        forms = [operand._form for operand in self.operands]
        self.shared = BoundSweep("map", self._section(steps, common, self.kept), forms, False)
        return self.shared.needed_bytes

    def needed(self, extent: int) -> int:
        """Bytes beside the operands while a part of this extent is contracted."""
        given = self.given(0, extent)
        if self.shared is None:
            return self.held + needed_bytes(self.part_plan(extent), [operand._form for operand in given])
        return self.held + self.rest(self.shared, extent, given).needed_bytes

    def part_plan(self, extent: int) -> Plan:
        """The plan of a part by itself."""
        return batched_plan(self.plan, self.batch._replace(extent=extent))

    def _section(
        self, steps: Sequence[Step], slots: Sequence[int], results: Sequence[int], given: Sequence[int] = ()
    ) -> SweepPlan:
        first = len(self.operands)
        return section(self.whole, Goal(), first, {slot: steps[slot - first] for slot in slots}, results, given)

    def given(self, start: int, stop: int) -> list[Tensor]:
        """Operands, those of the batch cut to a part."""
        given = list(self.operands)
        for at, place in self.batch.axes.items():
            given[at] = given[at][(slice(None),) * place + (slice(start, stop),)]
        return given

    def rest(self, shared: BoundSweep, extent: int, given: Sequence[Tensor]) -> BoundSweep:
        """The steps of a part, which read the operands and then what is shared."""
        known = self.bound.get(extent)
        if known is None:
            whole, network = self.whole, self.part_plan(extent)._network
            steps = build_steps(network, whole._executed, whole.output_dtype.itemsize, whole.conj, whole.steps)
            chosen = [slot for slot in range(len(given), len(self.varying)) if self.varying[slot]]
            sweep = self._section(steps, chosen, [len(self.varying) - 1], self.kept)
            known = BoundSweep("map", sweep, [*[operand._form for operand in given], *shared.forms])
            self.bound[extent] = known
        return known

    def rounds(self) -> list[Repeated]:
        """The steps in the order in which they are executed."""
        found: list[Repeated] = [] if self.shared is None else [(self.shared.sweep.steps, 1)]
        whole, rest = divmod(self.batch.extent, self.part)
        for extent, times in ((self.part, whole), (rest, min(rest, 1))):
            if not times:
                continue
            if self.shared is None:
                part = self.part_plan(extent)
                once, each = parted_steps(part)
                found += [(once, 1), (each, part.slices.count)] * times
            else:
                found.append((self.rest(self.shared, extent, self.given(0, extent)).sweep.steps, times))
        return found

    def run(self, done: Callable[[], object] | None) -> Tensor:
        """The result, part after part; ``done`` is called after each step."""
        count, home = self.batch.extent, self.operands[0].placement
        kept = self.shared([operand._array for operand in self.operands], done) if self.shared else []
        result = zeros((*self.plan.output_shape, count), dtype=self.plan.output_dtype, placement=home)
        target: Any = result.mutable_view()
        for start in range(0, count, self.part):
            stop = min(start + self.part, count)
            given = self.given(start, stop)
            if self.shared is None:
                plan = self.part_plan(stop - start)
                part = plan(*given, on_step=None if done is None else lambda *_: done())
            else:
                bound = self.rest(self.shared, stop - start, given)
                (part,) = bound([tensor._array for tensor in (*given, *kept)], done)
            target[(..., slice(start, stop))] = part
            del part  # so that it is not alive beside the next one
        return result
