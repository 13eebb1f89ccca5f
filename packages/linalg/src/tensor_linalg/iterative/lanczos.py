"""The thick-restart Lanczos process: a basis, the map's matrix in it, and what is locked.

The first ``locked`` columns of the basis are eigenvectors that were found; the next ``count - locked`` span the space
that is searched, and column ``count`` is the direction in which it grows. The map's matrix between the columns of the
search is kept in full, in its lower triangle: restarts leave an arrow in it, which the next coefficients write.
"""

from __future__ import annotations

from collections.abc import Callable
from math import hypot
from typing import Final, NamedTuple

import tensor_runtime as tr
from tensor_linalg.decompositions.eigh import eigh
from tensor_linalg.host import from_numbers, numbers
from tensor_linalg.iterative.basis import Basis, Changes
from tensor_linalg.iterative.interrupts import taken
from tensor_linalg.iterative.operators import LinearMap, quotient
from tensor_linalg.iterative.refusals import finite_images
from tensor_linalg.iterative.results import Progress, Stop
from tensor_linalg.operands import unit_of

_STEPS: Final = 8
"""Vectors that a search for copies looks at, at least, before it stops."""
_NOISE: Final = 16
"""Rounding units of the largest value of a search below which nothing is known of a residual."""


class _Ritz(NamedTuple):
    """Approximations within the search: values and residuals with the wanted first, and the vectors' coefficients."""

    values: list[float]
    residuals: list[float]
    coefficients: tr.Tensor
    order: list[int]


