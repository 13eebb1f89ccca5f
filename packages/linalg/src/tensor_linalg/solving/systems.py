"""Linear systems over trailing batch axes, by LU decomposition."""

from __future__ import annotations

from functools import partial
from typing import Any, Literal, TypeVar, overload

from tensor_core.dtypes import TensorScalar
from tensor_linalg.decompositions.lu import lu_factor
from tensor_linalg.masking import Check, MaskedResult, asks_for_mask, checks, masked_result
from tensor_linalg.operands import promoted
from tensor_linalg.solving.condition import one_norm, refuse_with_mask
from tensor_linalg.solving.factored import warn_of_factors
from tensor_linalg.specs.overwriting import SOLVE_OVERWRITING
from tensor_linalg.specs.solving import SOLVE, solve_shape
from tensor_linalg.specs.status import SOLVE_STATUS
from tensor_linalg.targets import given_up, placed
from tensor_runtime.dispatch.arguments import flag
from tensor_runtime.dispatch.call import execute_binary, execute_pair
from tensor_runtime.dispatch.out import Out
from tensor_runtime.tensors.tensor import Tensor, TypedTensor

T = TypeVar("T", bound=TensorScalar)


@overload
def solve(
    a: TypedTensor[T],
    b: TypedTensor[T],
    /,
    *,
    check: bool = True,
    condition: bool = False,
    overwrite: bool = False,
    out: None = None,
) -> TypedTensor[T]: ...
@overload
def solve(
    a: Tensor, b: Tensor, /, *, check: bool = True, condition: bool = False, overwrite: bool = False, out: Out = None
) -> Tensor: ...
@overload
def solve(
    a: Tensor, b: Tensor, /, *, check: Literal["mask"], out: MaskedResult[Tensor] | None = None
) -> MaskedResult[Tensor]: ...
def solve(
    a: Tensor, b: Tensor, /, *, check: Check = True, condition: bool = False, overwrite: bool = False, out: Any = None
) -> Tensor | MaskedResult[Tensor]:
    """The x with A x = b, by LU decomposition with partial pivoting.

    ``b`` has a column axis, so that a batch of vectors is never taken for a matrix: [N, M, B...] holds M right-hand
    sides for each matrix. The one exception is a vector [N] for a single matrix [N, N].

    Args:
        a: shape [N, N, B...]; F32, F64, C32 or C64.
        b: shape [N, M, B...] of any of these dtypes, or [N] when ``a`` is [N, N]. The batch shapes are equal or
            broadcast among themselves, aligned at the last axis; a single [N, N] is factored once for all batches of
            ``b``.
        check: raise when an element is not finite. "mask" raises for no matrix of a batch, and gives a ``status`` of
            each, I32 [B...], beside the results: 0 fine, 1 not finite, 2 exactly singular; NaN where it is not 0.
        condition: warn where the condition number of a matrix, in the 1-norm, is so large that the result may have no
            correct digit; it is estimated with six vectors and a decomposition, which takes about as long again.
        overwrite: give up both operands, owned tensors or mutable views: their elements are unspecified afterwards, and
            the memory of ``b`` may be the result's, so that a large system needs none beside it.
        out: where the result is written; see ``tensor_runtime.add``.

    Returns:
        x [N, M, B...], or [N]; owned, compact, of the promoted dtype. The residual b - A x is a few rounding units of
        the dtype times N times the norms of A and x (backward stable in practice); the error of x grows with the
        condition number of A. What is beyond the dtype's range, as products may be, makes infinities or NaN.

    Warns:
        IllConditionedWarning: on request, for the first such matrix.

    Raises:
        ArgumentError: both ``condition`` and ``check="mask"``.
        DTypeError: an integer or Bool tensor; convert it first.
        ShapeError: matrices that are not square, shapes that do not fit, or no column axis.
        NonFiniteError: NaN or an infinity, with ``operand``, ``batch_index`` and ``element_index``.
        SingularMatrixError: the matrix at ``batch_index`` (of ``a``, the first such in column-major order) has an
            exactly zero pivot, which is what is looked for, not the rank: see :func:`det`. A nearly singular matrix
            raises nothing.
        PlacementError: the operands live in different places.
        SizeLimitError: more elements than the LAPACK in use can count.

    Source: LAPACK xGESV; Golub and Van Loan, Matrix Computations, 4th ed., §3.4.

    >>> import tensor_runtime as tr
    >>> solve(tr.tensor([[2.0, 0.0], [0.0, 4.0]]), tr.tensor([2.0, 2.0])).to_numpy().tolist()
    [1.0, 0.5]
    """
    if check is True and condition is False and overwrite is False:
        return execute_pair(SOLVE, a, b, True, out)
    condition = flag("solve", "condition", condition)
    if asks_for_mask(check):
        flag("solve", "overwrite", overwrite)  # a hint, which is dropped
        refuse_with_mask("solve", condition)
        a, b = promoted("solve", a, b)
        solve_shape("solve", a.shape, b.shape, False)
        status = partial(execute_binary, SOLVE_STATUS)
        return masked_result("solve", lambda *each: solve(*each, check=False), a, b, status_of=status, out=out)
    checked = checks("solve", check)
    if flag("solve", "overwrite", overwrite):
        a, b = given_up("solve", a, b)
        if not condition:
            return execute_pair(SOLVE_OVERWRITING, a, b, checked, out)
    x = execute_pair(SOLVE, a, b, checked)
    if condition and 0 not in a.shape:
        warn_of_factors("solve", lu_factor(a, check=False), one_norm(a))
    return placed("solve", x, out, a, b)
