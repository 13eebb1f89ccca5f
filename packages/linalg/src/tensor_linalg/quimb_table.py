"""The array functions that quimb asks for and that need linear algebra, under quimb's names and with its results.

quimb finds functions by name (through autoray): NumPy's names with matrices in the last two axes, and a few of its
own, of which each backend may bring its version. ``QUIMB`` answers them; an adapter registers its rows. Batch axes lead
here, as NumPy has them, and are moved to the end for this package and back, without a copy.

| name | asked as | given |
|---|---|---|
| ``linalg.svd`` | ``(x, full_matrices=False)`` | u, s, vh |
| ``linalg.rsvd`` | ``(x, k)``, without batch axes | the k largest of them, by products with random vectors |
| ``linalg.svdvals`` | ``(x)`` | s |
| ``linalg.eigh``, ``linalg.eigvalsh`` | ``(x)`` | ascending eigenvalues, eigenvectors |
| ``linalg.qr`` | ``(x)`` | q, r |
| ``linalg.eig``, ``linalg.eigvals`` | ``(x)`` | eigenvalues, eigenvectors |
| ``linalg.cholesky`` | ``(x, upper=False)`` | the triangle l of x = l lᴴ, or u of x = uᴴ u |
| ``linalg.inv``, ``linalg.det`` | ``(x)`` | as NumPy |
| ``linalg.solve`` | ``(a, b)`` | as NumPy: b of rank 1 is a vector, else matrices |
| ``scipy.linalg.solve_triangular`` | ``(a, b, trans=0, lower=False, unit_diagonal=False)`` | as SciPy, one matrix |
| ``scipy.linalg.lu`` | ``(x, permute_l=False)`` | as SciPy: p, l, u; or p l, u; one matrix |
| ``linalg.householder_product`` | ``(x, tau)``, without batch axes | as PyTorch |
| ``linalg.pinv``, ``linalg.expm``, ``scipy.linalg.expm`` | ``(x)`` | as NumPy and SciPy |
| ``linalg.lstsq`` | ``(a, b)``, without batch axes | solution, residuals, rank, s |
| ``linalg.norm`` | ``(x, ord=None, axis=None, keepdims=False)`` | as NumPy |
| ``svd_truncated`` | ``(x, cutoff, cutoff_mode, max_bond, absorb, renorm, info)`` | left, s, right, or None |
| ``svd_via_eig_truncated`` | the same | the same, by the smaller Gram matrix |
| ``rsvd`` | the same | the same, of the ``max_bond`` largest values, by products with random vectors |
| ``qr_stabilized`` | ``(x, absorb, stabilized)`` | q, None, r with a positive diagonal; l, None, q by ``absorb`` |
| ``lq_stabilized`` | the same | l, None, q, unless ``absorb`` says otherwise |
| ``cholesky_regularized`` | ``(x, absorb, shift)`` | l, None, lᴴ of x and a share of its trace on the diagonal |
| ``polar_right``, ``polar_left`` | ``(x)`` | u, None, p; or p, None, u |

Source: J. Gray, quimb, J. Open Source Softw. 3, 819 (2018); its module ``quimb.tensor.decomp``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import inf
from typing import Any, Final

import tensor_runtime as tr
from tensor_core.errors import ArgumentError
from tensor_linalg.bridges import batch_first, batch_last
from tensor_linalg.decompositions import cholesky, eig, eigh, eigvals, eigvalsh, lu, qr, randomized_svd, svd, svdvals
from tensor_linalg.functions import det, expm, matrix_norm
from tensor_linalg.networks.split import split
from tensor_linalg.products import matmul, matvec, mH, outer
from tensor_linalg.solving import inv, lstsq, pinv, solve, triangular_solve
from tensor_runtime.array_api import finfo
from tensor_runtime.errors import NotPositiveDefiniteError

_MODES: Final[dict[int, tuple[float, bool]]] = {
    1: (inf, False),
    2: (inf, True),
    3: (2, False),
    4: (2, True),
    5: (1, False),
    6: (1, True),
}
"""quimb's numbers of cutoffs, as ``norm`` and ``relative``: abs, rel, sum2, rsum2, sum1, rsum1."""
_WORDS: Final = {"abs": 1, "rel": 2, "sum2": 3, "rsum2": 4, "sum1": 5, "rsum1": 6}
_FORMS: Final[dict[object, tuple[str | None, str]]] = {
    **dict.fromkeys((None, "U,s,VH"), (None, "lsr")),
    **dict.fromkeys((2, "s"), (None, "s")),
    **dict.fromkeys((-12, "lsqrt"), ("both", "l")),
    **dict.fromkeys((-11, "VH", "rorthog"), ("left", "r")),
    **dict.fromkeys((-10, "Us", "lfactor"), ("left", "l")),
    **dict.fromkeys((-1, "Us,VH", "left"), ("left", "lr")),
    **dict.fromkeys((0, "Usq,sqVH", "both"), ("both", "lr")),
    **dict.fromkeys((1, "U,sVH", "right"), ("right", "lr")),
    **dict.fromkeys((10, "U", "lorthog"), ("right", "l")),
    **dict.fromkeys((11, "sVH", "rfactor"), ("right", "r")),
    **dict.fromkeys((12, "sqVH", "rsqrt"), ("both", "r")),
}
"""quimb's numbers and words of where singular values go, and which of left, s and right it wants."""

