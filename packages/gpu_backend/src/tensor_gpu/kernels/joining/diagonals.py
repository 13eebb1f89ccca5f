"""Kernels that put elements on diagonals, and keep triangles."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tensor_core.shapes import normalize_axes
from tensor_gpu.device.arrays import DeviceArray
from tensor_gpu.device.executor import Executor
from tensor_gpu.kernels.expressions import copier
from tensor_gpu.kernels.planning import Binder
from tensor_gpu.programs.arrangement import triangle_program
from tensor_runtime.contracts.joining import EmbedParams, TriangleParams
from tensor_runtime.form import Form
from tensor_runtime.protocols import Kernel


def bind_embed_diagonal(executor: Executor, operands: tuple[Form], result: Form, params: EmbedParams, /) -> Kernel:
    """Zeros with the last axis on a diagonal.

    >>> from tensor_gpu.sim.bench import Bench
    >>> bench = Bench()
    >>> bench.run("embed_diagonal", bench.put([7.0]), result=bench.form((2, 2)), params=EmbedParams(1, (0, 1)))
    [[0.0, 7.0], [0.0, 0.0]]
    """
    (form,) = operands
    rows, columns = normalize_axes(params.axes, result.rank, "embed_diagonal")
    strides = result.strides
    first = max(-params.offset, 0) * strides[rows] + max(params.offset, 0) * strides[columns]
    others = [strides[axis] for axis in range(result.rank) if axis not in (rows, columns)]
    written = (*others, strides[rows] + strides[columns])
    copy = copier(executor, form.dtype, form.dtype, form.shape, written, form.strides)

    def embed(array: DeviceArray) -> DeviceArray:
        target = executor.empty(result)
        if result.size:
            executor.fill(target, 0, result.nbytes)
        if form.size:
            copy(target.moved(first), array)
        return target

    return embed


def bind_triangle(
    executor: Executor, upper: bool, operands: tuple[Form], result: Form, params: TriangleParams, /
) -> Kernel:
    """Elements on one side of a diagonal, zeros on the other.

    >>> from tensor_gpu.sim.bench import Bench
    >>> bench = Bench()
    >>> bench.run("tril", bench.put([[1.0, 2.0], [3.0, 4.0]]), params=TriangleParams(0, (0, 1)))
    [[1.0, 0.0], [3.0, 4.0]]
    """
    (form,) = operands
    rows, columns = normalize_axes(params.axes, form.rank, "tril")
    k = min(max(params.k, -form.shape[rows]), form.shape[columns])  # may be any int
    program = triangle_program(form.dtype, form.rank, rows, columns, upper)
    size = result.size
    fixed = (k, size, *form.shape, *form.strides)

    def triangle(array: DeviceArray) -> DeviceArray:
        target = executor.empty(result)
        if size:
            executor.launch(program, size, (target.address, array.address, *fixed), reads=(array,), writes=(target,))
        return target

    return triangle


def _triangle(upper: bool) -> Binder:
    return lambda executor, operands, result, params: bind_triangle(executor, upper, operands, result, params)


BINDERS: Final[Mapping[str, Binder]] = {
    "embed_diagonal": bind_embed_diagonal,
    "tril": _triangle(False),
    "triu": _triangle(True),
}
