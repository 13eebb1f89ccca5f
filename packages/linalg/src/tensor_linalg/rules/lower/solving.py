"""``lstsq`` by ``svd``, banded systems by dense ones, ``solve_toeplitz`` step by step, substitution."""

from __future__ import annotations

from tensor_core.dtypes import F64
from tensor_core.shapes import Shape
from tensor_linalg.composed import failing_as
from tensor_linalg.contracts.common import CheckParams
from tensor_linalg.contracts.solving import BandedParams, HermitianBandParams, LstsqParams
from tensor_linalg.decompositions.cholesky import cholesky
from tensor_linalg.operands import promoted, require_finite, require_regular, with_batch
from tensor_linalg.products import mH
from tensor_linalg.solving.least_squares import by_singular_values
from tensor_linalg.solving.substitution import check_triangle, substituted
from tensor_linalg.solving.systems import solve
from tensor_linalg.solving.triangular import cho_solve
from tensor_linalg.specs.shapes import broadcast_batches
from tensor_runtime.contracts.linalg import TriangularSolveParams
from tensor_runtime.ops.arithmetic import abs, add, divide, multiply, subtract
from tensor_runtime.ops.comparison import equal, less
from tensor_runtime.ops.creation import zeros
from tensor_runtime.ops.diagonals import embed_diagonal
from tensor_runtime.ops.joining import concatenate
from tensor_runtime.ops.logic import logical_or
from tensor_runtime.ops.reduction import sum
from tensor_runtime.ops.selection import where
from tensor_runtime.ops.views import copy, expand_dims, move_axes, reverse_view, squeeze
from tensor_runtime.tensors.tensor import Tensor


