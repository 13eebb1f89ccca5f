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
with two threads 1.15, 1.29). Other instruction sets change how many vectors there are; with AVX2 (AMD, family 25) calls
of BLAS and copies in the cache take twice as long beside them (2,900 products: 1.13, without 1.17).

- One fused multiply-add of a vector: 0.225 where operands are packed, 0.32 where four rows share their vectors, 0.93
  and 0.9 where one or two vectors are loaded for each. A lone row waits 0.93 for its last sum.
- Pair kernel, per call, per rectangle and per strip of a row: 105, 17 and 1.9. A gathered factor: 0.85.
  A sum of products that lie in runs: 4, and 0.65 for a vector of them.
- Scatter GEMM, per call and per product of a stack: 300 and 20. Packing an element: 0.35 where rows are neighbours,
  0.45 where steps of the sum are, else 1.2. Writing one: 0.18 in vectors, else 2.
  A tile of an operand that is read as it lies: 13.5, for its addresses.
- Small products (stack.c), per call and per product or vector of products: 225 and 3.5; a multiply-add of a vector:
  0.32 of rows, 0.3 of products. A line of the cache per element, where there are more than 96 of them for a vector of
  products beyond the cache: 1.5, and 3 of thousands; 3 an element for the kernels that go by elements.
- A copy for BLAS: 120, 0.38 an element beyond the cache, and 0.2 for one that leaves its neighbours. A matrix times a
  vector by BLAS, a byte beyond the cache: 0.04.
