"""What ``columns.cuh`` means: arithmetic on columns of matrices, with the bits of a warp's.

Numbers are arrays of their parts, the real and the imaginary one, along the first axis; a real number has one. Rows are
the last axis.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from tensor_core.dtypes import DType
from tensor_gpu.device.program import HostMemory

Array = np.ndarray[Any, Any]
LANES: Final = 32
MOST_COLUMNS: Final = 256
"""Of a matrix in the hands of one block: what its shared memory has room for."""


def stack(memory: HostMemory, address: int, dtype: DType, rows: int, columns: int, count: int, /) -> Array:
    """Matrices without gaps, as [matrix, column, row].

    >>> from tensor_core import F64
    >>> from tensor_gpu.sim.memory import SimulatedMemory
    >>> memory = SimulatedMemory(0, 1 << 12)
    >>> stack(memory, memory.allocate(48), F64, 3, 2, 1).shape
    (1, 2, 3)
    """
    found: Array = memory.view(address, dtype, (count, columns, rows), (rows * columns, rows, 1))
    return found


def parts_of(x: Array, /) -> Array:
    """A copy of numbers in their parts.

    >>> parts_of(np.array([1 + 2j])).tolist()
    [[1.0], [2.0]]
    """
    return np.stack([x.real, x.imag] if np.iscomplexobj(x) else [x])


def put_parts(target: Array, parts: Array, /) -> None:
    """Write numbers that are in their parts.

    >>> target = np.zeros(1, complex)
    >>> put_parts(target, np.array([[1.0], [2.0]]))
    >>> target.tolist()
    [(1+2j)]
    """
    if len(parts) == 1:
        target[...] = parts[0]
    else:
        target.real, target.imag = parts


def conjugate(x: Array, /) -> Array:
    """Conjugated numbers.

    >>> conjugate(parts_of(np.array([3 + 4j]))).tolist()
    [[3.0], [-4.0]]
    """
    return x if len(x) == 1 else np.stack([x[0], -x[1]])


def multiply(x: Array, y: Array, /) -> Array:
    """Products, each of four rounded ones.

    >>> multiply(parts_of(np.array([1j])), parts_of(np.array([2j]))).tolist()
    [[-2.0], [0.0]]
    """
    if len(x) == 1:
        return np.asarray(x * y)
    return np.stack([x[0] * y[0] - x[1] * y[1], x[0] * y[1] + x[1] * y[0]])


def square(x: Array, /) -> Array:
    """Squares of magnitudes; these are real, and have no axis of parts.

    >>> square(parts_of(np.array([3 + 4j]))).tolist()
    [25.0]
    """
    return np.asarray(x[0] * x[0] if len(x) == 1 else x[0] * x[0] + x[1] * x[1])


def total(x: Array, /, first: int = 0) -> Array:
    """Sums along the last axis, in a warp's order: each lane its rows, then the lanes by halves.

    Args:
        x: terms.
        first: the row that the first term is of.

    >>> total(np.arange(100.0)).item()
    4950.0
    """
    rows = first + x.shape[-1]
    times = -(-rows // LANES)
    padded = np.zeros((*x.shape[:-1], times * LANES), x.dtype)
    padded[..., first:rows] = x
    found = np.zeros((*x.shape[:-1], LANES), x.dtype)
    for number in range(times):
        found = found + padded[..., number * LANES : (number + 1) * LANES]
    half = LANES // 2
    while half:
        found = found[..., :half] + found[..., half : 2 * half]
        half //= 2
    return found[..., 0]


def power_below(x: Array, /) -> Array:
    """The largest powers of two that are not above; of subnormal numbers the smallest normal one.

    >>> power_below(np.array([3.0, 4.0, 0.1])).tolist()
    [2.0, 4.0, 0.0625]
    """
    exponents, facts = np.frexp(x)[1], np.finfo(x.dtype)
    found = np.ldexp(np.ones_like(x), np.maximum(exponents - 1, facts.minexp))
    return np.where(np.isfinite(x), found, np.inf).astype(x.dtype)
