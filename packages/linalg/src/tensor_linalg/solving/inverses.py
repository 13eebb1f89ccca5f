"""Inverses over trailing batch axes, by LU decomposition."""

from __future__ import annotations

from functools import partial
from typing import Any, Literal, TypeVar, overload

from tensor_core.dtypes import TensorScalar
from tensor_linalg.masking import Check, MaskedResult, asks_for_mask, checks, masked_result
from tensor_linalg.solving.condition import one_norm, refuse_with_mask, warn_if_ill_conditioned
from tensor_linalg.specs.overwriting import INV_OVERWRITING
from tensor_linalg.specs.solving import INV
from tensor_linalg.specs.status import INV_STATUS
from tensor_linalg.targets import given_up, placed
from tensor_runtime.dispatch.arguments import flag
from tensor_runtime.dispatch.call import execute_unary, execute_with_params
from tensor_runtime.dispatch.out import Out
from tensor_runtime.tensors.tensor import Tensor, TypedTensor

T = TypeVar("T", bound=TensorScalar)


@overload
def inv(
    a: TypedTensor[T], /, *, check: bool = True, condition: bool = False, overwrite: bool = False, out: None = None
) -> TypedTensor[T]: ...
@overload
def inv(
    a: Tensor, /, *, check: bool = True, condition: bool = False, overwrite: bool = False, out: Out = None
) -> Tensor: ...
@overload
def inv(a: Tensor, /, *, check: Literal["mask"], out: MaskedResult[Tensor] | None = None) -> MaskedResult[Tensor]: ...
def inv(
    a: Tensor, /, *, check: Check = True, condition: bool = False, overwrite: bool = False, out: Any = None
) -> Tensor | MaskedResult[Tensor]:
    """Inverses of square matrices, by LU decomposition with partial pivoting.

    To solve a system, :func:`solve` is faster and its residual is smaller.

    Args:
        a: shape [N, N, B...]; F32, F64, C32 or C64.
        check: raise when an element is not finite. "mask" raises for no matrix of a batch, and gives a ``status`` of
            each, I32 [B...], beside the results: 0 fine, 1 not finite, 2 exactly singular; NaN where it is not 0.
        condition: warn where the condition number of a matrix, in the 1-norm, is so large that the result may have no
            correct digit; this reads one word back from the device.
        overwrite: give up the operand, an owned tensor or a mutable view: its elements are unspecified afterwards,
            and its memory may be a result's, so that a large matrix needs none beside it.
        out: where the result is written; see ``tensor_runtime.add``.

    Returns:
        X [N, N, B...] with A X ≈ X A ≈ 1; owned, compact. Of A X - 1 and X A - 1 at least one is a few rounding units
        of the dtype times N times the norms of A and X; which one, LAPACK decides. The error of X grows with the
        condition number of A. What is beyond the dtype's range, as products may be, makes infinities or NaN.
        The inverse of a 0 x 0 matrix is empty.

    Warns:
        IllConditionedWarning: on request, for the first such matrix.

    Raises:
        ArgumentError: both ``condition`` and ``check="mask"``.
        DTypeError: an integer or Bool tensor; convert it first.
        ShapeError: fewer than two axes, or matrices that are not square.
        NonFiniteError: NaN or an infinity, with ``batch_index`` and ``element_index``.
        SingularMatrixError: the matrix at ``batch_index``, the first such in column-major order, has an exactly zero
            pivot, which is what is looked for, not the rank: see :func:`det`. A nearly singular matrix raises nothing.
        SizeLimitError: more elements than the LAPACK in use can count.

    Source: LAPACK xGETRF with xGETRI, or xGESV with the identity; Higham, Accuracy and Stability of Numerical
    Algorithms, 2nd ed., §14.3.

    >>> import tensor_runtime as tr
    >>> inv(tr.tensor([[1.0, 1.0], [1.0, 2.0]])).to_numpy().tolist()
    [[2.0, -1.0], [-1.0, 1.0]]
    """
    if check is True and condition is False and overwrite is False:
        return execute_with_params(INV, a, True, out)
    condition = flag("inv", "condition", condition)
    if asks_for_mask(check):
        flag("inv", "overwrite", overwrite)  # a hint, which is dropped
        refuse_with_mask("inv", condition)
        status = partial(execute_unary, INV_STATUS)
        return masked_result("inv", lambda each: inv(each, check=False), a, status_of=status, out=out)
    checked = checks("inv", check)
    if flag("inv", "overwrite", overwrite):
        (a,) = given_up("inv", a)
        if not condition:
            return execute_with_params(INV_OVERWRITING, a, checked, out)
    x = execute_with_params(INV, a, checked)
    if condition and x.size:
        warn_if_ill_conditioned("inv", one_norm(a), one_norm(x), 3)
    return placed("inv", x, out, a)
