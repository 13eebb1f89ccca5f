"""``rtol=``: below which share of the largest value others count as zero, one for all matrices or one for each."""

from __future__ import annotations

from typing import Any, Final

from tensor_core.dtypes import DType
from tensor_core.errors import ArgumentError, DTypeError, ShapeError
from tensor_core.shapes import Shape
from tensor_linalg.operands import floating, number, some, unit_of
from tensor_linalg.specs.shapes import matrix_axes
from tensor_runtime.dispatch.call import execute_with_params
from tensor_runtime.dispatch.conversion import cast
from tensor_runtime.ops.arithmetic import multiply
from tensor_runtime.ops.comparison import greater, greater_equal
from tensor_runtime.ops.logic import logical_and, logical_not
from tensor_runtime.ops.reduction import MAX
from tensor_runtime.ops.rounding import isfinite
from tensor_runtime.ops.selection import minimum
from tensor_runtime.ops.views import expand_dims
from tensor_runtime.tensors.tensor import Tensor

_ALL: Final = 2
"""Times the largest value, below which all are; larger tolerances mean the same."""

_FIRST_AXIS: Final = (0, False)


def counted(operation: str, sizes: Tensor, sides: tuple[int, int], rtol: float | Tensor | None) -> Tensor:
    """Which singular values [K, B...] count: those above ``rtol`` times the largest, Bool.

    >>> import tensor_runtime as tr
    >>> counted("pinv", tr.tensor([1.0, 1e-20]), (2, 2), None).to_numpy().tolist()
    [True, False]
    """
    tolerance = relative_tolerance(operation, sizes.shape[1:], sizes.dtype, sides, rtol)
    return greater(sizes, multiply(execute_with_params(MAX, sizes, _FIRST_AXIS), tolerance))


def relative_tolerance(
    operation: str, batch: Shape, dtype: DType, sides: tuple[int, int], rtol: float | Tensor | None, /
) -> float | Tensor:
    """The tolerance given, a number or one for each matrix [B...], or the larger side times the dtype's rounding unit.

    Raises:
        ArgumentError: a number that is negative or not finite, or no number.
        ShapeError, DTypeError: a tensor of another shape than [] and [B...], or of complex or truth values.

    >>> from tensor_core import F64
    >>> relative_tolerance("pinv", (), F64, (3, 4), None) == 4 * 2.0**-52
    True
    """
    if rtol is None:
        return sorted(sides)[1] * unit_of(dtype)
    if isinstance(rtol, Tensor):
        return _tolerance_of_each(operation, batch, dtype, rtol)
    return number(operation, "rtol", rtol, "None, a number from 0 on, or a tensor")


def tolerances(operation: str, a: Tensor, rtol: Any, /) -> Tensor | None:
    """Tolerances of each matrix as what runs on parts of a batch takes them, [1, 1, B...]; None for one number.

    >>> import tensor_runtime as tr
    >>> tolerances("pinv", tr.ones((2, 2, 3)), tr.full(3, 1e-8)).shape, tolerances("pinv", tr.ones((2, 2)), None)
    ((1, 1, 3), None)
    """
    if not isinstance(rtol, Tensor):
        return None
    floating(operation, a)
    return expand_dims(_tolerance_of_each(operation, matrix_axes(operation, a.shape)[2], a.dtype, rtol), (0, 1))


def _tolerance_of_each(operation: str, batch: Shape, dtype: DType, rtol: Tensor) -> Tensor:
    if rtol.shape not in ((), batch):
        raise ShapeError(
            f"{operation}: rtol of shape {rtol.shape}; accepted: a number, or one for each matrix, shape {batch}",
            operation=operation,
            shape=rtol.shape,
        )
    if rtol.dtype.kind not in ("float", "int"):
        raise DTypeError(f"{operation}: rtol is {rtol.dtype.name}; accepted: F32, F64, I32, I64", operation=operation)
    if some(logical_not(logical_and(greater_equal(rtol, 0), isfinite(rtol)))):
        raise ArgumentError(
            f"{operation}: rtol holds a number that is negative or not finite; accepted: numbers from 0 on",
            operation=operation,
        )
    return cast(minimum(rtol, _ALL), dtype.component)  # within its range, as what is not would be no tolerance
