"""Normalisation of activations over axes: ``layer_norm`` and ``rms_norm``.

Real operands; integers and Bool are computed in F64. Results are owned, compact and column-major.
"""

from __future__ import annotations

from math import isfinite
from typing import Any, Final

from tensor_core.dtypes import REAL, Bool
from tensor_core.errors import ArgumentError, shortened
from tensor_core.foreign import number_of
from tensor_core.shapes import Shape
from tensor_runtime.dispatch.arguments import as_axes
from tensor_runtime.dispatch.call import execute_with_params
from tensor_runtime.dispatch.dtype_rules import Axes, inexact, reduced_axes
from tensor_runtime.dispatch.out import Out, written
from tensor_runtime.dispatch.spec import OpSpec
from tensor_runtime.ops.arithmetic import add, multiply
from tensor_runtime.static_types.results import inexact_dtype
from tensor_runtime.tensors.tensor import Number, Tensor


def _same_shape(operation: str, shape: Shape, params: tuple[Axes, float], /) -> Shape:
    reduced_axes(operation, len(shape), params[0])
    return shape


_INPUTS: Final = REAL | {Bool}
LAYER_NORM: Final = OpSpec(
    "layer_norm", accepts=_INPUTS, result_dtype=inexact, result_shape=_same_shape, takes_params=True
)
RMS_NORM: Final = OpSpec("rms_norm", accepts=_INPUTS, result_dtype=inexact, result_shape=_same_shape, takes_params=True)


@inexact_dtype
def layer_norm(
    a: Tensor,
    /,
    axis: Axes = -1,
    *,
    weight: Tensor | Number | None = None,
    bias: Tensor | Number | None = None,
    eps: float = 1e-5,
    out: Out = None,
) -> Tensor:
    """(a - mean) / sqrt(variance + eps) over axes, times ``weight``, plus ``bias``.

    The error of the quotient is at most (64 + log2 n) rounding units of (abs(a) + mean(abs(a))) / sqrt(variance + eps),
    of n elements along the axes.

    Args:
        a: any dtype but a complex one.
        axis: one axis, a tuple of axes, or None for all.
        weight: broadcasts with ``a``.
        bias: likewise.
        eps: a number of 0 or more; keeps what is constant from being divided by 0.
        out: a mutable view or an owned tensor that receives the result.

    Returns:
        The dtype of ``a``, F64 for integers and Bool; promoted with those of ``weight`` and ``bias``.

    Raises:
        AxisError: an axis out of range or named twice.
        ArgumentError: ``eps`` is no such number.
        DTypeError: a complex operand.

    Source: Ba, Kiros and Hinton, Layer normalization, arXiv:1607.06450.

    >>> layer_norm(tensor([[1.0, 3.0], [5.0, 5.0]]), eps=0.0, bias=1.0)[0].to_numpy().tolist()
    [0.0, 2.0]
    """
    return _scaled(
        "layer_norm", execute_with_params(LAYER_NORM, a, _params("layer_norm", axis, eps)), weight, bias, out, a
    )


@inexact_dtype
def rms_norm(
    a: Tensor, /, axis: Axes = -1, *, weight: Tensor | Number | None = None, eps: float = 1e-6, out: Out = None
) -> Tensor:
    """a / sqrt(mean(a²) + eps) over axes, times ``weight``; no square overflows. Arguments as for :func:`layer_norm`.

    The error is at most (64 + log2 n) rounding units of the result.

    Source: Zhang and Sennrich, Root mean square layer normalization, arXiv:1910.07467.

    >>> rms_norm(tensor([[4.0, -4.0], [0.0, 0.0]])).to_numpy().round(6).tolist()
    [[1.0, -1.0], [0.0, 0.0]]
    """
    return _scaled("rms_norm", execute_with_params(RMS_NORM, a, _params("rms_norm", axis, eps)), weight, None, out, a)


def _scaled(operation: str, x: Tensor, weight: Any, bias: Any, out: Out, a: Tensor) -> Tensor:
    if weight is not None:
        x = multiply(x, weight)
    if bias is not None:
        x = add(x, bias)
    return x if out is None else written(operation, out, x, a)


def _params(operation: str, axis: Any, eps: Any) -> tuple[Axes, float]:
    number = number_of(eps)
    if type(number) not in (int, float) or not isfinite(number) or number < 0:  # type: ignore[arg-type, operator]
        raise ArgumentError(
            f"{operation}: eps is {shortened(eps)}; accepted: a finite number of 0 or more", operation=operation
        )
    return as_axes(operation, axis), float(number)  # type: ignore[arg-type]
