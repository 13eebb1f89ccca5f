"""Sliced plans bound to forms: kernels for every kind of slice, and how one slice runs.

Slices whose parts have equal extents share their kernels, so most plans need one set; the last parts of labels may
need others, which are bound when the first such slice runs. What does not depend on a slice is computed once, before
the first, and shared by all. Operands are read through views: no element is copied to cut them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

from tensor_core.errors import OutOfMemoryError, TensorError
from tensor_core.formatting import readable_bytes
from tensor_core.shapes import Shape
from tensor_einsum.execution.executor import bind_steps, check_forms, check_placement
from tensor_einsum.execution.room import within_room
from tensor_einsum.execution.sequenced import Sequenced, StepError
from tensor_einsum.notation.network import Labels
from tensor_einsum.slices.cutting import Starts, largest_kinds, slice_network, sliced_peak, varying
from tensor_einsum.steps.steps import build_steps
from tensor_runtime.backends.error_translation import translated
from tensor_runtime.backends.workspaces import workspace_of
from tensor_runtime.form import Form
from tensor_runtime.ops.indexing import SLICE_VIEW, Pattern
from tensor_runtime.protocols import Kernel

if TYPE_CHECKING:
    from tensor_einsum.plans.plan import Plan

Around = Callable[[Kernel, Form], Kernel]
"""From a kernel and the form of its result to what is called in its place."""


class Reading(NamedTuple):
    """How a slice reads an operand, or where it is written in the result: a view, which starts where the slice does."""

    kernel: Kernel
    labels: tuple[int, ...]  # by axis: the label whose start it is, or -1
    view: Form

    def __call__(self, array: Any, starts: dict[int, int]) -> Any:
        """The view of an array; ``starts`` by label."""
        return self.kernel(array, tuple([starts.get(label, 0) for label in self.labels]))


class Task(NamedTuple):
    """One kernel, the slots it reads, the slot of its result, and what may be forgotten then."""

    kernel: Kernel
    first: int
    second: int  # -1 for kernels of one operand
    result: int
    forget: tuple[int, ...]


class Kind(NamedTuple):
    """Slices of equal extents: how they read what varies, what they do, and the form of what comes out."""

    readings: tuple[tuple[int, Reading], ...]
    tasks: tuple[Task, ...]
    result: Form
    at_once: Sequenced | None = None  # the tasks of a slice


class SlicedExecutable:
    """A sliced plan bound to forms of operands.

    Slots are those of an unsliced plan: operands, then results of steps. :meth:`prepare` fills what all slices share;
    the slots it returns are read, never written, by :meth:`run`, so slices may run side by side.

    >>> from tensor_einsum import plan
    >>> from tensor_runtime import ones
    >>> p, x = plan("ij,jk->ik", (2, 3), (3, 4)).with_slices("j"), [ones((2, 3)), ones((3, 4))]
    >>> bound = SlicedExecutable(p, [one._form for one in x])
    >>> bound.run(2, bound.prepare([one._array for one in x]))[1].tolist()
    [[1.0, 1.0], [1.0, 1.0], [1.0, 1.0], [1.0, 1.0]]
    """

    def __init__(self, plan: Plan, forms: Sequence[Form], around: Around | None = None) -> None:
        check_forms(plan, forms)
        check_placement(forms)
        self.plan = plan
        self.home = forms[0].placement
        self._forms = tuple(forms)
        self._around = around
        self.count = plan.slices.count
        self._starts = Starts(plan.sliced, plan.extents)
        self._varies = varying(plan._network, plan.sliced, plan.steps, plan.shared_bytes)
        full = tuple(part for _, part in plan.sliced)
        bound, self._slot_forms = self._bind(full)
        self._before, self._shared_views = self._shared(bound)
        kept = {task.result for task in self._before}.difference(*[task.forget for task in self._before])
        self._before_at_once = Sequenced(self.home, [task[:4] for task in self._before], tuple(kept))
        self._full = self._own(bound)
        self._kinds = {full: self._full}
        self.shared_steps = len(self._before)
        self.slice_steps = len(plan.steps) - self.shared_steps

    def _bind(self, parts: Shape) -> tuple[Kind, list[Form]]:
        """All steps for slices of these extents, and the forms of operands and results."""
        plan, first = self.plan, len(self.plan.inputs)
        network = slice_network(plan._network, plan.sliced, parts)
        readings, views, cut = [], [], parts_by_label(plan, parts)
        for operand, form in enumerate(self._forms):
            reading = bind_reading(plan, form, plan.inputs[operand], cut)
            views.append(reading.view if reading else form)
            if reading:
                readings.append((operand, reading))
        steps = build_steps(network, plan._executed, plan.output_dtype.itemsize, plan.conj, plan.steps)
        instructions, slots = bind_steps(steps, views, plan.output_dtype, plan.algebra)
        instead = within_room(plan, [instruction.kernel for instruction in instructions], slots, steps)
        tasks = []
        for number, (step, (kernel, one, two)) in enumerate(zip(steps, instructions, strict=True), first):
            kernel = instead.get(number - first, kernel)
            own = [slot for slot in step.operands if self._varies[slot] or not self._varies[number]]
            if self._around is not None and step.kind != "squeeze":
                kernel = self._around(kernel, slots[number])
            tasks.append(Task(kernel, one, two, number, tuple(own)))
        return Kind(tuple(readings), tuple(tasks), slots[-1]), slots

    def _shared(self, kind: Kind) -> tuple[tuple[Task, ...], tuple[tuple[int, Reading], ...]]:
        """What runs before the slices. What a slice reads of it must not be forgotten there."""
        read = {slot for task in kind.tasks if self._varies[task.result] for slot in (task.first, task.second)}
        before = tuple(
            task._replace(forget=tuple(slot for slot in task.forget if slot not in read))
            for task in kind.tasks
            if not self._varies[task.result]
        )
        views = tuple((operand, reading) for operand, reading in kind.readings if not self._varies[operand])
        return before, views

    def _own(self, kind: Kind) -> Kind:
        """What a slice reads and does itself."""
        tasks = tuple(task for task in kind.tasks if self._varies[task.result])
        last = len(self.plan.inputs) + len(self.plan.steps) - 1
        return Kind(
            tuple((operand, reading) for operand, reading in kind.readings if self._varies[operand]),
            tasks,
            kind.result,
            Sequenced(self.home, [task[:4] for task in tasks], (last,)),
        )

    def _kind(self, parts: Shape) -> Kind:
        """Kernels for slices of these extents; threads that ask at once get equal ones."""
        known = self._kinds.get(parts)
        if known is None:
            known = self._kinds[parts] = self._own(self._bind(parts)[0])
        return known

    @cached_property
    def needed_bytes(self) -> int:
        """The plan's peak with the workspaces of these kernels, beside the operands."""
        plan = self.plan
        result = prod(plan.output_shape) * plan.output_dtype.itemsize
        return sliced_peak(plan.steps, self._varies, len(plan.inputs), result, self.workspaces())

    def workspaces(self) -> list[int]:
        """What the kernel of each step takes besides, in bytes; the most of the largest kinds of slices."""
        first = len(self.plan.inputs)
        found = [0] * len(self.plan.steps)
        kinds = [self._kind(parts) for parts in largest_kinds(self.plan.sliced, self.plan.extents)]
        for tasks in (self._before, *[kind.tasks for kind in kinds]):
            for task in tasks:
                found[task.result - first] = max(found[task.result - first], workspace_of(task.kernel))
        return found

    def prepare(self, arrays: Sequence[Any], done: Callable[[], object] | None = None) -> list[Any]:
        """Slots with the operands and what all slices share; ``done`` is called after each step."""
        slots = [*arrays, *[None] * len(self.plan.steps)]
        for operand, reading in self._shared_views:
            slots[operand] = reading(slots[operand], {})
        self._execute(self._before, self._before_at_once, slots, done, None)
        for task in self._before:  # what ran at once
            for slot in task.forget:
                slots[slot] = None
        return slots

    def run(self, number: int, prepared: Sequence[Any], done: Callable[[], object] | None = None) -> tuple[Form, Any]:
        """The part of the result that a slice gives: its form, and an array of its own."""
        starts, parts = self._starts(number)
        kind = self._kind(parts)
        slots = list(prepared)
        for operand, reading in kind.readings:
            slots[operand] = reading(slots[operand], starts)
        self._execute(kind.tasks, kind.at_once, slots, done, number)
        return kind.result, slots[-1]

    def read_by_slices(self) -> list[tuple[int, Form]]:
        """Slots of :meth:`prepare` that slices read, and the form of each: operands, and what all slices share."""
        kind = self._full
        read = {operand for operand, _ in kind.readings}
        read |= {slot for task in kind.tasks for slot in (task.first, task.second) if slot >= 0}
        read |= {len(self._slot_forms) - 1} if not kind.tasks else set()
        first = len(self.plan.inputs)
        found = []
        for slot in sorted(read):
            if slot < first and self._varies[slot]:
                found.append((slot, self._forms[slot]))  # as it was given: slices take their views of it
            elif not self._varies[slot]:
                found.append((slot, self._slot_forms[slot]))
        return found

    def form_of_part(self, number: int) -> Form:
        """The form of what :meth:`run` gives."""
        return self._kind(self._starts(number)[1]).result

    def _execute(
        self,
        tasks: Sequence[Task],
        at_once: Sequenced | None,
        slots: list[Any],
        done: Callable[[], object] | None,
        number: int | None,
    ) -> None:
        try:
            if done is None and at_once is not None and at_once.run(slots):
                return
        except StepError as step:
            if isinstance(step.error, TensorError):
                raise step.error from None
            raise self._failure(step.place - len(self.plan.inputs), number, step.error) from step.error
        for kernel, first, second, result, forget in tasks:
            try:
                slots[result] = kernel(slots[first]) if second < 0 else kernel(slots[first], slots[second])
            except TensorError:
                raise
            except Exception as error:
                raise self._failure(result - len(self.plan.inputs), number, error) from error
            for slot in forget:
                slots[slot] = None
            if done is not None:
                done()

    def _failure(self, place: int, number: int | None, error: Exception) -> TensorError:
        if not isinstance(error, MemoryError):
            return translated("einsum", error)
        step = self.plan.steps[place]
        where = "before the slices" if number is None else f"of slice {number} of {self.count}"
        return OutOfMemoryError(
            f"einsum: not enough memory in step {place} {where}, {step.subscripts}, whose result takes "
            f"{readable_bytes(step.bytes)}; the plan needs {readable_bytes(self.needed_bytes)} beside its operands",
            operation="einsum",
            step=place,
            slice=number,
        )


