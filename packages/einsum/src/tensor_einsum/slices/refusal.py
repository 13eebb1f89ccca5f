"""What is tried before a limit is refused, and the refusal: it names the smallest limit that was found to be kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isqrt, prod
from typing import TYPE_CHECKING, Final

from tensor_core.errors import OutOfMemoryError, shortened
from tensor_core.formatting import readable_bytes
from tensor_einsum.errors import MemoryLimitError
from tensor_einsum.search.deadline import Deadline
from tensor_einsum.slices.finder import MOST_WORK
from tensor_einsum.slices.keeping import keeping
from tensor_einsum.slices.needs import copying_within, needed_bytes
from tensor_einsum.slices.smallest import Least, find_smallest, lesser
from tensor_runtime.form import Form

if TYPE_CHECKING:
    from tensor_einsum.plans.plan import Plan
    from tensor_einsum.search.options import SearchOptions

_FEW: Final = 8  # operands with which it takes no time to plan again
_ONE_ORDER: Final = 2  # operands of which there is no other path
_LOWER: Final = 8  # limits below the smallest one known; two or three suffice as a rule
_BETWEEN: Final = 6  # limits that are searched for between the one asked for and the smallest one known
_NEAR: Final = 1.1  # what is left between the two that is not worth another search
_SHORT: Final = 4_000_000  # rotations of each, a tenth of a second
_PART: Final = 0.25  # of the time that is left, for each
_ADDRESSED: Final = 1 << 62  # bytes; larger limits are not searched for


def kept_or_least(plan: Plan, limit: int, forms: Sequence[Form], deadline: Deadline) -> Plan | Least:
    """The plan in slices that keep a limit, or else the smallest limit that some keep.

    >>> from tensor_einsum import plan
    >>> from tensor_runtime import ones
    >>> p, x = plan("ij,jk->ik", (9, 9), (9, 9)), ones((9, 9))._form
    >>> kept_or_least(p, 600, [x, x], Deadline(None, 2)).bytes
    648
    """
    kept = keeping(plan, limit, forms, deadline)
    if kept is None and limit > _ADDRESSED:
        kept = keeping(plan, _ADDRESSED, forms, deadline)
    if kept is not None:
        return kept
    least = find_smallest(plan, forms, deadline)
    if least.fits and least.bytes <= limit:
        return copying_within(least.plan, limit)._made_for(forms)
    return least


def lowered(
    made: Callable[..., Plan],
    options: SearchOptions,
    forms: Sequence[Form],
    deadline: Deadline,
    operation: str,
    found: Plan,
    least: Least,
) -> Plan:
    """A plan that keeps a limit all the same: along another path than the first one.

    Args:
        made: plans for a limit.
        options: with the limit.
        forms: of the operands.
        deadline: when to refuse with what is known then.
        operation: the name for messages.
        found: the plan along the first path.
        least: what that needs.

    Raises:
        MemoryLimitError: no slices keep the limit.
        OutOfMemoryError: slices that keep it are more than can be addressed.

    >>> from tensor_einsum import plan
    >>> from tensor_einsum.search.options import SearchOptions
    >>> from tensor_runtime import ones
    >>> p, x = plan("ij,jk->ik", (9, 9), (9, 9)), ones((9, 9))._form
    >>> deadline, options = Deadline(None, 2), SearchOptions(limit=600)
    >>> lowered(lambda *_, **budget: p, options, [x, x], deadline, "plan", p, kept_or_least(p, 600, [x, x], deadline))
    Traceback (most recent call last):
    tensor_einsum.errors.MemoryLimitError: plan: memory_limit is 600 B, and in the smallest slices 'ij,jk->ik' still \
