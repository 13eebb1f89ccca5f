"""Products that read their first operand conjugated: the kernel ``conj_contract``, or ``conj`` before a product."""

from __future__ import annotations

from tensor_core.errors import UnsupportedOperationError
from tensor_runtime.backends.bindings import Binding
from tensor_runtime.backends.kernel_facts import state
from tensor_runtime.backends.registry import registry
from tensor_runtime.backends.workspaces import with_workspace, workspace_of
from tensor_runtime.contracts.contraction import ContractParams
from tensor_runtime.form import Form, form_of
from tensor_runtime.protocols import Kernel

state("conj_contract")  # pure


def bind_conjugated(a: Form, b: Form, result: Form, params: ContractParams) -> Kernel:
    """The kernel of the sums of products of conj(a) and b.

    >>> from tensor_core import C64
    >>> from tensor_runtime.placement import CPU
    >>> x, y = form_of(C64, (2,), CPU), form_of(C64, (), CPU)
    >>> callable(bind_conjugated(x, x, y, ContractParams((0,), (0,), ())))
    True
    """
    try:
        return registry.bind("conj_contract", (a, b), result, params)
    except UnsupportedOperationError:
        conj, copy = conjugated(a)
        contract = registry.bind("contract", (copy, b), result, params)
        return with_workspace(_after_conj(conj, contract), copy.nbytes + workspace_of(contract))


def _after_conj(conj: Kernel, contract: Kernel) -> Kernel:
    return lambda x, y: contract(conj(x), y)


def conjugated(form: Form) -> Binding:
    """The kernel "conj", and the form of its result.

    >>> from tensor_core import C64
    >>> from tensor_runtime.placement import CPU
    >>> conjugated(form_of(C64, (2, 3), CPU, (3, 1)))[1].strides
    (1, 2)
    """
    result = form_of(form.dtype, form.shape, form.placement)
    return registry.bind("conj", (form,), result, None), result
