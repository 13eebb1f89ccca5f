"""Native contractions in other algebras than plus-times, and of truth values (csrc/contraction).

Axes are sorted into four groups (batch, rows, columns, contracted), and the operand that has the result's fastest axis
becomes the right one, whose columns are vectors, unless
it has too few. Operands of another dtype than the result's are converted first.

The loops are those of matrix products. Where nothing is summed, what the algebra calls a product is computed of
broadcast operands by the elementwise machine. Many products of few numbers each, and inner products, are left to
NumPy's kernel, and truth values but for large matrices to the loops that other contractions have.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import prod
from typing import Any, Final

import numpy as np

from tensor_core.dtypes import Bool
from tensor_cpu.kernel_table import NativeBinder
from tensor_cpu.kernels.contraction.loops.broadcast import bind_broadcast, plan_broadcast
from tensor_cpu.storage import NUMPY_DTYPES
from tensor_cpu.system.errstate import ignoring_fp_errors
from tensor_cpu.system.extension import LIBRARY
from tensor_runtime.algebras import MAX_PLUS, MAX_TIMES, MIN_PLUS, OR_AND
from tensor_runtime.backends.shared.axes import (
    FIRST,
    RESULT,
    SECOND,
    Axis,
    by_occurrence,
    extent_of,
    join,
    native,
    row_major,
)
from tensor_runtime.backends.workspaces import with_workspace, workspace_of
from tensor_runtime.contracts.contraction import ContractParams, SemiringContractParams
from tensor_runtime.form import Form, form_of
from tensor_runtime.protocols import Kernel, Operand, Result

TAKES: Final = "the algebras it has loops for"
_ENOUGH: Final = 32  # columns; fewer leave vectors unused
_LARGE: Final = 1 << 22  # terms of a product of truth values
_ALGEBRAS: Final = frozenset({MAX_PLUS, MIN_PLUS, MAX_TIMES, OR_AND})


def bind_semiring_contract(
    operands: tuple[Operand, ...], result: Result, params: SemiringContractParams, /
) -> Kernel | None:
    """The kernel, or None where NumPy's is right: an empty operand, an algebra without loops in C.

    >>> import numpy as np
    >>> from tensor_core import F64
    >>> from tensor_runtime.placement import CPU
    >>> a, b, c = form_of(F64, (2, 1), CPU), form_of(F64, (1, 2), CPU), form_of(F64, (2, 2), CPU)
    >>> kernel = bind_semiring_contract((a, b), c, ((0, 1), (1, 2), (0, 2), MAX_PLUS))
    >>> kernel and kernel(np.array([[1.0, 2.0]]), np.array([[10.0], [20.0]])).tolist()
    [[11.0, 12.0], [21.0, 22.0]]
    """
    x, y = operands
    labels_a, labels_b, labels_out, algebra = params
    if not (isinstance(x, Form) and isinstance(y, Form) and isinstance(result, Form)) or algebra not in _ALGEBRAS:
        return None
    if 0 in x.shape or 0 in y.shape:
        return None
    dtype = NUMPY_DTYPES[result.dtype]
    forms = [
        form if form.dtype is result.dtype else form_of(result.dtype, form.shape, form.placement) for form in (x, y)
    ]
    out = row_major(labels_out[::-1], result.shape[::-1], dtype.name)
    axes = join(native(forms[0], labels_a), native(forms[1], labels_b), out)
    batch, _, of_first, of_second = by_occurrence(axes)
    inner = [axis for axis in axes if axis.strides[RESULT] is None]
    swapped = _gives_columns(of_first, of_second)
    rows, columns = (of_second, of_first) if swapped else (of_first, of_second)
    order = (SECOND, FIRST, RESULT) if swapped else (FIRST, SECOND, RESULT)
    groups = tuple(_group(group, order) for group in (batch, rows, columns, inner))
    kernel: Kernel = LIBRARY.bind_semiring(algebra.name, result.dtype.name, out.shape, groups, swapped)
    first, second = (form.dtype is not result.dtype for form in (x, y))
    converted = (x.size if first else 0) + (y.size if second else 0)
    if not converted:
        return kernel
    converting = ignoring_fp_errors(_converting(kernel, dtype, first, second))
    return with_workspace(converting, converted * dtype.itemsize + workspace_of(kernel))


def bind_where_it_pays(
    operands: tuple[Operand, ...], result: Result, params: SemiringContractParams, /
) -> Kernel | None:
    """The same kernel, or None also where others take less time.

    >>> from tensor_core import F64
    >>> from tensor_runtime.placement import CPU
    >>> line, square = form_of(F64, (5000,), CPU), form_of(F64, (50, 50), CPU)
    >>> bind_where_it_pays((line, line), form_of(F64, (), CPU), ((0,), (0,), (), MAX_PLUS)) is None
    True
    >>> bind_where_it_pays((square, square), square, ((0, 1), (1, 2), (0, 2), MAX_PLUS)) is None
    False
    """
    x, y = operands
    if isinstance(x, Form) and isinstance(y, Form):
        if isinstance(result, Form):
            without_sum = _bind_without_sum(x, y, result, params)
            if without_sum is not None:
                return without_sum
        if _is_left_to_others(x, y, params):
            return None
    return bind_semiring_contract(operands, result, params)


def _bind_without_sum(x: Form, y: Form, result: Form, params: SemiringContractParams) -> Kernel | None:
    """The algebra's product of two numbers for each element; None where something is summed, or types differ."""
    labels_a, labels_b, labels_out, algebra = params
    if algebra not in _ALGEBRAS or result.dtype is Bool or not set(labels_out).issuperset((*labels_a, *labels_b)):
        return None
    if 0 in result.shape:
        return None
    first, second = native(x, labels_a), native(y, labels_b)
    out = row_major(labels_out[::-1], result.shape[::-1], NUMPY_DTYPES[result.dtype].name)
    plan = plan_broadcast(join(first, second, out), first, second, out, by_pairs=False)
    return None if plan is None else bind_broadcast(plan, out, algebra.multiplication)


