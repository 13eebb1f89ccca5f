"""Native copies of an array into the middle of one value (csrc/copy)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

from tensor_cpu.kernel_table import NativeBinder
from tensor_cpu.storage import NUMPY_DTYPES
from tensor_cpu.system.extension import LIBRARY
from tensor_runtime.form import Form
from tensor_runtime.ops.padding import Padding
from tensor_runtime.protocols import Kernel, Operand, Result

TAKES: Final = "padding around elements, none between them"


def bind_pad(operands: tuple[Operand, ...], result: Result, params: Padding, /) -> Kernel | None:
    """One value around an array, every element written once; None where it comes between elements, too.

    >>> import numpy as np
    >>> from tensor_core import I64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> kernel = bind_pad((form_of(I64, (3,), CPU),), form_of(I64, (4,), CPU), ((2,), (-1,), (0,)))
    >>> kernel(np.array([1, 2, 3]), 7).tolist()
    [7, 7, 1, 2]
    """
    form = operands[0]  # the value comes with the call
    assert isinstance(form, Form) and isinstance(result, Form)
    lows, _, between = params
    if any(between):
        return None
    name, dtype = result.dtype.name, NUMPY_DTYPES[result.dtype]
    padded = LIBRARY.bind_padded(result.shape[::-1], name, form.shape[::-1], form.strides[::-1], lows[::-1])
    return lambda x, value: padded(x, np.asarray(value, dtype))


BINDERS: Final[Mapping[str, NativeBinder]] = {"pad": bind_pad}
