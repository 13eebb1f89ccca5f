"""Kernels that put values around and between elements."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from tensor_gpu.device.arrays import DeviceArray
from tensor_gpu.device.executor import Executor
from tensor_gpu.kernels.creation import bind_full
from tensor_gpu.kernels.expressions import copier
from tensor_gpu.kernels.planning import Binder
from tensor_gpu.programs.arrangement import clamped_program
from tensor_runtime.contracts.joining import PadParams
from tensor_runtime.form import Form
from tensor_runtime.protocols import Kernel


def bind_pad(executor: Executor, operands: tuple[Form, ...], result: Form, params: PadParams, /) -> Kernel:
    """A value around and between the elements; the value is an argument, a number or an array of rank 0.

    >>> from tensor_core import I64
    >>> from tensor_gpu.sim.bench import Bench
    >>> bench = Bench()
    >>> x, form = bench.put([1, 2, 3], I64), bench.form((5,), I64)
    >>> bench.get((bind_pad(bench.executor, (x.form,), form, PadParams((1,), (-1,), (1,)))(x.array, 0), form))
    [0, 1, 0, 2, 0]
    """
    form = operands[0]
    to = of = 0
    extents, written = [], []
    for axis, (n, extent) in enumerate(zip(form.shape, result.shape, strict=True)):
        low, step = params.low[axis], params.interior[axis] + 1
        first = max(0, -(low // step))  # the first element that is not cropped; it lands at low + first * step
        last = min(n, -((low - extent) // step))
        extents.append(max(0, last - first))
        if last > first:
            to += (low + first * step) * result.strides[axis]
            of += first * form.strides[axis]
        written.append(step * result.strides[axis])
    shape = tuple(extents)
    copy = copier(executor, form.dtype, form.dtype, shape, tuple(written), form.strides)
    full = bind_full(executor, (), result, None)
    spread = copier(executor, form.dtype, form.dtype, result.shape, result.strides, (0,) * result.rank)
    empty = 0 in shape

    def pad(array: DeviceArray, value: Any) -> DeviceArray:
        if isinstance(value, DeviceArray):
            target = executor.empty(result)
            spread(target, value)
        else:
            target = full(value)
        if not empty:
            copy(target.moved(to), array.moved(of))
        return target

    return pad


def bind_pad_edge(executor: Executor, operands: tuple[Form], result: Form, params: PadParams, /) -> Kernel:
    """The nearest element around.

    >>> from tensor_gpu.sim.bench import Bench
    >>> bench = Bench()
    >>> bench.run("pad_edge", bench.put([1.0, 2.0]), result=bench.form((5,)), params=PadParams((1,), (2,), (0,)))
    [1.0, 1.0, 2.0, 2.0, 2.0]
    """
    (form,) = operands
    program = clamped_program(form.dtype, form.rank)
    size = result.size
    fixed = (size, *result.shape, *form.shape, *params.low, *form.strides)

    def pad(array: DeviceArray) -> DeviceArray:
        target = executor.empty(result)
        if size:
            executor.launch(program, size, (target.address, array.address, *fixed), reads=(array,), writes=(target,))
        return target

    return pad


BINDERS: Final[Mapping[str, Binder]] = {"pad": bind_pad, "pad_edge": bind_pad_edge}
