"""Activations of neural networks.

Everything elementwise works in place on blocks of the result that stay in the cache, because each needs several
passes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import pi, sqrt
from typing import Final

import numpy as np

from tensor_cpu.kernel_table import Binder
from tensor_cpu.kernels.elementwise.blocks import blockwise
from tensor_cpu.kernels.elementwise.exponential import roots_of_gaussian
from tensor_cpu.kernels.params import taking_fields
from tensor_cpu.storage import NUMPY_DTYPES, Array, empty
from tensor_cpu.system.errstate import ignoring_fp_errors
from tensor_runtime.dispatch.dtype_rules import Axes, reduced_axes
from tensor_runtime.form import Form
from tensor_runtime.protocols import Kernel


def _sigmoid(x: Array) -> None:
    """1 / (1 + exp(-x)), as s = exp(-|x|) / (1 + exp(-|x|)) below 0 and 1 - s above.

    Nothing overflows, small results keep their bits, and 1 - s is at least a half. |1 - s| and |0 - s| need no branch.
    """
    above = np.greater_equal(x, 0).astype(x.dtype)
    np.exp(np.negative(np.abs(x, out=x), out=x), out=x)
    np.divide(x, x + 1, out=x)
    np.abs(np.subtract(above, x, out=x), out=x)


def _softplus(x: Array) -> None:
    """max(x, 0) + log(1 + exp(-|x|))."""
    above = np.maximum(x, 0)
    np.log1p(np.exp(np.negative(np.abs(x, out=x), out=x), out=x), out=x)
    np.add(x, above, out=x)


def _gate(x: Array, exponent: Array) -> None:
    """``x`` times the sigmoid of ``exponent`` in place, overwriting that.

    Below 0 the sigmoid is s²/(1 + s²) with s = exp(exponent / 2); ``x`` is multiplied by s once before and once after
    everything else, so that a subnormal result is rounded once. A factor of 0 stands for the limit at minus infinity.
    """
    factor = np.greater_equal(exponent, 0).astype(exponent.dtype)
    np.abs(exponent, out=exponent)
    np.exp(np.multiply(exponent, -0.5, out=exponent), out=exponent)
    np.maximum(factor, exponent, out=factor)  # a choice without a branch: s where the exponent is below 0, else 1
    np.multiply(np.maximum(x, np.finfo(x.dtype).min, out=x), factor, out=x)
    np.divide(x, np.add(np.square(exponent, out=exponent), 1, out=exponent), out=x)
    np.multiply(x, factor, out=x)


def _silu(x: Array) -> None:
    _gate(x, x.copy())


def _gelu_tanh(x: Array) -> None:
    """(1 + tanh(u)) / 2 is the sigmoid of 2 u, which loses nothing below 0."""
    twice = x * x
    twice *= 2 * sqrt(2 / pi) * 0.044715
    twice += 2 * sqrt(2 / pi)
    twice *= x
    _gate(x, twice)


def _gelu(x: Array) -> None:
    """x Φ(x); where Φ is small by the scaled error function, so that the square in the exponential is not rounded."""
    from scipy.special import erfcx, ndtr

    small = np.less(x, -2 if x.dtype.itemsize == 8 else -12)  # SciPy computes F32 in F64
    far = x[small].astype(np.float64)
    np.multiply(x, ndtr(x), out=x)
    if far.size:
        np.maximum(far, -40, out=far)  # where the result is -0.0
        root, rest = roots_of_gaussian(far, 0.25)
        x[small] = 0.5 * far * erfcx(far * -sqrt(0.5)) * rest * root * root


def _relu(x: Array) -> None:
    np.maximum(x, 0, out=x)


def bind_gelu(operands: tuple[Form], result: Form, approximate: str, /) -> Kernel:
    """x times the distribution function of the normal distribution, or its approximation."""
    return blockwise(_gelu if approximate == "none" else _gelu_tanh)(operands, result, None)


def _softmax(logarithm: bool) -> Callable[[tuple[Form], Form, Axes], Kernel]:
    def bind(operands: tuple[Form], result: Form, axis: Axes, /) -> Kernel:
        name = "log_softmax" if logarithm else "softmax"
        rank = result.rank
        axes = tuple(rank - 1 - position for position in reduced_axes(name, rank, axis))
        dtype = NUMPY_DTYPES[result.dtype]
        if result.size == 0:
            return lambda x: empty(result)

        def computed(x: Array) -> Array:
            out: Array = np.array(x, dtype, order="C", copy=True)
            np.subtract(out, out.max(axis=axes, keepdims=True), out=out)
            if logarithm:
                total = np.exp(out).sum(axis=axes, keepdims=True)
                np.subtract(out, np.log(total), out=out)
            else:
                np.exp(out, out=out)
                np.divide(out, out.sum(axis=axes, keepdims=True), out=out)
            return out

        return ignoring_fp_errors(computed)

    return bind


BINDERS: Final[Mapping[str, Binder]] = {
    "sigmoid": blockwise(_sigmoid),
    "silu": blockwise(_silu),
    "softplus": blockwise(_softplus),
    "relu": blockwise(_relu),
    "gelu": taking_fields(bind_gelu),
    "softmax": taking_fields(_softmax(False)),
    "log_softmax": taking_fields(_softmax(True)),
}
