"""Slices that keep a limit: chosen by a model, bound, measured, and chosen again with what was learnt until they do."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Final

from tensor_core.errors import OutOfMemoryError, SizeLimitError
from tensor_einsum.search.deadline import Deadline
from tensor_einsum.slices.finder import find_cuts
from tensor_einsum.slices.model import Model
from tensor_einsum.slices.needs import copying_within, measured, needed_bytes, replaced
from tensor_einsum.steps.steps import build_steps
from tensor_runtime.form import Form

if TYPE_CHECKING:
    from tensor_einsum.plans.plan import Plan

TOO_LARGE: Final = (OutOfMemoryError, SizeLimitError)
"""What binding says of tensors that cannot be addressed."""
_ROUNDS: Final = 12  # of measuring; two or three suffice as a rule
_FEWEST_ROUNDS: Final = 2  # even when time is over
_BOUND: Final = 1000  # steps of the model that are looked at while one step is bound, roughly


def keeping(plan: Plan, limit: int, forms: Sequence[Form], deadline: Deadline | None = None) -> Plan | None:
    """The plan, or the same path in slices that need at most ``limit`` bytes beside operands of these forms.

    None where none are found that can be addressed. Slices that the plan has already are kept if they suffice, and
    added to if not; less well after a ``deadline``.

    >>> from tensor_einsum import plan
    >>> from tensor_runtime import ones
    >>> x = ones((100, 100))._form
    >>> keeping(plan("ij,jk,kl->il", *[(100, 100)] * 3), 100_000, [x, x, x]).slices
    Slices(count=9, labels=('i',), shape=(9,), extents=(12,))
    """
    deadline = deadline or Deadline(None, 0)
    models = [model_of(plan, shared) for shared in (True, False)]
    if models[0].peak(dict(plan.sliced)) > limit:
        models.reverse()  # slices on their own are what a search has cut
    found: list[Plan] = []
    for model in models:
        if found and (deadline.is_late() or (found[0].sliced == plan.sliced and found[0].shared_bytes is None)):
            break
        try:
            made = choose(plan, limit, forms, model, deadline)
        except TOO_LARGE:  # smaller slices may be addressed
            continue
        if made is not None:
            found.append(made)
    return min(found, key=attrgetter("flops"))._made_for(forms) if found else None


def model_of(plan: Plan, shared: bool) -> Model:
    """The model of a plan's path, no kernel of which has been bound yet.

    >>> from tensor_einsum import plan
    >>> model_of(plan("ij,jk->ik", (2, 3), (3, 4)), True).peak({})
    64
    """
    network, itemsize = plan._network, plan.output_dtype.itemsize
    steps = build_steps(network, plan._executed, itemsize, plan.conj)
    return Model(network, steps, itemsize, [0.0] * len(steps), shared)


def choose(plan: Plan, limit: int, forms: Sequence[Form], model: Model, deadline: Deadline) -> Plan | None:
    """The plan with cuts that keep the limit, None where none are found; the model learns what kernels take.

    Where it lets each slice compute everything, what keeps the limit still is shared in the end.

    Raises:
        OutOfMemoryError, SizeLimitError: slices that keep it are more than can be addressed.

    >>> from tensor_einsum import plan
    >>> from tensor_runtime import ones
    >>> p, x = plan("ij,jk->ik", (9, 9), (9, 9)), ones((9, 9))._form
    >>> choose(p, 700, [x, x], model_of(p, True), Deadline(None, 2)).sliced
    ()
    """
    contractions = [place for place, step in enumerate(model.steps) if len(step.operands) == 2]
    aimed = limit
    for number in range(_ROUNDS):
        if number >= _FEWEST_ROUNDS and deadline.is_over():
            break
        cuts = find_cuts(model, aimed, plan.sliced, deadline.is_late, deadline.is_over)
        if cuts is None:
            break
        tried = replaced(plan, cuts, None if model.shared else 0)
        if tried.intermediate_bytes <= limit:
            needed, taken = measured(tried, forms)
            model.looked += _BOUND * len(model.steps)
            if needed > limit and not tried.sliced:
                tried = copying_within(tried, limit)
                needed, taken = measured(tried, forms)
            if needed <= limit:
                return tried if model.shared else _sharing(tried, limit, limit - needed, forms)
            learnt = False
            for place, share in zip(contractions, taken, strict=True):
                if share > model.shares[place]:
                    model.shares[place], learnt = share, True
            if learnt:
                continue
            aimed = aimed * limit // needed - 1
        else:  # the model is a little off where parts are rounded
            aimed = aimed * limit // tried.intermediate_bytes - 1
        if aimed <= 0:
            break
    return None


def _sharing(plan: Plan, limit: int, room: int, forms: Sequence[Form]) -> Plan:
    """The plan, whose slices share nothing, or the same with so many bytes for what they share."""
    made = replaced(plan, plan.sliced, room)
    if made.intermediate_bytes <= limit and needed_bytes(made, forms) <= limit:
        return made
    return plan
