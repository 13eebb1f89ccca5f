"""Native kernels that repeat one number (csrc/copy), and of numbers at equal distances (csrc/lines/spaced.c)."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import Final

import numpy as np

from tensor_core.dtypes import F32, F64
from tensor_cpu.kernel_table import NativeBinder, bind_numpy
from tensor_cpu.storage import Array, empty
from tensor_cpu.system.errstate import ignoring_fp_errors
from tensor_cpu.system.extension import LIBRARY
from tensor_runtime.form import Form
from tensor_runtime.protocols import Kernel, Operand, Result

TAKES: Final = "tensors with elements; of numbers at equal distances, real floats"
_MANY: Final = 1 << 14  # elements of a result that are worth more than NumPy's one loop


def bind_full(operands: tuple[Operand, ...], result: Result, params: None, /) -> Kernel | None:
    """The kernel that repeats one number; None for few elements.

    >>> from tensor_core import F64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> bind_full((), form_of(F64, (100, 200), CPU), None)(-0.0)[3, :2].tolist()
    [-0.0, -0.0]
    """
    assert isinstance(result, Form)
    if result.size < _MANY:
        return None
    dtype = np.dtype(result.dtype.numpy_name)
    repeat = LIBRARY.bind_copy(result.shape[::-1], (0,) * result.rank, result.dtype.name)
    return ignoring_fp_errors(lambda value: repeat(np.full((), value, dtype)))


def bind_arange(operands: tuple[Operand, ...], result: Result, params: None, /) -> Kernel | None:
    """The kernel of element k, start + k * step, of real floats; None of integers.

    >>> from tensor_core import F64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> bind_arange((), form_of(F64, (3,), CPU), None)(0.5, 0.25).tolist()
    [0.5, 0.75, 1.0]
    """
    assert isinstance(result, Form)
    if result.dtype not in (F32, F64):
        return None

    def spaced(start: float, step: float) -> Array:
        out = empty(result)
        LIBRARY.fill_spaced(out, start, step)
        return out

    return spaced


def bind_linspace(operands: tuple[Operand, ...], result: Result, params: None, /) -> Kernel | None:
    """The kernel of numbers from one end to another, of which the last is the end itself if that belongs to them.

    >>> from tensor_core import F64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> bind_linspace((), form_of(F64, (3,), CPU), None)(0.0, 1.0, True).tolist()
    [0.0, 0.5, 1.0]
    """
    assert isinstance(result, Form)
    count = result.size
    if result.dtype not in (F32, F64) or count == 0:
        return None
    far_apart = bind_numpy("linspace", operands, result, params)

    def spaced(start: float, stop: float, endpoint: bool) -> Array:
        step = (stop - start) / max(count - 1 if endpoint else count, 1)
        if not isfinite(step):
            apart: Array = far_apart(start, stop, endpoint)
            return apart
        out = empty(result)
        LIBRARY.fill_spaced(out, start, step)
        out[0] = start
        if endpoint and count > 1:
            out[-1] = stop
        return out

    return ignoring_fp_errors(spaced)


BINDERS: Final[Mapping[str, NativeBinder]] = {"full": bind_full, "arange": bind_arange, "linspace": bind_linspace}
