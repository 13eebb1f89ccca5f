"""Parts into a result: each is written to its place, or added to what is there, in the order of the slices.

Parts that belong to one place follow one another, so the first is written and the others are added in place; sums have
the same order, and so the same bits, whoever computed the parts.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

from tensor_core.errors import UnsupportedOperationError
from tensor_einsum.slices.cutting import Starts, grid
from tensor_einsum.slices.executable import Reading, bind_reading, parts_by_label
from tensor_runtime.algebras import OR_AND
from tensor_runtime.backends.bindings import Binding, BindingTable
from tensor_runtime.backends.error_translation import call_translated
from tensor_runtime.backends.registry import registry
from tensor_runtime.form import Form, form_of
from tensor_runtime.placement import Placement

if TYPE_CHECKING:
    from tensor_einsum.plans.plan import Plan


def _bind_writing(key: tuple[Form, Form]) -> Binding:
    target, _ = key
    return registry.bind("copy_into", key, target, None), target


def _bind_adding(key: tuple[str, Form, Form]) -> Binding:
    addition, target, part = key
    if addition == "add":
        try:
            return registry.bind("add_into", (target, part), target, None), target
        except UnsupportedOperationError:  # a backend of somebody else
            pass
    total = form_of(target.dtype, target.shape, target.placement)  # the sum is a new array
    add = registry.bind(addition, (target, part), total, None)
    write, _ = _WRITING[target, total]
    return lambda array, more: write(array, add(array, more)), target


_WRITING = BindingTable(_bind_writing)
_ADDING = BindingTable(_bind_adding)


class Gathering:
    """A result in the making: ``put`` takes the parts of all slices in order, ``finish`` gives the array.

    >>> from tensor_einsum import plan
    >>> from tensor_runtime import ones
    >>> p = plan("ij,jk->ik", (2, 3), (3, 4)).with_slices("ij")
    >>> making = Gathering(p, ones(())._form.placement)
    >>> for number in range(p.slices.count):
    ...     making.put(number, ones((4,))._form, ones((4,))._array, fresh=True)
    >>> making.finish().tolist()
    [[3.0, 3.0], [3.0, 3.0], [3.0, 3.0], [3.0, 3.0]]
    """

    def __init__(self, plan: Plan, home: Placement) -> None:
        self.plan = plan
        self.form = form_of(plan.output_dtype, plan.output_shape, home)
        self._starts = Starts(plan.sliced, plan.extents)
        self._placed = any(label in plan.output for label, _ in plan.sliced)
        shape = grid(plan.sliced, plan.extents)
        self._count = prod(shape)
        summed = [parts for (label, _), parts in zip(plan.sliced, shape, strict=True) if label not in plan.output]
        self._summed = prod(summed)  # parts of one place
        self._readings: dict[tuple[int, ...], Reading | None] = {}
        # Ors of ands are what sums and products of Bool are.
        self._addition = "add" if plan.algebra is OR_AND else plan.algebra.addition
        self.array: Any = None
        self.taken = 0
        """Parts that are in the result."""
        self.exponent: int | None = None
        """Of two, by which the sum has to be multiplied; None where none was taken off."""

    def put(self, number: int, form: Form, array: Any, *, fresh: bool) -> None:
        """The next part; one that is ``fresh`` belongs to nobody else, and becomes the result if it lies like that."""
        if self.taken == 0 and not self._placed and fresh and form == self.form:
            self.array = array
        else:
            if self.array is None:
                full = registry.bind("full", (), self.form, None)
                zero = self.plan.algebra.zero_of(self.plan.output_dtype)
                self.array = call_translated("einsum", self.form, full, zero)
            target, view = self._place(number)
            first = number % self._summed == 0
            kernel, _ = _WRITING[target, form] if first else _ADDING[self._addition, target, form]
            call_translated("einsum", None, kernel, view, array)
        self.taken += 1

    def _place(self, number: int) -> tuple[Form, Any]:
        if not self._placed:
            return self.form, self.array
        plan = self.plan
        starts, parts = self._starts(number)
        if parts not in self._readings:
            self._readings[parts] = bind_reading(plan, self.form, plan.output, parts_by_label(plan, parts))
        reading = self._readings[parts]
        return (reading.view, reading(self.array, starts)) if reading else (self.form, self.array)

    def finish(self) -> Any:
        """The result, once every part is in it."""
        assert self.taken == self._count
        return self.array