needs 648 B beside its operands; accepted: 648 bytes or more
    """
    limit, timed = options.limit or 0, options.seconds is not None
    searches = options.optimize is True or isinstance(options.optimize, str)  # else it would be the same path again
    own, few = options.optimize is True or options.optimize == "auto", len(forms) <= _FEW
    known, told = {found: least}, [least] if timed or not searches else []
    if own and timed and not least.exact:
        between = _between(made, options, forms, deadline, least)
        if not isinstance(between, Least):
            return between
        told.append(between)
    for other in (None, 0) if searches else ():
        if deadline.is_over():
            break
        path = made(other)
        if path not in known:
            kept = kept_or_least(path, limit, forms, deadline)
            if not isinstance(kept, Least):
                return kept
            known[path] = kept
        told.append(known[path])
    exact, least = all(one.exact for one in told), lesser(*told)
    if few and options.keeps and not timed:
        again = _lower(made, limit, forms, least)
    elif own and not timed and not exact:
        again = _between(made, options, forms, deadline, least)
    else:
        again = least
    if not isinstance(again, Least):
        return again
    sure = exact and (not own or (few and not timed))
    every = not own or len(forms) <= _ONE_ORDER
    raise _refusal(operation, found, limit, again, sure, every)


def _lower(made: Callable[..., Plan], limit: int, forms: Sequence[Form], least: Least) -> Plan | Least:
    """The same for limits below the smallest one known, as long as they are kept."""
    lower = least.bytes - 1
    for _ in range(_LOWER):
        if lower <= limit:
            break
        kept = kept_or_least(made(lower), lower, forms, Deadline(None, 0))
        if isinstance(kept, Least):
            break
        needed = needed_bytes(kept, forms)
        if needed <= limit:
            return kept
        least = least._replace(bytes=lower, fits=True)
        lower = min(needed, lower - 1)
    return least


def _between(
    made: Callable[..., Plan], options: SearchOptions, forms: Sequence[Form], deadline: Deadline, least: Least
) -> Plan | Least:
    """The same for limits between the one asked for and the smallest one known, by halving; each search is short.

    Without a time they are the same whichever limit is asked for, so that one that is kept is kept when it is asked
    for: the first that is searched for is the limit itself.
    """
    limit, timed = options.limit or 0, options.seconds is not None
    result = prod(least.plan.output_shape) * least.plan.output_dtype.itemsize
    refused, tried = max(limit, result), limit
    for number in range(_BETWEEN + 1):
        if number or timed:
            high = min(least.bytes, _ADDRESSED)
            if deadline.is_over() or high <= _NEAR * refused:
                break
            tried = isqrt(max(refused, 1) * high)
        searched = made(tried, seconds=deadline.rest() * _PART) if timed else made(tried, most_rotations=_SHORT)
        kept = keeping(searched, tried, forms, deadline)
        if kept is None:
            refused = tried
            continue
        needed = needed_bytes(kept, forms)
        if needed <= limit:
            return kept
        least = Least(needed if timed else tried, kept, False, True)
    return least


def _refusal(operation: str, plan: Plan, limit: int, least: Least, sure: bool, every: bool) -> OutOfMemoryError:
    """What is raised; ``sure`` says whether no slices along the paths tried need less, ``every`` that those are all."""
    start, network = f"{operation}: memory_limit is {readable_bytes(limit)}, and", shortened(plan.notation)
    if not least.fits and least.bytes <= limit:
        return OutOfMemoryError(f"{start} no memory is enough for slices that keep it; give a smaller one")
    needs = readable_bytes(least.bytes)
    if not least.fits:
        told = (
            f"slices of {network} that take at most 2^{MOST_WORK} times its work are more than can be addressed; by "
            f"sizes alone they need {needs} beside its operands; accepted: an order that needs less, by seconds= or "
            "optimize="
        )
    elif sure:
        which = "" if every else " that were found"
        told = (
            f"in the smallest slices{which} {network} still needs {needs} beside its operands; "
            f"accepted: {least.bytes} bytes or more"
        )
    else:
        told = (
            f"no slices of {network} were found that keep it and take at most 2^{MOST_WORK} times its work; accepted: "
            f"{least.bytes} bytes or more, which are enough; a smaller limit may work"
        )
    return MemoryLimitError(f"{start} {told}", limit=limit, smallest=least.bytes)