def lstsq(a: Tensor, b: Tensor, params: LstsqParams, /) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The solution by the factors of the matrices.

    >>> from tensor_runtime import tensor
    >>> x, residuals, rank, values = lstsq(tensor([[2.0], [0.0]]), tensor([[4.0], [3.0]]), LstsqParams(1e-15, True))
    >>> x.item(), residuals.item(), rank.item(), values.item()
    (2.0, 9.0, 1, 2.0)
    """
    return by_singular_values(a, b, params.rtol, params.check)


def solve_banded(ab: Tensor, b: Tensor, params: BandedParams, /) -> Tensor:
    """The solution with the whole matrix: N³ operations and N² elements in place of N and the bandwidths.

    >>> from tensor_runtime import tensor
    >>> bands = tensor([[0.0, 1.0], [2.0, 4.0]])
    >>> solve_banded(bands, tensor([4.0, 8.0]), BandedParams(0, 1, True)).to_numpy().tolist()
    [1.0, 2.0]
    """
    if params.check:  # what lies outside of the matrix, too
        require_finite("solve_banded", "ab", ab)
        require_finite("solve_banded", "b", b, min(2, b.rank))
    with failing_as("solve_banded", instead=("lstsq() gives", "lstsq() of the whole matrix gives")):
        return solve(_dense(ab, params.upper), b, check=False)


def solveh_banded(ab: Tensor, b: Tensor, params: HermitianBandParams, /) -> Tensor:
    """The solution by the Cholesky factor of the whole matrix, of which one triangle is read.

    >>> from tensor_runtime import tensor
    >>> bands = tensor([[0.0, 2.0], [4.0, 5.0]])
    >>> solveh_banded(bands, tensor([8.0, 12.0]), HermitianBandParams(False, True)).to_numpy().tolist()
    [1.0, 2.0]
    """
    if params.check:  # what lies outside of the matrix, too
        require_finite("solveh_banded", "ab", ab)
        require_finite("solveh_banded", "b", b, min(2, b.rank))
    dense = _dense(ab, 0 if params.lower else ab.shape[0] - 1)
    if not params.lower:
        dense = mH(dense)
    with failing_as("solveh_banded", instead=("the lower triangle", "half of the band")):
        factor = cholesky(dense, check=False)
        return cho_solve(factor, b, check=False)


def _dense(ab: Tensor, upper: int) -> Tensor:
    """Matrices [N, N, B...] of diagonals, of which so many stand above the main one."""
    rows, size = ab.shape[:2]
    dense = zeros((size, size, *ab.shape[2:]), dtype=ab.dtype, placement=ab.placement)
    for k in range(upper + 1 - rows, upper + 1):  # diagonals may lie wholly outside of the matrix
        line = ab[upper - k, k:] if k >= 0 else ab[upper - k, : max(size + k, 0)]
        if line.shape[0] > 0:
            dense = add(dense, embed_diagonal(move_axes(line, 0, -1), k))
    return dense


def solve_toeplitz(diagonals: Tensor, b: Tensor, params: CheckParams, /) -> Tensor:
    """Levinson's recursion, each step for all batches at once.

    Forward and backward solve the leading block for its first and its last unit vector.

    >>> from tensor_runtime import tensor
    >>> diagonals = tensor([0.0, -1.0, 2.0, -1.0, 0.0])
    >>> solve_toeplitz(diagonals, tensor([1.0, 0.0, 1.0]), CheckParams(True)).to_numpy().round(12).tolist()
    [1.0, 1.0, 1.0]
    """
    operation = "solve_toeplitz"
    diagonals, b = promoted(operation, diagonals, b)
    if params.check:
        require_finite(operation, "diagonals", diagonals, 1)
        require_finite(operation, "b", b, min(2, b.rank))
    if b.rank == 1:
        return copy(squeeze(_levinson(diagonals, expand_dims(b, 1), params.check, ()), 1))
    batch, own = broadcast_batches(operation, diagonals.shape[1:], b.shape[2:]), diagonals.shape[1:]
    alike = with_batch(diagonals, 1, (*(1,) * (len(batch) - len(own)), *own))
    return _levinson(alike, with_batch(b, 2, batch), params.check, own)


def triangular_solve_checked(a: Tensor, b: Tensor, params: TriangularSolveParams, /) -> Tensor:
    """The primitive after a look at all elements that it reads.

    >>> from tensor_runtime import tensor
    >>> upper = TriangularSolveParams(False, False, False, False)
    >>> triangular_solve_checked(tensor([[2.0]]), tensor([4.0]), upper).to_numpy().tolist()
    [2.0]
    """
    operation = "triangular_solve"
    a, b = promoted(operation, a, b)
    check_triangle(operation, a, b, params.lower, params.unit_diagonal)
    return substituted(operation, a, b, *params, False)


def _levinson(diagonals: Tensor, b: Tensor, check: bool, batch: Shape) -> Tensor:
    """The solution; a singular matrix is named by its place in ``batch``, which ``diagonals`` have behind ones.

    Both are brought nearer to 1 by a power of two where the main diagonal is minute or vast: its reciprocal, or sums of
    products with it, may be beyond the range.
    """
    size = b.shape[0]
    least, power = (2.0**-900, 2.0**200) if diagonals.dtype.component is F64 else (2.0**-100, 2.0**60)
    main = abs(diagonals[size - 1 : size])
    for far, factor in ((less(main, least), power), (less(1 / least, main), 1 / power)):
        diagonals = where(far, multiply(diagonals, factor), diagonals)
        b = where(expand_dims(far, 1), multiply(b, factor), b)
    c, r = diagonals[size - 1 :], reverse_view(diagonals[:size], 0)
    reversed_c = reverse_view(c, 0)
    singular = equal(c[0], 0.0)
    forward = backward = divide(1.0, c[:1])
    nothing = multiply(c[:1], 0.0)
    x = divide(b[:1], expand_dims(c[:1], 1))
    none = multiply(b[:1], 0.0)
    for count in range(1, size):
        below = reversed_c[size - 1 - count : size - 1]  # c[count], ..., c[1]
        of_forward = sum(multiply(below, forward), 0)
        of_backward = sum(multiply(r[1 : count + 1], backward), 0)
        left = subtract(1.0, multiply(of_forward, of_backward))
        singular = logical_or(singular, equal(left, 0.0))
        long_forward, long_backward = concatenate([forward, nothing]), concatenate([nothing, backward])
        forward = divide(subtract(long_forward, multiply(of_forward, long_backward)), left)
        backward = divide(subtract(long_backward, multiply(of_backward, long_forward)), left)
        of_x = sum(multiply(expand_dims(below, 1), x), 0)
        step = subtract(b[count], of_x)
        x = add(concatenate([x, none]), multiply(expand_dims(backward, 1), step))
    if check:
        require_regular(
            "solve_toeplitz",
            singular.reshape(batch),
            "has a leading block that is exactly singular",
            "solve() takes the matrix itself",
        )
    return x
