"""Rules ``lower.NAME`` as kernels: arrays become tensors of their forms, and the rule calls public functions on them.

A rule is called as ``function(*operands, params)``. The operands are tensors, and Python numbers as they are; params
are those of the operation's spec, None where it has none. It returns a tensor, or a tuple of them, of exactly the forms
that the spec infers: owned, compact, of the dtype promised. It depends on forms and params alone, reads no element,
makes no tensor from the host's data, and neither keeps nor writes its operands.

When a rule is bound, it runs once on tensors without elements (``backends.meta``): that checks its results' forms, and
tells which kernels it asks for. A call then costs what the functions that it calls cost, and some 0.5 µs.
"""

from __future__ import annotations

from typing import Any

from tensor_core.errors import BackendContractError, UnsupportedOperationError
from tensor_runtime.backends.error_translation import call_translated
from tensor_runtime.backends.kernel_facts import facts_of
from tensor_runtime.backends.meta import KernelRequest, kernels_called, without_elements
from tensor_runtime.backends.plugins.lowering import set_lowered_binder
from tensor_runtime.backends.plugins.rules import Rule
from tensor_runtime.contracts.contract import CONTRACTS
from tensor_runtime.form import Form
from tensor_runtime.protocols import Kernel, Result
from tensor_runtime.tensors.tensor import Tensor, wrap


def bind_rule(rule: Rule, request: KernelRequest, /) -> tuple[Kernel, frozenset[KernelRequest]]:
    """A kernel that runs a rule, and the kernels that it asks for, on tensors without elements.

    Args:
        rule: called as ``rule(*operands, params)``.
        request: what the operation's kernel is bound to.

    Raises:
        BackendContractError: what the rule gives is no tensor of the form, or shares memory with an operand; it reads
            elements; or the kernel that it stands for is given more at run time than operands.

    >>> from tensor_runtime.ops.arithmetic import multiply
    >>> form = zeros(2)._form
    >>> kernel, called = bind_rule(lambda x, params: multiply(x, x), KernelRequest("square", (form,), form, None))
    >>> kernel(tensor([3.0, 4.0])._array).tolist(), [request.operation for request in called]
    ([9.0, 16.0], ['multiply'])
    """
    operation, operands, result, params = request
    contract = CONTRACTS.get(operation)
    if contract is not None and contract.arguments:
        raise BackendContractError(
            f"{operation}: its kernel is given {', '.join(contract.arguments)} at run time, which no rule receives; "
            f"accepted: lowerings of kernels without such arguments",
            operation=operation,
        )
    called = _kernels_of(rule, without_elements(request))
    forms = tuple(operand for operand in operands if isinstance(operand, Form))
    if len(forms) == len(operands) and isinstance(result, Form):

        def one(*arguments: Any) -> Any:
            found = rule(*map(wrap, forms, arguments), params)
            if found._form is not result:
                _check(operation, found, result)
            return found._array

        return one, called

    def several(*arguments: Any) -> Any:
        given = [
            wrap(form, argument) if isinstance(form, Form) else argument
            for form, argument in zip(operands, arguments, strict=False)
        ]
        found = rule(*given, params)
        _check(operation, found, result)
        return tuple(tensor._array for tensor in found) if isinstance(result, tuple) else found._array

    return several, called


def _kernels_of(rule: Rule, request: KernelRequest) -> frozenset[KernelRequest]:
    """The kernels that a rule asks for, after it has run on tensors without elements and given the right forms."""
    operation, operands, result, params = request
    given = [wrap(one, None) if isinstance(one, Form) else one(1) for one in operands]
    try:
        with kernels_called() as called:
            _check(operation, call_translated(operation, result, rule, *given, params), result)
    except UnsupportedOperationError as error:
        raise BackendContractError(
            f"{operation}: the rule lower.{operation} depends on elements; accepted: public functions of the operands, "
            f"whose results have shapes that follow from theirs ({error})",
            operation=operation,
        ) from error
    if not facts_of(operation).view and all(facts_of(one.operation).view for one in called):
        raise BackendContractError(
            f"{operation}: the rule lower.{operation} computes nothing, so that its result has its operand's memory; "
            "accepted: tensors of its own, such as copy() of the operand",
            operation=operation,
        )
    return frozenset(called)


def _check(operation: str, found: Any, result: Result) -> None:
    """Refuse what a rule gives unless it is what the operation promises."""
    wanted = result if isinstance(result, tuple) else (result,)
    given = found if isinstance(result, tuple) and isinstance(found, tuple) else (found,)
    forms = [one._form if isinstance(one, Tensor) else type(one).__name__ for one in given]
    if list(map(_content, forms)) != list(map(_content, wanted)):
        raise BackendContractError(
            f"{operation}: the rule lower.{operation} gives {', '.join(map(str, forms))}; "
            f"accepted: {', '.join(map(str, wanted))}",
            operation=operation,
        )


def _content(form: Any) -> Any:
    """What makes two forms equal; threads may hold two objects of one form."""
    return (form.dtype, form.shape, form.strides, form.placement) if isinstance(form, Form) else form


set_lowered_binder(bind_rule)
