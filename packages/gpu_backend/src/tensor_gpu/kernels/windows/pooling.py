"""Pooling: one launch over the windows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tensor_gpu.device.arrays import DeviceArray
from tensor_gpu.device.executor import Executor
from tensor_gpu.kernels.planning import Binder
from tensor_gpu.programs.windows import Given, pool_program
from tensor_runtime.contracts.contraction import PoolingParams
from tensor_runtime.form import Form
from tensor_runtime.ops.pooling import pooling_windows
from tensor_runtime.ops.windows import Windows
from tensor_runtime.protocols import Kernel


def bind_pool(executor: Executor, name: str, operands: tuple[Form], result: Form, params: PoolingParams, /) -> Kernel:
    """The largest element of each window, or their mean.

    >>> from tensor_gpu.sim.bench import Bench
    >>> bench = Bench()
    >>> x = bench.put([[[1.0], [3.0], [2.0], [0.0]]])
    >>> bench.run("max_pool", x, result=bench.form((1, 2, 1)), params=PoolingParams(2, None, "VALID", 1))
    [[[3.0], [2.0]]]
    """
    (form,) = operands
    if not result.size:  # also for windows far larger than the operand
        return lambda array: executor.empty(result)
    program = pool_program(name, form.dtype, result.dtype, form.rank)
    windows = taken(pooling_windows(name, form.shape, params))
    fixed = (result.size, *Given(form.shape, form.strides, windows, ()).numbers)

    def pool(array: DeviceArray) -> DeviceArray:
        target = executor.empty(result)
        arguments = (target.address, array.address, *fixed)
        executor.launch(program, result.size, arguments, reads=(array,), writes=(target,))
        return target

    return pool


def taken(windows: Windows, /) -> Windows:
    """The windows with steps that a device can count; longer ones are never taken.

    >>> taken(Windows((1,), (2**70,), (3,), ((0, 0),), (1,))).strides == (2**62,)
    True
    """
    return windows._replace(
        strides=tuple(min(step, _FAR) for step in windows.strides),
        dilation=tuple(min(step, _FAR) for step in windows.dilation),
    )


def _pool(name: str) -> Binder:
    return lambda executor, operands, result, params: bind_pool(executor, name, operands, result, params)


_FAR: Final = 2**62

BINDERS: Final[Mapping[str, Binder]] = {name: _pool(name) for name in ("max_pool", "mean_pool")}
