"""Programs of random numbers; ``tensor_runtime.ops.random`` fixes the bits.

Each turn of a loop makes one block of four words and the parts that take them: an element, or a component of one.
Arguments are the target, seed and stream (as signed words), those of the distribution, and the number of parts.
"""

from __future__ import annotations

from typing import Final

from tensor_core.dtypes import DType
from tensor_gpu.device.program import Argument, HostMemory, Program, made_once
from tensor_gpu.programs.loops import loop_over
from tensor_gpu.programs.meaning import Elements, compute
from tensor_gpu.programs.source import TYPES, header

_DOMAINS: Final = {"uniform": 0, "integers": 1, "normal": 2}
_MORE: Final = {"uniform": "", "integers": "long long low, long long count, ", "normal": ""}
_NORMAL: Final = """        for (int k = 0; k < 4; k += 2) {
            const word v = words.at[k], w = words.at[k + 1];
            const double r = sqrt(-2.0 * log(unit(v >> 12)));
            const double angle = unit(w >> 9 & 0xFFFFFFFFFFFFFULL) * 0.7853981633974483;
            const double c = cos(angle), s = sin(angle);
            const bool exchanged = w >> 61 & 1;
            const double first = (w >> 62 & 1 ? -1.0 : 1.0) * (exchanged ? s : c);
            const double second = (w >> 63 ? -1.0 : 1.0) * (exchanged ? c : s);
            if (4 * i + k < parts) target[4 * i + k] = (T)(r * first);
            if (4 * i + k + 1 < parts) target[4 * i + k + 1] = (T)(r * second);
        }
"""
_EACH: Final = """        for (int k = 0; k < 4; k++)
            if (4 * i + k < parts) target[4 * i + k] = (T)({value});
"""


@made_once
def random_program(name: str, dtype: DType, /) -> Program:
    """The program of a distribution of numbers, each of which is a part.

    >>> from tensor_core import F64
    >>> random_program("uniform", F64).entry
    'uniform'
    """
    part = TYPES[dtype]
    if name == "normal":
        body = _NORMAL
    elif name == "integers":
        drawn = "count ? upper_product(words.at[k], (word)count) : words.at[k]"
        body = _EACH.format(value=f"(long long)(({drawn}) + (word)low)")
    else:
        single = part == "float"
        shift, step = (41, "1.1920928955078125e-7") if single else (12, "2.220446049250313e-16")
        body = _EACH.format(value=f"((double)(words.at[k] >> {shift}) + 0.5) * {step}")
    given = f"{part}* target, long long seed, long long stream, {_MORE[name]}long long parts"
    source = f"""{header("random.cuh")}extern "C" __global__ void {name}({given}) {{
    typedef {part} T;
    const long long blocks = (parts + 3) / 4;
{chr(10).join(loop_over("blocks"))}
        const block_of_words words = philox((word)i, {_DOMAINS[name]}, (word)seed, (word)stream);
{body}    }}
}}
"""

    def meaning(memory: HostMemory, arguments: tuple[Argument, ...]) -> None:
        address, seed, stream, *more, parts = (int(argument) for argument in arguments)
        limits = (more[0], more[1] % 2**64 or 2**64) if more else ()
        target = Elements(address, dtype, (parts,), (1,))
        compute(memory, name, None, target, (), (seed % 2**64, stream % 2**64, *limits))

    return Program(name, source, meaning)
