"""Whether a system is so ill-conditioned that its solution may have no correct digit; asked for, never by default.

The condition number in the 1-norm is the product of two norms, of a matrix and of its inverse, of which the latter is
estimated from a few products with it: a few solutions with factors that are there already.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Final

from tensor_core.dtypes import I64, DType
from tensor_core.errors import ArgumentError
from tensor_core.shapes import Shape
from tensor_linalg.operands import first, some, unit_of
from tensor_runtime.dispatch.conversion import cast, convert
from tensor_runtime.errors import matrix_at
from tensor_runtime.ops.arithmetic import abs, add, divide, multiply, negative, sign
from tensor_runtime.ops.comparison import equal, greater, less_equal
from tensor_runtime.ops.creation import full
from tensor_runtime.ops.division import remainder
from tensor_runtime.ops.joining import concatenate
from tensor_runtime.ops.logic import logical_and, logical_not
from tensor_runtime.ops.ranges import arange
from tensor_runtime.ops.reduction import max, sum
from tensor_runtime.ops.rounding import isfinite
from tensor_runtime.ops.selection import maximum, where
from tensor_runtime.ops.statistics import argmax
from tensor_runtime.ops.views import broadcast_to, copy, reshape_view
from tensor_runtime.placement import Placement
from tensor_runtime.tensors.tensor import Tensor

Apply = Callable[[Tensor], Tensor]
"""From columns [N, K, B...] to their images under the matrices of a batch, or under their adjoints."""

_STEPS: Final = 2
"""Unit vectors that are tried one after the other; hardly ever does a further one raise the estimate."""


class IllConditionedWarning(RuntimeWarning):
    """A matrix is so close to a singular one that its inverse or a solution may have no correct digit."""


def refuse_with_mask(operation: str, condition: bool, /) -> None:
    """Raise an error where a warning is asked for beside a mask: a warning names one matrix, a mask all of them.

    Raises:
        ArgumentError: ``condition`` is true.

    >>> refuse_with_mask("solve", False)
    """
    if condition:
        raise ArgumentError(
            f"{operation}: condition=True and check='mask'; accepted: one of them, and cond() for each matrix",
            operation=operation,
        )


def warn_if_ill_conditioned(operation: str, norm: Tensor, norm_of_inverse: Tensor, depth: int = 4, /) -> None:
    """Warn where the condition number of a matrix, in the 1-norm, is above the reciprocal of a rounding unit.

    Args:
        operation: the name that the warning bears.
        norm: of the matrices, [B...], real.
        norm_of_inverse: of their inverses, or estimates.
        depth: how many calls below the user's line this is, counting his.

    >>> import tensor_runtime as tr
    >>> warn_if_ill_conditioned("solve", tr.ones(()), tr.ones(()))
    """
    condition = multiply(norm, norm_of_inverse)
    limit = 1 / unit_of(condition.dtype)
    bad = logical_not(less_equal(condition, limit))
    if not some(bad):
        return
    batch = first(bad)
    warnings.warn(
        f"{operation}: {matrix_at(batch)} has a condition number of about {condition[batch].item():.1e} in the "
        f"1-norm; beyond {limit:.1e} the result may have no correct digit; lstsq() and pinv() leave out small singular "
        "values",
        IllConditionedWarning,
        stacklevel=depth,
    )


def estimated_one_norm(
    apply: Apply, adjoint: Apply, size: int, batch: Shape, dtype: DType, placement: Placement, /
) -> Tensor:
    """A lower bound of the 1-norms of square matrices, hardly ever less than a third, from six images of vectors.

    Args:
        apply: images of columns under the matrices.
        adjoint: images of columns under their adjoints.
        size: N, at least 1.
        batch: of the matrices.
        dtype: of the columns.
        placement: of the columns.

    Returns:
        Shape [B...], real; infinity or NaN where an image is not finite.

    Source: W. W. Hager, SIAM J. Sci. Stat. Comput. 5 (1984), 311-316; N. J. Higham, ACM Trans. Math. Softw. 14 (1988),
    381-396, of which LAPACK's xLACN2 is the program.

    >>> import tensor_runtime as tr
    >>> from tensor_linalg import matmul, mH
    >>> a = tr.tensor([[1.0, -4.0], [2.0, 3.0]])
    >>> estimated_one_norm(lambda x: matmul(a, x), lambda x: matmul(mH(a), x), 2, (), tr.F64, tr.CPU).item()
    7.0
    """
    numbers = arange(size, dtype=I64, placement=placement)
    even = full((size,), 1 / size, dtype=dtype, placement=placement)
    # Images of one vector may vanish by symmetry: Higham's second one grows along the axes and alternates in sign.
    growing = add(cast(divide(numbers, size - 1 if size > 1 else 1), dtype.component), 1.0)
    odd = equal(remainder(numbers, 2), 1)
    alternating = convert(where(odd, negative(growing), growing), dtype)
    images = apply(copy(broadcast_to(_columns(even, alternating, batch), (size, 2, *batch))))
    sums = sum(abs(images), 0)
    estimate = maximum(sums[0], multiply(sums[1], 2 / (3 * size)))
    y = images[:, :1]
    for _ in range(_STEPS):
        turned = where(equal(y, 0.0), 1.0, sign(y))
        z = abs(adjoint(turned))
        unit = equal(reshape_view(numbers, (size, *(1,) * (z.rank - 1))), argmax(z, 0, keepdims=True))
        y = apply(convert(unit, dtype))
        estimate = maximum(estimate, sum(abs(y), 0)[0])
    return where(isfinite(estimate), estimate, float("inf"))


def _columns(first_one: Tensor, second: Tensor, batch: Shape) -> Tensor:
    size = first_one.shape[0]
    pair = concatenate([reshape_view(one, (size, 1)) for one in (first_one, second)], 1)
    return reshape_view(pair, (size, 2, *(1,) * len(batch)))


def scale_of(norm: Tensor, /) -> Tensor:
    """By what vectors are multiplied before systems are solved with them, so that images are near 1: [B...], positive.

    Without that, well-conditioned matrices near the limits of the range would have infinite images.

    >>> import tensor_runtime as tr
    >>> scale_of(tr.tensor([1e-310, 0.0])).tolist()
    [1e-310, 1.0]
    """
    return where(logical_and(greater(norm, 0.0), isfinite(norm)), norm, 1.0)


def one_norm(a: Tensor, /) -> Tensor:
    """Largest sum of the sizes of the elements of a column, [B...], of matrices [M, N, B...] with columns.

    >>> import tensor_runtime as tr
    >>> one_norm(tr.tensor([[1.0, 2.0], [3.0, -4.0]])).item()
    6.0
    """
    return max(sum(abs(a), 0), 0)
