"""Estimated times, in nanoseconds, by which a contraction chooses among its kernels.

Only their ratios matter: estimates need be no better than a factor of 1.5 where kernels differ by more, and a wrong one
costs that factor, never an answer.

Products by BLAS and NumPy's kernels: measured on two cores of a 2.8 GHz server with AVX-512, NumPy 2.4 and OpenBLAS
0.3.34, alternating the kernels and taking medians.

- A floating-point operation of a product of F64: 0.0132 up to 64 by 64 by 64, 0.0118 at 96 (up to 100 OpenBLAS packs
  nothing), and 0.0153 from 128 on, on a server whose kernels in C take 0.8 of the times below; of F32 0.0045 and
  0.0065, of C64 0.061 and 0.053. A lone product of 16 by 16 by 16: 360 in C, 1300 by NumPy.
- On a processor of AMD with AVX-512 (family 26), OpenBLAS by its kernels for Skylake: products of 256 to 512 of F64
  at 92 to 96 GFLOP/s beside 107 to 115 of the packed product in C, of 1536 at 100 beside 105; of F32 230 beside 214.
- Where OPENBLAS_CORETYPE asks for kernels of narrower vectors, BLAS takes as many times as long as vectors are
  narrower: F64, F32 and C64 at 60, 124 and 64 GFLOP/s by those for Haswell, beside 107, 214 and 118 in C.
- A stack of 16 thousand products (M, K, N), per product: (1, 8, 1) 8, (2, 2, 2) 26, (4, 4, 4) 32, (8, 8, 8) 49,
  (16, 16, 16) 185, (2, 2, 64) 64, (2, 2, 1000) 1130; by NumPy's loop, which takes any strides: (1, 8, 1) 21,
  (2, 2, 2) 41, (4, 2, 4) 91, (4, 4, 4) 186.
- Where both factors of a small product have the summed axis contiguous, OpenBLAS takes another 60, and 1.5 times the
  operations: (4, 4, 4) 102 beside 40, (16, 4, 4) 138 beside 52, (16, 16, 16) 543 beside 299.
- Products of a stack whose results interleave, each writing short runs of a result beyond 2 MiB: 20 per run.
- The same sums by multiply and add over whole arrays: (2, 2, 2) 10 whether the batch is the innermost axis or the
  outermost, (4, 4, 4) 85 and 190. So BLAS wins from about 16 multiplications per product on.

Our own loops, copies and calls, and how many times as long BLAS takes on a processor of AMD: fitted to what is chosen,
on two cores of that processor (1 MiB of second-level cache), GCC 12. 1,700 products drawn as ``benchmarks.kernels``
draws them and 350 steps of networks drawn by ``benchmarks.networks``, each by every kernel that takes it; constants
went up and down in turns while that lowered what the choice loses, the mean logarithm of the chosen kernel's time over
that of the fastest. By these estimates 2,700 other products take 1.10 times as long as by their best kernels (geometric
mean; 1.17 by the former ones, of an Intel server), and the steps of networks of another seed, all together, 1.09 (1.22;
with two threads 1.15, 1.29). The figures below are of that processor; `processor_rates` holds them, and those of
AVX2, which were fitted apart.

- One fused multiply-add of a vector: 0.225 where operands are packed, 0.32 where four rows share their vectors, 0.93
  and 0.9 where one or two vectors are loaded for each. A lone row waits 0.93 for its last sum.
- Pair kernel, per call, per rectangle and per strip of a row: 105, 17 and 1.9. A gathered factor: 0.85.
  A sum of products that lie in runs: 4, and 0.65 for a vector of them; where it has several runs, 1.5 for each, as
  with AVX2: it was not measured here.
- Scatter GEMM, per call and per product of a stack: 300 and 20. Packing an element: 0.35 where rows are neighbours,
  0.45 where steps of the sum are, else 1.2. Writing one: 0.18 in vectors, else 2.
  A tile of an operand that is read as it lies: 13.5, for its addresses.
- Small products (stack.c), per call and per product or vector of products: 225 and 3.5; a multiply-add of a vector:
  0.32 of rows, 0.3 of products. A line of the cache per element, where there are more than 96 of them for a vector of
  products beyond the cache: 1.5, and 3 of thousands; 3 an element for the kernels that go by elements.
- A copy for BLAS (`blas_costs`): 120, 0.38 an element beyond the cache, and 0.2 for one that leaves its neighbours. A
  matrix times a vector by BLAS, a byte beyond the cache: 0.04.
"""

