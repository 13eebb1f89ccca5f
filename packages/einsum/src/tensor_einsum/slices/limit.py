"""Limits: the slices with which a plan keeps a number of bytes.

What counts is what the plan needs beside its operands when it runs: intermediates, the result, and the workspaces that
the kernels for these very operands take. Slices along one path are chosen by ``keeping``; here, paths are searched for
that are cut to it, and what none of them keeps is refused with the smallest limit that one was found to keep.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import exp2, inf, log2
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

from tensor_einsum.search.deadline import Deadline
from tensor_einsum.slices.keeping import keeping
from tensor_einsum.slices.refusal import kept_or_least, lowered
from tensor_einsum.slices.smallest import Least
from tensor_runtime.form import Form

if TYPE_CHECKING:
    from tensor_einsum.plans.plan import Plan
    from tensor_einsum.search.options import SearchOptions

_PARTS: Final = (2, 4)  # of a limit, for which orders are searched too
_LONGER: Final = 4  # than the search for the limit, at most
_SHORT_SEARCH: Final = 4_000_000  # rotations, a tenth of a second: longer ones find good orders by themselves
_MORE: Final = 1.6
"""Bits of flops above those of products; a product that is summed is two flops."""
_MOST_MORE: Final = 60.0  # that a share of the work is raised by; rotations end any search before


def plan_within(
    make: Callable[[SearchOptions], Plan], options: SearchOptions, forms: Sequence[Form], operation: str = "plan"
) -> Plan:
    """The plan that options ask for, in slices that keep their limit.

    Under another limit a search may find another path: where labels are cut, half and a quarter of it are searched for,
    too, and where kernels take much besides, three quarters. So that the smallest limit of a refusal works when it is
    asked for, two paths are always tried before a refusal, and told of: that without a limit, and that under the least
    one. Of few operands lower limits are tried too, as long as they are kept: a path between the two may need less; of
    many, short searches halve what is between the limit and the smallest one known. A time that options give is for all
    of this.

    Args:
        make: plans under options; the limit is for the search alone.
        options: with a limit.
        forms: of the operands.
        operation: the name for messages.

    Raises:
        MemoryLimitError: no slices keep the limit; it names the smallest that was found to be kept, which works when it
            is asked for without a time.
        OutOfMemoryError: slices that keep it are more than can be addressed.

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
        return make(options._replace(**{"limit": limit, "seconds": deadline.search_seconds(), **budget}))

    found = made(limit)
    others = [] if options.seconds is not None else _of_lower_limits(made, limit, found)
    kept = kept_or_least(found, limit, forms, deadline)
    if isinstance(kept, Least):
        return lowered(made, options, forms, deadline, operation, found, kept)
    more = _bits_beyond_search(kept)
    if options.seconds is None and more > _MORE:
        # Workspaces were not in the search: with less room for it, they may fit. And a share of this is longer.
        longer = options.share * exp2(min(more, _MOST_MORE))
        others += [made(limit * 3 // 4, share=share) for share in (options.share, longer)]
    for searched in [one for one in dict.fromkeys(others) if one != found]:
        other = keeping(searched, limit, forms)
        if other is not None:
            kept = min(kept, other, key=attrgetter("flops"))
    return kept


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
