"""Steps in another algebra than plus-times, bound by ``semiring_contract`` and ``semiring_unary_einsum``.

A label that one operand of a product alone has is summed away first, as the ordinary product does: in an algebra,
products distribute over sums. Operands of another dtype than the whole contraction's are converted when they are read,
each once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

from tensor_core.dtypes import DType
from tensor_einsum.contracts import SemiringUnaryEinsumParams
from tensor_einsum.execution.unary_steps import StepBinder, conversion, relabelled
from tensor_einsum.notation.network import Labels
from tensor_einsum.steps.steps import Step, numbered
from tensor_runtime.algebras import Semiring
from tensor_runtime.backends.bindings import Binding, binding_cache
from tensor_runtime.backends.bounded_cache import CacheTable
from tensor_runtime.backends.kernel_facts import state
from tensor_runtime.backends.registry import registry
from tensor_runtime.backends.workspaces import threads_in_force, with_workspace, workspace_of
from tensor_runtime.contracts.contraction import SemiringContractParams
from tensor_runtime.form import Form, form_of
from tensor_runtime.protocols import Kernel

state("semiring_contract")
state("semiring_unary_einsum")  # both pure


def binders_in(algebra: Semiring) -> Mapping[str, StepBinder]:
    """Binders of the kinds of steps that add or multiply, for an algebra.

    >>> from tensor_runtime.algebras import MAX_PLUS
    >>> sorted(binders_in(MAX_PLUS))
    ['contract', 'unary_einsum']
    """
    return {
        "contract": partial(bind_contraction, algebra=algebra),
        "unary_einsum": partial(bind_unary_einsum, algebra=algebra),
    }


def bind_contraction(step: Step, forms: Sequence[Form], dtype: DType, algebra: Semiring) -> Binding:
    """The kernel of a step of two operands, and the form of its result.

    >>> from tensor_core import F64
    >>> from tensor_einsum import plan
    >>> from tensor_runtime.algebras import MAX_PLUS
    >>> from tensor_runtime.placement import CPU
    >>> (step,) = plan("ij,jk->ik", (2, 3), (3, 4)).steps
    >>> bind_contraction(step, [form_of(F64, (2, 3), CPU), form_of(F64, (3, 4), CPU)], F64, MAX_PLUS)[1]
    Form(F64, (2, 4), cpu)
    """
    labels = numbered((*step.inputs, step.output))
    key = (*forms, dtype, labels, algebra, threads_in_force.value)
    known = _contractions.get(key)
    if known is not None:
        return known
    terms, output = labels[:2], labels[2]
    summed: list[Kernel | None] = [None, None]
    takes, read = 0, list(forms)
    left = list(terms)
    for one, (term, other) in enumerate(zip(terms, reversed(terms), strict=True)):
        left[one] = tuple(label for label in term if label in other or label in output)
        if len(left[one]) < len(term):
            adding, read[one] = _unary_einsum(forms[one], (term, left[one]), dtype, algebra)
            summed[one] = adding
            takes += read[one].nbytes + workspace_of(adding)
    result = form_of(dtype, step.shape, forms[0].placement)
    params = SemiringContractParams(left[0], left[1], output, algebra)
    kernel = registry.bind("semiring_contract", tuple(read), result, params)
    first, second = summed
    if first or second:
        kernel = with_workspace(_after(kernel, first, second), takes + workspace_of(kernel))
    return _contractions.insert(key, (kernel, result))


def _after(kernel: Kernel, first: Kernel | None, second: Kernel | None) -> Kernel:
    return lambda x, y: kernel(first(x) if first else x, second(y) if second else y)


def bind_unary_einsum(step: Step, forms: Sequence[Form], dtype: DType, algebra: Semiring) -> Binding:
    """The kernel of a step of one operand, and the form of its result.

    >>> from tensor_core import F64
    >>> from tensor_einsum import plan
    >>> from tensor_runtime.algebras import MAX_PLUS
    >>> from tensor_runtime.placement import CPU
    >>> (step,) = plan("i->ii", (2,)).steps
    >>> kernel, form = bind_unary_einsum(step, [form_of(F64, (2,), CPU)], F64, MAX_PLUS)
    >>> form
    Form(F64, (2, 2), cpu)
    """
    labels = numbered((*step.inputs, step.output))
    return _unary_einsum(forms[0], (labels[0], labels[1]), dtype, algebra)


def _unary_einsum(form: Form, labels: tuple[Labels, Labels], dtype: DType, algebra: Semiring) -> Binding:
    operand, result = labels
    if {*operand} == {*result} and len({*result}) == len(result):
        return relabelled(form, labels)  # neither sums nor zeros
    known = _unary_einsums.get((form, labels, dtype, algebra))
    if known is not None:
        return known
    extents = dict(zip(operand, form.shape, strict=True))
    made = form_of(dtype, tuple(map(extents.__getitem__, result)), form.placement)
    params = SemiringUnaryEinsumParams(operand, result, algebra)
    if form.dtype is dtype:
        kernel = registry.bind("semiring_unary_einsum", (form,), made, params)
    else:
        convert, converted = conversion(form, dtype)
        inner = registry.bind("semiring_unary_einsum", (converted,), made, params)
        kernel = with_workspace(_then(convert, inner), converted.nbytes + workspace_of(inner))
    return _unary_einsums.insert((form, labels, dtype, algebra), (kernel, made))


def _then(first: Kernel, second: Kernel) -> Kernel:
    return lambda x: second(first(x))


_contractions: Final[CacheTable[Binding]] = CacheTable(binding_cache)
_unary_einsums: Final[CacheTable[Binding]] = CacheTable(binding_cache)
