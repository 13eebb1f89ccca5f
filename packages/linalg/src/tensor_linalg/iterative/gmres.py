"""Minimal residuals over Krylov spaces by the Arnoldi process, restarted: any square system."""

from __future__ import annotations

from typing import NamedTuple

import tensor_runtime as tr
from tensor_core.errors import ArgumentError
from tensor_linalg.decompositions.svd import svd
from tensor_linalg.iterative.basis import Basis
from tensor_linalg.iterative.interrupts import taken
from tensor_linalg.iterative.looks import Seen, in_range, moved, seen, started
from tensor_linalg.iterative.operators import (
    LinearMap,
    Operator,
    levelled,
    names,
    over,
    parted,
    preconditioning,
    share,
    times,
    unsolved,
)
from tensor_linalg.iterative.refusals import finite_images
from tensor_linalg.iterative.results import Callback, SolverResult, Stop
from tensor_linalg.operands import unit_of
from tensor_linalg.products import matvec, vecdot
from tensor_runtime.dispatch.arguments import whole
from tensor_runtime.tensors.tensor import owned


def gmres(
    a: Operator,
    b: tr.Tensor,
    /,
    x0: tr.Tensor | None = None,
    *,
    preconditioner: Operator | None = None,
    restart: int = 30,
    tol: float | None = None,
    maxiter: int = 1000,
    batch_rank: int = 0,
    callback: Callback | None = None,
) -> SolverResult:
    """Solve A x = b for a square A that is known by its products, by restarted GMRES.

    Args:
        a: a function from a tensor of the shape of ``b`` to one of that shape, or a tensor [*shape, *shape].
        b, x0, tol, maxiter, batch_rank, callback: as for ``cg``.
        preconditioner: the same of a map that is about the inverse of A. It is applied on the right, so that residuals
            are those of the system itself.
        restart: vectors that are kept, each as large as ``b``.

    Returns:
        As ``cg``; the residuals are computed from x, but where ``maxiter`` or Ctrl-C left no product for that: then
        they are those within the last Krylov space, and x has not converged.

    Raises:
        ShapeError, DTypeError, ArgumentError: what the function gave, or an option, does not fit.
        PlacementError: what the function gave, or a tensor, lives elsewhere.
        ReadOnlyError: the function wrote into the vector that it was given.
        NonFiniteError: what the function gave, or ``b``, holds NaN or an infinity.

    Source: Y. Saad and M. H. Schultz, SIAM J. Sci. Stat. Comput. 7, 856 (1986); the residual of each step by the vector
    that the Hessenberg matrix maps to zero, E. H. Ayachour, J. Comput. Appl. Math. 159, 269 (2003).

    >>> a = tr.tensor([[1.0, 2.0], [0.0, 1.0]])
    >>> gmres(a, tr.tensor([3.0, 1.0])).x.to_numpy().round(6).tolist()
    [1.0, 1.0]
    """
    core, batch = parted("gmres", a, b, batch_rank, "b")
    apply = LinearMap("gmres", a, core, batch)
    precondition = preconditioning("gmres", preconditioner, core, batch)
    maps = names(apply, precondition)
    stop = Stop("gmres", tol, maxiter, callback, b.dtype, 0.5)
    if whole("gmres", "restart", restart) < 1:
        raise ArgumentError(f"gmres: restart is {restart}; accepted: at least 1", operation="gmres")
    right, x, r, drop = started(apply, b, x0, precondition)
    size = min(restart, max(right.shape[0], 1))
    bound = share(tr.norm(right, axis=0), stop.tol)
    best, converged, interrupted, asked = seen(x, r), False, False, False
    residuals = best.residuals
    try:
        while True:
            active = unsolved("gmres", residuals, bound, batch, best.ended, maps)
            if active is None or asked:
                more = apply.products < stop.maxiter
                residuals, converged = in_range(apply, x, residuals, right, bound, drop, more)
                break
            if apply.products >= stop.maxiter:
                break
            found = _cycle(apply, precondition, best.rest, active, bound, size, stop, batch, drop)
            x, residuals = moved(best, found.change, found.residuals)
            interrupted, asked = found.interrupted, found.asked
            if interrupted or apply.products >= stop.maxiter:
                break
            best = _looked_at(best, x, tr.subtract(right, apply(x)))
            residuals = best.residuals
    except KeyboardInterrupt:
        interrupted = taken(apply.products)
    x, residuals = (owned(tr.multiply(one, drop).reshape(to)) for one, to in ((x, b.shape), (residuals, batch)))
    return SolverResult(x, converged, apply.products, residuals, interrupted)


