"""Steps of one operand, bound by the kernel ``unary_einsum``; and views without the axes that broadcast."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from tensor_core.dtypes import DType
from tensor_einsum.contracts import UnaryEinsumParams
from tensor_einsum.notation.network import Labels
from tensor_einsum.steps.steps import Step, numbered
from tensor_runtime.backends.bindings import Binding, binding_cache
from tensor_runtime.backends.bounded_cache import CacheTable
from tensor_runtime.backends.kernel_facts import state
from tensor_runtime.backends.registry import registry
from tensor_runtime.backends.workspaces import with_workspace, workspace_of
from tensor_runtime.contracts.views import ConvertParams, ReshapeParams
from tensor_runtime.form import Form, form_of

StepBinder = Callable[[Step, Sequence[Form], DType], Binding]
"""From a step, the forms of its operands and the dtype of the contraction to its kernel and the form of its result."""

state("unary_einsum")  # pure; no spec binds it


def bind_unary_einsum(step: Step, forms: Sequence[Form], dtype: DType) -> Binding:
    """The kernel of diagonals, sums, another order or an embedding, and the form of its result.

    >>> from tensor_core import F64
    >>> from tensor_einsum import plan
    >>> from tensor_runtime.placement import CPU
    >>> (step,) = plan("ii->i", (2, 2)).steps
    >>> bind_unary_einsum(step, [form_of(F64, (2, 2), CPU)], F64)[1]
    Form(F64, (2,), cpu)
    """
    (form,) = forms
    labels = numbered((*step.inputs, step.output))
    if form.dtype is dtype or len({*labels[0]}) == len({*labels[1]}):
        return relabelled(form, labels)
    # Sums of Bool and of narrow ints belong to the dtype of the whole contraction, or the result would show the path.
    convert, converted = conversion(form, dtype)
    unary_einsum, result = relabelled(converted, labels)
    takes = converted.size * dtype.itemsize + workspace_of(unary_einsum)
    return with_workspace(lambda x: unary_einsum(convert(x)), takes), result


def relabelled(form: Form, labels: tuple[Labels, ...]) -> Binding:
    """The kernel "unary_einsum" of an operand in its own dtype.

    >>> from tensor_core import F64
    >>> from tensor_runtime.placement import CPU
    >>> relabelled(form_of(F64, (2, 3), CPU), ((0, 1), (1, 0)))[1]
    Form(F64, (3, 2), cpu)
    """
    known = _unary_einsums.get((form, labels))
    if known is not None:
        return known
    extents = dict(zip(labels[0], form.shape, strict=True))
    result = form_of(form.dtype, tuple(map(extents.__getitem__, labels[1])), form.placement)
    return _unary_einsums.insert(
        (form, labels), (registry.bind("unary_einsum", (form,), result, UnaryEinsumParams(*labels)), result)
    )


def bind_squeeze(step: Step, forms: Sequence[Form], dtype: DType) -> Binding:
    """A view without some axes; its labels are a subsequence of the input's, by whole labels.

    >>> from tensor_core import F64
    >>> from tensor_einsum import plan
    >>> from tensor_runtime.placement import CPU
    >>> step = plan("ij,ij->i", (2, 1), (2, 3)).steps[0]
    >>> bind_squeeze(step, [form_of(F64, (2, 1), CPU)], F64)[1]
    Form(F64, (2,), cpu)
    """
    (form,) = forms
    labels = {*step.output}
    kept = tuple(axis for axis, label in enumerate(step.inputs[0]) if label in labels)
    known = _squeezes.get((form, kept))
    if known is not None:
        return known
    shape, strides = (tuple(values[axis] for axis in kept) for values in (form.shape, form.strides))
    view = form_of(form.dtype, shape, form.placement, strides)
    return _squeezes.insert((form, kept), (registry.bind("reshape_view", (form,), view, ReshapeParams(shape)), view))


def conversion(form: Form, dtype: DType) -> Binding:
    """The kernel that converts an operand.

    >>> from tensor_core import F32, F64
    >>> from tensor_runtime.placement import CPU
    >>> conversion(form_of(F32, (2,), CPU), F64)[1]
    Form(F64, (2,), cpu)
    """
    known = _conversions.get((form, dtype))
    if known is not None:
        return known
    result = form_of(dtype, form.shape, form.placement)
    return _conversions.insert(
        (form, dtype), (registry.bind("convert", (form,), result, ConvertParams("error")), result)
    )


_unary_einsums: Final[CacheTable[Binding]] = CacheTable(binding_cache)
_squeezes: Final[CacheTable[Binding]] = CacheTable(binding_cache)
_conversions: Final[CacheTable[Binding]] = CacheTable(binding_cache)
