"""What memory beyond the second-level cache costs a contraction, in estimated nanoseconds; see `costs`.

- Each more time that an element's line comes from beyond the cache: 0.4, 0.45 and 1.5 by the pair kernel, scatter GEMM
  and small products. By these, 160 steps of two circuits, a lattice, a graph and three files take 1.03 to 1.1 times as
  long as by their best kernels, where they took 1.0 to 1.5 times as long.
- Long sums of the packed product, an element whose line comes from beyond the cache out of order: 1.4 (two arrays of
  16 MB in unlike orders took 9.2 ms where packing and reading in order would be 3.4).
- Small products whose rows are no whole lines of the cache, in a result beyond all caches: 40 a row, for the lines at
  its ends, and at most 1.5 an element (43 million in rows of 27 took 115 ms where lines written whole take 41).
- Small products of more than 64 columns half a page apart or more, in a result beyond the cache: 0.45 an element at
  least (1000 by 5 by 1000 in F32 took 433 µs where the pair kernel takes 200; 300 by 5 by 2000 in F64 528 and 272).
- Rows of the pair kernel that go past the cache and are no whole lines of it: 18 a row (129 million elements in rows of
  81, sums of 9: 15 ms more than the packed product in runs of thousands, and 36 before the ends were asked for).
- Nothing is faster than 0.014 a byte beyond the cache, as far as one thread is asked.
"""

from __future__ import annotations

from operator import mul
from typing import Final

from tensor_cpu.kernels.processor_rates import rates
from tensor_cpu.system.extension import AVAILABLE, LIBRARY
from tensor_runtime.backends.shared.axes import Operand

CACHED_BYTES: Final = LIBRARY.CACHED_BYTES if AVAILABLE else 1 << 20
"""Bytes of an array that stays in the second-level cache beside others."""
ITEMSIZE: Final = {"bool": 1, "int32": 4, "int64": 8, "float32": 4, "float64": 8, "complex64": 8, "complex128": 16}
"""Bytes of an element, by NumPy's name of its type."""
_OUT_OF_ORDER: Final = 1.4  # the same where neighbours in a sum are in other lines: 11 a line, which nothing foresees
_BESIDE_TRAFFIC: Final = 0.15
_ENDS_OF_RUN: Final = 40.0  # a run, in a large result, that is no whole lines
_ENDS_ASKED_FOR: Final = 18.0  # the same by the pair kernel, for rows from so many lines on
_ROW_LINES: Final = 4
_PART_OF_LINE: Final = 1.5  # the same for each of its elements, at the most
_LINE_BYTES: Final = LIBRARY.CACHE_LINE if AVAILABLE else 64
_HALF_A_PAGE: Final = 1 << 11  # bytes
_COLUMN_APART: Final = 0.45
_TURNED_CALL: Final = 500.0
_TURNED: Final = 0.2  # an element of a product whose operands are turned block by block; other estimates are as low
_NEXT_BLOCK: Final = 150.0  # of a product in another order than the result's, which is copied block by block
_SCATTERED_BYTE: Final = 0.00625
_SCATTERED_RUN: Final = 0.2  # of neighbours
_SCATTERED_FAR_BYTE: Final = 0.0312  # more, where the result leaves the second-level cache,
_SCATTERED_VERY_FAR_BYTE: Final = 0.3  # and where it takes a good part of all of them
PARTS_OF_CACHES: Final = 4
"""What of all caches is a good part, of which an array leaves nothing else there."""
_LARGE_RESULT: Final = 1 << 25  # bytes that do not stay in any cache


def taken(operand: Operand) -> int:
    """Elements of memory that it takes, of which windows that overlap have some several times.

    >>> taken(Operand((0, 1), (9, 1000), (1, 1), "float64"))
    1008
    """
    steps = tuple(map(abs, operand.strides))
    span: int = 1 + sum(map(mul, operand.shape, steps)) - sum(steps)
    return min(operand.size, span)


