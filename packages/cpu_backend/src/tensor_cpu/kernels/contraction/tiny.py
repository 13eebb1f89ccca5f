"""Native small batches of small matrix products, where the call is most of the time (csrc/elementwise).

A product of 4x4 matrices takes a third of the time of ``ndarray.dot``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from tensor_cpu.kernel_table import NativeBinder
from tensor_cpu.kernels.axes import FIRST, RESULT, SECOND, Axis, join, native, row_major
from tensor_cpu.system.extension import LIBRARY
from tensor_runtime.form import Form
from tensor_runtime.protocols import Kernel, Operand, Result

_MOST_TERMS: Final = 4096  # multiplications of a product: beyond, BLAS catches up
_PANEL: Final = 960  # elements of the right factor; TINY_PANEL in tiny.h


def bind_contract(operands: tuple[Operand, ...], result: Result, params: Any, /) -> Kernel | None:
    """The kernel of a contraction that is a small batch of small matrix products.

    >>> import numpy as np
    >>> from tensor_core import F64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> a, b, c = form_of(F64, (2, 3), CPU), form_of(F64, (3, 1), CPU), form_of(F64, (2, 1), CPU)
    >>> kernel = bind_contract((a, b), c, ((0, 1), (1, 2), (0, 2)))
    >>> kernel(np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), np.array([[1.0, 10.0, 100.0]])).tolist()
    [[531.0, 642.0]]
    """
    a, b = operands
    if not isinstance(a, Form) or not isinstance(b, Form) or not isinstance(result, Form) or not a.size or not b.size:
        return None
    if not (a.dtype is b.dtype is result.dtype) or result.dtype.kind == "bool":
        return None
    labels_a, labels_b, labels_out = params
    if not {*labels_a} ^ {*labels_b} <= {*labels_out}:
        return None
    x, y = native(a, labels_a), native(b, labels_b)
    out = row_major(labels_out[::-1], result.shape[::-1], result.dtype.numpy_name)
    arranged = _arranged(join(x, y, out))
    if arranged is None:
        return None
    swapped, product = arranged
    return LIBRARY.bind_tiny_product(result.shape[::-1], result.dtype.name, swapped, product)


class TinyProduct(NamedTuple):
    """A batch of matrix products; csrc/elementwise/tiny.h has the same struct, and tiny.c reads it by these names.

    Extents of the four kinds of axes, then strides in the left operand, in the right one, and in the result, whose
    columns are neighbours. A stride of an axis that an operand lacks is 0.
    """

    batches: int
    rows: int
    columns: int
    inner: int
    left_batch: int
    left_row: int
    left_inner: int
    right_batch: int
    right_inner: int
    right_column: int
    out_batch: int
    out_row: int


def _arranged(axes: Sequence[Axis]) -> tuple[bool, TinyProduct] | None:
    """Whether the first operand is the right factor, and the product; None if it is none.

    The right factor has the result's fastest axis.
    """
    batch = [axis for axis in axes if axis.occurs(FIRST, SECOND, RESULT)]
    inner = [axis for axis in axes if axis.occurs(FIRST, SECOND)]
    free = [[axis for axis in axes if axis.occurs(role, RESULT)] for role in (FIRST, SECOND)]
    if max(map(len, (batch, inner, *free))) > 1:
        return None
    swapped = bool(free[FIRST]) and free[FIRST][0].strides[RESULT] == 1
    left, right = (SECOND, FIRST) if swapped else (FIRST, SECOND)
    rows, columns = free[left], free[right]
    if (columns or rows or batch) and not columns:  # the fastest axis is in both, or in the other alone
        return None
    if columns and columns[0].strides[RESULT] != 1:
        return None
    extents = [group[0].extent if group else 1 for group in (batch, rows, columns, inner)]
    batches, m, n, k = extents
    if batches * m * n * k > _MOST_TERMS or n * k > _PANEL:
        return None

    def stride(group: Sequence[Axis], role: int) -> int:
        return (group[0].strides[role] or 0) if group else 0

    return swapped, TinyProduct(
        batches,
        m,
        n,
        k,
        left_batch=stride(batch, left),
        left_row=stride(rows, left),
        left_inner=stride(inner, left),
        right_batch=stride(batch, right),
        right_inner=stride(inner, right),
        right_column=stride(columns, right) if columns else 1,
        out_batch=stride(batch, RESULT),
        out_row=stride(rows, RESULT),
    )


BINDERS: Final[Mapping[str, NativeBinder]] = {"contract": bind_contract}
