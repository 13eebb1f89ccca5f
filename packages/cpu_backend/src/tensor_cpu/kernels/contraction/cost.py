"""Estimated times, in nanoseconds, by which a contraction chooses among its kernels.

Measured on two cores of a 2.8 GHz server with AVX-512, NumPy 2.4 and OpenBLAS 0.3.34, alternating the kernels and
taking medians. Only their ratios matter; an estimate wrong by a factor of two costs at most that factor, never an
answer.

- A floating-point operation of a product of F64: 0.0132 up to 64 by 64 by 64, where OpenBLAS packs nothing, and 0.0153
  from 128 on, on a server whose kernels in C take 0.8 of the times in ``native_cost``; of F32
  0.0045 and 0.0065, of C64 0.061 and 0.053. A lone product of 16 by 16 by 16: 360 in C, 1300 by NumPy.
- A stack of 16 thousand products (M, K, N), per product: (1, 8, 1) 8, (2, 2, 2) 26, (4, 4, 4) 32, (8, 8, 8) 49,
  (16, 16, 16) 185, (2, 2, 64) 64, (2, 2, 1000) 1130; by NumPy's loop, which takes any strides: (1, 8, 1) 21,
  (2, 2, 2) 41, (4, 2, 4) 91, (4, 4, 4) 186.
- The same sums by multiply and add over whole arrays: (2, 2, 2) 10 whether the batch is the innermost axis or the
  outermost, (4, 4, 4) 85 and 190. So BLAS wins from about 16 multiplications per product on.
"""

from __future__ import annotations

from typing import Final

from tensor_cpu.system.extension import AVAILABLE

_PRODUCTS_CALL: Final = 230.0 if AVAILABLE else 1000.0  # a matrix product or a stack of them; NumPy makes views
_LOOPS_CALL: Final = 1000.0
_PRODUCT_CALL: Final = 25.0  # one more matrix product in a stack
_BLAS_FLOP: Final = {"float64": 0.0155, "float32": 0.006, "complex128": 0.08, "complex64": 0.042}
_LOOP_FLOP: Final = 0.3  # integers and Bool, for which there is no BLAS
_LOOP_CALL: Final = 5.0  # one more matrix product in a stack, without BLAS
_LOOP_TERM: Final = 2.5  # one multiplication and addition of it, strided
_TRAFFIC: Final = 0.15  # per element of the three matrices
_WRITTEN: Final = 0.2  # more, per element of a matrix that leaves the cache: zeros are written first, then sums added
_UFUNC_CALL: Final = 700.0  # with the indexing around it
_INNER_LOOP: Final = 12.0  # each time a ufunc starts on another run of elements
_CONTIGUOUS: Final = 0.5  # one element of a multiply or an add, in the cache
_STRIDED: Final = 1.2
_COPIED_RUN: Final = 1.0  # per element, when long runs are copied
_COPIED_RUN_UNCACHED: Final = 2.5  # what does not fit into the second-level cache
_CACHED: Final = 1 << 16  # elements
_COPIED_ELEMENT: Final = 5.0  # when neighbours go far apart


def product(m: int, n: int, k: int, dtype: str) -> float:
    """One matrix product [n, k] [k, m].

    >>> product(4, 4, 4, "float64") < product(4, 4, 4, "int64")
    True
    """
    flop = _BLAS_FLOP.get(dtype, _LOOP_FLOP)
    call = _PRODUCT_CALL if m * n > 1 else _PRODUCT_CALL / 4  # a lone dot product is called directly
    written = m * n * _WRITTEN if min(m, n) > 1 and m * n > _CACHED else 0.0
    return call + 2 * m * n * k * flop + (m * n + m * k + n * k) * _TRAFFIC + written


def products(count: int, m: int, n: int, k: int, dtype: str) -> float:
    """A stack of them, with the call around it.

    >>> products(1, 4, 4, 4, "float64") > 5 * product(4, 4, 4, "float64")
    True
    """
    return _PRODUCTS_CALL + count * product(m, n, k, dtype)


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
    along = _COPIED_RUN if size < _CACHED else _COPIED_RUN_UNCACHED
    return _UFUNC_CALL + size * (along + _COPIED_ELEMENT / run)


def accumulation(size: int, terms: int, run: int, calls: int, *, contiguous: bool) -> float:
    """A sum of ``terms`` broadcast products for ``size`` elements, in runs of ``run``, by ``calls`` ufunc calls.

    >>> accumulation(1000, 2, 100, 3, contiguous=True) < accumulation(1000, 2, 2, 3, contiguous=True)
    True
    """
    element = _CONTIGUOUS if contiguous else _STRIDED
    return calls * _UFUNC_CALL + size * (2 * terms - 1) * (element + _INNER_LOOP / run)
