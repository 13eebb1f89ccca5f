"""Native activations: programs of the elementwise machine (csrc/elementwise), and softmax along lines (csrc/lines)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from tensor_cpu.kernel_table import NativeBinder
from tensor_cpu.kernels.elementwise.native import bind_program
from tensor_cpu.kernels.params import taking_fields
from tensor_cpu.kernels.scan.native import line_binder
from tensor_runtime.contracts.elementwise import ProgramStep
from tensor_runtime.protocols import Kernel, Operand

TAKES: Final = "floating types, softmax along lines with close neighbours"


def _single(name: str) -> NativeBinder:
    def bind(operands: tuple[Operand, ...], result: Any, params: None, /) -> Kernel | None:
        return bind_program(operands, result, (ProgramStep(name, (0,), result),)) if result.size else None

    return bind


def bind_gelu(operands: tuple[Operand, ...], result: Any, approximate: str, /) -> Kernel | None:
    """The kernel of the approximation by tanh; None for the error function.

    >>> import numpy as np
    >>> from tensor_core import F64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> form = form_of(F64, (1,), CPU)
    >>> kernel = bind_gelu((form,), form, "tanh")
    >>> kernel is None or kernel(np.array([1.0])).round(9).tolist() == [0.841191991]
    True
    """
    return _single("gelu_tanh")(operands, result, None) if approximate == "tanh" else None


def bind_softplus(operands: tuple[Operand, ...], result: Any, params: None, /) -> Kernel | None:
    """The kernel of max(x, 0) + log(1 + exp(-|x|)).

    >>> import numpy as np
    >>> from tensor_core import F64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> form = form_of(F64, (1,), CPU)
    >>> kernel = bind_softplus((form,), form, None)
    >>> kernel is None or kernel(np.array([1000.0])).tolist() == [1000.0]
    True
    """
    if result.size == 0:
        return None
    steps = (
        ("convert", (0,)),
        ("abs", (1,)),
        ("negative", (2,)),
        ("exp", (3,)),
        ("log1p", (4,)),
        ("maximum", (1, ("constant", 0.0))),
        ("add", (5, 6)),
    )
    return bind_program(operands, result, tuple(ProgramStep(name, references, result) for name, references in steps))


def bind_relu(operands: tuple[Operand, ...], result: Any, params: None, /) -> Kernel | None:
    """The kernel of max(x, 0).

    >>> import numpy as np
    >>> from tensor_core import F64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> form = form_of(F64, (2,), CPU)
    >>> kernel = bind_relu((form,), form, None)
    >>> kernel is None or kernel(np.array([-1.0, 2.0])).tolist() == [0.0, 2.0]
    True
    """
    if result.size == 0:
        return None
    return bind_program(operands, result, (ProgramStep("maximum", (0, ("constant", 0)), result),))


BINDERS: Final[Mapping[str, NativeBinder]] = {
    "relu": bind_relu,
    "sigmoid": _single("sigmoid"),
    "silu": _single("silu"),
    "gelu": taking_fields(bind_gelu),
    "softplus": bind_softplus,
    "softmax": line_binder("softmax"),
    "log_softmax": line_binder("log_softmax"),
}
