"""Sums of products by a program of our own, one thread for each element of the result.

For all that no matrix product is: integers, other algebras, traces, sums of one operand, products of a few terms.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod

from tensor_core.shapes import compact_strides
from tensor_gpu.device.arrays import DeviceArray
from tensor_gpu.device.executor import Executor
from tensor_gpu.kernels.creation import submit_full
from tensor_gpu.kernels.expressions import bind_expression, one_step
from tensor_gpu.kernels.walks import walk
from tensor_gpu.programs.contraction import SummedArguments, SumOfProducts, sum_of_products
from tensor_runtime.algebras import PLUS_TIMES, Semiring
from tensor_runtime.form import Form, form_of
from tensor_runtime.protocols import Kernel

Labels = tuple[int, ...]
Submit = Callable[[DeviceArray, Sequence[DeviceArray]], None]


def bind_sum(
    executor: Executor,
    operands: Sequence[Form],
    labels: Sequence[Labels],
    result: Form,
    kept: Labels,
    algebra: Semiring = PLUS_TIMES,
    /,
) -> Kernel:
    """The kernel of sums over the labels that the result lacks.

    Args:
        executor: of the device.
        operands: one form or two, of any strides.
        labels: of each operand's axes; equal ones within an operand are read along the diagonal.
        result: compact; sums are made in its dtype.
        kept: labels of its axes; an element where labels that are equal have unequal indices is the algebra's zero.
        algebra: what sums and products are.

    >>> from tensor_gpu.sim.bench import Bench
    >>> bench = Bench()
    >>> x, trace = bench.put([[1.0, 2.0], [3.0, 4.0]]), bench.form(())
    >>> bench.get((bind_sum(bench.executor, [x.form], [(0, 0)], trace, ())(x.array), trace))
    5.0
    """
    strides = compact_strides(result.shape)
    extents = extents_of(operands, labels)
    target = steps_along(kept, strides)
    given = [steps_along(one, steps_of(form, one, extents)) for form, one in zip(operands, labels, strict=True)]
    submit = _submitter(executor, operands, given, target, extents, result, algebra)
    embedded = len(target) < len(kept)
    fill, zero = submit_full(executor, result), algebra.zero_of(result.dtype)

    def kernel(*arrays: DeviceArray) -> DeviceArray:
        out = executor.empty(result)
        if embedded:
            fill(out, zero)
        submit(out, arrays)
        return out

    return kernel


def bind_outer(
    executor: Executor, operands: Sequence[Form], labels: Sequence[Labels], result: Form, kept: Labels, /
) -> Kernel:
    """The kernel of products of two operands' elements, where every label is the result's.

    >>> from tensor_gpu.sim.bench import Bench
    >>> bench = Bench()
    >>> x, y = bench.put([1.0, 2.0]), bench.put([3.0, 4.0])
    >>> kernel = bind_outer(bench.executor, [x.form, y.form], [(0,), (1,)], bench.form((2, 2)), (0, 1))
    >>> bench.get((kernel(x.array, y.array), bench.form((2, 2))))
    [[3.0, 4.0], [6.0, 8.0]]
    """
    extents = extents_of(operands, labels)
    seen = []
    for form, own in zip(operands, labels, strict=True):
        steps = dict(zip(own, steps_of(form, own, extents), strict=True))
        strides = tuple(steps.get(label, 0) for label in kept)
        seen.append(form_of(form.dtype, result.shape, form.placement, strides))
    product = one_step("multiply", [form.dtype for form in operands], result.dtype)
    return bind_expression(executor, product, seen, result, "contract")


def extents_of(operands: Sequence[Form], labels: Sequence[Labels], /) -> dict[int, int]:
    """The extent of each label: the one that is not 1, where there is one.

    >>> from tensor_gpu.sim.bench import Bench
    >>> extents_of([Bench().form((1, 3)), Bench().form((2,))], [(5, 6), (5,)])
    {5: 2, 6: 3}
    """
    extents: dict[int, int] = {}
    for form, own in zip(operands, labels, strict=True):
        for label, extent in zip(own, form.shape, strict=True):
            if extents.get(label, 1) == 1:
                extents[label] = extent
    return extents


def steps_of(form: Form, labels: Labels, extents: Mapping[int, int], /) -> tuple[int, ...]:
    """Strides of an operand; 0 along what is repeated."""
    return tuple(
        0 if extent == 1 != extents[label] else stride
        for label, extent, stride in zip(labels, form.shape, form.strides, strict=True)
    )


def steps_along(labels: Labels, strides: Sequence[int], /) -> dict[int, int]:
    """The step of each label; that of a diagonal where it occurs twice.

    >>> steps_along((3, 4, 3), (1, 2, 8))
    {3: 9, 4: 2}
    """
    steps: dict[int, int] = {}
    for label, stride in zip(labels, strides, strict=True):
        steps[label] = steps.get(label, 0) + stride
    return steps


def _submitter(
    executor: Executor,
    operands: Sequence[Form],
    given: Sequence[Mapping[int, int]],
    target: Mapping[int, int],
    extents: Mapping[int, int],
    result: Form,
    algebra: Semiring,
) -> Submit:
    kept = list(target)
    summed = [label for label in extents if label not in target]
    outer = walk(
        tuple(extents[label] for label in kept),
        [tuple(target.values()), *(tuple(steps.get(label, 0) for label in kept) for steps in given)],
    )
    inner = walk(
        tuple(extents[label] for label in summed),
        [tuple(steps.get(label, 0) for label in summed) for steps in given],
    )
    what = SumOfProducts(tuple(form.dtype for form in operands), result.dtype, algebra)
    program = sum_of_products(what, len(outer.extents), len(inner.extents))
    size = prod(outer.extents)

    def submit(out: DeviceArray, arrays: Sequence[DeviceArray]) -> None:
        if size:
            addresses = (out.address, *(array.address for array in arrays))
            arguments = SummedArguments(addresses, outer.extents, outer.strides, inner.extents, inner.strides)
            executor.launch(program, size, arguments.flat(), reads=arrays, writes=(out,))

    return submit
