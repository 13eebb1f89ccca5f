"""Minimal residuals by the Lanczos recurrence: Hermitian systems, definite or not."""

from __future__ import annotations

from functools import partial
from math import inf
from typing import Final, NamedTuple

import tensor_runtime as tr
from tensor_core.shapes import Shape
from tensor_linalg.iterative.interrupts import taken
from tensor_linalg.iterative.looks import Seen, better, in_range, moved, seen, started, unlevelled
from tensor_linalg.iterative.operators import (
    LinearMap,
    Operator,
    hypotenuse,
    inner,
    levelled,
    over,
    parted,
    share,
    times,
    unsolved,
)
from tensor_linalg.iterative.results import Callback, SolverResult, Stop
from tensor_linalg.operands import number, unit_of
from tensor_runtime.tensors.tensor import owned

_IN_DOUBT: Final = 8
"""Times as many steps as were taken before A seemed singular, after which no residual is worth more."""


def minres(
    a: Operator,
    b: tr.Tensor,
    /,
    x0: tr.Tensor | None = None,
    *,
    shift: float = 0.0,
    tol: float | None = None,
    maxiter: int = 1000,
    batch_rank: int = 0,
    callback: Callback | None = None,
) -> SolverResult:
    """Solve (A - shift) x = b for a Hermitian A that is known by its products, with the least residual.

    Args:
        a: a function from a tensor of the shape of ``b`` to one of that shape, or a tensor [*shape, *shape].
        b, x0, tol, maxiter, batch_rank, callback: as for ``cg``.
        shift: a real number.

    Returns:
        As ``cg``. Where A seems singular two last products make sure that x misses no more than before it seemed so;
        where ``maxiter`` or Ctrl-C leaves none for that, x is the one before. Where no x solves the system,
        ``converged`` is False.

    Raises:
        ShapeError, DTypeError, ArgumentError, PlacementError, ReadOnlyError, NonFiniteError: as for ``cg``.

    Source: C. C. Paige and M. A. Saunders, SIAM J. Numer. Anal. 12, 617 (1975).

    >>> a = tr.tensor([[1.0, 2.0], [2.0, 1.0]])  # eigenvalues 3 and -1
    >>> minres(a, tr.tensor([3.0, 3.0])).x.to_numpy().round(6).tolist()
    [1.0, 1.0]
    """
    core, batch = parted("minres", a, b, batch_rank, "b")
    apply = LinearMap("minres", a, core, batch)
    shift = number("minres", "shift", shift, "a finite real number", -inf)
    stop = Stop("minres", tol, maxiter, callback, b.dtype, 0.5)
    right, x, r, drop = started(apply, b, x0, shift=shift)
    bound = share(tr.norm(right, axis=0), stop.tol)
    best, looked, converged, interrupted = seen(x, r), True, False, False
    x, residuals = best.x, best.residuals
    try:
        while unsolved("minres", residuals, bound, batch, best.ended) is not None:
            looked = False
            found = _iterated(apply, shift, best, bound, stop, batch, drop)
            x, residuals = found.sure(best)
            interrupted = found.interrupted
            stopped = not found.done or stop.reached(apply.products, residuals, batch, drop)
            needed = 1 if found.earlier is None else 2
            if interrupted or (stopped and needed == 1) or apply.products + needed > stop.maxiter:
                break
            best = _looked_at(found, best, apply, shift, right, bound)
            x, residuals, looked = best.x, best.residuals, True
            if stopped:
                break
        if looked:
            image, more = partial(_image, apply, shift), apply.products < stop.maxiter
            residuals, converged = in_range(image, x, residuals, right, bound, drop, more)
    except KeyboardInterrupt:
        interrupted = taken(apply.products)
    x, residuals = (owned(tr.multiply(one, drop).reshape(to)) for one, to in ((x, b.shape), (residuals, batch)))
    return SolverResult(x, converged, apply.products, residuals, interrupted)


def _image(apply: LinearMap, shift: float, x: tr.Tensor) -> tr.Tensor:
    return tr.subtract(apply(x), tr.multiply(x, shift)) if shift else apply(x)


class _Iterated(NamedTuple):
    change: tr.Tensor
    residuals: tr.Tensor
    earlier: tuple[tr.Tensor, tr.Tensor] | None
    """Both before the first step that is doubtful; None where there was none."""
    doubtful: tr.Tensor
    """The columns on which A may be singular, and rounding may have hidden it."""
    rounded: tr.Tensor
    """What rounding does to the product with a large change."""
    done: bool
    """Whether the recurrence tells that residuals are as small as they can be."""
    interrupted: bool

    def sure(self, start: Seen) -> tuple[tr.Tensor, tr.Tensor]:
        """The x that was changed, and its residuals, without doubtful steps."""
        found = moved(start, self.change, self.residuals)
        if self.earlier is None:
            return found
        before = moved(start, *self.earlier)
        old, new = (tr.where(self.doubtful, *both) for both in zip(before, found, strict=True))
        return old, new


