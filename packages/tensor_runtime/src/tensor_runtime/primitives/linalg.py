"""Strict linear algebra: what substitution solves."""

from __future__ import annotations

from typing import Any, Final

from tensor_core.dtypes import FLOATING
from tensor_core.errors import ShapeError
from tensor_core.shapes import Shape
from tensor_runtime.dispatch.arguments import flag
from tensor_runtime.dispatch.call import execute_pair
from tensor_runtime.primitives.strict import StrictSpec
from tensor_runtime.tensors.tensor import Tensor


def _solution(operation: str, a: Shape, b: Shape, params: Any) -> Shape:
    if len(a) < 2 or len(b) < 2 or a[0] != a[1] or b[0] != a[0] or a[2:] != b[2:]:
        raise ShapeError(
            f"primitives.{operation}: shapes {a} and {b}; accepted: (M, M, B...) and (M, K, B...)",
            operation=operation,
            shapes=(a, b),
        )
    return b


_TRIANGULAR_SOLVE: Final = StrictSpec("triangular_solve", accepts=FLOATING, result_shape=_solution, takes_params=True)


def triangular_solve(
    a: Tensor, b: Tensor, /, *, lower: bool, transpose: bool, conjugate: bool, unit_diagonal: bool
) -> Tensor:
    """X in op(A) X = B by substitution, where op may transpose and conjugate; one triangle of A is read.

    Nothing is checked: a zero on the diagonal gives infinities or NaN, as IEEE 754 says.

    Args:
        a: shape [M, M, B...], F32, F64, C32 or C64.
        b: shape [M, K, B...], the dtype and batch axes of ``a``.
        lower: whether A is lower triangular; the other triangle is not read.
        transpose: whether op transposes A, which ``lower`` describes before.
        conjugate: whether op conjugates A; for real numbers it changes nothing.
        unit_diagonal: whether the diagonal is taken to be ones, and not read.

    Returns:
        An owned tensor of the shape of ``b``. Each column solves a system whose matrix differs from A by at most M
        rounding units of each of its elements.

    Raises:
        ShapeError: other shapes.
        DTypeError: the dtypes differ or are not floating.
        PlacementError: the operands live in different places.

    Source: the operation ``triangular_solve`` of StableHLO; the bound is that of N. J. Higham, Accuracy and Stability
    of Numerical Algorithms, 2nd ed., SIAM 2002, theorem 8.5.

    >>> options = {"lower": True, "transpose": False, "conjugate": False, "unit_diagonal": False}
    >>> triangular_solve(tensor([[2.0, 7.0], [1.0, 4.0]]), tensor([[2.0], [9.0]]), **options).to_numpy().tolist()
    [[1.0], [2.0]]
    """
    given = {"lower": lower, "transpose": transpose, "conjugate": conjugate, "unit_diagonal": unit_diagonal}
    params = tuple(flag("triangular_solve", name, value) for name, value in given.items())
    return execute_pair(_TRIANGULAR_SOLVE, a, b, params)
