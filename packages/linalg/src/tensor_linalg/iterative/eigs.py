"""Some eigenvalues of any square maps, by the restarted Arnoldi process."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any, Final

import tensor_runtime as tr
from tensor_linalg.decompositions import eig, qr
from tensor_linalg.host import from_numbers, numbers
from tensor_linalg.iterative.basis import Basis, Changes
from tensor_linalg.iterative.eigsh import sizes, start_vector
from tensor_linalg.iterative.interrupts import ended, taken
from tensor_linalg.iterative.operators import LinearMap, Operator, padded, quotient
from tensor_linalg.iterative.refusals import finite_images
from tensor_linalg.iterative.results import Callback, EigenSearchResult, Progress, Stop
from tensor_linalg.operands import unit_of
from tensor_linalg.products import matmul, mH
from tensor_runtime.dispatch.arguments import choice
from tensor_runtime.tensors.tensor import owned

_LOOKS: Final = 4
"""Columns by which the space grows, at least, between looks at what it holds."""
_INTERIOR: Final = 64
"""Vectors that are kept for eigenvalues among others, of which a space holds images long before it holds them."""
_ORDERS: Final[dict[str, Callable[[complex], tuple[float, float]]]] = {
    "LM": lambda z: (-abs(z), -z.imag),
    "SM": lambda z: (abs(z), -z.imag),
    "LR": lambda z: (-z.real, -z.imag),
    "SR": lambda z: (z.real, -z.imag),
    "LI": lambda z: (-z.imag, -z.real),
    "SI": lambda z: (z.imag, -z.real),
}
"""What is smallest for the eigenvalue wanted first."""


def eigs(
    a: Operator,
    /,
    x0: tr.Tensor | None = None,
    *,
    k: int = 1,
    which: str = "LM",
    tol: float | None = None,
    maxiter: int = 3000,
    basis: int | None = None,
    batch_rank: int = 0,
    seed: int = 0,
    callback: Callback | None = None,
) -> EigenSearchResult:
    """Some eigenvalues and right eigenvectors of any square map that is known by its products.

    The Arnoldi process in a basis of fixed size: when it is full, the span of the best approximations stays, and the
    rest begins anew. It is real as long as start and images are, and keeps both of a conjugate pair then.

    Args:
        a: a function from a tensor of the shape of ``x0``, whatever its rank, to one of that shape, or a tensor
            [*shape, *shape]. A function is given real tensors from a real start, and complex ones from a complex
            start or once it has given one.
        x0: where to start; it also says shape and place of vectors. Beside a matrix it may be left out. Where the map
            leads out of its space no more, another start is drawn.
        k: how many eigenpairs.
        which: "LM" and "SM" for the largest and smallest magnitude, "LR" and "SR" for real parts, "LI" and "SI" for
            imaginary parts (not their magnitudes).
        tol: stop when every residual |A x - w x| is at most ``tol`` times the largest eigenvalue seen; None for the
            rounding unit to the power 3/4.
        maxiter: products with A at most, of which one with a block counts as one.
        basis: vectors that are kept, each as large as one of ``x0``; None for max(20, 2 k + 4), with "SM" for
            max(64, 2 k + 4), and of blocks of p vectors for 8 p more. With few beyond k, what converges may be other
            eigenvalues than those wanted, as with any restarted method, and with "SM" often is where they lie among
            others: of a basis that holds the whole space it is not, which is then made in as many products as the
            space has dimensions. Of a larger one, 1 / w for the largest w of the inverse is sure and soon found, as by
            ``eigs(lambda x: lu_solve(factors, x), x0)``.
        batch_rank: as for ``eigsh``; of an eigenvalue with several eigenvectors as many are found as a block has.
        seed: of starts that are drawn.
        callback: called with ``Progress`` whenever residuals are looked at, also the last time; True stops.

    Returns:
        As ``eigsh``, with complex eigenvalues [k], the wanted first, and eigenvectors [*shape, k] of norm 1 that are
        not orthogonal in general. Of an eigenvalue with several eigenvectors one is found, but for blocks.

    Raises:
        ShapeError, DTypeError, ArgumentError: what the function gave, or an option, does not fit.
        PlacementError: what the function gave, or a tensor, lives elsewhere.
        ReadOnlyError: the function wrote into the vector that it was given.
        NonFiniteError: what the function gave, or ``x0``, holds NaN or an infinity.
        NotConvergedError: LAPACK's iteration failed for the small matrix.

    Source: G. W. Stewart, SIAM J. Matrix Anal. Appl. 23, 601 (2002): the restart, here on a basis of the wanted
    eigenvectors in place of ordered Schur vectors.

    >>> found = eigs(tr.tensor([[0.0, -2.0], [2.0, 0.0]]), k=2)
    >>> found.eigenvalues.to_numpy().imag.round(9).tolist()
    [2.0, -2.0]
    """
    start = start_vector("eigs", a, x0, batch_rank, seed)
    choice("eigs", "which", which, tuple(_ORDERS))
    k, room = sizes("eigs", k, basis, start, _INTERIOR if which == "SM" else 20)
    apply = LinearMap("eigs", a, start.core, start.batch)
    stop = Stop("eigs", tol, maxiter, callback, start.flat.dtype, 0.75)
    process = _BlockArnoldi if start.batch else _Arnoldi
    first = start.flat
    if which in ("LI", "SI") and room < 2 * k + 2 * max(1, prod(start.batch)):  # no room for the conjugates
        first = tr.convert(first, tr.promote(first.dtype, tr.C32))
    arnoldi = process(apply, first, room, _ORDERS[which], stop, seed)
    converged = interrupted = False
    try:
        converged = arnoldi.search(k)
    except KeyboardInterrupt:
        interrupted = taken(apply.products)
        arnoldi.settle()

    def result(interrupted: bool) -> EigenSearchResult:
        values, residuals, vectors = arnoldi.pairs(k)
        return EigenSearchResult(
            from_numbers(values, vectors, vectors.dtype),
            owned(vectors.reshape((*start.core, len(values)))),
            converged and not interrupted,
            apply.products,
            from_numbers(residuals, vectors, vectors.dtype.component),
            interrupted,
        )

    return ended(result, interrupted)


class _Ritz:
    """Approximations with the wanted first: values, residuals, and the vectors' coefficients, of norm 1."""

    def __init__(self, h: tr.Tensor, growth: tr.Tensor, order: Callable[[complex], Any]) -> None:
        with finite_images("eigs"):
            values, vectors = eig(h)
        if growth.shape[0] == 1:
            last = tr.abs(tr.dot_general(growth[0], vectors, contracting=((0,), (0,))))
        else:
            last = tr.norm(tr.dot_general(growth, vectors, contracting=((1,), (0,))), axis=0)
        found, lengths = numbers(values), numbers(last)
        self.order = sorted(range(len(found)), key=lambda position: order(found[position]))
        self.values: list[complex] = [found[position] for position in self.order]
        self.residuals: list[float] = [lengths[position] for position in self.order]
        self._vectors, self._real = vectors, h.dtype.kind != "complex"

    def span(self, count: int, room: int) -> tr.Tensor:
        """Vectors with the span of so many, of the dtype of the matrix: of a real one of a few more, for conjugates."""
        if not self._real:
            return self.coefficients(count)
        columns: list[tr.Tensor] = []
        taken: set[int] = set()
        real, imaginary = tr.real(self._vectors), tr.imag(self._vectors)
        for position, value in zip(self.order, self.values, strict=True):
            if len(columns) >= count:
                break
            if position in taken or len(columns) + (value.imag != 0) >= room:
                continue
            columns.append(real[:, position])
            if value.imag:
                columns.append(imaginary[:, position])
                taken.add(position + (1 if value.imag > 0 else -1))  # LAPACK's order of pairs
        return tr.stack(columns, axis=1)

    def coefficients(self, count: int) -> tr.Tensor:
        """Of the first so many."""
        return tr.stack([self._vectors[:, position] for position in self.order[:count]], axis=1)