from __future__ import annotations

from math import gcd
from typing import Final

from tensor_cpu.kernels.memory_costs import CACHED_BYTES, ITEMSIZE
from tensor_cpu.kernels.processor_rates import Rates, rates
from tensor_cpu.system.extension import AVAILABLE

GEMM_DEPTH: Final = 256
"""Products of a sum that the packed product reads as one block; gemm.c"""
LONG_SUM: Final = 4096
"""Products of a sum that the packed product reads from end to end for each of a stack"""
_GEMM_STREAMS: Final = 32  # of a sum, where rows are read as they lie
_GEMM_COLUMNS: Final = 512
_FEW_PANELS: Final = (2, 8)  # of rows, beside which columns are not packed, and of columns, beside which rows are not
_FOLLOWED_LINES: Final = 96
_FAR_LINES: Final = 1 << 12
_STAGED_LINES: Final = 64
_MOST_COLUMNS: Final = 8  # of a block in registers
_TILE_SIDE: Final = 4  # rows or columns of a tile in them
_FIRST_LEVEL: Final = 1 << 15  # bytes of the first-level cache
_FIRST_PLACES: Final = 64
_FIRST_PLACES_LINES: Final = 8  # that one of them holds
_LINE_BYTES: Final = 64
_PARTS: Final = {"complex64": 2, "complex128": 2}  # that are multiplied; 1 of other types


def _parts(dtype: str, found: Rates) -> float:
    """How many times as long as vectors of numbers those of a type take to multiply, by kernels for every type."""
    return found.long_integer if dtype == "int64" else _PARTS.get(dtype, 1)


def least_scatter() -> float:
    """The least that :func:`scatter` says.

    >>> shape = dict(rows=1, columns=1, depth=1, stack=1, dtype="float32", packing=("rows", "rows"))
    >>> least_scatter() < scatter(**shape, in_vectors=True)
    True
    """
    packed = rates().packed
    return packed.call + packed.product


