"""Some singular values of maps, by the Lanczos process for AᴴA, or for AAᴴ where the range is the smaller space."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any, Final, NamedTuple

import tensor_runtime as tr
from tensor_core.dtypes import FLOATING
from tensor_core.errors import ArgumentError, DTypeError, ShapeError
from tensor_core.shapes import Shape
from tensor_linalg.decompositions.svd import svd
from tensor_linalg.iterative.eigsh import Start, hermitian_pairs, sizes, start_vector
from tensor_linalg.iterative.interrupts import called, ended
from tensor_linalg.iterative.operators import (
    LinearMap,
    Operator,
    adjoint_of,
    flat,
    levelled,
    raising,
    times,
)
from tensor_linalg.iterative.refusals import finite_images, require_beside, require_operator, wrong_image
from tensor_linalg.iterative.results import Callback, EigenSearchResult, Stop
from tensor_linalg.products import matmul, mH
from tensor_linalg.results import fields_html, fields_text
from tensor_runtime.dispatch.arguments import choice
from tensor_runtime.tensors.tensor import owned

_MARGIN: Final = 2.0**-16
"""By which images are smaller still between the two products with a huge A, so that the second is in the range."""

_STREAM: Final = 2**32
"""Of what is added to a start; other directions that are drawn have small numbers."""


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

    def _repr_html_(self) -> str:
        return fields_html(self)


def svds(
    a: Operator,
    /,
    x0: tr.Tensor | None = None,
    *,
    adjoint: Operator | None = None,
    k: int = 1,
    which: str = "LM",
    tol: float | None = None,
    maxiter: int = 3000,
    basis: int | None = None,
    multiplets: bool = True,
    batch_rank: int = 0,
    seed: int = 0,
    callback: Callback | None = None,
) -> SingularResult:
    """Some singular values and vectors of a map that is known by its products and those of its adjoint.

    The right vectors are eigenvectors of AᴴA by ``eigsh``; values and left vectors are those of A on their span, by a
    decomposition that does not square them. Of a map to a smaller space, whose AᴴA has a null space, the left vectors
    are eigenvectors of AAᴴ, from the image of the start, and the right ones follow; for the smallest values as much
    that is drawn from ``seed`` is added to that image, which lacks what A does not reach.

    The condition is squared all the same where the span is found: values below the square root of the rounding unit
    times the largest are not resolved, such as the zeros of a map of deficient rank. Vectors that are found first are
    those of such values: A v is as small. Those that follow from them are any unit vectors orthogonal to the others, as
    their images are rounding alone, so Aᴴu = v s does not hold for them; and of a map to a smaller space, whose left
    vectors come first, Aᴴu is as small and A v = u s does not hold. ``converged`` tells of the former vectors alone.

    Args:
        a: a function from a tensor of the shape of ``x0`` to one of any shape, or a tensor [*range, *domain] with as
            many axes on either side.
        x0: where to start, in the domain; may be left out beside a tensor.
        adjoint: the function of Aᴴ; needed beside a function.
        k: how many values, at most the extent of the smaller space; which: "LM" for the largest, "SM" for the smallest.
        tol: as for ``eigsh``, of AᴴA; maxiter: products with A, and as many with Aᴴ, at most; up to k more with A
            follow, for the left vectors. To a smaller space: one with A first, and up to k with Aᴴ at the end.
        basis, multiplets, batch_rank, seed, callback: as for ``eigsh``; both functions are given blocks. Where squares
            of A's elements would vanish or overflow, the process, and what the callback is told, are those of A times a
            power of two.

    Returns:
        u [*range, k], s [k] descending and vh [k, *domain]; whether all have converged; the number of products with
        AᴴA or AAᴴ; residuals |AᴴA v - s² v| or |AAᴴ u - s² u|, the largest first as s; and whether Ctrl-C stopped it.

    Raises:
        ShapeError, DTypeError, ArgumentError: what a function gave, or an option, does not fit.
        PlacementError: what a function gave, or a tensor, lives elsewhere.
        ReadOnlyError: a function wrote into the vector that it was given.
        NonFiniteError: what a function gave, or ``x0``, holds NaN or an infinity.

    Source: Golub and Van Loan, Matrix Computations, 4th ed., §10.4.

    >>> found = svds(tr.tensor([[3.0, 0.0], [0.0, 4.0], [0.0, 0.0]]))
    >>> found.s.to_numpy().round(9).tolist()
    [4.0]
    """
    choice("svds", "which", which, ("LM", "SM"))
    if isinstance(a, tr.Tensor) and a.rank % 2:
        raise ShapeError(
            f"svds: the operator has shape {a.shape}; accepted: as many axes of the range as of the domain",
            operation="svds",
        )
    require_operator("svds", a)
    back = adjoint_of("svds", a, adjoint)
    start = start_vector("svds", a, x0, batch_rank, seed)
    k, room = sizes("svds", k, basis, start)
    stop = Stop("svds", tol, maxiter, callback, start.flat.dtype, 0.75)
    forth, turn = _function(a, "the operator", start.batch), _function(back, "adjoint", start.batch)
    order = "LA" if which == "LM" else "SA"
    normal = _Normal(forth, turn, start, k)
    try:
        found = hermitian_pairs("svds", normal, start, k, order, room, multiplets, seed, stop)
    except _SmallerRangeError as met:
        domain, start, turned = start.core, met.start if which == "LM" else _stirred(met.start, seed), True
        normal, room = _Normal(turn, forth, start, k, domain), sizes("svds", k, basis, start)[1]
        found = hermitian_pairs("svds", normal, start, k, order, room, multiplets, seed, stop)
    else:
        turned = False
    apply = LinearMap("svds", turn if turned else forth, start.core, start.batch, normal.target)
    closing = _Closing(found, apply, normal, which == "SM", turned)
    return ended(closing.result, found.interrupted)


class _Closing:
    """What is made of eigenvectors of AᴴA: their images, and what a small decomposition tells of those.

    Images that were made before Ctrl-C are kept, and none are made after it.
    """

    def __init__(
        self, found: EigenSearchResult, apply: LinearMap, normal: _Normal, smallest: bool, turned: bool, /
    ) -> None:
        self._found, self._apply, self._normal, self._smallest, self._turned = found, apply, normal, smallest, turned
        self._images: list[tr.Tensor] = []
        self._begun = False

    def result(self, interrupted: bool, /) -> SingularResult:
        """Of all eigenvectors, or of those whose images were there when Ctrl-C came."""
        found, apply = self._found, self._apply
        count, width = found.eigenvalues.size, prod(apply.batch)
        vectors = found.eigenvectors.reshape((prod(apply.domain), count))  # ascending
        if not self._begun:
            self._begun = True
            for image in apply.images(vectors if self._smallest else vectors[:, ::-1]):
                self._images.append(image)  # those before Ctrl-C are used
        done = min(count, len(self._images) * width)
        kept = slice(0, done) if self._smallest else slice(count - done, count)
        vectors, residuals = vectors[:, kept], found.residuals[kept]
        image = tr.zeros((prod(apply.target), 0), dtype=vectors.dtype, placement=vectors.placement)
        if self._images:
            image = tr.concatenate(self._images, axis=1)[:, :done]
            image = image if self._smallest else image[:, ::-1]
        with finite_images("svds"):
            x, s, wh = svd(image)
        u, vh = (matmul(vectors, mH(wh)), mH(x)) if self._turned else (x, matmul(wh, mH(vectors)))
        codomain, domain = (apply.domain, apply.target) if self._turned else (apply.target, apply.domain)
        return SingularResult(
            owned(u.reshape((*codomain, s.size))),
            s,
            owned(tr.to_contiguous(vh).reshape((s.size, *domain))),
            found.converged and not interrupted,
            found.iterations,
            self._normal.unlifted(tr.copy(residuals[::-1])),
            interrupted,
        )


class _SmallerRangeError(Exception):
    """The map leads to a space smaller than its domain; with the image of the start, where a search there starts."""

    def __init__(self, start: Start) -> None:
        super().__init__()
        self.start = start


def _stirred(start: Start, seed: int) -> Start:
    """A start with as much that is drawn in each vector as it has itself."""
    x = start.flat
    drawn = tr.normal(x.shape, seed=seed, stream=_STREAM, dtype=x.dtype, placement=x.placement)
    lengths = tr.divide(tr.norm(x, axis=0), tr.norm(drawn, axis=0))
    return start._replace(flat=tr.add(x, tr.multiply(drawn, lengths)))


class _Normal:
    """AᴴA, of A times a power of two where its squares would vanish or overflow; not of an A to a smaller space.

    ``target`` is the shape of an image of A, once there was one; of the adjoint of one that was met it is known before.
    """

    def __init__(
        self,
        forth: Callable[[tr.Tensor], tr.Tensor],
        turn: Callable[[tr.Tensor], tr.Tensor],
        start: Start,
        k: int,
        domain: Shape | None = None,
        /,
    ) -> None:
        self._domain = domain
        self._forth, self._turn, self._start, self._k = forth, turn, start, k
        self._lift: tr.Tensor | None = None
        self._into: tr.Tensor | None = None  # what vectors are given times, where images would be subnormal
        self._first_lift: tr.Tensor | None = None
        self._second_lift: tr.Tensor | None = None
        self._looked = False
        self.target: Shape = ()

    def __call__(self, x: tr.Tensor, /) -> tr.Tensor:
        y = self._forth(times(x, self._into))
        if not self._looked:
            self._looked = True
            y = self._look(x, y)
        return times(self._turn(times(y, self._first_lift)), self._second_lift)

    def _look(self, x: tr.Tensor, y: tr.Tensor) -> tr.Tensor:
        """What the first image tells, and that image, which is made again where it has lost digits."""
        batch = self._start.batch
        self.target = y.shape[: y.rank - len(batch)]
        if self._domain is not None and self.target != self._domain:
            raise ShapeError(
                f"svds: adjoint gave {y.dtype} of shape {y.shape} for a tensor of shape {x.shape}; accepted: a "
                f"floating or complex tensor of shape {(*self._domain, *batch)}",
                operation="svds",
            )
        extent = prod(self.target)
        if self._k > extent:
            found = f"k is {self._k}; accepted: 1 to {extent}, the extent of the range"
            if not extent:
                found = f"the range, of shape {self.target}, has no elements, and no vector to find"
                found += "; accepted: extents from 1 on"
            raise ArgumentError(f"svds: {found}", operation="svds")
        self._lift = levelled(y.reshape((y.size,)), x.reshape((x.size,)))
        if self._lift is not None:
            margin = tr.where(self._lift < 1.0, _MARGIN, 1.0)
            self._first_lift, self._second_lift = tr.multiply(self._lift, margin), tr.divide(self._lift, margin)
            into = raising(tr.norm(y.reshape((y.size,))))
            if into > 1.0:  # by what vectors are larger before, images need be less after
                self._into, self._second_lift = into, tr.divide(self._second_lift, into)
                y = self._forth(tr.multiply(x, into))
        if extent < prod(self._start.core):
            whole = self._lift if self._into is None else self._second_lift
            raise _SmallerRangeError(Start(flat(tr.copy(times(y, whole)), self.target, batch), self.target, batch))
        return y

    def unlifted(self, residuals: tr.Tensor, /) -> tr.Tensor:
        """Residuals as those of A itself, which may be beyond the dtype's range."""
        return residuals if self._lift is None else tr.divide(tr.divide(residuals, self._lift), self._lift)


