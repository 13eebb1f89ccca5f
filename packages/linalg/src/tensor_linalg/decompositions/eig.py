"""Eigenvalues and eigenvectors of any matrices over trailing batch axes."""

from __future__ import annotations

from typing import Any, Generic, Literal, NamedTuple, overload

from tensor_core.dtypes import C32, C64, F32, F64
from tensor_linalg.decompositions.gauges import RAW, is_raw, turned
from tensor_linalg.masking import Check, MaskedResult, asks_for_mask, checks, masked_result
from tensor_linalg.results import FactorT, fields_html, fields_text
from tensor_linalg.specs.decompositions import EIG, EIGVALS
from tensor_linalg.targets import delivered
from tensor_runtime.dispatch.call import execute_parts, execute_with_params
from tensor_runtime.dispatch.out import Out
from tensor_runtime.tensors.tensor import Tensor, TypedTensor


class EigResult(NamedTuple, Generic[FactorT]):
    """Eigenvalues and right eigenvectors: A v = v diag(eigenvalues), one eigenvector per column."""

    eigenvalues: FactorT
    eigenvectors: FactorT

    def __repr__(self) -> str:
        return fields_text(self)

    def _repr_html_(self) -> str:
        return fields_html(self)


@overload
def eig(
    a: TypedTensor[F32] | TypedTensor[C32], /, *, gauge: str | Tensor = RAW, check: bool = True, out: None = None
) -> EigResult[TypedTensor[C32]]: ...
@overload
def eig(
    a: TypedTensor[F64] | TypedTensor[C64], /, *, gauge: str | Tensor = RAW, check: bool = True, out: None = None
) -> EigResult[TypedTensor[C64]]: ...
@overload
def eig(a: Tensor, /, *, gauge: str | Tensor = RAW, check: bool = True, out: EigResult | None = None) -> EigResult: ...
@overload
def eig(
    a: Tensor, /, *, gauge: str | Tensor = RAW, check: Literal["mask"], out: MaskedResult[EigResult] | None = None
) -> MaskedResult[EigResult]: ...
def eig(
    a: Tensor, /, *, gauge: str | Tensor = RAW, check: Check = True, out: Any = None
) -> EigResult | MaskedResult[EigResult]:
    """Eigenvalues and right eigenvectors of any square matrices, A V = V diag(w).

    For Hermitian matrices :func:`eigh` is faster, and its vectors are orthonormal.

    Args:
        a: shape [N, N, B...]; F32, F64, C32 or C64.
        gauge: what fixes the phases of eigenvectors, as for :func:`eigh`: "raw", "canonical", or a tensor of their
            shape.
        check: raise when an element is not finite. Without it LAPACK may never return from an infinity.
            "mask" raises for no matrix of a batch, and gives a ``MaskedResult``: the result, NaN where a matrix has
            none, and a ``status`` of each, I32 [B...].
        out: where the results are written, an ``EigResult`` of tensors; see ``tensor_linalg.targets``.

    Returns:
        eigenvalues [N, B...] in no order, eigenvectors [N, N, B...], one per column, of norm 1; both complex, C32 for
        F32 and C32, else C64, also where all are real. Owned, compact. The eigenvalues are those of a matrix that
        differs from A, after both are balanced by one diagonal scaling, by a few rounding units of the dtype times N
        times the norm. A defective matrix has eigenvectors that are linearly dependent to working precision, which is
        no error.

    Raises:
        DTypeError: an integer or Bool tensor; convert it first.
        ShapeError: fewer than two axes, or matrices that are not square.
        ArgumentError: a gauge that is none.
        NonFiniteError: NaN or an infinity, with ``batch_index`` and ``element_index``.
        NotConvergedError: LAPACK's iteration failed for the matrix at ``batch_index``.
        SizeLimitError: more elements than the LAPACK in use can count.

    Source: LAPACK xGEEV; Golub and Van Loan, Matrix Computations, 4th ed., §7.5 and §7.6.

    >>> import tensor_runtime as tr
    >>> w, v = eig(tr.tensor([[0.0, -1.0], [1.0, 0.0]]))
    >>> sorted(w.to_numpy().round(12).tolist(), key=lambda z: z.imag)
    [-1j, 1j]
    """
    if check is not True and asks_for_mask(check):
        (values, vectors), status = masked_result("eig", lambda x: eig(x, check=False), a)
        found = EigResult(values, vectors if is_raw(gauge) else turned("eig", vectors, gauge)[0])
        return delivered("eig", MaskedResult(found, status), out, a)
    found = execute_parts(EIG, a, check is True or checks("eig", check), EigResult)
    if not is_raw(gauge):
        found = EigResult(found.eigenvalues, turned("eig", found.eigenvectors, gauge)[0])
    return found if out is None else delivered("eig", found, out, a)


@overload
def eigvals(a: TypedTensor[F32] | TypedTensor[C32], /, *, check: bool = True, out: None = None) -> TypedTensor[C32]: ...
@overload
def eigvals(a: TypedTensor[F64] | TypedTensor[C64], /, *, check: bool = True, out: None = None) -> TypedTensor[C64]: ...
@overload
def eigvals(a: Tensor, /, *, check: bool = True, out: Out = None) -> Tensor: ...
@overload
def eigvals(
    a: Tensor, /, *, check: Literal["mask"], out: MaskedResult[Tensor] | None = None
) -> MaskedResult[Tensor]: ...
def eigvals(a: Tensor, /, *, check: Check = True, out: Any = None) -> Tensor | MaskedResult[Tensor]:
    """Eigenvalues alone of any square matrices, which cost a fraction of those with vectors.

    Args:
        a: shape [N, N, B...]; F32, F64, C32 or C64.
        check: raise when an element is not finite. Without it LAPACK may never return from an infinity.
            "mask" raises for no matrix of a batch, and gives a ``MaskedResult``: the result, NaN where a matrix has
            none, and a ``status`` of each, I32 [B...].
        out: where the result is written; see ``tensor_runtime.add``.

    Returns:
        Shape [N, B...] in no order, complex as those of :func:`eig`; owned, compact.

    Raises:
        DTypeError, ShapeError, NonFiniteError, NotConvergedError, SizeLimitError: as for :func:`eig`.

    Source: LAPACK xGEEV; Golub and Van Loan, Matrix Computations, 4th ed., §7.5.

    >>> import tensor_runtime as tr
    >>> sorted(eigvals(tr.tensor([[2.0, 1.0], [0.0, 3.0]])).to_numpy().real.round(12).tolist())
    [2.0, 3.0]
    """
    if check is not True and asks_for_mask(check):
        return masked_result("eigvals", lambda x: eigvals(x, check=False), a, out=out)
    return execute_with_params(EIGVALS, a, check is True or checks("eigvals", check), out)
