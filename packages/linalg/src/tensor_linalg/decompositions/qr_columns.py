"""QR decompositions that look at columns one by one: pivoted, and extended by new columns."""

from __future__ import annotations

from typing import Any, Final, Generic, Literal, NamedTuple, TypeVar, overload

from tensor_core.dtypes import F64, I64, TensorScalar
from tensor_core.errors import DTypeError, ShapeError
from tensor_linalg.composed import floating_form, matrices
from tensor_linalg.decompositions.gauges import root_of_power, with_positive_diagonal
from tensor_linalg.decompositions.qr import QRResult, qr
from tensor_linalg.masking import Check, MaskedResult, asks_for_mask, checks, masked_result, screened_result
from tensor_linalg.operands import require_finite, require_together, some, unit_of
from tensor_linalg.products import matmul, mT, vecdot
from tensor_linalg.results import FactorT, fields_html, fields_text
from tensor_linalg.specs.decompositions import QR_PIVOTED
from tensor_linalg.targets import delivered
from tensor_linalg.tolerances import relative_tolerance, tolerances
from tensor_runtime.dispatch.call import execute_parts
from tensor_runtime.dispatch.conversion import cast, convert
from tensor_runtime.ops.arithmetic import abs, add, conj, divide, multiply, subtract
from tensor_runtime.ops.comparison import greater, less, less_equal, not_equal
from tensor_runtime.ops.complex_parts import real
from tensor_runtime.ops.creation import eye, zeros
from tensor_runtime.ops.diagonals import extract_diagonal, triu
from tensor_runtime.ops.exponential import sqrt
from tensor_runtime.ops.indexing import mutable_view
from tensor_runtime.ops.joining import concatenate
from tensor_runtime.ops.logic import logical_and, logical_not, logical_or
from tensor_runtime.ops.random import normal
from tensor_runtime.ops.reduction import all as all_of
from tensor_runtime.ops.reduction import any, sum
from tensor_runtime.ops.rounding import isfinite
from tensor_runtime.ops.selection import where
from tensor_runtime.ops.views import broadcast_in_dim, copy, expand_dims, move_axes
from tensor_runtime.tensors.tensor import Tensor, TypedTensor

T = TypeVar("T", bound=TensorScalar)
_SEED = 0x5152
_NARROW: Final = 16
"""Columns of the blocks into which a wider one is cut where not all of its columns are independent."""
_CLEARLY: Final = 16
"""How often a column of a block is longer than what counts as nothing beside those before it; else it goes singly."""


class PivotedQRResult(NamedTuple, Generic[FactorT]):
    """Factors of A with its columns in another order, A[:, permutation] = q r, and an estimate of its rank."""

    q: FactorT
    r: FactorT
    permutation: Tensor
    rank: Tensor

    def __repr__(self) -> str:
        return fields_text(self)

    def _repr_html_(self) -> str:
        return fields_html(self)


