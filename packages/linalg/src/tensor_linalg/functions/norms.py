"""Norms of vectors and of matrices over trailing batch axes."""

from __future__ import annotations

from functools import partial
from math import inf, nan
from typing import Any, Final, Literal, TypeVar, overload

from tensor_core.dtypes import C32, C64, F32, F64, FLOATING, I32, I64, Bool, DType
from tensor_core.errors import ArgumentError, ShapeError, shortened
from tensor_core.shapes import Shape
from tensor_linalg.composed import failing_as, with_smaller
from tensor_linalg.decompositions import svdvals
from tensor_linalg.masking import Check, MaskedResult, asks_for_mask, checks, masked_result, unfailing
from tensor_linalg.operands import floating, holds, plain, require_finite, sum_is_finite
from tensor_linalg.solving.inverses import inv
from tensor_linalg.specs.shapes import matrix_axes, square_axes
from tensor_linalg.targets import placed
from tensor_runtime.dispatch.call import execute_with_params
from tensor_runtime.dispatch.dtype_rules import inexact
from tensor_runtime.dispatch.out import Out
from tensor_runtime.errors import SingularMatrixError
from tensor_runtime.ops import statistics
from tensor_runtime.ops.arithmetic import abs, divide, multiply
from tensor_runtime.ops.comparison import equal, greater
from tensor_runtime.ops.creation import full
from tensor_runtime.ops.exponential import exp2, log2
from tensor_runtime.ops.logic import logical_and, logical_not
from tensor_runtime.ops.reduction import all, any, max, min, sum
from tensor_runtime.ops.rounding import isfinite, isnan, round
from tensor_runtime.ops.selection import where
from tensor_runtime.ops.views import copy
from tensor_runtime.static_types.results import inexact_component_dtype
from tensor_runtime.tensors.tensor import Tensor, TypedTensor, unwrap

Order = float | str
OutT = TypeVar("OutT", bound=Tensor)
_Exact = TypedTensor[I32] | TypedTensor[I64] | TypedTensor[Bool]

_OF_SINGULAR_VALUES = (2, -2, "nuc")
_LENGTH: Final = (0, False, 2.0)
_FROBENIUS: Final = ((0, 1), False, 2.0)
"""What the kernel is asked for: axes, whether they stay, and the order. The usual calls ask for it at once."""
_LARGEST: Final[dict[DType, float]] = {F32: (2 - 2.0**-23) * 2.0**127, F64: (2 - 2.0**-52) * 2.0**1023}
"""Numbers of each dtype."""


@inexact_component_dtype
def vector_norm(x: Tensor, /, ord: float = 2, *, out: Out = None) -> Tensor:
    """Norms of vectors over the first axis, batch axes last.

    Args:
        x: shape [N, B...], any dtype.
        ord: p, as for ``tensor_runtime.norm``: 2 for the square root of the sum of |x|², 1, inf, -inf, 0 for the number
            of elements that are not 0, or any other number.
        out: where the result is written; see ``tensor_runtime.add``.

    Returns:
        Shape [B...]; F64 for integers and Bool, else real of the operand's precision. Nothing overflows or underflows
        on the way to a result that does not. The bounds are those of ``tensor_runtime.norm``.

    Raises:
        ShapeError: no axes.
        ArgumentError: an order that is NaN or no Python number; vectors without elements for minus infinity.

    Source: Python array API standard, ``vector_norm``, which has its vectors where ``axis`` says.

    >>> import tensor_runtime as tr
    >>> vector_norm(tr.tensor([[3.0, 1.0], [4.0, 0.0]])).to_numpy().tolist()
    [5.0, 1.0]
    """
    if unwrap("vector_norm", x)[0].rank == 0:
        raise ShapeError("vector_norm: a scalar; accepted: vectors [N, B...]", operation="vector_norm", shape=())
    if type(ord) is int and ord == 2 and out is None:
        return execute_with_params(statistics.NORM, x, _LENGTH)
    return _vector_norm("vector_norm", x, ord, out)


def _vector_norm(operation: str, x: Tensor, ord: object, out: Out) -> Tensor:
    order = _order_of_vectors(operation, ord)
    if order == -inf and x.shape[0] == 0:
        raise ArgumentError(
            f"{operation}: ord is -inf for vectors without elements, shape {x.shape}; accepted: one element at least",
            operation=operation,
            shape=x.shape,
        )
    return placed(operation, statistics.norm(x, order, 0), out, x)


