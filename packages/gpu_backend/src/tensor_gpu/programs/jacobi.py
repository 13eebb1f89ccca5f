"""Singular values of many matrices at once, by rotations of pairs of columns: a block of threads for each matrix.

One-sided Jacobi: rotations from the right make the columns orthogonal, whose lengths are the singular values; small
ones keep their digits. The pairs of a round have no column in common, so each warp takes some of them. One launch
decomposes all, where the routines of the library that we ask otherwise take one matrix after the other.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from tensor_core.dtypes import F32, I32, DType
from tensor_gpu.device.api import MOST_THREADS
from tensor_gpu.device.program import Argument, HostMemory, Program, made_once
from tensor_gpu.programs.columns import (
    MOST_COLUMNS,
    conjugate,
    multiply,
    parts_of,
    power_below,
    put_parts,
    square,
    stack,
    total,
)
from tensor_gpu.programs.source import TYPES, header

Array = np.ndarray[Any, Any]
MOST_SWEEPS: Final = 150
"""Over all pairs; ten are usual, and 70 were seen: columns of many sizes, or of half as many independent ones, take
turns until the least of them are as small as they will be. Numbers that are none never end."""

_FUNCTIONS = """
/* Makes two columns orthogonal, by a rotation that two other ones take as well; false where they are already. */
template <class T, class C> __device__ bool rotate(T* x, T* y, long long rows, T* v, T* w, long long others, C most,
    C nothing, C lift) {
    const C first = column_square(x, rows), second = column_square(y, rows);
    const T product = column_product(x, y, rows);
    const C up = square(product) < nothing ? lift : (C)1; // small squares lose digits, and turns their length
    const T lifted = times(up, product);
    const C long_one = sqrt(square(lifted)), size = long_one / up;
    if (first < nothing || second < nothing || size <= most * sqrt(first) * sqrt(second)) return false;
    const C apart = (second - first) / ((C)2 * size), far = fabs(apart);
    const C slope = far > limits<C>::large() ? (C)0.5 / far : (C)1 / (far + sqrt((C)1 + far * far));
    const C tangent = apart < (C)0 ? -slope : slope;
    const C cosine = (C)1 / sqrt((C)1 + tangent * tangent), sine = tangent * cosine;
    const C half = sine / ((C)1 + cosine); // so written, the errors of many small turns do not add up
    const T phase = f_conj(over(lifted, long_one));
    for (int turn = 0; turn < 2; ++turn) {
        for (long long row = row_from(0); row < rows; row += 32) {
            const T a = x[row], b = f_multiply(phase, y[row]);
            x[row] = f_subtract(a, times(sine, f_add(b, times(half, a))));
            y[row] = f_add(b, times(sine, f_subtract(a, times(half, b))));
        }
        x = v;
        y = w;
        rows = others;
    }
    return true;
}

/* Makes a column of zeros orthogonal to those before it, and of length one: of the first unit vector that is far
 * enough from all of them. */
template <class T, class C> __device__ void complete(T* columns, long long column, long long rows) {
    T* z = columns + column * rows;
    for (long long unit = 0; unit < rows; ++unit) {
        for (long long row = row_from(0); row < rows; row += 32)
            z[row] = to<T>(row == unit ? 1 : 0);
        for (int turn = 0; turn < 2; ++turn) {
            for (long long c = 0; c < column; ++c) {
                const T* x = columns + c * rows;
                const T product = column_product(x, z, rows);
                for (long long row = row_from(0); row < rows; row += 32)
                    z[row] = f_subtract(z[row], f_multiply(x[row], product));
            }
            const C squares = column_square(z, rows);
            if (turn == 0 && squares < (C)(rows - column) / (C)(2 * rows)) break;
            if (turn == 1) {
                const C length = sqrt(squares);
                for (long long row = row_from(0); row < rows; row += 32)
                    z[row] = over(z[row], length);
                return;
            }
        }
    }
}
"""


@made_once
def jacobi_program(dtype: DType, /) -> Program:
    """Thin singular value decompositions of matrices with at most ``MOST_COLUMNS`` columns, and no fewer rows.

    Arguments are U [rows, columns, matrices], the values [columns, matrices], V^H [columns, columns, matrices], the
    infos [matrices], the matrices [rows, columns, matrices], which are overwritten, room for V [columns, columns,
    matrices], and the numbers of rows, columns and matrices. All are without gaps. An info is 0, or 1 where sweeps did
    not end.

    >>> from tensor_core import F64
    >>> jacobi_program(F64).entry
    'jacobi'
    """
    number, part = TYPES[dtype], TYPES[dtype.component]
    nothing, lift = _nothing(dtype), _lift(dtype)
    source = f"""{header("columns.cuh")}{_FUNCTIONS}