def _function(a: Any, what: str, batch: Shape) -> Callable[[tr.Tensor], tr.Tensor]:
    """The map of tensors that a tensor stands for, or the function itself, with a look at what it gives."""
    if isinstance(a, tr.Tensor):
        if a.dtype not in FLOATING:
            raise DTypeError(f"svds: {what} is {a.dtype}; accepted: C32, C64, F32, F64", operation="svds")
        half = a.rank // 2
        axes = (tuple(range(half, a.rank)), tuple(range(half)))

        def product(x: tr.Tensor) -> tr.Tensor:
            if a.rank % 2 or x.shape != (*a.shape[half:], *batch):
                raise ShapeError(
                    f"svds: {what} has shape {a.shape}, for a vector of shape {x.shape[: x.rank - len(batch)]}; "
                    "accepted: a tensor [*range, *domain] with as many axes on either side",
                    operation="svds",
                )
            return tr.dot_general(a, x, contracting=axes)

        return product

    def checked(x: tr.Tensor) -> tr.Tensor:
        y: Any = called(a, x)
        if not isinstance(y, tr.Tensor) or y.dtype not in FLOATING or y.shape[max(y.rank - len(batch), 0) :] != batch:
            raise wrong_image("svds", what, y, x.shape, f" whose last axes are {batch}" if batch else "")
        require_beside("svds", what, y, x)
        return y

    return checked
