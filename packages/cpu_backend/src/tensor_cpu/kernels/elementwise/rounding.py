"""Rounding to integers; what is no float is whole already.

Native kernels: the elementwise machine (csrc/elementwise).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tensor_core.dtypes import FLOATING
from tensor_cpu.kernel_table import Binder
from tensor_cpu.kernels.elementwise.numpy import UNARY, bind_function
from tensor_runtime.form import Form
from tensor_runtime.protocols import Kernel


def _rounding(name: str) -> Binder:
    """Integers and Bool are whole already."""

    def bind(operands: tuple[Form], result: Form, params: None, /) -> Kernel:
        if result.dtype not in FLOATING:
            return lambda x: x.copy(order="C")
        return bind_function(UNARY[name], operands[0], result)

    return bind


BINDERS: Final[Mapping[str, Binder]] = {name: _rounding(name) for name in ("floor", "ceil", "round", "trunc")}
