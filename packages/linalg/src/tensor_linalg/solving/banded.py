"""Systems of banded matrices over trailing batch axes, of which only the diagonals are given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, overload

from tensor_core.errors import ArgumentError, shortened
from tensor_linalg.contracts.solving import BandedParams, HermitianBandParams
from tensor_linalg.masking import Check, MaskedResult, asks_for_mask, checks, masked_result
from tensor_linalg.operands import promoted
from tensor_linalg.solving.condition import estimated_one_norm, refuse_with_mask, scale_of, warn_if_ill_conditioned
from tensor_linalg.specs.solving import SOLVE_BANDED, SOLVEH_BANDED, banded_shape, hermitian_band_shape
from tensor_linalg.targets import placed
from tensor_runtime.dispatch.arguments import flag, whole
from tensor_runtime.dispatch.call import execute_pair
from tensor_runtime.dispatch.out import Out
from tensor_runtime.ops.arithmetic import abs, add, conj, divide, multiply
from tensor_runtime.ops.comparison import greater_equal, less
from tensor_runtime.ops.creation import eye
from tensor_runtime.ops.joining import roll, stack
from tensor_runtime.ops.logic import logical_and
from tensor_runtime.ops.ranges import arange
from tensor_runtime.ops.reduction import max
from tensor_runtime.ops.selection import where
from tensor_runtime.ops.views import broadcast_to, copy, reshape
from tensor_runtime.tensors.tensor import Tensor


@overload
def solve_banded(
    bandwidths: Sequence[int],
    ab: Tensor,
    b: Tensor,
    /,
    *,
    check: bool = True,
    condition: bool = False,
    out: Out = None,
) -> Tensor: ...
@overload
def solve_banded(
    bandwidths: Sequence[int],
    ab: Tensor,
    b: Tensor,
    /,
    *,
    check: Literal["mask"],
    out: MaskedResult[Tensor] | None = None,
) -> MaskedResult[Tensor]: ...
def solve_banded(
    bandwidths: Sequence[int],
    ab: Tensor,
    b: Tensor,
    /,
    *,
    check: Check = True,
    condition: bool = False,
    out: Any = None,
) -> Tensor | MaskedResult[Tensor]:
    """The x with A x = b for banded matrices, by LU decomposition with partial pivoting within the band.

    Args:
        bandwidths: (l, u), how many diagonals there are below and above the main one.
        ab: shape [l + u + 1, N, B...] with ``ab[u + i - j, j] = A[i, j]``: one diagonal per row, the uppermost first,
            as SciPy has it; what lies outside of the matrix is not read, but must be finite. F32, F64, C32 or C64.
        b: shape [N, M, B...] of any of these dtypes, or [N] when ``ab`` is [l + u + 1, N]. The batch shapes are equal
            or broadcast among themselves, aligned at the last axis.
        check: raise when an element is not finite.
            "mask" raises for no matrix of a batch, and gives a ``MaskedResult``: the result, NaN where a matrix has
            none, and a ``status`` of each, I32 [B...].
        condition: warn where the condition number of a matrix, in the 1-norm, is so large that the result may have no
            correct digit; it is estimated with six vectors.
        out: where the result is written; see ``tensor_runtime.add``.

    Returns:
        x of the shape of ``b`` with the batch shapes broadcast; owned, compact, of the promoted dtype. The residual
        b - A x is a few rounding units of the dtype times l + u + 1 times the norms of A and x.

    Warns:
        IllConditionedWarning: on request, for the first such matrix.

    Raises:
        DTypeError: an integer or Bool tensor; convert it first.
        ShapeError: shapes that do not fit, or no column axis.
        ArgumentError: bandwidths that are not two ints from 0 on; both ``condition`` and ``check="mask"``.
        NonFiniteError: NaN or an infinity, with ``operand``, ``batch_index`` and ``element_index``.
        SingularMatrixError: the matrix at ``batch_index`` has an exactly zero pivot.
        PlacementError: the operands live in different places.

    Source: LAPACK xGBSV; Golub and Van Loan, Matrix Computations, 4th ed., §4.3.

    >>> import tensor_runtime as tr
    >>> second_difference = tr.tensor([[0.0, -1.0, -1.0], [2.0, 2.0, 2.0], [-1.0, -1.0, 0.0]])
    >>> solve_banded((1, 1), second_difference, tr.tensor([1.0, 0.0, 1.0])).to_numpy().round(12).tolist()
    [1.0, 1.0, 1.0]
    """
    operation = "solve_banded"
    try:
        lower, upper = bandwidths
        if type(lower) is not int or type(upper) is not int:
            lower, upper = (whole(operation, "bandwidths", one) for one in (lower, upper))
    except (TypeError, ValueError, IndexError):
        lower = upper = -1
    if lower < 0 or upper < 0:
        raise ArgumentError(
            f"{operation}: bandwidths is {shortened(bandwidths)}; accepted: two ints from 0 on, (lower, upper)",
            operation=operation,
        )
    if check is True and condition is False:  # half a microsecond less
        return execute_pair(SOLVE_BANDED, ab, b, BandedParams(lower, upper, True), out)
    tells = flag(operation, "condition", condition)
    if asks_for_mask(check):
        refuse_with_mask(operation, tells)
        ab, b = promoted(operation, ab, b)
        banded_shape(operation, ab.shape, b.shape, BandedParams(lower, upper, False))
        return masked_result(
            operation,
            lambda x, y: solve_banded((lower, upper), x, y, check=False),
            ab,
            b,
            instead=_row_of_ones(upper, ab),
            out=out,
        )
    params = BandedParams(lower, upper, checks(operation, check))
    if not tells:
        return execute_pair(SOLVE_BANDED, ab, b, params, out)
    x = execute_pair(SOLVE_BANDED, ab, b, params)
    if 0 not in ab.shape:
        _warn_of_bands(operation, ab, lower, upper)
    return placed(operation, x, out, ab, b)


@overload
def solveh_banded(
    ab: Tensor,
    b: Tensor,
    /,
    *,
    lower: bool = False,
    check: bool = True,
    condition: bool = False,
    out: Out = None,
) -> Tensor: ...
@overload
def solveh_banded(
    ab: Tensor,
    b: Tensor,
    /,
    *,
    lower: bool = False,
    check: Literal["mask"],
    out: MaskedResult[Tensor] | None = None,
) -> MaskedResult[Tensor]: ...
def solveh_banded(
    ab: Tensor,
    b: Tensor,
    /,
    *,
    lower: bool = False,
    check: Check = True,
    condition: bool = False,
    out: Any = None,
) -> Tensor | MaskedResult[Tensor]:
    """The x with A x = b for banded Hermitian (real: symmetric) positive definite matrices, by A = L D Lᴴ.

    Half of the band is given, and half of the operations of :func:`solve_banded` are needed.

    Args:
        ab: shape [u + 1, N, B...], one diagonal per row, as SciPy has it: ``ab[u + i - j, j] = A[i, j]`` for i <= j,
            the main diagonal last; with ``lower`` ``ab[i - j, j] = A[i, j]`` for i >= j, the main diagonal first. What
            lies outside of the matrix is not read, but must be finite; imaginary parts of the main diagonal are
            ignored. F32, F64, C32 or C64.
        b: shape [N, M, B...] of any of these dtypes, or [N] when ``ab`` is [u + 1, N]. The batch shapes are equal or
            broadcast among themselves, aligned at the last axis.
        lower: whether the diagonals are the main one and those below it.
        check: raise when an element is not finite.
            "mask" raises for no matrix of a batch, and gives a ``MaskedResult``: the result, NaN where a matrix has
            none, and a ``status`` of each, I32 [B...].
        condition: warn where the condition number of a matrix, in the 1-norm, is so large that the result may have no
            correct digit; it is estimated with six vectors.
        out: where the result is written; see ``tensor_runtime.add``.

    Returns:
        x of the shape of ``b`` with the batch shapes broadcast; owned, compact, of the promoted dtype. The residual
        b - A x is a few rounding units of the dtype times u + 1 times the norms of A and x.

    Warns:
        IllConditionedWarning: on request, for the first such matrix.

    Raises:
        DTypeError: an integer or Bool tensor; convert it first.
        ShapeError: shapes that do not fit, no diagonal, or no column axis.
        ArgumentError: both ``condition`` and ``check="mask"``.
        NonFiniteError: NaN or an infinity, with ``operand``, ``batch_index`` and ``element_index``.
        NotPositiveDefiniteError: the matrix at ``batch_index`` is not positive definite to working precision;
            ``element_index`` is the last diagonal element of its smallest bad leading block.
        PlacementError: the operands live in different places.

    Source: Golub and Van Loan, Matrix Computations, 4th ed., §4.3.5; SciPy's ``solveh_banded``.

    >>> import tensor_runtime as tr
    >>> second_difference = tr.tensor([[2.0, 2.0, 2.0], [-1.0, -1.0, 0.0]])
    >>> solveh_banded(second_difference, tr.tensor([1.0, 0.0, 1.0]), lower=True).to_numpy().round(12).tolist()
    [1.0, 1.0, 1.0]
    """
    operation = "solveh_banded"
    below = flag(operation, "lower", lower)
    if check is True and condition is False:
        return execute_pair(SOLVEH_BANDED, ab, b, HermitianBandParams(below, True), out)
    tells = flag(operation, "condition", condition)
    if asks_for_mask(check):
        refuse_with_mask(operation, tells)
        ab, b = promoted(operation, ab, b)
        hermitian_band_shape(operation, ab.shape, b.shape, HermitianBandParams(below, False))
        return masked_result(
            operation,
            lambda x, y: solveh_banded(x, y, lower=below, check=False),
            ab,
            b,
            instead=_row_of_ones(0 if below else ab.shape[0] - 1, ab),
            out=out,
        )
    params = HermitianBandParams(below, checks(operation, check))
    if not tells:
        return execute_pair(SOLVEH_BANDED, ab, b, params, out)
    x = execute_pair(SOLVEH_BANDED, ab, b, params)
    if 0 not in ab.shape:
        width = ab.shape[0] - 1
        _warn_of_bands(operation, _whole_band(ab, below), width, width)
    return placed(operation, x, out, ab, b)


def _whole_band(half: Tensor, below: bool) -> Tensor:
    """Diagonals [2u + 1, N, B...] as :func:`solve_banded` takes them, of those on one side and the main one."""
    width = half.shape[0] - 1
    given = [half[number] for number in range(width + 1)]
    main = given.pop(0 if below else -1)
    if main.dtype.kind == "complex":
        main = add(multiply(main, 0.5), multiply(conj(main), 0.5))
    if below:
        mirrored = [roll(conj(line), distance, 0) for distance, line in enumerate(given, 1)]
        return stack([*mirrored[::-1], main, *given], 0)
    mirrored = [roll(conj(line), -distance, 0) for distance, line in enumerate(given[::-1], 1)]
    return stack([*given, main, *mirrored], 0)


def _warn_of_bands(operation: str, ab: Tensor, lower: int, upper: int) -> None:
    """Warn where banded matrices are ill-conditioned."""
    size, *batch = ab.shape[1:]
    columns = reshape(arange(size, placement=ab.placement), (size, *(1,) * len(batch)))
    sums: Tensor | None = None
    adjoint: list[Tensor] = []
    for number in range(lower + upper + 1):
        above = upper - number  # the diagonal
        inside = logical_and(greater_equal(columns, above), less(columns, size + above))
        line = where(inside, ab[number], 0.0)
        sums = abs(line) if sums is None else add(sums, abs(line))
        adjoint.insert(0, roll(conj(line), -above, 0))
    turned = stack(adjoint, 0)
    assert sums is not None
    norm = max(sums, 0)
    scale = scale_of(norm)
    inverse = estimated_one_norm(
        lambda x: solve_banded((lower, upper), ab, multiply(x, scale), check="mask").result,
        lambda x: solve_banded((upper, lower), turned, multiply(x, scale), check="mask").result,
        *(size, tuple(batch), ab.dtype, ab.placement),
    )
    warn_if_ill_conditioned(operation, divide(norm, scale), inverse)


def _row_of_ones(row: int, like: Tensor) -> Tensor:
    """[M, N] of ones in one row and zeros in the others."""
    rows, columns = like.shape[:2]
    chosen = eye(rows, dtype=like.dtype, placement=like.placement)[:, row : row + 1]
    return copy(broadcast_to(chosen, (rows, columns)))
