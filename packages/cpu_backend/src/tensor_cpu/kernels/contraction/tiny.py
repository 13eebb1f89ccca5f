"""Native small batches of small matrix products, where the call is most of the time (csrc/elementwise).

A product of 4x4 matrices takes a third of the time of ``ndarray.dot``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

from tensor_cpu.kernel_table import MOST_TINY_TERMS, NativeBinder
from tensor_cpu.kernels.axes import FIRST, RESULT, SECOND
from tensor_cpu.system.extension import AVAILABLE, LIBRARY
from tensor_runtime.form import Form
from tensor_runtime.protocols import Kernel, Operand, Result

if TYPE_CHECKING:
    from tensor_runtime.contracts.contraction import ContractParams

_PANEL: Final = LIBRARY.TINY_PANEL if AVAILABLE else 0  # elements of the right factor

Occurrence = tuple[bool, bool, bool]  # in the first operand, in the second, in the result
Group = tuple[int, tuple[int, int, int]]  # extent, and strides in each, in elements

_BATCH: Final = (True, True, True)
_INNER: Final = (True, True, False)
_FREE_A: Final = (True, False, True)
_FREE_B: Final = (False, True, True)
_ABSENT: Final[Group] = (1, (0, 0, 0))


def bind_contract(operands: tuple[Operand, ...], result: Result, params: ContractParams, /) -> Kernel | None:
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
    arranged = _arranged(a, b, result, params)
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


def _arranged(a: Form, b: Form, result: Form, params: ContractParams) -> tuple[bool, TinyProduct] | None:
    """Whether the first operand is the right factor, and the product; None if it is none.

    The right factor has the result's fastest axis.
    """
    groups = _groups(a, b, result, params)
    if groups is None:
        return None
    batch, inner = groups.get(_BATCH), groups.get(_INNER)
    free_a, free_b = groups.get(_FREE_A), groups.get(_FREE_B)
    swapped = free_a is not None and free_a[1][RESULT] == 1
    left, right = (SECOND, FIRST) if swapped else (FIRST, SECOND)
    rows, columns = (free_b, free_a) if swapped else (free_a, free_b)
    if columns is None:
        if rows or batch:  # the fastest axis is in both, or in the other alone
            return None
    elif columns[1][RESULT] != 1:
        return None
    (batches, of_batch), (m, of_rows), (k, of_inner) = batch or _ABSENT, rows or _ABSENT, inner or _ABSENT
    n, of_columns = columns or (1, (1, 1, 1))
    if batches * m * n * k > MOST_TINY_TERMS or n * k > _PANEL:
        return None
    return swapped, TinyProduct(
        batches,
        m,
        n,
        k,
        left_batch=of_batch[left],
        left_row=of_rows[left],
        left_inner=of_inner[left],
        right_batch=of_batch[right],
        right_inner=of_inner[right],
        right_column=of_columns[right],
        out_batch=of_batch[RESULT],
        out_row=of_rows[RESULT],
    )


def _groups(a: Form, b: Form, result: Form, params: ContractParams) -> dict[Occurrence, Group] | None:
    """Axes of the same operands as one; None if they are not evenly spaced. Those of extent 1 are left out.

    This is ``tensor_cpu.kernels.axes.join`` for the only case that tiny products have, in a tenth of the time.
    """
    labels_a, labels_b, labels_out = params
    of_a, of_b = dict(zip(labels_a, a.strides, strict=True)), dict(zip(labels_b, b.strides, strict=True))
    of_out = dict(zip(labels_out, result.strides, strict=True))
    extents = dict(zip((*labels_a, *labels_b), (*a.shape, *b.shape), strict=True))
    inner = [label for label in labels_a if label not in of_out]
    if len(inner) > 1:
        large = of_a if a.size >= b.size else of_b
        inner.sort(key=lambda label: -abs(large[label]))
    groups: dict[Occurrence, Group] = {}
    for label in (*reversed(labels_out), *inner):
        extent = extents[label]
        if extent == 1:
            continue
        occurrence = label in of_a, label in of_b, label in of_out
        strides = of_a.get(label, 0), of_b.get(label, 0), of_out.get(label, 0)
        outer = groups.get(occurrence)
        if outer is not None:
            if outer[1] != (extent * strides[FIRST], extent * strides[SECOND], extent * strides[RESULT]):
                return None
            groups[occurrence] = outer[0] * extent, strides
        else:
            groups[occurrence] = extent, strides
    return groups


BINDERS: Final[Mapping[str, NativeBinder]] = {"contract": bind_contract}