def _looked_at(
    found: _Iterated, start: Seen, apply: LinearMap, shift: float, right: tr.Tensor, bound: tr.Tensor
) -> Seen:
    """The best x after a run of the recurrence, by its own residual, and by that before doubtful steps."""
    x, _ = moved(start, found.change, found.residuals)
    rest = tr.subtract(right, _image(apply, shift, x))
    ended: tr.Tensor = found.residuals > bound
    if found.earlier is not None:
        old, _ = moved(start, *found.earlier)
        earlier = tr.subtract(right, _image(apply, shift, old))
        gained = tr.add(tr.norm(rest, axis=0), found.rounded) <= tr.norm(earlier, axis=0)
        back = found.doubtful & ~gained
        x, rest, ended = tr.where(back, old, x), tr.where(back, earlier, rest), ended | back
    best = better(start, x, rest, bound)
    return best._replace(ended=best.ended | ended)


def _iterated(
    apply: LinearMap,
    shift: float,
    start: Seen,
    bound: tr.Tensor,
    stop: Stop,
    batch: Shape,
    drop: tr.Tensor,
) -> _Iterated:
    """The change of x by one run of the recurrence."""
    length = start.residuals
    scale = tr.where(length > 0, length, 1.0)  # what is sought is a change, for a residual of norm 1 to begin with
    x, r = tr.multiply(start.rest, 0.0), tr.divide(start.rest, scale)
    bound = tr.divide(bound, scale)
    residuals = tr.norm(r, axis=0)
    unit = 10 * unit_of(r.dtype)
    lift: tr.Tensor | None = None  # A times that is iterated
    nothing = tr.zeros(r.shape, dtype=r.dtype, placement=r.placement)
    v_before, v = nothing, over(r, residuals)
    w_before = w = nothing
    beta = dbar = epsilon = sine = tr.multiply(residuals, 0.0)
    cosine = tr.subtract(dbar, 1.0)
    norm = beta  # of A, at least
    before: tuple[tr.Tensor, tr.Tensor] | None = None  # x and residuals before the first step that is doubtful
    ended = start.ended  # as also where the space can grow no more, and A is singular on it
    doubtful: tr.Tensor = residuals < 0  # or perhaps is
    until = tr.add(residuals, inf)  # steps of a column, as far as they are worth more
    steps = 0
    done = interrupted = False
    told_scale = tr.multiply(scale, drop)
    try:
        while True:
            active = unsolved("minres", residuals, bound, batch, ended)
            if active is None:
                done = True
                break
            kept = 0 if before is None else 2  # products for the last look
            if stop.reached(apply.products, residuals, batch, told_scale, kept):
                break
            y = _image(apply, shift, v)
            if v_before is nothing:
                lift = levelled(y, v)
            y = tr.subtract(times(y, lift), tr.multiply(beta, v_before))
            alpha = inner(v, y)
            y = tr.subtract(y, tr.multiply(alpha, v))
            beta = tr.norm(y, axis=0)
            old = epsilon  # the rotation of the last two steps, applied to the new column of the tridiagonal matrix
            delta = tr.add(tr.multiply(cosine, dbar), tr.multiply(sine, alpha))
            gbar = tr.subtract(tr.multiply(sine, dbar), tr.multiply(cosine, alpha))
            epsilon, dbar = tr.multiply(sine, beta), tr.negative(tr.multiply(cosine, beta))
            gamma, norm = hypotenuse(gbar, beta), tr.maximum(norm, hypotenuse(alpha, beta))
            # The second is what A leaves of residuals of norm 1: of the least ones that a singular A has, nothing.
            least = tr.minimum(gamma, hypotenuse(gbar, dbar))
            vanished = least <= share(norm, unit)
            small = active & (least <= tr.multiply(norm, unit**0.5))
            steps += 1
            if tr.any(small & ~doubtful):
                first = small & ~doubtful
                until = tr.where(first, float(_IN_DOUBT * (steps + _IN_DOUBT)), until)
                x_old, old_residuals = (x, residuals) if before is None else before
                before = tr.where(first, x, x_old), tr.where(first, residuals, old_residuals)
            ended, doubtful = ended | vanished | (until <= steps), doubtful | small
            gamma = tr.where(vanished, 0.0, gamma)
            cosine, sine = over(gbar, gamma), over(beta, gamma, 1.0)  # where both are 0 nothing more is found
            w_next = tr.subtract(tr.subtract(v, tr.multiply(old, w_before)), tr.multiply(delta, w))
            w_before, w = w, over(w_next, gamma)
            v_before, v = v, over(y, beta)
            phi = tr.where(active, tr.multiply(cosine, residuals), 0.0)
            x, residuals = tr.add(x, tr.multiply(phi, w)), tr.where(active, tr.multiply(sine, residuals), residuals)
    except KeyboardInterrupt:
        interrupted = taken(apply.products)
    rounded = tr.multiply(tr.multiply(tr.multiply(norm, tr.norm(x, axis=0)), unit_of(r.dtype)), scale)
    earlier = None if before is None else (unlevelled(before[0], scale, lift), tr.multiply(before[1], scale))
    change, residuals = unlevelled(x, scale, lift), tr.multiply(residuals, scale)
    return _Iterated(change, residuals, earlier, doubtful, rounded, done, interrupted)
