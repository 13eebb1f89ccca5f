"""Singular value decompositions over trailing batch axes."""

from __future__ import annotations

from typing import Any, Final, Generic, Literal, NamedTuple, TypeVar, overload

from tensor_core.dtypes import C32, C64, F32, F64, TensorScalar
from tensor_linalg.composed import failing_as, matrices, with_smaller
from tensor_linalg.decompositions.gauges import RAW, is_raw, turned
from tensor_linalg.masking import Check, MaskedResult, asks_for_mask, checks, masked_result
from tensor_linalg.products import matmul, mH, mT
from tensor_linalg.results import FactorT, SizesT, fields_html, fields_text
from tensor_linalg.specs.decompositions import QR, SVD, SVD_FULL, SVDVALS
from tensor_linalg.specs.overwriting import SVD_OVERWRITING
from tensor_linalg.targets import delivered, given_up
from tensor_runtime.dispatch.arguments import choice, flag
from tensor_runtime.dispatch.call import execute_parts, execute_with_params
from tensor_runtime.dispatch.out import Out
from tensor_runtime.ops.arithmetic import add, conj, divide, multiply
from tensor_runtime.ops.creation import eye, ones
from tensor_runtime.ops.joining import concatenate
from tensor_runtime.ops.views import broadcast_in_dim, copy, expand_dims
from tensor_runtime.tensors.tensor import Tensor, TypedTensor

T = TypeVar("T", bound=TensorScalar)
SingleT = TypeVar("SingleT", F32, C32)
DoubleT = TypeVar("DoubleT", F64, C64)
_AUTO: Final = "auto"
DRIVERS: Final = (_AUTO, "gesdd", "gesvd", "jacobi")
_AS_USUAL: Final = (True, _AUTO)


class SVDResult(NamedTuple, Generic[FactorT, SizesT]):
    """Factors of A = u diag(s) vh."""

    u: FactorT
    s: SizesT
    vh: FactorT

    def __repr__(self) -> str:
        return fields_text(self)

    def _repr_html_(self) -> str:
        return fields_html(self)


