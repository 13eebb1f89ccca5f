"""Programs that permute: elements are read in the order of their array, and written in that of the target, by tiles.

A tile is a block of elements that is long along the fastest axes of both arrays. A block of threads reads it to memory
that the block shares, neighbours of the array one after the other, and writes it from there, neighbours of the target
one after the other, where a plain loop meets one neighbour after the other in one of both alone. Several short axes
make one side of a tile, so that axes of extent 2 are moved as well as long ones; a long axis gives a part of it.

Arguments of a launch are the addresses of the target and the operand, the numbers of tiles and of the elements of one;
then of all axes, which are in the target's order: their extents, the tile's, its place values in the target's order and
in the operand's, and the strides of both arrays.
"""

from __future__ import annotations

from typing import Final

from tensor_gpu.device.program import Argument, HostMemory, Program, made_once
from tensor_gpu.programs.columns import LANES
from tensor_gpu.programs.elementwise import (
    ElementwiseArguments,
    Expression,
    Number,
    compute_expression,
    counted_steps,
    step_lines,
    target_size,
)
from tensor_gpu.programs.source import TYPES, header, loaded, stored

MOST_ELEMENTS: Final = 1024
"""Of a tile: what a block has memory for, with the offsets of each."""
MOST_AXES: Final = LANES
"""As many as there are lanes of a warp, which find where a tile begins."""
_PER_AXIS: Final = ("n", "c", "near", "far", "st", "s0")
_SHARED: Final = ("extent", "chunk", "near", "far", "step", "stride")


@made_once
def transposition_program(expression: Expression, rank: int, /) -> Program:
    """The program of an expression of one operand over so many axes.

    >>> from tensor_core import F64
    >>> from tensor_gpu.programs.elementwise import Step
    >>> transposition_program(Expression((F64,), (Step("copy", (0,), (F64,), F64),)), 2).entry
    'transposition'
    """

    def meaning(memory: HostMemory, arguments: tuple[Argument, ...]) -> None:
        compute_expression(memory, expression, _decoded(rank, arguments))

    steps = counted_steps(expression)

    def flops(arguments: tuple[Argument, ...]) -> int:
        return steps * target_size(_decoded(rank, arguments).shape)

    return Program("transposition", _source(expression, rank), meaning, flops)


def _decoded(rank: int, arguments: tuple[Argument, ...]) -> ElementwiseArguments:
    target, operand, _, _, *rest = map(int, arguments)
    lists = [tuple(rest[start : start + rank]) for start in range(0, len(rest), rank)]
    return ElementwiseArguments(target, (operand,), lists[0], (lists[-2], lists[-1]))


def _source(expression: Expression, rank: int) -> str:
    (operand,), number = expression.operands, stored(expression.result)
    assert not isinstance(operand, Number)
    parameters = [
        f"{number}* target, const {stored(operand)}* x0, long long tiles, long long volume",
        *(", ".join(f"long long {name}_{axis}" for axis in range(rank)) for name in _PER_AXIS),
    ]
    joined = ",\n    ".join(parameters)
    read = [
        f"const {TYPES[operand]} v0 = {loaded('x0[base[0] + reads[i]]', operand)};",
        *step_lines(expression, ""),
        f"staged[place[i]] = v{len(expression.steps)};",
    ]
    write = [f"target[base[1] + writes[i]] = staged[i + i / {LANES}];"]
    table = "\n".join(
        f"        {name}[{axis}] = {given}_{axis};"
        for axis in range(rank)
        for name, given in zip(_SHARED, _PER_AXIS, strict=True)
    )
    return f"""{header()}
extern "C" __global__ void transposition({joined}) {{
    __shared__ {number} staged[{MOST_ELEMENTS + MOST_ELEMENTS // LANES}]; // with gaps, so that columns lie in all banks
    __shared__ long long reads[{MOST_ELEMENTS}], writes[{MOST_ELEMENTS}], base[2];
    __shared__ unsigned short place[{MOST_ELEMENTS}];
    __shared__ long long {", ".join(f"{name}[{rank}]" for name in (*_SHARED, "before", "first"))};
    __shared__ bool whole;
    if (threadIdx.x == 0) {{
{table}
        long long product = 1;
        for (int axis = 0; axis < {rank}; ++axis) {{
            before[axis] = product;
            product *= (extent[axis] + chunk[axis] - 1) / chunk[axis];
        }}
    }}
    __syncthreads();
    for (int i = (int)threadIdx.x; i < (int)volume; i += (int)blockDim.x) {{
        long long from = 0, to = 0;
        int put = 0;
        for (int axis = 0; axis < {rank}; ++axis) {{
            const int here = i / (int)far[axis] % (int)chunk[axis], there = i / (int)near[axis] % (int)chunk[axis];
            from += here * stride[axis];
            put += here * (int)near[axis];
            to += there * step[axis];
        }}
        reads[i] = from;
        writes[i] = to;
        place[i] = (unsigned short)(put + put / {LANES});
    }}
    for (long long tile = blockIdx.x; tile < tiles; tile += gridDim.x) {{
        if (threadIdx.x < {LANES}) {{
            const int axis = (int)threadIdx.x;
            long long from = 0, to = 0;
            int cut = 0;
            if (axis < {rank}) {{
                const long long along = (extent[axis] + chunk[axis] - 1) / chunk[axis];
                first[axis] = tile / before[axis] % along * chunk[axis];
                from = first[axis] * stride[axis];
                to = first[axis] * step[axis];
                cut = first[axis] + chunk[axis] > extent[axis];
            }}
            for (unsigned int lanes = {LANES // 2}; lanes > 0; lanes /= 2) {{
                from += shuffle_xor(from, lanes);
                to += shuffle_xor(to, lanes);
                cut += shuffle_xor(cut, lanes);
            }}
            if (axis == 0) {{
                base[0] = from;
                base[1] = to;
                whole = cut == 0;
            }}
        }}
        __syncthreads();
{_elements_of_a_tile(rank, "far", read)}
        __syncthreads();
{_elements_of_a_tile(rank, "near", write)}
        __syncthreads();
    }}
}}
"""


def _elements_of_a_tile(rank: int, order: str, lines: list[str]) -> str:
    """What is done with each element ``i`` of a tile, counted by these place values, that lies inside the arrays."""
    body = "\n".join(f"                {line}" for line in lines)
    return f"""        for (int i = (int)threadIdx.x; i < (int)volume; i += (int)blockDim.x) {{
            bool inside = true;
            if (!whole)
                for (int axis = 0; axis < {rank}; ++axis)
                    inside = inside && first[axis] + i / (int){order}[axis] % (int)chunk[axis] < extent[axis];
            if (inside) {{
{body}
            }}
        }}"""
