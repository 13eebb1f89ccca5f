"""Which module binds which operation.

A module is imported when one of its operations is bound for the first time, so that importing the backend costs little
more than importing NumPy.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, Final

from tensor_runtime.protocols import Kernel

Binder = Callable[[tuple[Any, ...], Any, Any], Kernel]
"""From the forms of the operands, the form of the result and the operation's params to a kernel."""

_NAMES: Final[Mapping[str, str]] = {
    "elementwise.numpy": (
        "negative positive abs conj sign logical_not bitwise_invert exp log sqrt sin cos tan asin acos "
        "atan sinh cosh tanh isnan isinf isfinite add subtract multiply divide maximum minimum atan2 logical_and "
        "logical_or logical_xor bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift equal "
        "not_equal less less_equal greater greater_equal"
    ),
    "elementwise.fused": "elementwise_program",
    "division": (
        "floor_divide remainder fmod trunc_divide floor_divide_unchecked remainder_unchecked fmod_unchecked "
        "trunc_divide_unchecked div rem pow"
    ),
    "selection": "where clip complex real imag",
    "activations": (
        "rsqrt sigmoid silu softplus relu gelu softmax log_softmax erf erfc expm1 log1p floor ceil round trunc"
    ),
    "reduction.numpy": "sum prod max min any all reduce_or reduce_and",
    "statistics.numpy": "mean var std argmax argmin norm",
    "scan": "cumsum cumprod",
    "views": (
        "transpose_view reshape_view broadcast_view diagonal_view reverse_view slice_view mutable_view copy copy_into"
    ),
    "slicing": "dynamic_slice dynamic_update_slice",
    "creation": "full eye arange linspace",
    "random": "uniform integers normal",
    "conversion": "convert cast",
    "contraction.contract": "contract unary_einsum",
    "linalg.numpy": "svd qr eigh cholesky solve inv det",
    "contraction.semiring": "semiring_contract",
    "convolution": "conv",
    "pooling": "max_pool mean_pool",
    "gather_scatter.gather": "take take_along_axis put_along_axis nonzero",
    "gather_scatter.scatter": "gather scatter",
    "sort": "sort argsort searchsorted_left searchsorted_right unique",
    "joining": "concatenate stack repeat tile roll pad pad_edge embed_diagonal tril triu",
}

MODULES: Final[Mapping[str, str]] = {name: module for module, names in _NAMES.items() for name in names.split()}
"""The module, inside ``tensor_cpu.kernels``, whose table ``BINDERS`` holds each operation."""


def binder_of(name: str, /) -> Binder | None:
    """The binder of an operation, or None if there is no such operation.

    >>> binder_of("add") is not None, binder_of("untangle")
    (True, None)
    """
    module = MODULES.get(name)
    if module is None:
        return None
    binder: Binder = import_module(f"tensor_cpu.kernels.{module}").BINDERS[name]
    return binder
