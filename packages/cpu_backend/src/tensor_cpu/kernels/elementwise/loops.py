"""Native kernels around the loops of NumPy's ufuncs: NumPy's bits without the cost of its calls (csrc/elementwise).

They are for what the elementwise machine has no instruction for, and are shared among threads where they take long.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

import numpy as np

from tensor_core.dtypes import FLOATING, Bool, DType
from tensor_core.promotion import promote_scalar
from tensor_cpu.kernel_table import NativeBinder, bind_numpy, kernels_of
from tensor_cpu.kernels.elementwise.numpy import BINARY, UNARY
from tensor_cpu.system.extension import AVAILABLE, LIBRARY
from tensor_runtime.form import Form
from tensor_runtime.protocols import Kernel, Operand, Result

TAKES: Final = "compact tensors and single elements, of a dtype of which NumPy has a loop, with numbers of its kind"
_NANOSECONDS: Final = {"float": 2.0, "int": 2.0, "complex": 20.0}
"""Of an element in one thread, roughly, by kind of dtype: whether threads pay is all that hangs on it."""
_DIVISIONS: Final = frozenset({"floor_divide", "remainder", "fmod"})


def bind_loop(name: str, operands: tuple[Operand, ...], result: Result, params: Any, /) -> Kernel | None:
    """The kernel of a ufunc's loop; None where NumPy converts, or broadcasts more than single elements.

    >>> from tensor_core import F64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> form = form_of(F64, (2,), CPU)
    >>> kernel = bind_loop("exp2", (form,), form, None)
    >>> kernel is None or kernel(np.array([3.0, 5.0])).tolist() == [8.0, 32.0]
    True
    """
    row = name.removesuffix("_unchecked")
    ufunc = (BINARY if row in BINARY else UNARY)[row]
    if not AVAILABLE or not isinstance(ufunc, np.ufunc) or not isinstance(result, Form) or not result.size:
        return None
    dtype = next(operand.dtype for operand in operands if isinstance(operand, Form))
    if dtype is Bool:  # whose bytes may be neither 0 nor 1
        return None
    if row == "pow" and dtype not in FLOATING:  # whose loop has an error of its own
        return None
    described = [_described(operand, dtype, result) for operand in operands]
    if None in described:
        return None
    return LIBRARY.bind_loop(
        ufunc,
        result.shape[::-1],
        result.dtype.name,
        tuple(one for one in described if one),
        _NANOSECONDS[dtype.kind],
        row in _DIVISIONS and row == name and dtype not in FLOATING,
        bind_numpy(name, operands, result, params),
    )


def _described(operand: Operand, dtype: DType, result: Form) -> tuple[str, int, bool] | None:
    """The dtype, elements from one to the next, and whether it is a Python number; None for what has gaps."""
    if not isinstance(operand, Form):
        return (dtype.name, 0, True) if promote_scalar(dtype, operand) is dtype else None
    if operand.size == 1:
        return operand.dtype.name, 0, False
    # NumPy's bits of some functions differ where elements lie apart, and it may turn such lines round.
    return (operand.dtype.name, 1, False) if operand.shape == result.shape and operand.is_compact else None


BINDERS: Final[Mapping[str, NativeBinder]] = {
    name: partial(bind_loop, name) for name in kernels_of("elementwise.loops")
}
