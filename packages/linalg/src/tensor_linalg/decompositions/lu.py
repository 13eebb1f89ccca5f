"""LU decompositions over trailing batch axes, and systems solved with them."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, overload

from tensor_core.dtypes import Bool
from tensor_core.errors import ArgumentError, ShapeError
from tensor_core.promotion import promote
from tensor_linalg.composed import failing_as, floating_form, matrices
from tensor_linalg.operands import require_regular, with_batch
from tensor_linalg.results import fields_text
from tensor_linalg.specs.decompositions import LU_COMPLETE, LU_FACTOR
from tensor_linalg.specs.solving import solve_shape
from tensor_runtime.dispatch.arguments import choice, flag
from tensor_runtime.dispatch.call import execute_parts
from tensor_runtime.dispatch.conversion import convert
from tensor_runtime.ops.comparison import equal
from tensor_runtime.ops.creation import eye
from tensor_runtime.ops.diagonals import extract_diagonal, tril, triu
from tensor_runtime.ops.gather_scatter import take_along_axis
from tensor_runtime.ops.reduction import any
from tensor_runtime.ops.selection import where
from tensor_runtime.ops.sort import argsort
from tensor_runtime.ops.views import broadcast_in_dim, expand_dims, reshape_view
from tensor_runtime.primitives.linalg import triangular_solve
from tensor_runtime.tensors.tensor import Tensor, unwrap

_PIVOTING = ("partial", "complete")


class LUResult(NamedTuple):
    """Factors of A with its rows in another order, A[permutation] = l u."""

    permutation: Tensor
    l: Tensor
    u: Tensor

    def __repr__(self) -> str:
        return fields_text(self)


class CompleteLUResult(NamedTuple):
    """Factors of A with its rows and columns in another order, A[rows][:, columns] = l u."""

    rows: Tensor
    columns: Tensor
    l: Tensor
    u: Tensor

    def __repr__(self) -> str:
        return fields_text(self)


class LUFactors(NamedTuple):
    """Both factors in one matrix, for :func:`lu_solve`: u on and above its diagonal, l without its ones below."""

    lu: Tensor
    permutation: Tensor

    def __repr__(self) -> str:
        return fields_text(self)


@overload
def lu(a: Tensor, /, *, pivoting: Literal["partial"] = "partial", check: bool = True) -> LUResult: ...
@overload
def lu(a: Tensor, /, *, pivoting: Literal["complete"], check: bool = True) -> CompleteLUResult: ...
def lu(a: Tensor, /, *, pivoting: str = "partial", check: bool = True) -> LUResult | CompleteLUResult:
    """LU decomposition, A[permutation] = l u, with the largest element of each column as pivot.

    SciPy's P of A = P L U is the matrix whose column i has its one in row permutation[i]; indices take the space of
    one column of it, and ``take_along_axis`` applies them.

    Args:
        a: shape [M, N, B...]; F32, F64, C32 or C64.
        pivoting: "partial" exchanges rows; "complete" exchanges rows and columns, for the largest element that is
            left, which bounds the factors' growth and shows the rank as the number of pivots that are not negligible.
        check: raise when an element is not finite.

    Returns:
        permutation [M, B...] of I64, l [M, K, B...] lower triangular with ones on its diagonal, and u [K, N, B...]
        upper triangular; K is the smaller of M and N. With complete pivoting rows [M, B...], columns [N, B...], l and
        u, with A[rows][:, columns] = l u. Owned, compact. No element of l is larger than 1, or than √2 where they are
        complex, for LAPACK compares pivots by the sum of their parts. The residual is a few rounding units of the dtype
        times K times the product of the factors' norms. A pivot of exactly 0 is no error: u then has a zero on its
        diagonal.

    Raises:
        DTypeError: an integer or Bool tensor; convert it first.
        ShapeError: fewer than two axes.
        ArgumentError: other pivoting.
        NonFiniteError: NaN or an infinity, with ``batch_index`` and ``element_index``.
        SizeLimitError: more elements than the LAPACK in use can count.

    Source: LAPACK xGETRF; Golub and Van Loan, Matrix Computations, 4th ed., §3.4.

    >>> import tensor_runtime as tr
    >>> permutation, l, u = lu(tr.tensor([[1.0, 3.0], [2.0, 4.0]]))
    >>> permutation.to_numpy().tolist(), l.to_numpy().tolist(), u.to_numpy().tolist()
    ([1, 0], [[1.0, 0.0], [0.5, 1.0]], [[2.0, 4.0], [0.0, 1.0]])
    """
    rows, columns, _ = matrices("lu", a)
    checked = flag("lu", "check", check)
    if choice("lu", "pivoting", pivoting, _PIVOTING) == "partial":
        with failing_as("lu"):
            packed, permutation = execute_parts(LU_FACTOR, a, checked)
        return LUResult(permutation, *_unpacked(packed, min(rows, columns)))
    packed, of_rows, of_columns = execute_parts(LU_COMPLETE, a, checked)
    return CompleteLUResult(of_rows, of_columns, *_unpacked(packed, min(rows, columns)))


def _unpacked(packed: Tensor, short: int) -> tuple[Tensor, Tensor]:
    lower = packed[:, :short]
    ones = eye(lower.shape[0], short, dtype=Bool, placement=packed.placement)
    unit = where(broadcast_in_dim(ones, lower.shape, (0, 1)), 1.0, tril(lower, -1, axes=(0, 1)))
    return unit, triu(packed[:short], axes=(0, 1))


def lu_factor(a: Tensor, /, *, check: bool = True) -> LUFactors:
    """LU decomposition with partial pivoting, both factors in one matrix, for :func:`lu_solve`.

    Args:
        a: shape [M, N, B...]; F32, F64, C32 or C64.
        check: raise when an element is not finite.

    Returns:
        lu [M, N, B...], with u of :func:`lu` on and above its diagonal and l, without its ones, below; permutation
        [M, B...] of I64, where SciPy has a sequence of exchanges. Owned, compact.

    Raises:
        DTypeError, ShapeError, NonFiniteError, SizeLimitError: as for :func:`lu`.

    Source: LAPACK xGETRF; Golub and Van Loan, Matrix Computations, 4th ed., §3.4.

    >>> import tensor_runtime as tr
    >>> lu_factor(tr.tensor([[1.0, 3.0], [2.0, 4.0]])).lu.to_numpy().tolist()
    [[2.0, 4.0], [0.5, 1.0]]
    """
    return LUFactors._make(execute_parts(LU_FACTOR, a, flag("lu_factor", "check", check)))


def lu_solve(
    factors: LUFactors, b: Tensor, /, *, transpose: bool = False, conjugate: bool = False, check: bool = True
) -> Tensor:
    """The x with op(A) x = b, from the factors of A; op may transpose and conjugate.

    Args:
        factors: of :func:`lu_factor`, of square matrices.
        b: shape [N, M, B...], of any such dtype, or [N] for a single matrix; batch shapes are equal or broadcast among
            themselves, aligned at the last axis.
        transpose: whether op transposes A.
        conjugate: whether op conjugates A; with ``transpose`` it is the adjoint.
        check: raise when a pivot is exactly 0; without it the solution then has infinities or NaN.

    Returns:
        x, of the shape of ``b`` with the batch shapes broadcast, of the promoted dtype; owned, compact. As accurate as
        ``solve``.

    Raises:
        DTypeError: an integer or Bool tensor; convert it first.
        ShapeError: factors that are not square, or shapes that do not fit.
        SingularMatrixError: the matrix at ``batch_index`` has a pivot that is exactly 0.
        PlacementError: the operands live in different places.

    Source: LAPACK xGETRS; Golub and Van Loan, Matrix Computations, 4th ed., §3.1 and §3.4.

    >>> import tensor_runtime as tr
    >>> factors = lu_factor(tr.tensor([[1.0, 3.0], [2.0, 4.0]]))
    >>> lu_solve(factors, tr.tensor([4.0, 6.0])).to_numpy().tolist()
    [1.0, 1.0]
    """
    given: Any = factors
    if not isinstance(given, tuple) or len(given) != 2:
        raise ArgumentError(
            f"lu_solve: factors are a {type(factors).__name__}; accepted: what lu_factor gives", operation="lu_solve"
        )
    packed, permutation = factors
    transposes, conjugates = flag("lu_solve", "transpose", transpose), flag("lu_solve", "conjugate", conjugate)
    form_a, form_b = floating_form("lu_solve", packed, "operand lu"), floating_form("lu_solve", b, "operand b")
    shape = solve_shape("lu_solve", form_a.shape, form_b.shape, True)
    if unwrap("lu_solve", permutation)[0].shape != form_a.shape[1:]:
        raise ShapeError(
            f"lu_solve: lu of shape {form_a.shape} and permutation of shape {permutation.shape} are of different "
            "decompositions; accepted: what lu_factor gives",
            operation="lu_solve",
            shapes=(form_a.shape, permutation.shape),
        )
    if flag("lu_solve", "check", check):
        zero = any(equal(extract_diagonal(packed), 0.0), -1)
        require_regular("lu_solve", zero, "is exactly singular", "the least-squares solution comes from lstsq")
    dtype = promote(form_a.dtype, form_b.dtype)
    vector = len(shape) == 1
    columns = expand_dims(b, 1) if vector else b
    batch = shape[2:]
    wide = with_batch(convert(packed, dtype), 2, batch)
    order = expand_dims(with_batch(permutation, 1, batch), 1)
    sides = with_batch(convert(columns, dtype), 2, batch)
    upper = {"lower": False, "unit_diagonal": False, "transpose": transposes, "conjugate": conjugates}
    unit = {**upper, "lower": True, "unit_diagonal": True}
    if transposes:
        x = triangular_solve(wide, triangular_solve(wide, sides, **upper), **unit)
        x = take_along_axis(x, argsort(order, axis=0), axis=0)
    else:
        x = triangular_solve(wide, triangular_solve(wide, take_along_axis(sides, order, axis=0), **unit), **upper)
    return reshape_view(x, shape) if vector else x
