"""Least squares by Golub-Kahan bidiagonalisation: any system, of any shape."""

from __future__ import annotations

from typing import Any, NamedTuple

import tensor_runtime as tr
from tensor_core.dtypes import FLOATING
from tensor_core.errors import ShapeError
from tensor_core.shapes import Shape
from tensor_linalg.iterative.interrupts import called, taken
from tensor_linalg.iterative.looks import rounding, unlevelled
from tensor_linalg.iterative.operators import (
    LinearMap,
    Operator,
    adjoint_of,
    flat,
    hypotenuse,
    levelled,
    over,
    parted,
    raising,
    share,
    times,
    unsolved,
)
from tensor_linalg.iterative.refusals import require_beside, require_operator, wrong_image
from tensor_linalg.iterative.results import Callback, SolverResult, Stop
from tensor_linalg.operands import number
from tensor_runtime.tensors.tensor import owned


def lsmr(
    a: Operator,
    b: tr.Tensor,
    /,
    *,
    adjoint: Operator | None = None,
    damp: float = 0.0,
    tol: float | None = None,
    maxiter: int = 1000,
    batch_rank: int = 0,
    callback: Callback | None = None,
) -> SolverResult:
    """The x with the least |b - A x|² + damp² |x|², the shortest such from a start at zero.

    Args:
        a: a function from tensors of the shape of x to those of the shape of ``b``, or a tensor [*shape of b, *shape of
            x] with as many axes on either side.
        b: any shape; batch axes as for ``cg``.
        adjoint: the function of Aᴴ, from the shape of ``b`` to that of x; needed beside a function.
        damp: how strongly large x are avoided, from 0 on.
        tol: stop where |Aᴴ r| (of the damped problem |Aᴴ r - damp² x|) is at most ``tol`` times |Aᴴ b|; None for the
            square root of the dtype's rounding unit.
        maxiter: products with A at most; there is one more with Aᴴ.
        batch_rank, callback: as for ``cg``; the residuals told are |Aᴴ r|.

    Returns:
        As ``cg``, with x of the shape that ``adjoint`` gives, and residuals |Aᴴ r| [B...] as the recurrence has them,
        which ``converged`` goes by: the iteration starts at zero, so that rounding hides little of them, but where the
        condition number of A comes near the square root of the rounding unit's reciprocal. Where elements of x are
        subnormal they are computed from x, with one product more each way.

    Raises:
        ShapeError, DTypeError, ArgumentError, PlacementError, ReadOnlyError, NonFiniteError: as for ``cg``.

    Source: D. C.-L. Fong and M. Saunders, SIAM J. Sci. Comput. 33, 2950 (2011).

    >>> a = tr.tensor([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]])  # a straight line through three points
    >>> lsmr(a, tr.tensor([1.0, 3.0, 5.0])).x.to_numpy().round(6).tolist()
    [1.0, 2.0]
    """
    core, batch = parted("lsmr", a, b, batch_rank, "b")
    require_operator("lsmr", a)
    # Axes that a matrix leaves over are the batch; a number is no matrix.
    if isinstance(a, tr.Tensor) and (a.rank != 2 * len(core) or (a.rank == 0 and len(batch) != batch_rank)):
        raise ShapeError(
            f"lsmr: the operator has shape {a.shape}, for b of shape {b.shape}; accepted: a tensor [*shape of b, "
            "*shape of x] with as many axes on either side",
            operation="lsmr",
        )
    back = adjoint_of("lsmr", a, adjoint)
    u, length, drop = _direction(b, core, batch)  # from here on b has norm 1, so that its size meets no squares
    domain, v = _first_image(a, back, u, core, batch)
    apply = LinearMap("lsmr", a, domain, batch, core)
    turn = LinearMap("lsmr", back, core, batch, domain, name="adjoint")
    lift = levelled(v, u)  # A times that, with x divided by it, is what is iterated
    v = times(v, lift)
    damp = number("lsmr", "damp", damp)
    stop = Stop("lsmr", tol, maxiter, callback, b.dtype, 0.5)
    alpha = alpha_bar = tr.norm(v, axis=0)
    v = over(v, alpha)
    h, h_bar, x = v, tr.multiply(v, 0.0), tr.multiply(v, 0.0)
    zeta_bar = alpha  # |Aᴴ r| over the norm of b, with a sign
    bound = tr.add(share(zeta_bar, stop.tol), tr.multiply(length, 0.0))  # NaN where b is not finite
    sin_bar = tr.multiply(alpha, 0.0)
    damping = times(tr.add(sin_bar, damp), lift)
    scale = length if lift is None else tr.divide(length, lift)
    divisor = divisor_bar = cos_bar = tr.add(sin_bar, 1.0)
    first, converged, interrupted = alpha, False, False
    told_scale = tr.multiply(scale, drop)
    try:
        while True:
            active = unsolved("lsmr", tr.abs(zeta_bar), bound, batch)
            if active is None:
                done = _returned(x, first, length, lift, drop)
                converged = not tr.any(done.lost)
                if not converged and apply.products < stop.maxiter:
                    kept = done.iterated(length, lift, drop)
                    rest = tr.subtract(_direction(b, core, batch)[0], times(apply(kept), lift))
                    kept = tr.multiply(tr.multiply(kept, damping), damping)  # whose square may be beyond the range
                    zeta_bar = tr.norm(tr.subtract(times(turn(rest), lift), kept), axis=0)
                    missed = tr.multiply(first, over(rounding(u, drop), length))
                    converged = bool(tr.all(zeta_bar <= tr.maximum(bound, missed)))
                break
            if stop.reached(apply.products, tr.abs(zeta_bar), batch, told_scale):
                break
            u = tr.subtract(times(apply(v), lift), tr.multiply(alpha, u))
            beta = tr.norm(u, axis=0)
            u = over(u, beta)
            v = tr.subtract(times(turn(u), lift), tr.multiply(beta, v))
            alpha = tr.norm(v, axis=0)
            v = over(v, alpha)
            alpha_hat = hypotenuse(alpha_bar, damping) if damp else alpha_bar
            rho = hypotenuse(alpha_hat, beta)
            divisor_old, divisor = divisor, tr.where(rho > 0, rho, 1.0)  # where rho is 0, so is what it divides
            theta = tr.multiply(tr.divide(beta, divisor), alpha)
            alpha_bar = tr.multiply(tr.divide(alpha_hat, divisor), alpha)
            theta_bar, carried = tr.multiply(sin_bar, rho), tr.multiply(cos_bar, rho)
            rho_bar = hypotenuse(carried, theta)
            divisor_bar_old, divisor_bar = divisor_bar, tr.where(rho_bar > 0, rho_bar, 1.0)
            cos_bar, sin_bar = tr.divide(carried, divisor_bar), tr.divide(theta, divisor_bar)
            zeta = tr.multiply(cos_bar, zeta_bar)
            kept = tr.multiply(tr.divide(theta_bar, divisor_old), tr.divide(rho, divisor_bar_old))
            h_bar = tr.subtract(h, tr.multiply(kept, h_bar))
            step = tr.where(active, tr.divide(tr.divide(zeta, divisor), divisor_bar), 0.0)
            x, zeta_bar = (
                tr.add(x, tr.multiply(step, h_bar)),
                tr.where(active, tr.negative(tr.multiply(sin_bar, zeta_bar)), zeta_bar),
            )
            h = tr.subtract(v, tr.multiply(tr.divide(theta, divisor), h))
    except KeyboardInterrupt:
        converged, interrupted = False, taken(apply.products)
    done = _returned(x, first, length, lift, drop)
    zeta_bar = tr.where(done.beyond, first, tr.abs(zeta_bar))
    residuals = owned(tr.multiply(tr.multiply(zeta_bar, scale), drop).reshape(batch))
    return SolverResult(owned(done.x.reshape((*domain, *batch))), converged, apply.products, residuals, interrupted)


