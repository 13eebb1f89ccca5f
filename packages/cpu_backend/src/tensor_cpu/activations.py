"""Activations, error functions and rounding: what no row of an array namespace computes by itself.

Everything elementwise works in place on blocks of the result that stay in the cache, because each needs several
passes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import pi, sqrt
from typing import Any, Final

import numpy as np

from tensor_core.dtypes import FLOATING
from tensor_cpu.arrays import NUMPY_DTYPES, Array, empty
from tensor_cpu.elementwise import UNARY, bind_function
from tensor_cpu.quiet import quiet
from tensor_cpu.rows import Binder
from tensor_runtime.form import Form
from tensor_runtime.protocols import Kernel
from tensor_runtime.rules import Axes, reduced_axes

BLOCK: Final = 1 << 14
"""Elements per block."""


def _blockwise(change: Callable[[Array], None]) -> Binder:
    """The binder of a function that ``change`` computes in place on a vector."""

    def bind(operands: tuple[Form], result: Form, detail: Any, /) -> Kernel:
        dtype = NUMPY_DTYPES[result.dtype]

        def computed(x: Array) -> Array:
            out = np.array(x, dtype, order="C", copy=True)
            flat = out.reshape(-1)
            for start in range(0, flat.size, BLOCK):
                change(flat[start : start + BLOCK])
            return out

        return quiet(computed)

    return bind


def _rsqrt(x: Array) -> None:
    np.reciprocal(np.sqrt(x, out=x), out=x)


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


def _gate(x: Array, factor: Array) -> None:
    """``x * factor`` in place, where a factor of 0 stands for the limit at minus infinity."""
    np.multiply(np.maximum(x, np.finfo(x.dtype).min), factor, out=x)


def _silu(x: Array) -> None:
    factor = x.copy()
    _sigmoid(factor)
    _gate(x, factor)


def _gelu_tanh(x: Array) -> None:
    """(1 + tanh(u)) / 2 is the sigmoid of 2 u, which loses nothing below 0."""
    factor = x * x
    factor *= 2 * sqrt(2 / pi) * 0.044715
    factor += 2 * sqrt(2 / pi)
    factor *= x
    _sigmoid(factor)
    _gate(x, factor)


def _gelu(x: Array) -> None:
    from scipy.special import ndtr

    _gate(x, ndtr(x))


def _relu(x: Array) -> None:
    np.maximum(x, 0, out=x)


def bind_gelu(operands: tuple[Form], result: Form, approximate: str, /) -> Kernel:
    """x times the distribution function of the normal distribution, or its approximation."""
    return _blockwise(_gelu if approximate == "none" else _gelu_tanh)(operands, result, None)


def _special(name: str) -> Binder:
    """A ufunc of SciPy, which is loaded when it is first needed."""

    def bind(operands: tuple[Form], result: Form, detail: Any, /) -> Kernel:
        import scipy.special

        return bind_function(getattr(scipy.special, name), operands[0], result)

    return bind


def _rounding(name: str) -> Binder:
    """Integers and Bool are whole already."""

    def bind(operands: tuple[Form], result: Form, detail: Any, /) -> Kernel:
        if result.dtype not in FLOATING:
            return lambda x: x.copy(order="C")
        return bind_function(UNARY[name], operands[0], result)

    return bind


def _softmax(logarithm: bool) -> Binder:
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

        return quiet(computed)

    return bind


BINDERS: Final[Mapping[str, Binder]] = {
    "rsqrt": _blockwise(_rsqrt),
    "sigmoid": _blockwise(_sigmoid),
    "silu": _blockwise(_silu),
    "softplus": _blockwise(_softplus),
    "relu": _blockwise(_relu),
    "gelu": bind_gelu,
    "softmax": _softmax(False),
    "log_softmax": _softmax(True),
    "erf": _special("erf"),
    "erfc": _special("erfc"),
    **{name: _rounding(name) for name in ("floor", "ceil", "round", "trunc")},
}
