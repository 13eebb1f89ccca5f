"""Square roots of matrices by Schur's triangle, over trailing batch axes, in F64 and C64."""

from __future__ import annotations

from tensor_linalg.decompositions import schur
from tensor_linalg.operands import with_batch
from tensor_linalg.products import VECDOT, matmul, mH
from tensor_runtime.dispatch.call import execute_binary
from tensor_runtime.ops import exponential
from tensor_runtime.ops.arithmetic import add, divide, subtract
from tensor_runtime.ops.comparison import equal, greater, less_equal, not_equal
from tensor_runtime.ops.creation import zeros
from tensor_runtime.ops.diagonals import extract_diagonal
from tensor_runtime.ops.indexing import mutable_view
from tensor_runtime.ops.joining import concatenate
from tensor_runtime.ops.logic import logical_and, logical_or
from tensor_runtime.ops.ranges import arange
from tensor_runtime.ops.reduction import all, any
from tensor_runtime.ops.views import expand_dims, move_axes, reshape_view
from tensor_runtime.tensors.tensor import Tensor


def schur_root(a: Tensor, /) -> tuple[Tensor, Tensor]:
    """The root of Schur's triangle, turned back; and which are singular.

    >>> import tensor_runtime as tr
    >>> root, singular = schur_root(tr.tensor([[-4.0, 0.0], [0.0, 9.0]]))
    >>> root.to_numpy().tolist(), singular.item()
    ([[2j, 0j], [0j, (3+0j)]], False)
    """
    t, z = schur(a, form="complex", check=False)
    root = triangle_root(t)
    x = matmul(matmul(z, root), mH(z))  # NaN where there are two roots of 0
    return x, any(equal(extract_diagonal(root, axes=(0, 1)), 0.0), -1)


def is_rooted_triangle(a: Tensor, /) -> Tensor:
    """Which matrices are exactly upper triangles whose diagonals have roots: positive ones of real matrices.

    >>> import tensor_runtime as tr
    >>> is_rooted_triangle(tr.tensor([[4.0, 5.0], [0.0, 9.0]])).item()
    True
    >>> is_rooted_triangle(tr.tensor([[4.0, 5.0], [0.0, -9.0]])).item()
    False
    """
    diagonal = extract_diagonal(a, axes=(0, 1))
    rooted = not_equal(diagonal, 0.0) if a.dtype.kind == "complex" else greater(diagonal, 0.0)
    rows = arange(a.shape[0], placement=a.placement)
    above = with_batch(less_equal(expand_dims(rows, 1), rows), 2, a.shape[2:])
    return logical_and(all(rooted, -1), all(logical_or(above, equal(a, 0.0)), (0, 1)))


def triangle_root(t: Tensor, /) -> Tensor:
    """The root of an upper triangle, diagonal after diagonal (Björck and Hammarling).

    Above the main diagonal, (r_ii + r_jj) r_ij is t_ij less the sum of r_ik r_kj for the k between i and j. The root R
    takes the places of T: with one more column these are [n + 1, n] too, where diagonal d is row n + 1 - d, r_ij in
    column j - 1. It is row d of ``upwards`` as well, r_ij in column i. So the sums are inner products of slices.

    >>> import tensor_runtime as tr
    >>> triangle_root(tr.tensor([[4.0, 5.0], [0.0, 9.0]])).to_numpy().tolist()
    [[2.0, 1.0], [0.0, 3.0]]
    """
    size, batch = t.shape[0], t.shape[2:]
    roots = move_axes(exponential.sqrt(add(extract_diagonal(t, axes=(0, 1)), 0.0)), -1, 0)  # of no imaginary part of -0
    upwards = zeros(t.shape, dtype=t.dtype, placement=t.placement)
    places = concatenate([t, zeros((size, 1, *batch), dtype=t.dtype, placement=t.placement)], 1)
    skewed = reshape_view(places, (size + 1, size, *batch))
    write_upwards, write_skewed = mutable_view(upwards), mutable_view(skewed)
    write_skewed[0] = roots
    for d in range(1, size):
        row, columns, rows = size + 1 - d, slice(d - 1, size - 1), slice(size - d)
        above = skewed[row, columns]
        if d > 1:
            above = subtract(above, execute_binary(VECDOT, upwards[1:d, rows], skewed[row + 1 :, columns]))
        found = divide(above, add(roots[rows], roots[d:]))
        write_skewed[row, columns] = found
        write_upwards[d, rows] = found
    return places[:, :size]
