"""Systems solved with the LU decomposition of their matrices, over trailing batch axes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Literal, overload

from tensor_core.dtypes import DType
from tensor_core.errors import ArgumentError, DTypeError, ShapeError
from tensor_core.promotion import promote
from tensor_core.shapes import Shape
from tensor_linalg.composed import floating_form
from tensor_linalg.decompositions.lu import LUFactors, unpacked
from tensor_linalg.masking import Check, MaskedResult, asks_for_mask, checks, screened_result
from tensor_linalg.operands import holds, require_finite, require_regular, with_batch
from tensor_linalg.products import matmul, mH
from tensor_linalg.solving.condition import (
    Apply,
    estimated_one_norm,
    refuse_with_mask,
    scale_of,
    warn_if_ill_conditioned,
)
from tensor_linalg.solving.sharing import Sharing, sharing_of
from tensor_linalg.solving.substitution import replaced
from tensor_linalg.solving.triangular import taken
from tensor_linalg.specs.solving import TRIANGULAR_SOLVE_CHECKED, solve_shape
from tensor_linalg.targets import placed
from tensor_runtime.backends.bindings import binding_cache
from tensor_runtime.backends.bounded_cache import CacheTable
from tensor_runtime.dispatch.arguments import flag
from tensor_runtime.dispatch.call import execute_pair, execute_with_params
from tensor_runtime.dispatch.conversion import convert
from tensor_runtime.dispatch.out import Out
from tensor_runtime.errors import LinalgError
from tensor_runtime.form import Form
from tensor_runtime.ops.arithmetic import divide, multiply
from tensor_runtime.ops.comparison import equal, not_equal
from tensor_runtime.ops.creation import eye, zeros
from tensor_runtime.ops.gather_scatter import TAKE, take_along_axis
from tensor_runtime.ops.indexing import mutable_view
from tensor_runtime.ops.ranges import arange
from tensor_runtime.ops.reduction import ANY, any
from tensor_runtime.ops.sort import argsort, sort
from tensor_runtime.ops.views import DIAGONAL_VIEW, reshape_view
from tensor_runtime.placement import CPU
from tensor_runtime.primitives.linalg import triangular_solve
from tensor_runtime.tensors.tensor import Tensor, owned, unwrap

_FEW: Final = 64
"""Rows that are looked at in less time on the host than calls take."""
_STRIP: Final = 64
"""Columns whose rows are put in another order together."""
_Solution = tuple[Shape, DType, frozenset[int] | None]
_solutions: Final[CacheTable[_Solution]] = CacheTable(binding_cache)


@overload
def lu_solve(
    factors: LUFactors,
    b: Tensor,
    /,
    *,
    transpose: bool = False,
    conjugate: bool = False,
    check: bool = True,
    condition: bool = False,
    overwrite: bool = False,
    out: Out = None,
) -> Tensor: ...
@overload
def lu_solve(
    factors: LUFactors,
    b: Tensor,
    /,
    *,
    transpose: bool = False,
    conjugate: bool = False,
    check: Literal["mask"],
    overwrite: bool = False,
    out: MaskedResult[Tensor] | None = None,
) -> MaskedResult[Tensor]: ...
def lu_solve(
    factors: LUFactors,
    b: Tensor,
    /,
    *,
    transpose: bool = False,
    conjugate: bool = False,
    check: Check = True,
    condition: bool = False,
    overwrite: bool = False,
    out: Any = None,
) -> Tensor | MaskedResult[Tensor]:
    """The x with op(A) x = b, from the factors of A; op may transpose and conjugate.

    Args:
        factors: of ``lu_factor``, of square matrices.
        b: shape [N, M, B...], of any such dtype, or [N] for a single matrix; batch shapes are equal or broadcast among
            themselves, aligned at the last axis.
        transpose: whether op transposes A.
        conjugate: whether op conjugates A; with ``transpose`` it is the adjoint.
        check: raise when an element is not finite, a pivot is exactly 0 or the permutation is none; without it the
            solution then has infinities or NaN, or rows in any order. "mask" raises for no matrix of a batch, and gives
            a ``MaskedResult``: the solution, NaN where the status is not 0, and a ``status`` of each, I32 [B...]: 0
            fine, 1 not finite, 2 exactly singular. ``overwrite`` is dropped then.
        condition: warn where the condition number of a matrix, in the 1-norm, is so large that the result may have no
            correct digit; it is estimated with six vectors and the factors.
        overwrite: give up ``b``, an owned tensor or a mutable view: its elements are unspecified afterwards, and its
            memory may be the result's, so that a large system needs little beside it.
        out: where the result is written; see ``tensor_runtime.add``.

    Returns:
        x, of the shape of ``b`` with the batch shapes broadcast, of the promoted dtype; owned, compact. As accurate as
        ``solve`` of a matrix and a ``b`` of the factors' dtype: factors of F32 leave F32's digits to a ``b`` of F64.

    Raises:
        DTypeError: an integer or Bool tensor; convert it first.
        ShapeError: factors that are not square, or shapes that do not fit.
        NonFiniteError: NaN or an infinity, with ``operand`` ("lu" or "b"), ``batch_index`` and ``element_index``.
        SingularMatrixError: the matrix at ``batch_index`` has a pivot that is exactly 0.
        ArgumentError: a permutation that is none, where ``check`` is true; both ``condition`` and ``check="mask"``.
        PlacementError: the operands live in different places.

    Source: LAPACK xGETRS; Golub and Van Loan, Matrix Computations, 4th ed., §3.1 and §3.4.

    >>> import tensor_runtime as tr
    >>> from tensor_linalg import lu_factor
    >>> factors = lu_factor(tr.tensor([[1.0, 3.0], [2.0, 4.0]]))
    >>> lu_solve(factors, tr.tensor([4.0, 6.0])).to_numpy().tolist()
    [1.0, 1.0]
    """
    given: Any = factors
    if not isinstance(given, tuple) or len(given) != 2 or isinstance(given, MaskedResult):
        raise ArgumentError(
            f"lu_solve: factors are a {type(factors).__name__}; accepted: what lu_factor gives, and of a MaskedResult "
            "its .result",
            operation="lu_solve",
        )
    packed, permutation = factors
    transposes, conjugates = flag("lu_solve", "transpose", transpose), flag("lu_solve", "conjugate", conjugate)
    form_a, form_b = floating_form("lu_solve", packed, "operand lu"), floating_form("lu_solve", b, "operand b")
    order_form = unwrap("lu_solve", permutation)[0]
    if order_form.dtype.kind != "int":
        raise DTypeError(
            f"lu_solve: the permutation is {order_form.dtype.name}; accepted: I32 and I64, as lu_factor gives it",
            operation="lu_solve",
        )
    shape, dtype, rows = _solution_of(form_a, form_b, order_form)
    if check is not True and asks_for_mask(check):
        flag("lu_solve", "overwrite", overwrite)
        refuse_with_mask("lu_solve", flag("lu_solve", "condition", condition))

        def solved(lu: Tensor, sides: Tensor) -> Tensor:
            one = LUFactors(lu, permutation)
            return lu_solve(one, sides, transpose=transposes, conjugate=conjugates, check=False)

        safe = (
            eye(packed.shape[0], dtype=packed.dtype, placement=packed.placement),
            zeros(b.shape[:2], dtype=b.dtype, placement=b.placement),
        )
        return screened_result("lu_solve", solved, (packed, b), safe, failed=_singular(packed), out=out)
    checked = checks("lu_solve", check)
    warns, gives_up = flag("lu_solve", "condition", condition), flag("lu_solve", "overwrite", overwrite)
    ops = transposes, conjugates
    if checked and not (warns or gives_up) and _is_permutation(permutation, rows):
        shared = sharing_of(form_a, form_b, order_form)
        try:
            if shared is None:
                x = _refusing(packed, permutation, b, *ops)
            else:
                x = _shared(shared, _refusing, factors, b, *ops)
            return x if out is None else placed("lu_solve", x, out, packed, permutation, b)
        except LinalgError:
            pass  # what was given is to blame, or what came of it is beyond the range, which is no failure
    if checked:
        require_finite("lu_solve", "lu", packed)
        require_finite("lu_solve", "b", b, min(2, b.rank))
        zero = _singular(packed)
        require_regular("lu_solve", zero, "is exactly singular", "lstsq() gives the least-squares solution")
        if not _is_permutation(permutation, rows):
            raise ArgumentError(
                f"lu_solve: the permutation does not hold each row from 0 to {shape[0] - 1} once; "
                "accepted: what lu_factor gives",
                operation="lu_solve",
            )
    b, gives_up = taken("lu_solve", gives_up, packed, b)
    if warns and 0 not in packed.shape:
        warn_of_factors("lu_solve", factors, None, transposes)
    wide = packed if form_a.dtype is dtype else convert(packed, dtype)
    sides = b if form_b.dtype is dtype else convert(b, dtype)
    own = gives_up and form_b.dtype is dtype and form_b.shape[2:] == shape[2:]
    shared = sharing_of(form_a, form_b, order_form, in_place=own)
    if shared is not None:
        x = _shared(shared, _substituted, LUFactors(wide, permutation), sides, *ops, own)
    elif len(shape) == 1:
        x = owned(reshape_view(_substituted(wide, permutation, sides[:, None], *ops, own), shape))
    else:
        wide, order, sides = (with_batch(x, rank, shape[2:]) for x, rank in ((wide, 2), (permutation, 1), (sides, 2)))
        x = _substituted(wide, order, sides, *ops, own)
    return x if out is None else placed("lu_solve", x, out, packed, permutation, b)


def _shared(shared: Sharing, solve: Callable[..., Tensor], factors: LUFactors, b: Tensor, *options: bool) -> Tensor:
    """Solutions of right-hand sides of which many share their factors."""
    packed, permutation = factors
    x = solve(shared.once(packed, 2), shared.once(permutation, 1), shared.as_columns(b), *options)
    return shared.from_columns(x)


def _solution_of(packed: Form, b: Form, permutation: Form) -> _Solution:
    """Shape and dtype of what such factors and right-hand sides give, and the rows, if they are few and on the host."""
    key = packed, b, permutation
    try:
        return _solutions.found[key]  # type: ignore[no-any-return]
    except KeyError:
        return _solutions.insert(key, _solution(*key))


def _solution(packed: Form, b: Form, permutation: Form) -> _Solution:
    shape = solve_shape("lu_solve", packed.shape, b.shape, True)
    if permutation.shape != packed.shape[1:]:
        raise ShapeError(
            f"lu_solve: lu of shape {packed.shape} and permutation of shape {permutation.shape} are of different "
            "decompositions; accepted: what lu_factor gives",
            operation="lu_solve",
            shapes=(packed.shape, permutation.shape),
        )
    few = permutation.rank == 1 and shape[0] <= _FEW and permutation.placement is CPU
    return shape, promote(packed.dtype, b.dtype), frozenset(range(shape[0])) if few else None


def _is_permutation(order: Tensor, rows: frozenset[int] | None) -> bool:
    """Whether each of [N, B...] holds the numbers from 0 to N - 1, given them if they are looked at on the host."""
    if rows is not None:
        return {*order.to_numpy().tolist()} == rows
    numbers = arange(order.shape[0], dtype=order.dtype, placement=order.placement)
    return not holds(any(not_equal(sort(order, axis=0), reshape_view(numbers, (-1, *(1,) * (order.rank - 1))))))


def _singular(packed: Tensor) -> Tensor:
    # asked for at once, half a microsecond less
    zero = equal(execute_with_params(DIAGONAL_VIEW, packed, (0, 1)), 0.0)
    return execute_with_params(ANY, zero, (-1, False))


def _refusing(packed: Tensor, order: Tensor, b: Tensor, transpose: bool, conjugate: bool) -> Tensor:
    """op(A)⁻¹ b, of batch shapes that broadcast; by kernels that look at what they read, and at the half-solved system.

    Raises:
        LinalgError: something is not finite, or the diagonal has a zero.
    """
    upper, unit = (False, transpose, conjugate, False), (True, transpose, conjugate, True)
    if not transpose:
        half = execute_pair(TRIANGULAR_SOLVE_CHECKED, packed, _in_order(b, order), unit)
        return execute_pair(TRIANGULAR_SOLVE_CHECKED, packed, half, upper)
    half = execute_pair(TRIANGULAR_SOLVE_CHECKED, packed, b, upper)
    return _in_order(execute_pair(TRIANGULAR_SOLVE_CHECKED, packed, half, unit), argsort(order, axis=0))


def _substituted(
    packed: Tensor, order: Tensor, b: Tensor, transpose: bool, conjugate: bool, own: bool = False
) -> Tensor:
    """op(A)⁻¹ b, all of one batch shape; in the memory of b where that is ours. The order is [N, B...]."""
    upper = {"lower": False, "unit_diagonal": False, "transpose": transpose, "conjugate": conjugate}
    unit = {**upper, "lower": True, "unit_diagonal": True}
    if not transpose:
        return replaced(packed, replaced(packed, _in_order(b, order, own), **unit), **upper)
    half = (replaced if own else triangular_solve)(packed, b, **upper)
    return _in_order(replaced(packed, half, **unit), argsort(order, axis=0), own)


def _in_order(x: Tensor, order: Tensor, own: bool = False) -> Tensor:
    """The rows in another order; a few columns at a time where their memory is ours, which takes no other for all."""
    columns = x.shape[1] if own else 0
    if columns <= _STRIP:
        return _reordered(x, order)
    for start in range(0, columns, _STRIP):
        mutable_view(x)[:, start : start + _STRIP] = _reordered(x[:, start : start + _STRIP], order)
    return x


def _reordered(x: Tensor, order: Tensor) -> Tensor:
    if order.rank == 1:  # one for all columns
        return execute_pair(TAKE, x, order, 0)
    rank = max(x.rank, 1 + order.rank)
    rows, *batch = order.shape
    order = reshape_view(order, (rows, *(1,) * (rank - order.rank), *batch))
    if x.rank < rank:
        x = reshape_view(x, (*x.shape[:2], *(1,) * (rank - x.rank), *x.shape[2:]))
    return take_along_axis(x, order, axis=0)


def warn_of_factors(operation: str, factors: LUFactors, norm: Tensor | None, transpose: bool = False, /) -> None:
    """Warn where matrices are ill-conditioned, from their factors.

    Args:
        operation: the name that the warning bears.
        factors: of square matrices with elements.
        norm: the 1-norms of the matrices [B...]; None estimates these from the factors as well.
        transpose: whether the transposed matrices are meant.

    >>> import tensor_runtime as tr
    >>> from tensor_linalg import lu_factor
    >>> warn_of_factors("solve", lu_factor(tr.eye(2)), tr.ones(()))
    """
    packed, permutation = factors
    size, *batch = packed.shape[1:]
    facts = (size, tuple(batch), packed.dtype, packed.placement)

    def solved(adjoint: bool, scale: Tensor) -> Apply:
        return lambda x: _substituted(packed, permutation, multiply(x, scale), adjoint, adjoint)

    def multiplied(adjoint: bool) -> Apply:
        """With the factors' product, of which the rows are those of A in another order: its columns have their sums."""
        lower, upper = unpacked(packed, size)
        first, second = (mH(lower), mH(upper)) if adjoint else (upper, lower)
        return lambda x: matmul(second, matmul(first, x))

    if norm is None:
        norm = estimated_one_norm(multiplied(transpose), multiplied(not transpose), *facts)
    scale = scale_of(norm)
    inverse = estimated_one_norm(solved(transpose, scale), solved(not transpose, scale), *facts)
    warn_if_ill_conditioned(operation, divide(norm, scale), inverse)
