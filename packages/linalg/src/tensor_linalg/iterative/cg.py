"""Conjugate gradients: positive definite systems."""

from __future__ import annotations

from typing import NamedTuple

import tensor_runtime as tr
from tensor_core.shapes import Shape
from tensor_linalg.iterative.interrupts import taken
from tensor_linalg.iterative.looks import Seen, better, in_range, moved, seen, started, unlevelled
from tensor_linalg.iterative.operators import (
    LinearMap,
    Operator,
    inner,
    levelled,
    names,
    over,
    parted,
    preconditioning,
    share,
    times,
    unsolved,
)
from tensor_linalg.iterative.refusals import require_numbers
from tensor_linalg.iterative.results import Callback, SolverResult, Stop
from tensor_linalg.operands import first, unit_of
from tensor_runtime.errors import NotPositiveDefiniteError
from tensor_runtime.tensors.tensor import owned


def cg(
    a: Operator,
    b: tr.Tensor,
    /,
    x0: tr.Tensor | None = None,
    *,
    preconditioner: Operator | None = None,
    tol: float | None = None,
    maxiter: int = 1000,
    batch_rank: int = 0,
    callback: Callback | None = None,
) -> SolverResult:
    """Solve A x = b for a Hermitian positive definite A that is known by its products, by conjugate gradients.

    Args:
        a: a function from a tensor of the shape of ``b`` to one of that shape, or a tensor [*shape, *shape].
        b: any shape, of which the last ``batch_rank`` axes count independent right-hand sides: each is iterated with
            numbers of its own, and rests once it has converged. Beside a matrix, the axes it does not act on.
        x0: where to start; zero without it, and for a right-hand side that is zero.
        preconditioner: the same of a map that is about the inverse of A, Hermitian and positive definite.
        tol: stop where the norm of b - A x is at most ``tol`` times that of b; None for the square root of the
            dtype's rounding unit.
        maxiter: products with A at most.
        batch_rank: see ``b``.
        callback: called before each product with ``Progress``; True stops.

    Returns:
        x as ``b``; whether every right-hand side has converged; the number of products; the norms of the residuals
        [B...]; and whether Ctrl-C stopped it, in which case x is the best so far.

        Residuals are computed from x, with one product more, once the recurrence tells that they are small enough.
        Where rounding has hidden that they are not, as with a large ``x0``, the iteration starts again from there for
        as long as that halves them. Only what was computed counts as converged. Where a limit, a callback or Ctrl-C
        comes before, they are as the recurrence has them. A right-hand side rests, and has not converged, where
        rounding alone tells whether A is definite, as that of an A whose condition number is beyond the dtype's digits.

    Raises:
        NotPositiveDefiniteError: A, or the preconditioner, is found not to be positive definite.
        ShapeError, DTypeError, ArgumentError: what the function gave, or an option, does not fit.
        PlacementError: what the function gave, or a tensor, lives elsewhere.
        ReadOnlyError: the function wrote into the vector that it was given.
        NonFiniteError: what the function gave, or ``b``, holds NaN or an infinity; with ``batch_index``.

    Source: M. R. Hestenes and E. Stiefel, J. Res. Natl. Bur. Stand. 49, 409 (1952); Golub and Van Loan, Matrix
    Computations, 4th ed., §11.3 and §11.5.

    >>> a = tr.tensor([[4.0, 1.0], [1.0, 3.0]])
    >>> cg(a, tr.tensor([1.0, 2.0])).x.to_numpy().round(6).tolist()
    [0.090909, 0.636364]
    """
    core, batch = parted("cg", a, b, batch_rank, "b")
    apply = LinearMap("cg", a, core, batch)
    precondition = preconditioning("cg", preconditioner, core, batch)
    maps = names(apply, precondition)
    stop = Stop("cg", tol, maxiter, callback, b.dtype, 0.5)
    right, x, r, drop = started(apply, b, x0, precondition)
    bound = share(tr.norm(right, axis=0), stop.tol)
    best, converged, interrupted, again = seen(x, r), False, False, False
    x, residuals = best.x, best.residuals
    try:
        while unsolved("cg", residuals, bound, batch, best.ended, maps) is not None:
            found = _iterated(apply, precondition, best, bound, stop, batch, drop, again)
            x, residuals = moved(best, found.change, found.residuals)
            interrupted = found.interrupted
            if not found.done or stop.reached(apply.products, residuals, batch, drop):
                break
            best, again = better(best, x, tr.subtract(right, apply(x)), bound), True
            x, residuals = best.x, best.residuals
        else:
            more = apply.products < stop.maxiter
            residuals, converged = in_range(apply, x, residuals, right, bound, drop, more)
    except KeyboardInterrupt:
        interrupted = taken(apply.products)
    x, residuals = (owned(tr.multiply(one, drop).reshape(to)) for one, to in ((x, b.shape), (residuals, batch)))
    return SolverResult(x, converged, apply.products, residuals, interrupted)


