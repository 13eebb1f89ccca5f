"""The smallest limit that slices along a path keep, as far as they are worth their work.

Where all labels may be cut, that is what they need then. Else one label is cut after the other as long as that is worth
it, and limits below what is reached are tried. Both end with a time, or after a number of steps that are
looked at, whatever limit was asked for: so without a time, the same path has the same smallest limit.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import exp2, log2
from typing import TYPE_CHECKING, Final, NamedTuple

from tensor_einsum.search.deadline import Deadline
from tensor_einsum.slices.finder import find_least, is_worth
from tensor_einsum.slices.keeping import TOO_LARGE, choose, model_of
from tensor_einsum.slices.model import Model
from tensor_einsum.slices.needs import copying_within, needed_bytes, replaced
from tensor_runtime.form import Form

if TYPE_CHECKING:
    from tensor_einsum.plans.plan import Plan

_TRIED: Final = 8  # limits below the smallest one that is kept
_STEP: Final = 1.0  # bits between the first two of them, then twice as many, down to the largest that is not kept
_NEAR: Final = 0.2  # bits between the two that are not worth another one
_MOST_LOOKED_AT: Final = 4_000_000  # steps of a model, a second; the limit that is tried then is tried to its end
_MOST_BITS: Final = 62.0  # of limits that are tried


class Least(NamedTuple):
    """The fewest bytes that were found to be enough for a path in slices, and the plan that needs them."""

    bytes: int
    plan: Plan
    exact: bool
    """Whether no slices along this path need less."""
    fits: bool
    """Whether its tensors can be addressed; else the bytes are those of shapes alone."""


def find_smallest(plan: Plan, forms: Sequence[Form], deadline: Deadline | None = None) -> Least:
    """The fewest bytes that the path needs in slices that are worth their work.

    >>> from tensor_einsum import plan
    >>> from tensor_runtime import ones
    >>> p, x = plan("ij,jk->ik", (9, 9), (9, 9)), ones((9, 9))._form
    >>> find_smallest(p, [x, x])[::2]
    (648, True)
    """
    deadline = deadline or Deadline(None, 0)
    whole = replaced(plan, ())
    every = replaced(plan, tuple((label, 1) for label in range(len(plan.names))))
    exact = is_worth(whole.flops, every.flops)
    least = _least(every, forms) if exact else _between(whole, forms, deadline)
    for cuts, kept in ((every.sliced, 0), (plan.sliced, None), (plan.sliced, 0), ((), None)):
        if deadline.is_over():
            break
        other = replaced(plan, cuts, kept)
        if (not least.fits or other.intermediate_bytes < least.bytes) and is_worth(whole.flops, other.flops):
            least = lesser(least, _least(other, forms))
    return least._replace(exact=exact)


def _least(plan: Plan, forms: Sequence[Form]) -> Least:
    plan = copying_within(plan, 0)
    try:
        return Least(needed_bytes(plan, forms), plan, False, True)
    except TOO_LARGE:
        return Least(plan.intermediate_bytes, plan, False, False)


def lesser(*found: Least) -> Least:
    """The one of fewer bytes, of those that can be addressed if there are any.

    >>> one, other = Least(5, None, True, False), Least(6, None, True, True)
    >>> lesser(one, other).bytes
    6
    """
    return min(found, key=lambda least: (not least.fits, least.bytes))


def _between(plan: Plan, forms: Sequence[Form], deadline: Deadline) -> Least:
    """What is found between nothing and what the whole path needs.

    What one choice of slices learns of workspaces, the next ones know.
    """
    model = model_of(plan, shared=True)
    counted = _Counted(deadline, model)
    cuts, refused = find_least(model, counted.is_lost)
    least = _least(replaced(plan, cuts), forms)
    kept, nothing, step = min(log2(max(least.bytes, 1)), _MOST_BITS), log2(max(refused, 1)), _STEP
    for _ in range(_TRIED):
        if kept - nothing < _NEAR or counted.is_over():
            break
        lower = max(kept - step, (kept + nothing) / 2)
        try:
            made = choose(plan, int(exp2(lower)), forms, model, counted)
        except TOO_LARGE:  # lower limits have smaller slices
            kept, step = lower, 2 * step
            continue
        if made is None:
            nothing = lower
        else:
            least = lesser(least, _least(made, forms))
            kept, step = min(log2(max(least.bytes, 1)), lower), 2 * step
    return least


class _Counted(Deadline):
    """A time that ends with another one, or when a model has looked at so many steps."""

    def __init__(self, deadline: Deadline, model: Model) -> None:
        super().__init__(None, 0)
        self._deadline = deadline
        self._model = model

    def is_late(self) -> bool:
        return self._deadline.is_late() or self._model.looked > _MOST_LOOKED_AT

    def is_over(self) -> bool:
        return self._deadline.is_over() or self._model.looked > _MOST_LOOKED_AT

    def is_lost(self) -> bool:
        return self._deadline.is_lost() or self._model.looked > _MOST_LOOKED_AT