@overload
def matrix_norm(
    a: TypedTensor[F32] | TypedTensor[C32], /, ord: Order = "fro", *, check: bool = True, out: None = None
) -> TypedTensor[F32]: ...
@overload
def matrix_norm(
    a: TypedTensor[F64] | TypedTensor[C64] | _Exact, /, ord: Order = "fro", *, check: bool = True, out: None = None
) -> TypedTensor[F64]: ...
@overload
def matrix_norm(a: Tensor, /, ord: Order = "fro", *, check: bool = True, out: OutT) -> OutT: ...
@overload
def matrix_norm(a: Tensor, /, ord: Order = "fro", *, check: bool = True, out: Out = None) -> Tensor: ...
@overload
def matrix_norm(
    a: Tensor, /, ord: Order = "fro", *, check: Literal["mask"], out: MaskedResult[Tensor] | None = None
) -> MaskedResult[Tensor]: ...
def matrix_norm(
    a: Tensor, /, ord: Order = "fro", *, check: Check = True, out: Any = None
) -> Tensor | MaskedResult[Tensor]:
    """Norms of matrices, batch axes last.

    Args:
        a: shape [M, N, B...]; any dtype, but F32, F64, C32 or C64 where singular values are needed.
        ord: "fro" (Frobenius), the root of the sum of |a|²; "nuc" (nuclear), the sum of the singular values; 2 and -2,
            the largest and the smallest of the min(M, N) singular values; 1 and -1, the largest and the smallest sum of
            |a| over a column; inf and -inf, over a row.
        check: for "nuc", 2 and -2, raise when an element is not finite; the others give NaN or infinity then.
            "mask" raises for no matrix of a batch, and gives a ``MaskedResult``: the result, NaN where a matrix has
            none, and a ``status`` of each, I32 [B...], which is 0 wherever the order takes any element.
        out: where the result is written; see ``tensor_runtime.add``.

    Returns:
        Shape [B...]; F64 for integers and Bool, else real of the operand's precision. Of matrices without elements 0,
        or infinity for negative orders. Orders by singular values are right to a few rounding units times max(M, N) and
        the largest singular value; what is beyond the range is infinite.

    Raises:
        ShapeError: fewer than two axes.
        DTypeError: an integer or Bool tensor where singular values are needed.
        ArgumentError: another order.
        NonFiniteError: NaN or an infinity, with ``batch_index`` and ``element_index``.
        NotConvergedError: LAPACK's iteration failed for the matrix at ``batch_index``.

    Source: Golub and Van Loan, Matrix Computations, 4th ed., §2.3.

    >>> import tensor_runtime as tr
    >>> a = tr.tensor([[1.0, -2.0], [0.0, 2.0]])
    >>> matrix_norm(a).item(), matrix_norm(a, 1).item(), matrix_norm(a, float("inf")).item()
    (3.0, 4.0, 3.0)
    """
    axes = matrix_axes("matrix_norm", unwrap("matrix_norm", a)[0].shape)
    if type(ord) is str and ord == "fro" and check is True and out is None:
        return execute_with_params(statistics.NORM, a, _FROBENIUS)
    found: Tensor | MaskedResult[Tensor] = _matrix_norm("matrix_norm", a, axes, ord, check, out)
    return found


def _matrix_norm(operation: str, a: Tensor, axes: tuple[int, int, Shape], ord: Order, check: Check, out: Any) -> Any:
    rows, columns, batch = axes
    order = _order(operation, "ord", ord)
    if check is not True and asks_for_mask(check):
        if order in _OF_SINGULAR_VALUES:
            floating(operation, a)
            return masked_result(operation, lambda x: matrix_norm(x, order, check=False), a, out=out)
        return unfailing(operation, _apart(a, order), batch, out, a)
    check = checks(operation, check)
    if order in _OF_SINGULAR_VALUES:
        floating(operation, a)
        if check:
            require_finite(operation, "a", a)
    if 0 in (rows, columns) and order != "fro":
        negative = isinstance(order, float) and order < 0
        nothing = full(batch, inf if negative else 0.0, dtype=inexact(a.dtype).component, placement=a.placement)
        return placed(operation, nothing, out, a)
    return placed(operation, _norms(operation, a, order), out, a)


def _apart(a: Tensor, order: Order) -> Tensor:
    """Norms of which those of finite matrices are what they are without the others, bit for bit."""
    a = a if a.is_compact else copy(a)  # with and without, as the order in which numbers are added depends on strides
    found = matrix_norm(a, order)
    if a.dtype not in FLOATING or not a.size:
        return found
    finite = all(isfinite(a), (0, 1))
    return where(finite, matrix_norm(where(finite, a, 1.0), order), found) if holds(any(logical_not(finite))) else found


def _norms(operation: str, a: Tensor, order: Order) -> Tensor:
    """Norms of matrices that have elements, unchecked."""
    if order == "fro":
        return statistics.norm(a, 2, (0, 1))
    if order in _OF_SINGULAR_VALUES:
        with failing_as(operation):
            values = svdvals(a, check=False)
            if (smaller := with_smaller(a, values)) is not None:
                values = divide(svdvals(smaller[0], check=False), smaller[1])
        return sum(values, 0) if order == "nuc" else copy(values[0 if order == 2 else -1])
    axis = 0 if order in (1, -1) else 1
    sums = sum(abs(a), axis) if a.dtype.kind == "complex" else statistics.norm(a, 1, axis)  # a tenth of the time
    return (max if order in (1, inf) else min)(sums, 0)


