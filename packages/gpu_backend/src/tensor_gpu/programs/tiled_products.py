"""Programs that sum products of two operands by tiles, in any algebra: what many results need is read once for all.

Axes of the result are those of the first operand, those of the second one, and those of both, each group by itself. A
block of threads has a tile of 32 times 32 results, four of a thread, and takes 16 terms after the other to memory that
it shares. Terms are added in order, one after the other, as ``sum_of_products`` adds them; the arguments of a launch
are those of that program, with the axes in this order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from tensor_gpu.device.api import MOST_THREADS
from tensor_gpu.device.program import Argument, HostMemory, Program, made_once
from tensor_gpu.programs.contraction import (
    SumOfProducts,
    compute_sums,
    decoded,
    factor_of,
    flops_of,
    sum_parameters,
)
from tensor_gpu.programs.source import TYPES, header, literal

TILE: Final = 32
"""Rows and columns of results."""
DEPTH: Final = 16
"""Terms that are staged at once."""
_HALF: Final = TILE // 2
_GAP: Final = TILE + 1  # from term to term, so that a column of terms lies in all banks


class Groups(NamedTuple):
    """Numbers of axes, and which operands' neighbours follow each other along the terms."""

    rows: int
    columns: int
    stacked: int
    summed: int
    along_terms: tuple[bool, bool]


@made_once
def tiled_products_program(what: SumOfProducts, groups: Groups, /) -> Program:
    """The program for two operands, and so many axes.

    >>> from tensor_core import F64
    >>> tiled_products_program(SumOfProducts((F64, F64), F64), Groups(1, 1, 0, 1, (False, True))).entry
    'tiled_products'
    """
    kept, summed = groups.rows + groups.columns + groups.stacked, groups.summed

    def meaning(memory: HostMemory, arguments: tuple[Argument, ...]) -> None:
        compute_sums(memory, what, decoded(2, kept, summed, arguments))

    return Program("tiled_products", _source(what, groups), meaning, flops_of(what, summed))


