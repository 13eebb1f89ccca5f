"""Native kernels for tiny compact operands, where the cost of a NumPy call is most of the time (csrc/elementwise).

A sum of 2x2 elements takes a quarter of the ufunc's time.
What is larger than a few thousand elements goes elsewhere: there the loop counts, not the call.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Final

from tensor_core.dtypes import FLOATING
from tensor_core.promotion import promote_scalar
from tensor_cpu.kernel_table import NativeBinder, kernels_of
from tensor_cpu.kernels.elementwise import numpy as elementwise
from tensor_cpu.system.extension import LIBRARY
from tensor_runtime.form import Form
from tensor_runtime.protocols import Kernel, Operand, Result

TAKES: Final = "compact tensors of one dtype, up to 4096 elements, with numbers of its kind"
MOST_ELEMENTS: Final = 4096
"""Of an elementwise result."""


def bind_binary(name: str, operands: tuple[Operand, ...], result: Result, params: None, /) -> Kernel | None:
    """The kernel of two compact operands of equal dtype, of which either may be a Python number or a single element.

    >>> import numpy as np
    >>> from tensor_core import F64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> form = form_of(F64, (2,), CPU)
    >>> kernel = bind_binary("subtract", (form, float), form, None)
    >>> kernel(np.array([3.0, 5.0]), 0.5).tolist()
    [2.5, 4.5]
    """
    forms = [operand for operand in operands if isinstance(operand, Form)]
    if not isinstance(result, Form) or not 0 < result.size <= MOST_ELEMENTS or not forms:
        return None
    dtype = forms[0].dtype
    if any(form.dtype is not dtype for form in forms) or (result.dtype is not dtype and dtype.kind == "bool"):
        return None
    numbers = [operand for operand in operands if not isinstance(operand, Form)]
    if any(promote_scalar(dtype, number) is not dtype for number in numbers):
        return None
    if name == "divide" and dtype not in FLOATING:
        return None
    steps = [_step(operand, result) for operand in operands]
    if None in steps:
        return None
    fallback = elementwise.bind_binary(name, operands, result)
    return LIBRARY.bind_tiny_binary(
        name,
        result.shape[::-1],
        result.dtype.name,
        dtype.name,
        (steps[0] or 0, steps[1] or 0),
        (not isinstance(operands[0], Form), not isinstance(operands[1], Form)),
        fallback,
    )


def _step(operand: Operand, result: Form) -> int | None:
    """1 for an operand laid out as the result, 0 for a single element, None for anything else."""
    if not isinstance(operand, Form) or operand.size == 1:
        return 0
    return 1 if operand.is_compact and operand.size == result.size else None


def bind_unary(name: str, operands: tuple[Operand, ...], result: Result, params: None, /) -> Kernel | None:
    """The kernel of one compact operand whose dtype is the result's.

    >>> import numpy as np
    >>> from tensor_core import F64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> form = form_of(F64, (2,), CPU)
    >>> bind_unary("sqrt", (form,), form, None)(np.array([4.0, 9.0])).tolist()
    [2.0, 3.0]
    """
    (form,) = operands
    if not isinstance(result, Form) or not isinstance(form, Form) or not 0 < result.size <= MOST_ELEMENTS:
        return None
    if form.dtype is not result.dtype or not form.is_compact:
        return None
    return LIBRARY.bind_tiny_unary(name, result.shape[::-1], result.dtype.name)


BINDERS: Final[Mapping[str, NativeBinder]] = {
    name: partial(bind_binary if name in elementwise.BINARY else bind_unary, name)
    for name in kernels_of("elementwise.tiny")
}
