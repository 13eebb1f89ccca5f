"""Estimated times, in nanoseconds, of the native contraction kernels, comparable with those of ``cost``.

Measured on one core of a 2.6 GHz Zen 4 server (AVX-512 in two halves, 1 MiB of second-level cache), GCC 12, by the
minimum of alternating calls; BLAS there reaches 51 GFLOP/s of F64. Vectors of another instruction set only change their
number. Estimates need be no better than a factor of 1.5 where kernels differ by more.

- One fused multiply-add of a vector: 0.33 where operands are packed or where four rows share their vectors, 0.5 and
  0.7 where one or two vectors are loaded for each. A lone row waits 1.3 for its last sum.
- Pair kernel, per call, per rectangle and per strip of a row: 150, 10 and 3. A gathered factor: 0.4.
- Scatter GEMM, per call and per product of a stack: 200 and 35. Packing an element: 0.4 where rows are neighbours, 0.5
  where steps of the sum are, else 0.8. Writing one: 0.2 in vectors, else 1.6.
"""

from __future__ import annotations

from typing import Final

from tensor_cpu.system.extension import LIBRARY

_PACKED: Final = 0.33  # one multiply-add of a vector, by loop
_SHARED: Final = 0.33
_SCALED: Final = 0.5
_BOTH: Final = 0.7
_LATENCY: Final = 1.3
_PAIR_CALL: Final = 150.0
_RECTANGLE: Final = 10.0
_STRIP: Final = 3.0
_GATHERED: Final = 0.4
_GEMM_CALL: Final = 200.0
_PRODUCT: Final = 35.0
_PACK_ROWS: Final = 0.4
_PACK_STEPS: Final = 0.5
_PACK_SCATTERED: Final = 0.8
_WRITE_VECTOR: Final = 0.2
_WRITE_SCATTERED: Final = 1.6
_CACHED: Final = 1 << 19  # bytes that stay in the second-level cache
_UNCACHED: Final = 6.0  # how much slower vectors come from beyond it

_VECTOR_BYTES: Final = {"avx512": 64, "avx2": 32, "plain": 16}
_TILE: Final = {"avx512": (3, 8), "avx2": (3, 4), "plain": (2, 4)}  # vectors and columns; simd/gemm.c
_GEMM_DEPTH: Final = 256  # of a block; gemm.c
_GEMM_COLUMNS: Final = 512


def _lanes(itemsize: int) -> int:
    """Elements of a vector."""
    return _VECTOR_BYTES[LIBRARY.instruction_set()] // itemsize


def pair(
    lanes: int, rows: int, others: int, depth: int, *, itemsize: int, parts: int, loop: str, gathered: int = 0
) -> float:
    """``others`` rectangles of ``rows`` by ``lanes`` sums of ``depth`` products, by one of the loops of pair.h.

    ``parts`` is 2 for complex elements; ``gathered`` is the number of factors that come through a table.

    >>> shape = dict(lanes=64, rows=64, others=1, depth=64, itemsize=8, parts=1)
    >>> pair(**shape, loop="shared") < pair(**shape, loop="scaled") < pair(**shape, loop="tables", gathered=1)
    True
    """
    vectors = -(-lanes // _lanes(itemsize))
    if loop == "tables":
        each = lanes * gathered * _GATHERED + vectors * (_BOTH + _SCALED) * parts
        return _PAIR_CALL + others * (_RECTANGLE + rows * depth * (each + _STRIP))
    multiply_add = {"shared": _SHARED, "scaled": _SCALED, "both": _BOTH}[loop] * parts
    if depth * lanes * itemsize > _CACHED and rows > 1:
        multiply_add *= _UNCACHED
    strips = -(-rows // 4) if loop == "shared" else rows
    row = vectors * multiply_add
    if vectors == 1 and (loop != "shared" or rows == 1):
        row = max(row, _LATENCY)
    return _PAIR_CALL + others * (_RECTANGLE + strips * _STRIP + rows * row * depth)


def gemm(
    rows: int,
    columns: int,
    depth: int,
    stack: int,
    *,
    itemsize: int,
    parts: int,
    packing: tuple[str, str],
    in_vectors: bool,
) -> float:
    """A stack of products [rows, depth] [depth, columns], each operand packed by "rows", by "steps" or "scattered".

    >>> shape = dict(rows=64, columns=64, depth=64, stack=1, itemsize=8, parts=1)
    >>> gemm(**shape, packing=("rows", "rows"), in_vectors=True) < gemm(
    ...     **shape, packing=("scattered", "scattered"), in_vectors=False
    ... )
    True
    """
    vectors, width = _TILE[LIBRARY.instruction_set()]
    width //= parts
    high = -(-rows // _lanes(itemsize))
    multiply_adds = high * -(-columns // width) * width * depth * parts
    per_element = {"rows": _PACK_ROWS, "steps": _PACK_STEPS, "scattered": _PACK_SCATTERED}
    packing_rows = rows * depth * -(-columns // _GEMM_COLUMNS) * per_element[packing[0]]
    packing_columns = columns * depth * per_element[packing[1]]
    write = _WRITE_VECTOR if in_vectors else _WRITE_SCATTERED
    writing = rows * columns * write * -(-depth // _GEMM_DEPTH)
    # A tile of one vector waits for its sums less when it has many columns; a lone vector still costs half again.
    slowness = 1.0 if high % vectors == 0 or high > 2 * vectors else 1.15
    each = _PRODUCT + multiply_adds * _PACKED * slowness + packing_rows + packing_columns + writing
    return _GEMM_CALL + stack * each
