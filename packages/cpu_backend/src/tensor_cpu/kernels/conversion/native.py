"""Native kernels that change the dtype (csrc/copy)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Final

from tensor_core.dtypes import I32, I64, Bool
from tensor_cpu.kernel_table import NativeBinder, bind, bind_numpy
from tensor_cpu.kernels.views import native as views
from tensor_cpu.system.extension import LIBRARY
from tensor_runtime.form import Form
from tensor_runtime.protocols import Kernel, Operand, Result

if TYPE_CHECKING:
    from tensor_runtime.contracts.views import ConvertParams


TAKES: Final = "pairs of dtypes and layouts that one pass converts"


def _bind(name: str, operands: tuple[Operand, ...], result: Result, params: ConvertParams, /) -> Kernel | None:
    """The kernel that changes the dtype; where a value does not fit, it asks NumPy's kernel, which finds which one.

    >>> import numpy as np
    >>> from tensor_core import C64, F64, I32
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> integers, numbers = form_of(I32, (3,), CPU, (-1,)), form_of(C64, (3,), CPU)
    >>> BINDERS["convert"]((integers,), numbers, None)(np.array([1, 2, 3], np.int32)[::-1]).tolist()
    [(3+0j), (2+0j), (1+0j)]
    >>> BINDERS["cast"]((form_of(F64, (1,), CPU),), form_of(I32, (1,), CPU), ("saturate",))(np.array([1e300])).tolist()
    [2147483647]
    """
    (form,) = operands
    assert isinstance(form, Form)
    assert isinstance(result, Form)
    if form.dtype is result.dtype:
        return views.bind_copy(operands, result, None)
    if form.dtype.kind == "complex" and result.dtype is Bool:
        compare = bind("not_equal", (form, int), result, None)
        return lambda x: compare(x, 0)
    fallback = bind_numpy(name, operands, result, params) if result.dtype in (I32, I64) else None
    return LIBRARY.bind_convert(form.shape[::-1], form.strides[::-1], form.dtype.name, result.dtype.name, fallback)


BINDERS: Final[Mapping[str, NativeBinder]] = {
    "convert": partial(_bind, "convert"),
    "cast": partial(_bind, "cast"),
}
