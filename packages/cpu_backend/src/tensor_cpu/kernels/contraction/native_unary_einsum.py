"""Native copies that permute labels and read diagonals (csrc/copy), and sums over labels (csrc/reduction)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from tensor_core.dtypes import I32, I64, Bool
from tensor_cpu.kernel_table import NativeBinder
from tensor_cpu.kernels.reduction.native import bind_reduction
from tensor_cpu.system.extension import LIBRARY
from tensor_runtime.backends.shared.axes import Labels, native
from tensor_runtime.backends.workspaces import one_after_another, with_workspace, workspace_of
from tensor_runtime.form import Form, form_of
from tensor_runtime.protocols import Kernel, Operand, Result

_LESS: Final = 4
"""How much less memory two sums must take than one of a copy, which is faster where few neighbours are summed first."""
TAKES: Final = "sums and diagonals of one operand with long neighbours"


def bind_unary_einsum(operands: tuple[Operand, ...], result: Result, params: tuple[Any, ...], /) -> Kernel | None:
    """The kernel that permutes labels, reads diagonals and sums over labels; None where it would repeat one.

    >>> import numpy as np
    >>> from tensor_core import F64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> matrix, vector = form_of(F64, (2, 2), CPU), form_of(F64, (2,), CPU)
    >>> bind_unary_einsum((matrix,), vector, ((0, 0), (0,)))(np.array([[1.0, 2.0], [3.0, 4.0]])).tolist()
    [1.0, 4.0]
    >>> bind_unary_einsum((vector,), matrix, ((0,), (0, 0))) is None
    True
    """
    (form,) = operands
    assert isinstance(form, Form)
    assert isinstance(result, Form)
    labels_in, labels_out, *algebra = params  # whose sums and zero are not asked for here
    if not algebra and {*labels_out} < {*labels_in}:
        return _sum(*_diagonal(form, labels_in), result, labels_out)
    if {*labels_in} != {*labels_out} or len({*labels_out}) < len(labels_out) or form.dtype is not result.dtype:
        return None
    operand = native(form, labels_in)
    steps = dict.fromkeys(operand.labels, 0)
    for label, stride in zip(operand.labels, operand.strides, strict=True):
        steps[label] += stride
    strides = tuple(steps[label] for label in reversed(labels_out))
    return LIBRARY.bind_copy(result.shape[::-1], strides, result.dtype.name)


def _diagonal(form: Form, labels: Labels) -> tuple[Form, Labels]:
    """The form of the diagonal that repeated labels read, at the operand's own address; and distinct labels.

    >>> from tensor_core import F64
    >>> from tensor_runtime.placement import CPU
    >>> _diagonal(form_of(F64, (3, 2, 3), CPU), (0, 1, 0))
    (Form(F64, (3, 2), strides=(7, 3), cpu), (0, 1))
    """
    distinct = tuple(dict.fromkeys(labels))
    if len(distinct) == len(labels):
        return form, labels
    steps = dict.fromkeys(distinct, 0)
    for label, stride in zip(labels, form.strides, strict=True):
        steps[label] += stride
    shape = tuple([form.shape[labels.index(label)] for label in distinct])
    return form_of(form.dtype, shape, form.placement, tuple(steps.values())), distinct


def _sum(form: Form, labels_in: Labels, result: Form, labels_out: Labels) -> Kernel | None:
    """The sum over the labels left out, and a copy in the order of the result where that is another one."""
    kept = tuple(label for label in labels_in if label in labels_out)
    if len(kept) != len(labels_out):
        return None
    shape = tuple(form.shape[labels_in.index(label)] for label in kept)
    summed = form_of(result.dtype, shape, result.placement)
    axes = tuple(axis for axis, label in enumerate(labels_in) if label not in labels_out)
    total = _total(form, summed, axes)
    if total is None or kept == labels_out:
        return total
    order = tuple(kept.index(label) for label in reversed(labels_out))
    copy = LIBRARY.bind_copy(result.shape[::-1], tuple(summed.strides[axis] for axis in order), result.dtype.name)
    return one_after_another(total, copy, summed.nbytes, result.nbytes)


def _total(form: Form, result: Form, axes: tuple[int, ...]) -> Kernel | None:
    """The sum over some axes: over neighbours in memory first, where a sum over all at once would copy the operand.

    What is added up on the way is rounded to the dtype, once for each axis. Sums of I32 wrap, as the I64 does that they
    are made in, and of Bool they are ors.
    """
    if form.dtype is I32 and result.dtype is I32:
        wide = _total(form, form_of(I64, result.shape, result.placement), axes)
        if wide is None:
            return None
        return with_workspace(lambda x: wide(x).astype(np.int32), workspace_of(wide) + 2 * result.nbytes)
    if form.dtype is Bool:
        return bind_reduction("any", form, result, (axes, False))
    total = bind_reduction("sum", form, result, (axes, False))
    first, *others = sorted(axes, key=lambda axis: abs(form.strides[axis]))
    copied = form.size * form.dtype.itemsize
    if total is None or not others or workspace_of(total) < copied:
        return total
    shape = form.shape[:first] + form.shape[first + 1 :]
    rest = form_of(result.dtype, shape, result.placement)
    near = bind_reduction("sum", form, rest, (first, False))
    far = _total(rest, result, tuple([axis - (axis > first) for axis in others]))
    if near is None or far is None:
        return total
    both = one_after_another(near, far, rest.nbytes, result.nbytes)
    return both if workspace_of(both) * _LESS < workspace_of(total) else total


BINDERS: Final[Mapping[str, NativeBinder]] = {
    "unary_einsum": bind_unary_einsum,
    "semiring_unary_einsum": bind_unary_einsum,
}
