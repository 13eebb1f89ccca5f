"""How many singular values stay: a cutoff, a largest rank, and multiplets that are not torn apart.

Of one matrix the values are read to the host and summed there, which for the few hundred that there are takes less time
than calls would; of a batch everything is computed where it lies, and one number is read. What a value weighs, which
losses are too large, and where a rank tears nothing apart are one rule for numbers and for tensors of them.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import accumulate
from math import inf
from typing import Any, Final, NamedTuple

import tensor_runtime as tr
from tensor_core.errors import ArgumentError, shortened
from tensor_linalg.host import numbers
from tensor_linalg.operands import number, plain, unit_of
from tensor_runtime.dispatch.arguments import choice, flag, whole
from tensor_runtime.placement import is_stand_in

_GAP: Final = 16
"""Neighbours at most so many rounding units of the largest value apart are one multiplet: decompositions err as far."""


class Truncation(NamedTuple):
    """What to keep, as checked."""

    max_rank: int | None = None
    cutoff: float | None = None
    relative: bool = True
    norm: float = 2
    multiplets: str = "keep"
    renormalize: bool = False


class Kept(NamedTuple):
    """What is kept and what is lost."""

    rank: int
    s: tr.Tensor
    discarded: tr.Tensor


def truncation(
    operation: str,
    /,
    max_rank: int | None = None,
    cutoff: float | None = None,
    relative: bool = True,
    norm: float = 2,
    multiplets: str = "keep",
    renormalize: bool = False,
) -> Truncation:
    """Options as users write them, checked.

    Raises:
        ArgumentError: one of them is none of what is accepted.

    >>> truncation("split", max_rank=4).max_rank
    4
    """
    try:
        return _checked(operation, max_rank, cutoff, relative, norm, multiplets, renormalize)
    except TypeError:  # what has no hash, such as a tensor
        return _as_checked(operation, Truncation(max_rank, cutoff, relative, norm, multiplets, renormalize))


def _as_checked(operation: str, how: Truncation) -> Truncation:
    max_rank, cutoff = how.max_rank, how.cutoff
    if max_rank is not None:
        max_rank = whole(operation, "max_rank", max_rank)
        if max_rank < 1:
            raise ArgumentError(
                f"{operation}: max_rank is {max_rank}; accepted: at least 1, or None", operation=operation
            )
    if cutoff is not None:
        cutoff = number(operation, "cutoff", cutoff)
    order = plain(how.norm)
    if not isinstance(order, (int, float)) or isinstance(order, bool) or order not in (1, 2, inf):
        raise ArgumentError(f"{operation}: norm is {shortened(how.norm)}; accepted: 1, 2 and inf", operation=operation)
    return Truncation(
        max_rank,
        cutoff,
        flag(operation, "relative", how.relative),
        float(order),
        choice(operation, "multiplets", how.multiplets, ("keep", "drop", "cut")),
        flag(operation, "renormalize", how.renormalize),
    )


@lru_cache(256, typed=True)
def _checked(operation: str, *options: Any) -> Truncation:
    return _as_checked(operation, Truncation(*options))


def kept(s: tr.Tensor, how: Truncation, /) -> Kept:
    """The values that stay, as many as the matrix of the batch that needs most, and what is lost.

    Args:
        s: shape [K, B...], real and descending.

    >>> s = tr.tensor([3.0, 1.0, 1.0, 0.1])
    >>> kept(s, Truncation(cutoff=1.5, relative=False)).rank
    3
    >>> kept(s, Truncation(cutoff=1.5, relative=False, multiplets="cut")).rank
    2
    """
    return _kept_of_one(s, how) if s.rank == 1 else _kept_of_batch(s, how)


def _kept_of_batch(s: tr.Tensor, how: Truncation) -> Kept:
    rank = _common_rank(s, how)
    return Kept(rank, _rescaled(s, rank) if how.renormalize else s[:rank], _discarded(s, rank, how.relative))


def _kept_of_one(s: tr.Tensor, how: Truncation) -> Kept:
    (most,) = s.shape
    limit = most if how.max_rank is None else min(how.max_rank, most)
    if limit == most and how.cutoff is None:
        return Kept(most, s, tr.full((), 0.0, dtype=s.dtype, placement=s.placement))
    if is_stand_in(s.placement):  # there is nothing to read
        return _kept_of_batch(s, how)
    values: list[float] = numbers(s)
    scale = values[0] if values and values[0] > 0 else 1.0
    t = [value / scale for value in values]
    rank = limit
    if how.cutoff is not None or how.multiplets == "drop":
        rank = _rank_of_one(t, scale, limit, _GAP * unit_of(s.dtype), how)
    squares = [x * x for x in t]
    lost, whole_weight = sum(squares[rank:]), sum(squares)
    share = lost / whole_weight if whole_weight else 0.0
    stay = s if rank == most else s[:rank]
    if how.renormalize and rank < most and share < 1:
        stay = tr.multiply(stay, (1 - share) ** -0.5)
    weight = share if how.relative else lost * scale * scale
    return Kept(rank, stay, tr.full((), weight, dtype=s.dtype, placement=s.placement))


def _rank_of_one(t: list[float], scale: float, limit: int, gap: float, how: Truncation) -> int:
    """How many values stay where a cutoff or multiplets decide, up to the limit."""
    most, rank = len(t), limit
    if how.cutoff is not None and most:
        rank = _needed_of_one(t, scale, how.cutoff, how)
        if how.multiplets != "cut":
            rank = next((k for k in range(rank, most) if _apart(t[k - 1], t[k], gap)), most)
        rank = min(rank, limit)
    if how.multiplets == "drop" and rank == limit < most:
        rank = next((k for k in range(limit, 0, -1) if _apart(t[k - 1], t[k], gap)), limit)
    return rank


def _apart(value: Any, next_value: Any, gap: float) -> Any:
    """Whether a rank between them tears nothing apart; values that are rounding alone are no multiplet."""
    return (value - next_value > gap) | (next_value <= gap)


def _adds_up(cutoff: float, how: Truncation) -> bool:
    """Whether what is lost is the sum of all that goes, not the largest of it; squares may vanish for a cutoff of 0."""
    return how.norm != inf and cutoff != 0


def _weight(value: Any, how: Truncation) -> Any:
    """What a value adds to what is lost."""
    return value * value if how.norm == 2 else value


def _bound(whole_weight: Any, scale: Any, cutoff: float, how: Truncation) -> Any:
    """What may be lost of values over ``scale``, of which all weigh so much."""
    if how.relative:
        return whole_weight * cutoff
    return cutoff / scale if how.norm != 2 else cutoff / scale / scale


def _needed_of_one(t: list[float], scale: float, cutoff: float, how: Truncation) -> int:
    """How many values the cutoff alone keeps, at least one."""
    lost = t
    if _adds_up(cutoff, how):
        lost = [*accumulate(_weight(value, how) for value in reversed(t))][::-1]  # if this and all smaller ones go
    bound = _bound(lost[0], scale, cutoff, how)
    return max(1, sum(bool(weight > bound) for weight in lost))


def _common_rank(s: tr.Tensor, how: Truncation) -> int:
    """As many as the matrix of the batch that needs most; where ``max_rank`` alone decides, nothing is read."""
    most = s.shape[0]
    limit = most if how.max_rank is None else min(how.max_rank, most)
    if s.size == 0 or most == 1 or (how.cutoff is None and (how.multiplets != "drop" or limit == most)):
        return limit
    wide = s if s.dtype is tr.F64 else tr.cast(s, tr.F64)  # as the numbers of one matrix are
    t = _scaled(wide)
    needed = None if how.cutoff is None else _needed(wide, t, how.cutoff, how)
    if how.multiplets == "cut":
        return limit if needed is None else min(limit, _largest(needed))
    ranks = tr.arange(1, most, placement=s.placement).reshape((most - 1, *(1,) * (s.rank - 1)))
    gap = _GAP * unit_of(s.dtype)
    fair = _apart(t[:-1], t[1:], gap)
    if needed is not None:
        limit = min(limit, _largest(tr.min(tr.where(fair & (ranks >= needed), ranks, most), axis=0)))
    if how.multiplets == "drop" and limit == how.max_rank and limit < most:
        common = tr.min(fair, axis=tuple(range(1, fair.rank)))
        limit = _largest(tr.where(common, ranks.reshape((most - 1,)), 0)[:limit]) or limit
    return limit


def _scaled(s: tr.Tensor) -> tr.Tensor:
    """Singular values over the largest of their matrix, so that no square overflows."""
    return tr.divide(s, _scale(s))


def _scale(s: tr.Tensor) -> tr.Tensor:
    return tr.where(s[:1] > 0, s[:1], 1.0)


def _needed(s: tr.Tensor, t: tr.Tensor, cutoff: float, how: Truncation) -> tr.Tensor:
    """How many values each matrix keeps by the cutoff alone, at least one: [B...]."""
    lost = tr.cumsum(_weight(t[::-1], how), axis=0)[::-1] if _adds_up(cutoff, how) else t
    above: tr.Tensor = lost > _bound(lost[:1], _scale(s), cutoff, how)
    return tr.maximum(tr.sum(above, axis=0), 1)


def _discarded(s: tr.Tensor, rank: int, relative: bool) -> tr.Tensor:
    """The sum of squares of the values from ``rank`` on, over that of all where ``relative``: [B...]."""
    t = _scaled(s)
    squares = tr.multiply(t, t)
    lost = tr.sum(squares[rank:], axis=0)
    if not relative:
        return tr.multiply(tr.multiply(lost, s[0]), s[0]) if rank < s.shape[0] else lost
    whole_weight = tr.sum(squares, axis=0)
    return tr.divide(lost, tr.where(whole_weight > 0, whole_weight, 1.0))


def _rescaled(s: tr.Tensor, rank: int) -> tr.Tensor:
    """The first ``rank`` values, scaled so that the sum of their squares is that of all."""
    stay = s[:rank]
    if rank in (0, s.shape[0]):
        return stay
    share = tr.norm(stay, axis=0, keepdims=True)
    return tr.multiply(stay, tr.divide(tr.norm(s, axis=0, keepdims=True), tr.where(share > 0, share, 1.0)))


def _largest(found: tr.Tensor) -> int:
    return int(tr.max(found))
