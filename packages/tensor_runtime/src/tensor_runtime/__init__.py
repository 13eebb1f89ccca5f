"""Runtime tensors: placement, views, backends, and the operations every backend offers.

```python
import tensor_runtime as tr

a = tr.tensor([[1.0, 2.0], [3.0, 4.0]])  # nested lists are read as written
b = a.T @ a + 1.0  # owned, compact, column-major
```

Names that NumPy also has keep NumPy's meaning. ``einsum`` comes from the package ``tensor_einsum``, found through
entry points.
"""

from __future__ import annotations

from typing import TYPE_CHECKING as _TYPE_CHECKING

from tensor_core import C32, C64, DTYPES, F32, F64, I32, I64, Bool, DType, HostTensor, TensorError, promote
from tensor_runtime import algebras, primitives
from tensor_runtime.backends.bindings import binding_cache
from tensor_runtime.backends.plugins.families import families
from tensor_runtime.backends.registry import (
    backend,
    backends,
    refresh_backends,
    register_backend,
    register_kernel,
    register_rule,
)
from tensor_runtime.dispatch import lowering as _lowering  # says how rules become kernels
from tensor_runtime.dispatch.conversion import cast, convert, typed
from tensor_runtime.dispatch.infer import infer
from tensor_runtime.explain import explain
from tensor_runtime.fusion.closeness import allclose, isclose
from tensor_runtime.fusion.decimals import round
from tensor_runtime.fusion.fuse import fuse
from tensor_runtime.io.files import load, load_all, load_raw, save, save_raw
from tensor_runtime.operations import einsum
from tensor_runtime.ops import methods as _methods  # attaches the methods of Tensor
from tensor_runtime.ops.activations import gelu, log_softmax, relu, sigmoid, silu, softmax, softplus
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
from tensor_runtime.ops.arrangement import broadcast_arrays, flip, meshgrid, swapaxes, unstack
from tensor_runtime.ops.comparison import equal, greater, greater_equal, less, less_equal, not_equal
from tensor_runtime.ops.complex_parts import complex, imag, real
from tensor_runtime.ops.contraction import dot_general, matmul, tensordot
from tensor_runtime.ops.convolution import conv
from tensor_runtime.ops.creation import asarray, from_flat, full, ones, tensor, to_numpy, zeros
from tensor_runtime.ops.creation_like import empty, empty_like, full_like, ones_like, zeros_like
from tensor_runtime.ops.diagonals import embed_diagonal, extract_diagonal, eye, trace, tril, triu
from tensor_runtime.ops.division import floor_divide, fmod, remainder, trunc_divide
from tensor_runtime.ops.exchange import from_dlpack
from tensor_runtime.ops.exponential import (
    cbrt,
    erf,
    erfc,
    exp,
    exp2,
    expm1,
    log,
    log1p,
    log2,
    log10,
    logaddexp,
    rsqrt,
    sqrt,
)
from tensor_runtime.ops.from_function import from_function, tabulate
from tensor_runtime.ops.gather_scatter import gather, nonzero, put_along_axis, scatter, take, take_along_axis
from tensor_runtime.ops.indexing import copy_into, mutable_view
from tensor_runtime.ops.joining import concatenate, repeat, reverse, roll, split, stack, tile
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
from tensor_runtime.ops.normalization import layer_norm, rms_norm
from tensor_runtime.ops.numpy_names import missing_function as _missing_function
from tensor_runtime.ops.numpy_names import tell_of_functions as _tell_of_functions
from tensor_runtime.ops.padding import pad
from tensor_runtime.ops.pooling import max_pool, mean_pool
from tensor_runtime.ops.products import dot, kron, outer, vecdot
from tensor_runtime.ops.random import fold_in, integers, normal, uniform
from tensor_runtime.ops.ranges import arange, linspace
from tensor_runtime.ops.reduction import all, any, max, min, prod, sum
from tensor_runtime.ops.rounding import ceil, floor, isfinite, isinf, isnan, trunc
from tensor_runtime.ops.scan import cumprod, cumsum, fold, scan
from tensor_runtime.ops.selecting import array_equal, count_nonzero, delete, diff, isin
from tensor_runtime.ops.selection import clip, maximum, minimum, where
from tensor_runtime.ops.slicing import dynamic_slice, dynamic_update_slice
from tensor_runtime.ops.sort import (
    argsort,
    searchsorted,
    sort,
    unique,
    unique_all,
    unique_counts,
    unique_inverse,
    unique_values,
)
from tensor_runtime.ops.statistics import argmax, argmin, mean, norm, std, var
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
    tan,
    tanh,
)
from tensor_runtime.ops.views import (
    broadcast_in_dim,
    broadcast_to,
    copy,
    diagonal_view,
    expand_dims,
    move_axes,
    permute_axes,
    reshape_view,
    reverse_view,
    squeeze,
    to_contiguous,
    transpose,
    transpose_view,
)
from tensor_runtime.placement import CPU, DeviceId, DeviceKind, GpuBackendKind, MemoryKind, Placement
from tensor_runtime.protocols import MemoryUse
from tensor_runtime.tensors.buffer import BackendBuffer, HostBuffer
from tensor_runtime.tensors.devices import Stream, checks, memory, stream
from tensor_runtime.tensors.pending import Pending
from tensor_runtime.tensors.tensor import Tensor, TypedTensor, TypedTensorView, TypedTensorViewMut
from tensor_runtime.tensors.transfer import download, synchronize, to, trace_transfers, upload
from tensor_runtime.thread_counts import set_threads, threads
from tensor_runtime.version import __version__ as __version__

