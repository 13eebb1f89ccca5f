"""Pseudo-inverses and least-squares solutions over trailing batch axes, by singular values or QR."""

from __future__ import annotations

from math import inf
from typing import Any, Literal, NamedTuple, TypeVar, overload

from tensor_core.dtypes import I64, TensorScalar
from tensor_core.shapes import broadcast_shapes
from tensor_linalg.composed import failing_as, with_smaller
from tensor_linalg.contracts.solving import LstsqParams
from tensor_linalg.decompositions import eigh, qr, svd
from tensor_linalg.decompositions.eigh import DRIVERS as HERMITIAN_DRIVERS
from tensor_linalg.decompositions.svd import DRIVERS
from tensor_linalg.masking import Check, MaskedResult, asks_for_mask, checks, masked, masked_result
from tensor_linalg.operands import (
    floating,
    lent,
    promoted,
    require_finite,
    require_regular,
    with_batch,
)
from tensor_linalg.products import matmul, mH
from tensor_linalg.results import fields_html, fields_text
from tensor_linalg.solving.substitution import substituted
from tensor_linalg.specs.shapes import broadcast_batches, matrix_axes, square_axes
from tensor_linalg.specs.solving import LSTSQ, require_sides
from tensor_linalg.targets import delivered, placed
from tensor_linalg.tolerances import counted, relative_tolerance, tolerances
from tensor_runtime.dispatch.arguments import choice, flag
from tensor_runtime.dispatch.call import execute_many
from tensor_runtime.dispatch.out import Out
from tensor_runtime.errors import NonFiniteError
from tensor_runtime.ops.arithmetic import abs, divide, multiply, subtract
from tensor_runtime.ops.comparison import equal, greater
from tensor_runtime.ops.creation import full, zeros
from tensor_runtime.ops.diagonals import extract_diagonal
from tensor_runtime.ops.reduction import any, max, sum
from tensor_runtime.ops.selection import where
from tensor_runtime.ops.views import expand_dims, squeeze
from tensor_runtime.tensors.tensor import Tensor, TypedTensor, owned

T = TypeVar("T", bound=TensorScalar)


class LstsqResult(NamedTuple):
    """The x of smallest norm that minimises the norm of b - A x, and how well it does."""

    solution: Tensor
    residuals: Tensor
    rank: Tensor
    singular_values: Tensor | None

    def __repr__(self) -> str:
        return fields_text(self)

    def _repr_html_(self) -> str:
        return fields_html(self)