"""

from __future__ import annotations

from functools import cache
from typing import Final

from tensor_cpu.kernels.memory_costs import CACHED_BYTES, ITEMSIZE
from tensor_cpu.system.blas import asked_vector_bytes, asks_for_mkl
from tensor_cpu.system.extension import AVAILABLE, LIBRARY

_CACHED_ELEMENTS: Final = CACHED_BYTES // 8
_PRODUCTS_CALL: Final = 100.0 if AVAILABLE else 1000.0  # a matrix product or a stack of them; NumPy makes views
_LOOPS_CALL: Final = 1000.0
_PRODUCT_CALL: Final = 60.0  # one more matrix product in a stack
_BLAS_FLOP: Final = {"float64": 0.0142, "float32": 0.0042, "complex128": 0.065, "complex64": 0.035}
_BLAS_ON_AMD: Final = {"float64": 1.3, "complex128": 3.2, "complex64": 2.2}
_PACKED_FLOP: Final = {"float64": 1.09}  # more where BLAS packs and blocks are few
BLAS_DTYPES: Final = frozenset(_BLAS_FLOP)
_LOOP_FLOP: Final = 0.3  # integers and Bool, for which there is no BLAS
_LOOP_CALL: Final = 5.0  # one more matrix product in a stack, without BLAS
_LOOP_TERM: Final = 2.5  # one multiplication and addition of it, strided
_TRAFFIC: Final = 0.1  # per element of the three matrices
_PACKED_TRAFFIC: Final = 0.6  # where BLAS packs
_WRITTEN: Final = 0.3  # more, per element of a matrix that leaves the cache: zeros are written first, then sums added
_ALONG_CALL: Final = 50.0  # more, for a small product that sums along both factors' memory
_ALONG_FLOP: Final = 0.33
_SMALL_PRODUCT: Final = 100**3  # multiply-adds up to which BLAS packs nothing
_LARGE_PRODUCT: Final = 1 << 25
_INTERLEAVED_RUN: Final = 30.0
_UFUNC_CALL: Final = 700.0  # with the indexing around it
_INNER_LOOP: Final = 12.0  # each time a ufunc starts on another run of elements
_CONTIGUOUS: Final = 0.5  # one element of a multiply or an add, in the cache
_STRIDED: Final = 1.2
_COPY_CALL: Final = 120.0 if AVAILABLE else 700.0
_COPIED_RUN: Final = 0.1 if AVAILABLE else 1.0  # per element, when long runs are copied
_COPIED_RUN_UNCACHED: Final = 0.38 if AVAILABLE else 2.5  # what does not fit into the second-level cache
_COPIED_ELEMENT: Final = 0.2 if AVAILABLE else 5.0  # when neighbours go far apart

_PACKED: Final = 0.225  # one multiply-add of a vector, by loop
_SHARED: Final = 0.32
_SCALED: Final = 0.93
_BOTH: Final = 0.9
_LATENCY: Final = 0.93
_PAIR_CALL: Final = 105.0
_RECTANGLE: Final = 17.0
_STRIP: Final = 1.9
_GATHERED: Final = 0.85
_RUN: Final = 4.0  # one sum of products that are neighbours
_RUN_TERM: Final = 0.65
_GEMM_CALL: Final = 300.0
_PRODUCT: Final = 20.0
_PACK_ROWS: Final = 0.35
_PACK_STEPS: Final = 0.45
_PACK_SCATTERED: Final = 1.2
_TILE_AS_IT_LIES: Final = 13.5  # of an operand that is not packed: addresses are looked up
_WRITE_VECTOR: Final = 0.18
_WRITE_SCATTERED: Final = 2.0
_STACK_CALL: Final = 225.0
_BLOCK: Final = 3.5
_ROWS_TERM: Final = 0.32
_LANES_TERM: Final = 0.3
_FOLLOWED_LINES: Final = 96
_FAR_LINE: Final = 1.5
_FAR_LINES: Final = 1 << 12
_STAGED_LINES: Final = 64
_PART: Final = 8.0  # one element of a product in less than a vector of neighbouring ones, or in one that is staged
_VECTOR_TRAFFIC: Final = 0.04  # the same of a matrix that BLAS multiplies by a vector
stacks_evenly: Final = False
"""Whether matrices of a stack must be evenly spaced: our loop over calls of BLAS takes them anywhere."""
LEAST_SCATTER: Final = _GEMM_CALL + _PRODUCT
"""The least that :func:`scatter` says."""
_UNCACHED: Final = 6.0  # how much slower vectors come from beyond it

_PARTS: Final = {"complex64": 2, "complex128": 2}  # that are multiplied; 1 of other types
_VECTOR_BYTES: Final = {"avx512": 64, "avx2": 32, "plain": 16}
_TILE: Final = {"avx512": (3, 8), "avx2": (3, 4), "plain": (2, 4)}  # vectors and columns; simd/gemm.c
GEMM_DEPTH: Final = 256
"""Products of a sum that the packed product reads as one block; gemm.c"""
_GEMM_STREAMS: Final = 32  # the same where rows are read as they lie
_FEW_PANELS: Final = (2, 8)  # of rows, beside which columns are not packed, and of columns, beside which rows are not
_GEMM_COLUMNS: Final = 512
LONG_SUM: Final = 4096
"""Products of a sum that the packed product reads from end to end for each of a stack"""


@cache
def blas_slowness(dtype: str) -> float:
    """How many times as long BLAS takes here, beside our loops, as where the constants were measured.

    Found out once; of the instruction set that was in use then, which only tests change. MKL was not measured.

    >>> 1.0 <= blas_slowness("float32") <= 4.0
    True
    """
    if not AVAILABLE or asks_for_mkl() or LIBRARY.instruction_set() != "avx512":
        return 1.0  # with narrower vectors our loops gain nothing on BLAS
    asked = asked_vector_bytes()
    narrower = vector_bytes() / asked if asked is not None and asked < vector_bytes() else 1.0
    return max(narrower, _BLAS_ON_AMD.get(dtype, 1.0) if LIBRARY.is_amd() else 1.0)


@cache
def _around() -> float:
    """How many times as long small products by BLAS and small copies take, but for operations, beside our loops."""
    return 2.0 if AVAILABLE and LIBRARY.instruction_set() == "avx2" else 1.0


def _blas_flop(dtype: str) -> float:
    """A floating-point operation of a product of matrices by BLAS; of integers and Bool, by NumPy."""
    return _BLAS_FLOP[dtype] * blas_slowness(dtype) if dtype in _BLAS_FLOP else _LOOP_FLOP


def product(m: int, n: int, k: int, dtype: str) -> float:
    """One matrix product [n, k] [k, m].

    >>> product(4, 4, 4, "float64") < product(4, 4, 4, "int64")
    True
    """
    flop = _blas_flop(dtype) if min(m, n) > 1 else _BLAS_FLOP.get(dtype, _LOOP_FLOP)  # a vector waits for memory
    if _SMALL_PRODUCT < m * n * k <= _LARGE_PRODUCT:
        flop *= _PACKED_FLOP.get(dtype, 1.0)
    call = _around() * (_PRODUCT_CALL if m * n > 1 else _PRODUCT_CALL / 4)  # a lone dot product is called directly
    written = m * n * _WRITTEN if min(m, n) > 1 and m * n > _CACHED_ELEMENTS else 0.0
    traffic = _around() * _TRAFFIC if m * n * k <= _SMALL_PRODUCT else _PACKED_TRAFFIC
    if min(m, n) == 1 and m * n * k > _SMALL_PRODUCT:
        traffic = _VECTOR_TRAFFIC * ITEMSIZE[dtype]
    return call + 2 * m * n * k * flop + (m * n + m * k + n * k) * traffic + written


def products(count: int, m: int, n: int, k: int, dtype: str) -> float:
    """A stack of them, with the call around it.

    >>> products(1, 4, 4, 4, "float64") > 2 * product(4, 4, 4, "float64")
    True
    """
    return _around() * _PRODUCTS_CALL + count * product(m, n, k, dtype)


def along(count: int, m: int, n: int, k: int, dtype: str) -> float:
    """What a stack of products takes more where both factors have the summed axis contiguous.

    >>> along(10, 8, 8, 8, "float64") > along(1, 8, 8, 8, "float64") > along(10, 500, 500, 500, "float64")
    True
    """
    if m * n * k > _SMALL_PRODUCT or min(m, n) == 1:
        return 0.0
    return count * (_ALONG_CALL + _ALONG_FLOP * 2 * m * n * k * (_blas_flop(dtype) if dtype in _BLAS_FLOP else 0.0))


def interleaved(size: int, run: int, dtype: str) -> float:
    """What a stack of products takes more whose results lie between each other, in runs of ``run`` elements.

    >>> interleaved(1 << 20, 16, "float64") > interleaved(1 << 10, 16, "float64")
    True
    """
    return size / run * _INTERLEAVED_RUN if size * ITEMSIZE[dtype] > CACHED_BYTES else 0.0


def loops(count: int, m: int, n: int, k: int) -> float:
    """The same by NumPy's own loop, for matrices that BLAS does not take."""
    return _LOOPS_CALL + count * loop(m, n, k)


