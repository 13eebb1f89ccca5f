"""Native lines in order, indices that sort, and places in sorted lines (csrc/lines: sorting.c, order.c, search.c)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from tensor_core.dtypes import F32, F64, I32, I64
from tensor_cpu.kernel_table import NativeBinder
from tensor_cpu.kernels.scan.native import lines_of
from tensor_cpu.kernels.sort.numpy import MOST_AXES_IN_ORDER
from tensor_cpu.system.extension import LIBRARY
from tensor_runtime.form import Form
from tensor_runtime.protocols import Kernel, Operand

if TYPE_CHECKING:
    from tensor_runtime.contracts.gather_scatter import SortParams

TAKES: Final = "real numbers without gaps; of indices that sort, along one axis, in lines of 1 to 8,388,608"
_MANY: Final = 1 << 23  # elements of a line: beyond, the keys, of 40 bytes for each, would take more than 320 MiB


def bind_sort(operands: tuple[Operand, ...], result: Any, params: SortParams, /) -> Kernel | None:
    """Lines in order along an axis, least first; None of complex numbers, Bool, gaps, no elements and many axes.

    >>> import numpy as np
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> form = form_of(F64, (2, 2), CPU)
    >>> bind_sort((form,), form, (1, False))(np.array([[1.0, 3.0], [0.0, 4.0]])).tolist()
    [[0.0, 3.0], [1.0, 4.0]]
    """
    (form,) = operands
    assert isinstance(form, Form)
    axis, descending = params
    if form.dtype not in (F32, F64, I32, I64) or not form.is_compact or (axis is None and form.rank != 1):
        return None
    if descending or not form.size or form.rank > MOST_AXES_IN_ORDER:
        return None
    place = 0 if axis is None else form.rank - 1 - axis % form.rank
    return LIBRARY.bind_sort(form.dtype.name, place, form.shape[::-1])


def bind_argsort(operands: tuple[Operand, ...], result: Any, params: SortParams, /) -> Kernel | None:
    """Indices that sort lines along an axis, stable; None of complex numbers, Bool, gaps and no elements.

    >>> import numpy as np
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> form = form_of(I64, (50,), CPU)
    >>> bind_argsort((form,), form, (0, True))(np.arange(50) % 25)[:4].tolist()
    [24, 49, 23, 48]
    """
    (form,) = operands
    assert isinstance(form, Form)
    axis, descending = params
    if form.dtype not in (F32, F64, I32, I64) or not form.is_compact or (axis is None and form.rank != 1):
        return None
    outer, length, inner = lines_of(form.shape, (0 if axis is None else axis % form.rank,)) or (0, 0, 0)
    if not 1 <= length <= _MANY or outer * inner == 0:
        return None
    return LIBRARY.bind_argsort(form.dtype.name, (outer, length, inner), descending, result.shape[::-1])


def bind_searchsorted(side: str, operands: tuple[Operand, ...], result: Any, /) -> Kernel | None:
    """Where values belong in a sorted line; None of two dtypes, complex numbers, Bool, gaps and no elements.

    >>> import numpy as np
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> line, values = form_of(F64, (3,), CPU), form_of(F64, (2,), CPU)
    >>> kernel = bind_searchsorted("right", (line, values), form_of(I64, (2,), CPU))
    >>> kernel(np.array([1.0, 2.0, 3.0]), np.array([2.0, 2.5])).tolist()
    [2, 2]
    """
    line, values = operands
    assert isinstance(line, Form)
    assert isinstance(values, Form)
    dtype = line.dtype
    if values.dtype is not dtype or dtype not in (F32, F64, I32, I64) or 0 in (line.size, values.size):
        return None
    if not (line.is_compact and values.is_compact):
        return None
    return LIBRARY.bind_search(side, dtype.name, line.size, result.shape[::-1])


BINDERS: Final[Mapping[str, NativeBinder]] = {
    "sort": bind_sort,
    "argsort": bind_argsort,
    "searchsorted_left": lambda operands, result, params: bind_searchsorted("left", operands, result),
    "searchsorted_right": lambda operands, result, params: bind_searchsorted("right", operands, result),
}
