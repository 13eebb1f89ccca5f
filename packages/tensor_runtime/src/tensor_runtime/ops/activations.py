"""Activation functions, in formulations that neither overflow nor cancel.

Real operands only; integers and Bool are computed in F64 (``relu`` keeps integers). NaN stays NaN, and at the
infinities each function has its limit. Results are owned, compact and column-major, within 8 rounding units of the
exact value, also where that is subnormal; those of the softmax functions relative to the largest element along the
axis.
"""

from __future__ import annotations

from typing import Final

from tensor_core.dtypes import REAL, Bool
from tensor_core.shapes import Shape
from tensor_runtime.backends.kernel_facts import ELEMENTWISE
from tensor_runtime.dispatch.arguments import choice, whole, wholes
from tensor_runtime.dispatch.call import execute_unary, execute_with_params
from tensor_runtime.dispatch.dtype_rules import Axes, inexact, reduced_axes
from tensor_runtime.dispatch.out import Out
from tensor_runtime.dispatch.spec import ElementwiseSpec, OpSpec
from tensor_runtime.static_types.results import inexact_dtype, same_dtype_out
from tensor_runtime.tensors.tensor import Tensor


def _shape_along(operation: str, shape: Shape, axis: Axes, /) -> Shape:
    reduced_axes(operation, len(shape), axis)
    return shape


def _same_shape_any(operation: str, shape: Shape, option: object, /) -> Shape:
    return shape


_INPUTS: Final = REAL | {Bool}

SIGMOID: Final = ElementwiseSpec("sigmoid", accepts=_INPUTS, result_dtype=inexact)
SILU: Final = ElementwiseSpec("silu", accepts=_INPUTS, result_dtype=inexact)
SOFTPLUS: Final = ElementwiseSpec("softplus", accepts=_INPUTS, result_dtype=inexact)
GELU: Final = OpSpec(
    "gelu", accepts=_INPUTS, result_dtype=inexact, result_shape=_same_shape_any, takes_params=True, facts=ELEMENTWISE
)
RELU: Final = ElementwiseSpec("relu", accepts=REAL)
SOFTMAX: Final = OpSpec("softmax", accepts=_INPUTS, result_dtype=inexact, result_shape=_shape_along, takes_params=True)
LOG_SOFTMAX: Final = OpSpec(
    "log_softmax", accepts=_INPUTS, result_dtype=inexact, result_shape=_shape_along, takes_params=True
)


@inexact_dtype
def sigmoid(a: Tensor, /, out: Out = None) -> Tensor:
    """1 / (1 + exp(-a)), the logistic function; accurate where it is small.

    >>> sigmoid(tensor([0.0, float("-inf")]))
    Tensor(F64, (2,), column-major, cpu)
     0.5  0.0
    """
    return execute_unary(SIGMOID, a, out)


@inexact_dtype
def silu(a: Tensor, /, out: Out = None) -> Tensor:
    """a * sigmoid(a), also called swish; -0.0 at minus infinity.

    >>> silu(tensor([0.0, float("inf")]))
    Tensor(F64, (2,), column-major, cpu)
     0.0  inf
    """
    return execute_unary(SILU, a, out)


@inexact_dtype
def softplus(a: Tensor, /, out: Out = None) -> Tensor:
    """log(1 + exp(a)), a smooth ``relu``; accurate where it is small.

    >>> softplus(tensor([0.0, 1000.0]))
    Tensor(F64, (2,), column-major, cpu)
     0.69314718      1000.0
    """
    return execute_unary(SOFTPLUS, a, out)


@inexact_dtype
def gelu(a: Tensor, /, *, approximate: str = "none", out: Out = None) -> Tensor:
    """a * Φ(a), where Φ is the distribution function of the standard normal distribution; -0.0 at minus infinity.

    Args:
        a: real or Bool.
        approximate: "none" for Φ itself, by the error function; "tanh" for (1 + tanh(√(2/π) (a + 0.044715 a³))) / 2,
            which differs by up to 5e-4. Where its argument u is negative, rounding that costs up to 4 |u| units more.

    Raises:
        ArgumentError: another approximation.

    Source: D. Hendrycks and K. Gimpel, Gaussian Error Linear Units, arXiv:1606.08415.

    >>> gelu(tensor([0.0, 1.0]))
    Tensor(F64, (2,), column-major, cpu)
            0.0  0.84134475
    """
    return execute_with_params(GELU, a, choice("gelu", "approximate", approximate, ("none", "tanh")), out)


@same_dtype_out
def relu(a: Tensor, /, out: Out = None) -> Tensor:
    """The element if it is positive, else 0; NaN stays, and a zero may have either sign. Keeps the dtype; not for Bool.

    >>> relu(tensor([-2, 3]))
    Tensor(I64, (2,), column-major, cpu)
     0  3
    """
    return execute_unary(RELU, a, out)


@inexact_dtype
def softmax(a: Tensor, /, axis: Axes = -1, *, out: Out = None) -> Tensor:
    """exp(a) divided by its sum along an axis; computed from a minus its maximum, so nothing overflows.

    A line with NaN or plus infinity, or of minus infinities alone, gives NaN.

    Args:
        a: real or Bool.
        axis: one axis, a tuple of axes, or None for all of them together.

    Raises:
        AxisError: an axis out of range or named twice; rank 0 has no last one.

    >>> softmax(tensor([1000.0, 1000.0, float("-inf")]))
    Tensor(F64, (3,), column-major, cpu)
     0.5  0.5  0.0
    """
    return execute_with_params(SOFTMAX, a, _axis("softmax", axis), out)


@inexact_dtype
def log_softmax(a: Tensor, /, axis: Axes = -1, *, out: Out = None) -> Tensor:
    """Logarithm of :func:`softmax`, accurate where that is small. Arguments and errors as there.

    >>> log_softmax(tensor([0.0, 1000.0]))
    Tensor(F64, (2,), column-major, cpu)
     -1000.0      0.0
    """
    return execute_with_params(LOG_SOFTMAX, a, _axis("log_softmax", axis), out)


def _axis(operation: str, axis: object) -> int | tuple[int, ...] | None:
    if axis is None or type(axis) is int:
        return axis
    return wholes(operation, "axes", axis) if isinstance(axis, (tuple, list)) else whole(operation, "axis", axis)