@overload
def pinv(
    a: TypedTensor[T],
    /,
    *,
    rtol: float | Tensor | None = None,
    hermitian: bool = False,
    driver: str = "auto",
    check: bool = True,
    out: None = None,
) -> TypedTensor[T]: ...
@overload
def pinv(
    a: Tensor,
    /,
    *,
    rtol: float | Tensor | None = None,
    hermitian: bool = False,
    driver: str = "auto",
    check: bool = True,
    out: Out = None,
) -> Tensor: ...
@overload
def pinv(
    a: Tensor,
    /,
    *,
    rtol: float | Tensor | None = None,
    hermitian: bool = False,
    driver: str = "auto",
    check: Literal["mask"],
    out: MaskedResult[Tensor] | None = None,
) -> MaskedResult[Tensor]: ...
def pinv(
    a: Tensor,
    /,
    *,
    rtol: float | Tensor | None = None,
    hermitian: bool = False,
    driver: str = "auto",
    check: Check = True,
    out: Any = None,
) -> Tensor | MaskedResult[Tensor]:
    """Pseudo-inverses (Moore and Penrose) of matrices, by singular values.

    Args:
        a: shape [M, N, B...]; F32, F64, C32 or C64.
        rtol: singular values up to this times the largest one of the same matrix count as zero: a number, or a tensor
            [B...]. None is max(M, N) times the dtype's rounding unit.
        hermitian: take the matrices to be Hermitian, of which the lower triangle is read; their eigenvalues are then
            found in place of singular values, which is faster.
        driver: as for :func:`svd`, or as for :func:`eigh` where ``hermitian`` says so.
        check: raise when an element is not finite.
            "mask" raises for no matrix of a batch, and gives a ``MaskedResult``: the result, NaN where a matrix has
            none, and a ``status`` of each, I32 [B...].
        out: where the result is written; see ``tensor_runtime.add``.

    Returns:
        X [N, M, B...] with A X A ≈ A, X A X ≈ X, and A X and X A Hermitian; owned, compact, of the operand's dtype.
        Its error is a few rounding units times max(M, N) times its norm and the ratio of the largest singular value
        to the smallest that counts. Zeros for a matrix of zeros; values beyond the range become infinite or NaN.

    Raises:
        DTypeError: an integer or Bool tensor; convert it first. A complex or Bool ``rtol``.
        ShapeError: fewer than two axes; matrices that are not square where ``hermitian`` says so.
        ArgumentError: an ``rtol`` that is negative or not finite, or a driver that there is not.
        NonFiniteError: NaN or an infinity, with ``batch_index`` and ``element_index``.
        NotConvergedError: LAPACK's iteration failed for the matrix at ``batch_index``.

    Source: Golub and Van Loan, Matrix Computations, 4th ed., §5.5.2.

    >>> import tensor_runtime as tr
    >>> pinv(tr.tensor([[2.0, 0.0], [0.0, 0.0], [0.0, 0.0]])).to_numpy().tolist()
    [[0.5, 0.0, 0.0], [0.0, 0.0, 0.0]]
    """
    if check is not True and asks_for_mask(check):

        def unchecked(x: Tensor, tolerance: Tensor | None = None) -> Tensor:
            one = rtol if tolerance is None else tolerance[0, 0]
            return pinv(x, rtol=one, hermitian=hermitian, driver=driver, check=False)

        return masked_result("pinv", unchecked, a, beside=tolerances("pinv", a, rtol), out=out)
    operation = "pinv"
    hermitian, check = flag(operation, "hermitian", hermitian), check is True or checks(operation, check)
    driver = choice(operation, "driver", driver, HERMITIAN_DRIVERS if hermitian else DRIVERS)
    floating(operation, a)
    rows, columns, batch = matrix_axes(operation, a.shape)
    if hermitian:
        square_axes(operation, a.shape)
    if 0 in (rows, columns):
        return placed(operation, zeros((columns, rows, *batch), dtype=a.dtype, placement=a.placement), out, a)
    with failing_as(operation):
        parts = _factors(a, hermitian, driver, check)
        if (smaller := with_smaller(a, parts[0])) is not None:
            parts = _factors(smaller[0], hermitian, driver, False)
    sizes, values, left, right = parts
    kept = counted(operation, sizes, (rows, columns), rtol)
    inverted = where(kept, divide(1.0, values), 0.0)
    found = matmul(multiply(left, inverted[None]), right)
    if smaller is not None:
        found = multiply(found, smaller[1])
    return found if out is None else placed(operation, found, out, a)


