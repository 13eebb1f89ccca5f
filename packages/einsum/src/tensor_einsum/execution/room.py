"""Room for copies: which steps of a plan, or of a slice, may take a workspace, so that copies hardly raise its peak.

A kernel may copy an operand because that is faster. Where such a copy would need more than the plan's intermediates and
result do at their peak, and some room besides, the step goes by a kernel without copies instead, if the backend has one
(``lean_contract``). That takes sums of products, and those of no other algebra. The room besides is a share of the
peak, or some MiB where those are more; what a limit leaves, where it is kept only so; and in slices hardly any.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from tensor_core.errors import UnsupportedOperationError
from tensor_einsum.execution.memory import needs_check, usable_bytes
from tensor_einsum.steps.steps import Step, numbered, peak_bytes
from tensor_runtime.algebras import PLUS_TIMES
from tensor_runtime.backends.kernel_facts import state
from tensor_runtime.backends.registry import registry
from tensor_runtime.backends.workspaces import workspace_of
from tensor_runtime.contracts.contraction import ContractParams
from tensor_runtime.form import Form
from tensor_runtime.placement import Placement
from tensor_runtime.protocols import Kernel

if TYPE_CHECKING:
    from tensor_einsum.plans.plan import Plan

UNSEEN: Final = 1 << 16
"""Bytes of copies that nobody misses in a slice, and that are too few to ask again with other threads set."""
_PART_OF_SLICE: Final = 32
"""Of a slice, for which a limit may be less than that: the part of its peak that is not missed."""
_UNLIMITED: Final = 1 << 22
_PART_UNLIMITED: Final = 8
"""Without a limit: bytes that nobody misses, and the part of the peak that may be more than those."""

state("lean_contract")  # pure


def within_room(
    plan: Plan, kernels: Sequence[Kernel], slots: Sequence[Form], steps: Sequence[Step] | None = None
) -> dict[int, Kernel]:
    """Kernels in place of those whose copies have no room, by the number of their step; none in other algebras.

    Args:
        plan: what is bound.
        kernels: of its steps.
        slots: forms of the operands and of every step's result.
        steps: those of a slice; None for the plan's.

    >>> from tensor_core import F64
    >>> from tensor_einsum import plan
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> within_room(plan("i,i->", (2,), (2,)), [abs], [form_of(F64, (2,), CPU)] * 2 + [form_of(F64, (), CPU)])
    {}
    """
    if plan.algebra is not PLUS_TIMES:
        return {}
    workspaces = [workspace_of(kernel) for kernel in kernels]
    if not any(workspaces):
        return {}
    operands, own = len(plan.inputs), plan.steps if steps is None else steps
    peak = peak_bytes(own, operands)
    if steps is not None:
        room = peak + min(UNSEEN, peak // _PART_OF_SLICE)
    elif plan.copies_within is None:
        room = _within_process(peak, peak + max(_UNLIMITED, peak // _PART_UNLIMITED), slots[0].placement)
    else:
        room = max(peak, plan.copies_within)
    found: dict[int, Kernel] = {}
    for number, alive in enumerate(_alive(own, operands)):
        step = own[number]
        if step.kind == "contract" and workspaces[number] and alive + workspaces[number] > room:
            first, second = step.operands
            params = ContractParams(*numbered((*step.inputs, step.output)))
            lean = lean_product((slots[first], slots[second]), slots[operands + number], params)
            if lean is not None and workspace_of(lean) < workspaces[number]:
                found[number] = lean
    return found


def _within_process(peak: int, room: int, home: Placement) -> int:
    """The room, unless what there may be in all is less: nothing is refused for a copy that is not needed."""
    usable = usable_bytes(home) if needs_check(room, home) else None
    return room if usable is None else max(peak, min(room, usable))


def _alive(steps: Sequence[Step], operands: int) -> Iterator[int]:
    """Bytes of intermediates while each step runs, its result among them."""
    live: dict[int, int] = {}
    now = 0
    for number, step in enumerate(steps, operands):
        live[number] = step.bytes
        now += step.bytes
        yield now
        for slot in step.operands:
            now -= live.pop(slot, 0)


def lean_product(read: tuple[Form, Form], result: Form, params: ContractParams) -> Kernel | None:
    """The kernel ``lean_contract``; None where the backend has none, or none for these operands.

    >>> from tensor_core import F64
    >>> from tensor_runtime.backends.meta import META
    >>> from tensor_runtime.form import form_of
    >>> form = form_of(F64, (2,), META)
    >>> lean_product((form, form), form, ContractParams((0,), (0,), (0,))) is None or "meta computes nothing"
    'meta computes nothing'
    """
    try:
        return registry.bind("lean_contract", read, result, params)
    except UnsupportedOperationError:
        return None