class _Iterated(NamedTuple):
    change: tr.Tensor
    residuals: tr.Tensor
    done: bool
    """Whether the recurrence tells that residuals are small enough, but for columns that rest."""
    interrupted: bool


def _iterated(
    apply: LinearMap,
    precondition: LinearMap | None,
    start: Seen,
    bound: tr.Tensor,
    stop: Stop,
    batch: Shape,
    drop: tr.Tensor,
    again: bool,
) -> _Iterated:
    """The change of x by one run of the recurrence.

    A column rests where p · A p is rounding alone; where what is left is, ``again``, whatever its sign.
    """
    length, resting = start.residuals, start.ended
    scale = tr.where(length > 0, length, 1.0)  # what is sought is a change, for residuals of norm 1 to begin with
    x, r = tr.multiply(start.rest, 0.0), tr.divide(start.rest, scale)
    tiny = unit_of(r.dtype)
    bound = tr.maximum(tr.divide(bound, scale), tiny * tiny)  # what is smaller adds nothing to x, and squares vanish
    norm = tr.multiply(length, 0.0)  # of A, at least
    lift: tr.Tensor | None = None  # A times that is iterated
    steps, done, interrupted = 0, False, False
    told_scale, maps = tr.multiply(scale, drop), names(apply, precondition)
    try:
        z = r if precondition is None else precondition.kept(r)
        z_lift = None if precondition is None else levelled(z, r)
        z = times(z, z_lift)
        p = z
        rz = inner(r, z)
        while True:
            residuals = tr.norm(r, axis=0)
            active = unsolved("cg", residuals, bound, batch, resting, maps)
            if active is None:
                done = True
                break
            if stop.reached(apply.products, residuals, batch, told_scale):
                break
            q = apply(p)
            if not steps:
                lift = levelled(q, p)
            q, steps = times(q, lift), steps + 1
            square, pq = inner(p, p), inner(p, q)
            sizes = tr.norm(q, axis=0)
            norm = tr.maximum(norm, over(sizes, tr.sqrt(square)))
            noise = tr.multiply(tr.multiply(norm, square), 10 * tiny)
            # Of a semidefinite A the square of |A p| is at most |A| (p · A p), so a long A p is no rounding.
            lost = (norm > 0) & (tr.abs(pq) <= noise) & (tr.multiply(sizes, sizes) <= tr.multiply(norm, noise * 16.0))
            wrong = active & ((pq <= 0) | lost | (rz <= 0))
            if not again and tr.any(wrong):
                require_numbers("cg", norm, batch, maps)
                resolved = residuals > tiny  # else squares of what is left have vanished
                _require_positive(active & ((rz < 0) | (resolved & (rz <= 0))), batch, "preconditioner", "leave it out")
                remedy = "minres takes any Hermitian"
                _require_positive(active & ~lost & ((pq < 0) | (resolved & (pq <= 0))), batch, "operator", remedy)
            moving, resting = active & ~wrong, resting | wrong
            step = over(rz, pq, there=moving)
            x, r = tr.add(x, tr.multiply(step, p)), tr.subtract(r, tr.multiply(step, q))
            z = r if precondition is None else times(precondition(r), z_lift)
            before, rz = rz, inner(r, z)
            p = tr.add(z, tr.multiply(over(rz, before, there=moving), p))
    except KeyboardInterrupt:
        interrupted = taken(apply.products)
    return _Iterated(unlevelled(x, scale, lift), tr.multiply(tr.norm(r, axis=0), scale), done, interrupted)


def _require_positive(bad: tr.Tensor, batch: Shape, what: str, remedy: str) -> None:
    """Raise where a column has met a square that is not positive."""
    if not tr.any(bad):
        return
    index = first(bad.reshape(batch))
    column = f" at batch index {index}" if index else ""
    raise NotPositiveDefiniteError(
        f"cg: the {what} is not positive definite, as the right-hand side{column} shows; {remedy}",
        operation="cg",
        batch_index=index,
    )