class _Arnoldi:
    """A V = V H + W G: a basis V, its matrix H, the next block W, and the rows G that say how A leaves the span.

    A block is one vector here, flat [n] for the map, and several [n, p] below, as of ``BlockLanczos``.
    """

    def __init__(
        self, apply: LinearMap, start: tr.Tensor, size: int, order: Callable[[complex], Any], stop: Stop, seed: int
    ) -> None:
        self._apply, self._size, self._order, self._stop, self._seed = apply, size, order, stop, seed
        self._whole = order is _ORDERS["SM"] and size == prod(apply.domain)  # all of the space is to be looked at
        given = start.dtype
        block = start if apply.batch else tr.expand_dims(start, 1)
        self._extent, self._width = block.shape
        self._drawn, self._count, self._scale = 0, 0, 0.0
        self._changes = Changes()
        self._basis = Basis(block[:, 0], size + self._width)
        self._basis.extended(block, 0, self._width, 0.0, self._direction)
        first = self._image(0)
        if apply.raised(first):
            first = self._image(0) if apply.products < stop.maxiter else tr.multiply(first, apply.lift)
        dtype = tr.promote(first.dtype, given)  # that of all vectors
        first = tr.convert(first, dtype)
        if dtype is not given:
            block = tr.convert(self._basis[: self._width], dtype)
            self._basis, first = Basis.begun(block, first, size + self._width)
        self._first: tr.Tensor | None = first
        self._eps = unit_of(dtype)
        self._h = tr.zeros((size, size), dtype=dtype, placement=start.placement)
        self._write_h = tr.mutable_view(self._h)
        self._growth = tr.zeros((self._width, 0), dtype=dtype, placement=start.placement)  # of columns in use

    def search(self, k: int) -> bool:
        """Grow the space until k pairs of it have converged."""
        steps, drawn = 0, False
        while True:
            invariant = self._grow()
            steps += 1
            full = self._count == self._size or self._size < min(self._extent, self._count + self._width)
            left = invariant and self._count < self._extent  # an invariant space, which one more product leaves
            last = self._apply.products >= self._stop.maxiter
            if (
                left and not drawn and not last and not self._whole
            ):  # the start may have lain where nothing that is wanted does
                self._begin_anew()
                steps, drawn = 0, True
                continue
            between = self._count % _LOOKS != 0 or left or self._whole
            if (self._count < k or (between and not full)) and not last:
                continue
            ritz = self._ritz()
            self._scale = max(self._scale, *map(abs, ritz.values))
            bound = self._stop.tol * self._scale
            # Of an eigenvalue with nearly as many vectors as there are a first block holds some, and lacks others.
            few = self._count < k or (left and not full) or steps == 1
            found = not few and all(residual <= bound for residual in ritz.residuals[:k])
            told = self._asked(ritz, k)
            if found or self._count == self._extent:
                return True
            if told:
                return False
            if full:
                self._restart(ritz, k)

    def settle(self) -> None:
        """What is to be done where Ctrl-C came, before pairs are looked at."""
        self._changes.settle()

    def _asked(self, ritz: _Ritz, k: int) -> bool:
        def progress() -> Progress:
            values, residuals = self._lowered(ritz.values[:k]), self._lowered(ritz.residuals[:k])
            told = from_numbers(residuals, self._h, self._h.dtype.component)
            return Progress(
                self._apply.products, told, from_numbers(values, self._h, tr.promote(self._h.dtype, tr.C32))
            )

        return self._stop.asked(self._apply.products, progress)

    def pairs(self, k: int) -> tuple[list[complex], list[float], tr.Tensor]:
        """The best k values, their residuals, and vectors [n, k]."""
        if not self._count:
            return [], [], tr.convert(self._basis[:0], tr.promote(self._h.dtype, tr.C32))
        ritz = self._ritz()
        count = min(k, self._count)
        vectors = self._basis.combined(ritz.coefficients(count))
        return self._lowered(ritz.values[:count]), self._lowered(ritz.residuals[:count]), vectors

    def _lowered(self, values: list[Any]) -> list[Any]:
        """As those of the caller's map."""
        return [value / self._apply.lift for value in values]

    def _ritz(self) -> _Ritz:
        return _Ritz(self._h[: self._count, : self._count], self._growth, self._order)

    def _grow(self) -> bool:
        """One product and a new direction; whether the space is invariant."""
        j, w = self._count, self._next()[:, 0]
        rest, h = self._basis.orthogonalized(w, j + 1)
        beta, whole_length = float(tr.norm(rest)), float(tr.norm(w))
        invariant = beta <= 10 * self._eps * max(whole_length, self._scale)
        if j + 1 < self._extent:
            if invariant:
                following = self._direction(j + 1)
            else:
                following = quotient(rest, beta)
                if beta < self._eps**0.5 * whole_length:  # what rounding left has grown by the division
                    following = self._basis.orthonormal(following, j + 1)
            self._basis.set(j + 1, following)
        self._write_h[j, :j] = self._growth[0]  # what led out of the span leads to its new column
        self._write_h[: j + 1, j] = h
        growth = tr.zeros((1, j + 1), dtype=self._h.dtype, placement=self._h.placement)
        tr.mutable_view(growth)[0, j] = 0.0 if invariant else beta
        self._growth, self._count = growth, j + 1
        return invariant

    def _begin_anew(self) -> None:
        """Forget the space, and start from drawn directions."""

        def change() -> None:
            self._growth, self._count = self._growth[:, :0], 0
            for column in range(min(self._width, self._extent)):
                self._basis.set(column, self._direction(column))
            self._write_h[...] = 0.0

        self._changes.make(change)

    def _image(self, start: int) -> tr.Tensor:
        """What the map makes of the block that begins with this column."""
        if self._apply.batch:
            stop = min(start + self._width, self._extent)
            return self._apply(padded(self._basis[start:stop], self._width))[:, : stop - start]
        return tr.expand_dims(self._apply(self._basis[start]), 1)

    def _next(self) -> tr.Tensor:
        """The image of the block behind the columns in use."""
        if self._first is not None:
            image, self._first = self._first, None
            return image
        image = self._image(self._count)
        if image.dtype.kind == "complex" and self._h.dtype.kind != "complex":
            self._leave_reals()
        return image

    def _leave_reals(self) -> None:
        """Go on in complex arithmetic, after the first images were real."""
        dtype = tr.promote(self._h.dtype, tr.C32)
        used = tr.convert(self._basis[:], dtype)
        basis = Basis(used[:, 0], used.shape[1])
        basis.set(slice(0, used.shape[1]), used)
        h, growth = tr.convert(self._h, dtype), tr.convert(self._growth, dtype)

        def change() -> None:
            self._basis, self._h, self._growth = basis, h, growth
            self._write_h = tr.mutable_view(h)

        self._changes.make(change)

    def _kept(self, ritz: _Ritz, k: int) -> int:
        """What is wanted, for every two that have converged one more, which filters in their place, half of the rest.

        As ARPACK does, so that what is left to be found is not filtered ever less.
        """
        bound = self._stop.tol * self._scale
        found = sum(residual <= bound for residual in ritz.residuals[:k])
        more = k + min(found // 2, (self._size - k) // 4)
        return more + (self._size - more) // 2

    def _restart(self, ritz: _Ritz, k: int) -> None:
        """Keep the span of what is wanted and of half of the rest; growth stays, filled up with drawn directions."""
        width = min(self._width, self._extent - self._count)
        room = self._size - self._width
        turn = qr(ritz.span(min(self._kept(ritz, k), room), room)).q
        keep = turn.shape[1]
        used = slice(0, self._count)
        small = matmul(mH(turn), matmul(self._h[used, used], turn))
        growth = tr.dot_general(self._growth, turn, contracting=((1,), (0,)))
        block = tr.copy(self._basis[self._count : self._count + width])
        vectors = self._basis.combined(turn)

        def change() -> None:
            self._basis.set(slice(0, keep), vectors)
            self._basis.set(slice(keep, keep + width), block)
            for column in range(keep + width, keep + self._width):  # blocks have one width
                self._basis.set(column, self._direction(column))
            self._write_h[...] = 0.0
            self._write_h[:keep, :keep] = small
            self._growth, self._count = growth, keep

        self._changes.make(change)

    def _direction(self, count: int) -> tr.Tensor:
        self._drawn += 1
        return self._basis.direction(self._seed, self._drawn, count)


class _BlockArnoldi(_Arnoldi):
    """The same for blocks of several vectors."""

    def _grow(self) -> bool:
        """One product and a new block; whether some of its directions are drawn."""
        j = self._count
        stop = min(j + self._width, self._extent)
        w = self._next()
        inside, outside, drawn = self._basis.extended(w, stop, self._width, self._scale, self._direction)
        self._write_h[j:stop, :j] = self._growth[: stop - j]  # what led out of the span leads to its new columns
        self._write_h[:stop, j:stop] = inside
        rows = outside + [[0.0] * (stop - j)] * (self._width - len(outside))
        leading = from_numbers(rows, self._h, self._h.dtype)
        nothing = tr.zeros((self._width, j), dtype=leading.dtype, placement=leading.placement)
        self._growth, self._count = tr.concatenate([nothing, leading], axis=1), stop
        return drawn > 0
