"""``solve_banded`` by dense systems."""

from __future__ import annotations

from tensor_linalg.contracts.solving import BandedParams
from tensor_linalg.solving.systems import solve
from tensor_runtime.ops.arithmetic import add
from tensor_runtime.ops.creation import zeros
from tensor_runtime.ops.diagonals import embed_diagonal
from tensor_runtime.ops.views import move_axes
from tensor_runtime.tensors.tensor import Tensor


def solve_banded(ab: Tensor, b: Tensor, params: BandedParams, /) -> Tensor:
    """The solution with the whole matrix: N³ operations and N² elements in place of N and the bandwidths.

    The errors are those of ``solve``, and name it.

    >>> from tensor_runtime import tensor
    >>> bands = tensor([[0.0, 1.0], [2.0, 4.0]])
    >>> solve_banded(bands, tensor([4.0, 8.0]), BandedParams(0, 1, True)).to_numpy().tolist()
    [1.0, 2.0]
    """
    size, upper = ab.shape[1], params.upper  # diagonals may lie wholly outside of the matrix
    dense = zeros((size, size, *ab.shape[2:]), dtype=ab.dtype, placement=ab.placement)
    for k in range(-params.lower, upper + 1):
        line = ab[upper - k, k:] if k >= 0 else ab[upper - k, : max(size + k, 0)]
        if line.shape[0] > 0:
            dense = add(dense, embed_diagonal(move_axes(line, 0, -1), k))
    return solve(dense, b, check=params.check)
