"""Triangular systems over trailing batch axes, by substitution."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypeVar, overload

from tensor_core.dtypes import Bool, TensorScalar
from tensor_core.errors import ArgumentError, ShapeError
from tensor_linalg.composed import failing_as, floating_form
from tensor_linalg.masking import Check, MaskedResult, asks_for_mask, checks, screened_result
from tensor_linalg.operands import promoted, require_finite, with_batch
from tensor_linalg.products import matmul, mH, mT
from tensor_linalg.solving.condition import (
    Apply,
    estimated_one_norm,
    one_norm,
    refuse_with_mask,
    scale_of,
    warn_if_ill_conditioned,
)
from tensor_linalg.solving.substitution import substituted, what_is_read
from tensor_linalg.specs.solving import solve_shape
from tensor_linalg.targets import delivered, given_up, placed
from tensor_runtime.dispatch.arguments import choice, flag
from tensor_runtime.dispatch.out import Out, check_distinct
from tensor_runtime.errors import NonFiniteError
from tensor_runtime.ops.arithmetic import divide, multiply
from tensor_runtime.ops.comparison import equal
from tensor_runtime.ops.creation import eye, zeros
from tensor_runtime.ops.diagonals import extract_diagonal
from tensor_runtime.ops.reduction import any
from tensor_runtime.ops.selection import where
from tensor_runtime.ops.views import broadcast_to, copy
from tensor_runtime.primitives.linalg import triangular_solve as substitute
from tensor_runtime.tensors.tensor import Tensor, TypedTensor, unwrap

R = TypeVar("R")
T = TypeVar("T", bound=TensorScalar)


@overload
def triangular_solve(
    a: TypedTensor[T],
    b: TypedTensor[T],
    /,
    *,
    lower: bool = False,
    transpose: bool = False,
    adjoint: bool = False,
    unit_diagonal: bool = False,
    side: str = "left",
    check: bool = True,
    condition: bool = False,
    overwrite: bool = False,
    out: None = None,
) -> TypedTensor[T]: ...
@overload
def triangular_solve(
    a: Tensor,
    b: Tensor,
    /,
    *,
    lower: bool = False,
    transpose: bool = False,
    adjoint: bool = False,
    unit_diagonal: bool = False,
    side: str = "left",
    check: bool = True,
    condition: bool = False,
    overwrite: bool = False,
    out: Out = None,
) -> Tensor: ...
@overload
def triangular_solve(
    a: Tensor,
    b: Tensor,
    /,
    *,
    lower: bool = False,
    transpose: bool = False,
    adjoint: bool = False,
    unit_diagonal: bool = False,
    side: str = "left",
    check: Literal["mask"],
    out: MaskedResult[Tensor] | None = None,
) -> MaskedResult[Tensor]: ...
def triangular_solve(
    a: Tensor,
    b: Tensor,
    /,
    *,
    lower: bool = False,
    transpose: bool = False,
    adjoint: bool = False,
    unit_diagonal: bool = False,
    side: str = "left",
    check: Check = True,
    condition: bool = False,
    overwrite: bool = False,
    out: Any = None,
) -> Tensor | MaskedResult[Tensor]:
    """The x with op(A) x = b, or x op(A) = b, where A is triangular; by substitution.

    Only one triangle of A is read: elsewhere may be anything, such as another factor kept in one matrix, or NaN.

    Args:
        a: shape [N, N, B...]; F32, F64, C32 or C64.
        b: shape [N, M, B...] of any of these dtypes, or [N] when ``a`` is [N, N]; [M, N, B...] for ``side="right"``.
            The batch shapes are equal or broadcast among themselves, aligned at the last axis.
        lower: whether A is lower triangular, as what :func:`cholesky` gives: True is to be given with that. Else A is
            upper triangular, and of a lower one the diagonal alone is read.
        transpose: op(A) is Aᵀ; ``lower`` describes A itself.
        adjoint: op(A) is Aᴴ; at most one of the two.
        unit_diagonal: take the diagonal to be ones, and do not read it.
        side: "left" for op(A) x = b, "right" for x op(A) = b.
        check: raise when an element that is read is not finite, or a diagonal element is exactly zero. Without it a
            zero gives infinities or NaN.
            "mask" raises for no matrix of a batch, and gives a ``MaskedResult``: the result, NaN where a matrix has
            none, and a ``status`` of each, I32 [B...].
        condition: warn where the condition number of a matrix, in the 1-norm, is so large that the result may have no
            correct digit; it is estimated with six vectors.
        overwrite: give up ``b``, an owned tensor or a mutable view: its elements are unspecified afterwards, and its
            memory may be the result's, so that a large system needs none beside it.
        out: where the result is written; see ``tensor_runtime.add``.

    Returns:
        x of the shape of ``b`` with the batch shapes broadcast; owned, compact, of the promoted dtype. Each column
        solves a system whose matrix differs from A by at most N rounding units of each of its elements. What is beyond
        the dtype's range, as products may be, makes infinities or NaN.

    Raises:
        DTypeError: an integer or Bool tensor; convert it first.
        ShapeError: matrices that are not square, shapes that do not fit, or no column axis.
        ArgumentError: another side, or both ``transpose`` and ``adjoint``.
        NonFiniteError: NaN or an infinity, with ``operand``, ``batch_index`` and ``element_index``.
        SingularMatrixError: the matrix at ``batch_index`` (of ``a``) has a zero on its diagonal.
        PlacementError: the operands live in different places.

    Source: BLAS xTRSM; Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., theorem 8.5.

    >>> import tensor_runtime as tr
    >>> triangular_solve(tr.tensor([[2.0, 1.0], [0.0, 4.0]]), tr.tensor([4.0, 8.0])).to_numpy().tolist()
    [1.0, 2.0]
    """
    operation = "triangular_solve"
    masks, check = check, check is True or (not asks_for_mask(check) and check)
    options = {"lower": lower, "transpose": transpose, "adjoint": adjoint, "unit_diagonal": unit_diagonal}
    lower, transpose, adjoint, unit_diagonal = (flag(operation, name, value) for name, value in options.items())
    check = checks(operation, check)
    if transpose and adjoint:
        raise ArgumentError(f"{operation}: both transpose and adjoint; accepted: one of them", operation=operation)
    left = choice(operation, "side", side, ("left", "right")) == "left"
    # x op(A) = b is op(A)ᵀ xᵀ = bᵀ; the transpose of Aᴴ is the conjugate of A
    turned = (transpose or adjoint) == left
    params = lower, turned, adjoint, unit_diagonal
    if not left:
        shapes = unwrap(operation, a)[0].shape, unwrap(operation, b)[0].shape
        if len(shapes[1]) < 2:
            raise ShapeError(
                f"{operation}: b of shape {b.shape} has no rows; accepted: [M, N, B...] for side='right'",
                operation=operation,
                shapes=shapes,
            )
    if asks_for_mask(masks):
        flag(operation, "overwrite", overwrite)  # a hint, which is dropped
        refuse_with_mask(operation, flag(operation, "condition", condition))

        def solved(x: Tensor, y: Tensor) -> Tensor:
            return substituted(operation, x, y, *params, False)

        if left:
            return _masked(operation, a, b, solved, out, lower, unit_diagonal)
        result, status = _on_the_right(
            operation, a, b, lambda turned: _masked(operation, a, turned, solved, None, lower, unit_diagonal)
        )
        return delivered(operation, MaskedResult(copy(mT(result)), status), out, a, b)
    if flag(operation, "condition", condition):
        _warn(operation, a, lower, unit_diagonal, False)
    b, gives_up = taken(operation, overwrite, a, b)
    if left:
        return placed(operation, substituted(operation, a, b, *params, check, gives_up), out, a, b)
    found = mT(_on_the_right(operation, a, b, lambda turned: substituted(operation, a, turned, *params, check)))
    return copy(found) if out is None else placed(operation, found, out, a, b)


@overload
def cho_solve(
    factor: TypedTensor[T],
    b: TypedTensor[T],
    /,
    *,
    lower: bool = True,
    check: bool = True,
    condition: bool = False,
    overwrite: bool = False,
    out: None = None,
) -> TypedTensor[T]: ...
@overload
def cho_solve(
    factor: Tensor,
    b: Tensor,
    /,
    *,
    lower: bool = True,
    check: bool = True,
    condition: bool = False,
    overwrite: bool = False,
    out: Out = None,
) -> Tensor: ...
@overload
def cho_solve(
    factor: Tensor, b: Tensor, /, *, lower: bool = True, check: Literal["mask"], out: MaskedResult[Tensor] | None = None
) -> MaskedResult[Tensor]: ...
def cho_solve(
    factor: Tensor,
    b: Tensor,
    /,
    *,
    lower: bool = True,
    check: Check = True,
    condition: bool = False,
    overwrite: bool = False,
    out: Any = None,
) -> Tensor | MaskedResult[Tensor]:
    """The x with A x = b, given the Cholesky factor of A.

    Args:
        factor: L [N, N, B...] with A = L Lᴴ, of which the lower triangle is read; see :func:`cholesky`.
        b: shape [N, M, B...], or [N] when ``factor`` is [N, N]. The batch shapes are equal or broadcast among
            themselves, aligned at the last axis.
        lower: whether the factor is lower triangular; else it is U with A = Uᴴ U, and its upper triangle is read.
        check: raise when an element that is read is not finite, or a diagonal element is exactly zero.
            "mask" raises for no matrix of a batch, and gives a ``MaskedResult``: the result, NaN where a matrix has
            none, and a ``status`` of each, I32 [B...].
        condition: warn where the condition number of a matrix, in the 1-norm, is so large that the result may have no
            correct digit; it is estimated with twelve vectors and the factor.
        overwrite: give up ``b``, an owned tensor or a mutable view: its elements are unspecified afterwards, and its
            memory may be the result's, so that a large system needs none beside it.
        out: where the result is written; see ``tensor_runtime.add``.

    Returns:
        x of the shape of ``b`` with the batch shapes broadcast; owned, compact, of the promoted dtype. The residual
        b - A x is a few rounding units of the dtype times N times the norms of A and x.

    Raises:
        DTypeError: an integer or Bool tensor; convert it first.
        ShapeError: matrices that are not square, shapes that do not fit, or no column axis.
        ArgumentError: another ``lower``, ``check``, ``condition`` or ``overwrite``.
        NonFiniteError: NaN or an infinity, with ``operand``, ``batch_index`` and ``element_index``.
        SingularMatrixError: the factor at ``batch_index`` has a zero on its diagonal.
        PlacementError: the operands live in different places.

    Source: LAPACK xPOTRS; Golub and Van Loan, Matrix Computations, 4th ed., §4.2.

    >>> import tensor_runtime as tr
    >>> from tensor_linalg import cholesky
    >>> cho_solve(cholesky(tr.tensor([[4.0, 2.0], [2.0, 5.0]])), tr.tensor([8.0, 12.0])).to_numpy().tolist()
    [1.0, 2.0]
    """
    operation, lower = "cho_solve", flag("cho_solve", "lower", lower)
    forms = floating_form(operation, factor, "operand factor"), floating_form(operation, b, "operand b")
    solve_shape(operation, forms[0].shape, forms[1].shape, True, "factor")
    if check is not True and asks_for_mask(check):
        flag(operation, "overwrite", overwrite)  # a hint, which is dropped
        refuse_with_mask(operation, flag(operation, "condition", condition))
        return _masked(operation, factor, b, lambda x, y: cho_solve(x, y, lower=lower, check=False), out, lower, False)
    check = checks(operation, check)
    b, gives_up = taken(operation, overwrite, factor, b)
    if flag(operation, "condition", condition):
        _warn(operation, factor, lower, False, True)
    with failing_as(operation, None, "factor"):
        half = substituted("triangular_solve", factor, b, lower, not lower, not lower, False, check, gives_up)
    found = substituted(operation, factor, half, lower, lower, lower, False, False, True)
    return placed(operation, found, out, factor, b)


def taken(operation: str, overwrite: bool, a: Tensor, b: Tensor, /) -> tuple[Tensor, bool]:
    """The right-hand sides, and whether their memory may be taken, which ``a`` must not share then.

    >>> import tensor_runtime as tr
    >>> taken("cho_solve", True, tr.eye(1), tr.ones(1))[1]
    True
    """
    if overwrite is False or not flag(operation, "overwrite", overwrite):
        return b, False
    (b,) = given_up(operation, b)
    check_distinct(operation, b, a)
    return b, True


def _warn(operation: str, a: Tensor, lower: bool, unit_diagonal: bool, squared: bool) -> None:
    """Warn where triangles are ill-conditioned, or where what they are a Cholesky factor of is."""
    if 0 in unwrap(operation, a)[0].shape:
        return
    diagonal = broadcast_to(with_batch(eye(a.shape[0], dtype=Bool, placement=a.placement), 2, a.shape[2:]), a.shape)
    triangle = where(diagonal, 1.0 if unit_diagonal else a, what_is_read(a, lower, True))
    facts = (a.shape[0], a.shape[2:], a.dtype, a.placement)
    options = {"lower": lower, "unit_diagonal": unit_diagonal}

    scale = scale_of(norm := one_norm(triangle))

    def solved(adjoint: bool) -> Apply:
        def once(x: Tensor, turned: bool) -> Tensor:
            return substitute(a, multiply(x, scale), transpose=turned, conjugate=turned, **options)

        if not squared:
            return lambda x: once(x, adjoint)
        return lambda x: once(once(x, not lower), lower)  # L⁻¹ or U⁻ᴴ comes first

    norm, triangle = divide(norm, scale), divide(triangle, scale)
    if squared:

        def whole(x: Tensor) -> Tensor:
            return matmul(triangle, matmul(mH(triangle), x)) if lower else matmul(mH(triangle), matmul(triangle, x))

        norm = estimated_one_norm(whole, whole, *facts)
    warn_if_ill_conditioned(operation, norm, estimated_one_norm(solved(False), solved(True), *facts))


def _on_the_right(operation: str, a: Tensor, b: Tensor, run: Callable[[Tensor], R]) -> R:
    """What ``run`` gives for bᵀ; where it refuses b, the error tells of b itself."""
    try:
        return run(mT(b))
    except ShapeError:
        size = a.shape[0] if a.rank else 0
        if a.shape[:2] != (size, size) or b.shape[1] == size:
            raise
        raise ShapeError(
            f"{operation}: a of shape {a.shape} and b of shape {b.shape} do not fit; "
            f"accepted: b of shape [M, N, B...] with N = {size} for side='right'",
            operation=operation,
            shapes=(a.shape, b.shape),
        ) from None
    except NonFiniteError as error:
        if vars(error)["operand"] == "b":
            require_finite(operation, "b", b)
        raise


def _masked(
    operation: str, a: Tensor, b: Tensor, run: Callable[..., Tensor], out: Any, lower: bool, unit_diagonal: bool
) -> MaskedResult[Tensor]:
    """Everything that fails is seen before anything is computed, and ``run`` looks at nothing."""
    a, b = promoted(operation, a, b)
    solve_shape(operation, a.shape, b.shape, False)
    failed = None if unit_diagonal else any(equal(extract_diagonal(a), 0.0), -1)
    safe = (
        eye(a.shape[0], dtype=a.dtype, placement=a.placement),
        zeros(b.shape[:2], dtype=b.dtype, placement=b.placement),
    )
    operands = what_is_read(a, lower, unit_diagonal), b
    return screened_result(operation, run, operands, safe, failed=failed, out=out)