__all__ = [
    "C32", "C64", "CPU",
    "DTYPES",
    "F32", "F64",
    "I32", "I64",
    "BackendBuffer", "Bool",
    "DType", "DeviceId", "DeviceKind",
    "GpuBackendKind",
    "HostBuffer", "HostTensor",
    "MemoryKind", "MemoryUse",
    "Pending", "Placement",
    "Stream",
    "Tensor", "TensorError", "TypedTensor", "TypedTensorView", "TypedTensorViewMut",
    "abs", "acos", "acosh", "add", "algebras", "all", "allclose", "any", "arange", "argmax", "argmin", "argsort",
    "array_equal", "asarray", "asin",
    "asinh", "atan", "atan2", "atanh",
    "backend", "backends", "binding_cache", "bitwise_and", "bitwise_invert", "bitwise_left_shift", "bitwise_or",
    "bitwise_right_shift", "bitwise_xor", "broadcast_arrays", "broadcast_in_dim", "broadcast_to",
    "cast", "cbrt", "ceil", "checks", "clip", "complex", "concatenate", "conj", "conv", "convert", "copy", "copy_into",
    "copysign", "cos", "cosh", "count_nonzero", "cumprod", "cumsum",
    "delete", "diagonal_view", "diff", "divide", "dot", "dot_general", "download", "dynamic_slice",
    "dynamic_update_slice",
    "einsum", "embed_diagonal", "empty", "empty_like", "equal", "erf", "erfc", "exp", "exp2", "expand_dims", "expm1",
    "explain", "extract_diagonal", "eye",
    "families", "flip", "floor", "floor_divide", "fmod", "fold", "fold_in", "from_dlpack", "from_flat", "from_function",
    "full", "full_like", "fuse",
    "gather", "gelu", "greater", "greater_equal",
    "hypot",
    "imag", "infer", "integers", "isclose", "isfinite", "isin", "isinf", "isnan",
    "kron",
    "layer_norm", "less", "less_equal", "linspace", "load", "load_all", "load_raw", "log", "log10", "log1p", "log2",
    "log_softmax", "logaddexp",
    "logical_and", "logical_not", "logical_or", "logical_xor",
    "matmul", "max", "max_pool", "maximum", "mean", "mean_pool", "memory", "meshgrid", "min", "minimum", "move_axes",
    "multiply", "mutable_view",
    "negative", "nextafter", "nonzero", "norm", "normal", "not_equal",
    "ones", "ones_like", "outer",
    "pad", "permute_axes", "positive", "pow", "primitives", "prod", "promote", "put_along_axis",
    "real", "reciprocal", "refresh_backends", "register_backend", "register_kernel", "register_rule", "relu",
    "remainder", "repeat", "reshape_view", "reverse", "reverse_view", "rms_norm", "roll", "round", "rsqrt",
    "save", "save_raw", "scan", "scatter", "searchsorted", "set_threads", "sigmoid", "sign", "signbit", "silu", "sin",
    "sinh",
    "softmax", "softplus", "sort", "split", "sqrt", "square", "squeeze", "stack", "std", "stream", "subtract", "sum",
    "swapaxes", "synchronize",
    "tabulate", "take", "take_along_axis", "tan", "tanh", "tensor", "tensordot", "threads", "tile", "to",
    "to_contiguous", "to_numpy", "trace", "trace_transfers", "transpose", "transpose_view", "tril", "triu", "trunc",
    "trunc_divide", "typed",
    "uniform", "unique", "unique_all", "unique_counts", "unique_inverse", "unique_values", "unstack", "upload",
    "var", "vecdot",
    "where",
    "zeros", "zeros_like",
]  # fmt: skip


def __dir__() -> list[str]:
    return sorted((*__all__, "__version__"))  # no modules


if not _TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        if name not in ("array_api", "interop"):
            _missing_function(name)
        from importlib import import_module  # these two are loaded when they are named

        return import_module(f"tensor_runtime.{name}")


_tell_of_functions(__all__)
del _lowering, _methods, _tell_of_functions
