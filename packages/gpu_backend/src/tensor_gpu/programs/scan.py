"""Programs of running sums and products along lines: a thread for each line, or a block for each segment of one.

A block goes through its segment 256 elements at a time: a scan in its shared memory; the total so far is carried on.
Segments but the first begin with what a launch before found to be the total of all before them.

Arguments are the target, the operand and the totals (or 0); lines, elements of a line, elements of a segment, segments;
the strides along a line, of the target and of the operand; extents of the lines and their strides.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from tensor_core.dtypes import DType
from tensor_gpu.device.api import MOST_THREADS
from tensor_gpu.device.program import Argument, HostMemory, Program, made_once
from tensor_gpu.programs.loops import loop_over, offsets, walk_parameters, walked
from tensor_gpu.programs.reduction import accumulator
from tensor_gpu.programs.source import TYPES, header, loaded, stored

SCANS: Final = {"cumsum": "sum", "cumprod": "prod"}
"""Scans, and the reductions that they are made of."""
_FUNCTIONS: Final = {"cumsum": ("f_add", "0", np.add), "cumprod": ("f_multiply", "1", np.multiply)}


@made_once
def scan_program(name: str, x: DType, result: DType, rank: int, by_blocks: bool, /) -> Program:
    """The program of a scan over lines that lie along so many axes.

    >>> from tensor_core import F64
    >>> "__shared__" in scan_program("cumsum", F64, F64, 1, True).source
    True
    """
    wide = accumulator(SCANS[name], x, result)
    kind, out = TYPES[wide], TYPES[result]
    function, identity, ufunc = _FUNCTIONS[name]
    parameters = [f"{stored(result)}* target", f"const {stored(x)}* x", f"const {stored(wide)}* totals"]
    parameters += [f"long long {word}" for word in ("lines", "count", "chunk", "segments", "st", "sx")]
    parameters += walk_parameters(rank, ["t", "x"])
    value = f"to<{kind}>({loaded('x[ox + j * sx]', x)})"
    head = f'extern "C" __global__ void scan({", ".join(parameters)}) {{'
    start = f"segment ? totals[line + (segment - 1) * lines] : to<{kind}>({identity})"
    # What begins a line is taken as it is: 0 + -0.0 is 0.0, and 1 times an infinity of a complex number is none.
    bounds = [
        "        const long long line = u % lines, segment = u / lines, first = segment * chunk;",
        "        const long long end = first + chunk < count ? first + chunk : count;",
        *offsets("line", rank, ["t", "x"], "        "),
        f"        {kind} total = {start};",
    ]
    if by_blocks:
        lines = [
            head,
            f"    __shared__ {kind} shared[{MOST_THREADS}];",
            "    for (long long u = blockIdx.x; u < lines * segments; u += gridDim.x) {",
            *bounds,
            f"        for (long long base = first; base < end; base += {MOST_THREADS}) {{",
            "            const long long j = base + threadIdx.x;",
            f"            shared[threadIdx.x] = j < end ? {value} : to<{kind}>({identity});",
            "            __syncthreads();",
            f"            for (int step = 1; step < {MOST_THREADS}; step *= 2) {{",
            "                const bool has = threadIdx.x >= step;",
            f"                const {kind} before = has ? shared[threadIdx.x - step] : to<{kind}>({identity});",
            "                __syncthreads();",
            f"                if (has) shared[threadIdx.x] = {function}(before, shared[threadIdx.x]);",
            "                __syncthreads();",
            "            }",
            "            const bool begins = !segment && base == first;",
            f"            const {kind} here = begins ? shared[threadIdx.x] : {function}(total, shared[threadIdx.x]);",
            f"            if (j < end) target[ot + j * st] = to<{out}>(here);",
            f"            total = begins ? shared[{MOST_THREADS - 1}] : {function}(total, shared[{MOST_THREADS - 1}]);",
            "            __syncthreads();",
            "        }",
            "    }",
            "}",
        ]
    else:
        lines = [
            head,
            *loop_over("lines * segments", "u"),
            *bounds,
            "        for (long long j = first; j < end; j++) {",
            f"            total = j || segment ? {function}(total, {value}) : {value};",
            f"            target[ot + j * st] = to<{out}>(total);",
            "        }",
            "    }",
            "}",
        ]

    def meaning(memory: HostMemory, arguments: tuple[Argument, ...]) -> None:
        target, source, totals, size, count, chunk, segments, st, sx, *numbers = (int(one) for one in arguments)
        shape, (of_target, of_x) = walked(rank, 2, numbers)
        given = memory.view(source, x, (*shape, count), (*of_x, sx)).reshape((size, count), order="F")
        made = np.empty((size, count), wide.numpy_name)
        with np.errstate(all="ignore"):
            for segment in range(segments):
                part = slice(segment * chunk, (segment + 1) * chunk)
                ufunc.accumulate(given[:, part], axis=1, dtype=made.dtype, out=made[:, part])
                if segment:
                    before = memory.view(totals, wide, (size, segments), (1, size))[:, segment - 1 : segment]
                    ufunc(before, made[:, part], out=made[:, part])
            memory.view(target, result, (*shape, count), (*of_target, st))[...] = made.reshape(
                (*shape, count), order="F"
            )

    return Program("scan", header() + "\n".join(lines) + "\n", meaning)