class Lanczos:
    """One search; see the module.

    Args:
        apply: the map.
        start: flat; drawn if it is zero.
        size: columns at most.
        order: what is smallest for the eigenvalue wanted first.
        stop: when to stop.
        seed: of directions that are drawn where the map gives none.
        each: a pair has converged where its residual is small beside its own value, in place of the largest, as with
            inverses. Pairs that dwarf others are locked, and those searched in what is orthogonal to them.

    >>> stop = Stop("demo", None, 99, None, tr.F64, 0.75)
    >>> a = tr.tensor([[2.0, 1.0], [1.0, 2.0]])
    >>> lanczos = Lanczos(LinearMap("demo", a, (2,), ()), tr.tensor([1.0, 0.0]), 2, lambda w: w, stop, 0)
    >>> lanczos.run(1, False), round(lanczos.pairs(1)[0][0], 12)
    ((True, False), 1.0)
    """

    _width = 1
    """Columns in which the space grows at a time."""

    def __init__(
        self,
        apply: LinearMap,
        start: tr.Tensor,
        size: int,
        order: Callable[[float], float],
        stop: Stop,
        seed: int,
        each: bool = False,
        /,
    ) -> None:
        self.apply, self._each = apply, each
        self._size, self._order, self._stop, self._seed = size, order, stop, seed
        self._locked: list[tuple[float, float]] = []  # values and residuals
        self._count = self._drawn = 0
        self._beta = self._scale = 0.0
        self._found: _Ritz | None = None  # of the search as it is
        self._changes = Changes()
        self._coupled: list[float] = []  # what lengths coefficients of the next images have, as the map is Hermitian
        self._asymmetry = 0.0  # how far they were from that
        self._left = False  # whether the map led out of a space no more
        self._told = False  # whether the last look was asked to be the last
        v = self._begun(start)
        first = apply(v)  # its dtype is that of all vectors
        if apply.raised(first):
            first = apply(v) if apply.products < stop.maxiter else tr.multiply(first, apply.lift)
        dtype = tr.promote(v.dtype, first.dtype)
        self._eps, self._extent = unit_of(dtype), v.shape[0]
        block, image = (tr.convert(one, dtype).reshape((self._extent, self._width)) for one in (v, first))
        room = size + self._width
        if dtype.component is v.dtype.component:
            self._basis = Basis(block[:, 0], room)
            self._basis.set(slice(0, self._width), block)
        else:
            self._basis, image = Basis.begun(block, image, room)
        self._first: tr.Tensor | None = image.reshape(first.shape)
        self._h = tr.zeros((size, size), dtype=dtype, placement=v.placement)
        self._write_h = tr.mutable_view(self._h)

    def _begun(self, start: tr.Tensor) -> tr.Tensor:
        """What the first product is made with."""
        length = tr.norm(start).item()
        return tr.divide(start, length) if length else Basis(start, 1).direction(self._seed, 0, 0)

    def run(self, k: int, multiplets: bool, /) -> tuple[bool, bool]:
        """Search k pairs; whether they have converged, and whether Ctrl-C came."""
        try:
            missing = k
            while (got := self._search(missing, None)) < missing:
                if not got or self._told:
                    return False, False
                self._lock(got)
                missing -= got
                if self.apply.products >= self._stop.maxiter:
                    return False, False
                self._start_anew()
            found = True
            if self._each and self._known(self._ritz(), self._count) < self._count - len(self._locked):
                self._lock(missing)
                missing = 0
            # A space that the map leads out of no more may lack what is wanted as well as copies.
            more = (multiplets or self._left) and self._count < self._extent
            if more:
                self._lock(missing)
            while more:
                if self._told:
                    return False, False
                self._start_anew()
                worst = max(self._order(value) for value, _ in self._locked)
                found = self._search(1, worst) == 1
                # Equal up to this, so that no two of a multiplet take turns.
                margin = self._stop.tol * (abs(worst) if self._each else self._scale)
                if not found or self._order(self._ritz().values[0]) >= worst - margin:
                    break
                self._lock(1)
                self._drop_worst()
        except KeyboardInterrupt:
            self._changes.settle()
            return False, taken(self.apply.products)
        return found, False

    def pairs(self, k: int, /) -> tuple[list[float], list[float], tr.Tensor]:
        """The best k values, their residuals, and vectors [n, k]; fewer where fewer were found."""
        locked = len(self._locked)
        values, residuals = [value for value, _ in self._locked[:k]], [residual for _, residual in self._locked[:k]]
        vectors = self._basis[: min(locked, k)]
        if locked < k and self._count > locked:
            ritz = self._ritz()
            more = min(k - locked, len(ritz.values))
            values, residuals = values + ritz.values[:more], residuals + ritz.residuals[:more]
            vectors = tr.concatenate([vectors, self._vectors(ritz, more)], axis=1)
        lift = self.apply.lift
        return [value / lift for value in values], [residual / lift for residual in residuals], vectors

    def _search(self, k: int, worst: float | None) -> int:
        """Grow the space until k pairs of it have converged, or until none can be better than the worst locked.

        How many have; fewer than k where these dwarf the others, and 0 where the search was stopped.
        """
        steps = 0
        while True:
            if worst is not None and self.apply.products >= self._stop.maxiter:
                return 0
            self._grow()
            steps += 1
            active = self._count - len(self._locked)
            full = self._full()
            left = self._invariant() and self._count < self._extent  # which one more product leaves
            self._left = self._left or left
            last = self.apply.products >= self._stop.maxiter
            if (active < k or ((active % 2 or left) and not full)) and not last:
                continue
            ritz = self._ritz()
            self._scale = max(self._scale, *map(abs, ritz.values))
            known = self._known(ritz, k)
            # Of an eigenvalue with nearly as many vectors as there are a first block holds some, and lacks others.
            few = active < k or (left and not full) or steps == 1
            found = (known < k or not few) and self._small(ritz, k, known)
            self._told = self._asked(ritz, k)
            if found or self._count == self._extent:
                return known
            seen = steps * self._width >= _STEPS  # else a start may hide what it has little of
            if worst is not None and seen and ritz.residuals[0] <= 0.05 * (self._order(ritz.values[0]) - worst):
                return 1
            if self._told:
                return 0
            if full:
                self._restart(ritz, k)

    def _known(self, ritz: _Ritz, k: int) -> int:
        """How many of the first k are not so small beside the largest that its rounding hides them.

        An inverse beside a multiple eigenvalue is not Hermitian among its vectors, as each solution rounds: values as
        small as what its adjoint lacks may be of other vectors.
        """
        if not self._each:
            return k
        sizes = [abs(value) for value in ritz.values]
        noise = max(sizes) * min(_NOISE * self._eps / self._stop.tol, 0.1) if self._stop.tol else max(sizes) * 0.1
        noise = max(noise, min(self._asymmetry, max(sizes)))
        return next((position for position, size in enumerate(sizes[:k]) if size < noise), k)

    def _small(self, ritz: _Ritz, k: int, known: int) -> bool:
        """Whether the known of the first k have residuals that are small enough."""
        tol = self._stop.tol
        if known < k:  # what is left of these in the others, squared and times their size, is to be small there
            tol = max((tol * self._eps) ** 0.5, self._eps)
        bounds = [tol * (abs(value) if self._each else self._scale) for value in ritz.values[:known]]
        return all(residual <= bound for residual, bound in zip(ritz.residuals, bounds, strict=False))

    def _full(self) -> bool:
        """Whether there is no room to grow."""
        return self._count == self._size

    def _invariant(self) -> bool:
        """Whether the map leads out of the space at most where nobody has looked."""
        return self._beta == 0

    def _start_anew(self) -> None:
        """Go on from a drawn direction."""
        self._basis.set(self._count, self._direction(self._count))

    def _asked(self, ritz: _Ritz, k: int) -> bool:
        def progress() -> Progress:
            lift = self.apply.lift
            values = [value / lift for value in ([value for value, _ in self._locked] + ritz.values[:k])]
            residuals = [one / lift for one in ([residual for _, residual in self._locked] + ritz.residuals[:k])]
            component = self._h.dtype.component
            return Progress(
                self.apply.products,
                from_numbers(residuals, self._h, component),
                from_numbers(values, self._h, component),
            )

        return self._stop.asked(self.apply.products, progress)

    def _grow(self) -> None:
        """One product, and a new direction."""
        j = self._count
        w = self.apply(self._basis[j]) if self._first is None else self._first
        self._first = None
        rest, h = self._basis.orthogonalized(w, j + 1)
        beta, whole = float(tr.norm(rest)), float(tr.norm(w))
        invariant = beta <= 10 * self._eps * max(whole, self._scale)
        if j + 1 < self._extent:
            if invariant:
                following = self._direction(j + 1)
            else:
                following = quotient(rest, beta)
                if beta < self._eps**0.5 * whole:  # what rounding left of other directions has grown by the division
                    following = self._basis.orthonormal(following, j + 1)
            self._basis.set(j + 1, following)
        start = len(self._locked)
        active = h[start:] if start else h
        self._write_h[j, start : j + 1] = tr.conj(active) if active.dtype.kind == "complex" else active
        self._beta, self._count, self._found = 0.0 if invariant else beta, j + 1, None
        if self._each:
            self._compare(active.reshape((j + 1 - start, 1)), [self._beta])

    def _compare(self, h: tr.Tensor, following: list[float]) -> None:
        """See how Hermitian coefficients [active, p] of new images are; of the next ones these lengths are known."""
        before, rows = len(self._coupled), list[list[complex]](numbers(h))  # few: tensors would take ten times as long
        corner = rows[before:]
        differences = [hypot(*map(abs, row)) - length for row, length in zip(rows, self._coupled, strict=False)]
        differences += [
            abs(x - y.conjugate())
            for row, column in zip(corner, zip(*corner, strict=True), strict=True)
            for x, y in zip(row, column, strict=True)
        ]
        self._asymmetry = hypot(self._asymmetry, *differences)
        self._coupled = [0.0] * before + following

    def _ritz(self) -> _Ritz:
        if self._found is not None:
            return self._found
        start = len(self._locked)
        with finite_images(self.apply.operation, self.apply.name):
            values, coefficients = eigh(self._h[start : self._count, start : self._count])
        found: list[float] = numbers(values)
        residuals = self._residuals(coefficients)
        order = sorted(range(len(found)), key=lambda position: self._order(found[position]))
        self._found = _Ritz([found[k] for k in order], [residuals[k] for k in order], coefficients, order)
        return self._found

    def _residuals(self, coefficients: tr.Tensor) -> list[float]:
        last: list[float] = numbers(tr.abs(coefficients[-1]))
        return [self._beta * one for one in last]

    def _vectors(self, ritz: _Ritz, count: int) -> tr.Tensor:
        columns = [ritz.coefficients[:, position] for position in ritz.order[:count]]
        return self._basis.combined(tr.stack(columns, axis=1), len(self._locked))

    def _restart(self, ritz: _Ritz, k: int) -> None:
        """Keep what is wanted and half of the rest; the directions of growth stay, and others are drawn beside few."""
        locked = len(self._locked)
        width = min(self._width, self._extent - self._count)
        keep = min(k + (self._size - locked - k) // 2, self._size - locked - self._width)
        growth = tr.copy(self._basis[self._count : self._count + width])
        vectors = self._vectors(ritz, keep)
        one = tr.eye(keep, dtype=self._h.dtype, placement=self._h.placement)
        kept = _Ritz(ritz.values[:keep], ritz.residuals[:keep], one, list(range(keep)))

        def change() -> None:
            grown = locked + keep + width
            self._basis.set(slice(locked, locked + keep), vectors)
            self._basis.set(slice(locked + keep, grown), growth)
            for column in range(grown, locked + keep + self._width):  # blocks have one width
                self._basis.set(column, self._direction(column))
            self._rewrite(kept.values)
            self._found, self._coupled = kept, kept.residuals

        self._changes.make(change)

    def _lock(self, k: int) -> None:
        """Lock the k best of the search, and forget the others."""
        if not k:
            return
        ritz, start = self._ritz(), len(self._locked)
        k = min(k, len(ritz.values))
        vectors = self._vectors(ritz, k)
        # Where values dwarf others, so may rounding in the map's matrix: one product each takes it off the vectors.
        again = self._known(ritz, len(ritz.values)) < len(ritz.values)
        if again and self.apply.products + -(-k // self._width) <= self._stop.maxiter:
            vectors = tr.concatenate([*self.apply.images(vectors)], axis=1)
        locked = [*self._locked, *zip(ritz.values[:k], ritz.residuals[:k], strict=True)]

        def change() -> None:
            if again:
                self._basis.extended(vectors, start, k, 0.0, self._direction)
            else:
                self._basis.set(slice(start, start + k), vectors)
            self._locked = locked
            if self._each:
                self._scale = self._asymmetry = 0.0  # of what is orthogonal to those
            self._rewrite([])

        self._changes.make(change)

    def _drop_worst(self) -> None:
        """Give up the locked pair that is wanted least."""
        worst = max(range(len(self._locked)), key=lambda position: self._order(self._locked[position][0]))
        *locked, last = self._locked
        vector = tr.copy(self._basis[len(locked)])
        if worst < len(locked):
            locked[worst] = last

        def change() -> None:
            self._basis.set(worst, vector)
            self._locked = locked
            self._rewrite([])

        self._changes.make(change)

    def _rewrite(self, values: list[float]) -> None:
        """The matrix of a search that has only these approximations."""
        self._write_h[...] = 0.0
        locked = len(self._locked)
        for position, value in enumerate(values, locked):
            self._write_h[position, position] = value
        self._count, self._found, self._coupled = locked + len(values), None, []

    def _direction(self, count: int) -> tr.Tensor:
        """A drawn direction that is orthogonal to the first columns."""
        self._drawn += 1
        return self._basis.direction(self._seed, self._drawn, count)