@overload
def norm(
    a: TypedTensor[F32] | TypedTensor[C32], /, ord: Order | None = None, *, check: bool = True, out: None = None
) -> TypedTensor[F32]: ...
@overload
def norm(
    a: TypedTensor[F64] | TypedTensor[C64] | _Exact,
    /,
    ord: Order | None = None,
    *,
    check: bool = True,
    out: None = None,
) -> TypedTensor[F64]: ...
@overload
def norm(a: Tensor, /, ord: Order | None = None, *, check: bool = True, out: OutT) -> OutT: ...
@overload
def norm(a: Tensor, /, ord: Order | None = None, *, check: bool = True, out: Out = None) -> Tensor: ...
@overload
def norm(
    a: Tensor, /, ord: Order | None = None, *, check: Literal["mask"], out: MaskedResult[Tensor] | None = None
) -> MaskedResult[Tensor]: ...
def norm(
    a: Tensor, /, ord: Order | None = None, *, check: Check = True, out: Any = None
) -> Tensor | MaskedResult[Tensor]:
    """Norm of one vector, or norms of matrices, batch axes last.

    A vector is a tensor of rank 1; for a batch of vectors see :func:`vector_norm`.

    Args:
        a: shape [N], or [M, N, B...].
        ord: as for :func:`vector_norm`, by default 2, or for :func:`matrix_norm`, by default "fro".
        check: as for :func:`matrix_norm`.
        out: where the result is written; see ``tensor_runtime.add``.

    Returns:
        Shape [B...], as of these functions.

    Raises:
        ShapeError: a scalar.
        ArgumentError: an order that is not defined for vectors or for matrices.
        DTypeError, NonFiniteError, NotConvergedError: as for :func:`matrix_norm`.

    >>> import tensor_runtime as tr
    >>> norm(tr.tensor([3.0, 4.0])).item(), norm(tr.tensor([[3.0, 0.0], [0.0, 4.0]]), "nuc").item()
    (5.0, 7.0)
    """
    rank = unwrap("norm", a)[0].rank
    if ord is None and rank > 0 and check is True and out is None:
        return execute_with_params(statistics.NORM, a, _LENGTH if rank == 1 else _FROBENIUS)
    if rank == 0:
        raise ShapeError("norm: a scalar; accepted: a vector [N], or matrices [M, N, B...]", operation="norm", shape=())
    mask = check is not True and asks_for_mask(check)
    checked: Check = "mask" if mask else checks("norm", check)
    if rank > 1:
        found: Tensor | MaskedResult[Tensor] = _matrix_norm(
            "norm", a, matrix_axes("norm", a.shape), "fro" if ord is None else ord, checked, out
        )
        return found
    found = _vector_norm("norm", a, 2 if ord is None else ord, None if mask else out)
    return unfailing("norm", found, (), out, a) if mask else found


