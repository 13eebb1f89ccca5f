"""Whether a system is so ill-conditioned that its solution may have no correct digit; asked for, never by default."""

from __future__ import annotations

import warnings

from tensor_linalg.operands import first, holds, unit_of
from tensor_runtime.ops.arithmetic import abs, multiply
from tensor_runtime.ops.comparison import greater
from tensor_runtime.ops.reduction import any, max, sum
from tensor_runtime.tensors.tensor import Tensor


class IllConditionedWarning(RuntimeWarning):
    """A matrix is so close to a singular one that its inverse or a solution may have no correct digit."""


def warn_if_ill_conditioned(operation: str, a: Tensor, inverse: Tensor, /) -> None:
    """Warn where the condition number of a matrix, in the 1-norm, is above the reciprocal of a rounding unit.

    Args:
        operation: the name that the warning bears.
        a: shape [N, N, B...], floating.
        inverse: the inverses.

    >>> import tensor_runtime as tr
    >>> warn_if_ill_conditioned("solve", tr.eye(2), tr.eye(2))
    """
    if 0 in a.shape:
        return
    condition = multiply(one_norm(a), one_norm(inverse))
    limit = 1 / unit_of(condition.dtype)
    bad = greater(condition, limit)
    if not holds(any(bad)):
        return
    batch = first(bad)
    where = f" at batch index {batch}" if batch else ""
    warnings.warn(
        f"{operation}: the matrix{where} has a condition number of about {condition[batch].item():.1e} in the 1-norm; "
        f"beyond {limit:.1e} the result may have no correct digit; lstsq() and pinv() leave out small singular values",
        IllConditionedWarning,
        stacklevel=3,
    )


def one_norm(a: Tensor, /) -> Tensor:
    """Largest sum of the sizes of the elements of a column, [B...], of matrices [M, N, B...] with columns.

    >>> import tensor_runtime as tr
    >>> one_norm(tr.tensor([[1.0, 2.0], [3.0, -4.0]])).item()
    6.0
    """
    return max(sum(abs(a), 0), 0)
