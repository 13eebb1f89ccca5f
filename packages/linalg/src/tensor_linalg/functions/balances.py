"""Scalings of rows and columns by powers of two that bring elements of a square matrix nearer to one another.

D⁻¹ A D is similar to A, and D is a diagonal of powers of two, so that nothing is rounded; a function of A is
D f(D⁻¹ A D) D⁻¹. Sizes are logarithms of base 2, in which products of elements along a path through a matrix are sums.
"""

from __future__ import annotations

from functools import reduce
from typing import Final

from tensor_core.dtypes import Bool
from tensor_linalg.operands import some
from tensor_runtime.ops.arithmetic import abs, add, divide, multiply, subtract
from tensor_runtime.ops.comparison import equal, greater
from tensor_runtime.ops.creation import zeros
from tensor_runtime.ops.diagonals import extract_diagonal, eye
from tensor_runtime.ops.exponential import exp2, log2
from tensor_runtime.ops.reduction import max
from tensor_runtime.ops.rounding import round
from tensor_runtime.ops.selection import clip, maximum, minimum, where
from tensor_runtime.ops.views import expand_dims
from tensor_runtime.tensors.tensor import Tensor

ABSENT: Final = -(2.0**36)
"""In the place of the logarithm of 0, so far below all others that one of it in a cycle tells in the mean."""
ACYCLIC: Final = -(2.0**20)
"""Mean of a cycle below which it holds an element that is 0."""
_STEP: Final = 1000.0


def sizes(a: Tensor, /) -> Tensor:
    """Logarithms of the sizes of elements.

    >>> import tensor_runtime as tr
    >>> sizes(tr.tensor([0.0, -8.0])).tolist() == [ABSENT, 3.0]
    True
    """
    size = abs(a)
    absent = equal(size, 0.0)
    return where(absent, ABSENT, minimum(log2(where(absent, 1.0, size)), 1024.0))


def on_diagonal(a: Tensor, k: int = 0, /) -> Tensor:
    """Bool [N, N, 1...], true on a diagonal of matrices [N, N, B...].

    >>> import tensor_runtime as tr
    >>> on_diagonal(tr.ones((2, 2)), 1).tolist()
    [[False, True], [False, False]]
    """
    size = a.shape[0]
    return eye(size, size, k, dtype=Bool, placement=a.placement).reshape(size, size, *(1,) * (a.rank - 2))


def across_and_means(a: Tensor, /) -> tuple[Tensor, Tensor, Tensor]:
    """Sizes [N, N, B...] off the diagonal, their largest mean along a cycle [B...], and the largest on the diagonal.

    >>> import tensor_runtime as tr
    >>> across, mean, diagonal = across_and_means(tr.tensor([[1.0, 64.0], [1.0, 2.0]]))
    >>> across.tolist() == [[ABSENT, 6.0], [0.0, ABSENT]], mean.item(), diagonal.item()
    (True, 3.0, 1.0)
    """
    size = sizes(a)
    across = where(on_diagonal(a), ABSENT, size)
    return across, mean_of_cycles(across), max(extract_diagonal(size, axes=(0, 1)), -1)


def mean_of_cycles(w: Tensor, /) -> Tensor:
    """The largest mean [B...] of the weights [N, N, B...] along a cycle.

    Source: Karp, A characterization of the minimum cycle mean in a digraph, Discrete Math. 23 (1978), 309-311.

    >>> import tensor_runtime as tr
    >>> mean_of_cycles(tr.tensor([[-9.0, 6.0], [2.0, -9.0]])).item()
    4.0
    """
    count = w.shape[0]
    walks = [zeros(w.shape[1:], dtype=w.dtype, placement=w.placement)]
    for _ in range(count):
        walks.append(_longer(w, walks[-1]))
    means = (divide(subtract(walks[-1], walk), count - k) for k, walk in enumerate(walks[:-1]))
    return max(reduce(minimum, means), 0)


def potentials(w: Tensor, /) -> Tensor:
    """Whole numbers p, as few above 0 as will do, with w[i, j] + p[j] - p[i] ≤ 1; no cycle may have a mean above 0.

    Source: Bellman and Ford's longest paths.

    >>> import tensor_runtime as tr
    >>> potentials(tr.tensor([[0.0, 30.0], [-40.0, 0.0]])).tolist()
    [30.0, 0.0]
    """
    found = zeros(w.shape[1:], dtype=w.dtype, placement=w.placement)
    for _ in range(w.shape[0]):
        more = maximum(found, _longer(w, found))
        if not some(greater(more, found)):
            break
        found = more
    return round(found)


def _longer(w: Tensor, walk: Tensor) -> Tensor:
    return max(add(w, expand_dims(walk, 0)), 1)


def balancing_powers(a: Tensor, /) -> Tensor:
    """The powers [N, B...] of two that bring matrices down to the largest mean of a cycle, or to 1.

    >>> import tensor_runtime as tr
    >>> balancing_powers(tr.tensor([[1.0, 2.0**60], [0.0, -1.0]])).tolist()
    [60.0, 0.0]
    """
    weights = sizes(a)
    return potentials(subtract(weights, maximum(mean_of_cycles(weights), 0.0)))


def rescaled(a: Tensor, p: Tensor, sign: int = 1, /) -> Tensor:
    """D⁻¹ A D with D of the powers p [N, B...] of two; with -1 for the sign D A D⁻¹.

    >>> import tensor_runtime as tr
    >>> rescaled(tr.tensor([[1.0, 8.0], [0.5, 1.0]]), tr.tensor([2.0, 0.0])).tolist()
    [[1.0, 2.0], [2.0, 1.0]]
    """
    rest = subtract(expand_dims(p, 0), expand_dims(p, 1))
    rest = rest if sign > 0 else multiply(rest, -1.0)
    for _ in range(3):  # from one end of the range to beyond the other
        part = clip(rest, -_STEP, _STEP)
        a, rest = multiply(a, exp2(part)), subtract(rest, part)
    return a
