"""Strict primitives: equal shapes, equal dtypes, nothing implicit.

The layer that backends implement, that graphs will record, and that lowerings end in; its vocabulary is that of
StableHLO, and it is closed: what is not data-dependent, random or a library's algorithm is written in it. Operands are
tensors of one dtype, elementwise ones of one shape; no Python numbers, no broadcasting but ``broadcast_in_dim``, no
promotion, and no option has a default but ``axes`` and ``keepdims`` of reductions. Integers wrap on overflow. The
public functions of the same meaning
(``tensor_runtime.add`` for ``add``) broadcast and promote first.

Where the two layers differ: ``div`` and ``rem`` of integers truncate toward zero (``tensor_runtime.divide`` gives F64,
``floor_divide`` and ``remainder`` round down); ``convert`` takes every pair of dtypes, as ``cast`` does; ``reduce_sum``
and its siblings read an empty ``axes`` as all axes, whereas ``sum`` and ``max`` read ``axis=()`` as none.
"""

from __future__ import annotations

from tensor_runtime.primitives.arithmetic import abs, add, conj, mul, neg, pow, sign, sub
from tensor_runtime.primitives.comparison import compare
from tensor_runtime.primitives.complex_parts import complex, imag, real
from tensor_runtime.primitives.contraction import dot_general
from tensor_runtime.primitives.conversion import convert
from tensor_runtime.primitives.creation import full, iota
from tensor_runtime.primitives.division import div, rem
from tensor_runtime.primitives.exponential import erf, exp, expm1, log, log1p, rsqrt, sqrt
from tensor_runtime.primitives.gather_scatter import gather, scatter
from tensor_runtime.primitives.joining import concatenate
from tensor_runtime.primitives.linalg import triangular_solve
from tensor_runtime.primitives.logic import and_, not_, or_, shift_left, shift_right_arithmetic, xor
from tensor_runtime.primitives.padding import pad
from tensor_runtime.primitives.reduction import reduce_and, reduce_max, reduce_min, reduce_or, reduce_prod, reduce_sum
from tensor_runtime.primitives.rounding import ceil, floor, is_finite, round
from tensor_runtime.primitives.selection import clamp, max, min, select
from tensor_runtime.primitives.slicing import dynamic_slice, dynamic_update_slice, slice
from tensor_runtime.primitives.sort import argsort, sort
from tensor_runtime.primitives.strict import StrictSpec
from tensor_runtime.primitives.trigonometry import atan2, cos, sin, tan, tanh
from tensor_runtime.primitives.views import broadcast_in_dim, reshape, reverse, transpose

__all__ = [
    "StrictSpec",
    "abs",
    "add",
    "and_",
    "argsort",
    "atan2",
    "broadcast_in_dim",
    "ceil",
    "clamp",
    "compare",
    "complex",
    "concatenate",
    "conj",
    "convert",
    "cos",
    "div",
    "dot_general",
    "dynamic_slice",
    "dynamic_update_slice",
    "erf",
    "exp",
    "expm1",
    "floor",
    "full",
    "gather",
    "imag",
    "iota",
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
    "reshape",
    "reverse",
    "round",
    "rsqrt",
    "scatter",
    "select",
    "shift_left",
    "shift_right_arithmetic",
    "sign",
    "sin",
    "slice",
    "sort",
    "sqrt",
    "sub",
    "tan",
    "tanh",
    "transpose",
    "triangular_solve",
    "xor",
]
