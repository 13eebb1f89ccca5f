"""The same path for another network: other shapes and dtypes, or a batch axis besides."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tensor_core.dtypes import DType, DTypeLike, as_dtype
from tensor_core.shapes import Shape
from tensor_einsum.errors import ExtentError
from tensor_einsum.notation.network import Labels, resolve_expanded, shape_of
from tensor_einsum.search.optimizers import Order
from tensor_einsum.search.path import to_ids
from tensor_einsum.steps.arithmetic import arithmetic_of
from tensor_runtime.tensors.tensor import Tensor

if TYPE_CHECKING:
    from tensor_einsum.plans.plan import Plan


def reused(plan: Plan, items: Sequence[Any], dtype: DTypeLike | Sequence[DTypeLike] | None) -> Plan:
    """The plan for other inputs.

    Args:
        plan: whose labels, path, algebra and slices stay.
        items: tensors or shapes.
        dtype: of all, or one each; None takes each tensor's own, and for a shape that of the plan.

    Raises:
        ExtentError: another number of operands or of axes, or extents that do not fit.
        DTypeError: an unknown dtype, or one that the algebra has not.

    >>> from tensor_einsum import plan
    >>> reused(plan("ij,jk", (2, 3), (3, 4)), [(5, 6), (6, 7)], "F32").output_shape
    (5, 7)
    """
    shapes = [shape_of("reuse", position, item) for position, item in enumerate(items)]
    if len(shapes) != len(plan.inputs) or (isinstance(dtype, (list, tuple)) and len(dtype) != len(shapes)):
        dtypes = f" and {len(dtype)} dtypes" if isinstance(dtype, (list, tuple)) else ""
        raise ExtentError(
            f"reuse: found {len(shapes)} operands{dtypes}; this plan has {len(plan.inputs)} operands",
            operands=tuple(range(len(shapes))),
            shapes=tuple(shapes),
        )
    if dtype is None:
        dtypes_given = [
            item.dtype if isinstance(item, Tensor) else own for item, own in zip(items, plan.dtypes, strict=True)
        ]
    elif isinstance(dtype, (list, tuple)):
        dtypes_given = list(map(as_dtype, dtype))
    else:
        dtypes_given = [as_dtype(dtype)] * len(shapes)
    return remade("reuse", plan, plan.notation, plan.inputs, plan.output, plan.names, shapes, dtypes_given, plan.sliced)


def remade(
    operation: str,
    plan: Plan,
    text: str,
    inputs: tuple[Labels, ...],
    output: Labels,
    names: tuple[str, ...],
    shapes: Sequence[Shape],
    dtypes: Sequence[DType],
    cuts: Sequence[tuple[int, int]] = (),
) -> Plan:
    """A plan with the path, the algebra and the conjugations of another one; ``cuts`` are the labels that are sliced.

    >>> from tensor_einsum import plan
    >>> p = plan("ij,jk", (2, 3), (3, 4))
    >>> remade("plan", p, p.notation, p.inputs, p.output, p.names, p.shapes, p.dtypes) == p
    True
    """
    network = resolve_expanded(operation, text, inputs, output, names, shapes)
    arithmetic = arithmetic_of(operation, plan.algebra, plan.conj, dtypes)
    order = Order(to_ids(plan.path, len(inputs)), None, tuple(cuts), None, plan.copies_within)
    made = type(plan)(network, dtypes, order, arithmetic)
    if plan.shared_bytes is None or not made.sliced:
        return made
    return type(plan)(network, dtypes, order._replace(shared_bytes=_room(plan, made)), arithmetic)


def _room(plan: Plan, other: Plan) -> int | None:
    """The bytes for what another plan's slices share, as much larger as the results that are kept are there."""
    from tensor_einsum.slices.cutting import kept_results

    kept, room = kept_results(plan), plan.shared_bytes
    if not kept or room is None or len(other.steps) != len(plan.steps):
        return room
    here, there = (sum([one.steps[step].bytes for step in kept]) for one in (plan, other))
    return room * there // here if here else room
