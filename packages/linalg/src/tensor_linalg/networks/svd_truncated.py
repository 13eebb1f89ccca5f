"""Singular value decompositions that keep the largest values only."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, overload

import tensor_runtime as tr
from tensor_core.errors import ArgumentError, shortened
from tensor_linalg.composed import failing_as, matrices
from tensor_linalg.decompositions.gauges import RAW, is_raw, turned
from tensor_linalg.decompositions.svd import DRIVERS, SVDResult, svd
from tensor_linalg.masking import Check, MaskedResult, asks_for_mask, checks, without_failures
from tensor_linalg.networks.truncation import Truncation, kept, truncation
from tensor_linalg.results import fields_html, fields_text
from tensor_linalg.targets import delivered
from tensor_runtime.dispatch.arguments import choice


class TruncatedSVDResult(NamedTuple):
    """The R largest singular values with their vectors, A ≈ u diag(s) vh, and what was left out."""

    u: tr.Tensor
    s: tr.Tensor
    vh: tr.Tensor
    discarded: tr.Tensor
    rank: int

    def __repr__(self) -> str:
        return fields_text(self)

    def _repr_html_(self) -> str:
        return fields_html(self)


@overload
def svd_truncated(
    a: tr.Tensor,
    /,
    *,
    max_rank: int | None = None,
    cutoff: float | None = None,
    relative: bool = True,
    norm: float = 2,
    multiplets: str = "keep",
    renormalize: bool = False,
    driver: str = "auto",
    gauge: str | tr.Tensor = RAW,
    check: bool = True,
    out: TruncatedSVDResult | None = None,
) -> TruncatedSVDResult: ...
@overload
def svd_truncated(
    a: tr.Tensor,
    /,
    *,
    max_rank: int | None = None,
    cutoff: float | None = None,
    relative: bool = True,
    norm: float = 2,
    multiplets: str = "keep",
    renormalize: bool = False,
    driver: str = "auto",
    gauge: str | tr.Tensor = RAW,
    check: Literal["mask"],
    out: MaskedResult[TruncatedSVDResult] | None = None,
) -> MaskedResult[TruncatedSVDResult]: ...
def svd_truncated(
    a: tr.Tensor,
    /,
    *,
    max_rank: int | None = None,
    cutoff: float | None = None,
    relative: bool = True,
    norm: float = 2,
    multiplets: str = "keep",
    renormalize: bool = False,
    driver: str = "auto",
    gauge: str | tr.Tensor = RAW,
    check: Check = True,
    out: Any = None,
) -> TruncatedSVDResult | MaskedResult[TruncatedSVDResult]:
    """Singular value decomposition without the smallest values: the best approximation of its rank.

    Values are discarded, the smallest first, as long as what is lost stays within ``cutoff``; then ``max_rank`` counts.
    At least one value stays. The matrices of a batch get one rank, the largest that one of them needs; the others keep
    more values than they need, and lose less.

    | norm, relative | what is lost | elsewhere |
    |---|---|---|
    | 2, True | sum of the discarded squares, over the sum of all | ITensor's cutoff, quimb's ``rsum2`` |
    | 2, False | sum of the discarded squares | quimb's ``sum2``; TeNPy's ``trunc_cut`` is its square root |
    | 1, True or False | sum of the discarded values, over the sum of all or not | ``rsum1``, ``sum1`` |
    | inf, True | the largest discarded value, over the largest | quimb's ``rel`` |
    | inf, False | the largest discarded value | quimb's ``abs``, TeNPy's ``svd_min`` |

    Args:
        a: shape [M, N, B...]; F32, F64, C32 or C64.
        max_rank: how many values may stay at most; None for any number.
        cutoff: how much may be lost; None discards nothing, 0 only what is exactly zero.
        relative: whether ``cutoff``, and ``discarded``, are shares of the whole.
        norm: 1, 2 or inf, see above.
        multiplets: what becomes of values that are equal up to 16 rounding units of the largest, where the cutoff
            would part them: "keep" keeps them all, "cut" leaves the choice to rounding. ``max_rank`` parts them in
            either case; with "drop" it discards the multiplet that it would part, unless that is the first.
        renormalize: scale what is kept so that the sum of squares is that of all values, as states are.
        driver: as for ``svd``.
        gauge: as for ``svd``; a tensor has the shape of the u that stays, whose rank has to be known.
        check: raise when an element is not finite. Without it LAPACK may never return from an infinity.
            "mask" raises for no matrix of a batch, and gives a ``MaskedResult``: the result, NaN where a matrix has
            none, and a ``status`` of each, I32 [B...]. The rank is that of the others.
        out: where the results are written, a ``TruncatedSVDResult`` of tensors, of which ``rank`` is not read and
            others may be None; see ``tensor_linalg.targets``. Targets of another rank than the one found are refused,
            and nothing is written; ``max_rank`` alone gives the smallest of itself, M and N.

    Returns:
        u [M, R, B...], s [R, B...] and vh [R, N, B...], as ``svd`` has them; ``discarded`` [B...], the sum of squares
        of the discarded values, over the sum of all squares unless ``relative=False`` (for a zero matrix 0); and
        ``rank``, which is R. Without ``renormalize``, the square root of the absolute one is the Frobenius norm of
        A - u diag(s) vh.

    Raises:
        ArgumentError: an option that is none of those above.
        ShapeError: a gauge of another shape than u.
        ReadOnlyError, OverlappingViewError, LossyConversionError, PlacementError: of ``out``.
        DTypeError, ShapeError, NonFiniteError, NotConvergedError, SizeLimitError: as ``svd``.

    Source: C. Eckart and G. Young, Psychometrika 1, 211 (1936); U. Schollwöck, Ann. Phys. 326, 96 (2011), §4.1.

    >>> u, s, vh, discarded, rank = svd_truncated(tr.tensor([[3.0, 0.0], [0.0, 1.0]]), max_rank=1)
    >>> u.shape, s.to_numpy().round(12).tolist(), round(discarded.item(), 12), rank
    ((2, 1), [3.0], 0.1, 1)
    """
    how = truncation(
        "svd_truncated",
        max_rank=max_rank,
        cutoff=cutoff,
        relative=relative,
        norm=norm,
        multiplets=multiplets,
        renormalize=renormalize,
    )
    mask = check is not True and asks_for_mask(check)
    checked = mask or checks("svd_truncated", check)
    matrices("svd_truncated", a)
    driver = choice("svd_truncated", "driver", driver, DRIVERS)
    if not isinstance(gauge, tr.Tensor):
        choice("svd_truncated", "gauge", gauge, (RAW, "canonical"), "a tensor")
    if mask:
        whole, status = svd(a, driver=driver, check="mask")
        found = _turned(truncated(whole, how, status), gauge)
        return _delivered_with_status(found, status, out, a)
    with failing_as("svd_truncated"):
        found = truncated(svd(a, driver=driver, check=checked), how)
    found = _turned(found, gauge)
    return (
        found
        if out is None
        else TruncatedSVDResult(*delivered("svd_truncated", _tensors_of(found), _targets_of(out), a), found.rank)
    )


def _turned(found: TruncatedSVDResult, gauge: str | tr.Tensor) -> TruncatedSVDResult:
    if is_raw(gauge):
        return found
    u, phases = turned("svd_truncated", found.u, gauge)
    return found._replace(u=u, vh=tr.multiply(found.vh, tr.expand_dims(tr.conj(phases), 1)))


def _delivered_with_status(
    found: TruncatedSVDResult, status: tr.Tensor, out: Any, a: tr.Tensor
) -> MaskedResult[TruncatedSVDResult]:
    if isinstance(out, tuple) and len(out) == 2 and out[0] is not None:
        out = (_targets_of(out[0]), out[1])
    result, status = delivered("svd_truncated", MaskedResult(_tensors_of(found), status), out, a)
    return MaskedResult(TruncatedSVDResult(*result, found.rank), status)


def _tensors_of(found: TruncatedSVDResult) -> _Tensors:
    return _Tensors(*found[:-1])


def _targets_of(out: object) -> tuple[Any, ...]:
    """The targets but the rank, which is no tensor."""
    if not isinstance(out, tuple) or len(out) != len(TruncatedSVDResult._fields):
        raise ArgumentError(
            f"svd_truncated: out is {shortened(out)}; accepted: a TruncatedSVDResult of tensors, with any rank",
            operation="svd_truncated",
        )
    return out[:-1]


class _Tensors(NamedTuple):
    """What of a result is a tensor."""

    u: tr.Tensor
    s: tr.Tensor
    vh: tr.Tensor
    discarded: tr.Tensor


def truncated(whole: SVDResult, how: Truncation, status: tr.Tensor | None = None, /) -> TruncatedSVDResult:
    """A decomposition without its smallest values; the discarded vectors are not kept alive behind views.

    Matrices whose status is not 0 have no say in the rank, and NaN for what is kept and lost.

    >>> from tensor_linalg.networks.truncation import Truncation
    >>> truncated(svd(tr.ones((2, 2))), Truncation(max_rank=1)).u.shape
    (2, 1)
    """
    u, s, vh = whole
    rank, stay, discarded = kept(s if status is None else without_failures(s, status, 0.0), how)
    if status is not None:
        stay, discarded = without_failures(stay, status), without_failures(discarded, status)
    if rank == s.shape[0]:
        return TruncatedSVDResult(u, s, vh, discarded, rank)
    return TruncatedSVDResult(tr.copy(u[:, :rank]), tr.copy(stay), tr.copy(vh[:rank]), discarded, rank)
