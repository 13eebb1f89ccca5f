"""Native copies of one side of a diagonal, with zeros on the other (csrc/copy)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tensor_core.shapes import normalize_axes
from tensor_cpu.kernel_table import NativeBinder
from tensor_cpu.system.extension import LIBRARY
from tensor_runtime.form import Form
from tensor_runtime.ops.diagonals import Triangle
from tensor_runtime.protocols import Kernel, Operand, Result

TAKES: Final = "every form"


def bind_triangle(operands: tuple[Operand, ...], result: Result, params: Triangle, upper: bool, /) -> Kernel:
    """Line by line along the faster of both axes, of which a part is kept and the rest is zeros.

    >>> import numpy as np
    >>> from tensor_core import I64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> form = form_of(I64, (2, 2), CPU)
    >>> bind_triangle((form,), form, (0, (0, 1)), False)(np.array([[1, 3], [2, 4]])).tolist()
    [[1, 3], [0, 4]]
    """
    (form,) = operands
    assert isinstance(form, Form) and isinstance(result, Form)
    k, axes = params
    rows, columns = normalize_axes(axes, result.rank, "triu" if upper else "tril")
    if rows < columns:  # a line is a column: what lies at row j - k, for column j, or behind it is the lower side
        fast, slow, behind = rows, columns, not upper
        shift = (1 if upper else 0) - k
    else:
        fast, slow, behind = columns, rows, upper
        shift = (0 if upper else 1) + k
    bound = result.shape[rows] + result.shape[columns]
    place = result.rank - 1
    return LIBRARY.bind_triangle(
        result.shape[::-1],
        result.dtype.name,
        form.strides[::-1],
        place - slow,
        place - fast,
        min(max(shift, -bound), bound),  # k may be any int
        behind,
    )


BINDERS: Final[Mapping[str, NativeBinder]] = {
    "tril": lambda operands, result, params: bind_triangle(operands, result, params, False),
    "triu": lambda operands, result, params: bind_triangle(operands, result, params, True),
}
