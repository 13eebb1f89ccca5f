"""LU decompositions over trailing batch axes."""

from __future__ import annotations

from typing import Any, Generic, Literal, NamedTuple, TypeVar, overload

from tensor_core.dtypes import Bool, TensorScalar
from tensor_linalg.composed import failing_as, matrices
from tensor_linalg.masking import Check, MaskedResult, asks_for_mask, checks, masked_result
from tensor_linalg.results import FactorT, fields_html, fields_text
from tensor_linalg.specs.decompositions import LU_COMPLETE, LU_FACTOR
from tensor_linalg.specs.overwriting import LU_FACTOR_OVERWRITING
from tensor_linalg.targets import delivered, given_up
from tensor_runtime.dispatch.arguments import choice, flag
from tensor_runtime.dispatch.call import execute_parts
from tensor_runtime.ops.creation import eye
from tensor_runtime.ops.diagonals import tril, triu
from tensor_runtime.ops.selection import where
from tensor_runtime.ops.views import broadcast_in_dim
from tensor_runtime.tensors.tensor import Tensor, TypedTensor

T = TypeVar("T", bound=TensorScalar)
_PIVOTING = ("partial", "complete")


class LUResult(NamedTuple, Generic[FactorT]):
    """Factors of A with its rows in another order, A[permutation] = l u."""

    permutation: Tensor
    l: FactorT
    u: FactorT

    def __repr__(self) -> str:
        return fields_text(self)

    def _repr_html_(self) -> str:
        return fields_html(self)


class CompleteLUResult(NamedTuple, Generic[FactorT]):
    """Factors of A with its rows and columns in another order, A[rows][:, columns] = l u."""

    rows: Tensor
    columns: Tensor
    l: FactorT
    u: FactorT

    def __repr__(self) -> str:
        return fields_text(self)

    def _repr_html_(self) -> str:
        return fields_html(self)


class LUFactors(NamedTuple, Generic[FactorT]):
    """Both factors in one matrix, for :func:`lu_solve`: u on and above its diagonal, l without its ones below."""

    lu: FactorT
    permutation: Tensor

    def __repr__(self) -> str:
        return fields_text(self)

    def _repr_html_(self) -> str:
        return fields_html(self)


@overload
def lu(
    a: TypedTensor[T], /, *, pivoting: Literal["partial"] = "partial", check: bool = True, out: None = None
) -> LUResult[TypedTensor[T]]: ...
@overload
def lu(
    a: TypedTensor[T], /, *, pivoting: Literal["complete"], check: bool = True, out: None = None
) -> CompleteLUResult[TypedTensor[T]]: ...
@overload
def lu(
    a: Tensor, /, *, pivoting: Literal["partial"] = "partial", check: bool = True, out: LUResult | None = None
) -> LUResult: ...
@overload
def lu(
    a: Tensor, /, *, pivoting: Literal["complete"], check: bool = True, out: CompleteLUResult | None = None
) -> CompleteLUResult: ...
@overload
def lu(
    a: Tensor, /, *, pivoting: str = "partial", check: Literal["mask"], out: MaskedResult[Any] | None = None
) -> MaskedResult[Any]: ...
def lu(
    a: Tensor, /, *, pivoting: str = "partial", check: Check = True, out: Any = None
) -> LUResult | CompleteLUResult | MaskedResult[Any]:
    """LU decomposition, A[permutation] = l u, with the largest element of each column as pivot.

    SciPy's P of A = P L U is the matrix whose column i has its one in row permutation[i]; indices take the space of
    one column of it, and ``take_along_axis`` applies them.

    Args:
        a: shape [M, N, B...]; F32, F64, C32 or C64.
        pivoting: "partial" exchanges rows; "complete" exchanges rows and columns, for the largest element that is
            left, which bounds the factors' growth and shows the rank as the number of pivots that are not negligible.
        check: raise when an element is not finite.
            "mask" raises for no matrix of a batch, and gives a ``MaskedResult``: the result, NaN where a matrix has
            none, and a ``status`` of each, I32 [B...].
        out: where the results are written, an ``LUResult`` or ``CompleteLUResult``; see ``tensor_linalg.targets``.

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
    if check is not True and asks_for_mask(check):
        run: Any = lu
        return masked_result("lu", lambda x: run(x, pivoting=pivoting, check=False), a, out=out)
    rows, columns, _ = matrices("lu", a)
    checked = checks("lu", check)
    if choice("lu", "pivoting", pivoting, _PIVOTING) == "partial":
        with failing_as("lu"):
            packed, permutation = execute_parts(LU_FACTOR, a, checked)
        return delivered("lu", LUResult(permutation, *unpacked(packed, min(rows, columns))), out, a)
    packed, of_rows, of_columns = execute_parts(LU_COMPLETE, a, checked)
    return delivered("lu", CompleteLUResult(of_rows, of_columns, *unpacked(packed, min(rows, columns))), out, a)


def unpacked(packed: Tensor, short: int, /) -> tuple[Tensor, Tensor]:
    """The lower triangle with ones on its diagonal, and the upper one, of so many columns and rows.

    >>> import tensor_runtime as tr
    >>> [part.to_numpy().tolist() for part in unpacked(tr.tensor([[2.0, 4.0], [0.5, 1.0]]), 2)]
    [[[1.0, 0.0], [0.5, 1.0]], [[2.0, 4.0], [0.0, 1.0]]]
    """
    lower = packed[:, :short]
    ones = eye(lower.shape[0], short, dtype=Bool, placement=packed.placement)
    if lower.rank > 2:
        ones = broadcast_in_dim(ones, lower.shape, (0, 1))
    unit = where(ones, 1.0, tril(lower, -1, axes=(0, 1)))
    return unit, triu(packed[:short], axes=(0, 1))


@overload
def lu_factor(
    a: TypedTensor[T], /, *, check: bool = True, overwrite: bool = False, out: None = None
) -> LUFactors[TypedTensor[T]]: ...
@overload
def lu_factor(
    a: Tensor, /, *, check: bool = True, overwrite: bool = False, out: LUFactors | None = None
) -> LUFactors: ...
@overload
def lu_factor(
    a: Tensor, /, *, check: Literal["mask"], out: MaskedResult[LUFactors] | None = None
) -> MaskedResult[LUFactors]: ...
def lu_factor(
    a: Tensor, /, *, check: Check = True, overwrite: bool = False, out: Any = None
) -> LUFactors | MaskedResult[LUFactors]:
    """LU decomposition with partial pivoting, both factors in one matrix, for :func:`lu_solve`.

    Args:
        a: shape [M, N, B...]; F32, F64, C32 or C64.
        check: raise when an element is not finite.
            "mask" raises for no matrix of a batch, and gives a ``MaskedResult``: the result, NaN where a matrix has
            none, and a ``status`` of each, I32 [B...].
        overwrite: give up the operand, an owned tensor or a mutable view: its elements are unspecified afterwards,
            and its memory may be a result's, so that a large matrix needs none beside it.
        out: where the results are written, an ``LUFactors`` of tensors; see ``tensor_linalg.targets``.

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
    if check is not True and asks_for_mask(check):
        flag("lu_factor", "overwrite", overwrite)  # a hint, which is dropped
        return masked_result("lu_factor", lambda x: lu_factor(x, check=False), a, out=out)
    spec = LU_FACTOR
    if overwrite is not False and flag("lu_factor", "overwrite", overwrite):
        spec, (a,) = LU_FACTOR_OVERWRITING, given_up("lu_factor", a)
    found = execute_parts(spec, a, check is True or checks("lu_factor", check), LUFactors)
    return found if out is None else delivered("lu_factor", found, out, a)
