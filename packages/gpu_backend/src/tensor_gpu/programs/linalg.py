"""Programs beside the library's routines: what they find wrong, and what their results lack."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from tensor_core.dtypes import I32, I64, DType
from tensor_gpu.device.program import Argument, HostMemory, Program, made_once
from tensor_gpu.programs.columns import multiply, parts_of, put_parts
from tensor_gpu.programs.source import TYPES, header

Array = np.ndarray[Any, Any]
_FAR: Final = 1 << 16  # beyond every power of two that a number has
_LOOP = """    const long long stride = (long long)gridDim.x * blockDim.x;
    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < size; i += stride) {
"""


@made_once
def not_finite(dtype: DType, /) -> Program:
    """The number of the first element that is NaN or an infinity, into a status word.

    Arguments are the word, the elements, without gaps, and how many there are.

    >>> from tensor_core import C64
    >>> not_finite(C64).entry
    'not_finite'
    """
    source = f"""{header()}extern "C" __global__ void not_finite(long long* status, const {TYPES[dtype]}* x,
    long long size) {{
{_LOOP}        if (!f_isfinite(x[i]))
            atomicMin(status, i);
    }}
}}
"""

    def meaning(memory: HostMemory, arguments: tuple[Argument, ...]) -> None:
        status, address, size = map(int, arguments)
        found = np.flatnonzero(~np.isfinite(memory.view(address, dtype, (size,), (1,))))
        if found.size:
            word = memory.view(status, I64, (1,), (1,))
            word[0] = min(int(word[0]), int(found[0]))

    return Program("not_finite", source, meaning)


@made_once
def first_failed() -> Program:
    """The number of the first matrix whose info is not 0, and that info in the word after it.

    Arguments are the two words, the infos and how many there are. The words begin as what no index is.

    >>> first_failed().entry
    'first_failed'
    """
    source = f"""{header()}extern "C" __global__ void first_failed(long long* status, const int* info,
    long long size) {{
{_LOOP}        if (info[i] != 0)
            atomicMin(status, i);
    }}
}}
"""

    def meaning(memory: HostMemory, arguments: tuple[Argument, ...]) -> None:
        status, address, size = map(int, arguments)
        found = np.flatnonzero(memory.view(address, I32, (size,), (1,)))
        if found.size:
            word = memory.view(status, I64, (1,), (1,))
            word[0] = min(int(word[0]), int(found[0]))

    return Program("first_failed", source, meaning)


@made_once
def triangle(dtype: DType, upper: bool, /) -> Program:
    """A copy of one triangle of each matrix, with zeros in the other one.

    Arguments are the target [rows, columns, matrices], without gaps, the source, the numbers of rows, columns and
    elements of the target, the source's leading dimension and its stride from matrix to matrix.

    >>> from tensor_core import F64
    >>> triangle(F64, True).entry
    'triangle'
    """
    kept = "row <= column" if upper else "row >= column"
    number = TYPES[dtype]
    source = f"""{header()}extern "C" __global__ void triangle({number}* target, const {number}* source, long long rows,
    long long columns, long long size, long long leading, long long apart) {{
{_LOOP}        const long long row = i % rows, column = i / rows % columns, matrix = i / rows / columns;
        target[i] = {kept} ? source[row + column * leading + matrix * apart] : to<{number}>(0);
    }}
}}
"""

    def meaning(memory: HostMemory, arguments: tuple[Argument, ...]) -> None:
        to, address, rows, columns, size, leading, apart = map(int, arguments)
        count = size // (rows * columns)
        found = memory.view(address, dtype, (count, rows, columns), (apart, 1, leading))
        out = memory.view(to, dtype, (count, rows, columns), (rows * columns, 1, rows))
        out[...] = np.triu(found) if upper else np.tril(found)

    return Program("triangle", source, meaning)


@made_once
def identities(dtype: DType, /) -> Program:
    """Stacks of identities; arguments are the target [n, n, matrices], without gaps, n and the number of elements.

    >>> from tensor_core import F64
    >>> identities(F64).entry
    'identities'
    """
    number = TYPES[dtype]
    source = f"""{header()}extern "C" __global__ void identities({number}* target, long long n, long long size) {{
{_LOOP}        target[i] = to<{number}>(i % n == i / n % n ? 1 : 0);
    }}
}}
"""

    def meaning(memory: HostMemory, arguments: tuple[Argument, ...]) -> None:
        target, n, size = map(int, arguments)
        memory.view(target, dtype, (size // (n * n), n, n), (n * n, n, 1))[...] = np.eye(n)

    return Program("identities", source, meaning)


@made_once
def permutation_of_pivots() -> Program:
    """The order in which exchanges of rows leave them: element i of the result is the row that is i-th in the end.

    Arguments are the permutations [rows, matrices], the pivots [exchanges, matrices] counted from 1, and the numbers of
    rows, of exchanges and of matrices.

    >>> permutation_of_pivots().entry
    'permutation_of_pivots'
    """
    source = f"""{header()}extern "C" __global__ void permutation_of_pivots(long long* target, const int* pivots,
    long long rows, long long exchanges, long long size) {{
{_LOOP}        long long* order = target + i * rows;
        for (long long row = 0; row < rows; ++row)
            order[row] = row;
        for (long long row = 0; row < exchanges; ++row) {{
            const long long other = pivots[i * exchanges + row] - 1, kept = order[row];
            order[row] = order[other];
            order[other] = kept;
        }}
    }}
}}
"""

    def meaning(memory: HostMemory, arguments: tuple[Argument, ...]) -> None:
        target, address, rows, exchanges, count = map(int, arguments)
        orders = memory.view(target, I64, (count, rows), (rows, 1))
        pivots = memory.view(address, I32, (count, exchanges), (exchanges, 1))
        orders[...] = np.arange(rows)
        for order, exchanged in zip(orders, pivots, strict=True):
            for row, other in enumerate(exchanged - 1):
                order[row], order[other] = order[other], order[row]

    return Program("permutation_of_pivots", source, meaning)


@made_once
def determinant(dtype: DType, /) -> Program:
    """The determinant of each matrix from its LU factors and pivots; powers of two are taken off on the way.

    Arguments are the results, the factors [n, n, matrices], the pivots [n, matrices], n and the number of matrices.

    >>> from tensor_core import F64
    >>> determinant(F64).entry
    'determinant'
    """
    number = TYPES[dtype]
    source = f"""{header("exponents.cuh")}extern "C" __global__ void determinant({number}* target, const {number}* lu,
    const int* pivots, long long n, long long size) {{
{_LOOP}        {number} product = to<{number}>(1);
        long long exponent = 0;
        bool odd = false;
        for (long long k = 0; k < n; ++k) {{
            const {number} factor = lu[(i * n + k) * n + k];
            const int of_factor = exponent_of(factor);
            product = f_multiply(product, scaled(factor, -of_factor));
            const int of_product = exponent_of(product);
            product = scaled(product, -of_product);
            exponent += of_factor + of_product;
            odd ^= pivots[i * n + k] != k + 1;
        }}
        if (odd) product = f_negative(product);
        target[i] = scaled(product, (int)(exponent < -{_FAR} ? -{_FAR} : exponent > {_FAR} ? {_FAR} : exponent));
    }}
}}
"""

    def meaning(memory: HostMemory, arguments: tuple[Argument, ...]) -> None:
        target, address, exchanged, n, count = map(int, arguments)
        diagonals = parts_of(memory.view(address, dtype, (count, n), (n * n, n + 1)))
        pivots = memory.view(exchanged, I32, (count, n), (n, 1))
        odd = (pivots != np.arange(1, n + 1)).sum(axis=1) % 2 == 1
        product, exponent = np.zeros_like(diagonals, shape=(len(diagonals), count)), np.zeros(count, np.int64)
        product[0] = 1
        with np.errstate(all="ignore"):
            for k in range(n):
                of_factor = _exponents(diagonals[..., k])
                product = multiply(product, np.ldexp(diagonals[..., k], -of_factor))
                of_product = _exponents(product)
                product = np.ldexp(product, -of_product)
                exponent += of_factor + of_product
            found = np.ldexp(np.where(odd, -product, product), np.clip(exponent, -_FAR, _FAR).astype(np.int32))
        put_parts(memory.view(target, dtype, (count,), (1,)), found)

    return Program("determinant", source, meaning)


def _exponents(x: Array) -> Array:
    """The power of two above the larger part of each number, given its parts; 0 of zeros, and of what is not finite."""
    largest = np.abs(x).max(axis=0)
    return np.where(np.isfinite(largest), np.frexp(largest)[1], 0).astype(np.int32)