def pair(
    lanes: int,
    rows: int,
    others: int,
    depth: int,
    *,
    dtype: str,
    loop: str,
    gathered: int = 0,
    run: int = 1,
    packed: int = 0,
) -> float:
    """``others`` rectangles of ``rows`` by ``lanes`` sums of ``depth`` products, by one of the loops of pair.h.

    ``gathered`` is the number of factors that come through a table, ``run`` that of products which are neighbours,
    and ``packed`` that of factors which are made a run first.

    >>> shape = dict(lanes=64, rows=64, others=1, depth=64, dtype="float64")
    >>> shared, scaled = ({"loop": loop} for loop in ("shared", "scaled"))
    >>> not AVAILABLE or pair(**shape, **shared) < pair(**shape, **scaled) < pair(**shape, loop="tables", gathered=1)
    True
    """
    found = rates()
    pairs, itemsize, parts = found.pairs, ITEMSIZE[dtype], _parts(dtype, found)
    vectors = -(-lanes * itemsize // found.vector_bytes)
    if loop == "runs":
        begin = pairs.piece if run < depth else 0.0
        of_sum = depth // run * (begin + -(-run * itemsize // found.vector_bytes) * pairs.run_term * parts)
        sums = others * (pairs.rectangle + rows * lanes * (pairs.run + of_sum))
        return pairs.call + packed * pairs.gathered + sums
    if loop == "tables":
        each = lanes * gathered * pairs.gathered + vectors * (pairs.both + pairs.scaled) * parts
        return pairs.call + others * (pairs.rectangle + rows * depth * (each + pairs.strip))
    multiply_add = {"shared": pairs.shared, "scaled": pairs.scaled, "both": pairs.both}[loop] * parts
    strips = -(-rows // 4) if loop == "shared" else rows
    if depth * lanes * itemsize > CACHED_BYTES and strips > 1:  # else its vectors are loaded once
        multiply_add *= pairs.uncached
    row = vectors * multiply_add
    if vectors == 1 and (loop != "shared" or rows == 1):
        row = max(row, pairs.latency)
    return pairs.call + others * (pairs.rectangle + strips * pairs.strip + rows * row * depth)


def scatter(
    rows: int,
    columns: int,
    depth: int,
    stack: int,
    *,
    dtype: str,
    packing: tuple[str, str],
    in_vectors: bool,
    in_runs: bool = False,
) -> float:
    """A stack of products [rows, depth] [depth, columns], each operand packed by "rows", by "steps" or "scattered".

    In runs, rows are neighbours in their operand and in the result; then they are not packed where columns are few.

    >>> shape = dict(rows=64, columns=16, depth=64, stack=1, dtype="float64")
    >>> packed, scattered = ({"packing": (how, how), "in_vectors": how == "rows"} for how in ("rows", "scattered"))
    >>> not AVAILABLE or scatter(**shape, **packed) < scatter(**shape, **scattered)
    True
    >>> not AVAILABLE or scatter(**shape, **packed, in_runs=True) < scatter(**shape, **packed)
    True
    """
    found = rates()
    packed, itemsize, parts = found.packed, ITEMSIZE[dtype], _PARTS.get(dtype, 1)
    vectors, width = found.tile
    width //= parts
    lanes_of_vector = found.vector_bytes // itemsize
    high = -(-rows // lanes_of_vector)
    few_rows, few_columns = _FEW_PANELS
    reads_rows = in_runs and rows >= vectors * lanes_of_vector and columns <= few_columns * width
    reads_columns = not reads_rows and high <= few_rows * vectors
    panels = -(-columns // width)
    multiply_adds = high * panels * width * depth * _parts(dtype, found)
    tiles = -(-high // vectors) * panels if reads_rows or reads_columns else 0
    per_element = {"rows": packed.rows, "steps": packed.steps, "scattered": packed.scattered}
    # Panels are filled up with zeros, which takes as long as elements; only in long sums does that show.
    lanes = high * lanes_of_vector if depth > packed.filled else rows
    filled = panels * width if depth > packed.filled else columns
    packing_rows = 0.0 if reads_rows else lanes * depth * -(-columns // _GEMM_COLUMNS) * per_element[packing[0]]
    packing_columns = 0.0 if reads_columns else filled * depth * per_element[packing[1]]
    write = packed.write_vector if in_vectors else packed.write_scattered
    writing = rows * columns * write * -(-depth // (_GEMM_STREAMS if reads_rows else GEMM_DEPTH))
    # A tile of one vector waits for its sums less when it has many columns; a lone vector still costs half again.
    slowness = 1.0 if high % vectors == 0 or high > 2 * vectors else 1.15
    each = packed.product + multiply_adds * packed.term * slowness + packing_rows + packing_columns + writing
    each = (each + tiles * packed.tile_as_it_lies) * (packed.lone_column if columns == 1 else 1.0)
    return packed.call + stack * each


def written_apart(elements: int) -> float:
    """What the packed product takes more beside few rows that it writes beyond the caches, each in lines of its own.

    >>> written_apart(2000) >= written_apart(1000) >= 0.0
    True
    """
    return elements * rates().packed.written_apart


def may_read_columns(rows: int, dtype: str) -> bool:
    """Whether :func:`scatter` has so few rows that columns need not be packed.

    >>> may_read_columns(16, "float64") or not AVAILABLE, may_read_columns(1000, "float64")
    (True, False)
    """
    if not AVAILABLE:
        return False
    found = rates()
    return rows * ITEMSIZE[dtype] <= _FEW_PANELS[0] * found.tile[0] * found.vector_bytes


def rows(count: int, near: int, m: int, n: int, k: int, dtype: str, *, packed: int, step: int = 1) -> float:
    """``count`` times ``near`` products [m, k] [k, n] in vectors of rows, for which ``packed`` elements are packed.

    Rows are ``step`` elements apart, of one term of the sum and the next.

    >>> shape = dict(near=9, dtype="float64", packed=0)
    >>> not AVAILABLE or rows(1, m=4, n=4, k=4, **shape) < rows(1, m=8, n=8, k=8, **shape)
    True
    """
    found = rates()
    small, row_bytes, parts = found.stack, m * ITEMSIZE[dtype], _PARTS.get(dtype, 1)
    vectors = -(-row_bytes // found.vector_bytes)
    in_strip = min(vectors, 2)
    strips, most = -(-vectors // in_strip), _MOST_COLUMNS // parts // in_strip
    groups, left = divmod(n, most)
    masked = small.masked - 1.0 if row_bytes % found.vector_bytes else 0.0
    column = (vectors + masked) / strips * small.rows * parts  # of a strip, for one term of its sums
    slowest = max(small.latency, _line(row_bytes, k, step * ITEMSIZE[dtype]))
    terms = groups * max(most * column, slowest) + (max(left * column, slowest) if left else 0.0)
    is_block = near > 1 and vectors == 1 and n <= most
    each = (small.block if is_block else small.lone) + strips * k * terms + vectors * n * small.write
    return small.call + count * (small.walk + near * each) + packed * small.pack


def _line(row_bytes: int, k: int, step: int) -> float:
    """What it takes to fetch a line of rows, ``step`` bytes from the last one, where the first-level cache lacks it."""
    small = rates().stack
    if k > _FIRST_PLACES_LINES * first_places(step):
        return small.crowded
    return small.column if row_bytes * k > _FIRST_LEVEL else 0.0


def first_places(step: int) -> int:
    """Places of the first-level cache in which lines lie that are so many bytes apart.

    >>> [first_places(step) for step in (64, 128, 1000, 4096, 8192)]
    [64, 32, 64, 1, 1]
    """
    return _FIRST_PLACES // gcd(abs(step) // _LINE_BYTES, _FIRST_PLACES) if step % _LINE_BYTES == 0 else _FIRST_PLACES


def lanes(stack: int, near: int, m: int, n: int, k: int, dtype: str, *, packed: int) -> float:
    """``stack`` times ``near`` products [m, k] [k, n], a vector being neighbours; of each, ``packed`` are packed.

    >>> not AVAILABLE or lanes(1, 64, 4, 4, 4, "float64", packed=0) < lanes(1, 64, 4, 4, 4, "float64", packed=32)
    True
    """
    found = rates()
    small, width = found.stack, found.vector_bytes // ITEMSIZE[dtype]
    groups, lines, parts = stack * -(-near // width), m * k + k * n + m * n, _PARTS.get(dtype, 1)
    tiles = -(-m // _TILE_SIDE) * -(-n * parts // _TILE_SIDE)
    each = small.block + k * max(m * n * parts * small.lanes, tiles * small.latency) + packed * width * small.pack
    far = max(m * k, k * n, m * n) * near * ITEMSIZE[dtype] > CACHED_BYTES and lines > _FOLLOWED_LINES
    if far and near * ITEMSIZE[dtype] >= small.far_bytes:
        each += lines * (small.far_line if lines < _FAR_LINES else 2 * small.far_line)
    if near % width:
        each += m * n * small.part / -(-near // width)
    if m * k + k * n > _STAGED_LINES:
        each += lines * small.part / 2 / min(4, -(-near // width))
    return small.call + stack * small.walk + groups * each


def least_pair(terms: int, dtype: str) -> float:
    """The least that :func:`pair` says for so many multiply-adds, whatever the layouts.

    >>> not AVAILABLE or least_pair(64**3, "float64") < pair(64, 64, 1, 64, dtype="float64", loop="shared")
    True
    """
    found = rates()
    pairs, vector = found.pairs, _parts(dtype, found) * ITEMSIZE[dtype] / found.vector_bytes
    return pairs.call + terms * min(pairs.shared, pairs.scaled, pairs.both) * vector


def least_native(terms: int, dtype: str) -> float:
    """The least that :func:`pair` and :func:`scatter` say for so many multiply-adds, whatever the layouts.

    >>> not AVAILABLE or least_native(64**3, "float64") < pair(64, 64, 1, 64, dtype="float64", loop="shared")
    True
    """
    found = rates()
    pairs, packed, vector = found.pairs, found.packed, _parts(dtype, found) * ITEMSIZE[dtype] / found.vector_bytes
    multiply_add = min(packed.term, pairs.shared, pairs.scaled, pairs.both) * vector
    return min(pairs.call, packed.call) + terms * multiply_add