def _direction(b: tr.Tensor, core: Shape, batch: Shape) -> tuple[tr.Tensor, tr.Tensor, tr.Tensor]:
    """The right-hand side over its norm, that norm times a power of two where it is tiny, and what takes that off."""
    u = flat(b, core, batch)
    length = tr.norm(u, axis=0)
    lift = raising(length)
    length = tr.multiply(length, lift)
    return over(tr.multiply(u, lift), length), length, tr.divide(1.0, lift)


class _Returned(NamedTuple):
    """A solution in its own size."""

    x: tr.Tensor
    """Zero, where the iteration starts, in columns of which elements are beyond the range."""
    beyond: tr.Tensor
    """Which those are."""
    lost: tr.Tensor
    """Which columns are not those that were iterated, to rounding: the former, and those of elements that are
    subnormal, there or on the way, as a damping far beyond the operator makes them."""

    def iterated(self, length: tr.Tensor, lift: tr.Tensor | None, drop: tr.Tensor) -> tr.Tensor:
        """In the size in which it was iterated."""
        x = over(tr.multiply(self.x, tr.divide(1.0, drop)), length)
        return x if lift is None else tr.multiply(x, tr.divide(1.0, lift))


def _returned(x: tr.Tensor, first: tr.Tensor, length: tr.Tensor, lift: tr.Tensor | None, drop: tr.Tensor) -> _Returned:
    found = tr.multiply(unlevelled(x, length, lift), drop)
    beyond = ~tr.all(tr.isfinite(found), axis=0)
    found = tr.where(beyond, 0.0, found)
    normal = (2.0**-1022 if x.dtype.component is tr.F64 else 2.0**-126) * x.shape[0] ** 0.5
    subnormal = tr.minimum(tr.norm(found, axis=0), tr.norm(x, axis=0)) < normal
    return _Returned(found, beyond, beyond | (subnormal & (first > 0.0)))


def _first_image(a: Operator, back: Operator, u: tr.Tensor, core: Shape, batch: Shape) -> tuple[Shape, tr.Tensor]:
    """The shape of x, which of functions only an image tells, and the image of u."""
    if isinstance(a, tr.Tensor):
        domain = a.shape[len(core) :]
        LinearMap("lsmr", a, domain, batch, core)  # refuses a matrix for other vectors, before its adjoint is blamed
        return domain, LinearMap("lsmr", back, core, batch, domain, name="adjoint")(u)
    if isinstance(back, tr.Tensor):
        domain = back.shape[: back.rank - len(core)]
        return domain, LinearMap("lsmr", back, core, batch, domain, name="adjoint")(u)
    given = (*core, *batch)
    y: Any = called(back, u.reshape(given))
    if not isinstance(y, tr.Tensor) or y.shape[max(y.rank - len(batch), 0) :] != batch or y.dtype not in FLOATING:
        raise wrong_image("lsmr", "adjoint", y, given, f" whose last axes are {batch}" if batch else "")
    require_beside("lsmr", "adjoint", y, u)
    domain = y.shape[: y.rank - len(batch)]
    return domain, flat(y, domain, batch)
