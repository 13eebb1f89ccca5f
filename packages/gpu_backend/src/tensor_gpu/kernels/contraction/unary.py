"""Sums of one operand: by a reduction, whose threads share long sums, or by a thread for each element of the result.

What sums nothing is a copy.
"""

from __future__ import annotations

from math import prod

from tensor_core.dtypes import FLOATING
from tensor_gpu.device.executor import Executor
from tensor_gpu.kernels.contraction.direct import Labels, bind_sum, steps_along
from tensor_gpu.kernels.expressions import bind_expression, one_step
from tensor_gpu.kernels.reduction.folds import share
from tensor_gpu.kernels.reduction.reduction import bind_reduction
from tensor_gpu.tables.rates import costs_of
from tensor_runtime.contracts.elementwise import STEP_PARAMS
from tensor_runtime.contracts.reduction import ReduceParams
from tensor_runtime.form import Form, form_of
from tensor_runtime.protocols import Kernel


def bind_unary_sum(executor: Executor, form: Form, labels: Labels, result: Form, kept: Labels, /) -> Kernel:
    """The kernel of sums over the labels that the result lacks, whichever way is estimated to be faster.

    Args:
        executor: of the device.
        form: of the operand, of any strides.
        labels: of its axes; equal ones are read along the diagonal.
        result: compact.
        kept: labels of its axes; equal ones are a diagonal, beside which there are zeros.

    >>> from tensor_gpu.sim.bench import Bench
    >>> bench = Bench()
    >>> x, sums = bench.put([[1.0, 2.0], [3.0, 4.0]]), bench.form((2,))
    >>> bench.get((bind_unary_sum(bench.executor, x.form, (0, 1), sums, (1,))(x.array), sums))
    [4.0, 6.0]
    >>> bench.get((bind_unary_sum(bench.executor, x.form, (0, 1), x.form, (1, 0))(x.array), x.form))
    [[1.0, 3.0], [2.0, 4.0]]
    """
    seen = _lined_up(form, labels, kept)
    if seen is not None and seen.rank == len(kept):
        step = "copy" if form.dtype is result.dtype else "convert"
        copied = one_step(step, (form.dtype,), result.dtype, STEP_PARAMS.get(step))
        return bind_expression(executor, copied, (seen,), result, "unary_einsum")
    if seen is None or result.dtype not in FLOATING or form.dtype is not result.dtype:
        return bind_sum(executor, (form,), (labels,), result, kept)
    axes = tuple(range(len(kept), seen.rank))
    costs = costs_of(executor.properties().compute_capability, form.dtype.numpy_name)
    terms = prod(seen.shape[axis] for axis in axes)
    shared = costs.reduction(2 if share(seen, axes).parts > 1 else 1, seen.size)
    if shared >= costs.sums(result.size, terms, seen.size):
        return bind_sum(executor, (form,), (labels,), result, kept)
    return bind_reduction(executor, "sum", (seen,), result, ReduceParams(axes, False))


def _lined_up(form: Form, labels: Labels, kept: Labels) -> Form | None:
    """The operand with an axis for each label, those that are kept first; None where that is no plain sum."""
    steps = steps_along(labels, form.strides)
    if not form.size or len(set(kept)) < len(kept) or not steps.keys() >= set(kept):
        return None
    extents = dict(zip(labels, form.shape, strict=True))
    order = (*kept, *(label for label in steps if label not in kept))
    shape, strides = tuple(extents[label] for label in order), tuple(steps[label] for label in order)
    return form_of(form.dtype, shape, form.placement, strides)
