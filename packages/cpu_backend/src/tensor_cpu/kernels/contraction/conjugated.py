"""Contraction of the conjugates of one operand's elements with another operand: the kernel "conj_contract".

Where the product is one that BLAS computes, it reads the elements so. Otherwise they are conjugated in a copy, which
lies as the operand does: conj(a) b = conj(a conj(b)), so either operand may be, and the smaller amount of elements is:
those of a, or those of b (none, if b is real) and of the result, in place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from tensor_cpu import kernel_table
from tensor_cpu.kernel_table import Binder
from tensor_cpu.kernels.contraction import choice
from tensor_runtime.backends.shared.axes import Labels
from tensor_runtime.backends.workspaces import with_workspace, workspace_of
from tensor_runtime.contracts.contraction import ContractParams
from tensor_runtime.form import Form, form_of

Kernel = Callable[[Any, Any], Any]


def bind_conj_contract(operands: tuple[Form, Form], result: Form, params: tuple[Labels, Labels, Labels], /) -> Kernel:
    """Kernel of the sum of products of conj(a) and b.

    Args:
        operands: forms with any strides, the first of a complex dtype.
        result: a compact form of a complex dtype.
        params: labels as for ``contract``.

    Returns:
        A function of two native arrays that returns a new native array. It never warns, and says its workspace.

    >>> from tensor_core import C64
    >>> from tensor_runtime.placement import CPU
    >>> vector, number = form_of(C64, (2,), CPU), form_of(C64, (), CPU)
    >>> kernel = bind_conj_contract((vector, vector), number, ((0,), (0,), ()))
    >>> kernel(np.array([1.0, 2j]), np.array([1j, 2.0])).item()
    -3j
    """
    a, b = operands
    labels_a, labels_b, labels_out = params
    if max(a.size, b.size, result.size) > kernel_table.MOST_TINY_TERMS:
        kernel = choice.bind_conjugated(operands, result, params)
        if kernel is not None:
            return kernel
    of_b = b.size if b.dtype.kind == "complex" else 0
    if of_b + result.size >= a.size:
        conj, copy, labels_a = _conjugated(a, labels_a)
        contract = kernel_table.bind("contract", (copy, b), result, ContractParams(labels_a, labels_b, labels_out))
        return with_workspace(lambda x, y: contract(conj(x), y), copy.nbytes + workspace_of(contract))
    if not of_b:
        contract = kernel_table.bind("contract", (a, b), result, params)
        return with_workspace(lambda x, y: _conjugate(contract(x, y)), workspace_of(contract))
    conj, copy, labels_b = _conjugated(b, labels_b)
    contract = kernel_table.bind("contract", (a, copy), result, ContractParams(labels_a, labels_b, labels_out))
    return with_workspace(lambda x, y: _conjugate(contract(x, conj(y))), copy.nbytes + workspace_of(contract))


def _conjugate(made: Any) -> Any:
    """The array, which nobody else has seen, with its elements conjugated."""
    return np.conjugate(made, out=made)


def _conjugated(form: Form, labels: Labels) -> tuple[Callable[[Any], Any], Form, Labels]:
    """The kernel of a conjugated copy; its form, whose axes are in the order in which the operand's lie; their labels.

    >>> from tensor_core import C64
    >>> from tensor_runtime.placement import CPU
    >>> _conjugated(form_of(C64, (2, 3), CPU, (3, 1)), (7, 8))[1:]
    (Form(C64, (3, 2), cpu), (8, 7))
    """
    rank = len(form.shape)
    order = sorted(range(rank), key=lambda axis: abs(form.strides[axis]) or form.size)
    shape, strides = tuple(form.shape[axis] for axis in order), tuple(form.strides[axis] for axis in order)
    copy = form_of(form.dtype, shape, form.placement)
    kernel = kernel_table.bind("conj", (form_of(form.dtype, shape, form.placement, strides),), copy, None)
    moved = tuple(labels[axis] for axis in order)
    if order == list(range(rank)):
        return kernel, copy, moved
    axes = tuple(rank - 1 - axis for axis in reversed(order))  # of the transposed array
    return lambda x: kernel(x.transpose(axes)), copy, moved


BINDERS: Final[Mapping[str, Binder]] = {"conj_contract": bind_conj_contract}
"""Binders by operation."""
