"""Leading singular values and eigenvalues of large matrices from products with random vectors."""

from __future__ import annotations

from typing import Any, Literal, overload

from tensor_core.errors import ArgumentError
from tensor_linalg.composed import failing_as, matrices
from tensor_linalg.decompositions.eigh import EighResult, eigh, hermitian_of_lower
from tensor_linalg.decompositions.qr import qr
from tensor_linalg.decompositions.svd import SVDResult, svd
from tensor_linalg.masking import Check, MaskedResult, asks_for_mask, checks, masked_result
from tensor_linalg.operands import require_finite, require_range, seed_of
from tensor_linalg.products import matmul, mH
from tensor_linalg.targets import delivered
from tensor_runtime.dispatch.arguments import whole
from tensor_runtime.ops.arithmetic import abs
from tensor_runtime.ops.gather_scatter import take_along_axis
from tensor_runtime.ops.random import normal
from tensor_runtime.ops.sort import argsort, sort
from tensor_runtime.ops.views import copy, expand_dims
from tensor_runtime.tensors.tensor import Tensor


@overload
def randomized_svd(
    a: Tensor,
    /,
    rank: int,
    *,
    seed: int,
    oversampling: int = 10,
    iterations: int = 2,
    check: bool = True,
    out: SVDResult | None = None,
) -> SVDResult: ...
@overload
def randomized_svd(
    a: Tensor,
    /,
    rank: int,
    *,
    seed: int,
    oversampling: int = 10,
    iterations: int = 2,
    check: Literal["mask"],
    out: MaskedResult[SVDResult] | None = None,
) -> MaskedResult[SVDResult]: ...
def randomized_svd(
    a: Tensor,
    /,
    rank: int,
    *,
    seed: int,
    oversampling: int = 10,
    iterations: int = 2,
    check: Check = True,
    out: Any = None,
) -> SVDResult | MaskedResult[SVDResult]:
    """The leading singular values and vectors, from products of A with random vectors.

    Costs about 4 (1 + iterations) products of A with ``rank + oversampling`` vectors, where :func:`svd` costs about
    as many as A has columns. The same arguments give the same result.

    Args:
        a: shape [M, N, B...]; F32, F64, C32 or C64.
        rank: how many, at most the smaller of M and N.
        seed: of the random vectors, 0 to 2**64 - 1; every matrix of the batch meets the same ones.
        oversampling: random vectors beyond ``rank``.
        iterations: of the power method, each of which raises the ratio of singular values by 2 in the exponent.
        check: raise when an element is not finite.
            "mask" raises for no matrix of a batch, and gives a ``MaskedResult``: the result, NaN where a matrix has
            none, and a ``status`` of each, I32 [B...].
        out: where the results are written, an ``SVDResult`` of tensors; see ``tensor_linalg.targets``.

    Returns:
        u [M, rank, B...], s [rank, B...] and vh [rank, N, B...] as :func:`svd` has them; owned, compact. The error of
        u diag(s) vh beside that of the best approximation of the rank is small where the singular values fall off
        beyond it, or ``iterations`` are many; for a matrix of at most that rank it is a few rounding units times
        max(M, N) times the norm of A.

    Raises:
        DTypeError: an integer or Bool tensor; convert it first.
        ShapeError: fewer than two axes.
        ArgumentError: a rank, seed or number that is none.
        NonFiniteError, NotConvergedError, SizeLimitError: as for :func:`svd`.

    Source: N. Halko, P. G. Martinsson and J. A. Tropp, Finding structure with randomness, SIAM Review 53 (2011),
    217-288, algorithms 4.4 and 5.1.

    >>> import tensor_runtime as tr
    >>> a = tr.outer(tr.tensor([1.0, 2.0, 2.0]), tr.tensor([0.6, 0.8]))
    >>> randomized_svd(a, 1, seed=0).s.to_numpy().round(12).tolist()
    [3.0]
    """
    if check is not True and asks_for_mask(check):
        options: dict[str, Any] = {"seed": seed, "oversampling": oversampling, "iterations": iterations}
        return masked_result("randomized_svd", lambda x: randomized_svd(x, rank, **options, check=False), a, out=out)
    rows, columns, _ = matrices("randomized_svd", a)
    checked = checks("randomized_svd", check)
    if checked:
        require_finite("randomized_svd", "a", a)
    width = _width("randomized_svd", rank, oversampling, iterations, min(rows, columns))
    seed = seed_of("randomized_svd", seed)
    with failing_as("randomized_svd"):
        start = _range("randomized_svd", a, columns, width, seed, checked)
        adjoint = mH(a)
        for _ in range(iterations):
            start = _orthonormal(matmul(a, _orthonormal(matmul(adjoint, start))))
        u, s, vh = svd(matmul(mH(start), a), check=False)
    found = SVDResult(matmul(start, u[:, :rank]), copy(s[:rank]), copy(vh[:rank]))
    return delivered("randomized_svd", found, out, a)