def loop(m: int, n: int, k: int) -> float:
    """The same by NumPy's own loop, for matrices that BLAS does not take.

    >>> loop(2, 2, 2) < product(2, 2, 2, "float64") < product(4, 4, 4, "float64") < loop(4, 4, 4)
    True
    """
    return _LOOP_CALL + m * n * k * _LOOP_TERM


def copy(size: int, run: int) -> float:
    """A permuted copy of ``size`` elements, of which ``run`` neighbours stay neighbours.

    >>> copy(1000, 100) < copy(1000, 2)
    True
    """
    along = _COPIED_RUN if size < _CACHED_ELEMENTS else _COPIED_RUN_UNCACHED
    cached = _around() if size < _CACHED_ELEMENTS else 1.0
    return cached * (_COPY_CALL + size * (along + _COPIED_ELEMENT / run))


def accumulation(size: int, terms: int, run: int, calls: int, *, contiguous: bool) -> float:
    """A sum of ``terms`` broadcast products for ``size`` elements, in runs of ``run``, by ``calls`` ufunc calls.

    >>> accumulation(1000, 2, 100, 3, contiguous=True) < accumulation(1000, 2, 2, 3, contiguous=True)
    True
    """
    element = _CONTIGUOUS if contiguous else _STRIDED
    return calls * _UFUNC_CALL + size * (2 * terms - 1) * (element + _INNER_LOOP / run)


