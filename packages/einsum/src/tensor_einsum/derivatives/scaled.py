"""Sweeps whose intermediates may leave the range of their dtype: each slot has an exponent of two, apart from it.

Operands and the results of steps are brought near, by powers of two, as ``tensor_einsum.execution.scaling`` says, and
the same is lost. A slot may be read by several steps, so every slot has its own exponent: what its step took off, and
those of the slots that the step reads. Results of slices are brought to the larger of two exponents before they are
added.

Nothing takes memory besides the sweep but the copies of operands that are out of range, which limits count.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

from tensor_einsum.derivatives.environments import bound_slices, bound_sweep, check_given, stepping
from tensor_einsum.derivatives.limits import sweep_error
from tensor_einsum.derivatives.running import BoundSweep
from tensor_einsum.derivatives.sliced import Bound, Parts, add_part, addition_of, part_of, sweep_slices, zeros_for
from tensor_einsum.derivatives.sweep import Goal, result_axes
from tensor_einsum.errors import MemoryLimitError
from tensor_einsum.execution.memory import usable_bytes
from tensor_einsum.execution.scaling import (
    Scale,
    check_scalable,
    copied_bytes,
    largest_magnitude,
    normalised,
)
from tensor_einsum.search.options import bytes_of
from tensor_einsum.slices.scaled import rescaled, together
from tensor_runtime.placement import Placement
from tensor_runtime.tensors.tensor import Tensor, wrap

if TYPE_CHECKING:
    from tensor_einsum.plans.plan import Plan

Scaled = tuple[Tensor, int]
"""A tensor, and the power of two by which it has to be multiplied."""
T = TypeVar("T")
Done = Callable[[], object] | None
_INEXACT: Final = ("float", "complex")


def stripped_sweep(
    operation: str,
    plan: Plan,
    goal: Goal,
    operands: Sequence[Any],
    cotangent: Any,
    memory_limit: Any,
    progress: Any = None,
) -> list[tuple[Tensor, float]]:
    """Mantissas and exponents of a sweep, each as ``tensor_einsum.execution.scaling.normalised`` gives them.

    Raises:
        DTypeError, ArgumentError: as for ``tensor_einsum.execution.scaling.check_scalable``.

    Other errors are those of :func:`run_scaled_sweep`.

    >>> from tensor_einsum import plan
    >>> from tensor_runtime import tensor
    >>> x = tensor([1e200])
    >>> p = plan("i,i,i->", x, x, x)
    >>> ((mantissa, exponent),) = stripped_sweep("environments", p, Goal((0,)), [x, x, x], None, None)
    >>> mantissa.to_numpy().tolist(), round(exponent, 9)
    ([1.0], 400.0)
    """
    check_scalable(plan, operation)
    found = run_scaled_sweep(operation, plan, goal, operands, cotangent, memory_limit, progress)
    return [normalised(tensor, Scale(exponent)) for tensor, exponent in found]


def run_scaled_sweep(
    operation: str,
    plan: Plan,
    goal: Goal,
    operands: Sequence[Any],
    cotangent: Any,
    memory_limit: Any,
    progress: Any = None,
) -> list[Scaled]:
    """The results of a sweep over tensors of a plan that can be scaled, with their exponents of two.

    Raises:
        MemoryLimitError: the limit, or what the process may use, does not suffice with the copies of operands.

    Other errors are those of ``tensor_einsum.derivatives.environments.run_sweep``.

    >>> from tensor_einsum import plan
    >>> from tensor_runtime import tensor
    >>> x = tensor([2.0**600])
    >>> p = plan("i,i,i->", x, x, x)
    >>> ((found, exponent),) = run_scaled_sweep("environments", p, Goal((0,)), [x, x, x], None, None)
    >>> found.to_numpy().item() * 2.0 ** (exponent - 1200)
    1.0
    """
    limit = None if memory_limit is None else bytes_of(operation, memory_limit)
    given = operands if cotangent is None else (*operands, cotangent)
    check_given(operation, plan, goal, given)
    scales = [Scale() for _ in given]
    near = [scale.brought_near(x) if x.dtype.kind in _INEXACT else x for x, scale in zip(given, scales, strict=True)]
    exponents = [scale.exponent for scale in scales]
    arrays, home = [x._array for x in near], given[0].placement
    copied = copied_bytes(given, near)
    if plan.sliced:
        kinds = _within(operation, limit, copied, home, lambda left: bound_slices(operation, plan, goal, near, left))
        with stepping(operation, [one for kind in kinds for one in kind.rounds], progress) as done:
            return _run_slices(plan, goal, kinds, near, exponents, done)
    sweep = _within(operation, limit, copied, home, lambda left: bound_sweep(operation, plan, goal, near, left))
    with stepping(operation, [(sweep.sweep.steps, 1)], progress) as done:
        return _run(sweep, arrays, exponents, done)


def _within(operation: str, limit: int | None, copied: int, home: Placement, bind: Callable[[int | None], T]) -> T:
    """What is bound within what copies leave of a limit, or of what the process may use."""
    if not copied:
        return bind(limit)
    whole = usable_bytes(home) if limit is None else limit
    if whole is None:
        return bind(None)
    try:
        return bind(max(whole - copied, 0))
    except MemoryLimitError as error:
        refused: Any = error
        raise sweep_error(operation, whole, refused.smallest + copied, limit is None) from None


def _run(bound: BoundSweep, arrays: Sequence[Any], exponents: Sequence[int], done: Done) -> list[Scaled]:
    """The results of a sweep, of arrays that have these exponents."""
    ranges, made = bound.ranges, bound.made
    taken: dict[int, int] = {}  # exponents by steps

    def near(number: int, array: Any) -> Any:
        within = ranges[number]
        if within is None:
            return array
        look, least, most = within
        largest = look(array)
        if least <= largest < most:
            return array
        scale = Scale()
        changed = scale.bring_near(wrap(made[number], array), largest)._array
        taken[number] = scale.exponent
        return changed

    found = bound(arrays, done, near)
    of_slots = [*exponents]
    for number, (_, first, second, _) in enumerate(bound.instructions):
        exponent = taken.get(number, 0)
        for slot in (first, second):
            if slot >= 0:
                exponent += of_slots[slot]
        of_slots.append(exponent)
    return list(zip(found, [of_slots[slot] for slot in bound.sweep.results], strict=True))


def _run_slices(
    plan: Plan, goal: Goal, kinds: Sequence[Bound], near: Sequence[Tensor], exponents: Sequence[int], done: Done
) -> list[Scaled]:
    """The sums over all slices."""
    totals = [_Total(tensor) for tensor in zeros_for(plan, goal, near[0].placement)]
    add, axes = addition_of(plan), result_axes(plan, goal)

    def run(sweep: BoundSweep, arrays: list[Any], kept: list[Scaled]) -> list[Scaled]:
        read = [*arrays, *[tensor._array for tensor, _ in kept]]
        return _run(sweep, read, [*exponents, *[exponent for _, exponent in kept]], done)

    def take(parts: Parts, found: list[Scaled]) -> None:
        for total, (labels, _) in zip(totals, axes, strict=True):
            place = partial(part_of, labels=labels, parts=parts)
            total.take(*found.pop(), place, add)

    sweep_slices(plan, goal, kinds, near, run, take)
    return [(total.tensor, total.exponent or 0) for total in totals]


class _Total:
    """A sum in the making, and its exponent: None while there is nothing but zeros."""

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor
        self.exponent: int | None = None

    def take(self, part: Tensor, exponent: int, place: Callable[[Any], Any], add: Callable[..., Any]) -> None:
        """Add a part that belongs to nobody else, and may be changed, to its place in a view of the sum."""
        if largest_magnitude(part) != 0.0:  # the exponent of zeros means nothing
            of_sum, of_part, self.exponent = together(self.exponent, self._is_zero, exponent)
            if of_sum:
                self.tensor = rescaled(self.tensor, of_sum)
            if of_part:
                part = rescaled(part, of_part)
        add_part(add, place(self.tensor.mutable_view()), part)

    def _is_zero(self) -> bool:
        return largest_magnitude(self.tensor) == 0.0