def _factors(a: Tensor, hermitian: bool, driver: str, check: bool) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Singular values, these or eigenvalues with their signs, and the factors of inverses on both sides of them."""
    if hermitian:
        values, vectors = eigh(a, driver=driver, check=check)
        return abs(values), values, vectors, mH(vectors)
    u, values, vh = svd(a, driver=driver, check=check)
    return values, values, mH(vh), mH(u)


@overload
def lstsq(
    a: Tensor,
    b: Tensor,
    /,
    *,
    driver: str = "svd",
    rtol: float | Tensor | None = None,
    check: bool = True,
    out: LstsqResult | None = None,
) -> LstsqResult: ...
@overload
def lstsq(
    a: Tensor,
    b: Tensor,
    /,
    *,
    driver: str = "svd",
    rtol: float | Tensor | None = None,
    check: Literal["mask"],
    out: MaskedResult[LstsqResult] | None = None,
) -> MaskedResult[LstsqResult]: ...
def lstsq(
    a: Tensor,
    b: Tensor,
    /,
    *,
    driver: str = "svd",
    rtol: float | Tensor | None = None,
    check: Check = True,
    out: Any = None,
) -> LstsqResult | MaskedResult[LstsqResult]:
    """The x that minimises the norm of b - A x; among several, the one of smallest norm.

    Args:
        a: shape [M, N, B...]; F32, F64, C32 or C64. M may be larger or smaller than N.
        b: shape [M, K, B...] of any of these dtypes, or [M] when ``a`` is [M, N]. The batch shapes are equal or
            broadcast among themselves, aligned at the last axis.
        driver: "svd" takes any matrix; "qr" takes matrices of full rank alone, and is up to five times faster where
            min(M, N) is 20 and more; where it is less than ten, it may be slower.
        rtol: singular values up to this times the largest one of the same matrix count as zero: a number, or a tensor
            with the batch shape of ``a``. None is max(M, N) times the dtype's rounding unit. "qr" looks at none.
        check: raise when an element is not finite.
            "mask" raises for no matrix of a batch, and gives a ``MaskedResult``: the result, NaN where a matrix has
            none, and a ``status`` of each, I32 [B...].
        out: where the results are written, an ``LstsqResult`` of tensors; see ``tensor_linalg.targets``.

    Returns:
        solution [N, K, B...] or [N], of the promoted dtype; residuals [K, B...] or [], the sum of |b - A x|² for each
        column, real; rank I64 and singular_values [min(M, N), ...] of ``a``, with its batch axes. All are owned and
        compact. The solution is that of a problem within a few rounding units times max(M, N) of the norms of A and b.
        With "qr" the rank is min(M, N), which is taken for granted, and ``singular_values`` is None.

    Raises:
        DTypeError: an integer or Bool tensor; convert it first. A complex or Bool ``rtol``.
        ShapeError: shapes that do not fit, or no column axis.
        ArgumentError: another driver; an ``rtol`` that is negative or not finite.
        NonFiniteError: NaN or an infinity, with ``operand``, ``batch_index`` and ``element_index``.
        SingularMatrixError: driver "qr" met a zero on the diagonal of R in the matrix at ``batch_index``.
        NotConvergedError: LAPACK's iteration failed for the matrix at ``batch_index``.
        PlacementError: the operands live in different places.

    Source: LAPACK xGELSD and xGELS compute the same; Golub and Van Loan, Matrix Computations, 4th ed., §5.3 and §5.5.

    >>> import tensor_runtime as tr
    >>> fit = lstsq(tr.tensor([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]]), tr.tensor([1.0, 3.0, 5.0]))
    >>> fit.solution.to_numpy().round(12).tolist(), fit.rank.item(), round(fit.residuals.item(), 12)
    ([1.0, 2.0], 2, 0.0)
    """
    operation = "lstsq"
    if asks_for_mask(check):
        return _lstsq_masked(a, b, driver, rtol, out)
    check = checks(operation, check)
    by_qr = choice(operation, "driver", driver, ("svd", "qr")) == "qr"
    given = a, b
    a, b = promoted(operation, a, b)
    rows, columns, batch = matrix_axes(operation, a.shape)
    require_sides(operation, a.shape, b.shape)
    broadcast_batches(operation, batch, b.shape[2:])
    vector = b.rank == 1
    sides = expand_dims(b, 1) if vector else b
    values: Tensor | None
    if not by_qr and 0 not in (rows, columns):
        tolerance = relative_tolerance(operation, batch, a.dtype, (rows, columns), rtol)
        if isinstance(tolerance, Tensor) and not tolerance.rank and (one := lent(tolerance)) is not None:
            tolerance = float(one)
        try:
            if isinstance(tolerance, Tensor):
                solution, residuals, rank, values = by_singular_values(a, sides, tolerance, check)
            else:
                solution, residuals, rank, values = execute_many(LSTSQ, (a, sides), LstsqParams(tolerance, check))
        except NonFiniteError as error:
            if vars(error)["operand"] == "b":  # which may lack the column axis, or batch axes of a
                require_finite(operation, "b", b, min(2, b.rank))
            raise
    else:
        if check:
            require_finite(operation, "a", a)
            require_finite(operation, "b", b, min(2, b.rank))
        if by_qr and 0 not in (rows, columns):
            solution = _by_qr(operation, a, sides)
        else:
            shape = broadcast_shapes(batch, sides.shape[2:])
            solution = zeros((columns, sides.shape[1], *shape), dtype=a.dtype, placement=a.placement)
        rank = full(batch, min(columns, rows), dtype=I64, placement=a.placement)
        values = None if by_qr else zeros((0, *batch), dtype=a.dtype.component, placement=a.placement)
        residuals = _residuals(a, solution, sides)
    if vector:
        solution, residuals = owned(squeeze(solution, 1)), owned(squeeze(residuals, 0))
    return delivered(operation, LstsqResult(solution, residuals, rank, values), out, *given)


def by_singular_values(
    a: Tensor, b: Tensor, rtol: float | Tensor, check: bool, /
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Solution, residuals, rank and singular values of the kernel ``lstsq``; the tolerance may be one for each matrix.

    >>> import tensor_runtime as tr
    >>> by_singular_values(tr.tensor([[2.0]]), tr.tensor([[4.0]]), 0.0, True)[0].item()
    2.0
    """
    operation = "lstsq"
    with failing_as(operation):
        u, values, vh = svd(a, check=check)
        if (smaller := with_smaller(a, values)) is not None:
            u, values, vh = svd(smaller[0], check=False)
    if check:
        require_finite(operation, "b", b)
    kept = greater(values, multiply(max(values, 0), rtol))
    divisors = expand_dims(where(kept, values, inf), 1)  # reciprocals of subnormal ones are beyond the range
    parts = matmul(mH(u), b)
    if smaller is not None:
        parts, values = multiply(parts, smaller[1]), divide(values, smaller[1])
    solution = matmul(mH(vh), divide(parts, with_batch(divisors, 2, parts.shape[2:])))
    return solution, _residuals(a, solution, b), sum(kept, 0), values