@overload
def randomized_eigh(
    a: Tensor,
    /,
    rank: int,
    *,
    seed: int,
    oversampling: int = 10,
    iterations: int = 2,
    check: bool = True,
    out: EighResult | None = None,
) -> EighResult: ...
@overload
def randomized_eigh(
    a: Tensor,
    /,
    rank: int,
    *,
    seed: int,
    oversampling: int = 10,
    iterations: int = 2,
    check: Literal["mask"],
    out: MaskedResult[EighResult] | None = None,
) -> MaskedResult[EighResult]: ...
def randomized_eigh(
    a: Tensor,
    /,
    rank: int,
    *,
    seed: int,
    oversampling: int = 10,
    iterations: int = 2,
    check: Check = True,
    out: Any = None,
) -> EighResult | MaskedResult[EighResult]:
    """The eigenvalues of largest magnitude of Hermitian matrices and their vectors, from products with random vectors.

    The lower triangle is read, as :func:`eigh` does. The same arguments give the same result.

    Args:
        a: shape [N, N, B...]; F32, F64, C32 or C64.
        rank: how many, at most N.
        seed, oversampling, iterations, check: as for :func:`randomized_svd`.
        out: where the results are written, an ``EighResult`` of tensors; see ``tensor_linalg.targets``.

    Returns:
        eigenvalues [rank, B...] ascending and eigenvectors [N, rank, B...] as :func:`eigh` has them; owned, compact.
        Accurate where the magnitudes of the eigenvalues fall off beyond ``rank``, or ``iterations`` are many.

    Raises:
        DTypeError: an integer or Bool tensor; convert it first.
        ShapeError: fewer than two axes, or matrices that are not square.
        ArgumentError: a rank, seed or number that is none.
        NonFiniteError, NotConvergedError, SizeLimitError: as for :func:`eigh`.

    Source: N. Halko, P. G. Martinsson and J. A. Tropp, Finding structure with randomness, SIAM Review 53 (2011),
    217-288, algorithms 4.4 and 5.3.

    >>> import tensor_runtime as tr
    >>> a = tr.outer(tr.tensor([0.6, 0.8, 0.0]), tr.tensor([-3.0, -4.0, 0.0]))
    >>> randomized_eigh(a, 1, seed=0).eigenvalues.to_numpy().round(12).tolist()
    [-5.0]
    """
    if check is not True and asks_for_mask(check):
        options: dict[str, Any] = {"seed": seed, "oversampling": oversampling, "iterations": iterations}
        return masked_result("randomized_eigh", lambda x: randomized_eigh(x, rank, **options, check=False), a, out=out)
    size, _, _ = matrices("randomized_eigh", a, square=True)
    checked = checks("randomized_eigh", check)
    if checked:
        require_finite("randomized_eigh", "a", a)
    width = _width("randomized_eigh", rank, oversampling, iterations, size)
    seed = seed_of("randomized_eigh", seed)
    with failing_as("randomized_eigh"):
        whole_matrix = hermitian_of_lower(a)
        start = _range("randomized_eigh", whole_matrix, size, width, seed, checked)
        for _ in range(2 * iterations):
            start = _orthonormal(matmul(whole_matrix, start))
        values, vectors = eigh(matmul(mH(start), matmul(whole_matrix, start)), check=False)
    if size == 0:
        return delivered("randomized_eigh", EighResult(values, vectors), out, a)
    largest = sort(argsort(abs(values), axis=0, descending=True)[:rank], axis=0)  # the values are ascending
    chosen = take_along_axis(vectors, expand_dims(largest, 0), axis=1)
    found = EighResult(take_along_axis(values, largest, axis=0), matmul(start, chosen))
    return delivered("randomized_eigh", found, out, a)


def _width(operation: str, rank: int, oversampling: int, iterations: int, most: int) -> int:
    """How many random vectors there are."""
    wanted, beyond = whole(operation, "rank", rank), whole(operation, "oversampling", oversampling)
    if not 0 <= wanted <= most or beyond < 0 or whole(operation, "iterations", iterations) < 0:
        raise ArgumentError(
            f"{operation}: rank is {rank}, oversampling {oversampling} and iterations {iterations}; "
            f"accepted: a rank from 0 to {most}, and numbers that are 0 or more",
            operation=operation,
        )
    return min(wanted + beyond, most)


def _range(operation: str, a: Tensor, columns: int, width: int, seed: int, check: bool) -> Tensor:
    """Orthonormal vectors whose space has most of what the matrices give."""
    vectors = normal((columns, width), seed=seed, dtype=a.dtype, placement=a.placement)
    start = _orthonormal(matmul(a, vectors))
    if check:  # of products that overflow come no vectors
        require_range(operation, start, "products with random vectors", "scale a by a power of two")
    return start


def _orthonormal(a: Tensor) -> Tensor:
    return qr(a, check=False).q
