"""Cholesky factors over trailing batch axes."""

from __future__ import annotations

from typing import Any, Literal, TypeVar, overload

from tensor_core.dtypes import TensorScalar
from tensor_linalg.composed import failing_as, matrices
from tensor_linalg.masking import Check, MaskedResult, asks_for_mask, checks, masked_result
from tensor_linalg.products import mH
from tensor_linalg.specs.decompositions import CHOLESKY
from tensor_linalg.specs.overwriting import CHOLESKY_OVERWRITING
from tensor_linalg.specs.status import CHOLESKY_STATUS
from tensor_linalg.targets import given_up, placed
from tensor_runtime.dispatch.arguments import flag
from tensor_runtime.dispatch.call import execute_unary, execute_with_params
from tensor_runtime.dispatch.out import Out
from tensor_runtime.ops.views import copy
from tensor_runtime.tensors.tensor import Tensor, TypedTensor

T = TypeVar("T", bound=TensorScalar)


@overload
def cholesky(
    a: TypedTensor[T], /, *, upper: bool = False, check: bool = True, overwrite: bool = False, out: None = None
) -> TypedTensor[T]: ...
@overload
def cholesky(
    a: Tensor, /, *, upper: bool = False, check: bool = True, overwrite: bool = False, out: Out = None
) -> Tensor: ...
@overload
def cholesky(
    a: Tensor, /, *, upper: bool = False, check: Literal["mask"], out: MaskedResult[Tensor] | None = None
) -> MaskedResult[Tensor]: ...
def cholesky(
    a: Tensor, /, *, upper: bool = False, check: Check = True, overwrite: bool = False, out: Any = None
) -> Tensor | MaskedResult[Tensor]:
    """Cholesky factor of Hermitian (real: symmetric) positive definite matrices, A = L Lᴴ or Uᴴ U.

    Only the triangle of the factor is read, the lower one unless ``upper``, and the imaginary part of the diagonal is
    ignored, as LAPACK does. What stands elsewhere need not mirror it, but must be finite unless ``check=False``.

    Args:
        a: shape [N, N, B...]; F32, F64, C32 or C64.
        upper: whether the upper triangle is read and the factor is U, as ``numpy.linalg.cholesky`` has it.
        check: raise when an element is not finite. Without it LAPACK may never return from an infinity.
            "mask" raises for no matrix of a batch, and gives a ``status`` of each, I32 [B...], beside the results.
        overwrite: give up the operand, an owned tensor or a mutable view: its elements are unspecified afterwards,
            and its memory may be a result's, so that a large matrix needs none beside it. Upper factors leave it.
        out: where the result is written; see ``tensor_runtime.add``.

    Returns:
        L or U [N, N, B...] with a real, positive diagonal and exact zeros on its other side; owned, compact. The
        residual is a few rounding units of the dtype times N times the norm of A.

    Raises:
        DTypeError: an integer or Bool tensor; convert it first.
        ShapeError: fewer than two axes, or matrices that are not square.
        ArgumentError: another ``upper``, ``check`` or ``overwrite``.
        NonFiniteError: NaN or an infinity anywhere, with ``batch_index`` and ``element_index``.
        NotPositiveDefiniteError: the matrix at ``batch_index``, the first such in column-major order, is not positive
            definite to working precision; ``element_index`` is the last diagonal element of its smallest bad leading
            block.
        SizeLimitError: more elements than the LAPACK in use can count.

    Source: LAPACK xPOTRF; Golub and Van Loan, Matrix Computations, 4th ed., §4.2.

    >>> import tensor_runtime as tr
    >>> cholesky(tr.tensor([[4.0, 99.0], [2.0, 5.0]])).to_numpy().tolist()
    [[2.0, 0.0], [1.0, 2.0]]
    """
    if check is not True and asks_for_mask(check):
        flag("cholesky", "overwrite", overwrite)  # a hint, which is dropped
        turned = mH if flag("cholesky", "upper", upper) else None
        return masked_result(
            "cholesky",
            lambda x: cholesky(x, upper=upper, check=False),
            a,
            status_of=lambda x: execute_unary(CHOLESKY_STATUS, turned(x) if turned else x),
            out=out,
        )
    checked = checks("cholesky", check)
    gives_up = overwrite is not False and flag("cholesky", "overwrite", overwrite)
    if gives_up:
        (a,) = given_up("cholesky", a)
    if upper is False or not flag("cholesky", "upper", upper):
        return execute_with_params(CHOLESKY_OVERWRITING if gives_up else CHOLESKY, a, checked, out)
    matrices("cholesky", a, square=True)
    with failing_as("cholesky", lambda row, column: (column, row), instead=("lower", "upper")):
        found = mH(execute_with_params(CHOLESKY, mH(a), checked))
    return copy(found) if out is None else placed("cholesky", found, out, a)