extern "C" __global__ void jacobi({number}* us, {part}* values, {number}* vhs, int* info, {number}* as, {number}* vs,
    long long rows, long long columns, long long count) {{
    __shared__ {part} sizes[{MOST_COLUMNS}];
    __shared__ bool turned[{MOST_THREADS // 32}];
    const long long warp = threadIdx.x / 32, warps = blockDim.x / 32, even = columns + columns % 2;
    const {part} most = ({part}){float(np.finfo(dtype.component.numpy_name).eps)!r} * sqrt(({part})(rows + 16));
    const {part} nothing = ({part}){nothing!r}, lift = ({part}){lift!r};
    for (long long matrix = blockIdx.x; matrix < count; matrix += gridDim.x) {{
        {number}* a = as + matrix * rows * columns;
        {number}* v = vs + matrix * columns * columns;
        {number}* u = us + matrix * rows * columns;
        {number}* vh = vhs + matrix * columns * columns;
        for (long long c = warp; c < columns; c += warps) {{
            {part} largest = 0;
            for (long long row = row_from(0); row < rows; row += 32) {{
                const {part} size = larger_part(a[row + c * rows]);
                if (size > largest) largest = size;
            }}
            largest = warp_largest(largest);
            if (threadIdx.x % 32 == 0) sizes[c] = largest;
        }}
        __syncthreads();
        {part} scale = 0;
        for (long long c = 0; c < columns; ++c)
            scale = sizes[c] > scale ? sizes[c] : scale;
        scale = power_below(scale);
        for (long long c = warp; c < columns; c += warps) {{
            for (long long row = row_from(0); row < rows; row += 32)
                a[row + c * rows] = over(a[row + c * rows], scale);
            for (long long row = row_from(0); row < columns; row += 32)
                v[row + c * columns] = to<{number}>(row == c ? 1 : 0);
        }}
        bool ended = false;
        for (int sweep = 0; sweep < {MOST_SWEEPS} && !ended; ++sweep) {{
            bool any = false;
            for (long long round = 0; round < even - 1; ++round) {{
                __syncthreads();
                for (long long pair = warp; pair < even / 2; pair += warps) {{
                    const long long one = (round + pair) % (even - 1);
                    const long long other = pair == 0 ? even - 1 : (round - pair + even - 1) % (even - 1);
                    const long long p = one < other ? one : other, q = one < other ? other : one;
                    if (q < columns)
                        any |= rotate(a + p * rows, a + q * rows, rows, v + p * columns, v + q * columns, columns, most,
                            nothing, lift);
                }}
            }}
            if (threadIdx.x % 32 == 0) turned[warp] = any;
            __syncthreads();
            ended = true;
            for (long long one = 0; one < warps; ++one)
                ended = ended && !turned[one];
            __syncthreads();
        }}
        if (threadIdx.x == 0) info[matrix] = ended ? 0 : 1;
        for (long long c = warp; c < columns; c += warps) {{
            const {part} squares = column_square(a + c * rows, rows);
            if (threadIdx.x % 32 == 0) sizes[c] = squares < nothing ? ({part})0 : sqrt(squares);
        }}
        __syncthreads();
        long long kept = 0;
        for (long long c = 0; c < columns; ++c)
            kept += sizes[c] > ({part})0;
        for (long long c = warp; c < columns; c += warps) {{
            const {part} size = sizes[c];
            long long place = 0;
            for (long long d = 0; d < columns; ++d)
                place += sizes[d] > size || (sizes[d] == size && d < c);
            if (threadIdx.x % 32 == 0) values[place + matrix * columns] = size * scale;
            for (long long row = row_from(0); row < rows; row += 32)
                u[row + place * rows] = size > ({part})0 ? over(a[row + c * rows], size) : to<{number}>(0);
            for (long long row = row_from(0); row < columns; row += 32)
                vh[place + row * columns] = f_conj(v[row + c * columns]);
        }}
        __syncthreads();
        if (warp == 0)
            for (long long c = kept; c < columns; ++c)
                complete<{number}, {part}>(u, c, rows);
        __syncthreads();
    }}
}}
"""

    def meaning(memory: HostMemory, arguments: tuple[Argument, ...]) -> None:
        us, values, vhs, info, a, v, rows, columns, count = map(int, arguments)
        given, room = stack(memory, a, dtype, rows, columns, count), stack(memory, v, dtype, columns, columns, count)
        with np.errstate(all="ignore"):
            x = parts_of(given)
            scale = power_below(np.max(np.abs(x), axis=(0, 2, 3)))
            x /= scale[:, None, None]
            y = np.zeros((len(x), count, columns, columns), x.dtype)
            y[0, :, range(columns), range(columns)] = 1
            memory.view(info, I32, (count,), (1,))[...] = _sweeps(x, y, nothing, lift)
            put_parts(given, x)
            put_parts(room, y)
            squares = total(square(x))
            sizes = np.where(squares < nothing, 0, np.sqrt(squares)).astype(x.dtype)
            order = np.argsort(-sizes, axis=1, kind="stable")
            found = np.take_along_axis(sizes, order, 1)
            memory.view(values, dtype.component, (count, columns), (columns, 1))[...] = found * scale[:, None]
            u = np.take_along_axis(x, order[None, :, :, None], 2)
            u = np.where(found[..., None] > 0, u / found[..., None], 0).astype(x.dtype)
            for matrix in np.flatnonzero(~np.all(found > 0, axis=1)):
                for column in range(int(np.sum(found[matrix] > 0)), columns):
                    _complete(u[:, matrix], column)
            put_parts(stack(memory, us, dtype, rows, columns, count), u)
            right = np.take_along_axis(conjugate(y), order[None, :, :, None], 2)
            put_parts(memory.view(vhs, dtype, (count, columns, columns), (columns * columns, 1, columns)), right)

    return Program("jacobi", source, meaning)


def _nothing(dtype: DType) -> float:
    """The square of a length that is none beside an element between 1 and 2: less has squares that lose digits."""
    return 1e-30 if dtype.component is F32 else 1e-280


def _lift(dtype: DType) -> float:
    """A power of two by which products of columns become numbers that have a square."""
    return 2.0**80 if dtype.component is F32 else 2.0**700


def _rounds(columns: int) -> list[tuple[list[int], list[int]]]:
    """The columns of each round's pairs, the first and the second ones: every pair once."""
    even = columns + columns % 2
    found = []
    for number in range(even - 1):
        others = [even - 1, *((number - pair) % (even - 1) for pair in range(1, even // 2))]
        pairs = [sorted(((number + pair) % (even - 1), other)) for pair, other in enumerate(others)]
        pairs = [pair for pair in pairs if pair[1] < columns]
        found.append(([pair[0] for pair in pairs], [pair[1] for pair in pairs]))
    return found


def _sweeps(x: Array, y: Array, nothing: float, lift: float) -> Array:
    """Rotate columns [part, matrix, column, row] of two stacks until no two of the first want it; the infos."""
    eps = np.finfo(x.dtype).eps
    most = eps * np.sqrt(x.dtype.type(x.shape[-1] + 16))
    rounds = _rounds(x.shape[2])
    turned = np.ones(x.shape[1], bool)
    for _ in range(MOST_SWEEPS):
        turned[:] = False
        for firsts, seconds in rounds:
            turned |= _rotate(x, y, firsts, seconds, most, nothing, lift)
        if not turned.any():
            break
    return turned.astype(np.int32)


def _rotate(x: Array, y: Array, firsts: list[int], seconds: list[int], most: Any, nothing: float, lift: float) -> Array:
    one, other = x[:, :, firsts], x[:, :, seconds]
    first, second = total(square(one)), total(square(other))
    terms = multiply(conjugate(one), other)
    product = np.stack([total(part) for part in terms])
    up = np.where(square(product) < nothing, x.dtype.type(lift), x.dtype.type(1))
    lifted = product * up
    long_one = np.sqrt(square(lifted))
    size = long_one / up
    still = (first < nothing) | (second < nothing) | (size <= most * np.sqrt(first) * np.sqrt(second))
    apart = (second - first) / (2 * size)
    far = np.abs(apart)
    large = x.dtype.type(1e18 if x.dtype == np.float32 else 1e150)  # limits<C>::large()
    slope = np.where(far > large, x.dtype.type(0.5) / far, 1 / (far + np.sqrt(1 + far * far)))
    tangent = np.where(apart < 0, -slope, slope)
    cosine = 1 / np.sqrt(1 + tangent * tangent)
    sine = tangent * cosine
    sine, half = (np.where(still, 0, part)[..., None] for part in (sine, sine / (1 + cosine)))
    phase = conjugate(lifted / long_one)[..., None]
    for columns in (x, y):
        a, b = columns[:, :, firsts], columns[:, :, seconds]
        turned = multiply(np.broadcast_to(phase, b.shape), b)
        columns[:, :, firsts] = np.where(still[..., None], a, a - sine * (turned + half * a))
        columns[:, :, seconds] = np.where(still[..., None], b, turned + sine * (a - half * turned))
    return np.asarray((~still).any(axis=1))


def _complete(columns: Array, column: int) -> None:
    """As the function of this name above, on columns [part, column, row]."""
    rows = columns.shape[-1]
    far = columns.dtype.type(rows - column) / columns.dtype.type(2 * rows)
    for unit in range(rows):
        z = np.zeros_like(columns[:, 0])
        z[0, unit] = 1
        z = _orthogonal(columns[:, :column], z)
        if total(square(z)) < far:
            continue
        z = _orthogonal(columns[:, :column], z)
        columns[:, column] = z / np.sqrt(total(square(z)))
        return


def _orthogonal(columns: Array, z: Array) -> Array:
    for number in range(columns.shape[1]):
        x = columns[:, number]
        product = np.stack([total(part) for part in multiply(conjugate(x), z)])
        z = z - multiply(x, np.broadcast_to(product[:, None], x.shape))
    return z
