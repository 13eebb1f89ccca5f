"""What the parts of a contraction's kernels take on a processor, by its instruction set.

Times are nanoseconds, and only their ratios matter, among the rates of one processor. `costs` says how those of AVX-512
were measured; without vectors beyond the baseline the same ones count, of narrower vectors.

Those of AVX2: fitted on one core of a processor of AMD (family 25, 512 KiB of second-level cache), GCC 12, OpenBLAS
0.3.34 by its kernels for AVX2. 8,200 products were drawn of twelve families (steps of tensor networks and of
quantum circuits, batches innermost, in the middle and outermost, attention, long and thin matrices, vectors, strided,
reversed and repeated operands, integers), each by every kernel that takes it, in the time of the processor. First rates
went up and down in turns while that lowered the mean deviation of each kernel's estimates, then while it lowered what
the choice loses. Operands had been used just before; but many come from memory, as those of a network do that is larger
than the caches. So 18 rates were fitted once more to what the choice loses in both cases, on 15,000 products, each by
every kernel with operands in the caches and out of them, and 600 of up to 2^25 elements: BLAS and small products take
more of what is far than a packed product does. Factors of `ufunc` are ratios measured beside BLAS. What is 0 or 1 with
AVX-512 and not here was not measured there:

- OpenBLAS packs every product by its kernels for AVX2, and fills rows and columns up to a vector; those for AVX-512
  pack none of up to 100 by 100 by 100.
- Vectors whose lines lie a large power of two apart crowd few places of the first-level cache: a column of 64 lines, a
  page apart, takes 3.4 to 5.7 a line by small products, where each comes from the second level.
- Copies count bytes: 16 of C64 take twice as long as 8 of F64, and 4 times as long where they leave the caches.
- There is no instruction for products of I64.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from tensor_cpu.system.extension import AVAILABLE, LIBRARY


class BlasRates(NamedTuple):
    """Products of matrices by BLAS, and copies for it."""

    stack: float  # a matrix product or a stack of them
    product: float  # one more matrix product in a stack
    dot: float  # the same of a row and a column, which is called directly
    flop: Mapping[str, float]  # a floating-point operation of matrices, by type,
    vector_flop: Mapping[str, float]  # and of a matrix and a vector, which wait for memory
    packed_flop: Mapping[str, float]  # times as long where BLAS packs and blocks are few
    tile_bytes: int  # rows and columns are filled up to whole ones; 0 where none are
    along: float  # more, for a small product that sums along both factors' memory,
    along_flop: float  # and the part of its operations
    traffic: float  # an element of the three matrices,
    packed_traffic: float  # where they are large,
    traffic_byte: float  # and more, a byte
    vector_traffic: float  # an element of a matrix times a vector,
    vector_byte: float  # and a byte,
    large_vector_byte: float  # where it is large
    loop_flop: float  # an operation of integers and Bool, for which there is no BLAS
    ufunc: Mapping[str, float]  # how many times as long as 8 bytes NumPy takes for an element, by type
    apart: float  # an element of a vector of which none has its neighbour in its line of the cache
    copy: float
    copied: float  # an element of long runs,
    copied_far: float  # and where the copy leaves the second-level cache
    copied_run: float  # a run of neighbours
    copied_byte: float  # more, a byte,
    copied_far_byte: float  # where the copy leaves the second-level cache,
    copied_very_far_byte: float  # and where it leaves all


class PairRates(NamedTuple):
    """The pair kernel: a call, a rectangle, a strip of its rows, and a multiply-add of a vector by each loop."""

    call: float
    rectangle: float
    strip: float
    shared: float  # four rows share their vectors
    scaled: float
    both: float
    latency: float  # a lone row waits for its last sum
    uncached: float  # how many times as long vectors of a sum take that come from beyond the cache again
    gathered: float  # a factor that comes through a table
    run: float  # one sum of products that are neighbours
    run_term: float
    piece: float  # a run of products, where a sum has several


class PackedRates(NamedTuple):
    """The packed product: a call, a product of a stack, a multiply-add of a vector, and elements."""

    call: float
    product: float
    term: float
    rows: float  # to pack an element where rows are neighbours,
    steps: float  # where steps of the sum are,
    scattered: float  # and else
    filled: int  # products of a sum from which elements are counted that fill up panels
    tile_as_it_lies: float  # of an operand that is not packed: addresses are looked up
    write_vector: float  # an element
    write_scattered: float
    written_apart: float  # more, of few rows that are no neighbours, beyond the caches
    lone_column: float  # how many times as long a matrix times a vector takes, whose every vector is read for itself


class StackRates(NamedTuple):
    """Small products: a call, a product or a vector of products, and a multiply-add of a vector."""

    call: float
    walk: float  # a step from some neighbouring products to the next ones
    block: float
    lone: float  # the same of a product that is more than a vector of rows by eight columns, or is alone
    rows: float
    lanes: float
    latency: float  # a term of the sums of a block, at least
    write: float  # a vector of the result
    masked: float  # how many times as long a vector of rows takes that is not whole
    pack: float  # an element
    far_line: float  # a line per element, where there are more than are followed for a vector of products
    far_bytes: int  # from a line to the next one, from which that counts
    part: float  # an element of a product in less than a vector of neighbouring ones, or in one that is staged
    column: float  # a line of rows that comes from beyond the first-level cache,
    crowded: float  # and one whose place there others take
    traffic_byte: float  # more, a byte of the operands and the result, which loops by elements foresee badly
    in_strips: bool  # whether `again` is of lines that strips of rows or of products fetch, or of what elements would


class Rates(NamedTuple):
    """One processor."""

    vector_bytes: int
    tile: tuple[int, int]  # vectors and columns of a block of sums; simd/gemm.c
    long_integer: float  # how many times as long vectors of I64 take
    moved: float  # a byte from beyond the cache, or to there, at least
    turned_byte: float  # of a product whose operands are turned block by block
    crowded: bool  # whether lines a large power of two apart leave the cache early
    apart: Mapping[str, float]  # an element of a large stack whose elements have lines of their own, by kernel
    apart_near: float  # the same of a smaller one by the packed product
    again: Mapping[str, float]  # an element whose line of the cache is fetched once more, by kernel
    blas: BlasRates
    pairs: PairRates
    packed: PackedRates
    stack: StackRates


_FLOP: Final = {"float64": 0.0142, "float32": 0.0042, "complex128": 0.065, "complex64": 0.035}
_AVX512: Final = Rates(
    vector_bytes=64,
    tile=(3, 8),
    long_integer=1.0,
    moved=0.014,
    turned_byte=0.03,
    crowded=False,
    apart={"scatter": 3.0, "pair": 0.2},
    apart_near=0.0,
    again={"pair": 0.4, "scatter": 0.45, "stack": 1.5},
    blas=BlasRates(
        stack=100.0,
        product=60.0,
        dot=15.0,
        flop=_FLOP,
        vector_flop=_FLOP,
        packed_flop={"float64": 1.09},
        tile_bytes=0,
        along=50.0,
        along_flop=0.33,
        traffic=0.1,
        packed_traffic=0.6,
        traffic_byte=0.0,
        vector_traffic=0.1,
        vector_byte=0.0,
        large_vector_byte=0.04,
        loop_flop=0.3,
        ufunc={},
        apart=0.0,
        copy=120.0,
        copied=0.1,
        copied_far=0.38,
        copied_run=0.2,
        copied_byte=0.0,
        copied_far_byte=0.0,
        copied_very_far_byte=0.0,
    ),
    pairs=PairRates(
        call=105.0,
        rectangle=17.0,
        strip=1.9,
        shared=0.32,
        scaled=0.93,
        both=0.9,
        latency=0.93,
        uncached=6.0,
        gathered=0.85,
        run=4.0,
        run_term=0.65,
        piece=1.5,
    ),
    packed=PackedRates(
        call=300.0,
        product=20.0,
        term=0.225,
        rows=0.35,
        steps=0.45,
        scattered=1.2,
        filled=4096,
        tile_as_it_lies=13.5,
        write_vector=0.18,
        write_scattered=2.0,
        written_apart=0.0,
        lone_column=1.0,
    ),
    stack=StackRates(
        call=225.0,
        walk=0.0,
        block=3.5,
        lone=3.5,
        rows=0.32,
        lanes=0.3,
        latency=0.0,
        write=0.0,
        masked=1.0,
        pack=0.45,
        far_line=1.5,
        far_bytes=0,
        part=8.0,
        column=0.0,
        crowded=0.0,
        traffic_byte=0.0,
        in_strips=False,
    ),
)
_AVX2: Final = Rates(
    vector_bytes=32,
    tile=(3, 4),
    long_integer=2.1,
    moved=0.0255,
    turned_byte=0.1,
    crowded=True,
    apart={"scatter": 0.558, "pair": 0.2},
    apart_near=1.0,
    again={"pair": 0.0466, "scatter": 0.0305, "stack": 0.211},
    blas=BlasRates(
        stack=331.0,
        product=157.0,
        dot=21.4,
        flop={"float64": 0.0231, "float32": 0.0094, "complex128": 0.0387, "complex64": 0.039},
        vector_flop={"float64": 0.0, "float32": 0.0, "complex128": 0.0, "complex64": 0.0},
        packed_flop={},
        tile_bytes=32,
        along=39.2,
        along_flop=0.0,
        traffic=0.0,
        packed_traffic=0.0,
        traffic_byte=0.0651,
        vector_traffic=0.0,
        vector_byte=0.0173,
        large_vector_byte=0.0355,
        loop_flop=0.362,
        ufunc={"int64": 1.6, "float32": 1.6, "float64": 1.6, "complex64": 4.0, "complex128": 8.0},
        apart=0.571,
        copy=200.0,
        copied=0.0306,
        copied_far=0.0306,
        copied_run=0.205,
        copied_byte=0.0405,
        copied_far_byte=0.0468,
        copied_very_far_byte=0.14,
    ),
    pairs=PairRates(
        call=224.0,
        rectangle=20.1,
        strip=7.57,
        shared=0.511,
        scaled=0.733,
        both=0.462,
        latency=1.42,
        uncached=1.07,
        gathered=0.607,
        run=2.86,
        run_term=0.478,
        piece=1.5,
    ),
    packed=PackedRates(
        call=263.0,
        product=52.7,
        term=0.183,
        rows=1.69,
        steps=1.3,
        scattered=2.18,
        filled=0,
        tile_as_it_lies=20.7,
        write_vector=0.394,
        write_scattered=1.14,
        written_apart=3.0,
        lone_column=2.0,
    ),
    stack=StackRates(
        call=236.0,
        walk=29.4,
        block=3.76,
        lone=7.99,
        rows=0.203,
        lanes=0.349,
        latency=1.19,
        write=0.465,
        masked=1.58,
        pack=0.507,
        far_line=0.652,
        far_bytes=2048,
        part=8.29,
        column=1.91,
        crowded=2.04,
        traffic_byte=0.0064,
        in_strips=True,
    ),
)
_PLAIN: Final = _AVX512._replace(vector_bytes=16, tile=(2, 4))
_NUMPYS: Final = _AVX512._replace(  # without the extension NumPy makes views, and copies
    blas=_AVX512.blas._replace(stack=1000.0, copy=700.0, copied=1.0, copied_far=2.5, copied_run=5.0)
)
_BY_INSTRUCTION_SET: Final = {"avx512": _AVX512, "avx2": _AVX2, "plain": _PLAIN}


def rates() -> Rates:
    """Of this processor, by the instruction set that is in use.

    >>> rates().vector_bytes in (16, 32, 64)
    True
    """
    return _BY_INSTRUCTION_SET[LIBRARY.instruction_set()] if AVAILABLE else _NUMPYS