@overload
def cond(
    a: TypedTensor[F32] | TypedTensor[C32], /, p: Order | None = None, *, check: bool = True, out: None = None
) -> TypedTensor[F32]: ...
@overload
def cond(
    a: TypedTensor[F64] | TypedTensor[C64], /, p: Order | None = None, *, check: bool = True, out: None = None
) -> TypedTensor[F64]: ...
@overload
def cond(a: Tensor, /, p: Order | None = None, *, check: bool = True, out: Out = None) -> Tensor: ...
@overload
def cond(
    a: Tensor, /, p: Order | None = None, *, check: Literal["mask"], out: MaskedResult[Tensor] | None = None
) -> MaskedResult[Tensor]: ...
def cond(
    a: Tensor, /, p: Order | None = None, *, check: Check = True, out: Any = None
) -> Tensor | MaskedResult[Tensor]:
    """Condition numbers of matrices: by how much a relative error may grow in a solution.

    Args:
        a: shape [M, N, B...]; F32, F64, C32 or C64; square unless ``p`` is 2, -2 or None.
        p: the norm, as for :func:`matrix_norm`; None and 2 give the largest singular value divided by the smallest,
            -2 the reciprocal of that; others the product of the norms of A and of its inverse.
        check: raise when an element is not finite.
            "mask" raises for no matrix of a batch, and gives a ``MaskedResult``: the result, NaN where a matrix has
            none, and a ``status`` of each, I32 [B...].
        out: where the result is written; see ``tensor_runtime.add``.

    Returns:
        Shape [B...], real; infinity for matrices without inverse or, for 2, with a singular value of 0. Owned.

    Raises:
        DTypeError: an integer or Bool tensor; convert it first.
        ShapeError: fewer than two axes, matrices without elements, or that are not square where they must be.
        ArgumentError: another order.
        NonFiniteError: NaN or an infinity, with ``batch_index`` and ``element_index``.
        NotConvergedError: LAPACK's iteration failed for the matrix at ``batch_index``.

    Source: Golub and Van Loan, Matrix Computations, 4th ed., §2.6.2.

    >>> import tensor_runtime as tr
    >>> cond(tr.tensor([[2.0, 0.0], [0.0, 0.5]])).item(), cond(tr.zeros((2, 2)), 1).item()
    (4.0, inf)
    """
    if check is not True and asks_for_mask(check):
        a = a if unwrap("cond", a)[0].is_compact else copy(a)  # as where another matrix is replaced
        return masked_result("cond", lambda x: cond(x, p, check=False), a, out=out)
    operation = "cond"
    check = checks(operation, check)
    rows, columns, _ = matrix_axes(operation, unwrap(operation, a)[0].shape)
    order = 2.0 if p is None else _order(operation, "p", p)
    floating(operation, a)
    if order not in (2, -2):
        square_axes(operation, a.shape)
    if 0 in (rows, columns):
        raise ShapeError(
            f"{operation}: operand of shape {a.shape} has no elements; accepted: one row and one column at least",
            operation=operation,
            shape=a.shape,
        )
    if order in (2, -2):
        with failing_as(operation):
            values = svdvals(a, check=check)
            ratios = divide(values[0], values[-1])
            usual = sum_is_finite(ratios)
            if not usual and (smaller := with_smaller(a, values)) is not None:
                values = svdvals(smaller[0], check=False)
                ratios = divide(values[0], values[-1])
        found = ratios if order == 2 else divide(values[-1], values[0])
        if not usual:
            found = where(equal(values[0], 0.0), inf, found)
        return placed(operation, found, out, a)
    try:
        with failing_as(operation):
            inverse = inv(a, check=check)
    except SingularMatrixError:
        inverse, status = inv(a, check="mask")
    else:
        return placed(operation, _product_of_norms(a, inverse, order), out, a)
    singular = greater(status, 1)
    inverse = where(singular, 0.0, inverse)
    found = _product_of_norms(a, inverse, order)
    return placed(operation, where(singular, inf, found), out, a)


def _product_of_norms(a: Tensor, inverse: Tensor, order: Order) -> Tensor:
    """The norms of matrices times those of their inverses; of matrices at the ends of the range, as of nearer ones."""
    norms = partial(_norms, "cond")
    usable = isfinite(sum(inverse, (0, 1)))
    if order == "nuc" and holds(any(logical_not(usable))):  # infinite matrices have no singular values
        usable = logical_and(all(isfinite(a), (0, 1)), all(isfinite(inverse), (0, 1)))
        found = multiply(norms(where(usable, a, 0.0), order), norms(where(usable, inverse, 0.0), order))
        found = where(usable, found, where(any(isnan(a), (0, 1)), nan, inf))
    else:
        found = multiply(norms(a, order), norms(inverse, order))
    beyond = greater(found, _LARGEST[a.dtype.component])
    if not holds(any(beyond)):
        return found
    largest = max(abs(a), (0, 1))
    half = exp2(round(multiply(log2(where(greater(largest, 0.0), largest, 1.0)), -0.5)))
    near = multiply(multiply(a, half), half)  # the power of both may be beyond the range
    inverse, status = inv(near, check="mask")
    fine = equal(status, 0)
    if order == "nuc":  # where the inverse is beyond the range, so is the product
        fine = logical_and(fine, all(isfinite(inverse), (0, 1)))
    else:
        inverse = where(isfinite(inverse), inverse, inf)
    again = multiply(norms(where(fine, near, 0.0), order), norms(where(fine, inverse, 0.0), order))
    return where(logical_and(fine, beyond), again, found)


def _order_of_vectors(operation: str, value: object) -> float:
    number = plain(value)
    if isinstance(number, (int, float)) and not isinstance(number, bool) and -inf <= number <= inf:
        try:
            return float(number)
        except OverflowError:  # an int beyond F64
            pass
    raise ArgumentError(
        f"{operation}: ord is {shortened(value)} for a vector; accepted: a number, inf and -inf", operation=operation
    )


def _order(operation: str, what: str, value: object) -> Order:
    if isinstance(value, str) and value in ("fro", "nuc"):
        return value
    number = plain(value)
    if isinstance(number, (int, float)) and not isinstance(number, bool) and number in (1, -1, 2, -2, inf, -inf):
        return float(number)
    raise ArgumentError(
        f"{operation}: {what} is {shortened(value)}; accepted: 'fro', 'nuc', 1, -1, 2, -2, inf, -inf",
        operation=operation,
    )
