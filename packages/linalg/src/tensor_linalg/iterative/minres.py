"""Minimal residuals by the Lanczos recurrence: Hermitian systems, definite or not."""

from __future__ import annotations

from math import inf

import tensor_runtime as tr
from tensor_linalg.iterative.operators import (
    LinearMap,
    Operator,
    hypotenuse,
    levelled,
    over,
    parted,
    share,
    started,
    times,
    unsolved,
)
from tensor_linalg.iterative.results import Callback, SolverResult, Stop
from tensor_linalg.operands import number, unit_of
from tensor_linalg.products import vecdot


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
        As ``cg``. The residuals are those that the recurrence tells, which in rounding may be a little below the true
        ones; where A seems singular two last products make sure that they are not far below, and that x misses no more
        than before it seemed so. Where ``maxiter`` or Ctrl-C leaves none for that, x is the one before. Where no x
        solves the system, ``converged`` is False.

    Raises:
        ShapeError, DTypeError, ArgumentError, NonFiniteError: as for ``cg``.

    Source: C. C. Paige and M. A. Saunders, SIAM J. Numer. Anal. 12, 617 (1975).

    >>> a = tr.tensor([[1.0, 2.0], [2.0, 1.0]])  # eigenvalues 3 and -1
    >>> minres(a, tr.tensor([3.0, 3.0])).x.to_numpy().round(6).tolist()
    [1.0, 1.0]
    """
    core, batch = parted("minres", a, b, batch_rank)
    given = LinearMap("minres", a, core, batch)

    def apply(x: tr.Tensor) -> tr.Tensor:
        return tr.subtract(given(x), tr.multiply(x, shift)) if shift else given(x)

    shift = number("minres", "shift", shift, "a finite real number", -inf)
    stop = Stop("minres", tol, maxiter, callback, b.dtype, 0.5)
    right, x, r, drop = started(given, b, x0, shift=shift)
    unit = 10 * unit_of(r.dtype)
    length = tr.norm(r, axis=0)
    scale = tr.where(length > 0, length, 1.0)  # what is sought is a change, for a residual of norm 1 to begin with
    start, x, r = x, tr.multiply(r, 0.0), tr.divide(r, scale)
    bound = share(tr.divide(tr.norm(right, axis=0), scale), stop.tol)
    residuals = tr.norm(r, axis=0)
    lift: tr.Tensor | None = None  # A times that is iterated
    nothing = tr.zeros(r.shape, dtype=r.dtype, placement=r.placement)
    v_before, v = nothing, over(r, residuals)
    w_before = w = nothing
    beta = dbar = epsilon = sine = tr.multiply(residuals, 0.0)
    cosine = tr.subtract(dbar, 1.0)
    norm = beta  # of A, at least
    before: tuple[tr.Tensor, tr.Tensor] | None = None  # x and residuals before the first step that is doubtful
    ended: tr.Tensor = residuals < 0  # the space can grow no more, and A is singular on it
    doubtful = ended  # or perhaps is
    converged = interrupted = False
    told_scale = tr.multiply(scale, drop)
    try:
        while True:
            active = unsolved("minres", residuals, bound, batch, ended)
            if active is None:
                converged = bool(tr.all(residuals <= bound))  # not where the space has ended before
                break
            kept = 0 if before is None else 2  # products for the last look
            if stop.reached(given.products, residuals, batch, told_scale, kept):
                break
            y = apply(v)
            if v_before is nothing:
                lift = levelled(y, v)
            y = tr.subtract(times(y, lift), tr.multiply(beta, v_before))
            alpha = tr.real(vecdot(v, y))
            y = tr.subtract(y, tr.multiply(alpha, v))
            beta = tr.norm(y, axis=0)
            old = epsilon  # the rotation of the last two steps, applied to the new column of the tridiagonal matrix
            delta = tr.add(tr.multiply(cosine, dbar), tr.multiply(sine, alpha))
            gbar = tr.subtract(tr.multiply(sine, dbar), tr.multiply(cosine, alpha))
            epsilon, dbar = tr.multiply(sine, beta), tr.negative(tr.multiply(cosine, beta))
            gamma, norm = hypotenuse(gbar, beta), tr.maximum(norm, hypotenuse(alpha, beta))
            vanished = gamma <= share(norm, unit)
            small = active & (gamma <= tr.multiply(norm, unit**0.5))
            if tr.any(small & ~doubtful):
                first = small & ~doubtful
                x_old, old_residuals = (x, residuals) if before is None else before
                before = tr.where(first, x, x_old), tr.where(first, residuals, old_residuals)
            ended, doubtful = ended | vanished, doubtful | small
            gamma = tr.where(vanished, 0.0, gamma)
            cosine, sine = over(gbar, gamma), over(beta, gamma, 1.0)  # where both are 0 nothing more is found
            w_next = tr.subtract(tr.subtract(v, tr.multiply(old, w_before)), tr.multiply(delta, w))
            w_before, w = w, over(w_next, gamma)
            v_before, v = v, over(y, beta)
            phi = tr.where(active, tr.multiply(cosine, residuals), 0.0)
            x, residuals = tr.add(x, tr.multiply(phi, w)), tr.where(active, tr.multiply(sine, residuals), residuals)
        if before is not None and given.products + 2 <= stop.maxiter:
            # A is singular, or nearly, and rounding may have hidden it.
            both = [tr.add(start, times(tr.multiply(one, scale), lift)) for one in (x, before[0])]
            true, earlier = (tr.divide(tr.norm(tr.subtract(right, apply(one)), axis=0), scale) for one in both)
            # What rounding does to the product with a large x is no progress.
            rounded = tr.multiply(tr.multiply(norm, tr.norm(x, axis=0)), unit_of(r.dtype))
            better = doubtful & ~(tr.add(true, rounded) <= earlier)
            true = tr.where(better, earlier, true)
            wrong = doubtful & (true > tr.multiply(tr.maximum(residuals, bound), 10.0))
            told = doubtful & (wrong | better | (residuals > bound))
            found = tr.where(better, before[0], x), tr.where(told, true, residuals)
            converged = converged and not tr.any(wrong)
            (x, residuals), before = found, None
    except KeyboardInterrupt:
        if not given.products:
            raise
        interrupted = True
    if before is not None:  # nobody has looked at what came after
        x, residuals = (tr.where(doubtful, old, new) for old, new in zip(before, (x, residuals), strict=True))
    converged = converged and before is None and not interrupted
    x = tr.multiply(tr.add(start, times(tr.multiply(x, scale), lift)), drop).reshape(b.shape)
    residuals = tr.multiply(tr.multiply(residuals, scale), drop).reshape(batch)
    return SolverResult(x, converged, given.products, residuals, interrupted)
