"""Decompositions of a tensor between two groups of its axes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import tensor_runtime as tr
from tensor_core.errors import ArgumentError, shortened
from tensor_linalg.composed import failing_as, floating_form
from tensor_linalg.decompositions import eigh, lq, polar, qr, rq, svd
from tensor_linalg.networks.matricize import groups, matricized
from tensor_linalg.networks.svd_truncated import truncated
from tensor_linalg.networks.truncation import Truncation, kept, truncation
from tensor_linalg.operands import holds, require_finite
from tensor_linalg.products import matmul, mH
from tensor_linalg.results import fields_html, fields_text
from tensor_linalg.targets import delivered
from tensor_runtime.dispatch.arguments import choice, flag


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


Factors = tuple[tr.Tensor, tr.Tensor | None, tr.Tensor, tr.Tensor | None]
"""Left, singular values, right, and what was discarded, None for nothing."""


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
    batch_axes: Sequence[int] | int = (),
    check: bool = True,
    out: SplitResult | None = None,
) -> SplitResult:
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
        batch_axes: axes of independent tensors; they come last in all results.
        check: raise when an element is not finite.
        out: where the results are written, a ``SplitResult`` of tensors, None for what is to be fresh; see
            ``tensor_linalg.targets``. Targets of another K than the one found are refused, and nothing is written.

    Returns:
        left [left axes..., K, batch axes...]; s [K, batch axes...], whether it is absorbed or not, None where the
        method has none; right [K, right axes..., batch axes...]; discarded [batch axes...], as ``svd_truncated`` has
        it. K is the number of values kept; of "qr", "lq" and "rq" the smaller of rows and columns; of "polar" the
        extent of the side of p.

    Raises:
        ArgumentError: an axis in two groups or none, an unknown option, or one that the method does not take.
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
    choice("split", "method", method, tuple(_METHODS))
    decompose, accepted, truncates = _METHODS[method]
    side: Any = absorb
    if not (side is None or isinstance(side, str)) or side not in accepted:
        listed = ", ".join(map(repr, accepted))
        raise ArgumentError(
            f"split: absorb is {shortened(absorb)}; accepted for method {method!r}: {listed}", operation="split"
        )
    how = truncation(
        "split",
        max_rank=max_rank,
        cutoff=cutoff,
        relative=relative,
        norm=norm,
        multiplets=multiplets,
        renormalize=renormalize,
    )
    if not truncates and how != Truncation():
        raise ArgumentError(
            f"split: method {method!r} discards nothing; accepted with a truncation: 'svd' and 'eigh'",
            operation="split",
        )
    if flag("split", "positive", positive) and method not in ("qr", "lq", "rq"):
        raise ArgumentError(
            f"split: positive beside method {method!r}; accepted with 'qr', 'lq' and 'rq'", operation="split"
        )
    if not isinstance(tensor, tr.Tensor):
        raise ArgumentError(f"split: found a {type(tensor).__name__}; accepted: a tensor", operation="split")
    axes = groups("split", tensor.rank, left_axes, right_axes, batch_axes)
    matrix = matricized(tensor, axes)
    checks = flag("split", "check", check)
    rows, columns, batch = (tuple(tensor.shape[axis] for axis in group) for group in axes)
    floating_form("split", tensor)
    with failing_as("split", lambda i, j: (*_unraveled(i, rows), *_unraveled(j, columns)), "tensor"):
        left, s, right, discarded = decompose(matrix, absorb, how, checks, positive)
    if discarded is None:
        discarded = tr.zeros(matrix.shape[2:], dtype=left.dtype.component, placement=left.placement)
    left = tr.to_contiguous(left).reshape((*rows, left.shape[1], *batch))
    right = tr.to_contiguous(right).reshape((right.shape[0], *columns, *batch))
    return delivered("split", SplitResult(left, s, right, discarded), out, tensor)


def _unraveled(number: int, extents: tuple[int, ...]) -> tuple[int, ...]:
    """The indices of an element that was counted in column-major order."""
    index = []
    for extent in extents:
        number, one = divmod(number, extent)
        index.append(one)
    return tuple(index)


def _svd(a: tr.Tensor, absorb: str | None, how: Truncation, check: bool, positive: bool) -> Factors:
    u, s, vh, discarded, _ = truncated(svd(a, check=check), how)
    left, right = _absorbed(u, s, vh, absorb)
    return left, s, right, discarded


def _absorbed(u: tr.Tensor, s: tr.Tensor, vh: tr.Tensor, absorb: str | None) -> tuple[tr.Tensor, tr.Tensor]:
    weight = tr.sqrt(s) if absorb == "both" else s
    left = tr.multiply(u, tr.expand_dims(weight, 0)) if absorb in ("left", "both") else u
    return left, tr.multiply(tr.expand_dims(weight, 1), vh) if absorb in ("right", "both") else vh


def _eigh(a: tr.Tensor, absorb: str | None, how: Truncation, check: bool, positive: bool) -> Factors:
    """By the Gram matrix of the shorter side; what it does not give is the product with the matrix."""
    wide = a.shape[0] <= a.shape[1]
    if check:
        require_finite("split", "tensor", a)
    scale = _scale(a)
    near_one = a if scale is None else tr.multiply(a, tr.divide(1.0, scale))

    def sized(x: tr.Tensor) -> tr.Tensor:
        return x if scale is None else tr.multiply(x, scale)

    adjoint = mH(near_one)
    weights, vectors = eigh(matmul(near_one, adjoint) if wide else matmul(adjoint, near_one), check=False)
    rank, stay, discarded = kept(sized(tr.copy(tr.sqrt(tr.maximum(weights, 0.0))[::-1])), how)
    isometry = tr.copy(vectors[:, ::-1][:, :rank])
    carried = matmul(mH(isometry), near_one) if wide else matmul(near_one, isometry)
    s = tr.norm(carried, axis=1 if wide else 0)  # exact to rounding of its own size, other than roots of eigenvalues
    unit = tr.divide(carried, tr.expand_dims(tr.where(s > 0, s, 1.0), 1 if wide else 0))
    s, carried = sized(s), sized(carried)
    u, vh = (isometry, unit) if wide else (unit, mH(isometry))
    if how.renormalize:
        s = tr.copy(stay)
    elif absorb == ("right" if wide else "left"):
        return (u, s, carried, discarded) if wide else (carried, s, vh, discarded)
    left, right = _absorbed(u, s, vh, absorb)
    return left, s, right, discarded


def _qr(a: tr.Tensor, absorb: str | None, how: Truncation, check: bool, positive: bool) -> Factors:
    q, r = qr(a, positive=positive, check=check)
    return q, None, r, None


def _scale(a: tr.Tensor) -> tr.Tensor | None:
    """The largest element of each matrix [B...], where squares of some would overflow or vanish."""
    if not a.size:
        return None
    double = a.dtype.component is tr.F64
    limit, least = (2.0**400, 2.0**-1020) if double else (2.0**40, 2.0**-120)
    largest = tr.max(tr.abs(a), (0, 1))
    far = tr.logical_or(largest > limit, tr.logical_and(largest < 1 / limit, largest > 0))
    return tr.where(largest > 0, tr.maximum(largest, least), 1.0) if holds(tr.any(far)) else None


def _lq(a: tr.Tensor, absorb: str | None, how: Truncation, check: bool, positive: bool) -> Factors:
    l, q = lq(a, positive=positive, check=check)
    return l, None, q, None


def _rq(a: tr.Tensor, absorb: str | None, how: Truncation, check: bool, positive: bool) -> Factors:
    r, q = rq(a, positive=positive, check=check)
    return r, None, q, None


def _polar(a: tr.Tensor, absorb: str | None, how: Truncation, check: bool, positive: bool) -> Factors:
    u, p = polar(a, side=absorb or "right", check=check)
    return (p, None, u, None) if absorb == "left" else (u, None, p, None)


_ANYWHERE: Final = (None, "left", "right", "both")
_METHODS: Final[dict[str, tuple[Callable[..., Factors], tuple[str | None, ...], bool]]] = {
    "svd": (_svd, _ANYWHERE, True),
    "eigh": (_eigh, _ANYWHERE, True),
    "qr": (_qr, (None, "right"), False),
    "lq": (_lq, (None, "left"), False),
    "rq": (_rq, (None, "left"), False),
    "polar": (_polar, (None, "left", "right"), False),
}
"""How each method decomposes, what it can absorb, and whether it can discard."""
