"""Estimated times, in nanoseconds, of products by BLAS and by NumPy, and of copies for them; see `costs`."""

from __future__ import annotations

from functools import cache
from typing import Final

from tensor_cpu.kernels.memory_costs import CACHED_BYTES, ITEMSIZE
from tensor_cpu.kernels.processor_rates import BlasRates, rates
from tensor_cpu.system.blas import asked_vector_bytes, asks_for_mkl
from tensor_cpu.system.extension import AVAILABLE, LIBRARY

BLAS_DTYPES: Final = frozenset({"float32", "float64", "complex64", "complex128"})

_CACHED_ELEMENTS: Final = CACHED_BYTES // 8
_FAR_COPY: Final = 4 * CACHED_BYTES  # bytes of a copy that other arrays have long replaced in caches when it is read
_BLAS_ON_AMD: Final = {"float64": 1.3, "complex128": 3.2, "complex64": 2.2}
_LOOPS_CALL: Final = 1000.0
_LOOP_CALL: Final = 5.0  # one more matrix product in a stack, without BLAS
_LOOP_TERM: Final = 2.5  # one multiplication and addition of it, strided
_WRITTEN: Final = 0.3  # more, per element of a matrix that leaves the cache: zeros are written first, then sums added
_SMALL_PRODUCT: Final = 100**3  # multiply-adds up to which BLAS packs nothing
_LARGE_PRODUCT: Final = 1 << 25
_LINE_BYTES: Final = 64
_INTERLEAVED_RUN: Final = 30.0
_UFUNC_CALL: Final = 700.0  # with the indexing around it
_INNER_LOOP: Final = 12.0  # each time a ufunc starts on another run of elements
_CONTIGUOUS: Final = 0.5  # one element of a multiply or an add, in the cache
_STRIDED: Final = 1.2
stacks_evenly: Final = False
"""Whether matrices of a stack must be evenly spaced: our loop over calls of BLAS takes them anywhere."""


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
    narrower = rates().vector_bytes / asked if asked is not None and asked < rates().vector_bytes else 1.0
    return max(narrower, _BLAS_ON_AMD.get(dtype, 1.0) if LIBRARY.is_amd() else 1.0)


def _blas_flop(blas: BlasRates, dtype: str) -> float:
    """A floating-point operation of a product of matrices by BLAS; of integers and Bool, by NumPy."""
    return blas.flop[dtype] * blas_slowness(dtype) if dtype in BLAS_DTYPES else blas.loop_flop


def product(m: int, n: int, k: int, dtype: str) -> float:
    """One matrix product [n, k] [k, m].

    >>> product(4, 4, 4, "float64") < product(4, 4, 4, "int64")
    True
    """
    return _product(rates().blas, m, n, k, dtype)


