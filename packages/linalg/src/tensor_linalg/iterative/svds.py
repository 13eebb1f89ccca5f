"""Some singular values of maps, by the Lanczos process for AᴴA."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import tensor_runtime as tr
from tensor_linalg.decompositions.svd import svd
from tensor_linalg.iterative.eigsh import eigsh, start_vector
from tensor_linalg.iterative.operators import Operator, adjoint_of, finite_images
from tensor_linalg.iterative.results import Callback
from tensor_linalg.products import matmul, mH
from tensor_linalg.results import fields_text
from tensor_runtime.dispatch.arguments import choice, whole


class SingularResult(NamedTuple):
    """Singular values and vectors, A v = u s, the best found."""

    u: tr.Tensor
    s: tr.Tensor
    vh: tr.Tensor
    converged: bool
    iterations: int
    residuals: tr.Tensor
    interrupted: bool

    def __repr__(self) -> str:
        return fields_text(self)


def svds(
    a: Operator,
    x0: tr.Tensor | None = None,
    /,
    *,
    adjoint: Operator | None = None,
    k: int = 1,
    which: str = "LM",
    tol: float | None = None,
    maxiter: int = 3000,
    basis: int | None = None,
    multiplets: bool = True,
    seed: int = 0,
    callback: Callback | None = None,
) -> SingularResult:
    """Some singular values and vectors of a map that is known by its products and those of its adjoint.

    The right vectors are eigenvectors of AᴴA by ``eigsh``; values and left vectors are those of A on their span, by a
    decomposition that does not square them. The condition is squared all the same where the span is found: values
    below the square root of the rounding unit times the largest are not resolved.

    Args:
        a: a function from a tensor of the shape of ``x0`` to one of any shape, or a tensor [*range, *domain] with as
            many axes on either side.
        x0: where to start, in the domain; may be left out beside a tensor.
        adjoint: the function of Aᴴ; needed beside a function.
        k: how many values; which: "LM" for the largest, "SM" for the smallest.
        tol: as for ``eigsh``, of AᴴA; maxiter: products with A, and as many with Aᴴ.
        basis, multiplets, seed, callback: as for ``eigsh``.

    Returns:
        u [*range, k], s [k] descending and vh [k, *domain]; whether all have converged; the number of products with
        AᴴA; residuals |AᴴA v - s² v|, the largest first as s; and whether Ctrl-C stopped it.

    Raises:
        ShapeError, DTypeError, ArgumentError: what a function gave, or an option, does not fit.
        NonFiniteError: what a function gave holds NaN or an infinity.

    Source: Golub and Van Loan, Matrix Computations, 4th ed., §10.4.

    >>> found = svds(tr.tensor([[3.0, 0.0], [0.0, 4.0], [0.0, 0.0]]))
    >>> found.s.to_numpy().round(9).tolist()
    [4.0]
    """
    choice("svds", "which", which, ("LM", "SM"))
    back = adjoint_of("svds", a, adjoint)
    start = start_vector("svds", a, x0, seed)
    forth, turn = _function(a), _function(back)
    with finite_images("svds"):
        found = eigsh(
            lambda x: turn(forth(x)),
            start,
            k=whole("svds", "k", k),
            which="LA" if which == "LM" else "SA",
            tol=tol,
            maxiter=maxiter,
            basis=basis,
            multiplets=multiplets,
            seed=seed,
            callback=callback,
        )
    count = found.eigenvalues.size
    vectors = found.eigenvectors
    images = [forth(vectors[..., position]) for position in range(count)]
    target = images[0].shape
    image = tr.stack([one.reshape((one.size,)) for one in images], axis=1)
    u, s, wh = svd(image)
    vh = matmul(wh, mH(vectors.reshape((start.size, count))))
    return SingularResult(
        u.reshape((*target, s.size)),
        s,
        tr.to_contiguous(vh).reshape((s.size, *start.shape)),
        found.converged,
        found.iterations,
        tr.copy(found.residuals[::-1]),
        found.interrupted,
    )


def _function(a: Operator) -> Callable[[tr.Tensor], tr.Tensor]:
    """The map of tensors that a tensor stands for, or the function itself."""
    if not isinstance(a, tr.Tensor):
        return a
    half = a.rank // 2
    axes = (tuple(range(half, a.rank)), tuple(range(half)))
    return lambda x: tr.dot_general(a, x, contracting=axes)
