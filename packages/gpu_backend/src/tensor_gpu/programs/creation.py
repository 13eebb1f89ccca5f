"""Programs that write numbers which depend on nothing but the index."""

from __future__ import annotations

from functools import cache

from tensor_core.dtypes import DType
from tensor_gpu.device.program import Argument, HostMemory, Program
from tensor_gpu.programs.meaning import Elements, compute
from tensor_gpu.programs.source import TYPES, header, stored


@cache
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
