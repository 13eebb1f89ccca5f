"""Where an iteration starts, and starts again, as the residuals that an x has are not those that a recurrence tells."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

import tensor_runtime as tr
from tensor_core.errors import ShapeError
from tensor_linalg.iterative.operators import LinearMap, flat, raising
from tensor_linalg.operands import require_tensor

_ROUNDINGS: Final = 64.0
"""Least numbers of the dtype for each element of a right-hand side, by which one of few digits may be missed."""


class Started(NamedTuple):
    """What an iteration starts with: all of it times a power of two where the right-hand side is tiny."""

    right: tr.Tensor
    x: tr.Tensor
    residual: tr.Tensor
    drop: tr.Tensor
    """What takes the power of two off again, for each column."""


def started(
    apply: LinearMap, b: tr.Tensor, x0: tr.Tensor | None, /, precondition: LinearMap | None = None, shift: float = 0.0
) -> Started:
    """Where an iteration starts, and the residual there, all of the dtype that products have.

    Args:
        apply: the map.
        b: the right-hand side as the caller sees it.
        x0: the start as the caller sees it, or None.
        precondition: a map that is applied besides.
        shift: so many times x are taken from the image of x.

    >>> found = started(LinearMap("demo", tr.eye(2), (2,), ()), tr.ones((2,)), None)
    >>> found.x.to_numpy().tolist(), found.residual.to_numpy().tolist()
    ([0.0, 0.0], [1.0, 1.0])
    """
    maps = (apply, precondition)
    dtype = tr.promote(b.dtype, *(one.dtype for one in maps if one is not None and one.dtype is not None))
    right = flat(tr.convert(b, dtype), apply.domain, apply.batch)
    length = tr.norm(right, axis=0)
    lift = raising(length)
    drop = tr.divide(1.0, lift)
    right = tr.multiply(right, lift)
    if x0 is None:
        return Started(right, tr.zeros(right.shape, dtype=right.dtype, placement=right.placement), right, drop)
    x = flat(same_shape(apply, x0), apply.domain, apply.batch)
    # To a share of a norm that is 0 no iteration comes, but the solution is known.
    x = tr.multiply(tr.where(length == 0.0, 0.0, tr.convert(x, tr.promote(x.dtype, right.dtype))), lift)
    image = apply(x)
    r = tr.subtract(right, tr.subtract(image, tr.multiply(x, shift)) if shift else image)
    return Started(right, tr.convert(x, r.dtype), r, drop)


def same_shape(apply: LinearMap, x0: Any, /) -> tr.Tensor:
    """A start of the shape that the map takes.

    >>> same_shape(LinearMap("demo", tr.eye(2), (2,), ()), tr.ones((2,))).shape
    (2,)
    """
    wanted = (*apply.domain, *apply.batch)
    require_tensor(apply.operation, "x0", x0)
    if x0.shape != wanted:
        raise ShapeError(
            f"{apply.operation}: x0 is of shape {x0.shape}; accepted: a tensor of shape {wanted}",
            operation=apply.operation,
        )
    found: tr.Tensor = x0
    return found


class Seen(NamedTuple):
    """An x [n], or [n, C] of columns, whose residual was computed from it."""

    x: tr.Tensor
    rest: tr.Tensor
    """What is left of the right-hand side, b - A x."""
    residuals: tr.Tensor
    """The norms of that, [] or [C]."""
    ended: tr.Tensor
    """Which columns are above their bounds and yet gain nothing by starting again."""


def seen(x: tr.Tensor, rest: tr.Tensor, /) -> Seen:
    """What an iteration starts from.

    >>> seen(tr.zeros(2), tr.tensor([3.0, 4.0])).residuals.item()
    5.0
    """
    residuals = tr.norm(rest, axis=0)
    return Seen(x, rest, residuals, residuals < 0.0)


def moved(start: Seen, change: tr.Tensor, residuals: tr.Tensor, /) -> tuple[tr.Tensor, tr.Tensor]:
    """An x that was changed, and its residuals; where it is beyond the range, a column stays where it was.

    >>> start = seen(tr.tensor([[1.0, 1e308]]), tr.ones((1, 2)))
    >>> x, residuals = moved(start, tr.tensor([[1.0, 1e308]]), tr.tensor([0.5, 0.5]))
    >>> x.to_numpy().tolist(), residuals.to_numpy().tolist()
    ([[2.0, 1e+308]], [0.5, 1.0])
    """
    x = tr.add(start.x, change)
    there = tr.all(tr.isfinite(x), axis=0)
    return tr.where(there, x, start.x), tr.where(there, residuals, start.residuals)


def better(before: Seen, x: tr.Tensor, rest: tr.Tensor, bound: tr.Tensor, /) -> Seen:
    """The better of two for each column; those that are above their bounds, and not half as far off, have ended.

    >>> first = seen(tr.zeros((1, 3)), tr.tensor([[4.0, 4.0, 4.0]]))
    >>> found = better(first, tr.ones((1, 3)), tr.tensor([[1.0, 3.0, 9.0]]), tr.full((3,), 0.5))
    >>> found.x.to_numpy().tolist(), found.residuals.to_numpy().tolist(), found.ended.to_numpy().tolist()
    ([[1.0, 1.0, 0.0]], [1.0, 3.0, 4.0], [False, True, True])
    """
    residuals = tr.norm(rest, axis=0)
    done = residuals <= bound
    taken = done | (residuals < before.residuals)
    ended = ~(done | (residuals < tr.multiply(before.residuals, 0.5)))
    return Seen(
        tr.where(taken, x, before.x),
        tr.where(taken, rest, before.rest),
        tr.where(taken, residuals, before.residuals),
        before.ended | ended,
    )


def unlevelled(x: tr.Tensor, scale: tr.Tensor, lift: tr.Tensor | None, /) -> tr.Tensor:
    """Solutions for an operator times what :func:`levelled` gives, times another scale, as those for the operator.

    Nothing but what is beyond the range in the end is on the way.

    >>> unlevelled(tr.tensor([1e10]), tr.tensor(1e300), tr.tensor(2.0**-1000)).item() < 1e10
    True
    """
    if lift is None:
        return tr.multiply(x, scale)
    return tr.multiply(tr.multiply(tr.multiply(x, tr.minimum(lift, 1.0)), scale), tr.maximum(lift, 1.0))


def in_range(
    image: Callable[[tr.Tensor], tr.Tensor],
    x: tr.Tensor,
    residuals: tr.Tensor,
    right: tr.Tensor,
    bound: tr.Tensor,
    drop: tr.Tensor,
    more: bool,
    /,
) -> tuple[tr.Tensor, bool]:
    """Residuals of what the dtype keeps of x without its power of two, and whether all are small enough.

    Args:
        image: gives what the right-hand side is compared with.
        x: a solution, of these residuals.
        right, bound, drop: as iterated.
        more: whether another image may be made, without which nothing that has lost digits counts as small enough.

    >>> def twice(x): return tr.multiply(x, 2.0)
    >>> right, bound, drop = tr.full((1,), 2.0), tr.tensor(1e-9), tr.tensor(2.0**-600)
    >>> in_range(twice, tr.ones((1,)), tr.tensor(0.0), right, bound, drop, True)[1]
    True
    >>> in_range(twice, tr.full((1,), 2.0**-500), tr.tensor(0.0), right, bound, drop, True)[1]
    False
    """
    if not tr.all(residuals <= bound):
        return residuals, False
    kept = tr.multiply(tr.multiply(x, drop), tr.divide(1.0, drop))
    if tr.all(tr.equal(kept, x)):
        return residuals, True
    if not more:
        return residuals, False
    residuals = tr.norm(tr.subtract(right, image(kept)), axis=0)
    return residuals, bool(tr.all(residuals <= tr.maximum(bound, rounding(right, drop))))


def rounding(right: tr.Tensor, drop: tr.Tensor, /) -> tr.Tensor:
    """What rounding to subnormal numbers may do to right-hand sides [n] or [n, C], times what ``drop`` takes off.

    >>> rounding(tr.ones((4,)), tr.tensor(2.0**-600)).item() == 2.0**7 * 2.0**-1074 * 2.0**600
    True
    """
    least = 2.0**-1074 if right.dtype.component is tr.F64 else 2.0**-149
    return tr.divide(_ROUNDINGS * right.shape[0] ** 0.5 * least, drop)
