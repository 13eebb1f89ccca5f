"""The Python array API standard, 2024.12, over our tensors: for libraries that are written against it.

What differs from ``tensor_runtime``: ``reshape`` counts in row-major order, batch axes of linear algebra come first,
places are ``device``, and ``astype`` wraps or rounds where ``convert`` would refuse. Memory stays column-major. What is
not there yet (``fft``) is absent. ``x.__array_namespace__()`` gives this module.

>>> import tensor_runtime as tr
>>> x = tr.tensor([[1.0, 2.0], [3.0, 4.0]])
>>> xp = x.__array_namespace__()
>>> xp.reshape(x, (4,)).tolist(), xp.isdtype(x.dtype, "real floating")
([1.0, 2.0, 3.0, 4.0], True)
"""

import math as _math

from tensor_core.dtypes import C32, C64, F32, F64, I32, I64, Bool
from tensor_runtime.array_api import linalg
from tensor_runtime.array_api.creation import (
    arange,
    asarray,
    empty,
    empty_like,
    eye,
    from_dlpack,
    full,
    full_like,
    linspace,
    meshgrid,
    ones,
    ones_like,
    tril,
    triu,
    zeros,
    zeros_like,
)
from tensor_runtime.array_api.data_types import astype, can_cast, finfo, iinfo, isdtype, result_type
from tensor_runtime.array_api.elementwise import floor_divide, tan, tanh
from tensor_runtime.array_api.inspection import NamespaceInfo
from tensor_runtime.array_api.manipulation import (
    broadcast_arrays,
    broadcast_to,
    concat,
    expand_dims,
    flip,
    matrix_transpose,
    moveaxis,
    permute_dims,
    repeat,
    reshape,
    roll,
    squeeze,
    stack,
    tile,
    unstack,
)
from tensor_runtime.array_api.reductions import (
    argsort,
    cumulative_prod,
    cumulative_sum,
    diff,
    prod,
    searchsorted,
    sort,
    sum,
    take,
)
from tensor_runtime.ops.arithmetic import (
    abs,
    add,
    conj,
    copysign,
    divide,
    multiply,
    negative,
    nextafter,
    positive,
    pow,
    reciprocal,
    sign,
    signbit,
    square,
    subtract,
)
from tensor_runtime.ops.comparison import equal, greater, greater_equal, less, less_equal, not_equal
from tensor_runtime.ops.complex_parts import imag, real
from tensor_runtime.ops.contraction import matmul, tensordot
from tensor_runtime.ops.division import remainder
from tensor_runtime.ops.exponential import exp, expm1, log, log1p, log2, log10, logaddexp, sqrt
from tensor_runtime.ops.gather_scatter import nonzero, take_along_axis
from tensor_runtime.ops.logic import (
    bitwise_and,
    bitwise_invert,
    bitwise_left_shift,
    bitwise_or,
    bitwise_right_shift,
    bitwise_xor,
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
)
from tensor_runtime.ops.products import vecdot
from tensor_runtime.ops.reduction import all, any, max, min
from tensor_runtime.ops.rounding import ceil, floor, isfinite, isinf, isnan, round, trunc
from tensor_runtime.ops.selecting import count_nonzero
from tensor_runtime.ops.selection import clip, maximum, minimum, where
from tensor_runtime.ops.sort import unique_all, unique_counts, unique_inverse, unique_values
from tensor_runtime.ops.statistics import argmax, argmin, mean, std, var
from tensor_runtime.ops.trigonometry import (
    acos,
    acosh,
    asin,
    asinh,
    atan,
    atan2,
    atanh,
    cos,
    cosh,
    hypot,
    sin,
    sinh,
)

__array_api_version__ = "2024.12"
__array_namespace_info__ = NamespaceInfo
bool, int32, int64, float32, float64, complex64, complex128 = Bool, I32, I64, F32, F64, C32, C64
e, pi, inf, nan = _math.e, _math.pi, _math.inf, _math.nan
newaxis = None

__all__ = [
    "__array_api_version__", "__array_namespace_info__", "abs", "acos", "acosh", "add", "all", "any", "arange",
    "argmax", "argmin", "argsort", "asarray", "asin", "asinh", "astype", "atan", "atan2", "atanh", "bitwise_and",
    "bitwise_invert", "bitwise_left_shift", "bitwise_or", "bitwise_right_shift", "bitwise_xor", "bool",
    "broadcast_arrays", "broadcast_to", "can_cast", "ceil", "clip", "complex128", "complex64", "concat", "conj",
    "copysign", "cos", "cosh", "count_nonzero", "cumulative_prod", "cumulative_sum", "diff", "divide", "e",
    "empty", "empty_like", "equal", "exp", "expand_dims", "expm1", "eye", "finfo", "flip", "float32", "float64",
    "floor", "floor_divide", "from_dlpack", "full", "full_like", "greater", "greater_equal", "hypot", "iinfo",
    "imag", "inf", "int32", "int64", "isdtype", "isfinite", "isinf", "isnan", "less", "less_equal", "linalg",
    "linspace", "log", "log10", "log1p", "log2", "logaddexp", "logical_and", "logical_not", "logical_or",
    "logical_xor", "matmul", "matrix_transpose", "max", "maximum", "mean", "meshgrid", "min", "minimum",
    "moveaxis", "multiply", "nan", "negative", "newaxis", "nextafter", "nonzero", "not_equal", "ones", "ones_like",
    "permute_dims", "pi", "positive", "pow", "prod", "real", "reciprocal", "remainder", "repeat", "reshape",
    "result_type", "roll", "round", "searchsorted", "sign", "signbit", "sin", "sinh", "sort", "sqrt", "square",
    "squeeze", "stack", "std", "subtract", "sum", "take", "take_along_axis", "tan", "tanh", "tensordot", "tile",
    "tril", "triu", "trunc", "unique_all", "unique_counts", "unique_inverse", "unique_values", "unstack", "var",
    "vecdot", "where", "zeros", "zeros_like",
]  # fmt: skip


def __dir__() -> list[str]:
    return sorted(__all__)
