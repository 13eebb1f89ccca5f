"""``mean``, ``var``, ``std`` and ``norm`` by sums, largest elements and powers.

The bounds are those that the public functions state, with the sums of the backend; eps and n as there. Where the dtype
is F32, everything is computed in it.
"""

from __future__ import annotations

from math import inf, prod
from typing import Final

from tensor_runtime.contracts.reduction import NormParams, ReduceParams, SpreadParams
from tensor_runtime.dispatch.conversion import cast, convert
from tensor_runtime.dispatch.dtype_rules import Axes, inexact, reduced_axes
from tensor_runtime.ops.arithmetic import abs, add, divide, multiply, pow, subtract
from tensor_runtime.ops.comparison import greater, not_equal
from tensor_runtime.ops.complex_parts import complex, imag, real
from tensor_runtime.ops.exponential import sqrt
from tensor_runtime.ops.logic import logical_and
from tensor_runtime.ops.reduction import max, min, sum
from tensor_runtime.ops.rounding import isfinite
from tensor_runtime.ops.selection import where
from tensor_runtime.ops.views import squeeze
from tensor_runtime.tensors.tensor import Tensor

_LARGEST_ORDER: Final = 1e30
"""Beyond this an order of a norm is as good as infinite in every dtype, and its reciprocal may be 0."""


def mean(a: Tensor, params: ReduceParams, /) -> Tensor:
    """The sum divided by the number of elements, part by part; within (34 + log2 n) eps of the mean of |a|.

    >>> mean(tensor([1, 2]), ReduceParams(None, False)).item()
    1.5
    """
    axis, keepdims = params
    return _divided(sum(_floating(a), axis, keepdims=keepdims), float(_count(a, axis)))


def var(a: Tensor, params: SpreadParams, /) -> Tensor:
    """The mean of |a - mean(a)|², in two passes; within the bound of the public function, in the operand's dtype.

    >>> var(tensor([1.0, 3.0]), SpreadParams(None, False, 0.0)).item()
    1.0
    """
    axis, keepdims, correction = params
    x = _floating(a)
    away = subtract(x, mean(x, ReduceParams(axis, True)))
    left = _count(a, axis) - correction
    return divide(sum(_squares(away), axis, keepdims=keepdims), left if left > 0 else 0.0)


def std(a: Tensor, params: SpreadParams, /) -> Tensor:
    """The square root of :func:`var`; one rounding more.

    >>> std(tensor([1.0, 5.0]), SpreadParams(None, False, 0.0)).item()
    2.0
    """
    return sqrt(var(a, params))


def norm(a: Tensor, params: NormParams, /) -> Tensor:
    """By sums of powers of |a| divided by its largest element (smallest for negative orders), so nothing overflows.

    Within the bounds of the public function and 4 eps more, as long as n**(1/|p|) does not overflow.

    >>> norm(tensor([1e300, 0.0]), NormParams(None, False, 2.0)).item()
    1e+300
    """
    axis, keepdims, order = params
    if order == 0:
        return cast(sum(not_equal(a, 0), axis, keepdims=keepdims), inexact(a.dtype).component)
    x = _floating(a)
    size = abs(x)
    empty = _count(a, axis) == 0
    if order > _LARGEST_ORDER or (order < -_LARGEST_ORDER and not empty):
        order = inf if order > 0 else -inf
    if order == 1 or (order == inf and empty):
        return sum(size, axis, keepdims=keepdims)
    if order in (inf, -inf):
        return (max if order > 0 else min)(size, axis, keepdims=keepdims)
    if empty:
        return pow(sum(size, axis, keepdims=keepdims), 1 / order)
    most = (max if order > 0 else min)(size, axis, keepdims=True)
    unit = where(logical_and(greater(most, 0.0), isfinite(most)), most, 1.0)
    if order == 2:
        root = sqrt(sum(_squares(_divided(x, unit)), axis, keepdims=True))
    else:
        root = pow(sum(pow(divide(size, unit), order), axis, keepdims=True), 1 / order)
    whole = multiply(root, unit)
    return whole if keepdims else squeeze(whole, reduced_axes("norm", whole.rank, axis))


def _squares(x: Tensor) -> Tensor:
    """|x|², by the parts of complex numbers: NaN where one of them is, though |x| is infinite where the other is."""
    if x.dtype.kind == "complex":
        return add(multiply(real(x), real(x)), multiply(imag(x), imag(x)))
    return multiply(x, x)


def _floating(a: Tensor) -> Tensor:
    """Integers and Bool in F64."""
    dtype = inexact(a.dtype)
    return a if a.dtype is dtype else convert(a, dtype)


def _count(a: Tensor, axis: Axes) -> int:
    """Elements that one result is made of."""
    return prod(a.shape[one] for one in reduced_axes("sum", a.rank, axis))


def _divided(x: Tensor, number: Tensor | float) -> Tensor:
    """Both parts of a complex number on their own, so that an infinite one leaves the other alone."""
    if x.dtype.kind == "complex":
        return complex(divide(real(x), number), divide(imag(x), number))
    return divide(x, number)
