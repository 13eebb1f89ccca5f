"""Which operations have native kernels, and which modules of ``tensor_cpu.kernels`` offer them, first choice first.

A native binder answers None for forms that it has nothing for; the backend then binds NumPy's kernel. As in
``tensor_cpu.kernel_table``, a module is imported when one of its operations is bound for the first time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, Final

from tensor_cpu.system.extension import AVAILABLE
from tensor_runtime.protocols import Kernel, Operand, Result

NativeBinder = Callable[[tuple[Operand, ...], Result, Any], Kernel | None]

TOPICS: Final[Mapping[str, str]] = {
    "copy.native": "copy copy_into unary_einsum convert cast full",
    "elementwise.tiny": (
        "add subtract multiply divide maximum minimum equal not_equal less less_equal negative abs sqrt contract"
    ),
    "elementwise.native": (
        "elementwise_program abs acos add asin atan atan2 bitwise_and bitwise_invert bitwise_left_shift bitwise_or "
        "bitwise_right_shift bitwise_xor ceil clip complex conj cos cosh divide equal erf erfc exp expm1 floor greater "
        "greater_equal imag isfinite isinf isnan less less_equal log log1p logical_and logical_not logical_or "
        "logical_xor maximum minimum multiply negative not_equal positive pow real round sign sin sinh sqrt subtract "
        "tan tanh trunc where"
    ),
    "reduction.native": "all any max mean min prod sum",
    "statistics.native": "norm std var",
    "linalg.batched_simd": "cholesky det eigh inv qr solve svd",
    "linalg.lapack": "svd qr eigh cholesky solve inv det",
    "contraction.native_semiring": "semiring_contract contract",
}
"""The operations that each module of ``tensor_cpu.kernels`` offers kernels for."""


def bind(name: str, operands: tuple[Operand, ...], result: Result, params: Any, /) -> Kernel | None:
    """The native kernel of an operation for these forms, if there is one.

    >>> from tensor_core import F64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> form = form_of(F64, (2,), CPU)
    >>> bind("untangle", (form,), form, None) is None
    True
    """
    if AVAILABLE:
        for module in _OFFERS.get(name, ()):
            binder: NativeBinder = import_module(f"tensor_cpu.kernels.{module}").BINDERS[name]
            kernel = binder(operands, result, params)
            if kernel is not None:
                return kernel
    return None


_OFFERS: Final[dict[str, list[str]]] = {}
for _module, _names in TOPICS.items():
    for _name in _names.split():
        _OFFERS.setdefault(_name, []).append(_module)
