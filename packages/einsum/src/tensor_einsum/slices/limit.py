"""Limits: the slices with which a plan keeps a number of bytes.

What counts is what the plan needs beside its operands when it runs: intermediates, the result, and the workspaces that
the kernels for these very operands take. The kernels say the last when they are bound, so a choice of slices is bound,
measured, and made again with what was learnt, until it keeps the limit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from math import exp2, inf, log2, prod
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

from tensor_core.errors import (
    BackendUnavailableError,
    OutOfMemoryError,
    PlacementError,
    SizeLimitError,
    UnsupportedOperationError,
    shortened,
)
from tensor_core.formatting import readable_bytes
from tensor_einsum.errors import MemoryLimitError
from tensor_einsum.execution.executor import Executable, bind_plan
from tensor_einsum.search.deadline import Deadline
from tensor_einsum.search.optimizers import Order
from tensor_einsum.slices.cutting import Cuts, slice_network
from tensor_einsum.slices.executable import SlicedExecutable
from tensor_einsum.slices.finder import find_cuts, is_worth
from tensor_einsum.slices.model import Model
from tensor_einsum.steps.arithmetic import Arithmetic
from tensor_einsum.steps.steps import build_steps
from tensor_runtime.backends.meta import META
from tensor_runtime.backends.registry import registry
from tensor_runtime.form import Form, form_of
from tensor_runtime.placement import CPU, Placement

if TYPE_CHECKING:
    from tensor_einsum.plans.plan import Plan
    from tensor_einsum.search.options import SearchOptions

_UNKNOWN: Final = (
    BackendUnavailableError,
    OutOfMemoryError,
    PlacementError,
    SizeLimitError,
    UnsupportedOperationError,
)
"""What binding says where no kernels are there for a plan, its operands lie apart, or no memory is enough for it."""
_ROUNDS: Final = 12  # of measuring; two or three suffice as a rule
_FEW: Final = 8  # operands with which it takes no time to plan again
_PARTS: Final = (2, 4)  # of a limit, for which orders are searched too
_LONGER: Final = 4  # than the search for the limit, at most
_SHORT_SEARCH: Final = 4_000_000  # rotations, a tenth of a second: longer ones find good orders by themselves
_HALVINGS: Final = 5  # of what is between the smallest limit that is kept and the largest that is not
_LOWER: Final = 8  # limits below the smallest one known; two or three suffice as a rule
_MORE: Final = 1.6
"""Bits of flops above those of products; a product that is summed is two flops."""
_MOST_MORE: Final = 60.0  # that a share of the work is raised by; rotations end any search before


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
    except _UNKNOWN:
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
    except _UNKNOWN:
        return plan.intermediate_bytes


def needed_bytes(plan: Plan, forms: Sequence[Form]) -> int:
    """Bytes that a plan takes at once beside operands of these forms, with the workspaces of its kernels.

    >>> from tensor_einsum import plan
    >>> from tensor_runtime import ones
    >>> needed_bytes(plan("ij,jk->ik", (2, 3), (3, 4)), [ones((2, 3))._form, ones((3, 4))._form])
    64
    """
    return _bound(plan, forms).needed_bytes


def within(
    plan: Plan, limit: int, forms: Sequence[Form], operation: str = "plan", deadline: Deadline | None = None
) -> Plan:
    """The plan, or the same path in slices, so that it needs at most ``limit`` bytes beside operands of these forms.

    Slices that the plan has already are kept if they suffice, and added to if not; less well after a ``deadline``.

    Raises:
        MemoryLimitError: no slices keep the limit; it names the smallest one that some keep.
        OutOfMemoryError: slices that keep it are more than can be addressed, or no slices do, and all others are.

    >>> from tensor_einsum import plan
    >>> from tensor_runtime import ones
    >>> x = ones((100, 100))._form
    >>> within(plan("ij,jk,kl->il", *[(100, 100)] * 3), 100_000, [x, x, x]).slices
    Slices(count=9, labels=('i',), shape=(9,), extents=(12,))
    """
    late = (deadline or Deadline(None, 0)).is_late
    models = [_model(plan, shared) for shared in (True, False)]
    if models[0].peak(dict(plan.sliced)) > limit:
        models.reverse()  # slices on their own are what a search has cut
    found: list[Plan] = []
    told = "which no slices keep, and no memory is enough for those of a larger one"
    for model in models:
        if found and (late() or (found[0].sliced == plan.sliced and found[0].shared_bytes is None)):
            break
        try:
            made = _cut(plan, limit, forms, model, late)
        except OutOfMemoryError:  # smaller slices may be addressed
            told = "and no memory is enough for slices that keep it; give a smaller one"
            continue
        if made is not None:
            found.append(made)
    if found:
        return min(found, key=attrgetter("flops"))._made_for(forms)
    smallest = _smallest(plan, forms)
    if smallest is None:
        raise OutOfMemoryError(f"{operation}: memory_limit is {readable_bytes(limit)}, {told}")
    if smallest[0] <= limit:
        return smallest[1]._made_for(forms)
    raise _refusal(operation, plan, limit, smallest[0])


def _model(plan: Plan, shared: bool) -> Model:
    network, itemsize = plan._network, plan.output_dtype.itemsize
    steps = build_steps(network, plan._executed, itemsize, plan.conj)
    return Model(network, steps, itemsize, [0.0] * len(steps), shared)


def _cut(plan: Plan, limit: int, forms: Sequence[Form], model: Model, late: Callable[[], bool]) -> Plan | None:
    """The plan with cuts that keep the limit, None where none are found.

    Where the model lets each slice compute everything, what keeps the limit still is shared in the end.
    """
    contractions = [place for place, step in enumerate(model.steps) if len(step.operands) == 2]
    aimed = limit
    for _ in range(_ROUNDS):
        cuts = find_cuts(model, aimed, plan.sliced, late)
        if cuts is None:
            break
        tried = replaced(plan, cuts, None if model.shared else 0)
        if tried.intermediate_bytes <= limit:
            needed, taken = _measured(tried, forms)
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


def _refusal(operation: str, plan: Plan, limit: int, smallest: int) -> MemoryLimitError:
    return MemoryLimitError(
        f"{operation}: memory_limit is {readable_bytes(limit)}, and in the smallest slices {shortened(plan.notation)} "
        f"still needs {readable_bytes(smallest)} beside its operands; accepted: {smallest} bytes or more",
        limit=limit,
        smallest=smallest,
    )


def plan_within(
    make: Callable[[SearchOptions], Plan], options: SearchOptions, forms: Sequence[Form], operation: str = "plan"
) -> Plan:
    """The plan that options ask for, in slices that keep their limit.

    Under another limit a search may find another path: where labels are cut, half and a quarter of it are searched for,
    too, and where kernels take much besides, three quarters. So that the smallest limit of a refusal works when it is
    asked for, two paths are always tried before a refusal, and told of: that without a limit, and that under the least
    one. Of few operands lower limits are tried too, as long as they are kept: a path between the two may need less. A
    time that options give is for all of this.

    Args:
        make: plans under options; the limit is for the search alone.
        options: with a limit.
        forms: of the operands.
        operation: the name for messages.

    Raises:
        MemoryLimitError: no slices keep the limit; it names the smallest that was found to be kept, which works when it
            is asked for.

    >>> from tensor_einsum import plan
    >>> from tensor_einsum.search.options import SearchOptions
    >>> from tensor_runtime import ones
    >>> p, x = plan("ij,jk->ik", (9, 9), (9, 9)), ones((9, 9))._form
    >>> plan_within(lambda options: p, SearchOptions(limit=700), [x, x]).slices.count
    1
    """
    limit = options.limit or 0
    deadline = Deadline(options.seconds, len(forms))

    def made(limit: int | None, **budget: Any) -> Plan:
        return make(options._replace(limit=limit, seconds=deadline.search_seconds(), **budget))

    found = made(limit)
    others = [] if options.seconds is not None else _of_lower_limits(made, limit, found)
    try:
        kept = within(found, limit, forms, operation, deadline)
        more = _bits_beyond_search(kept)
        if options.seconds is None and more > _MORE:
            # Workspaces were not in the search: with less room for it, they may fit. And a share of this is longer.
            longer = options.share * exp2(min(more, _MOST_MORE))
            others += [made(limit * 3 // 4, share=share) for share in (options.share, longer)]
        for searched in [one for one in dict.fromkeys(others) if one != found]:
            with suppress(MemoryLimitError, OutOfMemoryError):
                kept = min(kept, within(searched, limit, forms, operation), key=attrgetter("flops"))
        return kept
    except MemoryLimitError as error:
        refused = {found: error}
    told = [found]
    if options.optimize is True or isinstance(options.optimize, str):  # else it would be the same path again
        told = []
        for other in (None, 0):
            told.append(made(other))
            if told[-1] not in refused:
                try:
                    return within(told[-1], limit, forms, operation, deadline)
                except MemoryLimitError as error:
                    refused[told[-1]] = error
    smallest: int = min([refused[one].__dict__["smallest"] for one in told])
    lower = smallest - 1 if options.keeps and options.seconds is None and len(forms) <= _FEW else 0
    for _ in range(_LOWER):
        if lower <= limit:
            break
        try:
            found = within(made(lower), lower, forms, operation)
        except (MemoryLimitError, OutOfMemoryError):
            break
        smallest, needed = lower, needed_bytes(found, forms)
        if needed <= limit:
            return found
        lower = min(needed, lower - 1)
    raise _refusal(operation, found, limit, smallest)


def _of_lower_limits(made: Callable[..., Plan], limit: int, found: Plan) -> list[Plan]:
    """The best of searches for half and a quarter of a limit, which may take longer than the one for all of it.

    None where that one cuts no label, is long itself, or is estimated to be as cheap. It may not keep the limit as it
    is.
    """
    if found.search is None or not found.sliced or found.search.rotations > _SHORT_SEARCH:
        return []
    lower = [made(limit // part, most_rotations=_LONGER * found.search.rotations) for part in _PARTS]
    best = min(lower, key=_estimate)
    return [best] if _estimate(best) < _estimate(found) else []


def _estimate(plan: Plan) -> float:
    """The time of contracting, as a search estimates it, as a logarithm; infinite where nothing searched."""
    return inf if plan.search is None else plan.search.log2_seconds


def _bits_beyond_search(plan: Plan) -> float:
    """How much more work its slices make than those that a search found, as a logarithm; 0 where nothing searched."""
    return log2(max(plan.flops, 1)) - plan.search.log2_products if plan.search is not None else 0.0


def _measured(plan: Plan, forms: Sequence[Form]) -> tuple[int, list[float]]:
    """What the plan needs, and the workspace of every contraction as a share of the bytes that it reads and writes."""
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


def _smallest(plan: Plan, forms: Sequence[Form]) -> tuple[int, Plan] | None:
    """The fewest bytes that the path needs in slices that are worth their work, and the plan that needs them.

    None where all that were found are more than can be addressed.
    """
    whole = replaced(plan, ())
    every = replaced(plan, tuple((label, 1) for label in range(len(plan.names))))
    if is_worth(whole.flops, every.flops):
        least: tuple[int, Plan] | None = (needed_bytes(every, forms), every)
    else:
        least = _halved(whole, forms)
    for other in (replaced(every, every.sliced, 0), replaced(plan, plan.sliced), replaced(plan, plan.sliced, 0), whole):
        if (least is None or other.intermediate_bytes < least[0]) and is_worth(whole.flops, other.flops):
            with suppress(OutOfMemoryError):
                least = _lesser(least, other, forms)
    return least


def _halved(plan: Plan, forms: Sequence[Form]) -> tuple[int, Plan] | None:
    """The same, looked for between nothing and what the whole path needs; whatever limit was asked for.

    What one choice learns of workspaces, the next ones know.
    """
    least: tuple[int, Plan] | None = None
    try:
        least = needed_bytes(plan, forms), plan
    except _UNKNOWN as error:
        if not isinstance(error, OutOfMemoryError):
            least = plan.intermediate_bytes, plan
    kept, refused = min(log2(max(least[0] if least else plan.intermediate_bytes, 1)), 62.0), 0.0
    model = _model(plan, shared=True)
    for _ in range(_HALVINGS):
        between = (kept + refused) / 2
        try:
            made = _cut(plan, int(exp2(between)), forms, model, Deadline(None, 0).is_late)
        except OutOfMemoryError:  # lower limits have smaller slices
            kept = between
            continue
        if made is None:
            refused = between
        else:
            least = _lesser(least, made, forms)
            kept = log2(max(least[0], 1))
    return least


def _lesser(least: tuple[int, Plan] | None, plan: Plan, forms: Sequence[Form]) -> tuple[int, Plan]:
    needed = needed_bytes(plan, forms)
    return least if least is not None and least[0] <= needed else (needed, plan)


def replaced(plan: Plan, cuts: Cuts, shared_bytes: int | None = None) -> Plan:
    """The same contraction along the same path, with other labels cut.

    >>> from tensor_einsum import plan
    >>> replaced(plan("ij->", (4, 6)), ((1, 2),)).slices.count
    3
    """
    order = Order(plan._ids, plan._searched, cuts, shared_bytes)
    made = type(plan)(plan._network, plan.dtypes, order, Arithmetic(plan.algebra, plan.conj))
    return made._made_for(plan._forms)
