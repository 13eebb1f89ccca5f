"""The physical limits, measured by NumPy in the same run: a warm copy of as many bytes, and a matrix product.

Both use all threads of the run: the product through its BLAS, the copy by one slice per thread where that pays.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import numpy as np

from benchmarks.contenders.base import Operations, Prepared
from benchmarks.drawing import Array

GEMM_EXTENT: Final = 2048
GEMM_FLOPS: Final = 2.0 * GEMM_EXTENT**3
SHARED_COPY: Final = 1 << 21
"""Bytes that are worth a second thread."""
SERIAL_PRODUCT: Final = 64**3
"""Multiply-adds for which BLAS takes one thread; of a stack of such, each thread is timed with its share."""


def nothing(result: Any) -> list[Any]:
    """A limit has no result to compare."""
    return []


def copy(arguments: Mapping[str, Any], arrays: list[Array]) -> Prepared:
    """Copy ``bytes`` into an array whose pages are mapped already."""
    source = np.ones(max(1, arguments["bytes"] // 8))
    target = np.zeros_like(source)
    return Prepared(_in_slices(source, target, _threads() if source.nbytes >= SHARED_COPY else 1), nothing)


def _threads() -> int:
    return int(os.environ.get("OMP_NUM_THREADS", "1"))


def _in_slices(source: Array, target: Array, threads: int) -> Callable[[], Any]:
    if threads == 1:
        return lambda: np.copyto(target, source)
    pool = ThreadPoolExecutor(threads)
    pairs = list(zip(np.array_split(target, threads), np.array_split(source, threads), strict=True))
    return lambda: list(pool.map(lambda pair: np.copyto(*pair), pairs))


def product(arguments: Mapping[str, Any], arrays: list[Array]) -> Prepared:
    """A ``stack`` of F64 products of ``m`` by ``k`` and ``k`` by ``n`` into a warm array, of large squares unasked."""
    m, n, k = (arguments.get(name, GEMM_EXTENT) for name in "mnk")
    stack = arguments.get("stack", 1)
    if m * n * k <= SERIAL_PRODUCT:
        stack = -(-stack // _threads())
    draw = np.random.default_rng(0).random
    a, b = draw((stack, m, k)), draw((stack, k, n))
    out = np.zeros((stack, m, n))
    return Prepared(lambda: np.matmul(a, b, out=out), nothing)


OPERATIONS: Operations = {"copy": copy, "product": product}
