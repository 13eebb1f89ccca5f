"""Views: the same allocation, from another first element on. Their forms say all else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from tensor_gpu.device.arrays import DeviceArray
from tensor_gpu.device.executor import Executor
from tensor_gpu.kernels.planning import Binder
from tensor_runtime.form import Form
from tensor_runtime.protocols import Kernel


def _same(array: DeviceArray) -> DeviceArray:
    return array.moved(0)


def bind_same_place(executor: Executor, operands: tuple[Any, ...], result: Any, params: Any, /) -> Kernel:
    """A view that begins with the operand's first element."""
    return _same


def bind_reverse(executor: Executor, operands: tuple[Any, ...], result: Any, params: Any, /) -> Kernel:
    """A view that runs backwards along some axes: it begins with their last elements.

    >>> from tensor_core import F64
    >>> from tensor_gpu.sim.bench import Bench
    >>> from tensor_runtime.contracts.views import ReverseParams
    >>> bench = Bench()
    >>> x, turned = bench.put([1.0, 2.0]), bench.form((2,), F64, (-1,))
    >>> bench.run("reverse_view", x, result=turned, params=ReverseParams((0,)))
    [2.0, 1.0]
    """
    form: Form = operands[0]
    axes = {axis % form.rank for axis in params.axes}
    ends = sum((form.shape[axis] - 1) * form.strides[axis] for axis in axes) if form.size else 0
    return lambda array: array.moved(ends)


def bind_slice(executor: Executor, operands: tuple[Any, ...], result: Any, params: Any, /) -> Kernel:
    """Basic indexing, from the starts that are given at each call.

    >>> from tensor_gpu.sim.bench import Bench
    >>> bench = Bench()
    >>> x, row = bench.put([1.0, 2.0, 3.0]), bench.form((2,))
    >>> bench.get((bind_slice(bench.executor, (x.form,), row, None)(x.array, (1,)), row))
    [2.0, 3.0]
    """
    strides = operands[0].strides
    empty = result.size == 0

    def sliced(array: DeviceArray, starts: tuple[int, ...]) -> DeviceArray:
        return array.moved(0 if empty else sum(map(int.__mul__, starts, strides)))

    return sliced


BINDERS: Final[Mapping[str, Binder]] = {
    **dict.fromkeys(
        ("transpose_view", "reshape_view", "broadcast_view", "diagonal_view", "mutable_view"), bind_same_place
    ),
    "reverse_view": bind_reverse,
    "slice_view": bind_slice,
}