def pair(lanes: int, rows: int, others: int, depth: int, *, dtype: str, loop: str, gathered: int = 0) -> float:
    """``others`` rectangles of ``rows`` by ``lanes`` sums of ``depth`` products, by one of the loops of pair.h.

    ``gathered`` is the number of factors that come through a table.

    >>> shape = dict(lanes=64, rows=64, others=1, depth=64, dtype="float64")
    >>> shared, scaled = ({"loop": loop} for loop in ("shared", "scaled"))
    >>> not AVAILABLE or pair(**shape, **shared) < pair(**shape, **scaled) < pair(**shape, loop="tables", gathered=1)
    True
    """
    itemsize, parts = ITEMSIZE[dtype], _PARTS.get(dtype, 1)
    vectors = -(-lanes * itemsize // _VECTOR_BYTES[LIBRARY.instruction_set()])
    if loop == "runs":
        of_sum = -(-depth * itemsize // _VECTOR_BYTES[LIBRARY.instruction_set()])
        return _PAIR_CALL + others * (_RECTANGLE + rows * lanes * (_RUN + of_sum * _RUN_TERM * parts))
    if loop == "tables":
        each = lanes * gathered * _GATHERED + vectors * (_BOTH + _SCALED) * parts
        return _PAIR_CALL + others * (_RECTANGLE + rows * depth * (each + _STRIP))
    multiply_add = {"shared": _SHARED, "scaled": _SCALED, "both": _BOTH}[loop] * parts
    strips = -(-rows // 4) if loop == "shared" else rows
    if depth * lanes * itemsize > CACHED_BYTES and strips > 1:  # else its vectors are loaded once
        multiply_add *= _UNCACHED
    row = vectors * multiply_add
    if vectors == 1 and (loop != "shared" or rows == 1):
        row = max(row, _LATENCY)
    return _PAIR_CALL + others * (_RECTANGLE + strips * _STRIP + rows * row * depth)


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
    itemsize, parts = ITEMSIZE[dtype], _PARTS.get(dtype, 1)
    vectors, width = _TILE[LIBRARY.instruction_set()]
    width //= parts
    lanes_of_vector = _VECTOR_BYTES[LIBRARY.instruction_set()] // itemsize
    high = -(-rows // lanes_of_vector)
    few_rows, few_columns = _FEW_PANELS
    reads_rows = in_runs and rows >= vectors * lanes_of_vector and columns <= few_columns * width
    reads_columns = not reads_rows and high <= few_rows * vectors
    panels = -(-columns // width)
    multiply_adds = high * panels * width * depth * parts
    tiles = -(-high // vectors) * panels if reads_rows or reads_columns else 0
    per_element = {"rows": _PACK_ROWS, "steps": _PACK_STEPS, "scattered": _PACK_SCATTERED}
    # Panels are filled up with zeros, which takes as long as elements; only in long sums does that show.
    lanes = high * lanes_of_vector if depth > LONG_SUM else rows
    filled = panels * width if depth > LONG_SUM else columns
    packing_rows = 0.0 if reads_rows else lanes * depth * -(-columns // _GEMM_COLUMNS) * per_element[packing[0]]
    packing_columns = 0.0 if reads_columns else filled * depth * per_element[packing[1]]
    write = _WRITE_VECTOR if in_vectors else _WRITE_SCATTERED
    writing = rows * columns * write * -(-depth // (_GEMM_STREAMS if reads_rows else GEMM_DEPTH))
    # A tile of one vector waits for its sums less when it has many columns; a lone vector still costs half again.
    slowness = 1.0 if high % vectors == 0 or high > 2 * vectors else 1.15
    each = _PRODUCT + multiply_adds * _PACKED * slowness + packing_rows + packing_columns + writing
    each += tiles * _TILE_AS_IT_LIES
    return _GEMM_CALL + stack * each


def may_read_columns(rows: int, dtype: str) -> bool:
    """Whether :func:`scatter` has so few rows that columns need not be packed.

    >>> may_read_columns(16, "float64") or not AVAILABLE, may_read_columns(1000, "float64")
    (True, False)
    """
    if not AVAILABLE:
        return False
    vectors, _ = _TILE[LIBRARY.instruction_set()]
    return rows * ITEMSIZE[dtype] <= _FEW_PANELS[0] * vectors * _VECTOR_BYTES[LIBRARY.instruction_set()]


def vector_bytes() -> int:
    """Bytes of a vector of this processor."""
    return _VECTOR_BYTES[LIBRARY.instruction_set()]


def rows(count: int, m: int, n: int, k: int, dtype: str, *, packed: int) -> float:
    """A stack of products [m, k] [k, n] in vectors of rows, for which ``packed`` elements are packed.

    >>> not AVAILABLE or rows(9, 4, 4, 4, "float64", packed=0) < rows(9, 8, 8, 8, "float64", packed=0)
    True
    """
    vectors = -(-m * ITEMSIZE[dtype] // vector_bytes())
    each = _BLOCK + vectors * n * k * _PARTS.get(dtype, 1) * _ROWS_TERM
    return _STACK_CALL + count * each + packed * _PACK_STEPS


def lanes(stack: int, near: int, m: int, n: int, k: int, dtype: str, *, packed: int) -> float:
    """``stack`` times ``near`` products [m, k] [k, n], a vector being neighbours; of each, ``packed`` are packed.

    >>> not AVAILABLE or lanes(1, 64, 4, 4, 4, "float64", packed=0) < lanes(1, 64, 4, 4, 4, "float64", packed=32)
    True
    """
    width = vector_bytes() // ITEMSIZE[dtype]
    groups, lines = stack * -(-near // width), m * k + k * n + m * n
    each = _BLOCK + m * n * k * _PARTS.get(dtype, 1) * _LANES_TERM + packed * width * _PACK_STEPS
    if max(m * k, k * n, m * n) * near * ITEMSIZE[dtype] > CACHED_BYTES and lines > _FOLLOWED_LINES:
        each += lines * (_FAR_LINE if lines < _FAR_LINES else 2 * _FAR_LINE)
    if near % width:
        each += m * n * _PART / -(-near // width)
    if m * k + k * n > _STAGED_LINES:
        each += lines * _PART / 2 / min(4, -(-near // width))
    return _STACK_CALL + groups * each


def least_pair(terms: int, dtype: str) -> float:
    """The least that :func:`pair` says for so many multiply-adds, whatever the layouts.

    >>> not AVAILABLE or least_pair(64**3, "float64") < pair(64, 64, 1, 64, dtype="float64", loop="shared")
    True
    """
    itemsize, parts = ITEMSIZE[dtype], _PARTS.get(dtype, 1)
    multiply_add = min(_SHARED, _SCALED, _BOTH) * parts * itemsize / _VECTOR_BYTES[LIBRARY.instruction_set()]
    return _PAIR_CALL + terms * multiply_add


def least_native(terms: int, dtype: str) -> float:
    """The least that :func:`pair` and :func:`scatter` say for so many multiply-adds, whatever the layouts.

    >>> not AVAILABLE or least_native(64**3, "float64") < pair(64, 64, 1, 64, dtype="float64", loop="shared")
    True
    """
    itemsize, parts = ITEMSIZE[dtype], _PARTS.get(dtype, 1)
    multiply_add = min(_PACKED, _SHARED, _SCALED, _BOTH) * parts * itemsize / _VECTOR_BYTES[LIBRARY.instruction_set()]
    return min(_PAIR_CALL, _GEMM_CALL) + terms * multiply_add


def least_products(count: int, terms: int, dtype: str, *, dots: bool = True) -> float:
    """The least that :func:`products` and :func:`loops` say for so many multiply-adds in a stack of ``count`` products.

    >>> least_products(8, 8 * 4**3, "float64", dots=False) < products(8, 4, 4, 4, "float64")
    True
    """
    call = _PRODUCT_CALL / 4 if dots else _PRODUCT_CALL
    return min(_PRODUCTS_CALL + count * call + 2 * terms * _BLAS_FLOP.get(dtype, _LOOP_FLOP), _LOOPS_CALL)


def least_numpy(terms: int, dtype: str) -> float:
    """The least that :func:`products`, :func:`loops` and :func:`accumulation` say for so many multiply-adds.

    >>> least_numpy(64**3, "float64") < products(1, 64, 64, 64, "float64")
    True
    """
    return min(least_products(1, terms, dtype), _UFUNC_CALL)
