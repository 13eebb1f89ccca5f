"""Decompositions of a tensor between two groups of its axes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any, Final, Literal, NamedTuple, overload

import tensor_runtime as tr
from tensor_core.errors import ArgumentError, ShapeError, shortened
from tensor_linalg.composed import failing_as, floating_form
from tensor_linalg.decompositions import eigh, lq, polar, qr, rq, svd
from tensor_linalg.decompositions.eigh import DRIVERS as EIGH_DRIVERS
from tensor_linalg.decompositions.gauges import RAW, is_raw, turned
from tensor_linalg.decompositions.svd import DRIVERS as SVD_DRIVERS
from tensor_linalg.masking import Check, MaskedResult, asks_for_mask, checks, without_failures
from tensor_linalg.networks.matricize import index_in_tensor, matricization
from tensor_linalg.networks.svd_truncated import truncated
from tensor_linalg.networks.truncation import Truncation, kept, truncation
from tensor_linalg.operands import holds, require_finite, require_tensor
from tensor_linalg.products import matmul, mH
from tensor_linalg.results import fields_html, fields_text
from tensor_linalg.targets import delivered
from tensor_runtime.dispatch.arguments import choice, flag
from tensor_runtime.tensors.tensor import owned


class SplitResult(NamedTuple):
    """Two tensors that share a new axis, the singular values, absorbed or not, and what was left out."""

    left: tr.Tensor
    s: Any  # a tensor; None where the method has no singular values
    right: tr.Tensor
    discarded: tr.Tensor

    def __repr__(self) -> str:
        return fields_text(self)

    def _repr_html_(self) -> str:
        return fields_html(self)


class _Factors(NamedTuple):
    """What a method gives."""

    left: tr.Tensor
    right: tr.Tensor
    s: tr.Tensor | None = None
    discarded: tr.Tensor | None = None
    status: tr.Tensor | None = None


class _How(NamedTuple):
    """What a method is asked for, as checked."""

    absorb: str | None
    truncation: Truncation
    check: Check
    positive: bool
    driver: str


class _Method(NamedTuple):
    """How a method decomposes, what it can absorb, and whether it can discard."""

    decompose: Callable[[tr.Tensor, _How], _Factors]
    absorbs: tuple[str | None, ...]
    truncates: bool


@overload
def split(
    tensor: tr.Tensor,
    left_axes: Sequence[int] | int | None,
    right_axes: Sequence[int] | int | None = None,
    /,
    *,
    method: str = "svd",
    absorb: str | None = None,
    max_rank: int | None = None,
    cutoff: float | None = None,
    relative: bool = True,
    norm: float = 2,
    multiplets: str = "keep",
    renormalize: bool = False,
    positive: bool = False,
    driver: str = "auto",
    gauge: str | tr.Tensor = RAW,
    batch_axes: Sequence[int] | int = (),
    check: bool = True,
    out: SplitResult | None = None,
) -> SplitResult: ...
@overload
def split(
    tensor: tr.Tensor,
    left_axes: Sequence[int] | int | None,
    right_axes: Sequence[int] | int | None = None,
    /,
    *,
    method: str = "svd",
    absorb: str | None = None,
    max_rank: int | None = None,
    cutoff: float | None = None,
    relative: bool = True,
    norm: float = 2,
    multiplets: str = "keep",
    renormalize: bool = False,
    positive: bool = False,
    driver: str = "auto",
    gauge: str | tr.Tensor = RAW,
    batch_axes: Sequence[int] | int = (),
    check: Literal["mask"],
    out: MaskedResult[SplitResult] | None = None,
) -> MaskedResult[SplitResult]: ...
def split(
    tensor: tr.Tensor,
    left_axes: Sequence[int] | int | None,
    right_axes: Sequence[int] | int | None = None,
    /,
    *,
    method: str = "svd",
    absorb: str | None = None,
    max_rank: int | None = None,
    cutoff: float | None = None,
    relative: bool = True,
    norm: float = 2,
    multiplets: str = "keep",
    renormalize: bool = False,
    positive: bool = False,
    driver: str = "auto",
    gauge: str | tr.Tensor = RAW,
    batch_axes: Sequence[int] | int = (),
    check: Check = True,
    out: Any = None,
) -> SplitResult | MaskedResult[SplitResult]:
    """Split a tensor in two, between two groups of its axes: left [left axes..., K], right [K, right axes...].

    The tensor is seen as a matrix, rows counted over the left axes and columns over the right ones, both column-major;
    axes that follow one another so in memory already are not copied. Contracting K gives the tensor back, up to what
    was discarded.

    | method | factors | isometry | absorb |
    |---|---|---|---|
    | "svd" | u, s, vh | both | None leaves s apart; "left", "right", "both" (roots) multiply it in |
    | "eigh" | the same, by eigenvectors of the smaller Gram matrix | the side without s | as "svd" |
    | "qr" | q, r with r upper triangular | left | None or "right" |
    | "lq" | l, q with l lower triangular | right | None or "left" |
    | "rq" | r, q with r upper triangular, at its end | right | None or "left" |
    | "polar" | u, p ("right", which None means) or p, u ("left") with p Hermitian, positive semidefinite | u | |

    "eigh" is faster than "svd" for long matrices, and squares the condition: singular values below √eps of the largest
    are lost in rounding, and so are their vectors. Where s is absorbed, the factor that carries it is the product of
    the tensor with the isometry, so that what is not discarded is as exact as by "svd".

    Args:
        tensor: any view; F32, F64, C32 or C64.
        left_axes, right_axes: the axes of the two factors, in the order they are to have; one may be None, for all
            axes that are not named, in their order. A group may be empty.
        method: see above.
        absorb: where the singular values go, or the factor that is no isometry.
        max_rank, cutoff, relative, norm, multiplets, renormalize: what is discarded, as for ``svd_truncated``; for
            "svd" and "eigh".
        positive: of "qr", "lq" and "rq", whether the diagonal of the triangle is made real and not negative, by which
            the factors of a matrix of full rank are unique.
        driver: of "svd" as for ``svd``, of "eigh" as for ``eigh``.
        gauge: of "svd" and "eigh", what fixes the signs or phases that left and right share, as for ``svd``, with left
            for u: a tensor has its shape, as a split of a nearby tensor gave it.
        batch_axes: axes of independent tensors; they come last in all results.
        check: as for ``svd_truncated``, with a ``status`` [batch axes...].
        out: where the results are written, a ``SplitResult`` of tensors, None for what is to be fresh; see
            ``tensor_linalg.targets``. Targets of another K than the one found are refused, and nothing is written.

    Returns:
        left [left axes..., K, batch axes...]; s [K, batch axes...], whether it is absorbed or not, None where the
        method has none; right [K, right axes..., batch axes...]; discarded [batch axes...], as ``svd_truncated`` has
        it. K is the number of values kept; of "qr", "lq" and "rq" the smaller of rows and columns; of "polar" the
        extent of the side of p.

    Raises:
        ArgumentError: an axis in two groups or none, an unknown option, or one that the method does not take.
        ShapeError: a gauge of another shape than left.
        AxisError: an axis out of range.
        DTypeError, NonFiniteError, NotConvergedError, SizeLimitError: as ``svd``.

    Source: U. Schollwöck, Ann. Phys. 326, 96 (2011), §4; N. J. Higham, SIAM J. Sci. Stat. Comput. 7, 1160 (1986), of
    polar factors.

    >>> theta = tr.normal((2, 3, 4, 5), seed=1)
    >>> left, _, right, discarded = split(theta, (0, 1), absorb="right", max_rank=4)
    >>> left.shape, right.shape
    ((2, 3, 4), (4, 4, 5))
    >>> back = tr.tensordot(left, right, axes=1)
    >>> abs(tr.norm(back - theta).item() / tr.norm(theta).item() - discarded.item() ** 0.5) < 1e-9
    True
    """
    discarding = truncation(
        "split",
        max_rank=max_rank,
        cutoff=cutoff,
        relative=relative,
        norm=norm,
        multiplets=multiplets,
        renormalize=renormalize,
    )
    asked: Any = method, absorb, discarding, check, positive, driver, gauge
    try:
        how = _asked(*asked) if isinstance(gauge, tr.Tensor) else _asked_before(*asked)
    except TypeError:  # an option that has no hash
        how = _asked(*asked)
    require_tensor("split", "tensor", tensor)
    order, shape, rows, columns, batch = matricization("split", tensor.shape, left_axes, right_axes, batch_axes)
    matrix = tensor if order is None else tr.permute_axes(tensor, order)
    matrix = matrix if matrix.shape == shape else matrix.reshape(shape)
    floating_form("split", tensor)
    with failing_as("split", partial(index_in_tensor, rows, columns), "tensor"):
        left, right, s, discarded, status = _METHODS[method].decompose(matrix, how)
    if discarded is None:
        discarded = tr.zeros(matrix.shape[2:], dtype=left.dtype.component, placement=left.placement)
    if status is not None:
        left, right, discarded = (without_failures(one, status) for one in (left, right, discarded))
        s = None if s is None else without_failures(s, status)
    if not is_raw(gauge):
        left, right = _turned(left, right, gauge, (*rows, left.shape[1], *batch))
    left = _shaped(left, (*rows, left.shape[1], *batch))
    right = _shaped(right, (right.shape[0], *columns, *batch))
    found = SplitResult(left, s, right, discarded)
    return delivered("split", found if status is None else MaskedResult(found, status), out, tensor)


def _shaped(x: tr.Tensor, shape: tuple[int, ...]) -> tr.Tensor:
    x = tr.to_contiguous(x)
    return owned(x if x.shape == shape else x.reshape(shape))


def _asked(
    method: str,
    absorb: Any,
    discarding: Truncation,
    check: Check,
    positive: bool,
    driver: str,
    gauge: str | tr.Tensor,
) -> _How:
    """The options, each of which the method takes."""
    _, absorbs, truncates = _METHODS[choice("split", "method", method, tuple(_METHODS))]
    if not (absorb is None or isinstance(absorb, str)) or absorb not in absorbs:
        listed = ", ".join(map(repr, absorbs))
        raise ArgumentError(
            f"split: absorb is {shortened(absorb)}; accepted for method {method!r}: {listed}", operation="split"
        )
    if not truncates and discarding != Truncation():
        raise ArgumentError(
            f"split: method {method!r} discards nothing; accepted with a truncation: 'svd' and 'eigh'",
            operation="split",
        )
    if flag("split", "positive", positive) and method not in ("qr", "lq", "rq"):
        raise ArgumentError(
            f"split: positive beside method {method!r}; accepted with 'qr', 'lq' and 'rq'", operation="split"
        )
    driver = choice("split", "driver", driver, _DRIVERS.get(method, ("auto",)))
    if not isinstance(gauge, tr.Tensor):
        choice("split", "gauge", gauge, (RAW, "canonical"), "a tensor")
    if not truncates and not is_raw(gauge):
        raise ArgumentError(
            f"split: gauge beside method {method!r}; accepted with 'svd' and 'eigh'; of triangles, positive=True",
            operation="split",
        )
    masked = check is not True and asks_for_mask(check)
    return _How(absorb, discarding, "mask" if masked else checks("split", check), positive, driver)


_asked_before: Final = lru_cache(256, typed=True)(_asked)


def _turned(
    left: tr.Tensor, right: tr.Tensor, gauge: str | tr.Tensor, shape: tuple[int, ...]
) -> tuple[tr.Tensor, tr.Tensor]:
    """The factors as matrices in a gauge; where it is a tensor, its shape is to be this one."""
    if isinstance(gauge, tr.Tensor):
        if gauge.shape != shape:
            raise ShapeError(
                f"split: gauge of shape {gauge.shape} for left of shape {shape}; accepted: that one",
                operation="split",
                shapes=(gauge.shape, shape),
            )
        gauge = gauge.reshape(left.shape)
    left, phases = turned("split", left, gauge)
    return left, tr.multiply(right, tr.expand_dims(tr.conj(phases), 1))


def _svd(a: tr.Tensor, how: _How) -> _Factors:
    status: tr.Tensor | None = None
    if how.check == "mask":
        whole, status = svd(a, driver=how.driver, check="mask")
    else:
        whole = svd(a, driver=how.driver, check=bool(how.check))
    u, s, vh, discarded, _ = truncated(whole, how.truncation, status)
    return _Factors(*_absorbed(u, s, vh, how.absorb), s, discarded, status)


def _absorbed(u: tr.Tensor, s: tr.Tensor, vh: tr.Tensor, absorb: str | None) -> tuple[tr.Tensor, tr.Tensor]:
    weight = tr.sqrt(s) if absorb == "both" else s
    left = tr.multiply(u, tr.expand_dims(weight, 0)) if absorb in ("left", "both") else u
    return left, tr.multiply(tr.expand_dims(weight, 1), vh) if absorb in ("right", "both") else vh


def _eigh(a: tr.Tensor, how: _How) -> _Factors:
    """By the Gram matrix of the shorter side; what it does not give is the product with the matrix."""
    wide = a.shape[0] <= a.shape[1]
    finite: tr.Tensor | None = None
    if how.check == "mask":
        finite = tr.all(tr.isfinite(a), (0, 1))
        a = _with_identities(a, finite)
    elif how.check:
        require_finite("split", "a", a)  # of the matrix; split names the tensor and its element
    scale = _scale(a)
    near_one = a if scale is None else tr.multiply(a, tr.divide(1.0, scale))

    def sized(x: tr.Tensor) -> tr.Tensor:
        return x if scale is None else tr.multiply(x, scale)

    adjoint = mH(near_one)
    gram = matmul(near_one, adjoint) if wide else matmul(adjoint, near_one)
    status: tr.Tensor | None = None
    if finite is None:
        weights, vectors = eigh(gram, driver=how.driver, check=False)
    else:
        (weights, vectors), status = eigh(gram, driver=how.driver, check="mask")
        status = tr.where(finite, status, tr.full((), 1, dtype=tr.I32, placement=status.placement))
        weights = without_failures(weights, status, 0.0)
        fine = tr.equal(status, 0)  # zeros in place of the others would have norm take another way for all
        near_one, vectors = _with_identities(near_one, fine), _with_identities(vectors, fine)
    values = sized(tr.copy(tr.sqrt(tr.maximum(weights, 0.0))[::-1]))
    rank, stay, discarded = kept(values, how.truncation)
    isometry = tr.copy(vectors[:, ::-1][:, :rank])
    carried = matmul(mH(isometry), near_one) if wide else matmul(near_one, isometry)
    s = tr.norm(carried, axis=1 if wide else 0)  # exact to rounding of its own size, other than roots of eigenvalues
    unit = tr.divide(carried, tr.expand_dims(tr.where(s > 0, s, 1.0), 1 if wide else 0))
    s, carried = sized(s), sized(carried)
    u, vh = (isometry, unit) if wide else (unit, mH(isometry))
    if how.truncation.renormalize:
        s = tr.copy(stay)
    elif how.absorb == ("right" if wide else "left"):
        return _Factors(*((u, carried) if wide else (carried, vh)), s, discarded, status)
    return _Factors(*_absorbed(u, s, vh, how.absorb), s, discarded, status)


def _with_identities(a: tr.Tensor, fine: tr.Tensor) -> tr.Tensor:
    """Matrices [M, N, B...] with an identity in place of those that are not fine [B...]."""
    if holds(tr.all(fine)):
        return a
    one = tr.eye(*a.shape[:2], dtype=a.dtype, placement=a.placement)
    return tr.where(fine, a, one.reshape((*one.shape, *(1,) * (a.rank - 2))))


def _scale(a: tr.Tensor) -> tr.Tensor | None:
    """The largest element of each matrix [B...], where squares of some would overflow or vanish."""
    if not a.size:
        return None
    double = a.dtype.component is tr.F64
    limit, least = (2.0**400, 2.0**-1020) if double else (2.0**40, 2.0**-120)
    largest = tr.max(tr.abs(a), (0, 1))
    far = tr.logical_or(largest > limit, tr.logical_and(largest < 1 / limit, largest > 0))
    return tr.where(largest > 0, tr.maximum(largest, least), 1.0) if holds(tr.any(far)) else None


def _triangular(decompose: Callable[..., Any], a: tr.Tensor, how: _How) -> _Factors:
    """By one of the decompositions into a triangle and an isometry."""
    found = decompose(a, positive=how.positive, check=how.check)
    (left, right), status = found if how.check == "mask" else (found, None)
    return _Factors(left, right, status=status)


def _polar(a: tr.Tensor, how: _How) -> _Factors:
    side = how.absorb or "right"
    status: tr.Tensor | None = None
    if how.check == "mask":
        (u, p), status = polar(a, side=side, check="mask")
    else:
        u, p = polar(a, side=side, check=bool(how.check))
    return _Factors(*((p, u) if side == "left" else (u, p)), status=status)


_DRIVERS: Final = {"svd": SVD_DRIVERS, "eigh": EIGH_DRIVERS}
_ANYWHERE: Final = (None, "left", "right", "both")
_METHODS: Final[dict[str, _Method]] = {
    "svd": _Method(_svd, _ANYWHERE, True),
    "eigh": _Method(_eigh, _ANYWHERE, True),
    "qr": _Method(partial(_triangular, qr), (None, "right"), False),
    "lq": _Method(partial(_triangular, lq), (None, "left"), False),
    "rq": _Method(partial(_triangular, rq), (None, "left"), False),
    "polar": _Method(_polar, (None, "left", "right"), False),
}
