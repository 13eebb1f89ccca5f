"""``gelu``, ``log_softmax``, ``relu``, ``sigmoid``, ``silu``, ``softmax`` and ``softplus`` by simpler operations.

Bounds are in rounding units of the result's dtype, and hold where exp, log1p, erfc and the sums that are called are
right to 2 units. Below, eps is one unit: 2⁻²³ in F32, 2⁻⁵² in F64.
"""

from __future__ import annotations

from math import pi, sqrt
from typing import Final

from tensor_core.dtypes import F32, F64, DType
from tensor_runtime.contracts.elementwise import GeluParams
from tensor_runtime.contracts.reduction import SoftmaxParams
from tensor_runtime.dispatch.conversion import convert
from tensor_runtime.dispatch.dtype_rules import Axes, inexact
from tensor_runtime.ops.arithmetic import abs, add, divide, multiply, negative, subtract
from tensor_runtime.ops.comparison import greater_equal
from tensor_runtime.ops.exponential import erfc, exp, log, log1p
from tensor_runtime.ops.reduction import max, sum
from tensor_runtime.ops.selection import maximum, minimum, where
from tensor_runtime.tensors.tensor import Tensor


def _halves(bits: int) -> tuple[float, float]:
    """√½ as the nearest number of so many bits, and what is left of it."""
    upper = round(sqrt(0.5) * 2**bits) / 2**bits
    return upper, (0.5 - upper * upper) / (sqrt(0.5) + upper)  # the difference of squares is exact


_FAR: Final = -1e4
"""Below this every weight is 0 in every dtype; a factor cut off here keeps minus infinity times 0 from being NaN."""

_CERTAIN: Final = 100.0
"""Beyond this the normal distribution function is 0 or 1 in every dtype."""
_SPLIT: Final[dict[DType, float]] = {F32: 2.0**12, F64: 2.0**27}
_HALVES: Final[dict[DType, tuple[float, float]]] = {dtype: _halves(bits) for dtype, bits in ((F32, 12), (F64, 26))}
"""√½ as a number of so few bits, and what is left of it."""


def sigmoid(a: Tensor, params: None, /) -> Tensor:
    """1 / (1 + exp(-a)) by the exponential of -|a|, which never overflows. Within 6 units.

    >>> sigmoid(tensor([0.0, float("-inf")]), None).to_numpy().tolist()
    [0.5, 0.0]
    """
    return _weighted(1.0, 1.0, _floating(a))


def silu(a: Tensor, params: None, /) -> Tensor:
    """a times its logistic weight, whose exponential is taken as a square so that it is subnormal last. Within 8 units.

    >>> silu(tensor([0.0, float("-inf")]), None).to_numpy().tolist()
    [0.0, -0.0]
    """
    x = _floating(a)
    return _weighted(x, maximum(x, _FAR), x)


def softplus(a: Tensor, params: None, /) -> Tensor:
    """max(a, 0) + log(1 + exp(-|a|)). Within 6 units.

    >>> softplus(tensor([1000.0, float("-inf")]), None).to_numpy().tolist()
    [1000.0, 0.0]
    """
    x = _floating(a)
    return add(maximum(x, 0.0), log1p(exp(negative(abs(x)))))


def gelu(a: Tensor, params: GeluParams, /) -> Tensor:
    """a Φ(a) by erfc, or by the logistic function, which (1 + tanh(u)) / 2 is.

    Within 8 units for "none", where what is lost by rounding the argument of erfc is added again, and 8 + 4 |u| units
    for "tanh"; where the weight is subnormal, |a| times the smallest number more.

    Source: T. J. Dekker, A floating-point technique for extending the available precision, Numer. Math. 18 (1971),
    224-242, for the product without rounding.

    >>> gelu(tensor([0.0, float("-inf")]), GeluParams("none")).to_numpy().tolist()
    [0.0, -0.0]
    """
    x = _floating(a)
    if params.approximate == "tanh":
        double = multiply(x, add(multiply(multiply(x, x), 2 * sqrt(2 / pi) * 0.044715), 2 * sqrt(2 / pi)))
        return _weighted(x, maximum(x, _FAR), double)
    return multiply(maximum(x, -_CERTAIN), _normal(x))


def relu(a: Tensor, params: None, /) -> Tensor:
    """The larger of a and 0. Exact.

    >>> relu(tensor([-2, 3]), None).to_numpy().tolist()
    [0, 3]
    """
    return maximum(a, 0)


def softmax(a: Tensor, params: SoftmaxParams, /) -> Tensor:
    """exp(a - m) divided by its sum, where m is the largest element along the axis.

    Within 8 + log2 n units of the largest element along the axis, of n elements.

    >>> softmax(tensor([1000.0, 1000.0]), SoftmaxParams(0)).to_numpy().tolist()
    [0.5, 0.5]
    """
    weights = exp(_below_largest(a, params.axis))
    return divide(weights, sum(weights, params.axis, keepdims=True))


def log_softmax(a: Tensor, params: SoftmaxParams, /) -> Tensor:
    """a - m - log(sum of exp(a - m)), where m is the largest element along the axis.

    Within 8 + log2 n units of the largest magnitude along the axis, of n elements.

    >>> log_softmax(tensor([0.0, 1000.0]), SoftmaxParams(0)).to_numpy().tolist()
    [-1000.0, 0.0]
    """
    lower = _below_largest(a, params.axis)
    return subtract(lower, log(sum(exp(lower), params.axis, keepdims=True)))


def _floating(a: Tensor) -> Tensor:
    """Integers and Bool in F64."""
    dtype = inexact(a.dtype)
    return a if a.dtype is dtype else convert(a, dtype)


def _below_largest(a: Tensor, axis: Axes) -> Tensor:
    x = _floating(a)
    return subtract(x, x if 0 in x.shape else max(x, axis, keepdims=True))  # there is no largest of no elements


def _normal(x: Tensor) -> Tensor:
    """Φ(x) = erfc(-x √½) / 2, with the rounding error d of the argument t made good by the slope: -d 2/√π exp(-t²)."""
    z = minimum(maximum(x, -_CERTAIN), _CERTAIN)
    t = multiply(z, -sqrt(0.5))
    stretched = multiply(z, _SPLIT[x.dtype] + 1.0)
    coarse = subtract(stretched, subtract(stretched, z))  # so few bits that its product with a half is exact
    upper, lower = _HALVES[x.dtype]
    rest = add(multiply(subtract(z, coarse), upper), multiply(z, lower))
    lost = subtract(subtract(multiply(coarse, -upper), t), rest)
    slope = multiply(exp(negative(multiply(t, t))), 2 / sqrt(pi))
    return multiply(subtract(erfc(t), multiply(lost, slope)), 0.5)


def _weighted(above: Tensor | float, below: Tensor | float, x: Tensor) -> Tensor:
    """``above / (1 + exp(-x))`` where x is 0 or more, ``below`` times that elsewhere; 1 + exp(-|x|) is the divisor."""
    half = exp(multiply(abs(x), -0.5))
    whole = multiply(half, half)
    small = whole if isinstance(below, float) else multiply(multiply(below, half), half)
    return divide(where(greater_equal(x, 0.0), above, small), add(whole, 1.0))
