"""Sweeps over sliced plans: one sweep for each slice, whose results are added up where they belong.

An environment of a slice is a part of that of the whole along the sliced labels that it has, and one of the terms of a
sum along those that it has not; so is a marginal. Each slice is a network of its own, with shorter axes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import tensor_runtime as ops
from tensor_core.dtypes import Bool
from tensor_einsum.derivatives.sweep import Goal
from tensor_einsum.notation.network import Labels, Shape
from tensor_einsum.slices.cutting import starts_of
from tensor_runtime.tensors.tensor import Tensor

if TYPE_CHECKING:
    from tensor_einsum.plans.plan import Plan

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


def parts_of(plan: Plan) -> Iterator[Parts]:
    """Where every slice lies, one at a time, as there may be many; the first is as long as any.

    >>> from tensor_einsum import plan
    >>> list(parts_of(plan("i->", (5,)).with_slices({"i": 3})))
    [{0: slice(0, 3, None)}, {0: slice(3, 5, None)}]
    """
    for number in range(plan.slices.count):
        starts = starts_of(number, plan.sliced, plan.extents)
        yield {
            label: slice(starts[label], min(starts[label] + part, plan.extents[label])) for label, part in plan.sliced
        }


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


def run_slices(
    plan: Plan,
    goal: Goal,
    operands: Sequence[Tensor],
    cotangent: Tensor | None,
    run: Callable[[Plan, Sequence[Tensor], Tensor | None], Sequence[Tensor]],
) -> list[Tensor]:
    """Results of a goal, from those of all slices.

    Args:
        plan: sliced.
        goal: what is wanted.
        operands: of the whole.
        cotangent: of the whole, if there is one.
        run: gives the results for the plan, the operands and the cotangent of a slice.

    >>> from tensor_einsum import plan
    >>> from tensor_runtime import ones
    >>> whole = plan("i,i->", (3,), (3,)).with_slices("i")
    >>> found = run_slices(whole, Goal((0,)), [ones((3,)), ones((3,))], None, lambda plan, x, _: [x[1]])
    >>> found[0].to_numpy().tolist()
    [1.0, 1.0, 1.0]
    """
    axes = result_axes(plan, goal)
    zero = plan.algebra.zero_of(plan.output_dtype)
    add = _ADDITIONS[plan.algebra.addition if plan.output_dtype is not Bool else "logical_or"]
    home = operands[0].placement
    results = [ops.full(shape, zero, dtype=plan.output_dtype, placement=home) for _, shape in axes]
    targets = [result.mutable_view() for result in results]
    terms = [labels for labels, _ in result_axes(plan, Goal(tuple(range(len(operands)))))]
    plans: dict[Shape, Plan] = {}
    for parts in parts_of(plan):
        lengths = tuple([part.stop - part.start for part in parts.values()])
        if lengths not in plans:
            plans[lengths] = plan_of_slice(plan, parts)
        read = [_part(operand, term, parts) for operand, term in zip(operands, terms, strict=True)]
        weights = None if cotangent is None else _part(cotangent, plan.output, parts)
        found = run(plans[lengths], read, weights)
        for target, term, (labels, _) in zip(targets, found, axes, strict=True):
            place: Any = _part(target, labels, parts)
            # An axis of extent 1 that broadcasts over a label cut to extent 1 is no longer told from one that has it.
            add(place, term.reshape(place.shape), out=place)
    return results


_ADDITIONS: dict[str, Callable[..., Any]] = {
    "add": ops.add,
    "maximum": ops.maximum,
    "minimum": ops.minimum,
    "logical_or": ops.logical_or,
}


def _part(tensor: Tensor, labels: Sequence[int], parts: Parts) -> Tensor:
    """A view of what a slice has of a tensor."""
    return tensor[tuple([parts.get(label, slice(None)) for label in labels])] if labels else tensor


def _length(plan: Plan, label: int, extent: int, parts: Parts) -> int:
    if label not in parts or extent != plan.extents[label]:
        return extent
    part = parts[label]
    length: int = part.stop - part.start
    return length