def apart(size: int, kernel: str) -> float:
    """What elements cost more that lie in lines of their own, beyond the cache, for kernels that go by them singly.

    The pair kernel goes along those that are neighbours.

    >>> apart(2000, "scatter") > apart(1000, "scatter") > apart(1000, "pair")
    True
    """
    return size * rates().apart[kernel]


def parts_of_lines(size: int, run: int, dtype: str) -> float:
    """What small products take more to write ``size`` elements beyond the caches, in runs that are no whole lines.

    >>> parts_of_lines(1 << 24, 27, "float64") > parts_of_lines(1 << 24, 32, "float64") == 0.0
    True
    """
    itemsize = ITEMSIZE[dtype]
    if size * itemsize <= _LARGE_RESULT or run * itemsize % _LINE_BYTES == 0:
        return 0.0
    return size * min(_PART_OF_LINE, _ENDS_OF_RUN / run)


def ends_of_rows(size: int, run: int, dtype: str) -> float:
    """What the pair kernel takes more to write ``size`` elements past the cache, in rows that are no whole lines.

    >>> ends_of_rows(1 << 24, 81, "float64") > ends_of_rows(1 << 24, 96, "float64") == 0.0
    True
    """
    run_bytes = run * ITEMSIZE[dtype]
    if size * ITEMSIZE[dtype] <= _LARGE_RESULT or run_bytes % _LINE_BYTES == 0 or run_bytes < _ROW_LINES * _LINE_BYTES:
        return 0.0
    return size / run * _ENDS_ASKED_FOR


def columns_apart(size: int, step: int, dtype: str) -> float:
    """What small products take at least to write ``size`` elements beyond the cache, in many columns far apart.

    >>> columns_apart(1 << 24, 1000, "float64") > columns_apart(1 << 24, 8, "float64") == 0.0
    True
    """
    return size * _COLUMN_APART if abs(step) * ITEMSIZE[dtype] >= _HALF_A_PAGE else 0.0


def turned(size: int, moved: int) -> float:
    """Products of ``size`` elements without sums, of operands that are turned block by block, moving so many bytes.

    >>> turned(1000, 24_000) < turned(2000, 48_000)
    True
    """
    return max(least_turned(size), moved * rates().turned_byte)


def scattered(blocks: int, size: int, run: int, dtype: str) -> float:
    """So many blocks, of ``size`` elements in all, copied from the cache to their places, ``run`` of them neighbours.

    >>> scattered(10, 9000, 100, "float64") < scattered(10, 9000, 2, "float64") < scattered(99, 9000, 2, "float64")
    True
    """
    moved = size * ITEMSIZE[dtype]
    byte = _SCATTERED_BYTE + (_SCATTERED_FAR_BYTE if moved > CACHED_BYTES else 0.0)
    if AVAILABLE and moved > LIBRARY.far_bytes() // PARTS_OF_CACHES:
        byte += _SCATTERED_VERY_FAR_BYTE
    return blocks * _NEXT_BLOCK + moved * byte + size / run * _SCATTERED_RUN


def least_turned(size: int, dtype: str = "") -> float:
    """The least that :func:`turned` says, in any type.

    >>> least_turned(1000) <= turned(1000, 24_000)
    True
    """
    return _TURNED_CALL + size * _TURNED


def fetched_again(elements: float, kernel: str) -> float:
    """What it costs to fetch lines of the cache again, for so many elements.

    ``tensor_runtime.backends.shared.axes.fetches`` counts them.

    >>> fetched_again(100, "pair") < fetched_again(100, "stack")
    True
    """
    return elements * rates().again[kernel]


def fetched_apart(elements: float) -> float:
    """What long sums of the packed product take more, where each element's line is fetched out of order.

    >>> fetched_apart(100) > fetched_again(100, "scatter")
    True
    """
    return elements * _OUT_OF_ORDER


def with_traffic(time: float, moved: int) -> float:
    """The estimate of a kernel that moves so many bytes, which cannot be faster than memory.

    >>> with_traffic(5.0, 1000), with_traffic(5.0, 1 << 30) > 1e6
    (5.0, True)
    """
    return time if moved <= CACHED_BYTES else max(time, moved * rates().moved) + time * _BESIDE_TRAFFIC