def _is_left_to_others(x: Form, y: Form, params: SemiringContractParams) -> bool:
    """Whether these loops take longer, by what was measured.

    Each product takes 0.15 microseconds besides its terms, and an inner product, which has one column, 16 nanoseconds a
    term; NumPy's kernel takes 12 microseconds once, and one to a few nanoseconds a term. Other loops take truth values
    one by one and stop where the answer is known.
    """
    labels_a, labels_b, labels_out, algebra = params
    extents = dict(zip((*labels_a, *labels_b), (*x.shape, *y.shape), strict=True))
    a, b, out = set(labels_a), set(labels_b), set(labels_out)

    def extent(labels: Iterable[int]) -> int:
        return prod([extents[label] for label in labels])

    products, inner = extent(a & b & out), extent((a & b) - out)
    rows, columns = extent((a - b) & out), extent((b - a) & out)
    if algebra is OR_AND:
        return min(rows, columns) == 1 or rows * columns * inner <= _LARGE
    if rows * columns == 1:
        return products * (9 + inner) > 1000
    return inner == 1 and rows * columns <= 256 and products * (15 + rows * columns) > 1600


def _converting(kernel: Kernel, dtype: np.dtype[Any], first: bool, second: bool) -> Kernel:
    """The kernel after the conversion of the operands that need one, of which there is at least one."""
    if first and second:
        return lambda x, y: kernel(x.astype(dtype, order="C"), y.astype(dtype, order="C"))
    if first:
        return lambda x, y: kernel(x.astype(dtype, order="C"), y)
    return lambda x, y: kernel(x, y.astype(dtype, order="C"))


def bind_contract(operands: tuple[Operand, ...], result: Result, params: ContractParams, /) -> Kernel | None:
    """The kernel of a contraction of truth values, which is one in or-and; None for other dtypes.

    A label of one operand alone is left to NumPy's kernel, which sums over it first.

    >>> import numpy as np
    >>> from tensor_core import Bool
    >>> from tensor_runtime.placement import CPU
    >>> form = form_of(Bool, (200, 200), CPU)
    >>> kernel = bind_contract((form, form), form, ((0, 1), (1, 2), (0, 2)))
    >>> kernel and kernel(np.eye(200, dtype=bool), np.ones((200, 200), bool)).all().item()
    True
    """
    if not isinstance(result, Form) or result.dtype is not Bool:
        return None
    labels_a, labels_b, labels_out = params
    if set(labels_a) ^ set(labels_b) != set(labels_out) - (set(labels_a) & set(labels_b)):
        return None
    return bind_where_it_pays(operands, result, SemiringContractParams(*params, OR_AND))


def _gives_columns(first: Sequence[Axis], second: Sequence[Axis]) -> bool:
    """Whether the first operand rather than the second should give the columns: enough of them, then close ones."""

    def suitability(axes: Sequence[Axis]) -> tuple[int, bool, int]:
        return min(extent_of(axes), _ENOUGH), any(axis.strides[RESULT] == 1 for axis in axes), extent_of(axes)

    return suitability(first) > suitability(second)


def _group(axes: Sequence[Axis], roles: tuple[int, int, int]) -> tuple[tuple[int, int, int, int], ...]:
    """What csrc/contraction/groups.c reads, with the roles in this order."""
    first, second, third = roles
    return tuple(
        (axis.extent, axis.strides[first] or 0, axis.strides[second] or 0, axis.strides[third] or 0) for axis in axes
    )


BINDERS: Final[Mapping[str, NativeBinder]] = {
    "semiring_contract": bind_where_it_pays,
    "contract": bind_contract,
}
