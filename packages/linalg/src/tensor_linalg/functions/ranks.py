"""Ranks, ranges and null spaces, by singular values."""

from __future__ import annotations

from math import inf
from typing import Any, Final, Literal, overload

from tensor_core.dtypes import FLOATING, I64
from tensor_core.errors import ShapeError
from tensor_linalg.composed import SMALLER, failing_as, with_smaller
from tensor_linalg.decompositions import SVDResult, eigvalsh, svd, svdvals
from tensor_linalg.masking import Check, MaskedResult, asks_for_mask, checks, masked_result
from tensor_linalg.operands import floating, number, require_finite
from tensor_linalg.products import mH
from tensor_linalg.specs.shapes import matrix_axes, square_axes
from tensor_linalg.targets import placed
from tensor_linalg.tolerances import counted, tolerances
from tensor_runtime.dispatch.arguments import flag
from tensor_runtime.dispatch.call import execute_with_params
from tensor_runtime.dispatch.out import Out
from tensor_runtime.ops.arithmetic import abs, multiply
from tensor_runtime.ops.creation import eye, zeros
from tensor_runtime.ops.gather_scatter import nonzero
from tensor_runtime.ops.reduction import SUM
from tensor_runtime.ops.views import copy
from tensor_runtime.tensors.tensor import Tensor, TypedTensor, unwrap

_FIRST_AXIS: Final = (0, False)


@overload
def matrix_rank(
    a: Tensor, /, *, rtol: float | Tensor | None = None, hermitian: bool = False, check: bool = True, out: None = None
) -> TypedTensor[I64]: ...
@overload
def matrix_rank(
    a: Tensor, /, *, rtol: float | Tensor | None = None, hermitian: bool = False, check: bool = True, out: Out = None
) -> Tensor: ...
@overload
def matrix_rank(
    a: Tensor,
    /,
    *,
    rtol: float | Tensor | None = None,
    hermitian: bool = False,
    check: Literal["mask"],
    out: MaskedResult[Tensor] | None = None,
) -> MaskedResult[Tensor]: ...
def matrix_rank(
    a: Tensor, /, *, rtol: float | Tensor | None = None, hermitian: bool = False, check: Check = True, out: Any = None
) -> Tensor | MaskedResult[Tensor]:
    """Ranks of matrices: how many singular values are above a tolerance.

    Args:
        a: shape [M, N, B...]; F32, F64, C32 or C64.
        rtol: singular values up to this times the largest one of the same matrix do not count: a number, or a tensor
            [B...]. None is max(M, N) times the dtype's rounding unit.
        hermitian: take the matrices to be Hermitian, of which the lower triangle is read; this is faster.
        check: raise when an element is not finite.
            "mask" raises for no matrix of a batch, and gives a ``MaskedResult``: the rank, that of an identity where a
            matrix has none, and a ``status`` of each, I32 [B...].
        out: where the result is written; see ``tensor_runtime.add``.

    Returns:
        I64 of shape [B...]; owned.

    Raises:
        DTypeError: an integer or Bool tensor; convert it first. A complex or Bool ``rtol``.
        ShapeError: fewer than two axes; matrices that are not square where ``hermitian`` says so.
        ArgumentError: an ``rtol`` that is negative or not finite.
        NonFiniteError: NaN or an infinity, with ``batch_index`` and ``element_index``.
        NotConvergedError: LAPACK's iteration failed for the matrix at ``batch_index``.

    Source: Golub and Van Loan, Matrix Computations, 4th ed., §5.4.1.

    >>> import tensor_runtime as tr
    >>> matrix_rank(tr.tensor([[1.0, 2.0], [2.0, 4.0]])).item()
    1
    """
    if check is not True and asks_for_mask(check):

        def ranks(x: Tensor, tolerance: Tensor | None = None) -> Tensor:
            one = rtol if tolerance is None else tolerance[0, 0]
            return matrix_rank(x, rtol=one, hermitian=hermitian, check=False)

        matrix_axes("matrix_rank", unwrap("matrix_rank", a)[0].shape)
        return masked_result("matrix_rank", ranks, a, beside=tolerances("matrix_rank", a, rtol), out=out)
    operation = "matrix_rank"
    hermitian, check = flag(operation, "hermitian", hermitian), check is True or checks(operation, check)
    form, _ = unwrap(operation, a)
    rows, columns, batch = matrix_axes(operation, form.shape)
    if form.dtype not in FLOATING:
        floating(operation, a)
    if hermitian:
        square_axes(operation, a.shape)
    if 0 in (rows, columns):
        return placed(operation, zeros(batch, dtype=I64, placement=a.placement), out, a)
    with failing_as(operation):
        sizes = abs(eigvalsh(a, check=check)) if hermitian else svdvals(a, check=check)
        if (smaller := with_smaller(a, sizes)) is not None:
            sizes = abs(eigvalsh(smaller[0], check=False)) if hermitian else svdvals(smaller[0], check=False)
    found = execute_with_params(SUM, counted(operation, sizes, (rows, columns), rtol), _FIRST_AXIS)
    return found if out is None else placed(operation, found, out, a)


