"""Elementwise kernels and reductions that NumPy and CuPy share: what each is called in an array namespace.

The tables are data, so the kernels that they hold are known without importing an array library; the functions read a
namespace by them. What is found there follows NumPy's ufunc protocol: operands broadcast, ``out=``, ``dtype=`` and
``order=`` are honoured.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

Ufunc = Callable[..., Any]

COMPARISONS: Final[Mapping[str, str]] = {
    "equal": "equal",
    "not_equal": "not_equal",
    "less": "less",
    "less_equal": "less_equal",
    "greater": "greater",
    "greater_equal": "greater_equal",
}
"""Kernels of two operands that give Bool, and the functions that compute them."""

BINARY: Final[Mapping[str, str]] = {
    "add": "add",
    "subtract": "subtract",
    "multiply": "multiply",
    "divide": "true_divide",
    "floor_divide": "floor_divide",
    "remainder": "remainder",
    "fmod": "fmod",
    "pow": "power",
    "maximum": "maximum",
    "minimum": "minimum",
    "atan2": "arctan2",
    "copysign": "copysign",
    "hypot": "hypot",
    "logaddexp": "logaddexp",
    "nextafter": "nextafter",
    "logical_and": "logical_and",
    "logical_or": "logical_or",
    "logical_xor": "logical_xor",
    "bitwise_and": "bitwise_and",
    "bitwise_or": "bitwise_or",
    "bitwise_xor": "bitwise_xor",
    "bitwise_left_shift": "left_shift",
    "bitwise_right_shift": "right_shift",
    **COMPARISONS,
}
"""Kernels of two operands, and the functions that compute them."""

UNARY: Final[Mapping[str, str]] = {
    "negative": "negative",
    "positive": "positive",
    "abs": "absolute",
    "conj": "conjugate",
    "sign": "sign",
    "signbit": "signbit",
    "logical_not": "logical_not",
    "bitwise_invert": "invert",
    "exp": "exp",
    "exp2": "exp2",
    "expm1": "expm1",
    "log": "log",
    "log10": "log10",
    "log1p": "log1p",
    "log2": "log2",
    "cbrt": "cbrt",
    "sqrt": "sqrt",
    "sin": "sin",
    "cos": "cos",
    "tan": "tan",
    "asin": "arcsin",
    "acos": "arccos",
    "atan": "arctan",
    "asinh": "arcsinh",
    "acosh": "arccosh",
    "atanh": "arctanh",
    "sinh": "sinh",
    "cosh": "cosh",
    "tanh": "tanh",
    "floor": "floor",
    "ceil": "ceil",
    "trunc": "trunc",
    "round": "rint",
    "isnan": "isnan",
    "isinf": "isinf",
    "isfinite": "isfinite",
}
"""Kernels of one operand, and the functions that compute them."""

REDUCTIONS: Final[Mapping[str, str]] = {
    "sum": "add",
    "prod": "multiply",
    "max": "maximum",
    "min": "minimum",
    "any": "logical_or",
    "all": "logical_and",
    "reduce_or": "bitwise_or",
    "reduce_and": "bitwise_and",
}
"""Reductions, and the functions of two operands that they fold."""


def binary(xp: Any, /) -> Mapping[str, Ufunc]:
    """The functions of :data:`BINARY`.

    >>> import numpy
    >>> binary(numpy)["atan2"](0, 1).item()
    0.0
    """
    return {kernel: getattr(xp, name) for kernel, name in BINARY.items()}


def unary(xp: Any, /) -> Mapping[str, Ufunc]:
    """The functions of :data:`UNARY`.

    >>> import numpy
    >>> unary(numpy)["abs"](-1).item()
    1
    """
    return {kernel: getattr(xp, name) for kernel, name in UNARY.items()}


def reductions(xp: Any, /) -> Mapping[str, Ufunc]:
    """Folds over axes, one for each row of :data:`REDUCTIONS`: ``axis=``, ``keepdims=`` and ``out=`` are honoured.

    >>> import numpy
    >>> reductions(numpy)["sum"](numpy.ones(3), axis=0).item()
    3.0
    """
    return {kernel: getattr(xp, name).reduce for kernel, name in REDUCTIONS.items()}
