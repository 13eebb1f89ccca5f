"""Reductions over axes, with NumPy's ``axis`` and ``keepdims``.

``axis=None`` reduces over all axes, ``axis=()`` over none; negative axes count from the end; a duplicate is an error.
``any`` and ``all`` of ``axis=()`` ask each element for itself. Results are owned, compact and column-major. The order
in which elements are combined is the backend's; ``tensor_runtime.ops.scan.fold`` has a stated one.

Docstrings bound the error, for every axis and layout, by eps, the distance from 1 to the next number (2⁻²³ in F32, 2⁻⁵²
in F64), and n, the number of elements that one result is made of; complex sums part by part. The bounds hold as long
as nothing overflows or is subnormal. Integer and Bool reductions are exact modulo 2⁶⁴.

Source: N. J. Higham, The accuracy of floating point summation, SIAM J. Sci. Comput. 14 (1993), 783-799.
"""

from __future__ import annotations

from typing import Final

from tensor_core.dtypes import ALL, REAL, Bool
from tensor_core.errors import ArgumentError
from tensor_core.shapes import Shape
from tensor_runtime.dispatch.arguments import as_axes, flag
from tensor_runtime.dispatch.call import execute_with_params
from tensor_runtime.dispatch.dtype_rules import Axes, Reduction, accumulator, boolean, reduced, reduced_axes
from tensor_runtime.dispatch.out import Out
from tensor_runtime.dispatch.spec import OpSpec
from tensor_runtime.static_types.results import accumulator_dtype, boolean_dtype, same_dtype_out
from tensor_runtime.tensors.tensor import Tensor


def reduced_nonempty(operation: str, shape: Shape, params: Reduction, /) -> Shape:
    """Shape after a reduction that is undefined for no elements.

    >>> reduced_nonempty("max", (2, 3), (0, True))
    (1, 3)
    """
    result = reduced(operation, shape, params)
    axes = reduced_axes(operation, len(shape), params[0])
    empty = [axis for axis in axes if shape[axis] == 0]
    if empty:
        raise ArgumentError(
            f"{operation}: shape {shape} has no element along axis {empty[0]}, and {operation} of nothing is "
            "undefined; reduce over axes of extent 1 or more",
            operation=operation,
            shape=shape,
        )
    return result


SUM: Final = OpSpec("sum", accepts=ALL, result_dtype=accumulator, result_shape=reduced, takes_params=True)
PROD: Final = OpSpec("prod", accepts=ALL, result_dtype=accumulator, result_shape=reduced, takes_params=True)
MAX: Final = OpSpec("max", accepts=REAL | {Bool}, result_shape=reduced_nonempty, takes_params=True)
MIN: Final = OpSpec("min", accepts=REAL | {Bool}, result_shape=reduced_nonempty, takes_params=True)
ANY: Final = OpSpec("any", accepts=ALL, result_dtype=boolean, result_shape=reduced, takes_params=True)
ALL_OF: Final = OpSpec("all", accepts=ALL, result_dtype=boolean, result_shape=reduced, takes_params=True)


@accumulator_dtype
def sum(a: Tensor, /, axis: Axes = None, *, keepdims: bool = False, out: Out = None) -> Tensor:
    """Sum over axes. Integers and Bool accumulate in I64, which wraps; floating types in their own.

    The order of the additions is the backend's, so the last bits may differ between backends and layouts; the error is
    at most (32 + log2 n) eps times the sum of |a|. The sum of nothing is 0.

    Args:
        a: any dtype.
        axis: one axis, a tuple of axes, None for all, () for none.
        keepdims: keep reduced axes with extent 1.
        out: a mutable view of the result's shape that receives it; see ``tensor_runtime.dispatch.out``.

    Raises:
        AxisError: an axis out of range or named twice.

    >>> a = tensor([[1, 2], [3, 4]])
    >>> sum(a).item(), sum(a, axis=0).shape, sum(a, axis=-1, keepdims=True).shape
    (10, (2,), (2, 1))
    """
    return execute_with_params(
        SUM,
        a,
        (axis if axis is None or type(axis) is int else as_axes("sum", axis), flag("sum", "keepdims", keepdims)),
        out,
    )


@accumulator_dtype
def prod(a: Tensor, /, axis: Axes = None, *, keepdims: bool = False, out: Out = None) -> Tensor:
    """Product over axes. Arguments, dtypes and errors as for :func:`sum`; the product of nothing is 1.

    The error is at most n eps times the product; of complex numbers 4 n eps times its magnitude.

    >>> prod(tensor([[1, 2], [3, 4]]), axis=0)
    Tensor(I64, (2,), column-major, cpu)
     3  8
    """
    return execute_with_params(PROD, a, (as_axes("prod", axis), flag("prod", "keepdims", keepdims)), out)


@same_dtype_out
def max(a: Tensor, /, axis: Axes = None, *, keepdims: bool = False, out: Out = None) -> Tensor:
    """Largest element over axes; NaN if there is one. Exact. Arguments as for :func:`sum`.

    Complex numbers have no order. Of zeros of either sign, either may be the result.

    Raises:
        ArgumentError: a reduced axis has extent 0.
        AxisError: an axis out of range or named twice.

    >>> max(tensor([[1, 5], [3, 4]]), axis=0)
    Tensor(I64, (2,), column-major, cpu)
     3  5
    """
    return execute_with_params(
        MAX,
        a,
        (axis if axis is None or type(axis) is int else as_axes("max", axis), flag("max", "keepdims", keepdims)),
        out,
    )


@same_dtype_out
def min(a: Tensor, /, axis: Axes = None, *, keepdims: bool = False, out: Out = None) -> Tensor:
    """Smallest element over axes; NaN if there is one. Exact. Arguments and errors as for :func:`max`.

    >>> min(tensor([[1, 5], [3, 4]]), axis=0)
    Tensor(I64, (2,), column-major, cpu)
     1  4
    """
    return execute_with_params(MIN, a, (as_axes("min", axis), flag("min", "keepdims", keepdims)), out)


@boolean_dtype
def any(a: Tensor, /, axis: Axes = None, *, keepdims: bool = False, out: Out = None) -> Tensor:
    """Whether an element differs from 0, over axes; NaN does. False of nothing.

    Args:
        a: any dtype; a complex number differs from 0 when either part does.
        axis: as for :func:`sum`.
        keepdims: keep reduced axes with extent 1.

    Returns:
        Bool.

    Raises:
        AxisError: an axis out of range or named twice.

    >>> any(tensor([[0, 0], [0, 3]]), axis=0)
    Tensor(Bool, (2,), column-major, cpu)
     False   True
    """
    return execute_with_params(ANY, a, (as_axes("any", axis), flag("any", "keepdims", keepdims)), out)


@boolean_dtype
def all(a: Tensor, /, axis: Axes = None, *, keepdims: bool = False, out: Out = None) -> Tensor:
    """Whether every element differs from 0, over axes; NaN does. True of nothing. As :func:`any` otherwise.

    >>> all(tensor([[0, 1], [2, 3]]), axis=0)
    Tensor(Bool, (2,), column-major, cpu)
     False   True
    """
    return execute_with_params(ALL_OF, a, (as_axes("all", axis), flag("all", "keepdims", keepdims)), out)
