"""Programs that fold elements over axes: each thread its share, then a tree over the threads of a block.

A block of 256 threads folds ``256 / lanes`` results at once, each by as many threads as there are lanes. Neighbouring
threads are lanes of one result where neighbours in memory are folded, else they have results of their own. Of few
results of many elements each, several parts are folded apart, and those by another launch.

Arguments are the target, the operand, how many results there are, elements of each, elements of a part, and parts;
extents and strides of the axes that are kept, then of those that are folded.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

import numpy as np

from tensor_core.dtypes import C32, C64, F32, F64, I64, DType
from tensor_gpu.device.api import MOST_THREADS
from tensor_gpu.device.program import Argument, HostMemory, Program, made_once
from tensor_gpu.programs.loops import offsets, walk_parameters, walked
from tensor_gpu.programs.source import TYPES, header, loaded, stored
from tensor_runtime.backends.xp_tables.elementwise import REDUCTIONS

FOLDS: Final = {name: getattr(np, function) for name, function in REDUCTIONS.items()}
_IDENTITIES: Final = {"sum": "0", "prod": "1"}
_WIDE: Final[Mapping[DType, DType]] = {F32: F64, C32: C64}


class Folding(NamedTuple):
    """What a program folds, and how its threads share the work."""

    name: str
    x: DType
    result: DType
    kept: int  # axes
    folded: int
    lanes: int  # threads for each result, a power of 2
    neighbours: bool  # whether neighbouring threads fold one result


def accumulator(name: str, x: DType, result: DType, /) -> DType:
    """The type in which elements are folded: sums and products of short floats in long ones.

    >>> from tensor_core import Bool
    >>> accumulator("sum", F32, F32), accumulator("max", F32, F32), accumulator("any", F32, Bool)
    (F64, F32, Bool)
    """
    return _WIDE.get(result, result) if name in _IDENTITIES else result


@made_once
def fold_program(folding: Folding, /) -> Program:
    """The program of a folding.

    >>> program = fold_program(Folding("max", F64, F64, 1, 1, 32, True))
    >>> "f_maximum(total," in program.source
    True
    """
    kind = TYPES[accumulator(folding.name, folding.x, folding.result)]
    function = f"f_{REDUCTIONS[folding.name]}"
    element = f"to<{kind}>({loaded('x[okept + ofolded]', folding.x)})"
    begins = [f"total = to<{kind}>({_IDENTITIES.get(folding.name, '0')});"]
    if folding.name not in _IDENTITIES:  # folding an element twice changes nothing
        begins = ["{", *_offset("first", folding, "    "), f"    total = {element};", "}"]
    lines = [
        *_head("fold", folding, [f"{stored(folding.result)}* target", f"const {stored(folding.x)}* x"]),
        f"    __shared__ {kind} shared[{MOST_THREADS}];",
        *_units(folding),
        f"        {kind} total = to<{kind}>(0);",
        *_kept(folding, begins),
        *_offset("j", folding, "                "),
        f"                total = {function}(total, {element});",
        "            }",
        "        }",
        "        shared[threadIdx.x] = total;",
        "        __syncthreads();",
        *_tree(folding, f"shared[threadIdx.x] = {function}(shared[threadIdx.x], shared[threadIdx.x + half * apart]);"),
        f"        if (lane == 0 && u < units) target[u] = to<{TYPES[folding.result]}>(shared[threadIdx.x]);",
        "        __syncthreads();",
        "    }",
        "}",
    ]

    def meaning(memory: HostMemory, arguments: tuple[Argument, ...]) -> None:
        target, matrix, chunk, parts = _matrix(memory, folding, arguments)
        ufunc = FOLDS[folding.name]
        dtype = accumulator(folding.name, folding.x, folding.result)
        out = memory.view(target, folding.result, (matrix.shape[0], parts), (1, matrix.shape[0]))
        options = {"dtype": dtype.numpy_name} if folding.name in _IDENTITIES else {}
        with np.errstate(all="ignore"):
            for part in range(parts):
                out[:, part] = ufunc.reduce(matrix[:, part * chunk : (part + 1) * chunk], axis=1, **options)

    def flops(arguments: tuple[Argument, ...]) -> int:
        return int(arguments[2]) * int(arguments[3])

    return Program("fold", header() + "\n".join(lines) + "\n", meaning, flops)


@made_once
def place_program(folding: Folding, from_candidates: bool, /) -> Program:
    """Which element is the first of the largest or smallest, NaN before all: its number among those that are folded.

    With candidates, numbers of elements follow the operand in the arguments, one for each result and part; folding is
    over these.

    >>> "candidates" in place_program(Folding("argmax", F64, I64, 1, 1, 32, True), True).source
    True
    """
    kind = TYPES[folding.x]
    pointers = ["long long* target", f"const {stored(folding.x)}* x"]
    number = "j"
    if from_candidates:
        pointers.append("const long long* candidates")
        number = "candidates[r + j * size]"
    largest = "true" if folding.name == "argmax" else "false"
    begins = [
        f"place = {number.replace('j', 'first')};",
        "{",
        *_offset("place", folding, "    "),
        f"    best = {loaded('x[okept + ofolded]', folding.x)};",
        "}",
    ]
    lines = [
        *_head("fold_places", folding, pointers),
        f"    __shared__ {stored(folding.x)} values[{MOST_THREADS}];",
        f"    __shared__ long long places[{MOST_THREADS}];",
        *_units(folding),
        f"        {kind} best = to<{kind}>(0);",
        "        long long place = 0;",
        *_kept(folding, begins),
        f"                const long long at = {number};",
        *_offset("at", folding, "                "),
        f"                const {kind} value = {loaded('x[okept + ofolded]', folding.x)};",
        f"                if (is_first(value, at, best, place, {largest})) {{ best = value; place = at; }}",
        "            }",
        "        }",
        "        values[threadIdx.x] = best;",
        "        places[threadIdx.x] = place;",
        "        __syncthreads();",
        *_tree(
            folding,
            "const int other = threadIdx.x + half * apart; if (is_first(values[other], places[other], "
            f"values[threadIdx.x], places[threadIdx.x], {largest})) "
            "{ values[threadIdx.x] = values[other]; places[threadIdx.x] = places[other]; }",
        ),
        "        if (lane == 0 && u < units) target[u] = places[threadIdx.x];",
        "        __syncthreads();",
        "    }",
        "}",
    ]

    def meaning(memory: HostMemory, arguments: tuple[Argument, ...]) -> None:
        if not from_candidates:
            target, matrix, chunk, parts = _matrix(memory, folding, arguments)
            numbers = np.broadcast_to(np.arange(matrix.shape[1]), matrix.shape)
        else:  # they name elements beyond their own number
            head, (size, each, chunk, parts), walks = arguments[:2], map(int, arguments[3:7]), arguments[7:]
            shape, _ = _axes(folding, walks)
            elements = int(np.prod(shape[folding.kept :], dtype=np.int64))
            target, matrix, _, _ = _matrix(memory, folding, (*head, size, elements, 0, 0, *walks))
            numbers = memory.view(int(arguments[2]), I64, (size, each), (1, size))
            matrix = matrix[np.arange(size)[:, None], numbers]
        size = matrix.shape[0]
        out = memory.view(target, I64, (size, parts), (1, size))
        find = np.argmax if folding.name == "argmax" else np.argmin
        for part in range(parts):
            found = find(matrix[:, part * chunk : (part + 1) * chunk], axis=1) + part * chunk
            out[:, part] = numbers[np.arange(size), found]

    return Program("fold_places", header("order.cuh") + "\n".join(lines) + "\n", meaning)


def _head(entry: str, folding: Folding, pointers: list[str]) -> Iterator[str]:
    parameters = [*pointers, "long long size", "long long count", "long long chunk", "long long parts"]
    parameters += walk_parameters(folding.kept, ["kept"])
    parameters += walk_parameters(folding.folded, ["folded"], first=folding.kept)
    yield f'extern "C" __global__ void {entry}({", ".join(parameters)}) {{'


def _units(folding: Folding) -> Iterator[str]:
    """The loop over results and parts of them; all threads of a block go through it equally often."""
    lanes, rows = folding.lanes, MOST_THREADS // folding.lanes
    lane, row = (
        (f"threadIdx.x % {lanes}", f"threadIdx.x / {lanes}")
        if folding.neighbours
        else (f"threadIdx.x / {rows}", f"threadIdx.x % {rows}")
    )
    yield f"    const int lane = {lane}, row = {row}, apart = {1 if folding.neighbours else rows};"
    yield "    const long long units = size * parts;"
    yield f"    const long long stride = (long long)gridDim.x * {rows};"
    yield f"    for (long long base = (long long)blockIdx.x * {rows}; base < units; base += stride) {{"
    yield "        const long long u = base + row;"


def _kept(folding: Folding, begins: list[str]) -> Iterator[str]:
    """What comes before the loop of a thread over its share, and the head of that loop."""
    yield "        if (u < units) {"
    yield "            const long long r = u % size, first = u / size * chunk;"
    yield "            const long long end = first + chunk < count ? first + chunk : count;"
    yield from offsets("r", folding.kept, ["kept"], "            ")
    yield from (f"            {line}" for line in begins)
    yield f"            for (long long j = first + lane; j < end; j += {folding.lanes}) {{"


def _offset(index: str, folding: Folding, indent: str) -> Iterator[str]:
    return offsets(index, folding.folded, ["folded"], indent, first=folding.kept)


def _tree(folding: Folding, combine: str) -> Iterator[str]:
    if folding.lanes > 1:
        yield f"        for (int half = {folding.lanes // 2}; half > 0; half /= 2) {{"
        yield f"            if (lane < half) {{ {combine} }}"
        yield "            __syncthreads();"
        yield "        }"


def _axes(folding: Folding, numbers: tuple[Argument, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Extents and strides of the axes that are kept, and of those that are folded."""
    end = 2 * folding.kept
    kept, (of_kept,) = walked(folding.kept, 1, numbers[:end])
    folded, (of_folded,) = walked(folding.folded, 1, numbers[end:])
    return (*kept, *folded), (*of_kept, *of_folded)


def _matrix(memory: HostMemory, folding: Folding, arguments: tuple[Argument, ...]) -> tuple[int, Any, int, int]:
    """The target, the operand as a matrix of a row for each result, elements of a part, and parts."""
    target, source, size, count, chunk, parts = (int(argument) for argument in arguments[:6])
    x = memory.view(source, folding.x, *_axes(folding, arguments[6:]))
    return target, x.reshape((size, count), order="F"), chunk, parts
