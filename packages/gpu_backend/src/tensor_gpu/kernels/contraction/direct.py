"""Sums of products by programs of our own: one thread for each element of the result, or tiles of elements.

For all that no matrix product is: integers, other algebras, traces, sums of one operand, products of a few terms.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import inf, prod

from tensor_core.dtypes import DType
from tensor_core.shapes import compact_strides
from tensor_gpu.device.api import MOST_BLOCKS, MOST_THREADS
from tensor_gpu.device.arrays import DeviceArray
from tensor_gpu.device.executor import Executor
from tensor_gpu.kernels.creation import submit_full
from tensor_gpu.kernels.expressions import bind_expression
from tensor_gpu.kernels.walks import Walk, walk
from tensor_gpu.programs.contraction import SummedArguments, SumOfProducts, sum_of_products
from tensor_gpu.programs.elementwise import Expression, Step
from tensor_gpu.programs.tiled_products import DEPTH, TILE, Groups, tiled_products_program
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
    product = _product([form.dtype for form in operands], result.dtype)
    return bind_expression(executor, product, seen, result, "contract")


def _product(dtypes: Sequence[DType], result: DType) -> Expression:
    """The product of two numbers of any types, each of which is first made one of the result's."""
    places: list[int] = []
    steps: list[Step] = []
    for place, dtype in enumerate(dtypes):
        if dtype is not result:
            steps.append(Step("convert", (place,), (dtype,), result))
        places.append(place if dtype is result else len(dtypes) + len(steps) - 1)
    return Expression(tuple(dtypes), (*steps, Step("multiply", tuple(places), (result, result), result)))


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
    what = SumOfProducts(tuple(form.dtype for form in operands), result.dtype, algebra)
    inner = _along(summed, extents, given)
    groups = _groups(kept, given) if len(operands) == 2 else None
    if groups is not None and _pays(*(prod(extents[label] for label in group) for group in (*groups[:2], summed))):
        parts = [_along(group, extents, [target, *given]) for group in groups]
        outer = Walk(
            sum((part.extents for part in parts), ()),
            tuple(sum((part.strides[place] for part in parts), ()) for place in range(3)),
        )
        nearest = [_nearest(inner.strides[one]) < _nearest(parts[one].strides[one + 1]) for one in range(2)]
        rows, columns, stacked = (len(part.extents) for part in parts)
        program = tiled_products_program(
            what, Groups(rows, columns, stacked, len(inner.extents), (nearest[0], nearest[1]))
        )
        tiles = prod(-(-prod(part.extents) // TILE) for part in parts[:2]) * prod(parts[2].extents)
        threads = min(tiles, MOST_BLOCKS) * MOST_THREADS
    else:
        outer = _along(kept, extents, [target, *given])
        program = sum_of_products(what, len(outer.extents), len(inner.extents))
        threads = prod(outer.extents)

    def submit(out: DeviceArray, arrays: Sequence[DeviceArray]) -> None:
        if threads:
            addresses = (out.address, *(array.address for array in arrays))
            arguments = SummedArguments(addresses, outer.extents, outer.strides, inner.extents, inner.strides)
            executor.launch(program, threads, arguments.flat(), reads=arrays, writes=(out,))

    return submit


def _along(labels: Sequence[int], extents: Mapping[int, int], steps: Sequence[Mapping[int, int]]) -> Walk:
    """The walk along some labels, of arrays by their steps."""
    strides = [tuple(one.get(label, 0) for label in labels) for one in steps]
    return walk(tuple(extents[label] for label in labels), strides)


def _groups(kept: Sequence[int], given: Sequence[Mapping[int, int]]) -> tuple[list[int], list[int], list[int]]:
    """Labels of the result along which the first operand moves alone, the second one alone, and both or none."""
    moves = [{label for label in kept if one.get(label)} for one in given]
    return (
        [label for label in kept if label in moves[0] - moves[1]],
        [label for label in kept if label in moves[1] - moves[0]],
        [label for label in kept if (label in moves[0]) == (label in moves[1])],
    )


def _pays(rows: int, columns: int, terms: int) -> bool:
    """Whether tiles are filled well enough, and elements read often enough, to be staged."""
    return min(rows, columns) >= TILE // 2 and terms >= DEPTH // 2


def _nearest(strides: Sequence[int]) -> float:
    return min((abs(stride) for stride in strides if stride), default=inf)
