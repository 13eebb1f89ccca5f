"""Determinants over trailing batch axes, by LU decomposition."""

from __future__ import annotations

from typing import Any, Generic, Literal, NamedTuple, TypeVar, overload

from tensor_core.dtypes import C32, C64, F32, F64, TensorScalar
from tensor_linalg.masking import Check, MaskedResult, asks_for_mask, checks, masked_result
from tensor_linalg.results import FactorT, SizesT, fields_html, fields_text
from tensor_linalg.specs.functions import DET, SLOGDET
from tensor_linalg.targets import delivered
from tensor_runtime.dispatch.call import execute_parts, execute_with_params
from tensor_runtime.dispatch.out import Out
from tensor_runtime.tensors.tensor import Tensor, TypedTensor

T = TypeVar("T", bound=TensorScalar)
SingleT = TypeVar("SingleT", F32, C32)
DoubleT = TypeVar("DoubleT", F64, C64)


class SlogdetResult(NamedTuple, Generic[FactorT, SizesT]):
    """The determinant as sign times exp(logabsdet)."""

    sign: FactorT
    logabsdet: SizesT

    def __repr__(self) -> str:
        return fields_text(self)

    def _repr_html_(self) -> str:
        return fields_html(self)


@overload
def det(a: TypedTensor[T], /, *, check: bool = True, out: None = None) -> TypedTensor[T]: ...
@overload
def det(a: Tensor, /, *, check: bool = True, out: Out = None) -> Tensor: ...
@overload
def det(a: Tensor, /, *, check: Literal["mask"], out: MaskedResult[Tensor] | None = None) -> MaskedResult[Tensor]: ...
def det(a: Tensor, /, *, check: Check = True, out: Any = None) -> Tensor | MaskedResult[Tensor]:
    """Determinants of square matrices, by LU decomposition with partial pivoting.

    Args:
        a: shape [N, N, B...]; F32, F64, C32 or C64.
        check: raise when an element is not finite.
            "mask" raises for no matrix of a batch, and gives a ``MaskedResult``: the result, NaN where a matrix has
            none, and a ``status`` of each, I32 [B...].
        out: where the result is written; see ``tensor_runtime.add``.

    Returns:
        One number for each matrix, shape [B...]; owned, compact. It is the determinant of a matrix that differs from A
        by a few rounding units of the dtype times N times its norm, times 1 plus rounding units times N and times the
        logarithm of the result. Exactly 0 where a pivot is exactly zero; 1 for a 0 x 0 matrix; values beyond the
        dtype's range become infinite or zero, the factors on the way do not.

        A matrix that is singular on paper need not have a pivot of zero once multipliers are rounded. The CPU backend
        computes two and three rows by their formula, from products that are exact: whole numbers give whole numbers,
        and [[0.1, 0.3], [0.2, 0.6]], whose elements are not quite those decimals but have the same ratios, exactly 0.
        It rounds each step of an elimination of up to 64 rows, without fused products, so that the answer depends
        neither on the processor nor on the batch; larger matrices go to LAPACK, whose answer is its own. For the rank,
        look at the singular values.

    Raises:
        DTypeError: an integer or Bool tensor; convert it first.
        ShapeError: fewer than two axes, or matrices that are not square.
        ArgumentError: another ``check``.
        NonFiniteError: NaN or an infinity, with ``batch_index`` and ``element_index``.
        SizeLimitError: more elements than the LAPACK in use can count.

    Source: LAPACK xGETRF; Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., §14.6; Ogita, Rump and
    Oishi, Accurate sum and dot product, SIAM J. Sci. Comput. 26 (2005).

    >>> import tensor_runtime as tr
    >>> det(tr.tensor([[2.0, 0.0], [0.0, 4.0]])).to_numpy().round(12).tolist()
    8.0
    >>> det(tr.tensor([[0.1, 0.3], [0.2, 0.6]])).item()
    0.0
    """
    if check is not True and asks_for_mask(check):
        return masked_result("det", lambda x: det(x, check=False), a, out=out)
    return execute_with_params(DET, a, check is True or checks("det", check), out)


@overload
def slogdet(
    a: TypedTensor[SingleT], /, *, check: bool = True, out: None = None
) -> SlogdetResult[TypedTensor[SingleT], TypedTensor[F32]]: ...
@overload
def slogdet(
    a: TypedTensor[DoubleT], /, *, check: bool = True, out: None = None
) -> SlogdetResult[TypedTensor[DoubleT], TypedTensor[F64]]: ...
@overload
def slogdet(a: Tensor, /, *, check: bool = True, out: SlogdetResult | None = None) -> SlogdetResult: ...
@overload
def slogdet(
    a: Tensor, /, *, check: Literal["mask"], out: MaskedResult[SlogdetResult] | None = None
) -> MaskedResult[SlogdetResult]: ...
def slogdet(a: Tensor, /, *, check: Check = True, out: Any = None) -> SlogdetResult | MaskedResult[SlogdetResult]:
    """Signs and logarithms of determinants, of any size without overflow.

    Args:
        a: shape [N, N, B...]; F32, F64, C32 or C64.
        check: raise when an element is not finite.
            "mask" raises for no matrix of a batch, and gives a ``MaskedResult``: the result, NaN where a matrix has
            none, and a ``status`` of each, I32 [B...].
        out: where the results are written, a ``SlogdetResult`` of tensors; see ``tensor_linalg.targets``.

    Returns:
        sign [B...], of the operand's dtype: 1, -1, a complex number of size 1, or 0 where a pivot is exactly zero; and
        logabsdet [B...], real, the logarithm of the size of the determinant, minus infinity where the sign is 0. Both
        are those of a matrix that differs from A by a few rounding units of the dtype times N times its norm; the sum
        of N logarithms adds N rounding units of their sizes. 1 and 0 for a 0 x 0 matrix.

    Raises:
        DTypeError: an integer or Bool tensor; convert it first.
        ShapeError: fewer than two axes, or matrices that are not square.
        ArgumentError: another ``check``.
        NonFiniteError: NaN or an infinity, with ``batch_index`` and ``element_index``.
        SizeLimitError: more elements than the LAPACK in use can count.

    Source: LAPACK xGETRF; Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., §14.6.

    >>> import tensor_runtime as tr
    >>> sign, logabsdet = slogdet(-1e200 * tr.eye(3))
    >>> sign.item(), round(logabsdet.item(), 6)
    (-1.0, 1381.551056)
    """
    if check is not True and asks_for_mask(check):
        return masked_result("slogdet", lambda x: slogdet(x, check=False), a, out=out)
    found = execute_parts(SLOGDET, a, check is True or checks("slogdet", check), SlogdetResult)
    return found if out is None else delivered("slogdet", found, out, a)