_OF_METHOD: Final = {"svd": "svd_truncated", "eigh": "svd_via_eig_truncated", "rsvd": "rsvd"}
"""quimb's name of what decomposes by each method."""

Three = tuple[tr.Tensor | None, tr.Tensor | None, tr.Tensor | None]


def _trailing(x: tr.Tensor, core: int) -> tr.Tensor:
    """Leading batch axes moved to the end."""
    return batch_last(x, max(x.rank - core, 0))


def _leading(x: tr.Tensor, core: int) -> tr.Tensor:
    """Trailing batch axes moved to the front."""
    return batch_first(x, max(x.rank - core, 0))


def _one(function: Callable[[tr.Tensor], tr.Tensor], core: int) -> Callable[[tr.Tensor], tr.Tensor]:
    return lambda x: _leading(function(_trailing(x, 2)), core)


def _svd(x: tr.Tensor, full_matrices: bool = False) -> tuple[tr.Tensor, ...]:
    u, s, vh = svd(_trailing(x, 2), full=full_matrices)
    return _leading(u, 2), _leading(s, 1), _leading(vh, 2)


def _eigh(x: tr.Tensor) -> tuple[tr.Tensor, ...]:
    values, vectors = eigh(_trailing(x, 2))
    return _leading(values, 1), _leading(vectors, 2)


def _eig(x: tr.Tensor) -> tuple[tr.Tensor, ...]:
    values, vectors = eig(_trailing(x, 2))
    return _leading(values, 1), _leading(vectors, 2)


def _qr(x: tr.Tensor) -> tuple[tr.Tensor, ...]:
    q, r = qr(_trailing(x, 2))
    return _leading(q, 2), _leading(r, 2)


def _cholesky(x: tr.Tensor, upper: bool = False) -> tr.Tensor:
    return _leading(cholesky(_trailing(x, 2), upper=upper), 2)


def _solve(a: tr.Tensor, b: tr.Tensor) -> tr.Tensor:
    if b.rank == 1:
        column = solve(_trailing(a, 2), tr.expand_dims(b, 1))[:, 0]
        return _leading(column, 1)
    return _leading(solve(_trailing(a, 2), _trailing(b, 2)), 2)


