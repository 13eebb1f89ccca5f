"""Programs that write numbers which depend on nothing but the index.

Programs are compiled without contraction of products and sums to one operation, so results have the host's bits.
"""

from __future__ import annotations

from typing import Final

from tensor_core.dtypes import DType
from tensor_gpu.device.program import Argument, HostMemory, Program, made_once
from tensor_gpu.programs.loops import loop_over
from tensor_gpu.programs.meaning import Elements, compute
from tensor_gpu.programs.source import TYPES, header, stored


@made_once
def full_program(dtype: DType, /) -> Program:
    """One number everywhere; arguments are the target, the number in its components, and the number of elements.

    >>> from tensor_core import F64
    >>> full_program(F64).entry
    'full'
    """
    wide = dtype.kind == "complex"
    number = {"complex": "double re, double im", "float": "double re"}.get(dtype.kind, "long long re")
    given = "re, im" if wide else "re"
    source = f"""{header()}extern "C" __global__ void full({stored(dtype)}* target, {number}, long long size) {{
    const {TYPES[dtype]} value = number<{TYPES[dtype]}>({given});
    const long long stride = (long long)gridDim.x * blockDim.x;
    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < size; i += stride)
        target[i] = value;
}}
"""

    def meaning(memory: HostMemory, arguments: tuple[Argument, ...]) -> None:
        address, *parts, size = arguments
        value = complex(*parts) if wide else parts[0]
        compute(memory, "full", None, Elements(int(address), dtype, (int(size),), (1,)), (), (value,))

    return Program("full", source, meaning)


@made_once
def eye_program(dtype: DType, /) -> Program:
    """Ones on the main diagonal of a matrix; arguments are the target, its rows, and the number of elements.

    >>> from tensor_core import F64
    >>> eye_program(F64).entry
    'eye'
    """
    source = f"""{header()}extern "C" __global__ void eye({stored(dtype)}* target, long long rows, long long size) {{
{_LOOP}
        target[i] = to<{TYPES[dtype]}>((int)(i % rows == i / rows));
    }}
}}
"""

    def meaning(memory: HostMemory, arguments: tuple[Argument, ...]) -> None:
        address, rows, size = (int(argument) for argument in arguments)
        compute(memory, "eye", None, Elements(address, dtype, (rows, size // rows), (1, rows)), ())

    return Program("eye", source, meaning)


@made_once
def arange_program(dtype: DType, whole: bool, /) -> Program:
    """Element k is start + k * step, in F64 or in I64; arguments are the target, start, step, the number of elements.

    >>> from tensor_core import F64
    >>> arange_program(F64, False).entry
    'arange'
    """
    number = "long long" if whole else "double"
    value = f"({number})((unsigned long long)i * step + start)" if whole else "(double)i * step + start"
    given = f"{number} start, {number} step, long long size"
    source = f"""{header()}extern "C" __global__ void arange({stored(dtype)}* target, {given}) {{
{_LOOP}
        target[i] = to<{TYPES[dtype]}>({value});
    }}
}}
"""
    kind = int if whole else float

    def meaning(memory: HostMemory, arguments: tuple[Argument, ...]) -> None:
        address, start, step, size = arguments
        target = Elements(int(address), dtype, (int(size),), (1,))
        compute(memory, "arange", None, target, (), (kind(start), kind(step)))

    return Program("arange", source, meaning)


@made_once
def linspace_program(dtype: DType, /) -> Program:
    """Element k is start + k * (stop - start) / parts, in F64 or C64; the last one is stop if it is element ``parts``.

    Arguments are the target, start and stop in their components, 1 if stop belongs to the numbers, and their number.
    Where the step is not finite, both ends are weighed instead.

    >>> from tensor_core import F64
    >>> linspace_program(F64).entry
    'linspace'
    """
    wide = dtype.kind == "complex"
    places = ("re", "im") if wide else ("re",)
    given = ", ".join(f"double {end}_{place}" for end in ("start", "stop") for place in places)
    lines = [f"        const double step_{place} = (stop_{place} - start_{place}) / parts;" for place in places]
    finite = " && ".join(f"is_finite(step_{place})" for place in places)
    for place in places:
        start, stop = f"start_{place}", f"stop_{place}"
        inside = f"{finite} ? i * step_{place} + {start} : {start} * (1 - i / parts) + {stop} * (i / parts)"
        lines.append(f"        const double {place} = i == 0 ? {start} : i == end ? {stop} : {inside};")
    element = TYPES[dtype]
    value = f"number<{element}>(re, im)" if wide else f"to<{element}>(re)"
    source = f"""{header()}extern "C" __global__ void linspace(
    {stored(dtype)}* target, {given}, long long endpoint, long long size) {{
    const double parts = endpoint ? (size > 1 ? size - 1 : 1) : size;
    const long long end = endpoint && size > 1 ? size - 1 : size;
{_LOOP}
{chr(10).join(lines)}
        target[i] = {value};
    }}
}}
"""

    def meaning(memory: HostMemory, arguments: tuple[Argument, ...]) -> None:
        address, *ends, endpoint, size = arguments
        start, stop = (complex(*ends[:2]), complex(*ends[2:])) if wide else ends
        if wide and not (start.imag or stop.imag):
            start, stop = start.real, stop.real  # whose step the host divides as a real number
        target = Elements(int(address), dtype, (int(size),), (1,))
        compute(memory, "linspace", None, target, (), (start, stop, bool(endpoint)))

    return Program("linspace", source, meaning)


_LOOP: Final = "\n".join(loop_over("size"))
