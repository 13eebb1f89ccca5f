"""Eigenvalues and eigenvectors of Hermitian matrices over trailing batch axes."""

from __future__ import annotations

from typing import Any, Final, Generic, Literal, NamedTuple, TypeVar, overload

from tensor_core.dtypes import C32, C64, F32, F64
from tensor_core.errors import ArgumentError, ShapeError, shortened
from tensor_core.promotion import promote
from tensor_core.shapes import Shape
from tensor_linalg.composed import failing_as, floating_form
from tensor_linalg.contracts.common import EighRangeParams
from tensor_linalg.decompositions.cholesky import cholesky
from tensor_linalg.decompositions.gauges import RAW, is_raw, turned
from tensor_linalg.masking import Check, MaskedResult, asks_for_mask, checks, masked, masked_result
from tensor_linalg.operands import plain, require_finite, require_range, with_batch
from tensor_linalg.products import mH
from tensor_linalg.results import FactorT, SizesT, fields_html, fields_text
from tensor_linalg.specs.decompositions import EIGH, EIGH_RANGE, EIGVALSH
from tensor_linalg.specs.overwriting import EIGH_OVERWRITING
from tensor_linalg.specs.shapes import broadcast_batches, square_axes
from tensor_linalg.targets import delivered, given_up
from tensor_runtime.dispatch.arguments import choice, flag, wholes
from tensor_runtime.dispatch.call import execute_many, execute_parts, execute_with_params
from tensor_runtime.dispatch.conversion import convert
from tensor_runtime.dispatch.out import Out
from tensor_runtime.ops.arithmetic import add
from tensor_runtime.ops.comparison import greater, less_equal
from tensor_runtime.ops.complex_parts import real
from tensor_runtime.ops.creation import eye, zeros
from tensor_runtime.ops.diagonals import embed_diagonal, extract_diagonal, tril
from tensor_runtime.ops.gather_scatter import nonzero
from tensor_runtime.ops.logic import logical_and
from tensor_runtime.ops.views import copy
from tensor_runtime.primitives.linalg import triangular_solve
from tensor_runtime.tensors.tensor import Tensor, TypedTensor, unwrap

_AUTO: Final = "auto"
DRIVERS: Final = (_AUTO, "evd", "ev", "evr", "jacobi")
_AS_USUAL: Final = (True, _AUTO)
SingleT = TypeVar("SingleT", F32, C32)
DoubleT = TypeVar("DoubleT", F64, C64)


class EighResult(NamedTuple, Generic[FactorT, SizesT]):
    """Eigenvalues and eigenvectors: A v = v diag(eigenvalues), one eigenvector per column."""

    eigenvalues: SizesT
    eigenvectors: FactorT

    def __repr__(self) -> str:
        return fields_text(self)

    def _repr_html_(self) -> str:
        return fields_html(self)


