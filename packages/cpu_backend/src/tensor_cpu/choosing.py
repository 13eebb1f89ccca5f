"""Kernels of three operands, and of the parts of complex numbers, on twins."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from tensor_core.dtypes import COMPLEX, Bool
from tensor_cpu.arrays import NUMPY_DTYPES, Array, empty
from tensor_cpu.elementwise import readers
from tensor_cpu.quiet import quiet
from tensor_runtime.form import Form
from tensor_runtime.protocols import Kernel, Operand

Binder = Callable[[tuple[Any, ...], Any, Any], Kernel]


def bind_where(operands: tuple[Operand, ...], result: Form, detail: Any, /) -> Kernel:
    """Elements of the second operand where the first holds, of the third elsewhere."""
    condition = readers("where", operands[:1], result.rank, Bool)[0]
    first, second = readers("where", operands[1:], result.rank, result.dtype)
    dtype = NUMPY_DTYPES[result.dtype]

    def where(c: Any, x: Any, y: Any) -> Array:
        chosen: Array = np.where(condition(c), first(x), second(y))
        return chosen.astype(dtype, order="C", copy=False)

    return quiet(where)


def bind_clip(operands: tuple[Operand, ...], result: Form, detail: Any, /) -> Kernel:
    """The nearest value between two bounds: min(max(x, low), high)."""
    read_x, read_low, read_high = readers("clip", operands, result.rank, result.dtype)
    dtype = NUMPY_DTYPES[result.dtype]

    def clip(x: Any, low: Any, high: Any) -> Array:
        out = empty(result)
        np.maximum(read_x(x), read_low(low), out=out, dtype=dtype)
        np.minimum(out, read_high(high), out=out, dtype=dtype)
        return out

    return quiet(clip)


def bind_complex(operands: tuple[Operand, ...], result: Form, detail: Any, /) -> Kernel:
    """Complex numbers from two parts, which keep their infinities, NaN and signs of zero."""
    real, imag = readers("complex", operands, result.rank, result.dtype.component)

    def joined(x: Any, y: Any) -> Array:
        out = empty(result)
        out.real = real(x)
        out.imag = imag(y)
        return out

    return quiet(joined)


def bind_real(operands: tuple[Form], result: Form, detail: Any, /) -> Kernel:
    """Compact copy of the real parts."""
    return lambda x: x.real.copy(order="C")


def bind_imag(operands: tuple[Form], result: Form, detail: Any, /) -> Kernel:
    """Compact copy of the imaginary parts; zeros for what has none."""
    if operands[0].dtype not in COMPLEX:
        shape, dtype = result.shape[::-1], NUMPY_DTYPES[result.dtype]
        return lambda x: np.zeros(shape, dtype)
    return lambda x: x.imag.copy(order="C")


BINDERS: Final[Mapping[str, Binder]] = {
    "where": bind_where,
    "clip": bind_clip,
    "complex": bind_complex,
    "real": bind_real,
    "imag": bind_imag,
}
