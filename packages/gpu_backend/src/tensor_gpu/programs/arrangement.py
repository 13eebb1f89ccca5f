"""Programs that copy elements from places which depend on the index in other ways than strides say."""

from __future__ import annotations

import numpy as np

from tensor_core.dtypes import DType
from tensor_core.shapes import compact_strides
from tensor_gpu.device.program import Argument, HostMemory, Program, made_once
from tensor_gpu.programs.loops import loop_over, offsets, walk_parameters
from tensor_gpu.programs.source import header, stored


@made_once
def triangle_program(dtype: DType, rank: int, rows: int, columns: int, upper: bool, /) -> Program:
    """One side of a diagonal, zeros on the other; the target is compact.

    Arguments are the target, the operand, the diagonal, the number of elements, their extents and strides.

    >>> from tensor_core import F64
    >>> triangle_program(F64, 2, 0, 1, True).entry
    'triangle'
    """
    kept = "column - row >= diagonal" if upper else "column - row <= diagonal"
    kind = stored(dtype)
    parameters = [f"{kind}* target", f"const {kind}* x", "long long diagonal", "long long size"]
    parameters += walk_parameters(rank, ["x"])
    lines = [
        f'extern "C" __global__ void triangle({", ".join(parameters)}) {{',
        f"    typedef {kind} T;",
        "    const T zero = T();",
        *loop_over("size"),
        *offsets("i", rank, ["x"], "        "),
        f"        const long long row = {_along('i', rows)}, column = {_along('i', columns)};",
        f"        target[i] = {kept} ? x[ox] : zero;",
        "    }",
        "}",
    ]

    def meaning(memory: HostMemory, arguments: tuple[Argument, ...]) -> None:
        target, source, diagonal, _, *numbers = (int(argument) for argument in arguments)
        shape = tuple(numbers[:rank])
        x = memory.view(source, dtype, shape, numbers[rank:])
        row, column = (np.arange(shape[axis]).reshape(-1, *[1] * (rank - 1 - axis)) for axis in (rows, columns))
        keeps = column - row >= diagonal if upper else column - row <= diagonal
        memory.view(target, dtype, shape, compact_strides(shape))[...] = np.where(keeps, x, np.zeros((), x.dtype))

    return Program("triangle", header() + "\n".join(lines) + "\n", meaning)


def _along(index: str, axis: int) -> str:
    """The index along an axis of element number ``index``."""
    return f"{index}{''.join(f' / n{before}' for before in range(axis))} % n{axis}"


@made_once
def clamped_program(dtype: DType, rank: int, /) -> Program:
    """Elements of an array, of which the first and the last along each axis stand for those beyond; compact target.

    Arguments are the target, the operand, the number of elements, extents of the target, extents of the operand, how
    many elements are before its first along each axis, and its strides.

    >>> from tensor_core import F64
    >>> clamped_program(F64, 2).entry
    'clamped'
    """
    kind, axes = stored(dtype), range(rank)
    parameters = [f"{kind}* target", f"const {kind}* x", "long long size"]
    parameters += [f"long long {name}{axis}" for name in "nmbs" for axis in axes]
    lines = [
        f'extern "C" __global__ void clamped({", ".join(parameters)}) {{',
        *loop_over("size"),
        "        long long rest = i, ox = 0;",
    ]
    for axis in axes:
        lines.append(f"        {{ long long k = rest % n{axis} - b{axis}; rest /= n{axis};")
        lines.append(f"          k = k < 0 ? 0 : k >= m{axis} ? m{axis} - 1 : k; ox += k * s{axis}; }}")
    lines += ["        target[i] = x[ox];", "    }", "}"]

    def meaning(memory: HostMemory, arguments: tuple[Argument, ...]) -> None:
        target, source, _, *numbers = (int(argument) for argument in arguments)
        shape, extents, before, strides = (tuple(numbers[k * rank : (k + 1) * rank]) for k in range(4))
        x = memory.view(source, dtype, extents, strides)
        places = [np.clip(np.arange(n) - b, 0, m - 1) for n, b, m in zip(shape, before, extents, strict=True)]
        memory.view(target, dtype, shape, compact_strides(shape))[...] = x[np.ix_(*places)] if rank else x

    return Program("clamped", header() + "\n".join(lines) + "\n", meaning)
