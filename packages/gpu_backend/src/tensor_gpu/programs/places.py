"""Programs that read or write elements whose places are index values.

One array ``x`` is indexed, another one ``y`` is not: elements of ``x`` are read to ``y``, or those of ``y`` are written
to ``x``. A launch goes through the elements of ``y``: the offset in ``x`` is what strides give, and for each component
of an index, value times stride. Whatever is out of range was refused before.

Arguments are the addresses of x, y and the indices, for "number" and "replace" that of the winners too; the number of
elements, their extents, the strides of x, y, indices (and winners); and for each component its offset in the indices,
what is added to a negative value, its stride in x (and in the winners).

Where refusals come late, a launch cannot know whether all indices are in range: a guarded program is given the address
of their status word, before all others, and where that holds an index that is refused, it writes nothing to ``x``, and
zeros to ``y``.
"""

from __future__ import annotations

from typing import Any, Final, Literal, NamedTuple

import numpy as np

from tensor_core.dtypes import C64, I64, Bool, DType
from tensor_gpu.device.executor import NO_NUMBER
from tensor_gpu.device.program import Argument, HostMemory, Program, made_once
from tensor_gpu.programs.loops import all_offsets, loop_over, offsets, walk_parameters, walked
from tensor_gpu.programs.source import TYPES, header, literal, loaded, stored

Mode = Literal["read", "write", "number", "replace", "add", "multiply", "min", "max"]
"""What becomes of the elements: "write" has no place twice; "number" writes to the winners the largest number of an
element of y that is written to a place, and "replace" writes those that won; the others combine an element of x with
all that go there."""
_FUNCTIONS: Final = {"add": "f_add", "multiply": "f_multiply", "min": "f_minimum", "max": "f_maximum"}
_AT: Final = {"add": np.add, "multiply": np.multiply, "min": np.minimum, "max": np.maximum}


class Arrays(NamedTuple):
    """The types of a launch's arrays, its axes, and the components of an index."""

    x: DType
    y: DType
    index: DType
    rank: int
    components: int
    guarded: bool = False


@made_once
def places_program(mode: Mode, arrays: Arrays, /) -> Program:
    """The program of a mode.

    >>> from tensor_core import F32
    >>> "y[oy] = x[ox];" in places_program("read", Arrays(F32, F32, I64, 2, 1)).source
    True
    """
    names = ["x", "y", "index", *(["winner"] if mode in ("number", "replace") else [])]
    source = header("atomics.cuh") + "\n".join(_lines(mode, arrays, names)) + "\n"

    def meaning(memory: HostMemory, arguments: tuple[Argument, ...]) -> None:
        _mean(memory, mode, arrays, names, tuple(int(argument) for argument in arguments))

    return Program("places", source, meaning)


def _lines(mode: Mode, arrays: Arrays, names: list[str]) -> list[str]:
    winners = "winner" in names
    reads = mode == "read"
    parameters = [
        *(["const long long* status"] if arrays.guarded else []),
        f"{'const ' if reads else ''}{stored(arrays.x)}* x",
        f"{'' if reads else 'const '}{stored(arrays.y)}* y",
        f"const {TYPES[arrays.index]}* index",
        *(["long long* winner"] if winners else []),
        "long long size",
        *walk_parameters(arrays.rank, names),
    ]
    body = list(offsets("i", arrays.rank, names, "        "))
    refused = f"*status != {NO_NUMBER}"
    if reads and arrays.guarded:
        body.append(f"        if ({refused}) {{ y[oy] = {literal(0, arrays.y)}; continue; }}")
    for number in range(arrays.components):
        extra = [f"long long w{number}"] if winners else []
        parameters += [f"long long o{number}", f"long long e{number}", f"long long x{number}", *extra]
        moved = f"ox += v * x{number};" + (f" owinner += v * w{number};" if winners else "")
        value = f"long long v = index[oindex + o{number}]; if (v < 0) v += e{number};"
        body.append(f"        {{ {value} {moved} }}")
    guard = [] if reads or not arrays.guarded else [f"    if ({refused}) return;"]
    whole = [*guard, *loop_over("size")]
    if mode == "multiply" and arrays.x is C64:  # 16 bytes, which no device exchanges at once
        whole = [*guard, "    if (blockIdx.x || threadIdx.x) return;", "    for (long long i = 0; i < size; i++) {"]
    return [
        f'extern "C" __global__ void places({", ".join(parameters)}) {{',
        *whole,
        *body,
        *(f"        {line}" for line in _write(mode, arrays)),
        "    }",
        "}",
    ]


