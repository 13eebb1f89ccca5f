"""Schur and Hessenberg decompositions over trailing batch axes."""

from __future__ import annotations

from typing import Any, Generic, Literal, NamedTuple, TypeVar, overload

from tensor_core.dtypes import Bool, TensorScalar
from tensor_linalg.composed import matrices
from tensor_linalg.decompositions.gauges import RAW, is_raw, turned
from tensor_linalg.masking import Check, MaskedResult, asks_for_mask, checks, masked_result
from tensor_linalg.results import FactorT, fields_html, fields_text
from tensor_linalg.specs.decompositions import HESSENBERG, SCHUR
from tensor_linalg.targets import delivered
from tensor_runtime.dispatch.arguments import choice
from tensor_runtime.dispatch.call import execute_parts
from tensor_runtime.dispatch.conversion import convert
from tensor_runtime.ops.arithmetic import conj, multiply
from tensor_runtime.ops.complex_parts import paired
from tensor_runtime.ops.creation import eye
from tensor_runtime.ops.selection import where
from tensor_runtime.ops.views import broadcast_in_dim, expand_dims
from tensor_runtime.tensors.tensor import Tensor, TypedTensor

T = TypeVar("T", bound=TensorScalar)

_FORMS = ("real", "complex")


class SchurResult(NamedTuple, Generic[FactorT]):
    """Factors of A = z t zᴴ."""

    t: FactorT
    z: FactorT

    def __repr__(self) -> str:
        return fields_text(self)

    def _repr_html_(self) -> str:
        return fields_html(self)


class HessenbergResult(NamedTuple, Generic[FactorT]):
    """Factors of A = q h qᴴ."""

    h: FactorT
    q: FactorT

    def __repr__(self) -> str:
        return fields_text(self)

    def _repr_html_(self) -> str:
        return fields_html(self)


@overload
def schur(
    a: TypedTensor[T],
    /,
    *,
    form: Literal["real"] = "real",
    gauge: str | Tensor = RAW,
    check: bool = True,
    out: None = None,
) -> SchurResult[TypedTensor[T]]: ...
@overload
def schur(
    a: Tensor,
    /,
    *,
    form: str = "real",
    gauge: str | Tensor = RAW,
    check: bool = True,
    out: SchurResult | None = None,
) -> SchurResult: ...
@overload
def schur(
    a: Tensor,
    /,
    *,
    form: str = "real",
    gauge: str | Tensor = RAW,
    check: Literal["mask"],
    out: MaskedResult[SchurResult] | None = None,
) -> MaskedResult[SchurResult]: ...
def schur(
    a: Tensor, /, *, form: str = "real", gauge: str | Tensor = RAW, check: Check = True, out: Any = None
) -> SchurResult | MaskedResult[SchurResult]:
    """Schur decomposition, A = z t zᴴ, with a unitary z.

    Args:
        a: shape [N, N, B...]; F32, F64, C32 or C64.
        form: "real" leaves real matrices real, with a block of two rows on the diagonal for each pair of complex
            eigenvalues; "complex" gives a complex triangle. Complex matrices have the latter alone.
        gauge: what fixes the signs or phases of the columns of z, which the elements of t off its diagonal share, as
            for :func:`eigh`: "raw", "canonical", or a tensor of the shape of z. In which order the eigenvalues stand
            it leaves to the method.
        check: raise when an element is not finite. Without it LAPACK may never return from an infinity.
            "mask" raises for no matrix of a batch, and gives a ``MaskedResult``: the result, NaN where a matrix has
            none, and a ``status`` of each, I32 [B...].
        out: where the results are written, a ``SchurResult`` of tensors; see ``tensor_linalg.targets``.

    Returns:
        t [N, N, B...], upper triangular but for those blocks, with the eigenvalues on its diagonal in no order, and z
        [N, N, B...] unitary; owned, compact. The residual is a few rounding units of the dtype times N times the norm
        of A, and orthonormality holds to a few rounding units times N.

    Raises:
        DTypeError: an integer or Bool tensor; convert it first.
        ShapeError: fewer than two axes, matrices that are not square, or a gauge of another shape than z.
        ArgumentError: another form, or a gauge that is none.
        NonFiniteError: NaN or an infinity, with ``batch_index`` and ``element_index``.
        NotConvergedError: LAPACK's iteration failed for the matrix at ``batch_index``.
        SizeLimitError: more elements than the LAPACK in use can count.

    Source: LAPACK xGEES; Golub and Van Loan, Matrix Computations, 4th ed., §7.4 and §7.5.

    >>> import tensor_runtime as tr
    >>> schur(tr.tensor([[1.0, 2.0], [0.0, 3.0]])).t.to_numpy().tolist()
    [[1.0, 2.0], [0.0, 3.0]]
    """
    if check is not True and asks_for_mask(check):
        factors, status = masked_result("schur", lambda x: schur(x, form=form, check=False), a)
        return delivered("schur", MaskedResult(_turned(factors, gauge), status), out, a)
    matrices("schur", a, square=True)
    complex_form = choice("schur", "form", form, _FORMS) == "complex"
    operand = convert(a, paired(a.dtype.component)) if complex_form else a
    found = _turned(execute_parts(SCHUR, operand, check is True or checks("schur", check), SchurResult), gauge)
    return found if out is None else delivered("schur", found, out, a)