def _product(blas: BlasRates, m: int, n: int, k: int, dtype: str) -> float:
    terms, elements = m * n * k, m * n + m * k + n * k
    if min(m, n) == 1:
        flop = blas.vector_flop.get(dtype, blas.loop_flop) * _slower(blas, terms, dtype)
        moved = elements * ITEMSIZE[dtype]
        if terms > _SMALL_PRODUCT:
            traffic = moved * blas.large_vector_byte
        else:
            traffic = elements * blas.vector_traffic + moved * blas.vector_byte
        return (blas.product if m * n > 1 else blas.dot) + 2 * terms * flop + traffic
    flop = _blas_flop(blas, dtype) * _slower(blas, terms, dtype)
    if blas.tile_bytes and dtype in BLAS_DTYPES:
        tile = max(1, blas.tile_bytes // ITEMSIZE[dtype])
        m, n = -(-m // tile) * tile, -(-n // tile) * tile
        terms, elements = m * n * k, m * n + m * k + n * k
    written = m * n * _WRITTEN if m * n > _CACHED_ELEMENTS else 0.0
    traffic = (blas.traffic if terms <= _SMALL_PRODUCT else blas.packed_traffic) + ITEMSIZE[dtype] * blas.traffic_byte
    return blas.product + 2 * terms * flop + elements * traffic + written


def _slower(blas: BlasRates, terms: int, dtype: str) -> float:
    """How many times as long operations take where BLAS packs what they read, in few blocks."""
    return blas.packed_flop.get(dtype, 1.0) if _SMALL_PRODUCT < terms <= _LARGE_PRODUCT else 1.0


def products(count: int, m: int, n: int, k: int, dtype: str) -> float:
    """A stack of them, with the call around it.

    >>> products(1, 4, 4, 4, "float64") > 2 * product(4, 4, 4, "float64")
    True
    """
    blas = rates().blas
    return blas.stack + count * _product(blas, m, n, k, dtype)


def along(count: int, m: int, n: int, k: int, dtype: str) -> float:
    """What a stack of products takes more where both factors have the summed axis contiguous.

    >>> along(10, 8, 8, 8, "float64") > along(1, 8, 8, 8, "float64") > along(10, 500, 500, 500, "float64")
    True
    """
    if m * n * k > _SMALL_PRODUCT or min(m, n) == 1:
        return 0.0
    blas = rates().blas
    flop = _blas_flop(blas, dtype) if dtype in BLAS_DTYPES else 0.0
    return count * (blas.along + blas.along_flop * 2 * m * n * k * flop)


def apart(count: int, size: int, step: int, dtype: str) -> float:
    """What a stack of products takes more for a vector each, of so many elements ``step`` apart.

    >>> apart(10, 100, 2, "float64") <= apart(10, 100, 200, "float64")
    True
    """
    return count * size * rates().blas.apart if abs(step) * ITEMSIZE[dtype] >= _LINE_BYTES else 0.0


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
    """One product of such a stack, without the call.

    >>> loop(2, 2, 2) < product(2, 2, 2, "float64") < product(8, 8, 8, "float64") < loop(8, 8, 8)
    True
    """
    return _LOOP_CALL + m * n * k * _LOOP_TERM


def copy(size: int, run: int, dtype: str) -> float:
    """A permuted copy of ``size`` elements, of which ``run`` neighbours stay neighbours.

    >>> copy(1000, 100, "float64") < copy(1000, 2, "float64")
    True
    """
    blas, moved, near = rates().blas, size * ITEMSIZE[dtype], size < _CACHED_ELEMENTS
    byte = blas.copied_byte if near else blas.copied_far_byte
    if moved > _FAR_COPY:
        byte = blas.copied_very_far_byte
    return blas.copy + size * ((blas.copied if near else blas.copied_far) + blas.copied_run / run) + moved * byte


def accumulation(size: int, terms: int, run: int, calls: int, dtype: str, *, contiguous: bool) -> float:
    """A sum of ``terms`` broadcast products for ``size`` elements, in runs of ``run``, by ``calls`` ufunc calls.

    >>> sums = [accumulation(1000, 2, run, 3, "float64", contiguous=True) for run in (100, 2)]
    >>> sums[0] < sums[1]
    True
    """
    element = (_CONTIGUOUS if contiguous else _STRIDED) * rates().blas.ufunc.get(dtype, 1.0)
    return calls * _UFUNC_CALL + size * (2 * terms - 1) * (element + _INNER_LOOP / run)


def least_accumulation(terms: int) -> float:
    """The least that :func:`accumulation` says for a sum of so many products.

    >>> least_accumulation(2) <= accumulation(1, 2, 1, 3, "float64", contiguous=True)
    True
    """
    return (2 * terms - 1) * _UFUNC_CALL


def least_products(terms: int, dtype: str) -> float:
    """The least that :func:`products` and :func:`loops` say for so many multiply-adds, in a stack of any length.

    >>> least_products(8 * 4**3, "float64") < products(8, 4, 4, 4, "float64")
    True
    """
    blas = rates().blas
    vector = 2 * blas.vector_flop.get(dtype, blas.loop_flop) + blas.vector_byte * ITEMSIZE[dtype]
    term = min(2 * blas.flop.get(dtype, blas.loop_flop), vector)
    return min(blas.stack + min(blas.dot, blas.product) + terms * term, _LOOPS_CALL)


def least_numpy(terms: int, dtype: str) -> float:
    """The least that :func:`products`, :func:`loops` and :func:`accumulation` say for so many multiply-adds.

    >>> least_numpy(64**3, "float64") < products(1, 64, 64, 64, "float64")
    True
    """
    return min(least_products(terms, dtype), _UFUNC_CALL)