@overload
def qr_pivoted(
    a: TypedTensor[T], /, *, rtol: float | Tensor | None = None, check: bool = True, out: None = None
) -> PivotedQRResult[TypedTensor[T]]: ...
@overload
def qr_pivoted(
    a: Tensor, /, *, rtol: float | Tensor | None = None, check: bool = True, out: PivotedQRResult | None = None
) -> PivotedQRResult: ...
@overload
def qr_pivoted(
    a: Tensor,
    /,
    *,
    rtol: float | Tensor | None = None,
    check: Literal["mask"],
    out: MaskedResult[PivotedQRResult] | None = None,
) -> MaskedResult[PivotedQRResult]: ...
def qr_pivoted(
    a: Tensor, /, *, rtol: float | Tensor | None = None, check: Check = True, out: Any = None
) -> PivotedQRResult | MaskedResult[PivotedQRResult]:
    """Thin QR decomposition with column pivoting, A[:, permutation] = q r, which tells the rank.

    At each step the column comes next that is longest after those before it are projected out, so the diagonal of r
    does not grow; the first ``rank`` columns of q are a basis of the range of A, and those of A that are named first a
    well conditioned choice among its columns. The estimate of the rank is seldom wrong, but can be: Kahan's matrices
    defeat it, and the singular values do not.

    Args:
        a: shape [M, N, B...]; F32, F64, C32 or C64.
        rtol: diagonal elements of r up to this part of the first one count as 0: a number, or a tensor [B...]. None is
            max(M, N) rounding units of the dtype.
        check: raise when an element is not finite.
            "mask" raises for no matrix of a batch, and gives a ``MaskedResult``: the result, NaN where a matrix has
            none, and a ``status`` of each, I32 [B...].
        out: where the results are written, a ``PivotedQRResult`` of tensors; see ``tensor_linalg.targets``.

    Returns:
        q [M, K, B...] with orthonormal columns, r [K, N, B...] zero below its diagonal, permutation [N, B...] of I64
        and rank [B...] of I64; K is the smaller of M and N. Owned, compact; as accurate as :func:`qr`.

    Raises:
        DTypeError: an integer or Bool tensor; convert it first. A complex or Bool ``rtol``.
        ShapeError: fewer than two axes, or an ``rtol`` of another shape.
        ArgumentError: an ``rtol`` that is negative or not finite.
        NonFiniteError: NaN or an infinity, with ``batch_index`` and ``element_index``.
        SizeLimitError: more elements than the LAPACK in use can count.

    Source: LAPACK xGEQP3; Golub and Van Loan, Matrix Computations, 4th ed., §5.4.2.

    >>> import tensor_runtime as tr
    >>> found = qr_pivoted(tr.tensor([[1.0, 2.0], [2.0, 4.0]]))
    >>> found.permutation.to_numpy().tolist(), found.rank.item()
    ([1, 0], 1)
    """
    if check is not True and asks_for_mask(check):

        def pivoted(x: Tensor, tolerance: Tensor | None = None) -> PivotedQRResult:
            return qr_pivoted(x, rtol=rtol if tolerance is None else tolerance[0, 0], check=False)

        return masked_result("qr_pivoted", pivoted, a, beside=tolerances("qr_pivoted", a, rtol), out=out)
    rows, columns, batch = matrices("qr_pivoted", a)
    part = relative_tolerance("qr_pivoted", batch, a.dtype, (rows, columns), rtol)
    if isinstance(part, Tensor):
        part = expand_dims(part, -1)
    q, r, permutation = execute_parts(QR_PIVOTED, a, check is True or checks("qr_pivoted", check))
    if min(rows, columns) == 0:
        found = PivotedQRResult(q, r, permutation, zeros(batch, dtype=I64, placement=a.placement))
        return delivered("qr_pivoted", found, out, a)
    sizes = abs(extract_diagonal(r))
    counted = greater(sizes, multiply(sizes[..., :1], part))
    found = PivotedQRResult(q, r, permutation, sum(cast(counted, I64), -1))
    return delivered("qr_pivoted", found, out, a)


@overload
def qr_append(
    q: TypedTensor[T], r: TypedTensor[T], columns: TypedTensor[T], /, *, check: bool = True, out: None = None
) -> QRResult[TypedTensor[T]]: ...
@overload
def qr_append(
    q: Tensor, r: Tensor, columns: Tensor, /, *, check: bool = True, out: QRResult | None = None
) -> QRResult: ...
@overload
def qr_append(
    q: Tensor, r: Tensor, columns: Tensor, /, *, check: Literal["mask"], out: MaskedResult[QRResult] | None = None
) -> MaskedResult[QRResult]: ...
def qr_append(
    q: Tensor, r: Tensor, columns: Tensor, /, *, check: Check = True, out: Any = None
) -> QRResult | MaskedResult[QRResult]:
    """The QR decomposition of [A, columns] from that of A = q r, in about 8 M K P + 4 M P² operations for P columns.

    Args:
        q: shape [M, K, B...] with orthonormal columns, K at most M; F32, F64, C32 or C64.
        r: shape [K, N, B...].
        columns: shape [M, P, B...]. All three have the same batch shape and dtype.
        check: raise when an element is not finite.
            "mask" raises for no matrix of a batch, and gives a ``MaskedResult``: the result, NaN where a matrix has
            none, and a ``status`` of each, I32 [B...].
        out: where the results are written, a ``QRResult`` of tensors; see ``tensor_linalg.targets``.

    Returns:
        q [M, L, B...] and r [L, N + P, B...], where L is the smaller of M and K + P: the factors given, extended to the
        right and below, with a diagonal of the new part that is real and not negative. Owned, compact. Where a column
        lies in the space of those before it, to working precision, the diagonal element is 0 and the new column of q
        is any unit vector orthogonal to the others, so q stays orthonormal to a few rounding units times M. Columns
        that are given at once and one by one have factors that may differ by rounding. Where columns depend on others,
        or nearly do, it takes some times as long; a word about that is read back from a device, whatever is checked.

    Raises:
        DTypeError: integer or Bool tensors, or dtypes that differ.
        ShapeError: shapes that do not fit.
        PlacementError: tensors that live in different places.
        ArgumentError: another ``check``.
        NonFiniteError: NaN or an infinity, with ``operand``, ``batch_index`` and ``element_index``.

    Source: Gram and Schmidt's method for blocks, done twice (Barlow and Smoktunowicz, Numer. Math. 123, 2013), and for
    single columns (Giraud, Langou, Rozložník and van den Eshof, Numer. Math. 101, 2005); Golub and Van Loan, Matrix
    Computations, 4th ed., §6.5.2.

    >>> import tensor_runtime as tr
    >>> q, r = qr_append(tr.tensor([[1.0], [0.0]]), tr.tensor([[2.0]]), tr.tensor([[3.0], [4.0]]))
    >>> q.to_numpy().tolist(), r.to_numpy().tolist()
    ([[1.0, 0.0], [0.0, 1.0]], [[2.0, 3.0], [0.0, 4.0]])
    """
    forms = [floating_form("qr_append", x, name) for x, name in ((q, "q"), (r, "r"), (columns, "columns"))]
    fits = all(form.rank >= 2 and form.shape[2:] == forms[0].shape[2:] for form in forms)
    if not fits or r.shape[0] != q.shape[1] or columns.shape[0] != q.shape[0] or q.shape[1] > q.shape[0]:
        raise ShapeError(
            f"qr_append: q of shape {q.shape}, r of shape {r.shape} and columns of shape {columns.shape} do not fit; "
            "accepted: [M, K, B...] with K at most M, [K, N, B...] and [M, P, B...]",
            operation="qr_append",
            shapes=(q.shape, r.shape, columns.shape),
        )
    if not forms[0].dtype is forms[1].dtype is forms[2].dtype:
        raise DTypeError(
            f"qr_append: q is {q.dtype}, r {r.dtype} and columns {columns.dtype}; accepted: one dtype; convert() them",
            operation="qr_append",
        )
    given = (q, r, columns)
    require_together("qr_append", *given)
    if check is not True and asks_for_mask(check):
        safe = [eye(*q.shape[:2], dtype=q.dtype, placement=q.placement)]
        safe += [zeros(x.shape[:2], dtype=x.dtype, placement=x.placement) for x in (r, columns)]
        return screened_result("qr_append", _appended, given, safe, out=out)
    if checks("qr_append", check):
        for name, x in zip(("q", "r", "columns"), given, strict=True):
            require_finite("qr_append", name, x)
    return delivered("qr_append", _appended(*given), out, *given)


