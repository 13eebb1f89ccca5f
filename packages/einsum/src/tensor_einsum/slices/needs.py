"""What a plan takes at once beside its operands: intermediates, the result, and the workspaces of kernels.

The kernels say the last when they are bound to the forms of operands.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Final

from tensor_core.errors import (
    BackendUnavailableError,
    OutOfMemoryError,
    PlacementError,
    SizeLimitError,
    UnsupportedOperationError,
)
from tensor_einsum.execution.executor import Executable, bind_plan
from tensor_einsum.search.optimizers import Order
from tensor_einsum.slices.cutting import Cuts, slice_network
from tensor_einsum.slices.executable import SlicedExecutable
from tensor_einsum.steps.arithmetic import Arithmetic
from tensor_runtime.algebras import PLUS_TIMES
from tensor_runtime.backends.meta import META
from tensor_runtime.backends.registry import registry
from tensor_runtime.form import Form, form_of
from tensor_runtime.placement import CPU, Placement

if TYPE_CHECKING:
    from tensor_einsum.plans.plan import Plan

UNKNOWN: Final = (
    BackendUnavailableError,
    OutOfMemoryError,
    PlacementError,
    SizeLimitError,
    UnsupportedOperationError,
)
"""What binding says where no kernels are there for a plan, its operands lie apart, or no memory is enough for it."""


def usual_home() -> Placement:
    """Where operands are supposed to lie of which shapes alone are known: ``cpu``, or nowhere without its backend.

    >>> usual_home()
    cpu
    """
    try:
        registry.backend_for(CPU)
    except BackendUnavailableError:
        return META  # no kernel is known, and so no workspace
    return CPU


def usual_forms(plan: Plan) -> list[Form]:
    """Forms of the operands that a plan was made for; compact ones where it knows of shapes alone.

    >>> from tensor_einsum import plan
    >>> usual_forms(plan("i->", (3,)))
    [Form(F64, (3,), cpu)]
    """
    if plan._forms:
        return list(plan._forms)
    home = usual_home()
    return [form_of(dtype, shape, home) for dtype, shape in zip(plan.dtypes, plan.shapes, strict=True)]


def step_workspaces(plan: Plan) -> list[int]:
    """Bytes that the kernel of each step takes besides; of a sliced plan, the most of the largest kinds of slices.

    >>> from tensor_einsum import plan
    >>> step_workspaces(plan("ij,jk->ik", (2, 3), (3, 4)))
    [0]
    """
    try:
        return _bound(plan, usual_forms(plan)).workspaces()
    except UNKNOWN:
        return [0] * len(plan.steps)


def _bound(plan: Plan, forms: Sequence[Form]) -> Executable | SlicedExecutable:
    return SlicedExecutable(plan, forms) if plan.sliced else bind_plan(plan, forms)[0]


def peak_bytes(plan: Plan) -> int:
    """Bytes that a plan takes at once beside the operands that it was made for.

    >>> from tensor_einsum import plan
    >>> peak_bytes(plan("ij,jk->ik", (2, 3), (3, 4)))
    64
    """
    try:
        return needed_bytes(plan, usual_forms(plan))
    except UNKNOWN:
        return plan.intermediate_bytes


def needed_bytes(plan: Plan, forms: Sequence[Form]) -> int:
    """Bytes that a plan takes at once beside operands of these forms, with the workspaces of its kernels.

    >>> from tensor_einsum import plan
    >>> from tensor_runtime import ones
    >>> needed_bytes(plan("ij,jk->ik", (2, 3), (3, 4)), [ones((2, 3))._form, ones((3, 4))._form])
    64
    """
    return _bound(plan, forms).needed_bytes


def measured(plan: Plan, forms: Sequence[Form]) -> tuple[int, list[float]]:
    """What the plan needs, and the workspace of every contraction as a share of the bytes that it reads and writes.

    >>> from tensor_einsum import plan
    >>> p = plan("ij,jk->ik", (2, 3), (3, 4))
    >>> measured(p, usual_forms(p))
    (64, [0.0])
    """
    bound = _bound(plan, forms)
    extents = slice_network(plan._network, plan.sliced).extents
    shares, waiting = [], 0  # what steps of one operand take counts with the contraction that follows
    for step, workspace in zip(plan.steps, bound.workspaces(), strict=True):
        waiting = max(waiting, workspace)
        if len(step.operands) == 2:
            read = sum(prod(extents[label] for label in term) for term in step.inputs)
            shares.append(waiting / max(read * plan.output_dtype.itemsize + step.bytes, 1))
            waiting = 0
    return bound.needed_bytes, shares


def copying_within(plan: Plan, limit: int) -> Plan:
    """The same plan, whose kernels copy as far as the limit lets them; in slices and other algebras it is as it was.

    >>> from tensor_einsum import plan
    >>> copying_within(plan("ij->", (4, 6)), 1000).copies_within
    1000
    """
    return plan if plan.sliced or plan.algebra is not PLUS_TIMES else replaced(plan, (), copies_within=limit)


def replaced(plan: Plan, cuts: Cuts, shared_bytes: int | None = None, copies_within: int | None = None) -> Plan:
    """The same contraction along the same path, with other labels cut.

    >>> from tensor_einsum import plan
    >>> replaced(plan("ij->", (4, 6)), ((1, 2),)).slices.count
    3
    """
    order = Order(plan._ids, plan._searched, cuts, shared_bytes, copies_within)
    made = type(plan)(plan._network, plan.dtypes, order, Arithmetic(plan.algebra, plan.conj))
    return made._made_for(plan._forms)
