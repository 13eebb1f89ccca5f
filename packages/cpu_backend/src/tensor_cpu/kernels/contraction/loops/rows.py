"""Products of two operands in which nothing is summed and one is a number along each row of the result, in C.

So are outer and Kronecker products, whose rows may be short: the elementwise machine (csrc/elementwise) walks several
axes of such rows in one loop.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from tensor_cpu.system.extension import AVAILABLE, LIBRARY
from tensor_runtime.backends.shared.axes import Operand

_DTYPES: Final = {"float32": ("F32", 4), "float64": ("F64", 8)}
_SMALLEST: Final = 1 << 14
"""Elements of a result from which it is worth another kernel."""


def bind_rows(x: Operand, y: Operand, result: Operand, /) -> Callable[[Any, Any], Any] | None:
    """The kernel; None where neither operand is a number along rows, or the product is small, or main memory has it.

    >>> from tensor_runtime.backends.shared.axes import row_major
    >>> x, y = row_major((0,), (300,), "float64"), row_major((1,), (400,), "float64")
    >>> kernel = bind_rows(x, y, row_major((0, 1), (300, 400), "float64"))
    >>> import numpy as np
    >>> kernel is None or kernel(np.ones(300), np.full(400, 2.0)).sum().item() == 240000
    True
    """
    if not AVAILABLE or result.size < _SMALLEST:
        return None
    if result.dtype not in _DTYPES or not x.dtype == y.dtype == result.dtype:
        return None
    name, item = _DTYPES[result.dtype]
    if (result.size + x.size + y.size) * item >= LIBRARY.far_bytes():
        return None
    strides = [_strides(operand, result) for operand in (x, y)]
    if sorted(line[-1] for line in strides) != [0, 1]:
        return None
    forms = tuple((line, name) for line in strides)
    return LIBRARY.bind_elementwise(result.shape, name, forms, (("multiply", name, 2, 0, 1, 1),), ())


def _strides(operand: Operand, result: Operand, /) -> tuple[int, ...]:
    """Along the axes of the result, in elements."""
    known = dict(zip(operand.labels, operand.strides, strict=True))
    return tuple(known.get(label, 0) for label in result.labels)
