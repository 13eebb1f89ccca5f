"""QR decompositions of many matrices at once, by reflectors: a block of threads for each matrix.

One launch decomposes all, where the routines of the library that we ask otherwise take one matrix after the other.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tensor_core.dtypes import DType
from tensor_gpu.device.program import Argument, HostMemory, Program, made_once
from tensor_gpu.programs.columns import MOST_COLUMNS, conjugate, multiply, parts_of, put_parts, square, stack, total
from tensor_gpu.programs.source import TYPES, header

Array = np.ndarray[Any, Any]

_FUNCTIONS = """
/* Makes of a column, from row j on, the vector of a reflector that leaves nothing below row j; its first element is a
 * one, in whose place stands what is left. Returns the factor of the reflector, which is I - factor v v^H. */
template <class T> __device__ T reflector(T* column, long long j, long long rows) {
    typedef typename kind_of<T>::component C;
    T alpha = to<T>(0);
    C below = 0;
    for (long long row = row_from(j); row < rows; row += 32) {
        const C size = larger_part(column[row]);
        if (row == j) alpha = column[row];
        else if (size > below) below = size;
    }
    alpha = shuffle_from(alpha, (unsigned int)(j % 32));
    below = warp_largest(below);
    if (fabs(f_imag(alpha)) > below) below = fabs(f_imag(alpha));
    if (below == (C)0) return to<T>(0);
    const C size = fabs(f_real(alpha)) > below ? fabs(f_real(alpha)) : below;
    C squares = 0;
    for (long long row = row_from(j); row < rows; row += 32)
        squares += square(over(column[row], size));
    const C norm = sqrt(warp_sum(squares)), re = f_real(alpha) / size, im = f_imag(alpha) / size;
    const C left = -copysign(norm, re), gap = re - left, apart = gap * gap + im * im;
    const T inverse = joined<T>::of(gap / apart, -im / apart);
    for (long long row = row_from(j); row < rows; row += 32)
        column[row] = row == j ? joined<T>::of(left * size, (C)0) : f_multiply(over(column[row], size), inverse);
    return joined<T>::of((left - re) / left, -im / left);
}

/* Reflects a column. */
template <class T> __device__ void reflect(const T* v, T factor, T* column, long long j, long long rows) {
    T sum = to<T>(0);
    for (long long row = row_from(j); row < rows; row += 32)
        sum = f_add(sum, f_multiply(f_conj(row == j ? to<T>(1) : v[row]), column[row]));
    sum = f_multiply(factor, warp_sum(sum));
    for (long long row = row_from(j); row < rows; row += 32)
        column[row] = f_subtract(column[row], f_multiply(row == j ? to<T>(1) : v[row], sum));
}
"""


@made_once
def householder_program(dtype: DType, /) -> Program:
    """Thin QR decompositions of matrices with at most ``MOST_COLUMNS`` rows or columns.

    Arguments are Q [rows, k, matrices], the matrices [rows, columns, matrices], which are overwritten, R in their upper
    triangles, and the numbers of rows, columns and matrices. All are without gaps; k is the smaller of the first two.

    >>> from tensor_core import F64
    >>> householder_program(F64).entry
    'householder'
    """
    number = TYPES[dtype]
    source = f"""{header("columns.cuh")}{_FUNCTIONS}
extern "C" __global__ void householder({number}* q, {number}* a, long long rows, long long columns, long long count) {{
    __shared__ {number} factors[{MOST_COLUMNS}];
    const long long k = rows < columns ? rows : columns, warp = threadIdx.x / 32, warps = blockDim.x / 32;
    for (long long matrix = blockIdx.x; matrix < count; matrix += gridDim.x) {{
        {number}* x = a + matrix * rows * columns;
        {number}* y = q + matrix * rows * k;
        for (long long j = 0; j < k; ++j) {{
            if (warp == 0) {{
                const {number} factor = reflector(x + j * rows, j, rows);
                if (threadIdx.x == 0) factors[j] = factor;
            }}
            __syncthreads();
            for (long long c = j + 1 + warp; c < columns; c += warps)
                reflect(x + j * rows, f_conj(factors[j]), x + c * rows, j, rows);
        }}
        for (long long c = warp; c < k; c += warps) {{
            for (long long row = row_from(0); row < rows; row += 32)
                y[row + c * rows] = to<{number}>(row == c ? 1 : 0);
            for (long long j = c; j >= 0; --j)
                reflect(x + j * rows, factors[j], y + c * rows, j, rows);
        }}
        __syncthreads();
    }}
}}
"""

    def meaning(memory: HostMemory, arguments: tuple[Argument, ...]) -> None:
        q, a, rows, columns, count = map(int, arguments)
        k = min(rows, columns)
        given = stack(memory, a, dtype, rows, columns, count)
        x = parts_of(given)
        y = np.zeros((len(x), count, k, rows), x.dtype)
        y[0, :, range(k), range(k)] = 1
        factors = np.zeros((len(x), count, k), x.dtype)
        with np.errstate(all="ignore"):
            for j in range(k):
                factors[..., j] = _reflector(x[:, :, j], j)
                _reflect(x[:, :, j], conjugate(factors[..., j]), x[:, :, j + 1 :], j)
            for j in reversed(range(k)):
                _reflect(x[:, :, j], factors[..., j], y[:, :, j:], j)
        put_parts(given, x)
        put_parts(stack(memory, q, dtype, rows, k, count), y)

    return Program("householder", source, meaning)


def _reflector(column: Array, j: int) -> Array:
    """The factors; columns [part, matrix, row] become vectors from row j on."""
    alpha, rest = column[..., j].copy(), column[..., j + 1 :]
    below = np.max(np.abs(rest), axis=(0, 2), initial=0)
    if len(alpha) == 2:
        below = np.maximum(below, np.abs(alpha[1]))
    live = below != 0
    size = np.where(live, np.maximum(below, np.abs(alpha[0])), 1).astype(column.dtype)
    norm = np.sqrt(total(square(column[..., j:] / size[:, None]), j))
    re, *im = alpha / size
    left = -np.copysign(norm, re)
    gap = re - left
    apart = gap * gap + im[0] * im[0] if im else gap * gap
    inverse = np.stack([gap / apart, *(-one / apart for one in im)])
    column[..., j + 1 :] = np.where(live[:, None], multiply(rest / size[:, None], inverse[..., None]), rest)
    column[..., j] = np.where(live, np.stack([left * size, *(np.zeros_like(one) for one in im)]), alpha)
    return np.where(live, np.stack([(left - re) / left, *(-one / left for one in im)]), 0)


def _reflect(vector: Array, factor: Array, columns: Array, j: int) -> None:
    """Reflect columns [part, matrix, column, row], from row j on."""
    v = vector[:, :, None, j:].copy()
    v[:, :, :, 0] = 0
    v[0, :, :, 0] = 1
    terms = multiply(np.broadcast_to(conjugate(v), (*columns.shape[:3], v.shape[-1])), columns[..., j:])
    sums = multiply(np.broadcast_to(factor[..., None], columns.shape[:3]), total(terms, j))
    columns[..., j:] -= multiply(np.broadcast_to(v, columns[..., j:].shape), sums[..., None])
