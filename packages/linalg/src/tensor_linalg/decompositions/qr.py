"""QR decompositions over trailing batch axes."""

from __future__ import annotations

from typing import Any, Generic, Literal, NamedTuple, TypeVar, overload

from tensor_core.dtypes import TensorScalar
from tensor_linalg.composed import matrices
from tensor_linalg.decompositions.gauges import with_positive_diagonal
from tensor_linalg.masking import Check, MaskedResult, asks_for_mask, checks, masked_result
from tensor_linalg.results import FactorT, fields_html, fields_text
from tensor_linalg.specs.decompositions import QR, QR_COMPLETE
from tensor_linalg.specs.overwriting import QR_OVERWRITING
from tensor_linalg.targets import delivered, given_up
from tensor_runtime.dispatch.arguments import choice, flag
from tensor_runtime.dispatch.call import execute_parts
from tensor_runtime.tensors.tensor import Tensor, TypedTensor

T = TypeVar("T", bound=TensorScalar)
MODES = ("thin", "complete")


class QRResult(NamedTuple, Generic[FactorT]):
    """Factors of A = q r."""

    q: FactorT
    r: FactorT

    def __repr__(self) -> str:
        return fields_text(self)

    def _repr_html_(self) -> str:
        return fields_html(self)


@overload
def qr(
    a: TypedTensor[T],
    /,
    *,
    mode: str = "thin",
    positive: bool = False,
    check: bool = True,
    overwrite: bool = False,
    out: None = None,
) -> QRResult[TypedTensor[T]]: ...
@overload
def qr(
    a: Tensor,
    /,
    *,
    mode: str = "thin",
    positive: bool = False,
    check: bool = True,
    overwrite: bool = False,
    out: QRResult | None = None,
) -> QRResult: ...
@overload
def qr(
    a: Tensor,
    /,
    *,
    mode: str = "thin",
    positive: bool = False,
    check: Literal["mask"],
    overwrite: bool = False,
    out: MaskedResult[QRResult] | None = None,
) -> MaskedResult[QRResult]: ...
def qr(
    a: Tensor,
    /,
    *,
    mode: str = "thin",
    positive: bool = False,
    check: Check = True,
    overwrite: bool = False,
    out: Any = None,
) -> QRResult | MaskedResult[QRResult]:
    """QR decomposition, A = q r, by Householder reflections.

    Args:
        a: shape [M, N, B...]; F32, F64, C32 or C64.
        mode: "thin", or "complete" for a square q, whose last columns are any basis of what the thin ones leave.
        positive: whether the diagonal of r is made real and not negative, which makes the factors of a matrix of full
            rank unique and continuous; else it has any sign or phase.
        check: raise when an element is not finite. Without it LAPACK may never return from an infinity.
            "mask" raises for no matrix of a batch, and gives a ``MaskedResult``: the result, NaN where a matrix has
            none, and a ``status`` of each, I32 [B...].
        overwrite: give up the operand, an owned tensor or a mutable view: its elements are unspecified afterwards,
            and its memory may be a result's, so that a large matrix needs none beside it. Beside "mask" it is dropped.
        out: where the results are written, a ``QRResult`` of tensors; see ``tensor_linalg.targets``.

    Returns:
        q [M, K, B...] with orthonormal columns and r [K, N, B...], zero below its diagonal; K is the smaller of M and
        N, or M when complete. The residual is a few rounding units of the dtype times max(M, N) times the norm of A,
        and orthonormality holds to a few rounding units times max(M, N), whatever the rank of A. Nothing is pivoted.

    Raises:
        DTypeError: an integer or Bool tensor; convert it first.
        ShapeError: fewer than two axes.
        ArgumentError: another mode.
        NonFiniteError: NaN or an infinity, with ``batch_index`` and ``element_index``.
        SizeLimitError: more elements than the LAPACK in use can count.

    Source: LAPACK xGEQRF and xORGQR / xUNGQR; Golub and Van Loan, Matrix Computations, 4th ed., §5.2.

    >>> import tensor_runtime as tr
    >>> q, r = qr(tr.tensor([[3.0, 1.0], [4.0, 2.0]]), positive=True)
    >>> r.to_numpy().round(12).tolist()
    [[5.0, 2.2], [0.0, 0.4]]
    >>> qr(tr.ones((3, 1)), mode="complete").q.shape
    (3, 3)
    """
    if check is True and mode is MODES[0] and positive is False and out is None and overwrite is False:
        return execute_parts(QR, a, True, QRResult)
    if asks_for_mask(check):
        flag("qr", "overwrite", overwrite)  # a hint, which is dropped
        return masked_result("qr", lambda x: qr(x, mode=mode, positive=positive, check=False), a, out=out)
    spec = QR
    if mode is not MODES[0] and choice("qr", "mode", mode, MODES) == "complete":
        rows, columns, _ = matrices("qr", a)
        spec = QR_COMPLETE if rows > columns else QR  # else thin factors are complete
    checked = checks("qr", check)
    if overwrite is not False and flag("qr", "overwrite", overwrite):
        (a,) = given_up("qr", a)
        spec = QR_OVERWRITING if spec is QR else spec
    factors = execute_parts(spec, a, checked, QRResult)
    if positive is False or not flag("qr", "positive", positive):
        return factors if out is None else delivered("qr", factors, out, a)
    return delivered("qr", QRResult(*with_positive_diagonal(*factors)), out, a)
