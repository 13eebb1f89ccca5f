"""LDL decompositions of Hermitian matrices, indefinite ones too, over trailing batch axes."""

from __future__ import annotations

from typing import Any, Generic, Literal, NamedTuple, TypeVar, overload

from tensor_core.dtypes import TensorScalar
from tensor_linalg.masking import Check, MaskedResult, asks_for_mask, checks, masked_result
from tensor_linalg.results import FactorT, fields_html, fields_text
from tensor_linalg.specs.decompositions import LDL
from tensor_linalg.targets import delivered
from tensor_runtime.dispatch.call import execute_parts
from tensor_runtime.tensors.tensor import Tensor, TypedTensor

T = TypeVar("T", bound=TensorScalar)


class LDLResult(NamedTuple, Generic[FactorT]):
    """Factors of A with rows and columns in another order, A[permutation][:, permutation] = l d lᴴ."""

    l: FactorT
    d: FactorT
    permutation: Tensor

    def __repr__(self) -> str:
        return fields_text(self)

    def _repr_html_(self) -> str:
        return fields_html(self)


@overload
def ldl(a: TypedTensor[T], /, *, check: bool = True, out: None = None) -> LDLResult[TypedTensor[T]]: ...
@overload
def ldl(a: Tensor, /, *, check: bool = True, out: LDLResult | None = None) -> LDLResult: ...
@overload
def ldl(
    a: Tensor, /, *, check: Literal["mask"], out: MaskedResult[LDLResult] | None = None
) -> MaskedResult[LDLResult]: ...
def ldl(a: Tensor, /, *, check: Check = True, out: Any = None) -> LDLResult | MaskedResult[LDLResult]:
    """LDL decomposition of Hermitian (real: symmetric) matrices, which need not be definite.

    Only the lower triangle is read; the imaginary part of the diagonal is ignored. What stands elsewhere must be finite
    unless ``check=False``.

    Args:
        a: shape [N, N, B...]; F32, F64, C32 or C64. Complex symmetric matrices are not meant: they are read as
            Hermitian.
        check: raise when an element is not finite.
            "mask" raises for no matrix of a batch, and gives a ``MaskedResult``: the result, NaN where a matrix has
            none, and a ``status`` of each, I32 [B...].
        out: where the results are written, an ``LDLResult`` of tensors; see ``tensor_linalg.targets``.

    Returns:
        l [N, N, B...] lower triangular with ones on its diagonal; d [N, N, B...] Hermitian, with blocks of one or two
        rows on its diagonal and zeros elsewhere; and permutation [N, B...] of I64, with A[permutation][:, permutation]
        = l d lᴴ. Owned, compact. SciPy's ``ldl`` has l with its rows in the order of A instead. The residual is a few
        rounding units of the dtype times N times the norm of A. A block that is exactly 0 is no error. d has as many
        negative eigenvalues as A (Sylvester).

    Raises:
        DTypeError: an integer or Bool tensor; convert it first.
        ShapeError: fewer than two axes, or matrices that are not square.
        ArgumentError: another ``check``.
        NonFiniteError: NaN or an infinity anywhere, with ``batch_index`` and ``element_index``.
        SizeLimitError: more elements than the LAPACK in use can count.

    Source: LAPACK xSYTRF / xHETRF, the diagonal pivoting of Bunch and Kaufman; Golub and Van Loan, Matrix
    Computations, 4th ed., §4.4.

    >>> import tensor_runtime as tr
    >>> l, d, permutation = ldl(tr.tensor([[4.0, 99.0], [2.0, -1.0]]))
    >>> l.to_numpy().tolist(), d.to_numpy().tolist(), permutation.to_numpy().tolist()
    ([[1.0, 0.0], [0.5, 1.0]], [[4.0, 0.0], [0.0, -2.0]], [0, 1])
    """
    if check is not True and asks_for_mask(check):
        return masked_result("ldl", lambda x: ldl(x, check=False), a, out=out)
    found = execute_parts(LDL, a, check is True or checks("ldl", check), LDLResult)
    return found if out is None else delivered("ldl", found, out, a)
