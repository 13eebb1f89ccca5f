"""Factors of many small matrices at once: a warp for each of them, which keeps it in memory that its block shares.

Lanes are rows, so a matrix has at most 32. Every element is computed by one lane, in an order that is fixed: the
meaning has the bits of the source. One launch takes all matrices, whatever addresses they have, and writes no table of
these.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from tensor_core.dtypes import I32, DType
from tensor_gpu.device.api import MOST_THREADS
from tensor_gpu.device.program import Argument, HostMemory, Program, made_once
from tensor_gpu.programs.columns import LANES, conjugate, multiply, parts_of, power_below, put_parts, square, stack
from tensor_gpu.programs.source import TYPES, header

Array = np.ndarray[Any, Any]
MOST_ROWS: Final = LANES
"""And columns, of a matrix in the hands of one warp."""
ROOM_BYTES: Final = 8 * (MOST_ROWS + 1) * MOST_ROWS * 4
"""Of memory that a block shares: eight matrices of F32 of the largest size, two of C64."""
WARPS: Final = MOST_THREADS // LANES
COLUMNS_OF_A_WARP: Final = 32
"""Right-hand sides for which a warp takes in the factors."""


def held(dtype: DType, rows: int, columns: int, /) -> int:
    """Matrices that a block has in hand at once.

    >>> from tensor_core import C64, F32, F64
    >>> held(F32, 32, 32), held(C64, 32, 32), held(F64, 4, 4)
    (8, 2, 8)
    """
    return min(WARPS, ROOM_BYTES // dtype.itemsize // ((rows | 1) * columns))


def threads_of(dtype: DType, rows: int, columns: int, count: int, /) -> int:
    """Threads of a launch that gives a warp to each of so many matrices.

    >>> from tensor_core import C64, F64
    >>> threads_of(F64, 4, 4, 17), threads_of(C64, 32, 32, 17)
    (768, 2304)
    """
    return -(-count // held(dtype, rows, columns)) * MOST_THREADS


def _head(dtype: DType, rows: str, columns: str, items: str) -> str:
    """The room of a warp, and the head of its loop over ``items``."""
    size = ROOM_BYTES // dtype.itemsize
    return f"""    __shared__ {TYPES[dtype]} room[{size}];
    const int rows = (int){rows}, columns = (int){columns}, apart = rows | 1, lane = (int)lane_of_thread();
    const long long warp = threadIdx.x / 32, warps = blockDim.x / 32, most = {size} / (apart * columns);
    const long long held = most < warps ? most : warps;
    if (warp >= held) return;
    {TYPES[dtype]}* a = room + warp * apart * columns;
    for (long long item = blockIdx.x * held + warp; item < {items}; item += gridDim.x * held) {{"""


@made_once
def cholesky_program(dtype: DType, /) -> Program:
    """Lower Cholesky factors, with zeros above the diagonal.

    Arguments are the factors [n, n, matrices], the infos [matrices], the matrices, of which the lower triangles are
    read, n and the number of matrices. An info is 0, or the order of the first leading block that is not positive
    definite.

    >>> from tensor_core import F64
    >>> cholesky_program(F64).entry
    'cholesky'
    """
    number, part = TYPES[dtype], TYPES[dtype.component]
    source = f"""{header("columns.cuh", "matrices.cuh")}
extern "C" __global__ void cholesky({number}* factors, int* infos, const {number}* matrices, long long n,
    long long count) {{
{_head(dtype, "n", "n", "count")}
        take_in(a, matrices + item * n * n, rows, rows, apart);
        int info = 0;
        for (int k = 0; k < rows; ++k) {{
            {number}* column = a + k * apart;
            const {part} square = f_real(column[k]);
            if (!(square > ({part})0)) {{
                info = k + 1;
                break;
            }}
            const {part} root = sqrt(square);
            if (lane > k && lane < rows) column[lane] = over(column[lane], root);
            __syncwarp();
            if (lane == k) column[k] = to<{number}>(root);
            if (lane < rows)
                for (int c = k + 1; c <= lane; ++c) {{
                    const {number} term = f_multiply(column[lane], f_conj(column[c]));
                    a[lane + c * apart] = f_subtract(a[lane + c * apart], term);
                }}
            __syncwarp();
        }}
        if (lane == 0) infos[item] = info;
        for (int i = lane; i < rows * rows; i += 32) {{
            const int row = i % rows, c = i / rows;
            factors[item * n * n + i] = row < c ? to<{number}>(0) : a[row + c * apart];
        }}
        __syncwarp(); // who fails may have to look at the diagonal yet
    }}
}}
"""

    def meaning(memory: HostMemory, arguments: tuple[Argument, ...]) -> None:
        factors, infos, matrices, n, count = map(int, arguments)
        x = parts_of(stack(memory, matrices, dtype, n, n, count))
        found = np.zeros(count, np.int32)
        with np.errstate(all="ignore"):
            for k in range(n):
                squares = x[0, :, k, k].copy()
                found[(found == 0) & ~(squares > 0)] = k + 1
                live = (found == 0)[None, :, None]
                root = np.sqrt(squares)
                column = x[:, :, k].copy()
                column[:, :, k + 1 :] /= root[None, :, None]
                column[:, :, k] = 0
                column[0, :, k] = root
                x[:, :, k] = np.where(live, column, x[:, :, k])
                for c in range(k + 1, n):
                    others = np.broadcast_to(conjugate(column[:, :, c : c + 1]), column[:, :, c:].shape)
                    term = multiply(column[:, :, c:], others)
                    x[:, :, c, c:] = np.where(live, x[:, :, c, c:] - term, x[:, :, c, c:])
        upper = np.arange(n)[:, None] > np.arange(n)  # [column, row]
        x[:, :, upper] = 0
        memory.view(infos, I32, (count,), (1,))[...] = found
        put_parts(stack(memory, factors, dtype, n, n, count), x)

    return Program("cholesky", source, meaning)


@made_once
def lu_program(dtype: DType, /) -> Program:
    """LU factors with partial pivoting: the pivot is the first of the largest by |re| + |im|, as LAPACK has it.

    Arguments are the matrices [rows, columns, matrices], which become their factors, the pivots [min(rows, columns),
    matrices], which are counted from 1, the infos [matrices], and the numbers of rows, columns and matrices. An info
    is 0, or the number of the first pivot that is zero.

    >>> from tensor_core import F64
    >>> lu_program(F64).entry
    'lu'
    """
    number, part = TYPES[dtype], TYPES[dtype.component]
    source = f"""{header("columns.cuh", "matrices.cuh")}
