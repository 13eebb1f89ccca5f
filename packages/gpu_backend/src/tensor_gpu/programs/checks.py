"""Programs that look for elements which an operation refuses, and write the smallest of their numbers to a status word.

Arguments of a launch are the addresses of the word and of the elements, two bounds where the test has them, the number
of the first element, how many there are, their extents, and the strides of the numbers and of the elements.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from tensor_core.dtypes import I64, DType
from tensor_gpu.device.program import Argument, HostMemory, Program, made_once
from tensor_gpu.programs.loops import all_offsets, loop_over, offsets, walk_parameters, walked
from tensor_gpu.programs.source import TYPES, header, loaded, stored

Test = Literal["zero", "outside"]
"""What is refused: zeros; or what is not at least the first bound and at most the second, as NaN is not."""


@made_once
def refused_program(dtype: DType, test: Test, rank: int, /) -> Program:
    """The program that looks for the first element of so many axes that a test refuses; a complex one's real part.

    >>> from tensor_core import F32
    >>> "!(low <= value && value <= high)" in refused_program(F32, "outside", 1).source
    True
    """
    real = dtype.component
    bound = "double" if real.kind == "float" else "long long"
    bounds = [f"{bound} low", f"{bound} high"] if test == "outside" else []
    arrays = ("number", "x")
    parameters = ["long long* status", f"const {stored(dtype)}* x", *bounds, "long long first", "long long size"]
    parameters += walk_parameters(rank, arrays)
    lines = [
        f'extern "C" __global__ void first_refused({", ".join(parameters)}) {{',
        *loop_over("size"),
        *offsets("i", rank, arrays, "        "),
        f"        const {TYPES[real]} value = to<{TYPES[real]}>({loaded('x[ox]', dtype)});",
        f"        if ({'value == 0' if test == 'zero' else '!(low <= value && value <= high)'})",
        "            atomicMin(status, first + onumber);",
        "    }",
        "}",
    ]

    def meaning(memory: HostMemory, arguments: tuple[Argument, ...]) -> None:
        status, address, *rest = arguments
        low, high = (rest.pop(0), rest.pop(0)) if bounds else (0, 0)
        first, _, *numbers = rest
        shape, (counted, strides) = walked(rank, 2, numbers)
        values = memory.view(int(address), dtype, shape, strides).real
        refused = np.equal(values, 0) if test == "zero" else ~((low <= values) & (values <= high))
        if refused.any():
            word = memory.view(int(status), I64, (), ())
            word[...] = min(int(word), int(all_offsets(shape, counted, int(first))[refused].min()))

    return Program("first_refused", header() + "\n".join(lines) + "\n", meaning)
