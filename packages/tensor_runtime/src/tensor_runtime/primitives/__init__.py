"""Strict primitives: equal shapes, equal dtypes, nothing implicit.

The layer that backends implement and that graphs will record; its vocabulary is that of StableHLO. Operands have one
shape and one dtype; no Python numbers, no broadcasting, no promotion. Integers wrap on overflow. The public functions
of the same meaning (``tensor_runtime.add`` for ``add``) broadcast and promote first.

Where the two layers differ: ``div`` and ``rem`` of integers truncate toward zero (``tensor_runtime.divide`` gives F64,
``floor_divide`` and ``remainder`` round down); ``reduce_sum`` and its siblings read an empty ``axes`` as all axes,
whereas ``sum`` and ``max`` read ``axis=()`` as none.
"""

from __future__ import annotations

from tensor_runtime.primitives.arithmetic import (
    abs,
    add,
    clamp,
    complex,
    conj,
    div,
    imag,
    max,
    min,
    mul,
    neg,
    pow,
    real,
    rem,
    sign,
    sub,
)
from tensor_runtime.primitives.exponential import (
    atan2,
    ceil,
    cos,
    erf,
    exp,
    expm1,
    floor,
    is_finite,
    log,
    log1p,
    round,
    rsqrt,
    sin,
    sqrt,
    tan,
    tanh,
)
from tensor_runtime.primitives.joining import pad
from tensor_runtime.primitives.logic import and_, compare, not_, or_, select, shift_left, shift_right_arithmetic, xor
from tensor_runtime.primitives.reduction import reduce_and, reduce_max, reduce_min, reduce_or, reduce_prod, reduce_sum
from tensor_runtime.primitives.strict import StrictSpec

__all__ = [
    "StrictSpec",
    "abs",
    "add",
    "and_",
    "atan2",
    "ceil",
    "clamp",
    "compare",
    "complex",
    "conj",
    "cos",
    "div",
    "erf",
    "exp",
    "expm1",
    "floor",
    "imag",
    "is_finite",
    "log",
    "log1p",
    "max",
    "min",
    "mul",
    "neg",
    "not_",
    "or_",
    "pad",
    "pow",
    "real",
    "reduce_and",
    "reduce_max",
    "reduce_min",
    "reduce_or",
    "reduce_prod",
    "reduce_sum",
    "rem",
    "round",
    "rsqrt",
    "select",
    "shift_left",
    "shift_right_arithmetic",
    "sign",
    "sin",
    "sqrt",
    "sub",
    "tan",
    "tanh",
    "xor",
]
