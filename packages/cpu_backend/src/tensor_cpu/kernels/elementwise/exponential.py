"""Exponentials, logarithms, roots and error functions that no row of an array namespace computes by itself.

Native kernels: the elementwise machine (csrc/elementwise).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from tensor_core.dtypes import COMPLEX
from tensor_cpu.kernel_table import Binder
from tensor_cpu.kernels.elementwise.blocks import blockwise
from tensor_cpu.kernels.elementwise.numpy import UNARY, bind_function
from tensor_cpu.storage import Array
from tensor_runtime.backends.xp_tables import complex_functions
from tensor_runtime.form import Form
from tensor_runtime.protocols import Kernel


def _rsqrt(x: Array) -> None:
    np.reciprocal(np.sqrt(x, out=x), out=x)


def roots_of_gaussian(x: Array, factor: float) -> tuple[Array, Array]:
    """Two numbers, r and s, with r² s = exp(-2 factor x²): neither leaves the range, and no exponent is rounded.

    x is split into 24 bits, whose square is exact, and the rest.

    >>> r, s = roots_of_gaussian(np.array([1.5]), 0.5)
    >>> (r * r * s).round(12).item(), np.exp(-(1.5**2)).round(12).item()
    (0.105399224562, 0.105399224562)
    """
    high = x.astype(np.float32).astype(np.float64)
    return np.exp(-factor * high * high), np.exp(-2 * factor * (x - high) * (x + high))


def _erfc(x: Array) -> None:
    """SciPy's near 0; in the tail, where that rounds the square in the exponential, by the scaled error function."""
    from scipy.special import erfc, erfcx

    tail = np.greater(x, 1.5)
    far = x[tail].astype(np.float64)
    erfc(x, out=x)
    if far.size:
        np.minimum(far, 28, out=far)  # where the result is 0
        root, rest = roots_of_gaussian(far, 0.5)
        x[tail] = erfcx(far) * rest * root * root


def _of_complex(function: Callable[[Any, Array], Array], name: str) -> Binder:
    """A function whose complex version is ours."""

    def change(z: Array) -> None:
        z[...] = function(np, z)

    blocks = blockwise(change)

    def bind(operands: tuple[Form], result: Form, params: None, /) -> Kernel:
        if result.dtype in COMPLEX:
            return blocks(operands, result, params)
        return bind_function(UNARY[name], operands[0], result)

    return bind


def _special(name: str) -> Binder:
    """A ufunc of SciPy, which is loaded when it is first needed."""

    def bind(operands: tuple[Form], result: Form, params: None, /) -> Kernel:
        import scipy.special

        return bind_function(getattr(scipy.special, name), operands[0], result)

    return bind


BINDERS: Final[Mapping[str, Binder]] = {
    "rsqrt": blockwise(_rsqrt),
    "erf": _special("erf"),
    "erfc": blockwise(_erfc),
    "expm1": _of_complex(complex_functions.expm1, "expm1"),
    "log1p": _of_complex(complex_functions.log1p, "log1p"),
}
