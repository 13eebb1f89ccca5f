"""Environments: the derivative of a network with respect to its operands, all in one sweep."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, TypeVar

from tensor_core.errors import ArgumentError, DTypeError, ShapeError, TensorError, shortened
from tensor_core.promotion import promote
from tensor_einsum.derivatives.limits import by_shapes, sweep_error, sweep_within
from tensor_einsum.derivatives.running import BoundSweep
from tensor_einsum.derivatives.sharing import parted, shareable, shared_within
from tensor_einsum.derivatives.sliced import (
    Bound,
    Kind,
    bind_kind,
    cut_slots,
    kinds_of,
    plan_of_slice,
    run_slices,
)
from tensor_einsum.derivatives.sweep import Goal, SweepPlan, result_bytes
from tensor_einsum.errors import MemoryLimitError
from tensor_einsum.execution.executor import check_forms
from tensor_einsum.execution.memory import needs_check, usable_bytes
from tensor_einsum.execution.progress import Repeated, counted, reporting
from tensor_einsum.search.options import bytes_of
from tensor_einsum.slices.needs import usual_forms
from tensor_runtime.backends.bindings import binding_cache
from tensor_runtime.backends.bounded_cache import CacheTable
from tensor_runtime.backends.workspaces import threads_in_force
from tensor_runtime.dispatch.arguments import wholes
from tensor_runtime.form import Form, form_of
from tensor_runtime.tensors.tensor import Tensor, unwrap

if TYPE_CHECKING:
    from tensor_einsum.plans.plan import Plan

T = TypeVar("T")

_sweeps: Final[CacheTable[SweepPlan]] = CacheTable(binding_cache)
_bound: Final[CacheTable[BoundSweep]] = CacheTable(binding_cache)
_bound_slices: Final[CacheTable[list[Bound]]] = CacheTable(binding_cache)
_SWEEP_BYTES: Final = 2000
_STEP_BYTES: Final = 800  # a step, its labels and its text


def environments_goal(plan: Plan, which: Any, cotangent: bool) -> Goal:
    """What :meth:`Plan.environments` is asked for.

    Raises:
        ArgumentError: ``which`` is no position of an operand, or names one twice.

    >>> from tensor_einsum import plan
    >>> environments_goal(plan("i,j->", (2,), (3,)), -1, False).operands
    (1,)
    """
    count = len(plan.inputs)
    if which is None:
        operands = tuple(range(count))
    else:
        asked = wholes("environments", "which", which)
        operands = tuple([position + count if position < 0 else position for position in asked])
        if not all(0 <= position < count for position in operands) or len({*operands}) < len(operands):
            raise ArgumentError(
                f"environments: which is {shortened(which)}; accepted: positions of the {count} operands, from 0 or "
                "from -1 backwards, each once",
                operation="environments",
            )
    return Goal(operands, cotangent=cotangent, keeps_output=not cotangent)


def sweep_for(operation: str, plan: Plan, goal: Goal, memory_limit: Any) -> SweepPlan:
    """The sweep of a plan over the operands that it was made for, from the cache if it is there.

    Raises:
        ArgumentError: ``memory_limit`` is no number of bytes.
        MemoryLimitError: it cannot be kept.

    >>> from tensor_einsum import plan
    >>> sweep_for("environments", plan("ij->", (2, 3)), Goal((0,)), None)
    <SweepPlan of 1 results: 3 steps, 0 flops, peak 56 B>
    """
    limit = None if memory_limit is None else bytes_of(operation, memory_limit)
    key = plan, plan._forms, goal, limit, threads_in_force.value
    known = _sweeps.get(key)
    if known is None:
        try:
            known = _measured(operation, plan, goal, limit)
        except MemoryLimitError:
            raise
        except TensorError:  # there are no kernels, or no such operands, of which a plan tells all the same
            known = _by_shapes(operation, plan, goal, limit)
        known = _sweeps.insert(key, known, _SWEEP_BYTES + _STEP_BYTES * len(known.steps))
    return known


def _measured(operation: str, plan: Plan, goal: Goal, limit: int | None) -> SweepPlan:
    """The sweep with what its kernels take."""
    forms = usual_forms(plan)
    if goal.cotangent:
        forms.append(form_of(plan.output_dtype, plan.output_shape, forms[0].placement))
    if plan.sliced:
        kinds = _bind_kinds(operation, plan, goal, forms, limit, False)
        return _over_slices(plan, goal, [kind.whole for kind in kinds])
    bound = _bind(operation, plan, goal, forms, limit, False)
    return bound.sweep._replace(peak_bytes=bound.needed_bytes)


def _by_shapes(operation: str, plan: Plan, goal: Goal, limit: int | None) -> SweepPlan:
    """The sweep with its intermediates and results alone."""
    if not plan.sliced:
        return sweep_within(operation, plan, goal, limit, by_shapes)
    within = _left_for_slices(plan, goal, limit)

    def planned(kind: Kind) -> SweepPlan:
        sweep = sweep_within(operation, plan_of_slice(plan, next(kind.parts())), goal, within, by_shapes)
        shared = shareable(sweep, *cut_slots(plan, goal)) if kind.slices > 1 else set()
        shared = shared_within(sweep, shared, within)
        peak = parted(sweep, shared).peak_bytes if shared else sweep.peak_bytes
        return sweep._replace(peak_bytes=peak, shared=tuple(sorted(shared)))

    return _over_slices(plan, goal, _of_all_kinds(operation, plan, goal, limit, planned))


def _over_slices(plan: Plan, goal: Goal, kinds: Sequence[SweepPlan]) -> SweepPlan:
    """The sweep over one full slice, beside the results of all; its peak is that of the slices that take most."""
    peak = max([sweep.peak_bytes for sweep in kinds]) + result_bytes(plan, goal)
    return kinds[0]._replace(plan=plan, peak_bytes=peak, slices=plan.slices.count)


def _left_for_slices(plan: Plan, goal: Goal, limit: int | None) -> int | None:
    return None if limit is None else max(limit - result_bytes(plan, goal), 0)


def _of_all_kinds(operation: str, plan: Plan, goal: Goal, limit: int | None, made: Callable[[Kind], T]) -> list[T]:
    """What is made for each kind of slices; shorter ones may need more, so a refusal names what all of them keep."""
    found, refused = [], []
    for kind in kinds_of(plan):
        try:
            found.append(made(kind))
        except MemoryLimitError as error:
            refused.append(error)
    if refused:
        most: Any = max(refused, key=attrgetter("smallest"))
        smallest = most.smallest + result_bytes(plan, goal)
        raise sweep_error(operation, most.limit if limit is None else limit, smallest, limit is None)
    return found


def run_sweep(
    operation: str,
    plan: Plan,
    goal: Goal,
    operands: Sequence[Any],
    cotangent: Any,
    memory_limit: Any,
    progress: Any = None,
) -> list[Tensor]:
    """The results of a sweep over tensors.

    Raises:
        ExtentError, DTypeError, PlacementError, OutOfMemoryError: as for calling the plan, and for a cotangent of
            another shape than the result's, or of a dtype that does not convert to it.

    >>> from tensor_einsum import plan
    >>> from tensor_runtime import ones
    >>> found = run_sweep("environments", plan("i,i->", (2,), (2,)), Goal((0,)), [ones((2,)), ones((2,))], None, None)
    >>> found[0].to_numpy().tolist()
    [1.0, 1.0]
    """
    limit = None if memory_limit is None else bytes_of(operation, memory_limit)
    given = operands if cotangent is None else (*operands, cotangent)
    if plan.sliced:
        bound = bound_slices(operation, plan, goal, given, limit)
        with stepping(operation, [one for kind in bound for one in kind.rounds], progress) as done:
            return run_slices(plan, goal, bound, given, done)
    known = bound_sweep(operation, plan, goal, given, limit)
    arrays = [operand._array for operand in given]
    if progress is None or progress is False:
        return known(arrays)
    with stepping(operation, [(known.sweep.steps, 1)], progress) as done:
        return known(arrays, done)


def bound_sweep(operation: str, plan: Plan, goal: Goal, given: Sequence[Any], limit: int | None) -> BoundSweep:
    """The sweep bound to tensors, from the cache if it is there.

    Args:
        operation: the name for messages.
        plan: without slices.
        goal: what is wanted.
        given: operands, and perhaps the cotangent.
        limit: bytes; None for what the process may use.

    Raises:
        ExtentError, DTypeError, PlacementError: as for calling the plan.
        MemoryLimitError: the limit cannot be kept.

    >>> from tensor_einsum import plan
    >>> from tensor_runtime import ones
    >>> bound_sweep("environments", plan("i,i->", (2,), (2,)), Goal((0,)), [ones((2,)), ones((2,))], None).needed_bytes
    16
    """
    try:
        forms = tuple([operand._form for operand in given])
    except AttributeError:  # no tensor; of a tensor, the call would take a third of a small sweep's time
        forms = tuple([unwrap(operation, operand)[0] for operand in given])
    key = plan, goal, limit, operation, forms, threads_in_force.value
    known = _bound.get(key)
    if known is None:
        check_given(operation, plan, goal, given)
        known = _bound.insert(key, _bind(operation, plan, goal, forms, limit, limit is None))
    return known


@contextmanager
def stepping(operation: str, rounds: Sequence[Repeated], progress: Any) -> Iterator[Callable[[], object] | None]:
    """What is to be called after each step of all rounds, for a caller's ``progress``.

    >>> with stepping("environments", [], None) as done:
    ...     done is None
    True
    """
    with reporting(operation, rounds, progress) as on_step:
        yield counted(on_step, sum([len(steps) * times for steps, times in rounds]))


def check_given(operation: str, plan: Plan, goal: Goal, given: Sequence[Any]) -> list[Form]:
    """The forms of operands, and perhaps a cotangent, that a plan was made for; others are refused.

    >>> from tensor_einsum import plan
    >>> from tensor_runtime import ones
    >>> check_given("environments", plan("i->", (2,)), Goal((0,)), [ones((2,))])
    [Form(F64, (2,), cpu)]
    """
    forms = [unwrap(operation, operand)[0] for operand in given]
    check_forms(plan, forms[:-1] if goal.cotangent else forms, operation)
    if goal.cotangent:
        _check_cotangent(plan, given[-1])
    return forms


def _bind(
    operation: str, plan: Plan, goal: Goal, forms: Sequence[Form], limit: int | None, of_process: bool
) -> BoundSweep:
    """The kernels of a sweep that keeps a limit with their workspaces too, or that of the process."""

    def measured(sweep: SweepPlan) -> tuple[int, BoundSweep]:
        bound = BoundSweep(operation, sweep, forms)
        return bound.needed_bytes, bound

    if of_process:
        bound = sweep_within(operation, plan, goal, None, measured)
        if needs_check(bound.needed_bytes, bound.home):
            limit = usable_bytes(bound.home)
        if limit is None or bound.needed_bytes <= limit:
            return bound
    return sweep_within(operation, plan, goal, limit, measured, of_process)


def _bind_kinds(
    operation: str, plan: Plan, goal: Goal, forms: Sequence[Form], limit: int | None, of_process: bool
) -> list[Bound]:
    """The same of every kind of slices, beside the results of all."""
    left = _left_for_slices(plan, goal, limit)

    def bind(part: Plan, read: Sequence[Form]) -> BoundSweep:
        return _bind(operation, part, goal, read, left, of_process)

    def bound(kind: Kind) -> Bound:
        return bind_kind(operation, plan, goal, kind, forms, left, of_process, bind)

    return _of_all_kinds(operation, plan, goal, limit, bound)


def bound_slices(operation: str, plan: Plan, goal: Goal, given: Sequence[Any], limit: int | None) -> list[Bound]:
    """The sweeps of a sliced plan, one of each kind of slices; as for :func:`bound_sweep`.

    >>> from tensor_einsum import plan
    >>> from tensor_runtime import ones
    >>> sliced = plan("i,i->", (3,), (3,)).with_slices({"i": 2})
    >>> [one.kind.slices for one in bound_slices("environments", sliced, Goal((0,)), [ones((3,)), ones((3,))], None)]
    [1, 1]
    """
    forms = check_given(operation, plan, goal, given)
    key = operation, plan, goal, limit, threads_in_force.value, *forms
    bound = _bound_slices.get(key)
    if bound is None:
        bound = _bound_slices.insert(key, _bind_kinds(operation, plan, goal, forms, limit, limit is None))
    return bound


def _check_cotangent(plan: Plan, cotangent: Tensor) -> None:
    if cotangent.shape != plan.output_shape:
        raise ShapeError(
            f"environments: the cotangent has shape {cotangent.shape}, but the result of this plan has "
            f"{plan.output_shape}",
            shapes=(cotangent.shape, plan.output_shape),
        )
    if promote(cotangent.dtype, plan.output_dtype) is not plan.output_dtype:
        raise DTypeError(
            f"environments: the cotangent is {cotangent.dtype.name}, but the result of this plan is "
            f"{plan.output_dtype.name}; cast() it first, or plan with a wider dtype",
            operation="environments",
        )