def _norm(x: tr.Tensor, ord: Any = None, axis: Any = None, keepdims: bool = False) -> tr.Tensor:
    axes = tuple(range(x.rank)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    if ord is None or len(axes) == 1:
        norms: tr.Tensor = tr.norm(x, 2 if ord is None else ord, axis, keepdims=keepdims)
        return norms
    if len(axes) != 2:
        raise ArgumentError(
            f"linalg.norm: ord {ord!r} over axes {axes}; accepted: one axis, or two of matrices", operation="norm"
        )
    found: tr.Tensor = matrix_norm(tr.move_axes(x, axes, (0, 1)), ord)
    return tr.expand_dims(found, axes) if keepdims else found


def _truncated(method: str) -> Callable[..., Three]:
    name = _OF_METHOD[method]

    def function(
        x: tr.Tensor,
        cutoff: float = -1.0,
        cutoff_mode: int | str = 4,
        max_bond: int = -1,
        absorb: int | str | None = 0,
        renorm: int = 0,
        info: dict[str, Any] | None = None,
        **options: Any,
    ) -> Three:
        mode: Any = _WORDS.get(cutoff_mode, cutoff_mode) if isinstance(cutoff_mode, str) else cutoff_mode
        if mode not in _MODES or absorb not in _FORMS or options.keys() - {"backend"} or renorm not in (0, 1, 2):
            raise ArgumentError(
                f"{name}: cutoff_mode {cutoff_mode!r}, absorb {absorb!r}, renorm {renorm!r}, {sorted(options)}; "
                "accepted: 1 to 6, what quimb calls absorb, renorm 0 to 2, info and backend",
                operation=name,
            )
        norm, relative = _MODES[mode]
        side, wanted = _FORMS[absorb]
        given, rest = x, None
        if method == "rsvd" and 0 < max_bond < min(x.shape[-2:]):
            x, rest = _projected(x, max_bond)
        left, s, right, discarded = split(
            x,
            x.rank - 2,
            x.rank - 1,
            method="svd" if method == "rsvd" else method,
            absorb=side,
            max_rank=max_bond if max_bond > 0 else None,
            cutoff=cutoff if cutoff > 0 else None,
            relative=relative,
            norm=norm,
            multiplets="cut",
            renormalize=renorm == 2,
            batch_axes=tuple(range(x.rank - 2)),
        )
        if info is not None and "error" in info:
            size = tr.norm(_trailing(x, 2), axis=(0, 1)) if relative else 1.0
            error = tr.multiply(tr.sqrt(discarded), size)
            info["error"] = error if rest is None else tr.hypot(error, _missed(given, rest, x))
        left = left if rest is None else matmul(rest, left)
        assert s is not None
        if renorm == 1:  # the sum of the values, where split keeps that of their squares
            factor = tr.divide(tr.sum(svdvals(_trailing(x, 2)), axis=0), tr.sum(s, axis=0))
            share = tr.sqrt(factor) if side == "both" else factor
            left = tr.multiply(left, share) if side in ("left", "both") else left
            right = tr.multiply(right, share) if side in ("right", "both") else right
            s = tr.multiply(s, factor)
        return (
            _leading(left, 2) if "l" in wanted else None,
            _leading(s, 1) if "s" in wanted else None,
            _leading(right, 2) if "r" in wanted else None,
        )

    return function


def _projected(x: tr.Tensor, rank: int) -> tuple[tr.Tensor, tr.Tensor]:
    """A short matrix with the leading singular values, and the orthonormal columns that it is multiplied with."""
    u, s, vh = randomized_svd(_trailing(x, 2), rank, seed=0)
    return _leading(tr.multiply(tr.expand_dims(s, 1), vh), 2), u


def _missed(given: tr.Tensor, left: tr.Tensor, right: tr.Tensor) -> tr.Tensor:
    """Norms of what a projection leaves out; it is orthogonal to all that is cut off later."""
    norms: tr.Tensor = tr.norm(tr.subtract(_trailing(given, 2), matmul(left, _trailing(right, 2))), axis=(0, 1))
    return norms


def _lu(x: tr.Tensor, permute_l: bool = False) -> tuple[tr.Tensor, ...]:
    permutation, l, u = lu(x)
    order = tr.argsort(permutation)
    if permute_l:
        return tr.take(l, order, axis=0), u
    return tr.take(tr.eye(x.shape[0], dtype=x.dtype, placement=x.placement), order, axis=0), l, u


def _solve_triangular(
    a: tr.Tensor, b: tr.Tensor, trans: int | str = 0, lower: bool = False, unit_diagonal: bool = False, **options: Any
) -> tr.Tensor:
    kind = {0: 0, 1: 1, 2: 2, "N": 0, "T": 1, "C": 2}.get(trans)
    if kind is None or options.keys() - {"overwrite_b", "check_finite"}:
        raise ArgumentError(
            f"solve_triangular: trans {trans!r}, {sorted(options)}; accepted: 0, 1, 2, 'N', 'T', 'C', overwrite_b and "
            "check_finite",
            operation="solve_triangular",
        )
    return triangular_solve(a, b, lower=lower, transpose=kind == 1, adjoint=kind == 2, unit_diagonal=unit_diagonal)


def _householder_product(x: tr.Tensor, tau: tr.Tensor) -> tr.Tensor:
    """The product of 1 - tau v vᴴ for each column v, of which the lower triangle is read, with a diagonal of ones."""
    rows, columns = x.shape
    identity = tr.eye(rows, columns, dtype=x.dtype, placement=x.placement)
    vectors = tr.add(tr.tril(x, -1), identity)
    product = identity
    for k in reversed(range(tau.shape[0])):
        v = vectors[:, k]
        along = matvec(mH(product), v)
        product = tr.subtract(product, tr.multiply(tau[k], outer(v, tr.conj(along))))
    return product


def _triangular(default: int) -> Callable[..., Three]:
    """QR or LQ decomposition: of which side the triangle is, ``absorb`` says."""

    def function(x: tr.Tensor, absorb: int | str | None = default, stabilized: bool = True, **options: Any) -> Three:
        side, wanted = _FORMS.get(absorb, (None, ""))
        if side not in ("left", "right") or options.keys() - {"backend"}:
            raise ArgumentError(
                f"qr_stabilized: absorb {absorb!r}, {sorted(options)}; accepted: quimb's forms with one isometry, "
                "stabilized and backend",
                operation="qr_stabilized",
            )
        method = "lq" if side == "left" else "qr"
        left, _, right, _ = split(
            x, x.rank - 2, x.rank - 1, method=method, positive=stabilized, batch_axes=tuple(range(x.rank - 2))
        )
        return _leading(left, 2) if "l" in wanted else None, None, _leading(right, 2) if "r" in wanted else None

    return function


def _cholesky_regularized(x: tr.Tensor, absorb: int | str | None = 0, shift: bool | float | str = True) -> Three:
    side, wanted = _FORMS.get(absorb, (None, ""))
    if side != "both" or (isinstance(shift, str) and shift != "auto"):
        raise ArgumentError(
            f"cholesky_regularized: absorb {absorb!r}, shift {shift!r}; accepted: quimb's forms with both sides "
            "alike, and True, False, a number or 'auto'",
            operation="cholesky_regularized",
        )
    matrices = _trailing(x, 2)
    if shift == "auto":
        try:
            lower = cholesky(matrices)
        except NotPositiveDefiniteError:
            return _cholesky_regularized(x, absorb)
    else:
        share = finfo(x.dtype).eps if shift is True or float(shift) < 0 else float(shift)
        added = tr.multiply(tr.trace(matrices), share)
        identity = tr.eye(x.shape[-1], dtype=x.dtype, placement=x.placement)
        lower = cholesky(
            tr.add(matrices, tr.multiply(tr.reshape_view(identity, (*identity.shape, *(1,) * added.rank)), added))
        )
    left = _leading(lower, 2)
    return left if "l" in wanted else None, None, tr.conj(tr.swapaxes(left, -2, -1)) if "r" in wanted else None


def _polar(side: str) -> Callable[..., Three]:
    def function(x: tr.Tensor) -> Three:
        left, _, right, _ = split(
            x, x.rank - 2, x.rank - 1, method="polar", absorb=side, batch_axes=tuple(range(x.rank - 2))
        )
        return _leading(left, 2), None, _leading(right, 2)

    return function


QUIMB: Final[Mapping[str, Callable[..., Any]]] = {
    "linalg.svd": _svd,
    "linalg.rsvd": lambda x, k: tuple(randomized_svd(x, min(k, *x.shape), seed=0)),
    "linalg.svdvals": _one(svdvals, 1),
    "linalg.eigh": _eigh,
    "linalg.eigvalsh": _one(eigvalsh, 1),
    "linalg.eig": _eig,
    "linalg.eigvals": _one(eigvals, 1),
    "linalg.qr": _qr,
    "linalg.cholesky": _cholesky,
    "linalg.inv": _one(inv, 2),
    "linalg.pinv": _one(pinv, 2),
    **dict.fromkeys(("linalg.expm", "scipy.linalg.expm"), _one(expm, 2)),
    "linalg.lstsq": lstsq,
    "linalg.det": _one(det, 0),
    "linalg.solve": _solve,
    "linalg.householder_product": _householder_product,
    "scipy.linalg.solve_triangular": _solve_triangular,
    "scipy.linalg.lu": _lu,
    "linalg.norm": _norm,
    "svd_truncated": _truncated("svd"),
    "svd_via_eig_truncated": _truncated("eigh"),
    "rsvd": _truncated("rsvd"),
    "qr_stabilized": _triangular(1),
    "lq_stabilized": _triangular(-1),
    "cholesky_regularized": _cholesky_regularized,
    "polar_right": _polar("right"),
    "polar_left": _polar("left"),
}
"""Each name that quimb asks for, and what answers it."""
