"""The standard's extension ``linalg``: matrices in the two last axes, batch axes before them.

The functions are those of the family of linear algebra that is installed, whose batch axes are the last. Views move the
axes here, so the elements stay where they are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from math import prod
from typing import Any, Final, NamedTuple

from tensor_core.dtypes import DType
from tensor_core.errors import ArgumentError, ShapeError, TensorError
from tensor_runtime.array_api.manipulation import matrix_transpose as matrix_transpose
from tensor_runtime.array_api.manipulation import reshape
from tensor_runtime.array_api.reductions import sum
from tensor_runtime.backends.error_translation import naming
from tensor_runtime.backends.plugins.families import family_table
from tensor_runtime.ops import diagonals, joining, statistics, views
from tensor_runtime.ops.contraction import matmul as matmul
from tensor_runtime.ops.contraction import tensordot as tensordot
from tensor_runtime.ops.products import vecdot as vecdot
from tensor_runtime.tensors.tensor import Tensor, unwrap

_ADVICE: Final = re.compile(r" \(check=False [^()]*\)")


class EighResult(NamedTuple):
    """Eigenvalues [B..., N] and eigenvectors [B..., N, N]."""

    eigenvalues: Tensor
    eigenvectors: Tensor


class QRResult(NamedTuple):
    """Q [B..., M, K] with orthonormal columns, R [B..., K, N] upper triangular."""

    Q: Tensor
    R: Tensor


class SlogdetResult(NamedTuple):
    """Sign and logarithm of the modulus, both [B...]."""

    sign: Tensor
    logabsdet: Tensor


class SVDResult(NamedTuple):
    """U [B..., M, K], S [B..., K] from the largest, Vh [B..., K, N]."""

    U: Tensor
    S: Tensor
    Vh: Tensor


def _ours(name: str) -> Callable[..., Any]:
    """The family's function, whose errors do not advise an argument that the standard's function lacks."""
    function = family_table.function(name)

    def called(*arguments: Any, **options: Any) -> Any:
        try:
            return function(*arguments, **options)
        except TensorError as error:
            error.args = (_ADVICE.sub("", str(error)), *error.args[1:])
            raise

    return called


def _matrices_first(operation: str, x: Tensor) -> Tensor:
    if len(unwrap(operation, x)[0].shape) < 2:
        raise ShapeError(f"{operation}: found shape {x.shape}; accepted: matrices [B..., M, N]", shape=x.shape)
    return views.permute_axes(x, (x.ndim - 2, x.ndim - 1, *range(x.ndim - 2)))


def _batch_first(x: Tensor, core: int = 2) -> Tensor:
    return views.permute_axes(x, (*range(core, x.ndim), *range(core)))


def cholesky(x: Tensor, /, *, upper: bool = False) -> Tensor:
    """Cholesky factors of Hermitian positive definite matrices: x = L Lᴴ, or x = Uᴴ U with ``upper``.

    Args:
        x: shape [B..., N, N].
        upper: the factor U instead of L.

    Returns:
        Shape [B..., N, N].

    Raises:
        LinalgError: a matrix is not positive definite; the message names it.

    >>> cholesky(tensor([[4.0, 2.0], [2.0, 2.0]])).tolist()
    [[2.0, 0.0], [1.0, 1.0]]
    """
    return _batch_first(_ours("cholesky")(_matrices_first("cholesky", x), upper=upper))


@naming("move_axes", "multiply", "subtract", "stack", "transpose")
def cross(x1: Tensor, x2: Tensor, /, *, axis: int = -1) -> Tensor:
    """Cross products of vectors of three elements along an axis; the other axes broadcast.

    >>> cross(tensor([1.0, 0.0, 0.0]), tensor([0.0, 1.0, 0.0])).tolist()
    [0.0, 0.0, 1.0]
    """
    first, second = (views.move_axes(x, axis, -1) for x in (x1, x2))
    if first.shape[-1] != 3 or second.shape[-1] != 3:
        raise ShapeError(f"cross: shapes {x1.shape} and {x2.shape} along axis {axis}; accepted: 3 elements each")
    a, b = [first[..., i] for i in range(3)], [second[..., i] for i in range(3)]
    parts = [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
    return views.move_axes(joining.stack(parts, -1), -1, axis)


def det(x: Tensor, /) -> Tensor:
    """Determinants [B...] of matrices [B..., N, N].

    >>> det(tensor([[2.0, 1.0], [1.0, 1.0]])).item()
    1.0
    """
    found: Tensor = _ours("det")(_matrices_first("det", x))
    return found


@naming("extract_diagonal")
def diagonal(x: Tensor, /, *, offset: int = 0) -> Tensor:
    """Diagonals [B..., K] of matrices [B..., M, N]."""
    return diagonals.extract_diagonal(x, offset, (-2, -1))


def eigh(x: Tensor, /) -> EighResult:
    """Eigenvalues, from the smallest, and eigenvectors of Hermitian matrices [B..., N, N].

    >>> eigh(tensor([[2.0, 0.0], [0.0, 1.0]])).eigenvalues.tolist()
    [1.0, 2.0]
    """
    values, vectors = _ours("eigh")(_matrices_first("eigh", x))
    return EighResult(_batch_first(values, 1), _batch_first(vectors))


def eigvalsh(x: Tensor, /) -> Tensor:
    """Eigenvalues [B..., N] of Hermitian matrices, from the smallest."""
    return _batch_first(_ours("eigvalsh")(_matrices_first("eigvalsh", x)), 1)


def inv(x: Tensor, /) -> Tensor:
    """Inverses of matrices [B..., N, N]."""
    return _batch_first(_ours("inv")(_matrices_first("inv", x)))


def matrix_norm(x: Tensor, /, *, keepdims: bool = False, ord: float | str | None = "fro") -> Tensor:
    """Norms [B...] of matrices [B..., M, N]: "fro", "nuc", 1, 2, inf and their negatives; None is "fro".

    >>> matrix_norm(tensor([[3.0, 0.0], [0.0, 4.0]])).item()
    5.0
    """
    found: Tensor = _ours("matrix_norm")(_matrices_first("matrix_norm", x), "fro" if ord is None else ord)
    return views.expand_dims(found, (-2, -1)) if keepdims else found


def matrix_power(x: Tensor, n: int, /) -> Tensor:
    """Powers of matrices [B..., N, N]; negative ones of the inverse."""
    return _batch_first(_ours("matrix_power")(_matrices_first("matrix_power", x), n))


def matrix_rank(x: Tensor, /, *, rtol: float | Tensor | None = None) -> Tensor:
    """Numbers [B...] of singular values above ``rtol`` times the largest.

    >>> matrix_rank(tensor([[1.0, 1.0], [1.0, 1.0]])).item()
    1
    """
    found: Tensor = _ours("matrix_rank")(_matrices_first("matrix_rank", x), rtol=rtol)
    return found


@naming("multiply", "expand_dims")
def outer(x1: Tensor, x2: Tensor, /) -> Tensor:
    """Products [N, M] of every element of a vector [N] with every one of another [M].

    >>> outer(tensor([1, 2]), tensor([3, 4])).tolist()
    [[3, 4], [6, 8]]
    """
    if [len(unwrap("outer", x)[0].shape) for x in (x1, x2)] != [1, 1]:
        raise ShapeError(f"outer: shapes {x1.shape} and {x2.shape}; accepted: vectors [N] and [M]")
    return views.expand_dims(x1, 1) * views.expand_dims(x2, 0)


def pinv(x: Tensor, /, *, rtol: float | Tensor | None = None) -> Tensor:
    """Pseudo-inverses [B..., N, M] of matrices [B..., M, N]."""
    return _batch_first(_ours("pinv")(_matrices_first("pinv", x), rtol=rtol))


def qr(x: Tensor, /, *, mode: str = "reduced") -> QRResult:
    """QR decompositions of matrices [B..., M, N]; ``mode`` is "reduced" or "complete".

    >>> [factor.shape for factor in qr(ones((5, 4, 2)))]
    [(5, 4, 2), (5, 2, 2)]
    """
    if mode not in ("reduced", "complete"):
        raise ArgumentError(f"qr: found mode={mode!r}; accepted: 'reduced', 'complete'")
    q, r = _ours("qr")(_matrices_first("qr", x), mode="thin" if mode == "reduced" else mode)
    return QRResult(_batch_first(q), _batch_first(r))


def slogdet(x: Tensor, /) -> SlogdetResult:
    """Signs and logarithms of the moduli of determinants of matrices [B..., N, N].

    >>> slogdet(tensor([[1.0, 0.0], [0.0, -1.0]])).sign.item()
    -1.0
    """
    return SlogdetResult(*_ours("slogdet")(_matrices_first("slogdet", x)))


def solve(x1: Tensor, x2: Tensor, /) -> Tensor:
    """Solutions of linear systems: x1 [B..., N, N], x2 [B..., N, K], or one vector [N].

    >>> solve(tensor([[2.0, 0.0], [0.0, 4.0]]), tensor([2.0, 4.0])).tolist()
    [1.0, 1.0]
    """
    matrices = _matrices_first("solve", x1)
    unwrap("solve", x2)
    if x2.ndim == 1:
        columns = views.expand_dims(x2, (1, *range(2, x1.ndim)))
        return _batch_first(_ours("solve")(matrices, columns))[..., 0]
    right = _matrices_first("solve", x2)
    most = max(x1.ndim, x2.ndim)
    pair = (_with_rank(matrices, most), _with_rank(right, most))
    return _batch_first(_ours("solve")(*pair))


def _with_rank(x: Tensor, rank: int) -> Tensor:
    """Batch axes of extent 1 before those that are there."""
    return views.expand_dims(x, tuple(range(2, 2 + rank - x.ndim))) if x.ndim < rank else x


def svd(x: Tensor, /, *, full_matrices: bool = True) -> SVDResult:
    """Singular value decompositions of matrices [B..., M, N]; whole bases of both sides, unless told otherwise.

    >>> [factor.shape for factor in svd(ones((5, 4, 2)), full_matrices=False)]
    [(5, 4, 2), (5, 2), (5, 2, 2)]
    """
    u, s, vh = _ours("svd")(_matrices_first("svd", x), full=full_matrices)
    return SVDResult(_batch_first(u), _batch_first(s, 1), _batch_first(vh))


def svdvals(x: Tensor, /) -> Tensor:
    """Singular values [B..., K] of matrices [B..., M, N], from the largest."""
    return _batch_first(_ours("svdvals")(_matrices_first("svdvals", x)), 1)


@naming("extract_diagonal", "diagonal", "sum")
def trace(x: Tensor, /, *, offset: int = 0, dtype: DType | None = None) -> Tensor:
    """Sums [B...] of the diagonals of matrices [B..., M, N]."""
    return sum(diagonal(x, offset=offset), axis=-1, dtype=dtype)


@naming("transpose", "norm", "reshape", "permute_axes")
def vector_norm(
    x: Tensor, /, *, axis: int | Sequence[int] | None = None, keepdims: bool = False, ord: float = 2
) -> Tensor:
    """Norms over axes, over all without one: the p-th root of the sum of the p-th powers of moduli, for p = ``ord``.

    >>> vector_norm(tensor([[3.0, 4.0], [6.0, 8.0]]), axis=1).tolist()
    [5.0, 10.0]
    """
    unwrap("vector_norm", x)
    axes = tuple(range(x.ndim)) if axis is None else (axis,) if isinstance(axis, int) else tuple(axis)
    axes = tuple(one % x.ndim if -x.ndim <= one < x.ndim else one for one in axes)
    kept = tuple(one for one in range(x.ndim) if one not in axes)
    flat = reshape(
        views.permute_axes(x, (*kept, *axes)), (*(x.shape[one] for one in kept), prod(x.shape[one] for one in axes))
    )
    found = statistics.norm(flat, ord, -1)
    return views.expand_dims(found, sorted(axes)) if keepdims else found