@overload
def eigh(
    a: TypedTensor[SingleT],
    /,
    b: TypedTensor[SingleT] | None = None,
    *,
    subset_by_index: tuple[int, int] | None = None,
    subset_by_value: tuple[float, float] | None = None,
    driver: str = _AUTO,
    gauge: str | Tensor = RAW,
    check: bool = True,
    overwrite: bool = False,
    out: None = None,
) -> EighResult[TypedTensor[SingleT], TypedTensor[F32]]: ...
@overload
def eigh(
    a: TypedTensor[DoubleT],
    /,
    b: TypedTensor[DoubleT] | None = None,
    *,
    subset_by_index: tuple[int, int] | None = None,
    subset_by_value: tuple[float, float] | None = None,
    driver: str = _AUTO,
    gauge: str | Tensor = RAW,
    check: bool = True,
    overwrite: bool = False,
    out: None = None,
) -> EighResult[TypedTensor[DoubleT], TypedTensor[F64]]: ...
@overload
def eigh(
    a: Tensor,
    /,
    b: Tensor | None = None,
    *,
    subset_by_index: tuple[int, int] | None = None,
    subset_by_value: tuple[float, float] | None = None,
    driver: str = _AUTO,
    gauge: str | Tensor = RAW,
    check: bool = True,
    overwrite: bool = False,
    out: EighResult | None = None,
) -> EighResult: ...
@overload
def eigh(
    a: Tensor,
    /,
    b: Tensor | None = None,
    *,
    subset_by_index: tuple[int, int] | None = None,
    driver: str = _AUTO,
    gauge: str | Tensor = RAW,
    check: Literal["mask"],
    overwrite: bool = False,
    out: MaskedResult[EighResult] | None = None,
) -> MaskedResult[EighResult]: ...
def eigh(
    a: Tensor,
    /,
    b: Tensor | None = None,
    *,
    subset_by_index: tuple[int, int] | None = None,
    subset_by_value: tuple[float, float] | None = None,
    driver: str = _AUTO,
    gauge: str | Tensor = RAW,
    check: Check = True,
    overwrite: bool = False,
    out: Any = None,
) -> EighResult | MaskedResult[EighResult]:
    """Eigenvalues and eigenvectors of Hermitian (real: symmetric) matrices, A = V diag(w) Vᴴ.

    With ``b``, the generalized problem A V = B V diag(w) with a positive definite B, and Vᴴ B V = 1.

    Only the lower triangle is read, as NumPy does by default; the imaginary part of the diagonal is ignored, as
    LAPACK does. What stands elsewhere need not mirror it, but must be finite unless ``check=False``.

    Args:
        a: shape [N, N, B...]; F32, F64, C32 or C64.
        b: shape [N, N, B...] of such a dtype, of which the lower triangle is read; its batch shape and that of ``a``
            are equal or broadcast among themselves, aligned at the last axis.
        subset_by_index: the first and the last index of the eigenvalues wanted, both counted, as in SciPy.
        subset_by_value: (low, high] for the eigenvalues wanted, of a single matrix.
        driver: "evd" is divide and conquer, fast; "ev" is QR iteration, slower, which converges for some matrices for
            which the former fails; "evr" is relatively robust representations, whose vectors are orthonormal to some
            hundred rounding units times N in the worst case; "jacobi", much slower beyond 16 rows, finds small
            eigenvalues of graded positive definite matrices to high relative accuracy. "auto" takes Jacobi's rotations
            for small matrices, else evd, and ev where that fails. It chooses for all pairs alone.
        gauge: "raw", or what fixes signs and phases: "canonical" makes the element of each vector that is largest, or
            the first of those within a thousandth of that, real and positive; a tensor of the eigenvectors' shape makes
            each inner product with its column real and not negative, which follows a slow change.
        check: raise when an element is not finite. Without it LAPACK may never return from an infinity.
            "mask" raises for no matrix of a batch, and gives a ``MaskedResult``: the result, NaN where a matrix has
            none, and a ``status`` of each, I32 [B...], 2 where ``b`` is not positive definite. It takes no
            ``subset_by_value``.
        overwrite: give up the operand, an owned tensor or a mutable view: its elements are unspecified afterwards,
            and its memory may be a result's, so that a large matrix needs none beside it. Only all pairs of ``a`` alone
            by "auto" take it; other calls accept the same operands, and leave them. Beside "mask" it is dropped.
        out: where the results are written, an ``EighResult`` of tensors; see ``tensor_linalg.targets``.

    Returns:
        eigenvalues [N, B...] real and ascending, eigenvectors [N, N, B...], one per column and orthonormal; of a subset
        as many as are in it. The residual is a few rounding units of the dtype times N times the norm of A, and
        orthonormality holds to a few rounding units times N. Always up to one sign or phase per column, and freely for
        equal eigenvalues, the vectors are not unique: they are what the method gives.

    Raises:
        DTypeError: an integer or Bool tensor; convert it first.
        ShapeError: fewer than two axes, matrices that are not square, shapes that do not fit, or a batch where
            eigenvalues are chosen by value.
        ArgumentError: a subset, driver or gauge that is none, or a driver beside a subset.
        NonFiniteError: NaN or an infinity anywhere, with ``batch_index`` and ``element_index``.
        NotPositiveDefiniteError: the matrix of ``b`` at ``batch_index`` is not.
        NotConvergedError: LAPACK's iteration failed for the matrix at ``batch_index``, or eigenvalues of a pair are
            beyond the range of the dtype.
        SizeLimitError: more elements than the LAPACK in use can count.

    The error of generalized eigenvalues grows with the condition number of B, from whose Cholesky factor they come.

    Source: LAPACK xSYEVD / xHEEVD (divide and conquer), xSYEV / xHEEV, xSYEVR / xHEEVR, and for subsets of large
    matrices xSTEMR (relatively robust representations); for batches on the CPU Jacobi rotations up to 16 rows, implicit
    QR iterations up to 64; Golub and Van Loan, Matrix Computations, 4th ed., §8.3 to §8.5 and, for two matrices, §8.7.

    >>> import tensor_runtime as tr
    >>> w, v = eigh(tr.tensor([[2.0, 99.0], [1.0, 2.0]]))
    >>> w.to_numpy().round(12).tolist()
    [1.0, 3.0]
    """
    plain = b is None and subset_by_index is None and subset_by_value is None and gauge is RAW and driver is _AUTO
    if plain and check is True and out is None and overwrite is False:
        return execute_parts(EIGH, a, _AS_USUAL, EighResult)
    wanted = _Wanted(subset_by_index, subset_by_value, choice("eigh", "driver", driver, DRIVERS))
    if wanted.is_subset and driver != _AUTO:
        raise ArgumentError(f"eigh: driver is {driver!r} beside a subset; accepted: 'auto'", operation="eigh")
    gives_up = flag("eigh", "overwrite", overwrite)
    if asks_for_mask(check):  # beside which overwrite is a hint, which is dropped
        return delivered("eigh", _masked(a, b, wanted, gauge), out, a, b)
    given = given_up("eigh", a)[0] if gives_up else None
    checked = checks("eigh", check)
    if given is not None and b is None and not wanted.is_subset and driver == _AUTO:
        values, vectors = execute_parts(EIGH_OVERWRITING, given, checked)
    elif b is not None:
        values, vectors = _generalized(a, b, wanted, checked, checked)
    else:
        values, vectors = _pairs(a, wanted, checked)
    if not is_raw(gauge):
        vectors, _ = turned("eigh", vectors, gauge)
    found = EighResult(values, vectors)
    return found if out is None else delivered("eigh", found, out, a, b)


