"""Programs that write the elements which were chosen side by side, given how many were chosen up to each one.

``chosen`` counts them: element i was chosen where that number is greater than the one before. Lines have no gaps.
"""

from __future__ import annotations

import numpy as np

from tensor_core.dtypes import I64, Bool, DType
from tensor_core.shapes import compact_strides
from tensor_gpu.device.program import Argument, HostMemory, Program, made_once
from tensor_gpu.programs.loops import loop_over
from tensor_gpu.programs.source import TYPES, header, loaded, stored

_CHOSEN = "chosen[i] != (i ? chosen[i - 1] : 0)"


@made_once
def distinct_program(dtype: DType, equal_nan: bool, /) -> Program:
    """Whether each element of a sorted line differs from the one before; arguments are target, line, elements.

    >>> from tensor_core import F64
    >>> distinct_program(F64, True).entry
    'distinct'
    """
    value = f"const {TYPES[dtype]} a = {loaded('x[i - 1]', dtype)}, b = {loaded('x[i]', dtype)};"
    differs = {"complex": "a.re != b.re || a.im != b.im"}.get(dtype.kind, "a != b")
    nan = {"complex": "(a.re != a.re || a.im != a.im) && (b.re != b.re || b.im != b.im)", "float": "a != a && b != b"}
    if equal_nan and dtype.kind in nan:
        differs = f"({differs}) && !({nan[dtype.kind]})"
    lines = [
        f'extern "C" __global__ void distinct(unsigned char* target, const {stored(dtype)}* x, long long size) {{',
        *loop_over("size"),
        "        if (i == 0) { target[i] = 1; continue; }",
        f"        {value}",
        f"        target[i] = {differs};",
        "    }",
        "}",
    ]

    def meaning(memory: HostMemory, arguments: tuple[Argument, ...]) -> None:
        target, source, size = (int(argument) for argument in arguments)
        x = memory.view(source, dtype, (size,), (1,))
        out = memory.view(target, Bool, (size,), (1,))
        out[0] = True
        np.not_equal(x[1:], x[:-1], out=out[1:])
        if equal_nan and dtype.kind in nan:
            out[1:] &= ~(np.isnan(x[1:]) & np.isnan(x[:-1]))

    return Program("distinct", header() + "\n".join(lines) + "\n", meaning)


@made_once
def chosen_program(dtype: DType | None, /) -> Program:
    """The chosen elements of a line, or with no type their numbers; arguments are target, line, chosen, elements.

    >>> chosen_program(None).entry
    'chosen_elements'
    """
    kind, value = ("long long", "i") if dtype is None else (stored(dtype), "x[i]")
    given = f"{kind}* target, const {kind}* x, const long long* chosen, long long size"
    lines = [
        f'extern "C" __global__ void chosen_elements({given}) {{',
        *loop_over("size"),
        f"        if ({_CHOSEN}) target[chosen[i] - 1] = {value};",
        "    }",
        "}",
    ]

    def meaning(memory: HostMemory, arguments: tuple[Argument, ...]) -> None:
        target, source, chosen, size = (int(argument) for argument in arguments)
        counts = memory.view(chosen, I64, (size,), (1,))
        found = np.flatnonzero(np.diff(counts, prepend=0))
        values = found if dtype is None else memory.view(source, dtype, (size,), (1,))[found]
        memory.view(target, dtype or I64, (len(found),), (1,))[...] = values

    return Program("chosen_elements", header() + "\n".join(lines) + "\n", meaning)


@made_once
def nonzero_program(rank: int, /) -> Program:
    """Indices of the chosen elements of an array in row-major order.

    Arguments are the targets, one for each axis, chosen, the number of elements and the extents.

    >>> nonzero_program(2).entry
    'places_of_chosen'
    """
    parameters = [*(f"long long* target{axis}" for axis in range(rank)), "const long long* chosen", "long long size"]
    parameters += [f"long long n{axis}" for axis in range(rank)]
    along = [
        f"            target{axis}[to] = rest % n{axis};" + (f" rest /= n{axis};" if axis else "")
        for axis in reversed(range(rank))
    ]
    lines = [
        f'extern "C" __global__ void places_of_chosen({", ".join(parameters)}) {{',
        *loop_over("size"),
        f"        if ({_CHOSEN}) {{",
        "            const long long to = chosen[i] - 1;",
        "            long long rest = i;",
        *along,
        "        }",
        "    }",
        "}",
    ]

    def meaning(memory: HostMemory, arguments: tuple[Argument, ...]) -> None:
        *targets, chosen, size = (int(argument) for argument in arguments[: rank + 2])
        shape = tuple(int(extent) for extent in arguments[rank + 2 :])
        found = np.flatnonzero(np.diff(memory.view(chosen, I64, (size,), (1,)), prepend=0))
        for target, index in zip(targets, np.unravel_index(found, shape), strict=True):
            memory.view(target, I64, (len(found),), (1,))[...] = index

    return Program("places_of_chosen", header() + "\n".join(lines) + "\n", meaning)


@made_once
def ranks_program() -> Program:
    """How many were chosen before each element, at its place before sorting: target, places, chosen, elements.

    >>> ranks_program().entry
    'ranks'
    """
    given = "long long* target, const long long* places, const long long* chosen, long long size"
    lines = [
        f'extern "C" __global__ void ranks({given}) {{',
        *loop_over("size"),
        "        target[places[i]] = chosen[i] - 1;",
        "    }",
        "}",
    ]

    def meaning(memory: HostMemory, arguments: tuple[Argument, ...]) -> None:
        target, *sources, size = (int(argument) for argument in arguments)
        places, chosen = (memory.view(source, I64, (size,), (1,)) for source in sources)
        memory.view(target, I64, (size,), (1,))[places] = chosen - 1

    return Program("ranks", header() + "\n".join(lines) + "\n", meaning)


@made_once
def differences_program() -> Program:
    """How far each number is from the next one, and the last from an end: target, numbers, how many, end.

    >>> differences_program().entry
    'differences'
    """
    given = "long long* target, const long long* x, long long size, long long end"
    lines = [
        f'extern "C" __global__ void differences({given}) {{',
        *loop_over("size"),
        "        target[i] = (i + 1 < size ? x[i + 1] : end) - x[i];",
        "    }",
        "}",
    ]

    def meaning(memory: HostMemory, arguments: tuple[Argument, ...]) -> None:
        target, source, size, end = (int(argument) for argument in arguments)
        x = memory.view(source, I64, (size,), (1,))
        memory.view(target, I64, (size,), compact_strides((size,)))[...] = np.diff(x, append=end)

    return Program("differences", header() + "\n".join(lines) + "\n", meaning)
