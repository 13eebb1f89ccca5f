"""Kernels for devices: the programs, what each run of them means, and their launches."""

from __future__ import annotations

from math import prod
from typing import Any, cast

import numpy as np

import tensor_runtime as tr
from tensor_core.dtypes import DType
from tensor_core.shapes import normalize_axis
from tensor_gpu.backend import DeviceBackend
from tensor_gpu.device.arrays import DeviceArray
from tensor_gpu.device.executor import Executor
from tensor_gpu.device.program import Argument, HostMemory, Program, made_once
from tensor_gpu.kernels.expressions import copier
from tensor_gpu.programs.loops import loop_over, offsets, walk_parameters, walked
from tensor_gpu.programs.source import TYPES, header
from tensor_runtime.form import Form
from tensor_runtime.protocols import Kernel


def _executor(form: Form) -> Executor:
    assert form.placement.device is not None
    backend = cast(DeviceBackend, tr.backend(form.placement.device.kind.short))
    return backend.executor(form.placement)


@made_once
def products_program(first: DType, second: DType, result: DType, rank: int, /) -> Program:
    """One element for each pair of rows; arguments are the target, both operands, how many, extents and strides."""
    kind = TYPES[result]
    parameters = [f"{kind}* target", f"const {TYPES[first]}* a", f"const {TYPES[second]}* b", "long long size"]
    lines = [
        f'extern "C" __global__ void khatri_rao({", ".join((*parameters, *walk_parameters(rank, ["a", "b"])))}) {{',
        *loop_over("size"),
        *offsets("i", rank, ["a", "b"], "        "),
        f"        target[i] = f_multiply(to<{kind}>(a[oa]), to<{kind}>(b[ob]));",
        "    }",
        "}",
    ]

    def meaning(memory: HostMemory, arguments: tuple[Argument, ...]) -> None:
        target, a, b, size, *numbers = map(int, arguments)
        shape, (of_a, of_b) = walked(rank, 2, numbers)
        made = memory.view(target, result, (size,), (1,))
        factors = memory.view(a, first, shape, of_a), memory.view(b, second, shape, of_b)
        with np.errstate(all="ignore"):
            made[...] = np.multiply(*factors, dtype=result.numpy_name).ravel(order="F")

    return Program("khatri_rao", header() + "\n".join(lines) + "\n", meaning)


@made_once
def butterfly_program(dtype: DType, /) -> Program:
    """Sums and differences of elements so far apart, in place; arguments are the elements, the pairs, how far."""
    kind = TYPES[dtype]
    lines = [
        f'extern "C" __global__ void butterfly({kind}* x, long long pairs, long long step) {{',
        *loop_over("pairs"),
        "        const long long at = i / step * 2 * step + i % step;",
        f"        const {kind} first = x[at], second = x[at + step];",
        "        x[at] = f_add(first, second);",
        "        x[at + step] = f_subtract(first, second);",
        "    }",
        "}",
    ]

    def meaning(memory: HostMemory, arguments: tuple[Argument, ...]) -> None:
        address, pairs, step = map(int, arguments)
        x: Any = memory.view(address, dtype, (step, 2, pairs // step), (1, step, 2 * step))
        first, second = x[:, 0].copy(), x[:, 1].copy()
        with np.errstate(all="ignore"):
            x[:, 0], x[:, 1] = first + second, first - second

    return Program("butterfly", header() + "\n".join(lines) + "\n", meaning)


def bind_khatri_rao(operands: tuple[Form, Form], result: Form, params: object) -> Kernel:
    """One launch that reads both operands as they lie."""
    a, b = operands
    executor = _executor(result)
    shape = (b.shape[0], *a.shape)
    strides = (0, *a.strides), (b.strides[0], 0, *b.strides[1:])
    program = products_program(a.dtype, b.dtype, result.dtype, len(shape))
    fixed = (result.size, *shape, *strides[0], *strides[1])

    def kernel(first: DeviceArray, second: DeviceArray) -> DeviceArray:
        target = executor.empty(result)
        if result.size:
            arguments = (target.address, first.address, second.address, *fixed)
            executor.launch(program, result.size, arguments, reads=(first, second), writes=(target,))
        return target

    return kernel


def bind_walsh_hadamard(operands: tuple[Form], result: Form, params: int) -> Kernel:
    """A copy, and a launch for each bit of an index."""
    (form,) = operands
    executor = _executor(result)
    axis = normalize_axis(params, form.rank, "walsh_hadamard")
    inner = prod(form.shape[:axis])
    steps = [inner << bit for bit in range(form.shape[axis].bit_length() - 1)]
    copy = copier(executor, form.dtype, result.dtype, form.shape, result.strides, form.strides)
    program, pairs = butterfly_program(result.dtype), result.size // 2

    def kernel(x: DeviceArray) -> DeviceArray:
        target = executor.empty(result)
        if result.size:
            copy(target, x)
            for step in steps:
                executor.launch(program, pairs, (target.address, pairs, step), reads=(target,), writes=(target,))
        return target

    return kernel