def _source(what: SumOfProducts, groups: Groups) -> str:
    number, kept = TYPES[what.result], groups.rows + groups.columns + groups.stacked
    columns, stacked = groups.rows, groups.rows + groups.columns
    parameters = ", ".join(sum_parameters(what, ["x0", "x1"], kept, groups.summed))
    x0, x1 = (
        factor_of(f"{name}[{place}]", dtype, number)
        for name, place, dtype in zip(
            ("x0", "x1"),
            ("base[1] + row_x[r] + term_x[k]", "base[2] + column_y[c] + term_y[k]"),
            what.operands,
            strict=True,
        )
    )
    multiply, indent = f"to<{number}>(f_{what.multiplication}", " " * 16
    steps = "\n".join(
        f"{indent}const {number} term{place} = {multiply}(a{place % 2}, b{place // 2}));\n"
        f"{indent}sums[{place}] = {what.added(f'sums[{place}]', f'term{place}', 'first + k == 0')};"
        for place in range(4)
    )
    zero = literal(what.algebra.zero_of(what.result), what.result)
    return f"""{header()}
extern "C" __global__ void tiled_products({parameters}) {{
    __shared__ {number} left[{DEPTH * _GAP}], right[{DEPTH * _GAP}];
    __shared__ long long row_t[{TILE}], row_x[{TILE}], column_t[{TILE}], column_y[{TILE}];
    __shared__ long long term_x[{DEPTH}], term_y[{DEPTH}], base[3];
    const int thread = (int)threadIdx.x, row = thread % {_HALF}, column = thread / {_HALF};
    const long long rows = {_extent("n", range(columns))}, columns = {_extent("n", range(columns, stacked))};
    const long long across = (rows + {TILE - 1}) / {TILE}, down = (columns + {TILE - 1}) / {TILE};
    const long long tiles = across * down * {_extent("n", range(stacked, kept))};
    for (long long tile = blockIdx.x; tile < tiles; tile += gridDim.x) {{
        const long long first_row = tile % across * {TILE}, first_column = tile / across % down * {TILE};
        const int wide = rows - first_row < {TILE} ? (int)(rows - first_row) : {TILE};
        const int high = columns - first_column < {TILE} ? (int)(columns - first_column) : {TILE};
        if (thread < wide) {{
            long long rest = first_row + thread, t = 0, x = 0;
{_walked("n", range(columns), {"t": "t", "x": "x0"})}
            row_t[thread] = t;
            row_x[thread] = x;
        }}
        if (thread >= {TILE} && thread < {TILE} + high) {{
            long long rest = first_column + thread - {TILE}, t = 0, y = 0;
{_walked("n", range(columns, stacked), {"t": "t", "y": "x1"})}
            column_t[thread - {TILE}] = t;
            column_y[thread - {TILE}] = y;
        }}
        if (thread == {2 * TILE}) {{
            long long rest = tile / across / down, t = 0, x = 0, y = 0;
{_walked("n", range(stacked, kept), {"t": "t", "x": "x0", "y": "x1"})}
            base[0] = t;
            base[1] = x;
            base[2] = y;
        }}
        {number} sums[4] = {{{", ".join([zero] * 4)}}};
        for (long long first = 0; first < terms; first += {DEPTH}) {{
            const int depth = terms - first < {DEPTH} ? (int)(terms - first) : {DEPTH};
            if (thread < depth) {{
                long long rest = first + thread, x = 0, y = 0;
{_walked("m", range(groups.summed), {"x": "x0", "y": "x1"})}
                term_x[thread] = x;
                term_y[thread] = y;
            }}
            __syncthreads();
            for (int i = thread; i < {TILE * DEPTH}; i += {MOST_THREADS}) {{
                const int r = {_place(groups.along_terms[0], "i")};
                if (k < depth) left[k * {_GAP} + r] = r < wide ? {x0} : {zero};
            }}
            for (int i = thread; i < {TILE * DEPTH}; i += {MOST_THREADS}) {{
                const int c = {_place(groups.along_terms[1], "i")};
                if (k < depth) right[k * {_GAP} + c] = c < high ? {x1} : {zero};
            }}
            __syncthreads();
            for (int k = 0; k < depth; ++k) {{
                const {number} a0 = left[k * {_GAP} + row], a1 = left[k * {_GAP} + row + {_HALF}];
                const {number} b0 = right[k * {_GAP} + column], b1 = right[k * {_GAP} + column + {_HALF}];
{steps}
            }}
        }}
        for (int place = 0; place < 4; ++place) {{
            const int r = row + place % 2 * {_HALF}, c = column + place / 2 * {_HALF};
            if (r < wide && c < high) target[base[0] + row_t[r] + column_t[c]] = sums[place];
        }}
        __syncthreads();
    }}
}}
"""


def _place(along_terms: bool, index: str) -> str:
    """The row of element ``index`` of what is staged, and its term, whichever follows the other in memory."""
    if along_terms:
        return f"{index} / {DEPTH}, k = {index} % {DEPTH}"
    return f"{index} % {TILE}, k = {index} / {TILE}"


def _extent(extents: str, axes: Sequence[int]) -> str:
    return " * ".join(f"{extents}{axis}" for axis in axes) or "1"


def _walked(extents: str, axes: Sequence[int], offsets: dict[str, str]) -> str:
    """Lines that add to offsets, by the strides of arrays, those of index ``rest`` along some axes."""
    return "\n".join(_lines(extents, axes, offsets))


def _lines(extents: str, axes: Sequence[int], offsets: dict[str, str]) -> Iterator[str]:
    for axis in axes:
        last = axis == axes[-1]
        steps = " ".join(f"{name} += k * {extents}s{array}_{axis};" for name, array in offsets.items())
        index, left = ("rest", "") if last else (f"rest % {extents}{axis}", f" rest /= {extents}{axis};")
        yield f"            {{ const long long k = {index}; {steps}{left} }}"
    if not axes:
        yield "            (void)rest;"