@overload
def svd(
    a: TypedTensor[SingleT],
    /,
    *,
    full: bool = False,
    driver: str = _AUTO,
    gauge: str | Tensor = RAW,
    check: bool = True,
    overwrite: bool = False,
    out: None = None,
) -> SVDResult[TypedTensor[SingleT], TypedTensor[F32]]: ...
@overload
def svd(
    a: TypedTensor[DoubleT],
    /,
    *,
    full: bool = False,
    driver: str = _AUTO,
    gauge: str | Tensor = RAW,
    check: bool = True,
    overwrite: bool = False,
    out: None = None,
) -> SVDResult[TypedTensor[DoubleT], TypedTensor[F64]]: ...
@overload
def svd(
    a: Tensor,
    /,
    *,
    full: bool = False,
    driver: str = _AUTO,
    gauge: str | Tensor = RAW,
    check: bool = True,
    overwrite: bool = False,
    out: SVDResult | None = None,
) -> SVDResult: ...
@overload
def svd(
    a: Tensor,
    /,
    *,
    full: bool = False,
    driver: str = _AUTO,
    gauge: str | Tensor = RAW,
    check: Literal["mask"],
    overwrite: bool = False,
    out: MaskedResult[SVDResult] | None = None,
) -> MaskedResult[SVDResult]: ...
def svd(
    a: Tensor,
    /,
    *,
    full: bool = False,
    driver: str = _AUTO,
    gauge: str | Tensor = RAW,
    check: Check = True,
    overwrite: bool = False,
    out: Any = None,
) -> SVDResult | MaskedResult[SVDResult]:
    """Singular value decomposition, A = u diag(s) vh, thin unless ``full``.

    Args:
        a: shape [M, N, B...]; F32, F64, C32 or C64.
        full: whether u and vh are square, with orthonormal columns and rows beyond the thin factors; those are any
            basis of what is left, such as of the null space.
        driver: "gesdd" is divide and conquer, fast; "gesvd" is QR iteration, slower, which converges for some matrices
            for which the former fails; "jacobi" finds also small values of graded matrices to high relative accuracy.
            "auto" takes Jacobi's rotations for batches of small matrices, else gesdd, and gesvd where that fails.
        gauge: "raw", or what fixes signs and phases: "canonical" makes the element of each column of u that is
            largest, or the first of those within a thousandth of that, real and positive; a tensor of the shape of u
            makes each inner product with its column real and not negative, which follows a slow change.
        check: raise when an element is not finite. Without it LAPACK may never return from an infinity.
            "mask" raises for no matrix of a batch, and gives a ``MaskedResult``: the result, NaN where a matrix has
            none, and a ``status`` of each, I32 [B...].
        overwrite: give up the operand, an owned tensor or a mutable view: its elements are unspecified afterwards,
            and its memory may be a result's, so that a large matrix needs none beside it. Only thin factors by "auto",
            and square ones of square matrices, take it; other calls accept the same operands, and leave them. Beside
            "mask" it is dropped.
        out: where the results are written, an ``SVDResult`` of tensors; see ``tensor_linalg.targets``.

    Returns:
        u [M, K, B...] with orthonormal columns, s [K, B...] real, non-negative and descending, vh [K, N, B...] with
        orthonormal rows; K is the smaller of M and N. With ``full``, u is [M, M, B...] and vh [N, N, B...]. The
        residual is a few rounding units of the dtype times max(M, N) times the norm of A, and orthonormality holds to a
        few rounding units times max(M, N). Always up to one sign or phase per column of u and row of vh, and freely for
        equal singular values, the vectors are not unique: they are what the method gives. Where the largest value is
        beyond the dtype's range, up to the root of M N times the largest element, it is infinite, and then other values
        and vectors of this matrix may be wrong; those of the matrix times 2**-24 are right.

    Raises:
        DTypeError: an integer or Bool tensor; convert it first.
        ShapeError: fewer than two axes, or a gauge of another shape than u.
        ArgumentError: another driver or gauge.
        NonFiniteError: NaN or an infinity, with ``batch_index`` and ``element_index``.
        NotConvergedError: LAPACK's iteration failed for the matrix at ``batch_index``.
        SizeLimitError: more elements than the LAPACK in use can count.

    Source: LAPACK xGESDD (divide and conquer), xGESVD and xGEJSV; for batches on the CPU one-sided Jacobi rotations up
    to 16 rows and columns, implicit QR iterations up to 64; Golub and Van Loan, Matrix Computations, 4th ed., §8.6.

    >>> import tensor_runtime as tr
    >>> u, s, vh = svd(tr.tensor([[3.0, 0.0], [0.0, 4.0], [0.0, 0.0]]))
    >>> u.shape, s.to_numpy().round(12).tolist(), vh.shape
    ((3, 2), [4.0, 3.0], (2, 2))
    """
    if (
        full is False and driver is _AUTO and gauge is RAW and check is True and out is None and overwrite is False
    ):  # 0.3 µs less
        return execute_parts(SVD, a, _AS_USUAL, SVDResult)
    gives_up = flag("svd", "overwrite", overwrite)
    if asks_for_mask(check):  # beside which overwrite is a hint, which is dropped
        return _masked(a, full, driver, gauge, out)
    given = given_up("svd", a)[0] if gives_up else None
    checked = checks("svd", check)
    if driver is not _AUTO:
        choice("svd", "driver", driver, DRIVERS)
    beyond = False  # thin factors of square matrices are full
    if flag("svd", "full", full):
        rows, columns, _ = matrices("svd", a)
        beyond = rows != columns
    if given is not None and driver == _AUTO and not beyond:
        u, s, vh = execute_parts(SVD_OVERWRITING, given, checked)
    elif not beyond:
        u, s, vh = execute_parts(SVD, a, (checked, driver))
    elif driver == "auto":
        u, s, vh = execute_parts(SVD_FULL, a, checked)
    else:
        u, s, vh = execute_parts(SVD, a, (checked, driver))
        u, vh = full_factors(u, vh)
    if not is_raw(gauge):
        u, vh = _turned(u, vh, gauge)
    return delivered("svd", SVDResult(u, s, vh), out, a)