extern "C" __global__ void lu({number}* matrices, int* pivots, int* infos, long long m, long long n, long long count) {{
{_head(dtype, "m", "n", "count")}
        {number}* x = matrices + item * m * n;
        const int steps = rows < columns ? rows : columns;
        take_in(a, x, rows, columns, apart);
        int info = 0;
        for (int k = 0; k < steps; ++k) {{
            {number}* column = a + k * apart;
            {part} size = lane >= k && lane < rows ? pivot_size(column[lane]) : ({part})-1;
            int place = lane;
            for (unsigned int lanes = 16; lanes > 0; lanes /= 2) {{
                const {part} other = shuffle_xor(size, lanes);
                const int where = shuffle_xor(place, lanes);
                if (other > size || (other == size && where < place)) {{
                    size = other;
                    place = where;
                }}
            }}
            __syncwarp(); // shuffles order no memory
            if (lane == 0) pivots[item * steps + k] = place + 1;
            if (place != k && lane < columns) {{
                {number}* exchanged = a + lane * apart;
                const {number} kept = exchanged[k];
                exchanged[k] = exchanged[place];
                exchanged[place] = kept;
            }}
            __syncwarp();
            const bool zero = f_real(column[k]) == ({part})0 && f_imag(column[k]) == ({part})0;
            if (zero && info == 0) info = k + 1;
            if (!zero && lane > k && lane < rows) {{
                const {number} factor = quotient(column[lane], column[k]);
                column[lane] = factor;
                for (int c = k + 1; c < columns; ++c)
                    a[lane + c * apart] = f_subtract(a[lane + c * apart], f_multiply(factor, a[k + c * apart]));
            }}
            __syncwarp();
        }}
        if (lane == 0) infos[item] = info;
        for (int i = lane; i < rows * columns; i += 32) x[i] = a[i % rows + i / rows * apart]; // by who takes it in
    }}
}}
"""

    def meaning(memory: HostMemory, arguments: tuple[Argument, ...]) -> None:
        matrices, pivots, infos, m, n, count = map(int, arguments)
        steps, every = min(m, n), np.arange(count)
        given = stack(memory, matrices, dtype, m, n, count)
        x = parts_of(given)
        exchanged = memory.view(pivots, I32, (count, steps), (steps, 1))
        found = np.zeros(count, np.int32)
        with np.errstate(all="ignore"):
            for k in range(steps):
                size = np.abs(x[:, :, k, k:]).sum(axis=0)
                place = k + np.argmax(np.where(np.isnan(size), 0, size), axis=1)
                exchanged[:, k] = place + 1
                rows = x[:, every, :, place].copy()  # [matrix, part, column]
                x[:, every, :, place] = x[:, :, :, k].swapaxes(0, 1)
                x[:, :, :, k] = rows.swapaxes(0, 1)
                zero = ~np.any(x[:, :, k, k] != 0, axis=0)
                found = np.where((found == 0) & zero, k + 1, found)
                factor = quotient(x[:, :, k, k + 1 :], x[:, :, k, k, None])
                below = np.where(zero[None, :, None], x[:, :, k, k + 1 :], factor)
                x[:, :, k, k + 1 :] = below
                shape = *x.shape[:2], n - k - 1, m - k - 1
                term = multiply(
                    np.broadcast_to(below[:, :, None], shape), np.broadcast_to(x[:, :, k + 1 :, k, None], shape)
                )
                rest = x[:, :, k + 1 :, k + 1 :]
                x[:, :, k + 1 :, k + 1 :] = np.where(zero[None, :, None, None], rest, rest - term)
        memory.view(infos, I32, (count,), (1,))[...] = found
        put_parts(given, x)

    return Program("lu", source, meaning)


@made_once
def lu_solve_program(dtype: DType, /) -> Program:
    """Solutions of systems of equations from LU factors and pivots, as :func:`lu_program` makes them.

    Arguments are the right-hand sides [n, columns, matrices], which become the solutions, the factors [n, n, matrices],
    the pivots [n, matrices], and the numbers of rows, columns and matrices.

    >>> from tensor_core import F64
    >>> lu_solve_program(F64).entry
    'lu_solve'
    """
    number = TYPES[dtype]
    source = f"""{header("columns.cuh", "matrices.cuh")}
