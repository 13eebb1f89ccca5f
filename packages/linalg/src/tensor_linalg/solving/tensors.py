"""Linear systems whose unknowns and equations have several axes; the one place without batch axes."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, Literal, TypeVar, overload

from tensor_core.dtypes import TensorScalar
from tensor_core.errors import ArgumentError, ShapeError
from tensor_core.shapes import normalize_axes
from tensor_linalg.composed import failing_as
from tensor_linalg.decompositions.lu import lu_factor
from tensor_linalg.masking import Check, MaskedResult, asks_for_mask, checks
from tensor_linalg.operands import promoted, require_finite
from tensor_linalg.solving.condition import one_norm, refuse_with_mask, warn_if_ill_conditioned
from tensor_linalg.solving.factored import warn_of_factors
from tensor_linalg.solving.inverses import inv
from tensor_linalg.solving.systems import solve
from tensor_linalg.targets import delivered, placed
from tensor_runtime.dispatch.arguments import flag, whole, wholes
from tensor_runtime.dispatch.out import Out
from tensor_runtime.ops.views import permute_axes, reshape
from tensor_runtime.tensors.tensor import Tensor, TypedTensor, owned

T = TypeVar("T", bound=TensorScalar)


@overload
def tensorsolve(
    a: TypedTensor[T],
    b: TypedTensor[T],
    /,
    axes: Sequence[int] | None = None,
    *,
    check: bool = True,
    condition: bool = False,
    out: None = None,
) -> TypedTensor[T]: ...
@overload
def tensorsolve(
    a: Tensor,
    b: Tensor,
    /,
    axes: Sequence[int] | None = None,
    *,
    check: bool = True,
    condition: bool = False,
    out: Out = None,
) -> Tensor: ...
@overload
def tensorsolve(
    a: Tensor,
    b: Tensor,
    /,
    axes: Sequence[int] | None = None,
    *,
    check: Literal["mask"],
    out: MaskedResult[Tensor] | None = None,
) -> MaskedResult[Tensor]: ...
def tensorsolve(
    a: Tensor,
    b: Tensor,
    /,
    axes: Sequence[int] | None = None,
    *,
    check: Check = True,
    condition: bool = False,
    out: Any = None,
) -> Tensor | MaskedResult[Tensor]:
    """The tensor x with ``tensordot(a, x, x.rank) == b``.

    Args:
        a: shape [equations..., unknowns...], where the equations have the shape of ``b`` and there are as many unknowns
            as equations; F32, F64, C32 or C64. There are no batch axes.
        b: the right-hand side, any shape.
        axes: axes of ``a`` that are moved to its end first, in this order.
        check: raise when an element is not finite. "mask" raises for no values, and gives a ``MaskedResult``: the
            result and its ``status``, I32 [], 0 fine, 1 not finite, 2 exactly singular; NaN where it is not 0.
        condition: warn where the condition number of the matrix, in the 1-norm, is so large that the result may have no
            correct digit; as for :func:`solve`.
        out: where the result is written; see ``tensor_runtime.add``.

    Returns:
        x of the shape [unknowns...]; owned, compact, of the promoted dtype, with the bound of :func:`solve`.

    Warns:
        IllConditionedWarning: on request.

    Raises:
        DTypeError: an integer or Bool tensor; convert it first.
        ArgumentError: both ``condition`` and ``check="mask"``.
        ShapeError: the first axes of ``a`` are not those of ``b``, or there are not as many unknowns as equations.
        AxisError: an axis out of range or named twice.
        NonFiniteError: NaN or an infinity, with ``operand`` and ``element_index``.
        SingularMatrixError: an exactly zero pivot.
        PlacementError: the operands live in different places.

    Source: NumPy's ``tensorsolve``; LAPACK xGESV.

    >>> import tensor_runtime as tr
    >>> a = tr.reshape_view(tr.eye(4), (2, 2, 4))
    >>> tensorsolve(a, tr.tensor([[1.0, 3.0], [2.0, 4.0]])).to_numpy().tolist()
    [1.0, 2.0, 3.0, 4.0]
    """
    operation = "tensorsolve"
    mask = check is not True and asks_for_mask(check)
    checked, warns = mask or checks(operation, check), flag(operation, "condition", condition)
    refuse_with_mask(operation, mask and warns)
    given = a, b
    a, b = promoted(operation, a, b)
    whole_a = a
    if axes is not None:
        last = normalize_axes(wholes(operation, "axes", axes), a.rank, operation)
        a = permute_axes(a, (*(axis for axis in range(a.rank) if axis not in last), *last))
    unknowns = a.shape[b.rank :]
    if a.shape[: b.rank] != b.shape or prod(unknowns) != prod(b.shape):
        raise ShapeError(
            f"{operation}: a of shape {a.shape} and b of shape {b.shape} do not fit; accepted: the axes of b, then "
            f"axes of {prod(b.shape)} elements together",
            operation=operation,
            shapes=(a.shape, b.shape),
        )
    size = prod(b.shape)
    matrix, side = reshape(a, (size, size)), reshape(b, (size,))
    if mask:
        result, status = solve(matrix, side, check="mask")
        return delivered(operation, MaskedResult(owned(reshape(result, unknowns)), status), out, *given)
    if checked:
        require_finite(operation, "a", whole_a, whole_a.rank)
        require_finite(operation, "b", b, b.rank)
    with failing_as(operation):
        found = solve(matrix, side, check=False)
    if warns and size:
        warn_of_factors(operation, lu_factor(matrix, check=False), one_norm(matrix))
    return placed(operation, owned(reshape(found, unknowns)), out, *given)


@overload
def tensorinv(
    a: TypedTensor[T], /, ind: int = 2, *, check: bool = True, condition: bool = False, out: None = None
) -> TypedTensor[T]: ...
@overload
def tensorinv(
    a: Tensor, /, ind: int = 2, *, check: bool = True, condition: bool = False, out: Out = None
) -> Tensor: ...
@overload
def tensorinv(
    a: Tensor, /, ind: int = 2, *, check: Literal["mask"], out: MaskedResult[Tensor] | None = None
) -> MaskedResult[Tensor]: ...
def tensorinv(
    a: Tensor, /, ind: int = 2, *, check: Check = True, condition: bool = False, out: Any = None
) -> Tensor | MaskedResult[Tensor]:
    """The tensor x with which ``tensordot(x, b, ind)`` solves ``tensorsolve(a, b)``.

    Args:
        a: shape [equations..., unknowns...], as many elements of the one as of the other; F32, F64, C32 or C64. There
            are no batch axes.
        ind: how many of the axes are those of the equations.
        check: as for :func:`tensorsolve`.
        condition: warn where the condition number of the matrix, in the 1-norm, is so large that the result may have no
            correct digit.
        out: where the result is written; see ``tensor_runtime.add``.

    Returns:
        Shape [unknowns..., equations...]; owned, compact, with the bound of :func:`inv`.

    Warns:
        IllConditionedWarning: on request.

    Raises:
        DTypeError: an integer or Bool tensor; convert it first.
        ShapeError: not as many unknowns as equations.
        ArgumentError: ``ind`` is no int between 1 and the rank; both ``condition`` and ``check="mask"``.
        NonFiniteError: NaN or an infinity.
        SingularMatrixError: an exactly zero pivot.

    Source: NumPy's ``tensorinv``; LAPACK xGETRI.

    >>> import tensor_runtime as tr
    >>> tensorinv(tr.reshape_view(2.0 * tr.eye(6), (2, 3, 6))).shape
    (6, 2, 3)
    """
    operation = "tensorinv"
    mask = check is not True and asks_for_mask(check)
    checked, warns = mask or checks(operation, check), flag(operation, "condition", condition)
    refuse_with_mask(operation, mask and warns)
    ind, given = whole(operation, "ind", ind), a
    (a,) = promoted(operation, a)
    if not 1 <= ind <= a.rank:
        raise ArgumentError(
            f"{operation}: ind is {ind} for a tensor of rank {a.rank}; accepted: 1 to its rank", operation=operation
        )
    equations, unknowns = a.shape[:ind], a.shape[ind:]
    size = prod(equations)
    if prod(unknowns) != size:
        raise ShapeError(
            f"{operation}: {size} equations in axes {equations} and {prod(unknowns)} unknowns in {unknowns}; "
            "accepted: as many of the one as of the other",
            operation=operation,
            shape=a.shape,
        )
    matrix, shape = reshape(a, (size, size)), (*unknowns, *equations)
    if mask:
        result, status = inv(matrix, check="mask")
        return delivered(operation, MaskedResult(owned(reshape(result, shape)), status), out, given)
    if checked:
        require_finite(operation, "a", a, a.rank)
    with failing_as(operation):
        found = inv(matrix, check=False)
    if warns and size:
        warn_if_ill_conditioned(operation, one_norm(matrix), one_norm(found), 3)
    return placed(operation, owned(reshape(found, shape)), out, given)