def orth(a: Tensor, /, *, rtol: float | Tensor | None = None, check: bool = True, out: Out = None) -> Tensor:
    """Orthonormal basis of the range of one matrix.

    Args:
        a: shape [M, N], without batch axes, as ranks differ from matrix to matrix; F32, F64, C32 or C64.
        rtol: as for :func:`matrix_rank`; a tensor has the shape [].
        check: raise when an element is not finite. "mask" is refused: a matrix that fails has no rank, by which the
            result would have a shape.
        out: where the result is written, of the rank that is found, which may be known beforehand; see
            ``tensor_runtime.add``.

    Returns:
        Shape [M, rank], the left singular vectors that count; owned, compact. The rank is a value, which the
        host waits for.

    Raises:
        ShapeError: not two axes.
        DTypeError, ArgumentError, NonFiniteError, NotConvergedError: as for :func:`matrix_rank`.

    Source: Golub and Van Loan, Matrix Computations, 4th ed., §2.4.2; SciPy's ``orth``.

    >>> import tensor_runtime as tr
    >>> abs(orth(tr.tensor([[1.0, 1.0], [0.0, 0.0]]))).to_numpy().round(12).tolist()
    [[1.0], [0.0]]
    """
    _prepare("orth", a, check, rtol)
    if 0 in a.shape:
        return placed("orth", zeros((a.shape[0], 0), dtype=a.dtype, placement=a.placement), out, a)
    rank, (u, _, _) = _rank_and_factors("orth", a, rtol, False)
    return placed("orth", copy(u[:, :rank]), out, a)


def null_space(a: Tensor, /, *, rtol: float | Tensor | None = None, check: bool = True, out: Out = None) -> Tensor:
    """Orthonormal basis of the vectors that one matrix takes to zero.

    Args:
        a: shape [M, N], without batch axes, as ranks differ from matrix to matrix; F32, F64, C32 or C64.
        rtol: as for :func:`matrix_rank`; a tensor has the shape [].
        check: raise when an element is not finite. "mask" is refused: a matrix that fails has no rank, by which the
            result would have a shape.
        out: where the result is written, of the rank that is found, which may be known beforehand; see
            ``tensor_runtime.add``.

    Returns:
        X of shape [N, N - rank] with A X ≈ 0, the right singular vectors that do not count; owned, compact. The rank is
        a value: the host waits for it.

    Raises:
        ShapeError: not two axes.
        DTypeError, ArgumentError, NonFiniteError, NotConvergedError: as for :func:`matrix_rank`.

    Source: Golub and Van Loan, Matrix Computations, 4th ed., §2.4.2; SciPy's ``null_space``.

    >>> import tensor_runtime as tr
    >>> abs(null_space(tr.tensor([[1.0, 0.0]]))).to_numpy().round(12).tolist()
    [[0.0], [1.0]]
    """
    _prepare("null_space", a, check, rtol)
    rows, columns = a.shape
    if 0 in a.shape:
        return placed("null_space", eye(columns, dtype=a.dtype, placement=a.placement), out, a)
    # thin factors of a wide matrix lack the vectors looked for
    rank, (_, _, vh) = _rank_and_factors("null_space", a, rtol, rows < columns)
    return placed("null_space", copy(mH(vh[rank:])), out, a)


def _rank_and_factors(operation: str, a: Tensor, rtol: float | Tensor | None, full: bool) -> tuple[int, SVDResult]:
    def found(x: Tensor) -> tuple[int, SVDResult]:
        with failing_as(operation):
            factors = svd(x, full=full, check=False)
        return nonzero(counted(operation, factors.s, (a.shape[0], a.shape[1]), rtol))[0].shape[0], factors

    rank, factors = found(a)
    if rank == 0 and factors.s[0].item() == inf:  # no value is above a part of that one
        return found(multiply(a, SMALLER))
    return rank, factors


def _prepare(operation: str, a: Tensor, check: bool, rtol: float | Tensor | None) -> None:
    if unwrap(operation, a)[0].rank != 2:
        raise ShapeError(
            f"{operation}: operand of shape {a.shape}; accepted: one matrix [M, N], without batch axes",
            operation=operation,
            shape=a.shape,
        )
    floating(operation, a)
    if rtol is not None and not isinstance(rtol, Tensor):
        number(operation, "rtol", rtol, "None or a number from 0 on")
    if flag(operation, "check", check):
        require_finite(operation, "a", a)