def _masked(a: Tensor, full: bool, driver: str, gauge: str | Tensor, out: Any) -> MaskedResult[SVDResult]:
    (u, s, vh), status = masked_result("svd", lambda x: svd(x, full=full, driver=driver, check=False), a)
    if not is_raw(gauge):
        u, vh = _turned(u, vh, gauge)
    return delivered("svd", MaskedResult(SVDResult(u, s, vh), status), out, a)


def _turned(u: Tensor, vh: Tensor, gauge: str | Tensor) -> tuple[Tensor, Tensor]:
    u, phases = turned("svd", u, gauge)
    shared = min(u.shape[1], vh.shape[0])
    backs = conj(phases[:shared])
    if vh.shape[0] > shared:  # full: rows that belong to no column of u
        rest = ones((vh.shape[0] - shared, *vh.shape[2:]), dtype=vh.dtype, placement=vh.placement)
        backs = concatenate([backs, rest], 0)
    return u, multiply(vh, expand_dims(backs, 1))


def full_factors(u: Tensor, vh: Tensor, /) -> tuple[Tensor, Tensor]:
    """Square factors that begin with these thin ones.

    >>> import tensor_runtime as tr
    >>> [part.shape for part in full_factors(tr.eye(3, 2), tr.eye(2))]
    [(3, 3), (2, 2)]
    """
    return completed(u), vh if vh.shape[0] == vh.shape[1] else copy(mT(completed(mT(vh))))