extern "C" __global__ void lu_solve({number}* sides, const {number}* factors, const int* pivots, long long n,
    long long width, long long count) {{
    const long long parts = (width + {COLUMNS_OF_A_WARP - 1}) / {COLUMNS_OF_A_WARP};
{_head(dtype, "n", "n", "count * parts")}
        const long long matrix = item / parts, first = item % parts * {COLUMNS_OF_A_WARP};
        const long long last = first + {COLUMNS_OF_A_WARP} < width ? first + {COLUMNS_OF_A_WARP} : width;
        take_in(a, factors + matrix * n * n, rows, rows, apart);
        int from = lane; // the row that comes here
        for (int k = 0; k < rows; ++k) {{
            const int place = pivots[matrix * n + k] - 1;
            const int here = shuffle_from(from, (unsigned int)k), there = shuffle_from(from, (unsigned int)place);
            from = lane == k ? there : lane == place ? here : from;
        }}
        for (long long c = first; c < last; ++c) {{
            {number}* side = sides + (matrix * width + c) * n;
            {number} x = lane < rows ? side[from] : to<{number}>(0);
            __syncwarp();
            for (int k = 0; k < rows; ++k) {{
                const {number} found = shuffle_from(x, (unsigned int)k);
                if (lane > k && lane < rows) x = f_subtract(x, f_multiply(a[lane + k * apart], found));
            }}
            for (int k = rows - 1; k >= 0; --k) {{
                if (lane == k) x = quotient(x, a[k + k * apart]);
                const {number} found = shuffle_from(x, (unsigned int)k);
                if (lane < k) x = f_subtract(x, f_multiply(a[lane + k * apart], found));
            }}
            if (lane < rows) side[lane] = x;
        }}
        __syncwarp();
    }}
}}
"""

    def meaning(memory: HostMemory, arguments: tuple[Argument, ...]) -> None:
        sides, factors, pivots, n, width, count = map(int, arguments)
        a = parts_of(stack(memory, factors, dtype, n, n, count))[:, :, None]  # [part, matrix, 1, column, row]
        given = stack(memory, sides, dtype, n, width, count)
        places = memory.view(pivots, I32, (count, n), (n, 1)) - 1
        order, every = np.broadcast_to(np.arange(n), (count, n)).copy(), np.arange(count)
        for k in range(n):
            kept = order[:, k].copy()
            order[:, k] = order[every, places[:, k]]
            order[every, places[:, k]] = kept
        x = np.take_along_axis(parts_of(given), order[None, :, None], 3)
        with np.errstate(all="ignore"):
            for k in range(n):
                x[..., k + 1 :] -= _outer(a[..., k, k + 1 :], x[..., k, None])
            for k in reversed(range(n)):
                x[..., k] = quotient(x[..., k], a[..., k, k])
                x[..., :k] -= _outer(a[..., k, :k], x[..., k, None])
        put_parts(given, x)

    return Program("lu_solve", source, meaning)


def _outer(x: Array, y: Array) -> Array:
    """Products of numbers that are repeated to each other's shape."""
    shape = np.broadcast_shapes(x.shape, y.shape)
    return multiply(np.broadcast_to(x, shape), np.broadcast_to(y, shape))


def quotient(x: Array, by: Array, /) -> Array:
    """As the function of this name in ``matrices.cuh``, of numbers in their parts.

    >>> quotient(parts_of(np.array([2j])), parts_of(np.array([1j]))).tolist()
    [[2.0], [0.0]]
    """
    if len(x) == 1:
        return np.asarray(x / by)
    scale = power_below(np.maximum(np.abs(by[0]), np.abs(by[1])))
    unit, size = by / scale, np.maximum(np.abs(x[0]), np.abs(x[1]))
    part = np.where(np.isinf(4 * (size / scale)), x.dtype.type(0.0625), x.dtype.type(1))
    return np.asarray(_outer(part * x / scale, conjugate(unit)) / square(unit) / part)
