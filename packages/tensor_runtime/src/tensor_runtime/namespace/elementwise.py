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
        "exp": xp.exp,
        "sqrt": xp.sqrt,
    }


def reductions(xp: Any, /) -> Mapping[str, Ufunc]:
    """Folds over axes: ``axis=``, ``keepdims=`` and ``out=`` are honoured.

    >>> import numpy
    >>> reductions(numpy)["sum"](numpy.ones(3), axis=0).item()
    3.0
    """
    return {"sum": xp.add.reduce, "max": xp.maximum.reduce}
