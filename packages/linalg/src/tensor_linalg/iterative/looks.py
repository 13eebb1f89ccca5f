"""The residuals that an x has, beside those that a recurrence tells: where they differ, an iteration starts again."""

from __future__ import annotations

from typing import NamedTuple

import tensor_runtime as tr


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
