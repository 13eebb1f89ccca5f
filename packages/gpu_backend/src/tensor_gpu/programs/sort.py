"""Programs that put lines in order, stable: short runs in a block's shared memory, then pairs of runs to longer ones.

Lines lie one after the other. With places, those of the elements before they were sorted go with them; the first launch
makes them. Arguments are the sorted elements and places, the elements and places (0 where there are none), elements of
a line, elements of all lines, and of the runs that are made.
"""

from __future__ import annotations

from typing import Any, Final, Literal

import numpy as np

from tensor_core.dtypes import I64, DType
from tensor_gpu.device.api import MOST_THREADS
from tensor_gpu.device.program import Argument, HostMemory, Program, made_once
from tensor_gpu.programs.loops import loop_over, offsets, walk_parameters, walked
from tensor_gpu.programs.source import TYPES, header, loaded, stored

RUN: Final = 2 * MOST_THREADS
"""Elements of the runs that the first launch makes."""
Side = Literal["left", "right"]


@made_once
def run_program(dtype: DType, places: bool, descending: bool, /) -> Program:
    """The first launch: a block takes as many elements as a run has, and merges them in turns.

    >>> from tensor_core import F64
    >>> run_program(F64, True, False).entry
    'sorted_runs'
    """
    kind, order = stored(dtype), "true" if descending else "false"
    also = places
    lines = [
        f'extern "C" __global__ void sorted_runs({_PARAMETERS.format(kind=kind)}) {{',
        f"    __shared__ {kind} keys[2][{RUN}];",
        *([f"    __shared__ int at[2][{RUN}];"] if also else []),
        "    const long long runs = (line + run - 1) / run, all = size / line * runs;",
        "    for (long long b = blockIdx.x; b < all; b += gridDim.x) {",
        "        const long long first = b % runs * run, start = b / runs * line + first;",
        "        const int n = (int)(line - first < run ? line - first : run);",
        f"        for (int i = threadIdx.x; i < n; i += {MOST_THREADS}) {{",
        "            keys[0][i] = x[start + i];",
        *(["            at[0][i] = i;"] if also else []),
        "        }",
        "        __syncthreads();",
        "        int now = 0;",
        "        for (int width = 1; width < n; width *= 2) {",
        f"            for (int i = threadIdx.x; i < n; i += {MOST_THREADS}) {{",
        "                const int pair = i / (2 * width) * (2 * width), left = n - pair;",
        "                const int both = left < 2 * width ? left : 2 * width, one = both < width ? both : width;",
        f"                const int to = pair + (int)merged_place(keys[now] + pair, one, both, i - pair, {order});",
        "                keys[1 - now][to] = keys[now][i];",
        *(["                at[1 - now][to] = at[now][i];"] if also else []),
        "            }",
        "            __syncthreads();",
        "            now = 1 - now;",
        "        }",
        f"        for (int i = threadIdx.x; i < n; i += {MOST_THREADS}) {{",
        "            target[start + i] = keys[now][i];",
        *(["            target_places[start + i] = first + at[now][i];"] if also else []),
        "        }",
        "        __syncthreads();",
        "    }",
        "}",
    ]
    return _program("sorted_runs", lines, dtype, places, descending, first=True)


@made_once
def merge_program(dtype: DType, places: bool, descending: bool, /) -> Program:
    """A later launch: every element finds its place in the pair of runs that it is in.

    >>> from tensor_core import F64
    >>> merge_program(F64, True, False).entry
    'merged_runs'
    """
    kind, order = stored(dtype), "true" if descending else "false"
    lines = [
        f'extern "C" __global__ void merged_runs({_PARAMETERS.format(kind=kind)}) {{',
        *loop_over("size"),
        "        const long long start = i / line * line, pair = (i - start) / run * run, left = line - pair;",
        "        const long long both = left < run ? left : run, one = both < run / 2 ? both : run / 2;",
        "        const long long first = start + pair;",
        f"        const long long to = first + merged_place(x + first, one, both, i - first, {order});",
        "        target[to] = x[i];",
        *(["        target_places[to] = places[i];"] if places else []),
        "    }",
        "}",
    ]
    return _program("merged_runs", lines, dtype, places, descending, first=False)


_PARAMETERS: Final = (
    "{kind}* target, long long* target_places, const {kind}* x, const long long* places, "
    "long long line, long long size, long long run"
)


def _program(entry: str, lines: list[str], dtype: DType, places: bool, descending: bool, *, first: bool) -> Program:
    def meaning(memory: HostMemory, arguments: tuple[Argument, ...]) -> None:
        target, target_places, source, given, line, size, run = (int(argument) for argument in arguments)
        shape, strides = (line, size // line), (1, line)
        x, out = memory.view(source, dtype, shape, strides), memory.view(target, dtype, shape, strides)
        for start in range(0, line, run):
            part = slice(start, start + run)
            order = _sort_key(x[part], descending).argsort(axis=0, kind="stable")
            out[part] = np.take_along_axis(x[part], order, 0)
            if places:
                at = order + start
                if not first:
                    at = np.take_along_axis(memory.view(given, I64, shape, strides)[part], order, 0)
                memory.view(target_places, I64, shape, strides)[part] = at

    return Program(entry, header("order.cuh") + "\n".join(lines) + "\n", meaning)


def _sort_key(x: Any, descending: bool) -> Any:
    if not descending:
        return x
    return np.negative(x) if x.dtype.kind in "fc" else np.invert(x)


@made_once
def search_program(line: DType, values: DType, common: DType, side: Side, rank: int, /) -> Program:
    """Where values belong in a line; arguments are the target, line, values, elements of the line, its stride, ...

    ... the number of values, their extents, and the strides of the target and the values.

    >>> from tensor_core import F64
    >>> search_program(F64, F64, F64, "left", 1).entry
    'searched'
    """
    kind, arrays = TYPES[common], ["t", "x"]
    parameters = [f"long long* target, const {stored(line)}* line", f"const {stored(values)}* x"]
    parameters += ["long long count", "long long step", "long long size", *walk_parameters(rank, arrays)]
    test = "is_less(element, value)" if side == "left" else "!is_less(value, element)"
    lines = [
        f'extern "C" __global__ void searched({", ".join(parameters)}) {{',
        *loop_over("size"),
        *offsets("i", rank, arrays, "        "),
        f"        const {kind} value = to<{kind}>({loaded('x[ox]', values)});",
        "        long long low = 0, high = count;",
        "        while (low < high) {",
        "            const long long middle = low + (high - low) / 2;",
        f"            const {kind} element = to<{kind}>({loaded('line[middle * step]', line)});",
        f"            if ({test}) low = middle + 1;",
        "            else high = middle;",
        "        }",
        "        target[ot] = low;",
        "    }",
        "}",
    ]

    def meaning(memory: HostMemory, arguments: tuple[Argument, ...]) -> None:
        target, of_line, source, count, step, _, *numbers = (int(argument) for argument in arguments)
        shape, (of_target, of_values) = walked(rank, 2, numbers)
        searched = memory.view(of_line, line, (count,), (step,)).astype(common.numpy_name)
        given = memory.view(source, values, shape, of_values).astype(common.numpy_name)
        memory.view(target, I64, shape, of_target)[...] = searched.searchsorted(given, side=side)

    return Program("searched", header("order.cuh") + "\n".join(lines) + "\n", meaning)
