"""Reductions of large operands over axes that lie together in memory.

Sums and products are cascaded: their error grows with the logarithm of the number of elements, and they are the same
for every number of threads. Other layouts, and complex sums along the fastest axis, are left to NumPy.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from tensor_core.dtypes import Bool
from tensor_cpu.arrays import NUMPY_DTYPES
from tensor_cpu.extension import AVAILABLE, LIBRARY
from tensor_cpu.quiet import quiet
from tensor_runtime.form import Form
from tensor_runtime.protocols import Kernel, Operand
from tensor_runtime.rules import Reduction, reduced_axes

SMALLEST: Final = 1 << 14
"""Elements of an operand from which reductions run here."""
_SHORT: Final = 8  # elements

Group = tuple[int, int, bool]
"""Extent, stride, and whether it is reduced."""


def fused_groups(form: Form, axes: tuple[int, ...], /) -> list[Group]:
    """Axes of the twin, outermost first, neighbours of one kind fused where one stride describes them.

    >>> from tensor_core import F64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> fused_groups(form_of(F64, (2, 3, 4, 1), CPU), (0, 1))
    [(4, 6, False), (6, 1, True)]
    """
    groups: list[Group] = []
    for axis in reversed(range(form.rank)):
        extent, stride, reduced = form.shape[axis], form.strides[axis], axis in axes
        if extent == 1:
            continue
        if groups and groups[-1][2] is reduced and groups[-1][1] == stride * extent:
            groups[-1] = (groups[-1][0] * extent, stride, reduced)
        else:
            groups.append((extent, stride, reduced))
    return groups


def extents_and_strides(groups: list[Group], /) -> tuple[int, int, int, int, int] | None:
    """Extents (outer, reduced, inner) and the strides of the first two, where groups have that form.

    >>> extents_and_strides([(4, 6, False), (6, 1, True)])
    (4, 6, 1, 6, 1)
    >>> extents_and_strides([(5, 3, True), (3, 1, False)])
    (1, 5, 3, 0, 3)
    >>> extents_and_strides([(5, 3, True), (3, 2, False)]) is None
    True
    """
    places = [k for k, (_, _, reduced) in enumerate(groups) if reduced]
    if len(places) != 1 or len(groups) > 3 or places[0] > 1 or len(groups) - places[0] > 2:
        return None
    if groups[-1][1] != 1:
        return None
    outer, outer_stride = groups[0][:2] if places[0] == 1 else (1, 0)
    rows, row_stride, _ = groups[places[0]]
    inner = groups[-1][0] if places[0] != len(groups) - 1 else 1
    return outer, rows, inner, outer_stride, row_stride


def too_short(name: str, found: tuple[int, int, int, int, int], /) -> bool:
    """Whether each result is folded from so few elements side by side that NumPy is as fast.

    >>> too_short("sum", (1000, 100, 1, 100, 1)), too_short("max", (1000, 100, 1, 100, 1))
    (True, False)
    """
    _, rows, inner, _, row_stride = found
    if inner == 1:
        return rows < (128 if name in ("sum", "prod") else 16) or row_stride != 1
    return inner < _SHORT and (rows * inner < 2 * _SHORT or row_stride != inner)


def bind_reduction(name: str, form: Form, result: Form, detail: Reduction, /) -> Kernel | None:
    """The kernel of a reduction; None where NumPy's is the better one.

    >>> from tensor_core import F64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> import numpy as np
    >>> kernel = bind_reduction("sum", form_of(F64, (300, 100), CPU), form_of(F64, (100,), CPU), (0, False))
    >>> kernel is None or kernel(np.ones((100, 300)))[7].item() == 300
    True
    """
    if not AVAILABLE or form.size < SMALLEST or form.dtype.kind == "complex" or result.dtype is Bool:
        return None
    groups = fused_groups(form, reduced_axes(name, form.rank, detail[0]))
    found = extents_and_strides(groups)
    if found is None or too_short(name, found):
        return None
    kernel: Kernel = LIBRARY.reduce(name, form.dtype.name, result.shape[::-1], result.dtype.name, found)
    return kernel


def bind_mean(operands: tuple[Operand, ...], result: Any, detail: Any, /) -> Kernel | None:
    """The kernel of a mean of floating elements: the native sum, divided by the number of elements.

    >>> from tensor_core import F64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> import numpy as np
    >>> kernel = bind_mean((form_of(F64, (300, 100), CPU),), form_of(F64, (100,), CPU), (0, False))
    >>> kernel is None or kernel(np.full((100, 300), 7.0))[7].item() == 7
    True
    """
    (form,) = operands
    assert isinstance(form, Form)
    total = bind_reduction("sum", form, result, detail) if form.dtype is result.dtype else None
    if total is None or result.size == 0:
        return None
    count = NUMPY_DTYPES[result.dtype].type(form.size // result.size)

    def mean(x: Any) -> Any:
        sums = total(x)
        return np.divide(sums, count, out=sums)

    return quiet(mean)


def _binder(name: str) -> Callable[[tuple[Operand, ...], Any, Any], Kernel | None]:
    def bind(operands: tuple[Operand, ...], result: Any, detail: Any, /) -> Kernel | None:
        assert isinstance(operands[0], Form)
        return bind_reduction(name, operands[0], result, detail)

    return bind


BINDERS: Final[Mapping[str, Callable[[tuple[Operand, ...], Any, Any], Kernel | None]]] = {
    **{name: _binder(name) for name in ("sum", "prod", "max", "min")},
    "mean": bind_mean,
}
"""Native binders by operation."""
