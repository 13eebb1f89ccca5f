"""Limits of sweeps: the sweep that keeps a number of bytes, or the fewest bytes that one keeps.

What counts is what the caller says that a sweep needs, workspaces of kernels among it, of which planning knows nothing.
So sweeps are planned for lower limits until one needs no more than it may, and where none does all limits are gone
through, from below: steps change only at the limits that some step goes beyond.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import itemgetter
from typing import TYPE_CHECKING, Final, TypeVar

from tensor_einsum.derivatives.planning import frugal_sweep, try_limit
from tensor_einsum.derivatives.sweep import Goal, SweepPlan, result_bytes
from tensor_einsum.errors import MemoryLimitError, limit_error

if TYPE_CHECKING:
    from tensor_einsum.plans.plan import Plan

T = TypeVar("T")
Measured = Callable[[SweepPlan], tuple[int, T]]
"""The bytes that a sweep needs, and what is wanted of it."""

_STEPS: Final = 5_000
"""How many are planned before a limit is refused, a few tenths of a second: all limits of small networks."""


def sweep_within(
    operation: str, plan: Plan, goal: Goal, limit: int | None, measured: Measured[T], of_process: bool = False
) -> T:
    """What is wanted of a sweep that keeps a limit.

    Args:
        operation: the name for messages.
        plan: of the network.
        goal: what is wanted.
        limit: bytes, or None.
        measured: the bytes that a sweep needs beside its operands, no fewer than its ``peak_bytes``.
        of_process: whether the limit is what the process may use, for messages.

    Raises:
        MemoryLimitError: no sweep keeps the limit; the message has the smallest that one keeps. Of large networks not
            every sweep is tried.

    >>> from tensor_einsum import plan
    >>> p, goal = plan("ij,jk,ki->", (2, 3), (3, 4), (4, 2)), Goal((0, 1, 2))
    >>> sweep_within("environments", p, goal, None, by_shapes)
    <SweepPlan of 3 results: 4 steps, 144 flops, peak 256 B>
    """
    if limit is None:
        return measured(_of(try_limit(plan, goal, None).sweep))[1]
    aimed = limit
    while aimed >= 0:
        sweep = try_limit(plan, goal, aimed).sweep
        if sweep is None:
            break
        needed, made = measured(sweep)
        if needed <= limit:
            return made
        aimed -= needed - limit
    needed, made = _least(plan, goal, limit, measured)
    if needed > limit:
        raise sweep_error(operation, limit, needed, of_process)
    return made


def by_shapes(sweep: SweepPlan) -> tuple[int, SweepPlan]:
    """What a sweep needs where no kernel is known: its intermediates and results.

    >>> from tensor_einsum import plan
    >>> by_shapes(plan("ij->", (2, 3)).environments_plan())
    (56, <SweepPlan of 1 results: 3 steps, 0 flops, peak 56 B>)
    """
    return sweep.peak_bytes, sweep


def sweep_error(operation: str, limit: int, smallest: int, of_process: bool = False) -> MemoryLimitError:
    """A limit that no sweep keeps, in bytes; the one that was given, or what the process may use.

    >>> sweep_error("environments", 100, 200).smallest
    200
    """
    needs = "the sweep needs {} beside the operands, even where it computes intermediates again to save memory"
    return limit_error(operation, needs, limit, smallest, ("fewer results", "a plan in slices"), of_process)


def _least(plan: Plan, goal: Goal, enough: int, measured: Measured[T]) -> tuple[int, T]:
    """The first of all sweeps that needs no more than enough; if none does, that which needs least.

    They are tried in the same order whatever is enough, so that the least is accepted when it is asked for.
    """
    frugal = frugal_sweep(plan, goal)
    found = measured(frugal)
    # Every sweep has these steps, and all results at its end.
    aimed: int | None = max([result_bytes(plan, goal), *[step.bytes for step in frugal.steps]])
    left = _STEPS - len(frugal.steps)
    while found[0] > enough and aimed is not None and aimed < found[0] and left > 0:
        tried = try_limit(plan, goal, aimed)
        if tried.sweep is not None:
            found = min(found, measured(tried.sweep), key=itemgetter(0))
        aimed, left = tried.beyond, left - tried.steps
    return found


def _of(sweep: SweepPlan | None) -> SweepPlan:
    assert sweep is not None  # without a limit all fits
    return sweep