class _Wanted(NamedTuple):
    """Which pairs, by which method."""

    by_index: Any
    by_value: Any
    driver: str

    @property
    def is_subset(self) -> bool:
        """Whether they are not all."""
        return self.by_index is not None or self.by_value is not None


def _masked(a: Tensor, b: Any, wanted: _Wanted, gauge: str | Tensor) -> MaskedResult[EighResult]:
    if wanted.by_value is not None:
        raise ArgumentError('eigh: check="mask" with subset_by_value; accepted: subset_by_index', operation="eigh")

    def run(x: Tensor, y: Tensor | None = None) -> tuple[Tensor, ...]:
        return _pairs(x, wanted, False) if y is None else _generalized(x, y, wanted, False, True)

    unwrap("eigh", a)  # which refuses what is no tensor
    if b is None:
        found, status = masked(run, "eigh", a)
    else:
        size, batch = _axes_of_both(a, b)
        definite = eye(size, dtype=b.dtype, placement=b.placement)
        both = with_batch(a, 2, batch), with_batch(b, 2, batch)  # each matrix with its own, as both are to blame
        found, status = masked(run, "eigh", *both, instead_of_b=definite)
    values, vectors = found
    vectors = vectors if is_raw(gauge) else turned("eigh", vectors, gauge)[0]
    return MaskedResult(EighResult(values, vectors), status)


def _axes_of_both(a: Tensor, b: Tensor) -> tuple[int, Shape]:
    """N and the batch shape of a generalized problem."""
    size, batch_a = square_axes("eigh", floating_form("eigh", a, "operand a").shape)
    size_b, batch_b = square_axes("eigh", floating_form("eigh", b, "operand b").shape)
    if size != size_b:
        raise ShapeError(
            f"eigh: a of shape {a.shape} and b of shape {b.shape} differ in N; accepted: one size of matrices",
            operation="eigh",
            shapes=(a.shape, b.shape),
        )
    return size, broadcast_batches("eigh", batch_a, batch_b)


def _generalized(a: Tensor, b: Tensor, wanted: _Wanted, check: bool, in_range: bool) -> tuple[Tensor, ...]:
    """Pairs of L⁻¹ A L⁻ᴴ with B = L Lᴴ, as LAPACK's xHEGST reduces them; ``in_range`` looks whether it is finite."""
    _, batch = _axes_of_both(a, b)
    dtype = promote(a.dtype, b.dtype)
    if check:
        require_finite("eigh", "a", a)
    with failing_as("eigh", None, "b"):
        factor = with_batch(cholesky(convert(b, dtype), check=check), 2, batch)
    options = {"lower": True, "transpose": False, "conjugate": False, "unit_diagonal": False}
    half = triangular_solve(factor, with_batch(hermitian_of_lower(convert(a, dtype)), 2, batch), **options)
    reduced = triangular_solve(factor, mH(half), **options)
    if in_range:
        require_range("eigh", reduced, "the eigenvalues", "scale a or b by a power of two")
    with failing_as("eigh"):
        values, vectors = _pairs(reduced, wanted, False)
    back = {**options, "transpose": True, "conjugate": True}
    return values, triangular_solve(factor, vectors, **back)


def hermitian_of_lower(a: Tensor, /) -> Tensor:
    """Hermitian matrices with the lower triangles of these, and the real parts of their diagonals.

    >>> import tensor_runtime as tr
    >>> hermitian_of_lower(tr.tensor([[1.0, 99.0], [2.0, 3.0]])).to_numpy().tolist()
    [[1.0, 2.0], [2.0, 3.0]]
    """
    below = tril(a, -1, axes=(0, 1))
    return add(add(below, mH(below)), embed_diagonal(real(extract_diagonal(a))))


