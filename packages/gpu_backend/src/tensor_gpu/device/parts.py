"""Calls of libraries in parts, where they are asked for more matrices than they take at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from tensor_core.dtypes import I32, DType
from tensor_gpu.device.api import Gemm, Solver

_SECOND: Final[Mapping[str, str]] = {
    "getrf": "pivots", "getrs": "pivots", "gesvd": "values", "gesvdj": "values", "gesvdjBatched": "values",
    "gesvda": "values", "syevd": "values", "syevj": "values", "syevjBatched": "values",
}  # fmt: skip
"""What the second array of a routine holds, where it is not of the type of the call."""


def gemms(call: Gemm, most: int, /) -> Iterator[Gemm]:
    """The same products, at most so many in one call.

    >>> from tensor_core import F64
    >>> call = Gemm(F64, "N", "N", 2, 2, 2, 0, 2, 4, 0, 2, 0, 800, 2, 4, 5)
    >>> [(part.a, part.b, part.c, part.matrices) for part in gemms(call, 2)]
    [(0, 0, 800, 2), (64, 0, 864, 2), (128, 0, 928, 1)]
    """
    size = call.dtype.itemsize
    for first in range(0, call.matrices, most):
        yield call._replace(
            a=call.a + first * call.a_stride * size,
            b=call.b + first * call.b_stride * size,
            c=call.c + first * call.c_stride * size,
            matrices=min(most, call.matrices - first),
        )


def solvers(call: Solver, most: int, /) -> Iterator[Solver]:
    """The same routine, on at most so many matrices in one call.

    >>> from tensor_core import F64
    >>> from tensor_gpu.device.api import Stack
    >>> call = Solver("getrf", F64, (2, 2), (Stack(0, 2, 4), Stack(400, 1, 2)), 800, 3)
    >>> [(part.arrays[1].address, part.info, part.matrices) for part in solvers(call, 2)]
    [(400, 800, 2), (416, 808, 1)]
    """
    for first in range(0, call.matrices, most):
        arrays = tuple(
            stack._replace(address=stack.address + first * stack.stride * _type_of(call, place).itemsize)
            for place, stack in enumerate(call.arrays)
        )
        info, count = call.info + first * I32.itemsize, min(most, call.matrices - first)
        yield call._replace(arrays=arrays, info=info, matrices=count)


def _type_of(call: Solver, place: int) -> DType:
    held = _SECOND.get(call.routine) if place == 1 else None
    return I32 if held == "pivots" else call.dtype.component if held == "values" else call.dtype