def parts_by_label(plan: Plan, parts: Shape) -> dict[int, tuple[int, int]]:
    """Of each label that is cut, the extent of its parts, and that of the part at hand.

    >>> from tensor_einsum import plan
    >>> parts_by_label(plan("ij->", (3, 7)).with_slices({"j": 2}), (1,))
    {1: (2, 1)}
    """
    return {label: (part, extent) for (label, part), extent in zip(plan.sliced, parts, strict=True)}


def bind_reading(plan: Plan, form: Form, labels: Labels, cut: Mapping[int, tuple[int, int]]) -> Reading | None:
    """The view of an operand, or of the result, that belongs to slices; None for all of it.

    ``cut`` is what :func:`parts_by_label` says of them.

    >>> from tensor_core import F64
    >>> from tensor_einsum import plan
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> p = plan("ij,jk->ik", (2, 3), (3, 4)).with_slices("j")
    >>> bind_reading(p, form_of(F64, (2, 3), CPU), p.inputs[0], parts_by_label(p, (1,))).view
    Form(F64, (2,), cpu)
    """
    if cut.keys().isdisjoint(labels):
        return None
    pattern: list[tuple[int, ...]] = []
    places: list[int] = []
    for label, extent in zip(labels, form.shape, strict=True):
        whole = extent == plan.extents[label]  # else 1, and the same in every slice
        part, here = cut.get(label, (0, extent))
        places.append(label if label in cut and whole else -1)
        if part == 1:
            pattern.append(())
        else:
            pattern.append((here if whole else extent, 1))
    if all(entry == (extent, 1) for entry, extent in zip(pattern, form.shape, strict=True)):
        return None
    key: tuple[Form, Pattern] = form, tuple(pattern)
    kernel, view = SLICE_VIEW.bindings[key]
    return Reading(kernel, tuple(places), view)