def _appended(q: Tensor, r: Tensor, columns: Tensor) -> QRResult:
    rank, before = r.shape[:2]
    given = columns.shape[1]
    room = min(given, q.shape[0] - rank)
    x, sizes, half = _of_ordinary_sizes(columns)
    basis, parts = q, []
    if room:
        fresh, found = _fresh(q, x[:, :room], sizes[:, :room])
        basis = concatenate([q, fresh], 1)
        parts.append(found)
    if room < given:
        parts.append(_outside(basis, x[:, room:])[1])
    triangle = zeros((rank + room, before + given, *r.shape[2:]), dtype=r.dtype, placement=r.placement)
    mutable_view(triangle)[:rank, :before] = r
    if given:
        found = parts[0] if len(parts) == 1 else concatenate(parts, 1)
        if half is not None:
            back = divide(1.0, half)
            found = multiply(multiply(found, back), back)
        mutable_view(triangle)[:, before:] = found
    return QRResult(basis if room else copy(q), triangle)


def _of_ordinary_sizes(columns: Tensor) -> tuple[Tensor, Tensor, Tensor | None]:
    """Columns times powers of two where squares of sizes or of ratios may leave the range; the sizes; and the roots."""
    bound = 2.0**120 if columns.dtype.component is F64 else 2.0**15
    sizes = _sizes(columns)
    extreme = logical_not(logical_and(greater(sizes, 1 / bound), less(sizes, bound)))
    if some(extreme):
        extreme = logical_and(extreme, any(not_equal(columns, 0.0), 0, keepdims=True))
    if not some(extreme):
        return columns, sizes, None
    half = where(extreme, root_of_power(columns), 1.0)
    scaled = multiply(multiply(columns, half), half)
    return scaled, _sizes(scaled), half


def _fresh(q: Tensor, x: Tensor, sizes: Tensor) -> tuple[Tensor, Tensor]:
    """As many new columns as x has, and the coordinates of x along the columns of q and the new ones.

    Columns of which a block is not sure go in narrower ones, in the end singly. Each matrix of a batch has what it
    would have beside others, so its neighbours decide about its time alone.
    """
    rank, width = q.shape[1], x.shape[1]
    if width == 1:
        return _single(q, x, sizes)
    fresh, found, unsure = _block(q, x, sizes)
    if not some(unsure):
        return fresh, found
    basis, others = concatenate([q, fresh], 1), zeros(found.shape, dtype=x.dtype, placement=x.placement)
    step = _NARROW if width > _NARROW else 1
    for start in range(0, width, step):
        stop = min(start + step, width)
        new, part = _fresh(basis[:, : rank + start], x[:, start:stop], sizes[:, start:stop])
        mutable_view(basis)[:, rank + start : rank + stop] = new
        mutable_view(others)[: rank + stop, start:stop] = part
    return where(unsure, basis[:, rank:], fresh), where(unsure, others, found)


