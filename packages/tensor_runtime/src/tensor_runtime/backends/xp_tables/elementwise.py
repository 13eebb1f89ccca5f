"""Elementwise rows that NumPy and CuPy share.

The functions follow NumPy's ufunc protocol: operands broadcast, ``out=``, ``dtype=`` and ``order=`` are honoured.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Ufunc = Callable[..., Any]


def binary(xp: Any, /) -> Mapping[str, Ufunc]:
    """Two operands.

    >>> import numpy
    >>> binary(numpy)["add"](1, 2).item()
    3
    """
    return {
        "add": xp.add,
        "subtract": xp.subtract,
        "multiply": xp.multiply,
        "divide": xp.true_divide,
        "floor_divide": xp.floor_divide,
        "remainder": xp.remainder,
        "fmod": xp.fmod,
        "pow": xp.power,
        "maximum": xp.maximum,
        "minimum": xp.minimum,
        "atan2": xp.arctan2,
        "logical_and": xp.logical_and,
        "logical_or": xp.logical_or,
        "logical_xor": xp.logical_xor,
        "bitwise_and": xp.bitwise_and,
        "bitwise_or": xp.bitwise_or,
        "bitwise_xor": xp.bitwise_xor,
        "bitwise_left_shift": xp.left_shift,
        "bitwise_right_shift": xp.right_shift,
        "equal": xp.equal,
        "not_equal": xp.not_equal,
        "less": xp.less,
        "less_equal": xp.less_equal,
        "greater": xp.greater,
        "greater_equal": xp.greater_equal,
    }


def unary(xp: Any, /) -> Mapping[str, Ufunc]:
    """One operand.

    >>> import numpy
    >>> unary(numpy)["negative"](1).item()
    -1
    """
    return {
        "negative": xp.negative,
        "positive": xp.positive,
        "abs": xp.absolute,
        "conj": xp.conjugate,
        "sign": xp.sign,
        "logical_not": xp.logical_not,
        "bitwise_invert": xp.invert,
        "exp": xp.exp,
        "expm1": xp.expm1,
        "log": xp.log,
        "log1p": xp.log1p,
        "sqrt": xp.sqrt,
        "sin": xp.sin,
        "cos": xp.cos,
        "tan": xp.tan,
        "asin": xp.arcsin,
        "acos": xp.arccos,
        "atan": xp.arctan,
        "sinh": xp.sinh,
        "cosh": xp.cosh,
        "tanh": xp.tanh,
        "floor": xp.floor,
        "ceil": xp.ceil,
        "trunc": xp.trunc,
        "round": xp.rint,
        "isnan": xp.isnan,
        "isinf": xp.isinf,
        "isfinite": xp.isfinite,
    }


def reductions(xp: Any, /) -> Mapping[str, Ufunc]:
    """Folds over axes: ``axis=``, ``keepdims=`` and ``out=`` are honoured.

    >>> import numpy
    >>> reductions(numpy)["sum"](numpy.ones(3), axis=0).item()
    3.0
    """
    return {
        "sum": xp.add.reduce,
        "prod": xp.multiply.reduce,
        "max": xp.maximum.reduce,
        "min": xp.minimum.reduce,
        "any": xp.logical_or.reduce,
        "all": xp.logical_and.reduce,
        "reduce_or": xp.bitwise_or.reduce,
        "reduce_and": xp.bitwise_and.reduce,
    }