def _looked_at(start: Seen, x: tr.Tensor, rest: tr.Tensor) -> Seen:
    """What a cycle has led to; another one from where it started would lead there again."""
    return Seen(x, rest, tr.norm(rest, axis=0), start.ended | tr.all(tr.equal(x, start.x), axis=0))


class _Cycle(NamedTuple):
    change: tr.Tensor
    residuals: tr.Tensor
    interrupted: bool
    asked: bool


def _preconditioned(apply: LinearMap, precondition: LinearMap | None, v: tr.Tensor) -> tr.Tensor:
    return apply(v) if precondition is None else apply(precondition(v), of_image=True)


def _cycle(
    apply: LinearMap,
    precondition: LinearMap | None,
    r: tr.Tensor,
    active: tr.Tensor,
    bound: tr.Tensor,
    size: int,
    stop: Stop,
    batch: tuple[int, ...],
    drop: tr.Tensor,
) -> _Cycle:
    """The best change of x within one Krylov space; columns that are not active contribute nothing."""
    start = tr.norm(r, axis=0)
    v = over(r, start, there=active)
    try:
        w = _preconditioned(apply, precondition, v)
    except KeyboardInterrupt:
        return _Cycle(tr.multiply(r, 0.0), start, taken(apply.products), False)
    lift = levelled(w, v)  # A times that is iterated
    w = times(w, lift)
    like = tr.add(tr.multiply(w, 0.0), tr.multiply(v, 0.0))  # of the dtype that vectors have from here on
    basis = Basis(like, size + 1)
    basis.set(0, v)
    columns = like.shape[1:]
    h = tr.zeros((size + 1, size, *columns), dtype=like.dtype, placement=like.placement)
    null = tr.zeros((size + 1, *columns), dtype=like.dtype, placement=like.placement)  # null h = 0, column by column
    write_h, write_null = tr.mutable_view(h), tr.mutable_view(null)
    write_null[0] = 1.0
    square = tr.multiply(start, 0.0) + 1.0
    tiny = unit_of(like.dtype)
    count, interrupted, asked = 0, False, False
    try:
        while True:
            rest, coefficients = basis.orthogonalized(w, count + 1)
            length = tr.norm(rest, axis=0)
            there = length > tr.multiply(tr.norm(w, axis=0), tiny)  # else the space holds the solution
            write_h[: count + 1, count] = coefficients
            write_h[count + 1, count] = tr.where(there, length, 0.0)
            basis.set(count + 1, over(rest, length, there=there))
            next_null = tr.divide(vecdot(tr.conj(null[: count + 1]), coefficients), tr.where(there, length, 1.0))
            write_null[count + 1] = tr.where(there, tr.negative(next_null), 0.0)
            square = tr.add(square, tr.multiply(tr.abs(next_null), tr.abs(next_null)))
            count += 1
            residuals = tr.where(active & there, tr.divide(start, tr.sqrt(square)), 0.0)
            active = residuals > bound
            asked = stop.reached(apply.products, residuals, batch, drop)
            if asked or count == size or not tr.any(active):
                break
            v = basis[count]
            w = times(_preconditioned(apply, precondition, v), lift)
    except KeyboardInterrupt:
        interrupted = taken(apply.products)
    if not count:
        return _Cycle(tr.multiply(like, 0.0), start, interrupted, asked)
    used = h[: count + 1, :count]
    y = _least_squares(used, start, names(apply, precondition))
    change = times(basis.combined(y), lift)
    rest = matvec(used, tr.negative(y))
    tr.mutable_view(rest)[0] = tr.add(rest[0], start)
    return _Cycle(change if precondition is None else precondition(change), tr.norm(rest, axis=0), interrupted, asked)


def _least_squares(h: tr.Tensor, start: tr.Tensor, maps: str) -> tr.Tensor:
    """The shortest y with the least norm of start e₁ - h y, for each column; no step where h is zero."""
    with finite_images("gmres", maps):
        u, s, vh = svd(h)
    small = tr.multiply(tr.max(s, axis=0, keepdims=True), h.shape[1] * unit_of(h.dtype))
    inverse = tr.where(s > small, tr.divide(1.0, tr.where(s > small, s, 1.0)), 0.0)
    weights = tr.multiply(tr.multiply(tr.conj(u[0]), inverse), start)
    order = (1, 0, *range(2, vh.rank))
    return matvec(tr.conj(tr.permute_axes(vh, order)), weights)
