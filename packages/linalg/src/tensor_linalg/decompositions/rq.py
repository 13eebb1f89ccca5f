"""RQ, LQ and QL decompositions over trailing batch axes: QR decompositions of the reversed or adjoint matrices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, Literal, NamedTuple, TypeVar, overload

from tensor_core.dtypes import TensorScalar
from tensor_linalg.composed import Index, failing_as, matrices
from tensor_linalg.decompositions.qr import MODES, QRResult, qr
from tensor_linalg.masking import Check, MaskedResult, asks_for_mask, checks, masked_result
from tensor_linalg.products import mH
from tensor_linalg.results import FactorT, fields_html, fields_text
from tensor_linalg.targets import delivered
from tensor_runtime.dispatch.arguments import choice, flag
from tensor_runtime.ops.views import copy
from tensor_runtime.tensors.tensor import Tensor, TypedTensor

T = TypeVar("T", bound=TensorScalar)


class RQResult(NamedTuple, Generic[FactorT]):
    """Factors of A = r q."""

    r: FactorT
    q: FactorT

    def __repr__(self) -> str:
        return fields_text(self)

    def _repr_html_(self) -> str:
        return fields_html(self)


class LQResult(NamedTuple, Generic[FactorT]):
    """Factors of A = l q."""

    l: FactorT
    q: FactorT

    def __repr__(self) -> str:
        return fields_text(self)

    def _repr_html_(self) -> str:
        return fields_html(self)


class QLResult(NamedTuple, Generic[FactorT]):
    """Factors of A = q l."""

    q: FactorT
    l: FactorT

    def __repr__(self) -> str:
        return fields_text(self)

    def _repr_html_(self) -> str:
        return fields_html(self)


@overload
def rq(
    a: TypedTensor[T], /, *, mode: str = "thin", positive: bool = False, check: bool = True, out: None = None
) -> RQResult[TypedTensor[T]]: ...
@overload
def rq(
    a: Tensor, /, *, mode: str = "thin", positive: bool = False, check: bool = True, out: RQResult | None = None
) -> RQResult: ...
@overload
def rq(
    a: Tensor,
    /,
    *,
    mode: str = "thin",
    positive: bool = False,
    check: Literal["mask"],
    out: MaskedResult[RQResult] | None = None,
) -> MaskedResult[RQResult]: ...
def rq(
    a: Tensor, /, *, mode: str = "thin", positive: bool = False, check: Check = True, out: Any = None
) -> RQResult | MaskedResult[RQResult]:
    """RQ decomposition, A = r q: an upper triangle times orthonormal rows.

    Args:
        a: shape [M, N, B...]; F32, F64, C32 or C64.
        mode: "thin", or "complete" for a square q.
        positive: whether the diagonal of r that ends in its last corner is made real and not negative; see :func:`qr`.
        check: raise when an element is not finite.
            "mask" raises for no matrix of a batch, and gives a ``MaskedResult``: the result, NaN where a matrix has
            none, and a ``status`` of each, I32 [B...].
        out: where the results are written, an ``RQResult`` of tensors; see ``tensor_linalg.targets``.

    Returns:
        r [M, K, B...], zero below the diagonal that ends in its last corner, and q [K, N, B...] with orthonormal rows;
        K is the smaller of M and N, or N when complete. Owned, compact; as accurate as :func:`qr`.

    Raises:
        DTypeError, ShapeError, ArgumentError, NonFiniteError, SizeLimitError: as for :func:`qr`.

    Source: LAPACK xGERQF, of which this is the QR decomposition of the reversed adjoint; Golub and Van Loan, Matrix
    Computations, 4th ed., §5.2.

    >>> import tensor_runtime as tr
    >>> r, q = rq(tr.tensor([[3.0, 4.0]]), positive=True)
    >>> r.to_numpy().round(12).tolist(), q.to_numpy().round(12).tolist()
    ([[5.0]], [[0.6, 0.8]])
    """
    if check is not True and asks_for_mask(check):
        return masked_result("rq", lambda x: rq(x, mode=mode, positive=positive, check=False), a, out=out)
    rows, _, _ = matrices("rq", a)
    factors = _factors("rq", mH(a[::-1]), mode, positive, check, lambda i, j: (rows - 1 - j, i))
    return delivered("rq", RQResult(copy(mH(factors.r)[::-1, ::-1]), copy(mH(factors.q)[::-1])), out, a)


@overload
def lq(
    a: TypedTensor[T], /, *, mode: str = "thin", positive: bool = False, check: bool = True, out: None = None
) -> LQResult[TypedTensor[T]]: ...
@overload
def lq(
    a: Tensor, /, *, mode: str = "thin", positive: bool = False, check: bool = True, out: LQResult | None = None
) -> LQResult: ...
@overload
def lq(
    a: Tensor,
    /,
    *,
    mode: str = "thin",
    positive: bool = False,
    check: Literal["mask"],
    out: MaskedResult[LQResult] | None = None,
) -> MaskedResult[LQResult]: ...
def lq(
    a: Tensor, /, *, mode: str = "thin", positive: bool = False, check: Check = True, out: Any = None
) -> LQResult | MaskedResult[LQResult]:
    """LQ decomposition, A = l q: a lower triangle times orthonormal rows.

    Args:
        a: shape [M, N, B...]; F32, F64, C32 or C64.
        mode: "thin", or "complete" for a square q.
        positive: whether the diagonal of l is made real and not negative; see :func:`qr`.
        check: raise when an element is not finite.
            "mask" raises for no matrix of a batch, and gives a ``MaskedResult``: the result, NaN where a matrix has
            none, and a ``status`` of each, I32 [B...].
        out: where the results are written, an ``LQResult`` of tensors; see ``tensor_linalg.targets``.

    Returns:
        l [M, K, B...], zero above its diagonal, and q [K, N, B...] with orthonormal rows; K is the smaller of M and N,
        or N when complete. Owned, compact; as accurate as :func:`qr`.

    Raises:
        DTypeError, ShapeError, ArgumentError, NonFiniteError, SizeLimitError: as for :func:`qr`.

    Source: LAPACK xGELQF, of which this is the QR decomposition of the adjoint; Golub and Van Loan, Matrix
    Computations, 4th ed., §5.2.

    >>> import tensor_runtime as tr
    >>> l, q = lq(tr.tensor([[3.0, 4.0]]), positive=True)
    >>> l.to_numpy().round(12).tolist(), q.to_numpy().round(12).tolist()
    ([[5.0]], [[0.6, 0.8]])
    """
    if check is not True and asks_for_mask(check):
        return masked_result("lq", lambda x: lq(x, mode=mode, positive=positive, check=False), a, out=out)
    matrices("lq", a)
    factors = _factors("lq", mH(a), mode, positive, check, lambda i, j: (j, i))
    return delivered("lq", LQResult(copy(mH(factors.r)), copy(mH(factors.q))), out, a)


@overload
def ql(
    a: TypedTensor[T], /, *, mode: str = "thin", positive: bool = False, check: bool = True, out: None = None
) -> QLResult[TypedTensor[T]]: ...
@overload
def ql(
    a: Tensor, /, *, mode: str = "thin", positive: bool = False, check: bool = True, out: QLResult | None = None
) -> QLResult: ...
@overload
def ql(
    a: Tensor,
    /,
    *,
    mode: str = "thin",
    positive: bool = False,
    check: Literal["mask"],
    out: MaskedResult[QLResult] | None = None,
) -> MaskedResult[QLResult]: ...
def ql(
    a: Tensor, /, *, mode: str = "thin", positive: bool = False, check: Check = True, out: Any = None
) -> QLResult | MaskedResult[QLResult]:
    """QL decomposition, A = q l: orthonormal columns times a lower triangle.

    Args:
        a: shape [M, N, B...]; F32, F64, C32 or C64.
        mode: "thin", or "complete" for a square q.
        positive: whether the diagonal of l that ends in its last corner is made real and not negative; see :func:`qr`.
        check: raise when an element is not finite.
            "mask" raises for no matrix of a batch, and gives a ``MaskedResult``: the result, NaN where a matrix has
            none, and a ``status`` of each, I32 [B...].
        out: where the results are written, a ``QLResult`` of tensors; see ``tensor_linalg.targets``.

    Returns:
        q [M, K, B...] with orthonormal columns, and l [K, N, B...], zero above the diagonal that ends in its last
        corner; K is the smaller of M and N, or M when complete. Owned, compact; as accurate as :func:`qr`.

    Raises:
        DTypeError, ShapeError, ArgumentError, NonFiniteError, SizeLimitError: as for :func:`qr`.

    Source: LAPACK xGEQLF, of which this is the QR decomposition of the columns reversed; Golub and Van Loan, Matrix
    Computations, 4th ed., §5.2.

    >>> import tensor_runtime as tr
    >>> q, l = ql(tr.tensor([[3.0], [4.0]]), positive=True)
    >>> q.to_numpy().round(12).tolist(), l.to_numpy().round(12).tolist()
    ([[0.6], [0.8]], [[5.0]])
    """
    if check is not True and asks_for_mask(check):
        return masked_result("ql", lambda x: ql(x, mode=mode, positive=positive, check=False), a, out=out)
    _, columns, _ = matrices("ql", a)
    factors = _factors("ql", a[:, ::-1], mode, positive, check, lambda i, j: (i, columns - 1 - j))
    return delivered("ql", QLResult(copy(factors.q[:, ::-1]), copy(factors.r[::-1, ::-1])), out, a)


def _factors(
    operation: str, a: Tensor, mode: str, positive: bool, check: object, element: Callable[[int, int], Index]
) -> QRResult:
    choice(operation, "mode", mode, MODES)
    flag(operation, "positive", positive)
    with failing_as(operation, element):
        return qr(a, mode=mode, positive=positive, check=checks(operation, check))
