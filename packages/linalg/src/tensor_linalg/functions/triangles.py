"""Square roots of matrices by Schur's triangle, over trailing batch axes, in F64 and C64."""

from __future__ import annotations

from tensor_linalg.decompositions import schur
from tensor_linalg.products import VECDOT, matmul, mH
from tensor_runtime.dispatch.call import execute_binary
from tensor_runtime.ops import exponential
from tensor_runtime.ops.arithmetic import add, divide, subtract
from tensor_runtime.ops.comparison import equal
from tensor_runtime.ops.creation import zeros
from tensor_runtime.ops.diagonals import extract_diagonal
from tensor_runtime.ops.indexing import mutable_view
from tensor_runtime.ops.joining import concatenate
from tensor_runtime.ops.reduction import any
from tensor_runtime.ops.views import move_axes, reshape_view
from tensor_runtime.tensors.tensor import Tensor


def schur_root(a: Tensor, /) -> tuple[Tensor, Tensor]:
    """The root of a triangle, diagonal after diagonal, turned back (Björck and Hammarling); and which are singular.

    Above the main diagonal, (r_ii + r_jj) r_ij is t_ij less the sum of r_ik r_kj for the k between i and j. The root R
    takes the places of T: with one more column these are [n + 1, n] too, where diagonal d is row n + 1 - d, r_ij in
    column j - 1. It is row d of ``upwards`` as well, r_ij in column i. So the sums are inner products of slices.

    >>> import tensor_runtime as tr
    >>> root, singular = schur_root(tr.tensor([[-4.0, 0.0], [0.0, 9.0]]))
    >>> root.to_numpy().tolist(), singular.item()
    ([[2j, 0j], [0j, (3+0j)]], False)
    """
    size, batch = a.shape[0], a.shape[2:]
    t, z = schur(a, form="complex", check=False)
    roots = move_axes(exponential.sqrt(add(extract_diagonal(t), 0.0)), -1, 0)  # of no imaginary part of -0
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
    x = matmul(matmul(z, places[:, :size]), mH(z))  # NaN where there are two roots of 0
    return x, any(equal(roots, 0.0), 0)
