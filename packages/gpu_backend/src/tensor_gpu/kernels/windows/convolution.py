"""Convolution: one launch, in which each element of the result is a thread's sum."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tensor_gpu.device.arrays import DeviceArray
from tensor_gpu.device.executor import Executor
from tensor_gpu.kernels.planning import Binder
from tensor_gpu.kernels.windows.pooling import taken
from tensor_gpu.programs.windows import Given, convolution_program
from tensor_runtime.contracts.contraction import ConvolutionParams
from tensor_runtime.form import Form
from tensor_runtime.ops.convolution import convolution_windows
from tensor_runtime.protocols import Kernel


def bind_convolution(
    executor: Executor, operands: tuple[Form, Form], result: Form, params: ConvolutionParams, /
) -> Kernel:
    """Sums of products of windows and filters.

    >>> from tensor_gpu.sim.bench import Bench
    >>> bench = Bench()
    >>> x, filters = bench.put([[[1.0], [2.0], [4.0], [8.0]]]), bench.put([[[-1.0]], [[1.0]]])
    >>> bench.run("conv", x, filters, result=bench.form((1, 3, 1)), params=ConvolutionParams(1, "VALID", 1, 1))
    [[[1.0], [2.0], [4.0]]]
    """
    form, filters = operands
    size, groups = result.size, params.groups
    if 0 in (size, form.size, filters.size):  # an empty result, or empty sums

        def zeros(x: DeviceArray, weights: DeviceArray) -> DeviceArray:
            target = executor.empty(result)
            if size:
                executor.fill(target, 0, result.nbytes)
            return target

        return zeros
    windows = taken(convolution_windows("conv", form.shape, filters.shape, params))
    program = convolution_program(form.dtype, filters.dtype, result.dtype, form.rank)
    rest = (*filters.strides, filters.shape[-2], filters.shape[-1] // groups)
    fixed = (size, *Given(form.shape, form.strides, windows, rest).numbers)

    def convolve(x: DeviceArray, weights: DeviceArray) -> DeviceArray:
        target = executor.empty(result)
        arguments = (target.address, x.address, weights.address, *fixed)
        executor.launch(program, size, arguments, reads=(x, weights), writes=(target,))
        return target

    return convolve


BINDERS: Final[Mapping[str, Binder]] = {"conv": bind_convolution}
