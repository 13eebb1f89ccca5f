"""Conjugate gradients: positive definite systems."""

from __future__ import annotations

import tensor_runtime as tr
from tensor_linalg.iterative.operators import LinearMap, Operator, flat, parted, started
from tensor_linalg.iterative.results import Callback, SolverResult, Stop
from tensor_linalg.products import vecdot
from tensor_runtime.errors import NotPositiveDefiniteError


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
        x0: where to start; zero without it.
        preconditioner: the same of a map that is about the inverse of A, Hermitian and positive definite.
        tol: stop where the norm of b - A x is at most ``tol`` times that of b; None for the square root of the
            dtype's rounding unit.
        maxiter: products with A at most.
        batch_rank: see ``b``.
        callback: called before each product with ``Progress``; True stops.

    Returns:
        x as ``b``; whether every right-hand side has converged; the number of products; the norms of the residuals
        [B...], as the recurrence has them; and whether Ctrl-C stopped it, in which case x is the best so far.

    Raises:
        NotPositiveDefiniteError: A, or the preconditioner, is found not to be positive definite.
        ShapeError, DTypeError, ArgumentError: what the function gave, or an option, does not fit.

    Source: M. R. Hestenes and E. Stiefel, J. Res. Natl. Bur. Stand. 49, 409 (1952); Golub and Van Loan, Matrix
    Computations, 4th ed., §11.3 and §11.5.

    >>> a = tr.tensor([[4.0, 1.0], [1.0, 3.0]])
    >>> cg(a, tr.tensor([1.0, 2.0])).x.to_numpy().round(6).tolist()
    [0.090909, 0.636364]
    """
    core, batch = parted("cg", a, b, batch_rank)
    apply = LinearMap("cg", a, core, batch)
    precondition = None if preconditioner is None else LinearMap("cg", preconditioner, core, batch)
    right = flat(b, core, batch)
    stop = Stop("cg", tol, maxiter, callback, b.dtype, 0.5)
    x, r = started(apply, right, x0)
    bound = tr.multiply(tr.norm(right, axis=0), stop.tol)
    z = r if precondition is None else precondition(r)
    p, rz = z, tr.real(vecdot(r, z))
    converged = interrupted = False
    try:
        while True:
            residuals = tr.norm(r, axis=0)
            active = residuals > bound
            if not tr.any(active):
                converged = bool(tr.all(residuals <= bound))  # not where they are NaN
                break
            if stop.reached(apply.products, residuals, batch):
                break
            q = apply(p)
            pq = tr.real(vecdot(p, q))
            if tr.any(active & ((pq <= 0) | (rz <= 0))):
                raise NotPositiveDefiniteError("cg: the operator is not positive definite; minres takes any Hermitian")
            step = tr.where(active, tr.divide(rz, tr.where(active, pq, 1.0)), 0.0)
            x, r = tr.add(x, tr.multiply(step, p)), tr.subtract(r, tr.multiply(step, q))
            z = r if precondition is None else precondition(r)
            before, rz = rz, tr.real(vecdot(r, z))
            p = tr.add(z, tr.multiply(tr.where(active, tr.divide(rz, tr.where(active, before, 1.0)), 0.0), p))
    except KeyboardInterrupt:
        interrupted = True
    return SolverResult(x.reshape(b.shape), converged, apply.products, tr.norm(r, axis=0).reshape(batch), interrupted)
