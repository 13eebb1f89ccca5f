"""``layer_norm`` and ``rms_norm`` by means, norms and quotients; bounds as the public functions state them."""

from __future__ import annotations

from math import prod, sqrt

from tensor_runtime.contracts.reduction import NormalizeParams
from tensor_runtime.dispatch.conversion import convert
from tensor_runtime.dispatch.dtype_rules import Axes, inexact, reduced_axes
from tensor_runtime.ops.arithmetic import abs, divide, multiply, subtract
from tensor_runtime.ops.exponential import sqrt as root
from tensor_runtime.ops.reduction import max, sum
from tensor_runtime.ops.rounding import isinf
from tensor_runtime.ops.selection import maximum, where
from tensor_runtime.tensors.tensor import Tensor


def layer_norm(a: Tensor, params: NormalizeParams, /) -> Tensor:
    """The centred elements by :func:`rms_norm`, as the variance is the mean of their squares.

    >>> layer_norm(tensor([1.0, 3.0]), NormalizeParams(-1, 0.0)).to_numpy().tolist()
    [-1.0, 1.0]
    """
    x, axis = _floating(a), params.axis
    count = _count(x, axis)
    centred = subtract(x, divide(sum(x, axis, keepdims=True), float(count))) if count else x
    return rms_norm(centred, params)


def rms_norm(a: Tensor, params: NormalizeParams, /) -> Tensor:
    """Divided by the largest magnitude first, so that no square overflows; not by an infinity, as the mean is then.

    >>> rms_norm(tensor([1.0, 7.0]), NormalizeParams(-1, 0.0)).to_numpy().round(15).tolist()
    [0.2, 1.4]
    >>> rms_norm(tensor([float("inf"), 7.0]), NormalizeParams(-1, 0.0)).to_numpy().tolist()
    [nan, 0.0]
    """
    x, axis = _floating(a), params.axis
    count = _count(x, axis)
    if not x.size:
        return +x
    small = sqrt(params.epsilon)
    unit = maximum(max(abs(x), axis, keepdims=True), small)
    unit = maximum(unit, 1e-300 if x.dtype.itemsize == 8 else 1e-37)  # zeros alone, and no eps, give 0 / 0 below
    unit = where(isinf(unit), 1.0, unit)
    reduced = divide(x, unit)
    share = divide(small, unit)
    mean = divide(sum(multiply(reduced, reduced), axis, keepdims=True), float(count))
    return divide(reduced, root(mean + multiply(share, share)))


def _floating(a: Tensor) -> Tensor:
    """Integers and Bool in F64."""
    dtype = inexact(a.dtype)
    return a if a.dtype is dtype else convert(a, dtype)


def _count(a: Tensor, axis: Axes) -> int:
    return prod(a.shape[one] for one in reduced_axes("sum", a.rank, axis))