def _block(q: Tensor, x: Tensor, sizes: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """What :func:`_fresh` gives, and where it may be wrong.

    Columns near the space of q leave directions behind that are not quite orthogonal to it, so the new columns of unit
    length are projected once more, which is enough: little of them lies there, as what is left of a column is many
    times its rounding errors. Where it is not, a random one takes its place, which may make a column behind it
    independent that was not, and that has lost its place, too.
    """
    rows, rank = q.shape[:2]
    unit = unit_of(q.dtype)
    along = _coordinates(q, x)
    rest = subtract(x, matmul(q, along)) if rank else x
    finite = isfinite(sum(rest, (0, 1)))  # LAPACK may never return from an infinity
    if some(logical_not(finite)):
        q, rest = where(finite, q, 0.0), where(finite, rest, 0.0)
    fresh, r = qr(rest, check=False)
    nothing = multiply(sizes, rows * unit)
    lengths = expand_dims(move_axes(abs(extract_diagonal(r)), -1, 0), 0)
    dependent = logical_not(greater(lengths, multiply(nothing, _CLEARLY)))
    has_dependent = some(dependent)
    if has_dependent:
        spare = _random_columns(q, x)
        if rank:
            spare = subtract(spare, matmul(q, _coordinates(q, spare)))
        fresh, r = qr(where(dependent, spare, rest), check=False)
    if rank:
        again = _coordinates(q, fresh)
        moved = matmul(again, r)
        along = add(along, where(dependent, 0.0, moved) if has_dependent else moved)
        fresh = subtract(fresh, matmul(q, again))
        shortened = greater(sum(real(vecdot(again, again)), 0), unit / 4)  # else by less than a rounding unit
        if some(shortened):
            second, turn = qr(fresh, check=False)
            fresh, r = where(shortened, second, fresh), where(shortened, matmul(turn, r), r)
    sure = finite
    if has_dependent:
        inside = triu(_coordinates(fresh, rest), 1, axes=(0, 1))
        left = _sizes(subtract(rest, matmul(fresh, inside)))
        fits = logical_or(logical_not(dependent), less_equal(left, nothing))
        sure = logical_and(sure, all_of(fits, (0, 1)))
        r = where(dependent, inside, r)
    fresh, r = with_positive_diagonal(fresh, r)
    if r.dtype is not r.dtype.component:  # the signs of zeros that phases leave depend on places
        fresh, r = add(fresh, 0.0), add(r, 0.0)
    return fresh, concatenate([along, r], 0), logical_not(sure)


def _single(q: Tensor, x: Tensor, size: Tensor) -> tuple[Tensor, Tensor]:
    """What :func:`_fresh` gives for x of one column, which may lie in the space of q."""
    rest, along = _outside(q, x)
    length = _sizes(rest)
    has_rest = greater(length, multiply(size, q.shape[0] * unit_of(q.dtype)))
    fresh = divide(rest, where(has_rest, length, 1.0))
    if some(logical_not(has_rest)):
        spare = _random_columns(q, x)
        for _ in range(2):
            spare, _ = _outside(q, spare)
            spare = divide(spare, _sizes(spare))
        fresh, length = where(has_rest, fresh, spare), where(has_rest, length, 0.0)
    return fresh, concatenate([along, convert(length, q.dtype)], 0)


def _random_columns(q: Tensor, x: Tensor) -> Tensor:
    """The same for all matrices, so that what a matrix is given does not depend on its place in the batch."""
    columns = normal(x.shape[:2], seed=_SEED, stream=q.shape[1], dtype=x.dtype, placement=x.placement)
    return broadcast_in_dim(columns, x.shape, (0, 1))


def _sizes(x: Tensor) -> Tensor:
    """Lengths of columns, [1, P, B...], of which the squares are in the range."""
    return expand_dims(sqrt(real(vecdot(x, x))), 0)


def _outside(q: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
    """What of x is orthogonal to the columns of q, and the coordinates of the rest; projected twice."""
    once = _coordinates(q, x)
    rest = subtract(x, matmul(q, once))
    again = _coordinates(q, rest)
    return subtract(rest, matmul(q, again)), add(once, again)


def _coordinates(q: Tensor, x: Tensor) -> Tensor:
    """The product of the adjoint of q and x, without a conjugated copy of q."""
    if q.dtype is q.dtype.component:
        return matmul(mT(q), x)
    return conj(matmul(mT(q), conj(x)))