def _write(mode: Mode, arrays: Arrays) -> list[str]:
    kind = TYPES[arrays.x]
    value = f"const {kind} value = to<{kind}>({loaded('y[oy]', arrays.y)});"
    if mode == "read":
        return ["y[oy] = x[ox];"]
    if mode == "number":
        return ["atomicMax(winner + owinner, i);"]
    if mode == "write":
        return [value, "x[ox] = value;"]
    if mode == "replace":
        return [value, "if (winner[owinner] == i) x[ox] = value;"]
    if arrays.x is Bool:
        return [value, "if (value) x[ox] = 1;" if mode in ("add", "max") else "if (!value) x[ox] = 0;"]
    function = f"[]({kind} a, {kind} b) {{ return {_FUNCTIONS[mode]}(a, b); }}"
    if arrays.x is not C64:
        return [value, f"combined(x + ox, value, {function});"]
    if mode == "multiply":
        return [value, "x[ox] = f_multiply(x[ox], value);"]
    real = function.replace(kind, "double")
    return [value, *(f"combined(&x[ox].{part}, value.{part}, {real});" for part in ("re", "im"))]


def _mean(memory: HostMemory, mode: Mode, arrays: Arrays, names: list[str], arguments: tuple[int, ...]) -> None:
    refused = False
    if arrays.guarded:
        refused, arguments = int(memory.view(arguments[0], I64, (), ())) != NO_NUMBER, arguments[1:]
        if refused and mode != "read":
            return
    addresses, rest = arguments[: len(names)], arguments[len(names) + 1 :]
    end = arrays.rank * (len(names) + 1)
    shape, strides = walked(arrays.rank, len(names), rest[:end])
    width = 4 if "winner" in names else 3
    places = [all_offsets(shape, along) for along in strides]
    for start in range(end, len(rest), width):
        first, added, *steps = rest[start : start + width]
        values = _flat(memory, addresses[2], arrays.index, places[2] + first).astype(np.int64)
        values = np.where(values < 0, values + added, values)
        for array, step in zip((0, 3), steps, strict=False):
            places[array] = places[array] + values * step
    if refused:
        y, in_y = _reach(memory, addresses[1], arrays.y, places[1])
        y[in_y] = 0
        return
    # Column-major order, in which the last element of several wins.
    at = [place.reshape(-1, order="F") for place in places]
    x, in_x = _reach(memory, addresses[0], arrays.x, at[0])
    y, in_y = _reach(memory, addresses[1], arrays.y, at[1])
    if mode == "read":
        y[in_y] = x[in_x]
        return
    values = y[in_y].astype(x.dtype)
    if mode == "write":
        x[in_x] = values
    elif mode in ("number", "replace"):
        winners, in_winners = _reach(memory, addresses[3], I64, at[3])
        numbers = np.arange(in_winners.size)
        if mode == "number":
            np.maximum.at(winners, in_winners, numbers)
        else:
            won = winners[in_winners] == numbers
            x[in_x[won]] = values[won]
    else:
        _AT[mode].at(x, in_x, values)


def _flat(memory: HostMemory, address: int, dtype: DType, places: Any) -> Any:
    """The elements at offsets."""
    array, at = _reach(memory, address, dtype, places)
    return array[at]


def _reach(memory: HostMemory, address: int, dtype: DType, places: Any) -> tuple[Any, Any]:
    """Memory from the first to the last element that is named, and where in it each one is."""
    low, high = int(places.min()), int(places.max())
    return memory.view(address + low * dtype.itemsize, dtype, (high - low + 1,), (1,)), places - low
