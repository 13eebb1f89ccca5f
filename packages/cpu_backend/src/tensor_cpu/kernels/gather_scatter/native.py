"""Native kernels that choose elements by index values (csrc/lines)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from tensor_core.dtypes import I64, Bool
from tensor_cpu.kernel_table import NativeBinder, bind, bind_numpy
from tensor_cpu.kernels.scan.native import lines_of
from tensor_cpu.system.extension import LIBRARY
from tensor_runtime.backends.workspaces import with_workspace
from tensor_runtime.form import Form, form_of
from tensor_runtime.protocols import Counted, Kernel, Operand

TAKES: Final = "indices of I64 along one axis; lines of Bool without gaps"


def bind_take_along_axis(operands: tuple[Operand, ...], result: Any, params: Any, /) -> Kernel | None:
    """Elements at indices of each line's own; None of operands with gaps, or that broadcast.

    >>> import numpy as np
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> form = form_of(I64, (2, 2), CPU)
    >>> kernel = bind_take_along_axis((form, form), form, (1,))  # of [[10, 20], [30, 40]] at [[1, 0], [-1, -1]]
    >>> kernel(np.array([[10, 30], [20, 40]]), np.array([[1, -1], [0, -1]])).T.tolist()
    [[20, 10], [40, 40]]
    """
    form, index = operands
    assert isinstance(form, Form)
    assert isinstance(index, Form)
    axis = params[0]
    if axis is None or index.dtype is not I64 or not (form.is_compact and index.is_compact):
        return None
    along = axis % form.rank
    if form.size == 0 or index.size == 0 or index.rank != form.rank:
        return None
    if any(form.shape[k] != index.shape[k] for k in range(form.rank) if k != along):
        return None
    outer, length, inner = lines_of(form.shape, (along,)) or (0, 0, 0)
    fallback = bind_numpy("take_along_axis", operands, result, params)
    extents = (outer, length, inner, index.shape[along])
    return LIBRARY.bind_take_along(form.dtype.name, extents, result.shape[::-1], fallback)


def bind_nonzero(operands: tuple[Operand, ...], result: Any, params: None, /) -> Kernel | None:
    """Places of what is true, or not 0, in a line; None of other ranks, and of truths with gaps.

    >>> import numpy as np
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> kernel = bind_nonzero((form_of(Bool, (3,), CPU),), (form_of(I64, (3,), CPU),), None)
    >>> found = kernel(np.array([True, False, True]))
    >>> found.count, found.arrays[0].tolist()
    (2, [0, 2])
    """
    (form,) = operands
    assert isinstance(form, Form)
    if form.rank != 1:
        return None
    places = LIBRARY.bind_true(form.size)

    def found(x: Any) -> Counted:
        indices = places(x)
        return Counted((indices,), indices.size)

    if form.dtype is Bool:
        return found if form.is_compact else None
    differs = bind("not_equal", (form, int), form_of(Bool, form.shape, form.placement), None)
    return with_workspace(lambda x: found(differs(x, 0)), form.size)


BINDERS: Final[Mapping[str, NativeBinder]] = {"nonzero": bind_nonzero, "take_along_axis": bind_take_along_axis}
