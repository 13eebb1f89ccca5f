"""Reductions over axes, with NumPy's ``axis`` and ``keepdims``.

``axis=None`` reduces over all axes, ``axis=()`` over none; negative axes count from the end; a duplicate is an error.
"""

from __future__ import annotations

from typing import Final

from tensor_core.dtypes import ALL, REAL, Bool
from tensor_core.errors import ArgumentError
from tensor_runtime.execute import execute_detail
from tensor_runtime.form import Shape
from tensor_runtime.rules import Axes, Reduction, accumulator, reduced, reduced_axes
from tensor_runtime.spec import OpSpec
from tensor_runtime.tensors import Tensor


def reduced_nonempty(operation: str, shape: Shape, detail: Reduction, /) -> Shape:
    """Shape after a reduction that is undefined for no elements.

    >>> reduced_nonempty("max", (2, 3), (0, True))
    (1, 3)
    """
    result = reduced(operation, shape, detail)
    axes = reduced_axes(operation, len(shape), detail[0])
    empty = [axis for axis in axes if shape[axis] == 0]
    if empty:
        raise ArgumentError(
            f"{operation}: shape {shape} has no element along axis {empty[0]}, and {operation} of nothing is "
            "undefined; reduce over axes of extent 1 or more",
            operation=operation,
            shape=shape,
        )
    return result


SUM: Final = OpSpec("sum", accepts=ALL, result_dtype=accumulator, result_shape=reduced, detailed=True)
MAX: Final = OpSpec("max", accepts=REAL | {Bool}, result_shape=reduced_nonempty, detailed=True)


def sum(a: Tensor, /, *, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """Sum over axes. Integers and Bool accumulate in I64, which wraps; floating types in their own.

    The order of the additions is the backend's, so the last bits may differ between backends and layouts.

    Args:
        a: any dtype.
        axis: one axis, a tuple of axes, None for all, () for none.
        keepdims: keep reduced axes with extent 1.

    Raises:
        AxisError: an axis out of range or named twice.

    >>> a = tensor([[1, 2], [3, 4]])
    >>> sum(a).item(), sum(a, axis=0).shape, sum(a, axis=-1, keepdims=True).shape
    (10, (2,), (2, 1))
    """
    return execute_detail(SUM, a, (axis if axis is None or type(axis) is int else _axes("sum", axis), bool(keepdims)))


def max(a: Tensor, /, *, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """Largest element over axes; NaN if there is one. Arguments as for :func:`sum`; complex numbers have no order.

    Raises:
        ArgumentError: a reduced axis has extent 0.
        AxisError: an axis out of range or named twice.

    >>> max(tensor([[1, 5], [3, 4]]), axis=0)
    Tensor(I64, (2,), column-major, cpu)
     3  5
    """
    return execute_detail(MAX, a, (axis if axis is None or type(axis) is int else _axes("max", axis), bool(keepdims)))


def _axes(operation: str, axis: object) -> Axes:
    """A hashable form of what the user wrote: an int, or a tuple of ints."""
    try:
        from operator import index

        if isinstance(axis, (tuple, list)):
            return tuple(index(one) for one in axis)
        return index(axis)  # type: ignore[arg-type]
    except TypeError:
        raise ArgumentError(
            f"{operation}: axis is {axis!r}; accepted: an int, a tuple of ints, or None", operation=operation
        ) from None