def completed(q: Tensor, /) -> Tensor:
    """Square unitary matrices that begin with these orthonormal columns.

    >>> import tensor_runtime as tr
    >>> abs(completed(tr.tensor([[1.0], [0.0]]))).to_numpy().tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    rows, columns, *batch = q.shape
    if columns == rows:
        return q
    identity = broadcast_in_dim(eye(rows, dtype=q.dtype, placement=q.placement), (rows, rows, *batch), (0, 1))
    basis = execute_parts(QR, concatenate([q, identity], 1), False)[0]
    return concatenate([q, basis[:, columns:]], 1)


@overload
def svdvals(
    a: TypedTensor[F32] | TypedTensor[C32], /, *, driver: str = _AUTO, check: bool = True, out: None = None
) -> TypedTensor[F32]: ...
@overload
def svdvals(
    a: TypedTensor[F64] | TypedTensor[C64], /, *, driver: str = _AUTO, check: bool = True, out: None = None
) -> TypedTensor[F64]: ...
@overload
def svdvals(a: Tensor, /, *, driver: str = _AUTO, check: bool = True, out: Out = None) -> Tensor: ...
@overload
def svdvals(
    a: Tensor, /, *, driver: str = _AUTO, check: Literal["mask"], out: MaskedResult[Tensor] | None = None
) -> MaskedResult[Tensor]: ...
def svdvals(
    a: Tensor, /, *, driver: str = _AUTO, check: Check = True, out: Any = None
) -> Tensor | MaskedResult[Tensor]:
    """Singular values alone, which cost a fraction of the whole decomposition.

    Args:
        a: shape [M, N, B...]; F32, F64, C32 or C64.
        driver: as for :func:`svd`.
        check: raise when an element is not finite. Without it LAPACK may never return from an infinity.
            "mask" raises for no matrix of a batch, and gives a ``MaskedResult``: the result, NaN where a matrix has
            none, and a ``status`` of each, I32 [B...].
        out: where the result is written; see ``tensor_runtime.add``.

    Returns:
        Shape [K, B...], real, non-negative and descending; owned, compact. K is the smaller of M and N. Each is within
        a few rounding units of the dtype times max(M, N) times the norm of A. Where the largest is beyond the dtype's
        range it is infinite, and others of this matrix may be, too; those of the matrix times 2**-24 are right.

    Raises:
        DTypeError, ShapeError, ArgumentError, NonFiniteError, NotConvergedError, SizeLimitError: as for :func:`svd`.

    Source: LAPACK xGESDD, xGESVD and xGEJSV, and one-sided Jacobi rotations for small matrices on the CPU; Golub and
    Van Loan, Matrix Computations, 4th ed., §8.6.

    >>> import tensor_runtime as tr
    >>> svdvals(tr.tensor([[3.0, 0.0], [0.0, -4.0]])).to_numpy().round(12).tolist()
    [4.0, 3.0]
    """
    if check is not True and asks_for_mask(check):
        return masked_result("svdvals", lambda x: svdvals(x, driver=driver, check=False), a, out=out)
    if driver is not _AUTO:
        choice("svdvals", "driver", driver, DRIVERS)
    return execute_with_params(SVDVALS, a, (check is True or checks("svdvals", check), driver), out)


class PolarResult(NamedTuple, Generic[FactorT]):
    """Factors of A = u p, or of A = p u."""

    u: FactorT
    p: FactorT

    def __repr__(self) -> str:
        return fields_text(self)

    def _repr_html_(self) -> str:
        return fields_html(self)


@overload
def polar(
    a: TypedTensor[T], /, *, side: str = "right", check: bool = True, out: None = None
) -> PolarResult[TypedTensor[T]]: ...
@overload
def polar(a: Tensor, /, *, side: str = "right", check: bool = True, out: PolarResult | None = None) -> PolarResult: ...
@overload
def polar(
    a: Tensor, /, *, side: str = "right", check: Literal["mask"], out: MaskedResult[PolarResult] | None = None
) -> MaskedResult[PolarResult]: ...
def polar(
    a: Tensor, /, *, side: str = "right", check: Check = True, out: Any = None
) -> PolarResult | MaskedResult[PolarResult]:
    """Polar decomposition, A = u p with a unitary u and a positive semidefinite p.

    Args:
        a: shape [M, N, B...]; F32, F64, C32 or C64.
        side: "right" for A = u p with p [N, N, B...], "left" for A = p u with p [M, M, B...].
        check: raise when an element is not finite.
            "mask" raises for no matrix of a batch, and gives a ``MaskedResult``: the result, NaN where a matrix has
            none, and a ``status`` of each, I32 [B...].
        out: where the results are written, a ``PolarResult`` of tensors; see ``tensor_linalg.targets``.

    Returns:
        u [M, N, B...] with orthonormal columns, or rows where M is smaller, the nearest such matrix to A; and p,
        exactly Hermitian, with no eigenvalue below 0 but for rounding. Owned, compact; as accurate as :func:`svd`. u is
        unique where A has full rank. Elements of p beyond the range are infinite, and change no other.

    Raises:
        DTypeError, ShapeError, NonFiniteError, NotConvergedError, SizeLimitError: as for :func:`svd`.
        ArgumentError: another side.

    Source: Golub and Van Loan, Matrix Computations, 4th ed., §9.4.3; N. J. Higham, Functions of Matrices, SIAM 2008,
    chapter 8.

    >>> import tensor_runtime as tr
    >>> u, p = polar(tr.tensor([[0.0, -2.0], [3.0, 0.0]]))
    >>> u.to_numpy().round(12).tolist(), p.to_numpy().round(12).tolist()
    ([[0.0, -1.0], [1.0, 0.0]], [[3.0, 0.0], [0.0, 2.0]])
    """
    if check is not True and asks_for_mask(check):
        return masked_result("polar", lambda x: polar(x, side=side, check=False), a, out=out)
    matrices("polar", a)
    right = choice("polar", "side", side, ("right", "left")) == "right"
    with failing_as("polar"):
        u, s, vh = svd(a, check=check is True or checks("polar", check))
        if (smaller := with_smaller(a, s)) is not None:
            u, s, vh = svd(smaller[0], check=False)
    vectors, adjoint = (mH(vh), vh) if right else (u, mH(u))
    half = multiply(matmul(multiply(vectors, expand_dims(s, 0)), adjoint), 0.5)
    p = add(half, mH(half)) if smaller is None else divide(add(half, mH(half)), smaller[1])
    return delivered("polar", PolarResult(matmul(u, vh), p), out, a)
