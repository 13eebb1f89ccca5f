"""The exponential of a map times vectors, in Krylov spaces."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil, inf, isfinite, log2, sqrt
from typing import Any, NamedTuple

import tensor_runtime as tr
from tensor_core.errors import ArgumentError
from tensor_linalg.decompositions.eigh import eigh
from tensor_linalg.iterative.basis import Basis
from tensor_linalg.iterative.interrupts import taken
from tensor_linalg.iterative.operators import LinearMap, Operator, directions, flat, parted
from tensor_linalg.iterative.refusals import finite_images
from tensor_linalg.iterative.results import Callback, Stop
from tensor_linalg.operands import number, plain, require_finite, unit_of
from tensor_linalg.products import matmul, matvec, mH
from tensor_linalg.results import fields_html, fields_text
from tensor_runtime.dispatch.arguments import flag, whole
from tensor_runtime.errors import NonFiniteError
from tensor_runtime.tensors.tensor import owned

_LOOK = 3
"""The error is estimated whenever so many vectors have come."""
_GRID = 2.0**-52
"""Parts are multiples of it, so that thousands of them add up to all the time without rounding."""
_NEARLY = 1.2
"""Ratio of a part that is too long to one that is not, below which no longer one is sought."""
_LONGEST_GROWTH = 2.0
"""A part is at most so many times as long as the one before it, whose estimate is known."""
_ROUNDED = 4.0
"""Rounding units of t A by which a part may miss: the exponential of a rounded map is no nearer."""
_LONG = 2.0**-6
"""Share that a part may miss by rounding units, above which oscillations must not hide what it leaves out."""
_UNSURE = 0.5
"""Share of their norm by which the exponentials of a map and of a rounded one differ where no digit is sure."""
_ROUNDINGS = 3
"""Rounded maps beside one; fewer are as near as it by chance."""
_LEAST = 2.0**-100
"""Size of a z for which φ₁(z) is 1 to any rounding, and above which quotients of complex numbers do not overflow."""
_FEW = 1.25
"""What the largest of their distances may fall short of how far it is off."""
_TAYLOR_DEGREE = 16
"""Of a matrix of norm at most 1/2, what is left out is below 2⁻¹⁷ / 17! or 2e-20."""


class ExponentialResult(NamedTuple):
    """exp(t A) v, or where it was stopped, exp(reached t A) v."""

    x: tr.Tensor
    converged: bool
    iterations: int
    errors: tr.Tensor
    reached: float
    interrupted: bool

    def __repr__(self) -> str:
        return fields_text(self)

    def _repr_html_(self) -> str:
        return fields_html(self)


def expm_multiply(
    a: Operator,
    v: tr.Tensor,
    /,
    t: complex = 1.0,
    *,
    hermitian: bool = False,
    tol: float | None = None,
    maxiter: int = 3000,
    basis: int = 30,
    batch_rank: int = 0,
    callback: Callback | None = None,
) -> ExponentialResult:
    """exp(t A) v for an A that is known by its products, in Krylov spaces with an estimate of the error.

    A space grows until the estimate is small enough; when it is full, only a part of the time is gone through, as
    large as the estimate allows, and the next space starts there. Of Hermitian maps the small exponentials are made of
    eigenvalues, so that with an imaginary ``t`` the norm is kept to rounding.

    Args:
        a: a function from a tensor of the shape of ``v`` to one of that shape, or a tensor [*shape, *shape].
        v: any shape, of which the last ``batch_rank`` axes count independent vectors.
        t: a number, complex where it is a time of quantum mechanics: -1j * time.
        hermitian: whether A is; of a map that is not, the result is then wrong.
        tol: what all parts lose adds up to at most ``tol`` times a norm, of each part the larger of those
            before and after it; None for the dtype's rounding unit to the power 3/4. Less than what rounding of t A
            does, some units times |t| |A|, means that.
        maxiter: products with A at most.
        basis: vectors that are kept, each as large as ``v``.
        batch_rank: see ``v``.
        callback: called with ``Progress`` (residuals: the errors so far) after each space, also the last; True stops.

    Returns:
        x as ``v``, complex where ``v``, A or ``t`` is; whether all the time was gone through, with errors that exceed
        the norms of v and x nowhere; the number of products; the estimated errors [B...], in which a part of the time
        counts with what it loses, and with a rounding unit of t A times the square of the norm of exp(t A / 2), large
        where A is far from normal, or more where rounded maps show more, infinite where they show that no digit is
        sure (they do not count that what is lost early grows where solutions grow); which share of ``t`` was reached;
        and whether Ctrl-C stopped it.

    Raises:
        PlacementError, ReadOnlyError: as for ``cg``.
        ShapeError, DTypeError, ArgumentError: what the function gave, or an option, does not fit; t A is so large that
            no part of the time is short enough, or so far from normal that rounding leads beyond the dtype's range.
        NonFiniteError: what the function gave holds NaN or an infinity, or the result is beyond the dtype's range.

    Source: R. B. Sidje, ACM Trans. Math. Softw. 24, 130 (1998); Y. Saad, SIAM J. Numer. Anal. 29, 209 (1992).

    >>> a = tr.tensor([[0.0, 1.0], [-1.0, 0.0]])  # turns by t
    >>> expm_multiply(a, tr.tensor([1.0, 0.0]), 0.5).x.to_numpy().round(9).tolist()
    [0.877582562, -0.479425539]
    """
    core, batch = parted("expm_multiply", a, v, batch_rank, "v")
    apply = LinearMap("expm_multiply", a, core, batch)
    t = _time(t)
    size = whole("expm_multiply", "basis", basis)
    if size < 2:
        raise ArgumentError(f"expm_multiply: basis is {basis}; accepted: at least 2", operation="expm_multiply")
    stop = Stop("expm_multiply", tol, maxiter, callback, v.dtype, 0.75)
    stop.tol = max(stop.tol, unit_of(v.dtype))
    dtype = tr.promote(v.dtype, tr.C32) if isinstance(t, complex) else v.dtype
    x = flat(tr.convert(v, dtype if apply.dtype is None else tr.promote(dtype, apply.dtype)), core, batch)
    length = tr.norm(x, axis=0)
    size = min(size, max(x.shape[0], 1))
    errors, reached, step, interrupted = tr.multiply(length, 0.0), 0.0, 1.0, False
    small: type[_Small] = _HermitianSmall if flag("expm_multiply", "hermitian", hermitian) else _Small
    try:
        while reached < 1 and x.size:
            space = _grown(apply, x, size, small, t, 1 - reached, _LONGEST_GROWTH * step, stop)
            if space is None:  # no part of the time is short enough
                break
            step, lost, x_next = space
            with finite_images("expm_multiply"):
                require_finite("expm_multiply", "x", x_next)
            x, errors, reached = x_next, tr.add(errors, lost), 1.0 if step >= 1 - reached else reached + step
            if stop.reached(apply.products, errors, batch):
                break
    except KeyboardInterrupt:
        interrupted = taken(apply.products)
    done = reached >= 1 or not x.size
    x = tr.convert(x, x.dtype if apply.dtype is None else tr.promote(x.dtype, apply.dtype))
    sure = bool(tr.all(errors <= tr.maximum(length, tr.norm(x, axis=0))))
    return ExponentialResult(
        owned(x.reshape(v.shape)),
        done and sure,
        apply.products,
        owned(errors.reshape(batch)),
        1.0 if done else reached,
        interrupted,
    )


def _time(t: Any) -> float | complex:
    found = plain(t)
    if isinstance(found, complex) and isfinite(found.real) and isfinite(found.imag):
        return found
    return number("expm_multiply", "t", t, "a finite number, real or complex", -inf)


class _Small:
    """exp(t H) e₁ and φ₁(t H) e₁ of small matrices [m, m, C...], with φ₁(z) = (exp(z) - 1) / z, for several t."""

    def __init__(self, h: tr.Tensor, /) -> None:
        self._h = h

    def columns(self, t: complex, /) -> tuple[tr.Tensor, tr.Tensor]:
        """Both of one exponential: that of t H with e₁ as one more column, over a row of zeros."""
        m, _, *columns = self._h.shape
        h = tr.multiply(self._h, t)
        whole_matrix = tr.zeros((m + 1, m + 1, *columns), dtype=h.dtype, placement=h.placement)
        write = tr.mutable_view(whole_matrix)
        write[:m, :m] = h
        write[0, m] = 1.0
        found = _exponential(whole_matrix)
        return found[:m, 0], found[:m, m]

    def rounded(self, t: complex, length: tr.Tensor, /) -> tuple[tr.Tensor, tr.Tensor]:
        """How far exp(t H) of a vector of this length [C...] may be off by rounding, and where no digit of it is sure.

        The larger of |t H| rounding units times |exp(t H / 2)|², and of what becomes of maps that are so far from H.
        What rounding has spoiled may be 0 of them all, and look right; but on the way there they have been apart.
        """
        z = tr.multiply(self._h, t)
        units = tr.multiply(tr.max(tr.sum(tr.abs(z), axis=0), axis=0), unit_of(length.dtype))
        *powers, half = _squares(tr.multiply(_with_rounded(z, units), 0.5))
        whole = matmul(half, half)
        apart, size = _apart(tr.stack([*powers, half, whole], axis=2))
        unsure, missed = tr.any(apart > tr.multiply(size, _UNSURE), axis=0), apart[-1]
        half = tr.abs(half[..., 0])
        columns, rows = (tr.max(tr.sum(half, axis=axis), axis=0) for axis in (0, 1))
        # Factors are multiplied so that nothing but what is beyond the range in the end is on the way.
        off = tr.multiply(tr.multiply(columns, length), tr.multiply(rows, units))
        missed = tr.multiply(tr.where(tr.isfinite(missed), missed, 0.0), length)
        return tr.where(unsure, inf, tr.maximum(off, tr.multiply(missed, _FEW))), unsure


class _HermitianSmall(_Small):
    """The same by eigenvalues, which are found once."""

    def __init__(self, h: tr.Tensor, /) -> None:
        with finite_images("expm_multiply"):  # coefficients stand in the upper triangle, the lower is read
            self._values, self._vectors = eigh(mH(h))
        self._first = tr.conj(self._vectors[0])

    def columns(self, t: complex, /) -> tuple[tr.Tensor, tr.Tensor]:
        """As above."""
        z = tr.multiply(self._values, t)
        less_one = tr.expm1(z)
        there = tr.abs(z) > _LEAST
        phi = tr.where(there, tr.divide(less_one, tr.where(there, z, 1.0)), 1.0)
        exponential, phi = (tr.multiply(one, self._first) for one in (tr.exp(z), phi))
        return matvec(self._vectors, exponential), matvec(self._vectors, phi)

    def rounded(self, t: complex, length: tr.Tensor, /) -> tuple[tr.Tensor, tr.Tensor]:
        """As above, by what a rounding unit of H may do to its eigenvalues."""
        z, unit = tr.multiply(self._values, t), unit_of(length.dtype)
        units = tr.multiply(tr.max(tr.abs(z), axis=0), unit)
        growth = tr.multiply(tr.max(tr.abs(tr.multiply(self._values, t.real)), axis=0), unit)
        largest = tr.max(tr.abs(tr.exp(tr.add(z, growth))), axis=0)
        return tr.multiply(tr.multiply(largest, length), units), growth > 1.0


def _with_rounded(z: tr.Tensor, units: tr.Tensor) -> tr.Tensor:
    """A matrix [m, m, C...] and some that are about ``units`` [C...] away, [m, m, C..., _ROUNDINGS + 1]."""
    m = z.shape[0]
    drawn = tr.normal((m, m, *(1,) * (z.rank - 2), _ROUNDINGS), seed=0, dtype=z.dtype, placement=z.placement)
    away = tr.multiply(drawn, tr.expand_dims(tr.multiply(units, 1 / sqrt(m)), -1))
    z = tr.expand_dims(z, -1)
    return tr.concatenate([z, tr.add(z, away)], axis=-1)


def _apart(matrices: tr.Tensor) -> tuple[tr.Tensor, tr.Tensor]:
    """How far the first of matrices [m, m, B..., K] is from the others, and the smallest of their norms, [B...]."""
    rows, columns, *rest = matrices.shape
    flattened = matrices.reshape((rows * columns, *rest))
    apart = tr.norm(tr.subtract(flattened[..., 1:], flattened[..., :1]), axis=0)
    return tr.max(apart, axis=-1), tr.min(tr.norm(flattened, axis=0), axis=-1)


def _exponential(a: tr.Tensor) -> tr.Tensor:
    *_, found = _squares(a)
    return found


def _squares(a: tr.Tensor) -> Iterator[tr.Tensor]:
    """A Taylor polynomial of a part of the matrix and its squares, up to the exponential.

    Of the small matrices here this takes half the time of ``expm``.
    """
    largest = float(tr.max(tr.sum(tr.abs(a), axis=0)))
    with finite_images("expm_multiply"):
        if not isfinite(largest):
            raise NonFiniteError
    squarings = max(0, ceil(log2(largest)) + 1) if largest else 0
    scaled = tr.multiply(a, 2.0**-squarings)
    one = tr.eye(a.shape[0], dtype=a.dtype, placement=a.placement).reshape((*a.shape[:2], *(1,) * (a.rank - 2)))
    result = tr.add(one, tr.multiply(scaled, 1 / _TAYLOR_DEGREE))
    for degree in range(_TAYLOR_DEGREE - 1, 0, -1):  # Horner's rule
        result = tr.add(one, tr.multiply(matmul(scaled, result), 1 / degree))
    yield result
    for _ in range(squarings):
        result = matmul(result, result)
        yield result


class _Part(NamedTuple):
    """A part of the time: coefficients of the vectors after it, what they lose, and its ratio to what may be lost."""

    step: float
    coefficients: tr.Tensor
    lost: tr.Tensor
    excess: float


def _part(small: _Small, t: complex, step: float, next_length: tr.Tensor, tol: float) -> _Part:
    """What is lost is about the first vector that the space does not hold, for unit vectors at the start."""
    coefficients, phi = small.columns(t * step)
    scale = tr.multiply(next_length, abs(t) * step)
    rounded = tr.multiply(scale, _ROUNDED * unit_of(scale.dtype))
    mean, last = tr.abs(phi[-1]), tr.abs(coefficients[-1])  # of what leads out of the space, and at the end
    lost = tr.multiply(scale, tr.maximum(mean, tr.where(rounded > _LONG, last, 0.0)))
    most = tr.maximum(rounded, tol * step)
    excess = float(tr.max(tr.divide(lost, tr.multiply(tr.maximum(tr.norm(coefficients, axis=0), 1.0), most))))
    return _Part(step, coefficients, lost, excess if isfinite(excess) else inf)


def _grown(
    apply: LinearMap, x: tr.Tensor, size: int, make: type[_Small], t: complex, left: float, longest: float, stop: Stop
) -> tuple[float, tr.Tensor, tr.Tensor] | None:
    """One space: the share of t it goes through, what is lost, and the vectors there; None where it is too small."""
    length = tr.norm(x, axis=0)
    first = directions(x, length)
    w = apply(first)
    like = tr.add(tr.multiply(w, 0.0), tr.multiply(first, 0.0))
    basis = Basis(like, size + 1)
    basis.set(0, first)
    h = tr.zeros((size + 1, size, *like.shape[1:]), dtype=like.dtype, placement=like.placement)
    write = tr.mutable_view(h)
    scale, count = tr.norm(w, axis=0), 0
    while True:
        rest, coefficients = basis.orthogonalized(w, count + 1)
        beta = tr.norm(rest, axis=0)
        beta = tr.where(beta > tr.multiply(scale, 10 * unit_of(like.dtype)), beta, 0.0)
        write[: count + 1, count] = coefficients
        write[count + 1, count] = beta
        count += 1
        full = count == size or apply.products >= stop.maxiter
        if full or count % _LOOK == 0:
            small = make(h[:count, :count])
            part = _part(small, t, left, beta, stop.tol)
            if part.excess > 1 and full:
                part = _shortened(_part(small, t, min(left, longest), beta, stop.tol), small, t, beta, stop.tol, count)
            if part.excess <= 1:
                whole = float(tr.max(beta)) == 0.0
                part, rounded, unsure = _resolved(part, small, t, length, beta, stop.tol, full and not whole)
                if whole or not tr.any(unsure):
                    found = basis.combined(tr.multiply(part.coefficients, length))
                    _require_sure(abs(t) * float(tr.max(scale)), unsure, found)
                    return part.step, tr.add(tr.multiply(part.lost, length), rounded), found
            if full:
                _require_resolved(abs(t) * float(tr.max(scale)), unit_of(like.dtype))
                return None
        basis.set(count, directions(rest, beta))
        w = apply(basis[count])
        scale = tr.maximum(scale, tr.norm(w, axis=0))


def _require_resolved(size: float, unit: float) -> None:
    """Raise where a rounding unit of t A is long, by a norm that it has at least."""
    if size * unit > 1:
        raise ArgumentError(
            f"expm_multiply: t times the operator has a norm of {size:.3g} or more, of which no digit of the "
            f"exponential is sure; accepted: at most {1 / unit:.3g}",
            operation="expm_multiply",
        )


def _require_sure(size: float, unsure: tr.Tensor, x: tr.Tensor) -> None:
    """Raise where what rounding made is beyond the range, which the exponential need not be."""
    if tr.any(unsure) and not tr.all(tr.isfinite(x)):
        raise ArgumentError(
            f"expm_multiply: t times the operator has a norm of {size:.3g} or more and is so far from normal that no "
            "digit of the exponential is sure; accepted: a shorter time, or a similar map that is nearer to normal",
            operation="expm_multiply",
        )


def _resolved(
    part: _Part, small: _Small, t: complex, length: tr.Tensor, next_length: tr.Tensor, tol: float, shorten: bool
) -> tuple[_Part, tr.Tensor, tr.Tensor]:
    """A part, how far rounding puts it off, and where no digit is sure; on request shortened where that is so.

    How far off the end is then is not known, as what a shorter part loses grows in those after it.
    """
    rounded, spoiled = small.rounded(t * part.step, length)
    unsure = spoiled
    if not shorten or not tr.any(unsure):
        return part, rounded, unsure
    while part.step > _GRID and tr.any(unsure):
        part = _part(small, t, _whole_steps(part.step / 8), next_length, tol)
        rounded, unsure = small.rounded(t * part.step, length)
    return part, tr.where(spoiled, inf, rounded), unsure


def _shortened(part: _Part, small: _Small, t: complex, next_length: tr.Tensor, tol: float, count: int) -> _Part:
    """A part so short that it loses no more than it may, and hardly shorter.

    An error goes with the power ``count`` of the step where that is short; long ones are halved at least. Where no part
    is short enough, as the operator is beyond the dtype's range, the last that was tried.
    """
    too_long = part.step
    while part.excess > 1 and part.step > _GRID:
        too_long = part.step
        step = too_long * max(0.1, min(0.5, part.excess ** (-1 / (count + 1))))
        part = _part(small, t, _whole_steps(step), next_length, tol)
    while part.excess <= 1 and too_long > _NEARLY * part.step + _GRID:
        between = _part(small, t, _whole_steps(sqrt(too_long * part.step)), next_length, tol)
        if between.excess <= 1:
            part = between
        else:
            too_long = between.step
    return part


def _whole_steps(step: float) -> float:
    return ceil(step / _GRID) * _GRID
