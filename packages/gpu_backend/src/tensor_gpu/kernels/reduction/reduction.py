"""Reductions: one launch, and where few results have many elements each, another one over parts of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tensor_core.dtypes import I64
from tensor_gpu.device.arrays import DeviceArray
from tensor_gpu.device.executor import Executor
from tensor_gpu.kernels.creation import bind_full
from tensor_gpu.kernels.planning import Binder
from tensor_gpu.kernels.reduction.folds import of_parts, share, submit
from tensor_gpu.programs.reduction import FOLDS, Folding, accumulator, fold_program, place_program
from tensor_runtime.contracts.reduction import ArgumentParams, ReduceParams
from tensor_runtime.dispatch.dtype_rules import reduced_axes
from tensor_runtime.form import Form, form_of
from tensor_runtime.protocols import Kernel

_OF_NOTHING: Final[Mapping[str, int]] = {"sum": 0, "prod": 1, "any": 0, "all": 1, "reduce_or": 0, "reduce_and": -1}


def bind_reduction(
    executor: Executor, name: str, operands: tuple[Form], result: Form, params: ReduceParams, /
) -> Kernel:
    """A fold over axes.

    >>> from tensor_core import I64
    >>> from tensor_gpu.sim.bench import Bench
    >>> bench = Bench()
    >>> bench.run("sum", bench.put([[1, 2], [3, 4]], I64), result=bench.form((2,), I64), params=ReduceParams(0, False))
    [4, 6]
    """
    (form,) = operands
    if not form.size:
        full = bind_full(executor, (), result, None)
        return lambda array: full(_OF_NOTHING.get(name, 0))
    first = share(form, reduced_axes(name, form.rank, params.axis))
    wide = accumulator(name, form.dtype, result.dtype)
    apart = first.parts > 1
    made = wide if apart else result.dtype
    program = fold_program(
        Folding(name, form.dtype, made, len(first.kept[0]), len(first.folded[0]), first.lanes, first.neighbours)
    )
    if not apart:

        def reduce(array: DeviceArray) -> DeviceArray:
            target = executor.empty(result)
            submit(executor, program, first, target, (array,))
            return target

        return reduce
    second = of_parts(first)
    last = fold_program(Folding(name, wide, result.dtype, 1, 1, second.lanes, second.neighbours))
    partial = form_of(wide, (first.size, first.parts), form.placement)

    def reduce_parts(array: DeviceArray) -> DeviceArray:
        parts, target = executor.empty(partial), executor.empty(result)
        submit(executor, program, first, parts, (array,))
        submit(executor, last, second, target, (parts,))
        return target

    return reduce_parts


def bind_place(executor: Executor, name: str, operands: tuple[Form], result: Form, params: ArgumentParams, /) -> Kernel:
    """Where the largest or smallest element is.

    >>> from tensor_core import I64
    >>> from tensor_gpu.sim.bench import Bench
    >>> bench = Bench()
    >>> x, form = bench.put([1.0, 3.0, 3.0]), bench.form((), I64)
    >>> bench.run("argmax", x, result=form, params=ArgumentParams(0, False))
    1
    """
    (form,) = operands
    if not result.size:
        return lambda array: executor.empty(result)
    first = share(form, reduced_axes(name, form.rank, params.axis), row_major=True)
    folding = Folding(name, form.dtype, I64, len(first.kept[0]), len(first.folded[0]), first.lanes, first.neighbours)
    program = place_program(folding, False)
    if first.parts == 1:

        def place(array: DeviceArray) -> DeviceArray:
            target = executor.empty(result)
            submit(executor, program, first, target, (array,))
            return target

        return place
    second = of_parts(first)
    last = place_program(folding._replace(lanes=second.lanes, neighbours=second.neighbours), True)
    rest = (*second.fixed[:4], *first.walks)
    partial = form_of(I64, (first.size, first.parts), form.placement)

    def place_of_parts(array: DeviceArray) -> DeviceArray:
        parts, target = executor.empty(partial), executor.empty(result)
        submit(executor, program, first, parts, (array,))
        submit(executor, last, second, target, (array, parts), rest)
        return target

    return place_of_parts


def _reduction(name: str) -> Binder:
    return lambda executor, operands, result, params: bind_reduction(executor, name, operands, result, params)


def _place(name: str) -> Binder:
    return lambda executor, operands, result, params: bind_place(executor, name, operands, result, params)


BINDERS: Final[Mapping[str, Binder]] = {
    **{name: _reduction(name) for name in FOLDS},
    **{name: _place(name) for name in ("argmax", "argmin")},
}