def _turned(factors: SchurResult, gauge: str | Tensor) -> SchurResult:
    """The factors in a gauge; the diagonal of t is left as it is."""
    if is_raw(gauge):
        return factors
    t = factors.t
    z, found = turned("schur", factors.z, gauge)
    moved = multiply(multiply(t, expand_dims(conj(found), 1)), expand_dims(found, 0))
    if t.dtype is not t.dtype.component:  # rounding changes it
        identity = eye(t.shape[0], dtype=Bool, placement=t.placement)
        moved = where(broadcast_in_dim(identity, t.shape, (0, 1)), t, moved)
    return SchurResult(moved, z)


@overload
def hessenberg(a: TypedTensor[T], /, *, check: bool = True, out: None = None) -> HessenbergResult[TypedTensor[T]]: ...
@overload
def hessenberg(a: Tensor, /, *, check: bool = True, out: HessenbergResult | None = None) -> HessenbergResult: ...
@overload
def hessenberg(
    a: Tensor, /, *, check: Literal["mask"], out: MaskedResult[HessenbergResult] | None = None
) -> MaskedResult[HessenbergResult]: ...
def hessenberg(
    a: Tensor, /, *, check: Check = True, out: Any = None
) -> HessenbergResult | MaskedResult[HessenbergResult]:
    """Hessenberg decomposition, A = q h qᴴ, with a unitary q.

    Args:
        a: shape [N, N, B...]; F32, F64, C32 or C64.
        check: raise when an element is not finite.
            "mask" raises for no matrix of a batch, and gives a ``MaskedResult``: the result, NaN where a matrix has
            none, and a ``status`` of each, I32 [B...].
        out: where the results are written, a ``HessenbergResult`` of tensors; see ``tensor_linalg.targets``.

    Returns:
        h [N, N, B...], zero below its first subdiagonal, and q [N, N, B...] unitary; owned, compact. The residual is a
        few rounding units of the dtype times N times the norm of A. A Hermitian A gives a tridiagonal h, up to
        rounding.

    Raises:
        DTypeError: an integer or Bool tensor; convert it first.
        ShapeError: fewer than two axes, or matrices that are not square.
        ArgumentError: another ``check``.
        NonFiniteError: NaN or an infinity, with ``batch_index`` and ``element_index``.
        SizeLimitError: more elements than the LAPACK in use can count.

    Source: LAPACK xGEHRD; Golub and Van Loan, Matrix Computations, 4th ed., §7.4.

    >>> import tensor_runtime as tr
    >>> h, q = hessenberg(tr.tensor([[1.0, 2.0], [3.0, 4.0]]))
    >>> h.to_numpy().tolist(), q.to_numpy().tolist()
    ([[1.0, 2.0], [3.0, 4.0]], [[1.0, 0.0], [0.0, 1.0]])
    """
    if check is not True and asks_for_mask(check):
        return masked_result("hessenberg", lambda x: hessenberg(x, check=False), a, out=out)
    found = execute_parts(HESSENBERG, a, check is True or checks("hessenberg", check), HessenbergResult)
    return found if out is None else delivered("hessenberg", found, out, a)
