"""Loops in source text, and the arguments that they go by: over numbers, and over the elements of several arrays.

An array called ``x`` is walked by its strides ``sx_0``, ``sx_1``, ..., along axes of extents ``n0``, ``n1``, ..., which
are parameters of the program; its element has offset ``ox``. Axes count in column-major order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tensor_core.shapes import Shape
from tensor_gpu.device.program import Argument


def loop_over(size: str, /, index: str = "i") -> Iterator[str]:
    r"""The head of a loop in which all threads of a launch share the numbers below ``size``.

    >>> print("\n".join(loop_over("size")))
        const long long stride = (long long)gridDim.x * blockDim.x;
        for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < size; i += stride) {
    """
    yield "    const long long stride = (long long)gridDim.x * blockDim.x;"
    first = "(long long)blockIdx.x * blockDim.x + threadIdx.x"
    yield f"    for (long long {index} = {first}; {index} < {size}; {index} += stride) {{"


def offsets(index: str, rank: int, arrays: Sequence[str], indent: str, /, *, first: int = 0) -> Iterator[str]:
    r"""Declares the offset of each array's element number ``index``, over ``rank`` axes from number ``first`` on.

    >>> print("\n".join(offsets("i", 2, ["x"], "")))
    long long rest_0 = i, ox = 0;
    { const long long k = rest_0 % n0; ox += k * sx_0; rest_0 /= n0; }
    { const long long k = rest_0; ox += k * sx_1; }
    """
    rest = f"rest_{first}"
    yield f"{indent}long long {rest} = {index}{''.join(f', o{array} = 0' for array in arrays)};"
    for axis in range(first, first + rank):
        innermost = axis == first + rank - 1
        steps = " ".join(f"o{array} += k * s{array}_{axis};" for array in arrays)
        along, left = (rest, "") if innermost else (f"{rest} % n{axis}", f" {rest} /= n{axis};")
        yield f"{indent}{{ const long long k = {along}; {steps}{left} }}"


def walk_parameters(rank: int, arrays: Sequence[str], /, *, first: int = 0) -> Iterator[str]:
    """The extents and strides, as parameters.

    >>> list(walk_parameters(1, ["x"]))
    ['long long n0', 'long long sx_0']
    """
    axes = range(first, first + rank)
    yield from (f"long long n{axis}" for axis in axes)
    for array in arrays:
        yield from (f"long long s{array}_{axis}" for axis in axes)


def walked(rank: int, arrays: int, arguments: Sequence[Argument], /) -> tuple[Shape, tuple[Shape, ...]]:
    """Extents, and strides of so many arrays, from the arguments that :func:`walk_parameters` stands for.

    >>> walked(2, 1, (3, 4, 1, 3))
    ((3, 4), ((1, 3),))
    """
    numbers = [int(argument) for argument in arguments]
    lists = [tuple(numbers[start : start + rank]) for start in range(0, rank * (arrays + 1), rank)] if rank else []
    return (lists[0], tuple(lists[1:])) if rank else ((), ((),) * arrays)


def all_offsets(shape: Shape, strides: Shape, /, first: int = 0) -> Any:
    """The offset of every element, as an array of the shape.

    >>> all_offsets((2, 2), (1, 10), 5).tolist()
    [[5, 15], [6, 16]]
    """
    total = np.full(shape, first, np.int64)
    for axis, (extent, stride) in enumerate(zip(shape, strides, strict=True)):
        total += (np.arange(extent, dtype=np.int64) * stride).reshape(-1, *[1] * (len(shape) - 1 - axis))
    return total