def _pairs(a: Tensor, wanted: _Wanted, check: bool) -> tuple[Tensor, ...]:
    """All pairs, or those in a subset, whose eigenvalues are found first where they are chosen by value."""
    by_index, by_value, driver = wanted
    if not wanted.is_subset:
        return execute_many(EIGH, (a,), (check, driver))
    shape = unwrap("eigh", a)[0].shape
    size, batch = square_axes("eigh", shape)
    if by_index is not None and by_value is not None:
        raise ArgumentError(
            "eigh: subset_by_index and subset_by_value are given; accepted: one of them", operation="eigh"
        )
    if by_index is not None:
        ends = wholes("eigh", "subset_by_index", by_index)
        if len(ends) != 2 or not 0 <= ends[0] <= ends[1] < size:
            raise ArgumentError(
                f"eigh: subset_by_index is {by_index}; accepted: (first, last) with 0 <= first <= last < {size}",
                operation="eigh",
            )
        return execute_many(EIGH_RANGE, (a,), EighRangeParams(ends[0], ends[1], check))
    low, high = _interval(by_value)
    if batch:
        raise ShapeError(
            f"eigh: subset_by_value of a batch of shape {batch}, whose matrices may have different "
            "numbers of such eigenvalues; accepted: one matrix, or subset_by_index",
            operation="eigh",
            shape=shape,
        )
    with failing_as("eigh"):
        values = execute_with_params(EIGVALSH, a, check)
    inside = nonzero(logical_and(greater(values, low), less_equal(values, high)))[0].shape[0]
    if inside == 0:
        return copy(values[:0]), zeros((size, 0), dtype=a.dtype, placement=a.placement)
    first = nonzero(less_equal(values, high))[0].shape[0] - inside
    _, vectors = execute_many(EIGH_RANGE, (a,), EighRangeParams(first, first + inside - 1, False))
    return copy(values[first : first + inside]), vectors


def _interval(ends: Any) -> tuple[float, float]:
    try:
        low, high = (_end(plain(end)) for end in ends)
    except (TypeError, ValueError, IndexError, OverflowError):
        low, high = 1.0, 0.0
    if not low < high:
        raise ArgumentError(
            f"eigh: subset_by_value is {shortened(ends)}; accepted: (low, high) with low < high", operation="eigh"
        )
    return low, high


def _end(value: int | float | complex | bool | None) -> float:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value)
    raise TypeError


@overload
def eigvalsh(
    a: TypedTensor[F32] | TypedTensor[C32], /, *, check: bool = True, out: None = None
) -> TypedTensor[F32]: ...
@overload
def eigvalsh(
    a: TypedTensor[F64] | TypedTensor[C64], /, *, check: bool = True, out: None = None
) -> TypedTensor[F64]: ...
@overload
def eigvalsh(a: Tensor, /, *, check: bool = True, out: Out = None) -> Tensor: ...
@overload
def eigvalsh(
    a: Tensor, /, *, check: Literal["mask"], out: MaskedResult[Tensor] | None = None
) -> MaskedResult[Tensor]: ...
def eigvalsh(a: Tensor, /, *, check: Check = True, out: Any = None) -> Tensor | MaskedResult[Tensor]:
    """Eigenvalues alone of Hermitian (real: symmetric) matrices, which cost a fraction of the whole decomposition.

    The lower triangle is read, as :func:`eigh` does.

    Args:
        a: shape [N, N, B...]; F32, F64, C32 or C64.
        check: raise when an element is not finite. Without it LAPACK may never return from an infinity.
            "mask" raises for no matrix of a batch, and gives a ``MaskedResult``: the result, NaN where a matrix has
            none, and a ``status`` of each, I32 [B...].
        out: where the result is written; see ``tensor_runtime.add``.

    Returns:
        Shape [N, B...], real and ascending; owned, compact. Each is within a few rounding units of the dtype times N
        times the norm of A.

    Raises:
        DTypeError, ShapeError, NonFiniteError, NotConvergedError, SizeLimitError: as for :func:`eigh`.

    Source: LAPACK xSYEVD / xHEEVD, and Jacobi rotations for small matrices on the CPU; Golub and Van Loan, Matrix
    Computations, 4th ed., §8.3 and §8.5.

    >>> import tensor_runtime as tr
    >>> eigvalsh(tr.tensor([[2.0, 99.0], [1.0, 2.0]])).to_numpy().round(12).tolist()
    [1.0, 3.0]
    """
    if check is not True and asks_for_mask(check):
        return masked_result("eigvalsh", lambda x: eigvalsh(x, check=False), a, out=out)
    return execute_with_params(EIGVALSH, a, check is True or checks("eigvalsh", check), out)
