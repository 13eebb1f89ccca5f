"""QR decompositions that look at columns one by one: pivoted, and extended by new columns."""

from __future__ import annotations

from typing import Any, Generic, Literal, NamedTuple, TypeVar, overload

from tensor_core.dtypes import I64, TensorScalar
from tensor_core.errors import DTypeError, ShapeError
from tensor_linalg.composed import floating_form, matrices
from tensor_linalg.decompositions.qr import QRResult
from tensor_linalg.masking import Check, MaskedResult, asks_for_mask, checks, masked_result, screened_result
from tensor_linalg.operands import require_finite, unit_of
from tensor_linalg.products import matvec, mH
from tensor_linalg.results import FactorT, fields_html, fields_text
from tensor_linalg.specs.decompositions import QR_PIVOTED
from tensor_linalg.targets import delivered
from tensor_linalg.tolerances import relative_tolerance, tolerances
from tensor_runtime.dispatch.call import execute_parts
from tensor_runtime.dispatch.conversion import cast, convert
from tensor_runtime.ops.arithmetic import abs, add, divide, multiply, subtract
from tensor_runtime.ops.comparison import greater
from tensor_runtime.ops.creation import eye, zeros
from tensor_runtime.ops.diagonals import extract_diagonal
from tensor_runtime.ops.joining import concatenate
from tensor_runtime.ops.random import normal
from tensor_runtime.ops.reduction import sum
from tensor_runtime.ops.selection import where
from tensor_runtime.ops.statistics import norm
from tensor_runtime.ops.views import broadcast_in_dim, copy, expand_dims
from tensor_runtime.tensors.tensor import Tensor, TypedTensor

T = TypeVar("T", bound=TensorScalar)
_SEED = 0x5152


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
    """The QR decomposition of [A, columns] from that of A = q r, in about 8 M K P operations for P columns.

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
        is any unit vector orthogonal to the others, so q stays orthonormal to a few rounding units times M.

    Raises:
        DTypeError: integer or Bool tensors, or dtypes that differ.
        ShapeError: shapes that do not fit.
        NonFiniteError: NaN or an infinity, with ``operand``, ``batch_index`` and ``element_index``.

    Source: Gram and Schmidt's method, done twice (Giraud, Langou, Rozložník and van den Eshof, Numer. Math. 101, 2005);
    Golub and Van Loan, Matrix Computations, 4th ed., §6.5.2.

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
    if check is not True and asks_for_mask(check):
        safe = [eye(*q.shape[:2], dtype=q.dtype, placement=q.placement)]
        safe += [zeros(x.shape[:2], dtype=x.dtype, placement=x.placement) for x in (r, columns)]
        return screened_result("qr_append", _appended, given, safe, out=out)
    if checks("qr_append", check):
        for name, x in zip(("q", "r", "columns"), given, strict=True):
            require_finite("qr_append", name, x)
    return delivered("qr_append", _appended(*given), out, *given)


def _appended(q: Tensor, r: Tensor, columns: Tensor) -> QRResult:
    lines = []
    for column in range(columns.shape[1]):
        q, line = _extended(q, columns[:, column])
        lines.append(line)
    height = q.shape[1]
    padded = [_padded(r, height), *(expand_dims(_padded(line, height), 1) for line in lines)]
    return QRResult(copy(q), concatenate(padded, 1))


def _extended(q: Tensor, column: Tensor) -> tuple[Tensor, Tensor]:
    """The columns with one more, where there is room for one, and what the new column of r has."""
    rows, rank = q.shape[:2]
    rest, along = _outside(q, column)
    if rank == rows:
        return q, along
    size = norm(rest, axis=0, keepdims=True)
    unit = unit_of(q.dtype)
    has_rest = greater(size, multiply(norm(column, axis=0, keepdims=True), rows * unit))
    # One vector for all matrices, so that what a matrix is given does not depend on its place in the batch.
    vector = normal((rows,), seed=_SEED, stream=rank, dtype=q.dtype, placement=q.placement)
    spare, _ = _outside(q, broadcast_in_dim(vector, column.shape, (0,)))
    chosen = where(has_rest, divide(rest, where(has_rest, size, 1.0)), spare)
    chosen, _ = _outside(q, chosen)
    fresh = divide(chosen, norm(chosen, axis=0, keepdims=True))
    length = convert(where(has_rest, size, 0.0), q.dtype)
    return concatenate([q, expand_dims(fresh, 1)], 1), concatenate([along, length], 0)


def _outside(q: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
    """What of x is orthogonal to the columns of q, and the coordinates of the rest; projected twice."""
    adjoint = mH(q)
    once = matvec(adjoint, x)
    rest = subtract(x, matvec(q, once))
    again = matvec(adjoint, rest)
    return subtract(rest, matvec(q, again)), add(once, again)


def _padded(x: Tensor, height: int) -> Tensor:
    missing = height - x.shape[0]
    if missing == 0:
        return x
    return concatenate([x, zeros((missing, *x.shape[1:]), dtype=x.dtype, placement=x.placement)], 0)