def _residuals(a: Tensor, solution: Tensor, b: Tensor) -> Tensor:
    near = matmul(a, solution)
    missed = abs(subtract(with_batch(b, 2, near.shape[2:]), near))
    return sum(multiply(missed, missed), 0)


def _lstsq_masked(a: Tensor, b: Tensor, driver: str, rtol: Any, out: Any) -> MaskedResult[LstsqResult]:
    """Every matrix is decomposed as often as without the mask: what is of ``a`` alone has its batch axes."""
    operation, given = "lstsq", (a, b)
    a, b = promoted(operation, a, b)
    batch = matrix_axes(operation, a.shape)[2]
    require_sides(operation, a.shape, b.shape)
    numbers = None if choice(operation, "driver", driver, ("svd", "qr")) == "qr" else tolerances(operation, a, rtol)

    def solved(x: Tensor, y: Tensor, tolerance: Tensor | None = None) -> LstsqResult:
        return lstsq(x, y, driver=driver, rtol=rtol if tolerance is None else tolerance[0, 0], check=False)

    if b.rank == 1 or broadcast_batches(operation, batch, b.shape[2:]) == batch:
        return masked_result(operation, solved, a, b, beside=numbers, out=out)

    # one more batch axis in b: what decomposes each matrix once for many sides computes here as well

    def of_b(x: Tensor, y: Tensor, *tolerance: Tensor) -> tuple[Any, ...]:
        solution, residuals = solved(x, expand_dims(y, 2), *tolerance)[:2]
        return owned(squeeze(solution, 2)), owned(squeeze(residuals, 1))

    def of_a(x: Tensor, *tolerance: Tensor) -> tuple[Any, ...]:
        sides = zeros((a.shape[0], 1, *(1,) * (x.rank - 1)), dtype=a.dtype, placement=a.placement)
        return solved(x, sides, *tolerance)[2:]

    (solution, residuals), status = masked(of_b, operation, a, b, beside=numbers)
    (rank, values), _ = masked(of_a, operation, a, beside=numbers)
    return delivered(operation, MaskedResult(LstsqResult(solution, residuals, rank, values), status), out, *given)


def _by_qr(operation: str, a: Tensor, b: Tensor) -> Tensor:
    """R⁻¹ Qᴴ b for A = Q R, or Q R⁻ᴴ b for Aᴴ = Q R, which has the smallest norm."""
    tall = a.shape[0] >= a.shape[1]
    q, r = qr(a if tall else mH(a), check=False)
    zero = any(equal(extract_diagonal(r), 0.0), -1)
    require_regular(operation, zero, "does not have full rank", "driver='svd' takes any matrix")
    if tall:
        return substituted(operation, r, matmul(mH(q), b), False, False, False, False, False)
    return matmul(q, substituted(operation, r, b, False, True, True, False, False))
